/* late start|room|apart|seal|both|fork N: a thread is stopped at the tracer's Nth system call,
 * between its look at whether the program is sealed and the call, until a filter holds for all
 * threads that kills for any call from the tracer's code, or until who installs it has waited for
 * a while. start: it allocates for the first time. room: its ring is full, and nobody empties it
 * any more. apart: it allocates on a stack that is not its own. seal: it is about to install a
 * filter itself, which will be refused. both: the same, and it waits for another thread that is
 * stopped at a call: of its calls those count that wait. fork: as apart, and a child without that
 * thread installs one, too, and waits for nobody. The status is 10 when it makes fewer calls. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../programs/trap.h"

#define NOINLINE __attribute__((noinline, noclone))
#define WAIT_NS 20000000 /* for a filter that should wait for this thread, too */
#define SLEEPS 100       /* of who has nobody to wait for */

static uint64_t tracer_start, tracer_end;
static sem_t arrived, installing, installed;
static __thread int calls_left __attribute__((tls_model("initial-exec")));
static __thread bool waits_count __attribute__((tls_model("initial-exec")));

static int find_tracer(struct dl_phdr_info *info, size_t size, void *allocator)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uint64_t end = start + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type == PT_LOAD
			&& (uint64_t)allocator - start < end - start
			&& strstr(info->dlpi_name, "memtui")) {
			tracer_start = start;
			tracer_end = end;
			return 1;
		}
	}
	return 0;
}

static void stop(void)
{
	struct timespec end;

	sem_post(&arrived);
	sem_wait(&installing);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += WAIT_NS;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	sem_timedwait(&installed, &end);
}

static void trapped(int number, siginfo_t *info, void *at)
{
	static const uint8_t call[] = {0x0f, 0x05};
	greg_t *registers = ((ucontext_t *)at)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)registers[REG_RIP];
	int error = errno;

	(void)number, (void)info;
	if (pc - tracer_start >= tracer_end - tracer_start || memcmp((void *)pc, call, sizeof call))
		return;
	if (waits_count && registers[REG_RAX] != SYS_sched_yield)
		return;
	/* behind a call that blocks signals no step is taken */
	if (--calls_left == 0 || registers[REG_RAX] == SYS_rt_sigprocmask)
		registers[REG_EFL] &= ~0x100;
	if (calls_left == 0)
		stop();
	errno = error;
}

static NOINLINE void pairs(int n)
{
	for (; n; n--)
		free(malloc(100));
}

static NOINLINE void deep(int n)
{
	volatile char frame[5000];

	frame[0] = (char)n;
	if (n)
		deep(n - 1);
	else
		pairs(1);
	frame[1] = frame[0];
}

static void on_other_stack(void)
{
	trap_on();
	deep(3);
	trap_off();
}

static void apart(void)
{
	static char stack[65536];
	static ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &here;
	makecontext(&there, on_other_stack, 0);
	swapcontext(&here, &there);
}

struct task {
	const char *what;
	int call; /* to be stopped at */
	bool passed, masked;
};

static void *work(void *at)
{
	struct sock_fprog none = {0, NULL};
	struct task *task = at;
	sigset_t mask;

	calls_left = task->call;
	waits_count = !strcmp(task->what, "both");
	if (strcmp(task->what, "start"))
		pairs(1);
	if (!strcmp(task->what, "start")) {
		trap_on();
		pairs(1);
	} else if (!strcmp(task->what, "room")) {
		pairs(400); /* of some 430 for which there is room */
		trap_on();
		pairs(50);
	} else if (!strcmp(task->what, "apart") || !strcmp(task->what, "fork")) {
		apart();
	} else {
		trap_on();
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none);
	}
	trap_off();
	task->passed = calls_left > 0;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	task->masked = sigismember(&mask, SIGUSR1);
	if (task->passed)
		sem_post(&arrived);
	return NULL;
}

static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(tracer_start >> 32), 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)tracer_start, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)tracer_end, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		&program);
}

/* In the child as the kernel makes it. */
static int install_in_child(void)
{
	struct rusage before, after;
	pid_t pid = (pid_t)syscall(SYS_fork);
	int status;

	if (pid == 0) {
		getrusage(RUSAGE_SELF, &before);
		status = install();
		getrusage(RUSAGE_SELF, &after);
		_exit(status || after.ru_nvcsw - before.ru_nvcsw > SLEEPS ? 1 : 0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
}

static void post_all(sem_t *sem)
{
	for (int i = 0; i < 2; i++)
		sem_post(sem);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
	struct task tasks[2] = {{.what = "apart", .call = 1}, {0}};
	bool both = argc == 3 && !strcmp(argv[1], "both");
	pthread_t threads[2];
	int result;

	if (argc != 3 || !dl_iterate_phdr(find_tracer, dlsym(RTLD_DEFAULT, "malloc")))
		return 3;
	tasks[1].what = argv[1];
	tasks[1].call = atoi(argv[2]);
	sem_init(&arrived, 0, 0);
	sem_init(&installing, 0, 0);
	sem_init(&installed, 0, 0);
	sigaction(SIGTRAP, &action, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 4;
	if (!strcmp(argv[1], "room"))
		pairs(1000); /* until it has been emptied for the only time */
	for (int i = !both; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, work, &tasks[i]))
			return 5;
		sem_wait(&arrived);
	}
	if (!strcmp(argv[1], "fork") && install_in_child())
		return 8;
	post_all(&installing);
	result = install();
	post_all(&installed);
	for (int i = !both; i < 2; i++)
		pthread_join(threads[i], NULL);
	pairs(10);
	if (result)
		return 6;
	if (tasks[1].masked || tasks[0].passed)
		return 7;
	return tasks[1].passed ? 10 : 0;
}
