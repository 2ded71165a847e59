/* What /proc says of a process before it is touched, and the sentences by which it is refused. */
#include "core/inject/internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PF_KTHREAD 0x00200000u
#ifdef __x86_64__
#define MACHINE EM_X86_64
#endif

/* The rest of a line of /proc/PID/status, or NULL. */
static const char *line(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? at + strlen(name) : NULL;
}

static long number(const char *status, const char *name, long otherwise)
{
	const char *at = line(status, name);

	return at ? strtol(at, NULL, 10) : otherwise;
}

/* The class and machine of the program that runs. */
static void read_machine(pid_t pid, struct mt_inject_facts *f)
{
	Elf64_Ehdr header;
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, &header, sizeof header) == (ssize_t)sizeof header
		&& !memcmp(header.e_ident, ELFMAG, SELFMAG)) {
		f->is_32_bit = header.e_ident[EI_CLASS] == ELFCLASS32;
		f->is_other_machine = !f->is_32_bit && header.e_machine != MACHINE;
	}
	close(fd);
}

static int read_scope(void)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof text - 1) <= 0)
		*text = '\0';
	close(fd);
	return *text ? atoi(text) : -1;
}

static void read_status(pid_t pid, struct mt_inject_facts *f)
{
	char status[8192];
	const char *at;

	mt_proc_read(pid, "status", status, sizeof status);
	f->process = (pid_t)number(status, "\nTgid:", pid);
	f->uid = (uid_t)number(status, "\nUid:", -1);
	f->tracer = (pid_t)number(status, "\nTracerPid:", 0);
	f->seccomp = (int)number(status, "\nSeccomp:", 0);
	at = line(status, "\nx86_Thread_features:");
	f->has_shadow_stack = at && memmem(at, strcspn(at, "\n"), "shstk", 5);
	if (f->tracer > 0) {
		mt_proc_read(f->tracer, "comm", f->tracer_name, sizeof f->tracer_name);
		f->tracer_name[strcspn(f->tracer_name, "\n")] = '\0';
	}
}

void mt_inject_gather(pid_t pid, struct mt_inject_facts *f)
{
	struct mt_proc_stat s;
	char path[64];
	int fd;

	*f = (struct mt_inject_facts){.pid = pid, .process = pid, .ptrace_scope = -1};
	f->is_self = pid == getpid();
	f->own_uid = geteuid();
	f->exists = pid > 0 && mt_proc_stat(pid, &s);
	if (!f->exists)
		return;
	f->ended = mt_proc_has_ended(&s);
	f->is_kernel = s.flags & PF_KTHREAD;
	f->is_stopped = s.state == 'T';
	read_status(mt_proc_thread(pid), f);
	if (f->process != pid && mt_proc_thread(pid) != pid)
		f->process = pid; /* another thread was looked at, since the first has ended */
	read_machine(pid, f);
	f->ptrace_scope = read_scope();
	/* the kernel asks the same as for ptrace, and nothing happens to the process */
	snprintf(path, sizeof path, "/proc/%d/mem", (int)mt_proc_thread(pid));
	fd = open(path, O_RDWR | O_CLOEXEC);
	f->can_open = fd >= 0;
	if (fd >= 0)
		close(fd);
}

/* Nothing of the process itself is wrong; the system does not let us. */
static int judge_rights(const struct mt_inject_facts *f, struct mt_err *err)
{
	int pid = (int)f->pid;

	if (f->can_open)
		return 0;
	if (f->own_uid && f->uid != f->own_uid)
		return mt_fail(err, -EPERM,
			"process %d belongs to another user (uid %u): run memtui as that user, or "
			"as root",
			pid, (unsigned)f->uid);
	if (f->ptrace_scope >= 3)
		return mt_fail(err, -EPERM,
			"this system forbids ptrace for all until it is started again "
			"(kernel.yama.ptrace_scope=%d)",
			f->ptrace_scope);
	if (f->ptrace_scope >= 1)
		return mt_fail(err, -EPERM,
			"this system lets only root trace process %d "
			"(kernel.yama.ptrace_scope=%d): "
			"run memtui as root, or set it to 0",
			pid, f->ptrace_scope);
	return mt_fail(err, -EPERM,
		"the kernel does not let memtui trace process %d: it has more rights than memtui, "
		"or forbids it (PR_SET_DUMPABLE)",
		pid);
}

static int judge_program(const struct mt_inject_facts *f, unsigned flags, struct mt_err *err)
{
	int pid = (int)f->pid;

	if (f->is_32_bit)
		return mt_fail(err, -ENOTSUP, "process %d runs a 32-bit program", pid);
	if (f->is_other_machine)
		return mt_fail(err, -ENOTSUP, "process %d runs a program for another processor",
			pid);
	if (f->has_shadow_stack)
		return mt_fail(err, -ENOTSUP,
			"process %d has shadow stacks, which memtui cannot add calls to: start it "
			"with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off",
			pid);
	if (f->seccomp && !(flags & MT_TRACEE_SECCOMP))
		return mt_fail(err, -ENOTSUP,
			"process %d has a system-call filter (seccomp), which may end it when "
			"memtui makes calls in it",
			pid);
	if (f->is_stopped)
		return mt_fail(err, -EAGAIN,
			"process %d is stopped by a signal: continue it first (kill -CONT %d)", pid,
			pid);
	if (mt_arch_refusal())
		return mt_fail(err, -ENOTSUP, "%s", mt_arch_refusal());
	return 0;
}

int mt_inject_judge(const struct mt_inject_facts *f, unsigned flags, struct mt_err *err)
{
	int pid = (int)f->pid, error;

	if (!f->exists)
		return mt_fail(err, -ESRCH, "process %d does not exist", pid);
	if (f->process != f->pid)
		return mt_fail(err, -ESRCH, "%d is a thread of process %d", pid, (int)f->process);
	if (f->is_self)
		return mt_fail(err, -EINVAL, "process %d is memtui itself", pid);
	if (f->is_kernel)
		return mt_fail(err, -ENOTSUP, "process %d is a kernel thread", pid);
	if (f->ended)
		return mt_fail(err, -ESRCH,
			"process %d has ended; its parent has not read its exit status (zombie)",
			pid);
	error = judge_rights(f, err);
	if (error)
		return error;
	if (f->tracer)
		return mt_fail(err, -EBUSY,
			"process %d is traced by %s (process %d): detach it first", pid,
			*f->tracer_name ? f->tracer_name : "another program", (int)f->tracer);
	return judge_program(f, flags, err);
}
