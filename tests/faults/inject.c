/* Fails one system call of one part of memtui, and of no program that memtui starts.
 *
 *   inject LOG SECONDS ROLE:SYSCALL:NTH:ERRNO[+] COMMAND...
 *   inject LOG SECONDS - COMMAND...      fails nothing: lists what could be failed
 *
 * The roles: "front" is the command itself, "recorder" its child, "start" the child of the
 * recorder until it executes the program, which is let go there. Threads have the role of their
 * name.
 * The NTH call of the role fails with ERRNO; with a + all later ones fail, too. With "hold" in
 * place of ERRNO it never returns, as on a file system that does not answer.
 * LOG gets "ROLE SYSCALL COUNT" lines, "hit" if a call was failed, and "hung ROLE SYSCALL" for each
 * thread if the command had not ended after SECONDS: then all of it is killed. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 512
#define TASKS 256
#define ROLES 16
#define LOADER_SIZE 0x40000 /* more than glibc's takes */

static const char *const names[CALLS] = {
#include "syscalls.h"
};

struct role {
	char name[32];
	unsigned long counts[CALLS];
};

struct task {
	pid_t tid, process;
	int role; /* -1: a thread that has no name yet */
	bool born, in_call, failing, held, starts;
	unsigned long wanted; /* the break that it does not get; 0: another call */
};

static struct role roles[ROLES];
static struct task tasks[TASKS];
static struct {
	char role[32], call[32];
	unsigned long nth;
	int error;
	bool onward, hold, hit;
} plan;
static pid_t front, recorder;
static unsigned long loader; /* where the dynamic linker of the command begins */
static volatile sig_atomic_t over;

static int role_named(const char *name)
{
	int i = 0;

	while (i < ROLES - 1 && roles[i].name[0] && strcmp(roles[i].name, name))
		i++;
	if (!roles[i].name[0])
		snprintf(roles[i].name, sizeof roles[i].name, "%s", name);
	return i;
}

static struct task *task_of(pid_t tid)
{
	struct task *free_one = NULL;

	for (int i = 0; i < TASKS; i++) {
		if (tasks[i].tid == tid)
			return &tasks[i];
		if (!tasks[i].tid && !free_one)
			free_one = &tasks[i];
	}
	if (!free_one)
		exit(3);
	*free_one = (struct task){.tid = tid, .role = -1};
	return free_one;
}

/* A thread has the role of the name that it has given itself. */
static void read_name(struct task *t)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", t->process, t->tid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof name, f)) {
		name[strcspn(name, "\n")] = '\0';
		t->role = role_named(name);
	}
	if (f)
		fclose(f);
}

static const char *role_of(const struct task *t)
{
	return t->role >= 0           ? roles[t->role].name
		: t->process == front ? "front thread"
				      : "recorder thread";
}

/* ---- a stop ---------------------------------------------------------------------------------- */

/* The number of the call that cannot be is one that no kernel knows: it does nothing. */
static void on_entry(struct task *t, struct user_regs_struct *regs)
{
	unsigned long call = regs->orig_rax;
	struct role *r;

	t->failing = false;
	if (call >= CALLS || !names[call] || regs->rip - loader < LOADER_SIZE)
		return;
	r = &roles[role_named(role_of(t))];
	r->counts[call]++;
	if (strcmp(plan.role, r->name) || strcmp(plan.call, names[call])
		|| r->counts[call] < plan.nth || (!plan.onward && r->counts[call] > plan.nth))
		return;
	if (!strcmp(plan.call, "futex") && (regs->rsi & 0x7f) % 9) /* only waits can fail */
		return;
	t->failing = plan.hit = true;
	if (plan.hold) {
		t->held = true;
		return;
	}
	if (!strcmp(plan.call, "close")) /* an error or none: the descriptor is gone */
		return;
	if (!strcmp(plan.call, "brk")) { /* it fails by giving the break as it was */
		t->failing = false;
		t->wanted = regs->rdi;
		regs->rdi = 0;
		ptrace(PTRACE_SETREGS, t->tid, 0, regs);
		return;
	}
	regs->orig_rax = (unsigned long)-1;
	ptrace(PTRACE_SETREGS, t->tid, 0, regs);
}

static void on_call(struct task *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
		return;
	t->in_call = !t->in_call;
	if (!t->in_call && regs.orig_rax == SYS_prctl && regs.rdi == PR_SET_NAME)
		read_name(t);
	if (t->in_call) {
		on_entry(t, &regs);
	} else if (t->wanted) {
		regs.rdi = t->wanted;
		t->wanted = 0;
		ptrace(PTRACE_SETREGS, t->tid, 0, &regs);
	} else if (t->failing) {
		regs.rax = (unsigned long)-(long)plan.error;
		ptrace(PTRACE_SETREGS, t->tid, 0, &regs);
	}
}

