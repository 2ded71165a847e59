/* The system calls that are made in an attached process: by the recorder on behalf of its threads,
 * and by the tracer. One list, for filters (seccomp) that the process may have. */
#include "core/session/attachment.h"

#include <errno.h>
#include <sys/syscall.h>

#define NEEDED(name) \
	{ \
		SYS_##name, #name, false \
	}
#define OPTIONAL(name) \
	{ \
		SYS_##name, #name, true \
	}

/* An optional one that fails costs a name, the bounds of a stack, or the recording of forked
 * children. */
static const struct mt_tracee_call_wanted calls[] = {
	NEEDED(mmap),
	NEEDED(munmap),
	NEEDED(mprotect),
	NEEDED(madvise),
	NEEDED(memfd_create),
	NEEDED(fcntl),
	NEEDED(fstat),
	NEEDED(close),
	NEEDED(rt_sigprocmask),
	NEEDED(getpid),
	NEEDED(gettid),
	NEEDED(futex),
	NEEDED(sched_yield),
	NEEDED(nanosleep),
	OPTIONAL(clock_gettime),
	OPTIONAL(tgkill),
	OPTIONAL(prctl),
	OPTIONAL(prlimit64),
	OPTIONAL(openat),
	OPTIONAL(read),
	OPTIONAL(pread64),
	OPTIONAL(mremap),
	OPTIONAL(process_vm_readv),
	OPTIONAL(newfstatat),
	OPTIONAL(faccessat),
	OPTIONAL(readlink),
	OPTIONAL(geteuid),
	OPTIONAL(socket),
	OPTIONAL(connect),
	OPTIONAL(getsockopt),
	OPTIONAL(sendto),
	OPTIONAL(recvmsg),
	OPTIONAL(ppoll),
};

int mt_attach_check_filters(struct mt_tracee *t, struct mt_err *err)
{
	int error;

	if (!mt_tracee_has_filters(t))
		return 0;
	if ((error = mt_tracee_stop(t, MT_ATTACH_STOP_MS, err)))
		return error;
	error = mt_tracee_check_filters(t, calls, sizeof calls / sizeof *calls, err);
	mt_tracee_resume(t);
	return error;
}
