/* Limits on address space and locked memory count the reserved but unused parts of the segment:
 * these are given back as soon as such a limit holds, but for a sixteenth of what it allows.
 * (RLIMIT_DATA counts no shared memory.) */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "preload/base/sys.h"
#include "preload/segment/segment.h"

static int result(long value)
{
	if (value >= 0)
		return (int)value;
	errno = (int)-value;
	return -1;
}

#define SHARE 16             /* of a limit that the segment may take */
#define KEEP_MAX (64u << 20) /* enough for two million frames that differ */

static void make_room(int resource)
{
	struct rlimit64 limit = {RLIM64_INFINITY, RLIM64_INFINITY};
	uint64_t share;

	mt_sys4(SYS_prlimit64, 0, resource, NULL, &limit);
	share = limit.rlim_cur / SHARE;
	if (limit.rlim_cur != RLIM64_INFINITY && share < mt_tracer.segment_size)
		mt_segment_trim(share < KEEP_MAX ? share : KEEP_MAX);
}

static bool is_own(pid_t pid)
{
	long self = mt_sys0(SYS_getpid);

	return (pid == 0 || pid == self) && !mt_segment_is_borrowed(self);
}

/* The new limit is read back: the program's pointer may be bad. */
static int change(pid_t pid, int resource, const void *new_limit, void *old_limit)
{
	long error =
		mt_arch_call(SYS_prlimit64, pid, resource, (long)new_limit, (long)old_limit, 0, 0);

	if (error == 0 && new_limit && resource == RLIMIT_AS && is_own(pid))
		make_room(RLIMIT_AS);
	return result(error);
}

/* The types differ between C libraries and language modes; the sizes do not. */
#pragma GCC diagnostic ignored "-Wattributes"
MT_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return change(0, (int)resource, limit, NULL);
}

MT_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return change(0, (int)resource, limit, NULL);
}

MT_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *new_limit,
	struct rlimit *old_limit)
{
	return change(pid, (int)resource, new_limit, old_limit);
}

MT_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource,
	const struct rlimit64 *new_limit, struct rlimit64 *old_limit)
{
	return change(pid, (int)resource, new_limit, old_limit);
}

/* Fails for want of room: what is given back may be enough. */
MT_EXPORT int mlockall(int flags)
{
	long error = mt_arch_call(SYS_mlockall, flags, 0, 0, 0, 0, 0);

	if (error == 0 || error == -ENOMEM)
		make_room(RLIMIT_MEMLOCK);
	if (error == -ENOMEM)
		error = mt_arch_call(SYS_mlockall, flags, 0, 0, 0, 0, 0);
	return result(error);
}
