/* Programs with known truth. Every process prints "TRUTH pid parent allocations frees bytes
 * inherited" of what its own calls of keep() and drop() do; inherited: frees and reallocs of blocks
 * of its parent's.
 *
 *   tree        three forks deep, three wide: each process counts differently
 *   threads N N forks while 8 other threads allocate; each child allocates exactly, some fork again
 *   kinds       fork, vfork and exec, posix_spawn, system, popen, raw clone
 *   leaf N      what an executed program does
 *   chain N     executes itself N times
 *   serial N    N children one after another;  crowd N: at once
 *   busy N      N children at once, each with 8 threads whose rings are full most of the time
 *   signal HOW forks in a signal handler, again and again, while the main program allocates: by
 *   fork, _Fork, or
 *               syscall() of fork, clone or clone3
 *   flood N     N children one after another, each under a flood of signals whose handler is traced
 *   meanwhile N N children in which one thread forks while another, by its first allocation, asks
 *   for a segment
 *   first N     N children whose first events are those of two threads, made by pthread_create
 *   unseen N    the same, made by a function of libc's that no tracer sees: while one asks for a
 *   segment, the other's events are lost
 *   thrd N      N threads one after another, made by thrd_create
 *   timer N     N threads one after another that the C library makes for a timer
 *   atfork      a handler of pthread_atfork that allocates
 *   killed      a child that kills itself while the parent goes on
 *   clear       a child whose environment was cleared before the fork
 *   root        setuid and chroot in children (as root alone)
 *   wait DIR three children that say ready and wait for DIR/go, then allocate on; ends with 6 when
 *   all are well
 *   later DIR   says ready, waits for DIR/go, then has 5 children in turn and says done
 *   zombies DIR 30 children that end with 0; when all have, says ready; reaps them when DIR/reap/go
 *   is there, and ends when DIR/end/go is
 *   quick   200 children in turn that end with 0, each reaped at once
 *   titles DIR  2 children that change their titles when DIR/go is there and end when DIR/end/go is
 *   leaves DIR  a child that cannot take a segment and executes, without an environment, what ends
 *   when DIR/go is there
 *   daemon DIR  forks twice, setsid, chdir /, and goes on until DIR/go is there */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char **self;
static long allocations, frees, bytes, inherited;
static volatile sig_atomic_t stop;

/* Without a buffer, and without an allocation. */
static void tell(int parent)
{
	char line[128];
	int n = snprintf(line, sizeof line, "TRUTH %d %d %ld %ld %ld %ld\n", (int)getpid(), parent,
		allocations, frees, bytes, inherited);

	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

__attribute__((noinline)) static void *keep(size_t size)
{
	char *volatile p = malloc(size);

	p[0] = 1;
	allocations++;
	bytes += (long)size;
	return p;
}

__attribute__((noinline)) static void drop(void *p)
{
	free(p);
	frees++;
}

static void forget(void)
{
	allocations = frees = bytes = inherited = 0;
}

static int reap(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int tree(int depth, int number)
{
	int parent = (int)getppid(), bad = 0;
	void *mine[64];
	pid_t children[3];

	for (int i = 0; i < 10 + number; i++)
		mine[i] = keep(100 + (size_t)number);
	for (int c = 0; depth < 3 && c < 3; c++) {
		children[c] = fork();
		if (children[c] == 0) {
			forget();
			free(mine[0]);
			mine[1] = realloc(mine[1], 5000);
			allocations++;
			bytes += 5000;
			inherited += 2;
			_exit(tree(depth + 1, 3 * number + c + 1));
		}
	}
	for (int i = 5; i < 9; i++)
		drop(keep(50));
	for (int c = 0; depth < 3 && c < 3; c++)
		bad += reap(children[c]) != 0;
	tell(depth ? parent : 0);
	return bad != 0;
}

static void *allocate(void *unused)
{
	(void)unused;
	while (!stop) {
		void *volatile p = malloc(64);

		free(p);
	}
	return NULL;
}

static int child_of_threads(int i)
{
	int parent = (int)getppid();

	forget();
	for (int k = 0; k < 50 + i % 7; k++)
		drop(keep(30));
	keep(777);
	if (i % 10 == 0 && fork() == 0) {
		forget();
		keep(99);
		tell(getppid());
		_exit(0);
	}
	if (i % 10 == 0 && reap(-1) != 0)
		return 1;
	tell(parent);
	return 0;
}

static int threads(int count)
{
	pthread_t other[8];
	int bad = 0;

	for (int i = 0; i < 8; i++)
		pthread_create(&other[i], NULL, allocate, NULL);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(child_of_threads(i));
		bad += reap(pid) != 0;
	}
	stop = 1;
	for (int i = 0; i < 8; i++)
		pthread_join(other[i], NULL);
	return bad != 0;
}

static int leaf(int count)
{
	for (int i = 0; i < count; i++)
		keep(200);
	tell(getppid());
	return 0;
}

static int kinds(void)
{
	char *arguments[] = {self[0], "leaf", "11", NULL}, command[4200], byte;
	int bad = 0;
	pid_t pid;
	FILE *f;

	if ((pid = vfork()) == 0) {
		execve(self[0], arguments, environ);
		_exit(1);
	}
	bad += reap(pid) != 0;
	arguments[2] = "12";
	bad += posix_spawn(&pid, self[0], NULL, NULL, arguments, environ) != 0 || reap(pid) != 0;
	snprintf(command, sizeof command, "exec %s leaf 13", self[0]);
	bad += system(command) != 0;
	snprintf(command, sizeof command, "exec %s leaf 14 >&2", self[0]);
	f = popen(command, "r");
	bad += !f || fread(&byte, 1, 1, f) != 0 || pclose(f) != 0;
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		forget();
		for (int i = 0; i < 15; i++)
			keep(300);
		tell((int)syscall(SYS_getppid));
		_exit(0);
	}
	bad += reap(pid) != 0;
	pid = fork();
	if (pid == 0) {
		forget();
		keep(1);
		tell(getppid()); /* and then it is another program */
		arguments[2] = "16";
		execve(self[0], arguments, environ);
		_exit(1);
	}
	bad += reap(pid) != 0;
	return bad != 0;
}

