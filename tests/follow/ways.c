/* ways HOW ENVIRONMENT PROGRAM [ARGUMENT]...: executes PROGRAM in one of the ways that there are.
 *
 * HOW: execve execv execvp execvpe execl execlp execle fexecve fexecve-path execveat spawn spawnp
 *   syscall syscall-at; in this process, or where the name begins
 *   vfork-    in a child of vfork           handler-  in a handler on a stack of 8 KiB
 *   fork-     in a forked child that allocates nothing
 *   threads-  in 8 children that 8 threads fork at the same time
 *   fails-    after 3 attempts at files that cannot be executed
 *   stepped-  with an attempt at something else in a signal handler after every instruction
 * ENVIRONMENT: own; none: NULL; empty; read: KEPT=1 and two LD_PRELOADs, in memory that cannot be
 *   written, as the arguments are; many: 5,000 variables
 * Ends with the status of what it executes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char **arguments, **environment, **own;
static const char *way, *program;

static int status_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t spawn(bool search)
{
	pid_t child;
	int error = search ? posix_spawnp(&child, program, NULL, NULL, arguments, environment)
			   : posix_spawn(&child, program, NULL, NULL, arguments, environment);

	errno = error;
	return error ? -1 : child;
}

/* Returns where it fails. */
static void execute(void)
{
	const char *a = arguments[1];
	const char *b = a ? arguments[2] : NULL, *c = b ? arguments[3] : NULL;

	if (!strcmp(way, "execve"))
		execve(program, arguments, environment);
	else if (!strcmp(way, "execv"))
		environ = environment, execv(program, arguments);
	else if (!strcmp(way, "execvp"))
		environ = environment, execvp(program, arguments);
	else if (!strcmp(way, "execvpe"))
		execvpe(program, arguments, environment);
	else if (!strcmp(way, "execl"))
		environ = environment, execl(program, arguments[0], a, b, c, NULL);
	else if (!strcmp(way, "execlp"))
		environ = environment, execlp(program, arguments[0], a, b, c, NULL);
	else if (!strcmp(way, "execle"))
		execle(program, arguments[0], a, b, c, (char *)NULL, environment);
	else if (!strcmp(way, "fexecve"))
		fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, environment);
	else if (!strcmp(way, "fexecve-path"))
		fexecve(open(program, O_PATH | O_CLOEXEC), arguments, environment);
	else if (!strcmp(way, "execveat"))
		execveat(open("/", O_PATH | O_CLOEXEC), program + 1, arguments, environment, 0);
	else if (!strcmp(way, "syscall"))
		syscall(SYS_execve, program, arguments, environment);
	else if (!strcmp(way, "syscall-at"))
		syscall(SYS_execveat, AT_FDCWD, program, arguments, environment, 0);
	else if (!strncmp(way, "spawn", 5))
		_exit(status_of(spawn(way[5])));
	environ = own;
}

static void on_signal(int number)
{
	(void)number;
	execute();
	_exit(126);
}

static void signal_on_small_stack(void)
{
	static char stack[8192];
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
	sigaction(SIGUSR1, &action, NULL);
}

static void *thread(void *barrier)
{
	pid_t child;

	pthread_barrier_wait(barrier);
	child = fork();
	if (child == 0) {
		execute();
		_exit(126);
	}
	return (void *)(long)status_of(child);
}

static int threads(void)
{
	pthread_barrier_t barrier;
	pthread_t t[8];
	long status = 0;
	void *result;

	pthread_barrier_init(&barrier, NULL, 8);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, thread, &barrier);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &result);
		status |= (long)result;
	}
	return (int)status;
}

static int attempt(const char *path)
{
	execve(path, arguments, environment);
	return errno;
}

/* errno is what the kernel says. The file is static: a note of it is to be taken back. */
static void fail(const char *beside)
{
	if (attempt("/nowhere") != ENOENT || attempt("/") != EACCES || attempt(beside) != EACCES)
		_exit(125);
}

/* A signal after every instruction, in whose handler, and in a child of that, an exec fails. */
static void on_step(int number)
{
	static char *other[] = {"KEPT=another", "LD_PRELOAD=nothing", "A=b", "C=d", NULL};

	pid_t child;

	(void)number;
	execve("/nowhere", arguments, other);
	child = vfork();
	if (child == 0) {
		execve("/nowhere", arguments, other);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void step(void)
{
	struct sigaction action = {.sa_handler = on_step};

	sigaction(SIGTRAP, &action, NULL);
	__asm__ volatile("pushf\n	orl $0x100, (%%rsp)\n	popf" ::: "cc", "memory");
}

static char **read_only(char **from)
{
	char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **list = (char **)at, *text = at + 65536;
	size_t i = 0;

	for (; from[i]; i++) {
		list[i] = text;
		text = stpcpy(text, from[i]) + 1;
	}
	list[i] = NULL;
	mprotect(at, 1 << 20, PROT_READ);
	return list;
}

static char **choose(const char *name)
{
	static char *empty[] = {NULL};
	static char *some[] = {"LD_PRELOAD=/nowhere/libmemtui.so", "KEPT=1", "LD_PRELOAD=", NULL};
	static char *many[5001], text[5000][16];

	if (!strcmp(name, "none"))
		return NULL;
	if (!strcmp(name, "empty"))
		return empty;
	if (!strcmp(name, "read"))
		return read_only(some);
	if (strcmp(name, "many"))
		return environ;
	for (int i = 0; i < 5000; i++) {
		snprintf(text[i], sizeof text[i], "V%d=%d", i, i);
		many[i] = text[i];
	}
	return many;
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc < 4)
		return 124;
	way = strrchr(argv[1], '-');
	way = !way || strstr(argv[1], "fexecve") || strstr(argv[1], "syscall") ? argv[1] : way + 1;
	own = environ;
	environment = choose(argv[2]);
	program = argv[3];
	arguments = read_only(argv + 3);
	if (!strncmp(argv[1], "vfork-", 6) || !strncmp(argv[1], "fork-", 5)) {
		child = argv[1][0] == 'v' ? vfork() : fork();
		if (child == 0) {
			execute();
			_exit(126);
		}
		return status_of(child);
	}
	if (!strncmp(argv[1], "handler-", 8)) {
		signal_on_small_stack();
		raise(SIGUSR1);
	}
	if (!strncmp(argv[1], "threads-", 8))
		return threads();
	if (!strncmp(argv[1], "fails-", 6))
		fail("./closed");
	if (!strncmp(argv[1], "stepped-", 8))
		step();
	execute();
	return 126;
}