/* A new process or thread; its first stop may have been seen already. */
static void on_birth(struct task *parent, int event)
{
	unsigned long tid = 0;
	struct task *t;

	ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid);
	t = task_of((pid_t)tid);
	if (event == PTRACE_EVENT_CLONE) {
		t->process = parent->process;
		return;
	}
	t->process = t->tid;
	if (parent->process == front && !recorder) {
		recorder = t->tid;
		t->role = role_named("recorder");
	} else {
		t->role = role_named("start");
		t->starts = true;
	}
}

/* What the dynamic linker does before memtui begins is not memtui's. */
static void find_loader(const struct task *t)
{
	unsigned long pair[2];
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/auxv", t->process);
	f = fopen(path, "re");
	while (f && fread(pair, sizeof pair, 1, f) == 1)
		if (pair[0] == AT_BASE)
			loader = pair[1];
	if (f)
		fclose(f);
}

/* Returns the signal that the task is to be given. */
static int on_stop(struct task *t, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (signal == (SIGTRAP | 0x80)) {
		on_call(t);
		return 0;
	}
	if (event == PTRACE_EVENT_EXEC && !t->starts)
		find_loader(t);
	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK
		|| event == PTRACE_EVENT_CLONE)
		on_birth(t, event);
	if (signal == SIGSTOP && !t->born) { /* the kernel's, for every new one */
		t->born = true;
		return 0;
	}
	return event ? 0 : signal;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void start(char **command)
{
	int status;

	front = fork();
	if (front == 0) {
		setpgid(0, 0);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(*command, command);
		_exit(127);
	}
	waitpid(front, &status, 0);
	ptrace(PTRACE_SETOPTIONS, front, 0,
		PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC
			| PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	*task_of(front) = (struct task){.tid = front,
		.process = front,
		.role = role_named("front"),
		.born = true};
	ptrace(PTRACE_SYSCALL, front, 0, 0);
}

static void write_log(const char *path, const char *hung)
{
	FILE *f = fopen(path, "we");

	for (int r = 0; r < ROLES && f; r++)
		for (int c = 0; c < CALLS; c++)
			if (roles[r].counts[c])
				fprintf(f, "%s\t%s\t%lu\n", roles[r].name, names[c],
					roles[r].counts[c]);
	if (plan.hit)
		fprintf(f, "hit\n");
	fputs(hung, f);
	fclose(f);
}

/* What each thread waits for, and the end of all of them. */
static void kill_all(char *hung, size_t size)
{
	for (int i = 0; i < TASKS; i++) {
		size_t len = strlen(hung);
		struct task *t = &tasks[i];
		char path[64], call[64] = "";
		FILE *f;

		if (!t->tid)
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", t->process, t->tid);
		f = fopen(path, "re");
		if (f && fgets(call, sizeof call, f)) {
			call[strcspn(call, " \n")] = 0;
			long number = strtol(call, NULL, 10);

			snprintf(hung + len, size - len, "hung\t%s\t%s\n", role_of(t),
				number >= 0 && number < CALLS && names[number] ? names[number]
									       : call);
		}
		if (f)
			fclose(f);
	}
	for (int i = 0; i < TASKS; i++)
		if (tasks[i].tid)
			kill(tasks[i].process, SIGKILL);
	kill(-front, SIGKILL);
}

static void on_alarm(int signal)
{
	(void)signal;
	over = 1;
}

static void parse(const char *text)
{
	char number[32] = "", error[32] = "";

	if (!strcmp(text, "-"))
		return;
	if (sscanf(text, "%31[^:]:%31[^:]:%31[^:]:%31s", plan.role, plan.call, number, error) != 4)
		exit(2);
	plan.nth = strtoul(number, NULL, 10);
	plan.onward = strchr(error, '+') != NULL;
	plan.hold = !strcmp(error, "hold");
	plan.error = atoi(error);
}

int main(int argc, char **argv)
{
	struct sigaction alarms = {.sa_handler = on_alarm};
	int status, result = -1;
	char hung[8192] = "";
	pid_t tid;

	if (argc < 5)
		return 2;
	parse(argv[3]);
	sigaction(SIGALRM, &alarms, NULL);
	start(argv + 4);
	alarm((unsigned)atoi(argv[2]));
	for (;;) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno != EINTR)
			break;
		if (over) {
			kill_all(hung, sizeof hung);
			over = 0;
		}
		if (tid < 0)
			continue;
		struct task *t = task_of(tid);

		if (!WIFSTOPPED(status)) {
			if (tid == front)
				result = WIFEXITED(status) ? WEXITSTATUS(status)
							   : 128 + WTERMSIG(status);
			*t = (struct task){0};
			continue;
		}
		int signal = on_stop(t, status);

		if (status >> 16 == PTRACE_EVENT_EXEC && t->starts) {
			ptrace(PTRACE_DETACH, tid, 0, 0);
			*t = (struct task){0};
		} else if (!t->held) {
			ptrace(PTRACE_SYSCALL, tid, 0, signal);
		}
	}
	write_log(argv[1], hung);
	return *hung ? 124 : result;
}