static int chain(int left)
{
	char number[16], *arguments[] = {self[0], "chain", number, NULL};

	for (int i = 0; i < left + 1; i++)
		keep(10);
	tell(0);
	if (!left)
		return 0;
	snprintf(number, sizeof number, "%d", left - 1);
	execve(self[0], arguments, environ);
	return 1;
}

static int many(int count, int at_once)
{
	int bad = 0;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			forget();
			for (int k = 0; k < 20; k++)
				keep(40);
			tell(getppid());
			_exit(0);
		}
		if (!at_once)
			bad += reap(pid) != 0;
	}
	for (int i = 0; at_once && i < count; i++)
		bad += reap(-1) != 0;
	return bad != 0;
}

static void *allocate_much(void *unused)
{
	for (int i = 0; i < 100000; i++) {
		void *volatile p = malloc(64);

		free(p);
	}
	return unused;
}

static int busy(int count)
{
	pthread_t thread[8];
	int bad = 0;

	for (int i = 0; i < count; i++) {
		if (fork() != 0)
			continue;
		forget();
		for (int k = 0; k < 8; k++)
			pthread_create(&thread[k], NULL, allocate_much, NULL);
		for (int k = 0; k < 8; k++)
			pthread_join(thread[k], NULL);
		keep(40);
		tell(getppid());
		_exit(0);
	}
	for (int i = 0; i < count; i++)
		bad += reap(-1) != 0;
	return bad != 0;
}

/* ---- fork in a signal handler ---- */

static volatile int handled;
static int forks = 60;
static bool without_descriptors;
static const char *how;

