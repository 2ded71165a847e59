/* fault WHAT...: does what makes a tracer's life hard. Standard output must be that of the untraced
 * run; the truth goes to the file that TRUTH names. */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

#define THREADS_MAX 2000

static volatile int stop;
static long burst_allocations, burst_frees;

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
	char text[256];
	va_list at;
	int len;

	__builtin_va_start(at, format);
	len = vsnprintf(text, sizeof text, format, at);
	__builtin_va_end(at);
	if (write(STDOUT_FILENO, text, (size_t)len) != len)
		_exit(98);
}

CASE case_exact(size_t i)
{
	void *volatile p = malloc(100 + i % 50);

	got(p, 100 + i % 50);
	if (i % 4) {
		free(p);
		gone(100 + i % 50);
	}
}

/* More than a ring holds. */
static __attribute__((noinline)) void case_burst(long pairs)
{
	for (long i = 0; i < pairs; i++) {
		void *volatile p = malloc(32 + (size_t)i % 128);

		free(p);
	}
	burst_allocations += pairs;
	burst_frees += pairs;
}

/* Deep stacks are compared in another way. */
static __attribute__((noinline)) void case_deep(int depth, long pairs)
{
	if (depth > 0)
		case_deep(depth - 1, pairs);
	else
		case_burst(pairs);
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

static void say_sum(const char *lost)
{
	char text[128];

	say(text,
		snprintf(text, sizeof text, "SUM allocations=%ld frees=%ld%s\n",
			allocations + burst_allocations, frees + burst_frees, lost));
}

static void say_text(const char *text)
{
	say(text, (int)strlen(text));
}

static void wait_for_line(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

/* ---- the recorder's faults: told when by lines on standard input ---- */

static int burst(char **argv)
{
	run_case("exact", NULL, case_exact);
	tell("ready\n");
	wait_for_line();
	case_burst(atol(argv[2]));
	tell("burst\n");
	wait_for_line();
	case_burst(1000);
	say_sum("");
	tell("done\n");
	return 7;
}

/* Blocks by 64, always at the same places: where the ring is full some are live, and their frees
 * are lost. Later others lie there. */
static __attribute__((noinline)) void case_places(long rounds)
{
	void *volatile places[64];

	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < 64; i++)
			places[i] = malloc(64);
		for (int i = 0; i < 64; i++)
			free(places[i]);
	}
	burst_allocations += rounds * 64;
	burst_frees += rounds * 64;
}

static int reuse(char **argv)
{
	run_case("exact", NULL, case_exact);
	tell("ready\n");
	wait_for_line();
	case_places(atol(argv[2]));
	tell("burst\n");
	wait_for_line();
	case_places(100);
	say_sum(" lost=1");
	say_text("COUNTER lost_frees=1 lost_allocations=1\nLEAST implied_frees=1\n");
	tell("done\n");
	return 7;
}

/* What no compressor makes small. */
static int noise(char **argv)
{
	uint64_t random = 88172645463325252ull;

	for (long i = 0; i < atol(argv[2]); i++) {
		void *volatile p;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		p = malloc(random % 60000);
		free(p);
	}
	tell("done\n");
	return 7;
}

/* ---- threads ---- */

static __attribute__((noinline)) void *case_thread(void *n)
{
	void *blocks[10];

	for (size_t i = 0; i < 10; i++)
		blocks[i] = malloc((size_t)n % 100 + i);
	for (size_t i = 1; i < 10; i++)
		free(blocks[i]);
	return blocks[0];
}

static int threads(char **argv)
{
	int total = atoi(argv[2]), wave = atoi(argv[3]);
	long bytes = 0, leaked = 0, failed = 0;
	pthread_t thread[THREADS_MAX];
	pthread_attr_t attr;
	char text[160];

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (int done = 0; done < total; done += wave) {
		for (int i = 0; i < wave; i++) {
			long n = done + i;

			failed += pthread_create(&thread[i], &attr, case_thread, (void *)n) != 0;
			bytes += n % 100 * 10 + 45;
			leaked += n % 100;
		}
		for (int i = 0; i < wave; i++)
			pthread_join(thread[i], NULL);
	}
	tell("threads failed %ld\n", failed);
	say(text,
		snprintf(text, sizeof text,
			"ANY ambiguous\nCASE case_thread count=%d "
			"bytes=%ld leaked=%d leaked_bytes=%ld\n",
			total * 10, bytes, total, leaked));
	say_text("ZERO threads_full untraced_events\n");
	return 0;
}

/* ---- limits and rights ---- */

static void result(const char *what, long value)
{
	int error = value < 0 ? errno : 0;

	tell("%s %ld %d\n", what, value, error);
	errno = 0;
}

static long status_field(const char *name)
{
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	long value = -1;

	if (fd >= 0) {
		ssize_t n = read(fd, text, sizeof text - 1);
		char *at;

		text[n > 0 ? n : 0] = '\0';
		if ((at = strstr(text, name)))
			value = atol(at + strlen(name));
		close(fd);
	}
	return value;
}

static void *some_thread(void *unused)
{
	(void)unused;
	return strdup("from a thread");
}

static void child_and_thread(void)
{
	pthread_t thread;
	int status = -1, error;
	pid_t pid;
	void *p = NULL;

	error = pthread_create(&thread, NULL, some_thread, NULL);
	tell("thread %d\n", error);
	if (!error)
		pthread_join(thread, &p);
	tell("%s\n", p ? (char *)p : "none");
	free(p);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		free(malloc(100));
		_exit(3);
	}
	tell("fork %d\n", pid > 0);
	if (pid > 0)
		waitpid(pid, &status, 0);
	tell("child %x\n", status);
}

/* Of shared memory that has no name on a disk: what a tracer might have, and nobody else here. */
static long shared_bytes(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	long total = 0;

	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			total += (long)(end - start);
	if (maps)
		fclose(maps);
	return total;
}

/* Limits that do not take hold, that allow all, or that are another process's. */
static int no_limits(char **argv)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, wrong = {2 << 20, 1 << 20};
	struct rlimit small = {256 << 20, RLIM_INFINITY};
	long before = shared_bytes();
	int status = -1;
	pid_t pid;

	(void)argv;
	result("bad pointer", setrlimit(RLIMIT_AS, (void *)8));
	result("bad pointer", prlimit(0, RLIMIT_AS, (void *)-8, NULL));
	result("soft above hard", setrlimit(RLIMIT_AS, &wrong));
	result("no resource", setrlimit(1000, &small));
	result("no limit", setrlimit(RLIMIT_AS, &all));
	result("no limit", prlimit(0, RLIMIT_DATA, &all, NULL));
	pid = vfork();
	if (pid == 0)
		_exit(setrlimit(RLIMIT_AS, &small) == 0 ? 6 : 7);
	waitpid(pid, &status, 0);
	tell("child %x\n", status);
	tell("lost %ld\n", before - shared_bytes());
	run_case("exact", NULL, case_exact);
	say_text("ANY leaked_count allocated_bytes\n");
	child_and_thread();
	return 0;
}

static int limits(char **argv)
{
	static const struct {
		const char *name;
		int resource;
		rlim_t value;
	} all[] = {
		{"nofile", RLIMIT_NOFILE, 0},
		{"fsize", RLIMIT_FSIZE, 65536},
		{"nproc", RLIMIT_NPROC, 0},
		{"stack", RLIMIT_STACK, 256 << 10},
		{"core", RLIMIT_CORE, 0},
		{"memlock", RLIMIT_MEMLOCK, 0},
		{"data", RLIMIT_DATA, 64 << 20},
		{"sigpending", RLIMIT_SIGPENDING, 0},
		{"cpu", RLIMIT_CPU, 100},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[2], all[i].name)) {
			result("setrlimit",
				setrlimit(all[i].resource,
					&(struct rlimit){all[i].value, all[i].value}));
			result("open", open("/dev/null", O_RDONLY));
		}
	run_case("exact", NULL, case_exact);
	say_text("ANY leaked_count allocated_bytes\n");
	child_and_thread();
	return 0;
}