static pid_t fork_so(void)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD};

	if (!strcmp(how, "_Fork"))
		return _Fork();
	if (!strcmp(how, "SYS_fork"))
		return (pid_t)syscall(SYS_fork);
	if (!strcmp(how, "SYS_clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!strcmp(how, "SYS_clone3"))
		return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
	return fork();
}

static void on_alarm(int number)
{
	pid_t pid;

	(void)number;
	if (handled >= forks)
		return;
	handled++;
	pid = fork_so();
	/* returns into whatever was interrupted: even and odd ones allocate here first, or do
	 * not */
	if (pid == 0) {
		setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		handled = 1000 + handled;
		if (without_descriptors)
			setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
		if (handled % 2) {
			void *volatile p = malloc(123);

			free(p);
		}
	}
}

static int in_signals(void)
{
	struct itimerval often = {{0, 1500}, {0, 1500}};
	void *volatile p = malloc(123);
	int bad = 0;

	/* glibc's cache has it for the handlers: they must not enter the allocator in the middle of
	 * its work */
	free(p);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < forks) {
		for (int i = 0; i < 100 && handled < forks; i++) {
			char *volatile p = malloc(500 + (size_t)i);

			p = realloc(p, 2000);
			free(p);
		}
	}
	if (handled >= 1000) { /* a child */
		forget();
		for (int i = 0; i < 25; i++)
			keep(600);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	for (int status; waitpid(-1, &status, 0) > 0 || errno == EINTR;)
		bad += status != 0;
	return bad != 0;
}

/* Allows all: but the tracer makes no call any more. */
static void seal(void)
{
	struct sock_filter all = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog program = {1, &all};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		|| prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		exit(3);
}

static void *in_signals_thread(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	exit(in_signals());
}

/* The thread that allocates is not the first one, which has ended: no process has its number. */
static int in_signals_later(void)
{
	static pthread_t first, later;
	sigset_t alarm;

	first = pthread_self();
	if (pthread_create(&later, NULL, in_signals_thread, &first) != 0)
		return 2;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	pthread_exit(NULL);
}

static void map_something(int number)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)number;
	munmap(p, 4096);
}

static int flood(int count)
{
	struct sigaction action = {.sa_handler = map_something, .sa_flags = SA_RESTART};
	int bad = 0;

	sigaction(SIGUSR1, &action, NULL);
	keep(1);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			forget();
			for (int k = 0; k < 20; k++)
				keep(40);
			tell(getppid());
			_exit(0);
		}
		while (waitpid(pid, &status, WNOHANG) == 0)
			kill(pid, SIGUSR1);
		bad += status != 0;
	}
	return bad != 0;
}

/* ---- a fork while another thread asks for a segment: the stacks of its threads are from before,
 * so that nothing is allocated for them ---- */

static volatile int begin;

static void *return_at_once(void *unused)
{
	return unused;
}

static void *allocate_one(void *unused)
{
	while (!begin)
		;
	keep(40);
	return unused;
}

static void *fork_later(void *delay)
{
	pid_t pid;

	while (!begin)
		;
	for (volatile intptr_t i = (intptr_t)delay; i > 0; i--)
		;
	pid = fork();
	if (pid == 0) {
		forget();
		for (int i = 0; i < 7; i++)
			keep(30);
		/* where its parent had no segment yet, it is taken for a child of that one's
		 * parent */
		tell(0);
		_exit(0);
	}
	return (void *)(intptr_t)reap(pid);
}

static int (
	*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = pthread_create;

/* libc's, past the tracer's, which would ask for a segment before there is a second thread: by its
 * symbol table, since dlsym would give the tracer's. The names lie behind the symbols there. */
static void create_unseen(void)
{
	const struct link_map *libc = dlopen("libc.so.6", RTLD_NOW);
	const ElfW(Sym) *symbol = NULL;
	const char *names = NULL;

	for (const ElfW(Dyn) *d = libc->l_ld; d->d_tag; d++)
		if (d->d_tag == DT_SYMTAB)
			symbol = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			names = (const char *)d->d_un.d_ptr;
	while ((const char *)symbol < names && strcmp(names + symbol->st_name, "pthread_create"))
		symbol++;
	*(uintptr_t *)&create = libc->l_addr + symbol->st_value;
}

static void start_both(pthread_t both[2], void *(*first)(void *), void *(*second)(void *),
	intptr_t argument)
{
	create(&both[0], NULL, first, NULL);
	create(&both[1], NULL, second, (void *)argument);
}

/* What pthread_create allocates once for all threads comes before the children. */
static void run_two(void)
{
	pthread_t both[2];

	start_both(both, return_at_once, return_at_once, 0);
	pthread_join(both[0], NULL);
	pthread_join(both[1], NULL);
}

static int meanwhile(int count)
{
	void *status = NULL;
	pthread_t both[2];
	int bad = 0;

	create_unseen();
	run_two();
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			forget();
			start_both(both, allocate_one, fork_later, i * 300);
			begin = 1;
			pthread_join(both[0], NULL);
			pthread_join(both[1], &status);
			tell(getppid());
			_exit(status != NULL);
		}
		bad += reap(pid) != 0;
	}
	return bad != 0;
}

/* ---- the first events of a child are those of two threads ---- */

static void *keep_many(void *unused)
{
	while (!begin)
		;
	for (int i = 0; i < 1000; i++) {
		char *volatile p = malloc(40);

		p[0] = 1;
	}
	return unused;
}

static int threads_first(int count)
{
	pthread_t both[2];
	int bad = 0;

	run_two();
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			forget();
			start_both(both, keep_many, keep_many, 0);
			begin = 1;
			pthread_join(both[0], NULL);
			pthread_join(both[1], NULL);
			allocations = 2000;
			bytes = 80000;
			tell(getppid());
			_exit(0);
		}
		bad += reap(pid) != 0;
	}
	return bad != 0;
}

/* ---- threads that do not come from pthread_create ---- */

static int allocate_ten(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10; i++)
		drop(keep(32));
	return 0;
}

static int thrds(int count)
{
	for (int i = 0; i < count; i++) {
		thrd_t other;

		if (thrd_create(&other, allocate_ten, NULL) != thrd_success
			|| thrd_join(other, NULL) != thrd_success)
			return 1;
	}
	tell(0);
	return 0;
}

static sem_t ended;

static void on_time(union sigval unused)
{
	(void)unused;
	allocate_ten(NULL);
	sem_post(&ended);
}

static int timers(int count)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_time};
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	timer_t timer;

	sem_init(&ended, 0, 0);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return 1;
	for (int i = 0; i < count; i++) {
		timer_settime(timer, 0, &soon, NULL);
		while (sem_wait(&ended) < 0)
			;
	}
	tell(0);
	return 0;
}

static void allocate_in_child(void)
{
	drop(keep(17));
}

static int at_fork(void)
{
	pid_t pid;

	pthread_atfork(NULL, NULL, allocate_in_child);
	pid = fork();
	if (pid == 0) {
		forget();
		allocations = frees = 1; /* the handler's */
		bytes = 17;
		keep(18);
		tell(getppid());
		_exit(0);
	}
	return reap(pid) != 0;
}

static int killed(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		forget();
		for (int i = 0; i < 1000; i++)
			keep(10);
		tell(getppid());
		kill(getpid(), SIGKILL);
	}
	if (reap(pid) != SIGKILL)
		return 1;
	for (int i = 0; i < 30; i++)
		keep(20);
	tell(0);
	return 0;
}

static int cleared(void)
{
	pid_t pid;

	clearenv();
	pid = fork();
	if (pid == 0) {
		forget();
		for (int i = 0; i < 21; i++)
			keep(21);
		tell(getppid());
		_exit(0);
	}
	return reap(pid) != 0;
}

static int as_root(void)
{
	int bad = 0;

	for (int how = 0; how < 3; how++) {
		pid_t pid = fork();

		if (pid == 0) {
			forget();
			if (how == 0               ? setuid(65534)
					: how == 1 ? chroot("/proc/sys")
						   : setresgid(65534, 65534, 65534))
				_exit(1);
			for (int i = 0; i < 31 + how; i++)
				keep(31);
			tell(getppid());
			_exit(0);
		}
		bad += reap(pid) != 0;
	}
	return bad != 0;
}

static void await_go(const char *directory)
{
	struct stat status;
	char go[4096];

	snprintf(go, sizeof go, "%s/go", directory);
	while (stat(go, &status) < 0)
		poll(NULL, 0, 5);
}

static int wait_in_children(const char *directory)
{
	int bad = 0;

	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			keep(10);
			if (write(1, "ready\n", 6) != 6)
				_exit(1);
			await_go(directory);
			for (int k = 0; k < 200000; k++)
				drop(keep(20));
			_exit(fork() ? reap(-1) : (drop(keep(30)), 0));
		}
	for (int i = 0; i < 3; i++)
		bad += reap(-1) != 0;
	return bad ? 1 : 6;
}

static int daemonize(const char *directory)
{
	if (fork() > 0)
		_exit(5);
	setsid();
	if (fork() > 0)
		_exit(0);
	if (chdir("/") < 0)
		_exit(1);
	forget();
	for (int i = 0; i < 41; i++)
		keep(41);
	await_go(directory);
	for (int i = 0; i < 9; i++)
		keep(41);
	tell(0);
	return 0;
}