/* Of a child that cannot open as much as a socket nothing is recorded. */
static int descriptors_of_child(char **argv)
{
	int status = -1;
	pid_t pid;

	(void)argv;
	result("setrlimit", setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3}));
	run_case("exact", NULL, case_exact);
	pid = fork();
	if (pid == 0) {
		free(malloc(100));
		_exit(5);
	}
	waitpid(pid, &status, 0);
	tell("child %x\n", status);
	say_text("LEAST forked_children=1\n");
	return 0;
}

/* The address space becomes so small that malloc fails; what fits is not the same with a tracer,
 * that it fails is. */
static __attribute__((noinline)) int case_full(void)
{
	static void *blocks[100000];
	long used = status_field("VmSize:") << 10, n = 0, round;
	char text[128];

	result("setrlimit",
		setrlimit(RLIMIT_AS,
			&(struct rlimit){(rlim_t)used + (24 << 20), (rlim_t)used + (24 << 20)}));
	for (round = 0; round < 20; round++) {
		long i = 0;

		errno = 0;
		while (i < 100000 && (blocks[i] = malloc(20000)))
			i++;
		if (i == 100000 || errno != ENOMEM)
			tell("never full: %ld %d\n", i, errno);
		n += i;
		while (i > 0)
			free(blocks[--i]);
	}
	say(text,
		snprintf(text, sizeof text,
			"CASE case_full count=%ld bytes=%ld leaked=0 leaked_bytes=0\n", n,
			n * 20000));
	errno = 0;
	result("calloc", calloc(1 << 20, 1 << 10) ? 0 : -1);
	run_case("exact", NULL, case_exact);
	tell("done\n");
	return 0;
}

static int descriptors(char **argv)
{
	int fd;

	if (!strcmp(argv[2], "close_range"))
		result("close_range", (long)close_range(3, 1029, 0) | close_range(1031, ~0u, 0));
	else if (!strcmp(argv[2], "fcloseall"))
		result("fcloseall", fcloseall());
	else
		for (fd = argv[2][0] == '0' ? 0 : 3; fd < 1024; fd++)
			close(fd);
	run_case("exact", NULL, case_exact); /* goes to a descriptor above */
	fd = open("/dev/null", O_RDONLY);
	return fd == open("/dev/null", O_RDONLY) - 1 ? 10 + fd : 1;
}

static int rights(char **argv)
{
	if (!strcmp(argv[2], "chroot")) {
		result("chroot", chroot(argv[3]));
		result("chdir", chdir("/"));
		result("open", open("/proc/self/maps", O_RDONLY));
	}
	result("setgroups", setgroups(0, NULL));
	result("setgid", setgid(65534));
	result("setuid", setuid(65534));
	result("setuid", setuid(0));
	run_case("exact", NULL, case_exact);
	say_text("ANY leaked_count allocated_bytes\n");
	child_and_thread();
	return 0;
}

/* ---- system-call filters ---- */

static int install(const char *how, struct sock_fprog *program)
{
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
	if (!strcmp(how, "syscall_prctl"))
		return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
	if (!strcmp(how, "tsync"))
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			program);
	if (!strcmp(how, "listener"))
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			       SECCOMP_FILTER_FLAG_NEW_LISTENER, program)
				< 0
			? -1
			: 0;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}