static int zombies(const char *directory)
{
	char reap_at[4096], end_at[4096];
	siginfo_t info;
	pid_t pids[30];
	int bad = 0;

	snprintf(reap_at, sizeof reap_at, "%s/reap", directory);
	snprintf(end_at, sizeof end_at, "%s/end", directory);
	for (int i = 0; i < 30; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			keep(10);
			_exit(0);
		}
	}
	for (int i = 0; i < 30; i++)
		waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOWAIT);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	await_go(reap_at);
	for (int i = 0; i < 30; i++)
		bad += reap(pids[i]) != 0;
	await_go(end_at);
	return bad;
}

static int quick_children(void)
{
	int bad = 0;

	for (int i = 0; i < 200; i++) {
		if (fork() == 0) {
			keep(1);
			_exit(0);
		}
		bad += reap(-1) != 0;
	}
	return bad ? 1 : 0;
}

/* As setproctitle does where there is room: over the arguments, and zeros behind it. */
static void set_title(const char *name, int number)
{
	char *last = self[0];

	for (char **arg = self; *arg; arg++)
		last = *arg + strlen(*arg);
	memset(self[0], 0, (size_t)(last - self[0]));
	snprintf(self[0], (size_t)(last - self[0]), "%s: %d", name, number);
}

static int titles(const char *directory)
{
	char begin_at[4096], end_at[4096];

	snprintf(begin_at, sizeof begin_at, "%s", directory);
	snprintf(end_at, sizeof end_at, "%s/end", directory);
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			keep(10);
			await_go(begin_at);
			set_title("worker", i);
			await_go(end_at);
			_exit(0);
		}
	return 0;
}

static int leaves(const char *directory)
{
	char loop[4200], *arguments[] = {"sh", "-c", loop, NULL}, *none[] = {NULL};
	struct rlimit limit = {4, 4};
	pid_t pid;

	snprintf(loop, sizeof loop, "while [ ! -e %s/go ]; do /bin/true; done", directory);
	keep(10);
	pid = fork();
	if (pid == 0) {
		/* a socket, but no descriptor from it */
		setrlimit(RLIMIT_NOFILE, &limit);
		keep(20);
		execve("/bin/sh", arguments, none);
		_exit(1);
	}
	return reap(pid);
}

static int children_later(const char *directory)
{
	int bad;

	keep(10);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	await_go(directory);
	bad = many(5, 0);
	return bad || write(1, "done\n", 5) != 5;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	self = argv;
	if (!strcmp(what, "tree"))
		return tree(0, 0);
	if (!strcmp(what, "threads"))
		return threads(n);
	if (!strcmp(what, "kinds"))
		return kinds();
	if (!strcmp(what, "leaf"))
		return leaf(n);
	if (!strcmp(what, "chain"))
		return chain(n);
	if (!strcmp(what, "serial") || !strcmp(what, "crowd"))
		return many(n, *what == 'c');
	if (!strcmp(what, "busy"))
		return busy(n);
	how = argc > 2 ? argv[2] : "";
	if (!strcmp(what, "signal")) {
		if (argc > 3 && !strcmp(argv[3], "later"))
			return in_signals_later();
		if (argc > 3)
			forks = 400;
		if (argc > 3 && !strcmp(argv[3], "sealed"))
			seal();
		else
			without_descriptors = argc > 3;
		return in_signals();
	}
	if (!strcmp(what, "flood"))
		return flood(n);
	if (!strcmp(what, "meanwhile"))
		return meanwhile(n);
	if (!strcmp(what, "unseen"))
		create_unseen();
	if (!strcmp(what, "first") || !strcmp(what, "unseen"))
		return threads_first(n);
	if (!strcmp(what, "thrd"))
		return thrds(n);
	if (!strcmp(what, "timer"))
		return timers(n);
	if (!strcmp(what, "atfork"))
		return at_fork();
	if (!strcmp(what, "killed"))
		return killed();
	if (!strcmp(what, "clear"))
		return cleared();
	if (!strcmp(what, "root"))
		return as_root();
	if (!strcmp(what, "wait"))
		return wait_in_children(argv[2]);
	if (!strcmp(what, "later"))
		return children_later(argv[2]);
	if (!strcmp(what, "zombies"))
		return zombies(argv[2]);
	if (!strcmp(what, "quick"))
		return quick_children();
	if (!strcmp(what, "titles"))
		return titles(argv[2]);
	if (!strcmp(what, "leaves"))
		return leaves(argv[2]);
	if (!strcmp(what, "daemon"))
		return daemonize(argv[2]);
	return 99;
}