#define ALLOW(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static int filter(const char *how, const char *policy)
{
	struct sock_filter strict[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_exit), ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K,
			!strcmp(policy, "kill") ? SECCOMP_RET_KILL_PROCESS
						: SECCOMP_RET_ERRNO | EPERM)};
	struct sock_filter loose[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof strict / sizeof *strict, strict};

	if (!strcmp(policy, "loose"))
		program = (struct sock_fprog){sizeof loose / sizeof *loose, loose};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(policy, "bad"))
		program.filter = NULL;
	return install(how, &program);
}

static void churn_once(void)
{
	for (size_t i = 0; i < 100; i++) {
		void *volatile p = malloc(64 + i);

		free(p);
	}
}

static void *churn(void *started)
{
	churn_once(); /* its arena is there before a filter forbids to map one */
	__atomic_add_fetch((int *)started, 1, __ATOMIC_RELEASE);
	while (!stop)
		churn_once();
	for (;;)
		pause();
	return NULL;
}

/* Threads that keep their rings full all the time, so that they are found waiting for room. */
static void start_churning(void)
{
	static int started;
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, churn, &started);
	while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) < 3)
		;
}

/* The status of a child, which may read the counter no more than its parent. */
static long child_of_frozen(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		free(malloc(100));
		case_deep(100, 100);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int sealed(char **argv)
{
	const char *how = argv[2], *policy = argv[3];
	long pairs = atol(argv[4]);

	free(malloc(100)); /* what follows fits into the heap as it is now */
	allocations++, frees++;
	if (!strcmp(how, "tsync"))
		start_churning();
	if (!strcmp(how, "tsc"))
		result("prctl", prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	else if (!strcmp(how, "strict"))
		result("prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0));
	else
		result("filter", filter(how, policy));
	if (!strcmp(how, "then_tsc"))
		result("prctl", prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
	run_case("exact", NULL, case_exact);
	case_burst(pairs);
	case_deep(100, 100);
	if (!strcmp(how, "tsc"))
		result("child", child_of_frozen());
	if (strcmp(how, "tsync"))
		say_sum("");
	else
		say_text("ANY ambiguous leaked_count allocated_bytes "
			 "lost_events implied_frees unknown_frees\n");
	if (strcmp(policy, "bad") && strcmp(how, "tsc"))
		say_text("COUNTER sealed=1\n");
	else
		say_text("ZERO sealed\n");
	tell("done\n");
	if (!strcmp(how, "strict"))
		syscall(SYS_exit, 0);
	return 5;
}

/* A filter that forbids sockets alone: threads, children and what they start go on, untraced. */
static int sealed_children(char **argv)
{
	char *again[] = {argv[0], "leaf", NULL};
	int status = -1;
	pid_t pid;

	result("putenv", putenv((char *)"MEMTUI_OUTPUT=nobody writes to a constant"));
	result("filter", filter(argv[2], "loose"));
	run_case("exact", NULL, case_exact);
	child_and_thread();
	pid = fork();
	if (pid == 0) {
		execv(argv[0], again);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	tell("exec %x\n", status);
	say_text("ANY leaked_count allocated_bytes unknown_frees lost_events\n"
		 "LEAST lost_events=1\nCOUNTER sealed=1 threads_full=1 untraced_events=1\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*function)(char **);
	} all[] = {
		{"burst", burst},
		{"reuse", reuse},
		{"noise", noise},
		{"no_limits", no_limits},
		{"threads", threads},
		{"limits", limits},
		{"descriptors", descriptors},
		{"descriptors_of_child", descriptors_of_child},
		{"rights", rights},
		{"sealed", sealed},
		{"sealed_children", sealed_children},
	};
	const char *path = getenv("TRUTH"), *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "leaf")) {
		free(malloc(100));
		return 4;
	}
	if (path)
		truth_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
	if (path && !strcmp(what, "descriptors")) /* out of their way */
		truth_fd = dup2(truth_fd, 1030) < 0 || close(truth_fd) < 0 ? -1 : 1030;
	if (!strcmp(what, "full"))
		return case_full();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(what, all[i].name))
			return all[i].function(argv);
	return 97;
}
