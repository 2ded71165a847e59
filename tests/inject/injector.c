/* Injects calls into a program and judges what became of it.
 * injector rounds TARGET ROUNDS PERCENT SEED    PERCENT of the injectors are killed at some moment
 * injector parked TARGET ROUNDS SEED            the same while all threads wait, mappings compared
 * injector measure TARGET ROUNDS                how long a runnable thread stands still
 * injector open|borrow|stop PID [FUNCTION]      says what comes of it */
#include "core/inject/inject.h"
#include "shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {
#define X(name) #name,
	WORKERS(X)
#undef X
};
static struct shared *all;
static pid_t target;
static char file[] = "/tmp/inject-XXXXXX";

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static void pause_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	if (target > 0)
		kill(target, SIGKILL);
	unlink(file);
	exit(1);
}

/* ---- the program ---- */

static void check_lives(const char *when)
{
	int status;

	if (waitpid(target, &status, WNOHANG) != target)
		return;
	target = 0;
	fail("the program ended %s: status %#x", when, status);
}

/* Until the condition holds, for at most a minute. */
#define AWAIT(condition, what) \
	do { \
		uint64_t begin_ = now(); \
		while (!(condition)) { \
			check_lives("while " what); \
			if (now() - begin_ > 60000000000u) \
				fail("timeout while " what); \
			pause_ns(200000); \
		} \
	} while (0)

static void start(const char *program)
{
	int fd = mkstemp(file);

	if (fd < 0 || ftruncate(fd, sizeof *all))
		fail("no file: %s", strerror(errno));
	all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	target = fork();
	if (target == 0) {
		execl(program, program, file, NULL);
		_exit(127);
	}
	AWAIT(__atomic_load_n(&all->ready, __ATOMIC_ACQUIRE), "it starts");
}

/* Every thread makes some turns, so none stands still. */
static void check_moves(void)
{
	uint64_t before[WORKER_COUNT];

	for (int i = 0; i < WORKER_COUNT; i++)
		before[i] = load(&all->turns[i]);
	for (int i = 0; i < WORKER_COUNT; i++) {
		uint64_t begin = now();

		while (load(&all->turns[i]) < before[i] + 3) {
			check_lives("at its end");
			if (now() - begin > 60000000000u)
				fail("thread %s stands still", names[i]);
			pause_ns(1000000);
		}
	}
}

static void finish(void)
{
	int status;

	kill(target, SIGTERM);
	if (waitpid(target, &status, 0) != target || status)
		fail("the program ended with status %#x", status);
	target = 0;
	unlink(file);
}

static void park(void)
{
	__atomic_store_n(&all->park, 1, __ATOMIC_RELEASE);
	AWAIT(__atomic_load_n(&all->parked, __ATOMIC_ACQUIRE) == WORKER_COUNT, "its threads park");
}

static void unpark(void)
{
	__atomic_store_n(&all->park, 0, __ATOMIC_RELEASE);
	AWAIT(({
		syscall(SYS_futex, &all->park, 1, 1000, NULL, NULL, 0);
		!__atomic_load_n(&all->parked, __ATOMIC_ACQUIRE);
	}),
		"its threads go on");
}

/* Mappings with their flags, and descriptors; caller frees. */
static char *picture(void)
{
	char *text, path[300], line[4096];
	size_t size;
	FILE *to = open_memstream(&text, &size), *maps;
	struct dirent *entry;
	DIR *fds;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)target);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof line, maps))
		fputs(line, to);
	fclose(maps);
	snprintf(path, sizeof path, "/proc/%d/fd", (int)target);
	fds = opendir(path);
	while (fds && (entry = readdir(fds)))
		fprintf(to, "fd %s\n", entry->d_name);
	closedir(fds);
	fclose(to);
	return text;
}

/* ---- the injector ---- */

static struct mt_tracee *tracee;
static uint64_t function;

static void out(const char *what, const struct mt_err *err)
{
	snprintf(all->error, sizeof all->error, "%s: %.400s", what, err->text);
	_exit(9);
}

static void open_target(void)
{
	struct mt_tracee_symbol symbol;
	struct mt_err err;

	srandom((unsigned)getpid());
	tracee = mt_tracee_open(target, 0, &err);
	if (!tracee)
		out("open", &err);
	if (mt_tracee_avoid_usual(tracee, &err)
		|| mt_tracee_find(tracee, "", "injected", &symbol, &err))
		out("symbols", &err);
	function = symbol.address;
}

/* Half of the time, the choice is left to the library. The threads that make processes are never
 * asked for: a SIGCHLD that comes while such a thread is stopped wakes another one. */
static pid_t pick(void)
{
	int which = (int)(random() % (2 * WORKER_COUNT));

	return which >= WORKER_COUNT || which == FORK || which == VFORK || which == EPOLL
		? 0
		: all->thread[which];
}

static void call_once(void)
{
	uint64_t ticket = __atomic_fetch_add(&all->next_ticket, 1, __ATOMIC_RELAXED) % TICKETS,
		 result;
	const uint64_t arguments[6] = {ticket, ticket + 1, ticket + 2, ticket + 3, ticket + 4,
		ticket + 5};
	struct mt_err err;
	int error;

	do {
		pid_t thread = mt_tracee_borrow(tracee, pick(), 20, &err);

		if (thread == -ETIMEDOUT) /* where the wanted one is held */
			thread = mt_tracee_borrow(tracee, 0, 20000, &err);
		if (thread < 0)
			out("borrow", &err);
		error = mt_tracee_call(tracee, thread, function, arguments, &result, &err);
	} while (error == -EAGAIN);
	if (error)
		out("call", &err);
	if (result != ticket * 7 + ticket + 5) {
		err = (struct mt_err){.text = "wrong"};
		out("result", &err);
	}
	__atomic_fetch_add(&all->done_calls, 1, __ATOMIC_RELAXED);
	all->stage = STAGE_CALLS;
}

static void stop_once(void)
{
	struct mt_err err;

	all->stage = STAGE_STOPS;
	if (mt_tracee_stop(tracee, 20000, &err))
		out("stop", &err);
	mt_tracee_resume(tracee);
	all->stage = STAGE_CALLS;
}

static void leave(void)
{
	struct mt_err err;

	if (mt_tracee_leave(tracee, &err))
		out("leave", &err);
}

/* Calls, and now and then a stop of all, and the way back and anew. */
static void turns(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		call_once();
		if (i % 4 == 3)
			stop_once();
		if (i % 8 == 7)
			leave();
	}
}

static void wait_for_injector(pid_t injector, bool is_killed)
{
	int status;

	if (waitpid(injector, &status, 0) != injector)
		fail("no injector");
	if (WIFEXITED(status) && WEXITSTATUS(status))
		fail("injector: %s", WEXITSTATUS(status) == 9 ? all->error : "ended");
	if (WIFSIGNALED(status) && !is_killed)
		fail("injector: signal %d", WTERMSIG(status));
}

/* Killed at any moment from its first look at the target on; most moments come after its first
 * call, and lie within others. */
static void killed_round(void)
{
	pid_t injector;
	unsigned most = random() % 8 ? 10000000 : 60000000;

	all->stage = STAGE_BEGINS;
	injector = fork();
	if (injector == 0) {
		open_target();
		for (;;)
			turns(1000);
	}
	if (random() % 8)
		AWAIT(__atomic_load_n(&all->stage, __ATOMIC_RELAXED) != STAGE_BEGINS,
			"the injector begins");
	pause_ns((uint64_t)random() % most);
	kill(injector, SIGKILL);
	wait_for_injector(injector, true);
}

static void whole_round(bool leaves)
{
	pid_t injector = fork();

	if (injector == 0) {
		open_target();
		turns(4);
		if (leaves)
			leave();
		_exit(mt_tracee_close(tracee) ? 8 : 0);
	}
	wait_for_injector(injector, false);
}

static void check_counts(uint64_t kills_in_stops)
{
	uint64_t interrupts = 0, faults = 0;

	for (int i = 0; i < WORKER_COUNT; i++) {
		interrupts += i == EPOLL ? 0 : all->interrupts[i];
		faults += all->faults[i];
		if (all->faults[i] || (all->interrupts[i] && i != EPOLL))
			printf("%s: %llu faults, %llu EINTR in %llu turns; ", names[i],
				(unsigned long long)all->faults[i],
				(unsigned long long)all->interrupts[i],
				(unsigned long long)all->turns[i]);
	}
	for (int i = 0; i < TICKETS; i++)
		if (all->ticket[i] > 1)
			fail("a call was made %d times", all->ticket[i]);
	if (faults || interrupts)
		fail("the program was disturbed");
	if (all->interrupts[EPOLL] > kills_in_stops)
		fail("epoll_wait: %llu EINTR, but %llu injectors were killed in a stop of all",
			(unsigned long long)all->interrupts[EPOLL],
			(unsigned long long)kills_in_stops);
	if (all->wrong_arguments || all->calls < all->done_calls)
		fail("%llu calls of %llu were made, %llu with wrong arguments",
			(unsigned long long)all->calls, (unsigned long long)all->done_calls,
			(unsigned long long)all->wrong_arguments);
}

static void rounds(const char *program, unsigned count, unsigned percent, unsigned seed)
{
	uint64_t killed = 0, in_stops = 0;

	srandom(seed);
	start(program);
	for (unsigned i = 0; i < count; i++) {
		if ((unsigned)random() % 100 < percent) {
			killed_round();
			killed++;
			in_stops += all->stage == STAGE_STOPS;
		} else {
			whole_round(i % 8 == 0);
		}
		check_lives("after a round");
	}
	whole_round(true);
	check_moves();
	park(); /* so that no thread counts while the counts are read */
	check_counts(in_stops);
	unpark();
	finish();
	printf("rounds %u killed %llu in_stops %llu calls %llu eintr_epoll %llu aborts %llu\n",
		count, (unsigned long long)killed, (unsigned long long)in_stops,
		(unsigned long long)all->calls, (unsigned long long)all->interrupts[EPOLL],
		(unsigned long long)all->aborts);
}

static void parked(const char *program, unsigned count, unsigned seed)
{
	char *before, *after;

	srandom(seed);
	start(program);
	check_moves();
	park();
	before = picture();
	for (unsigned i = 0; i < count; i++)
		killed_round();
	whole_round(true);
	after = picture();
	if (strcmp(before, after))
		fail("mappings or descriptors differ: before\n%s\nafter\n%s", before, after);
	unpark();
	check_moves();
	park();
	check_counts(count);
	unpark();
	finish();
	free(before);
	free(after);
	printf("parked %u calls %llu\n", count, (unsigned long long)all->calls);
}

/* ---- one question ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(const char *program, unsigned count)
{
	uint64_t *ns = calloc(count, sizeof *ns);
	int ends[2];
	char byte;
	struct mt_err err;

	if (pipe(ends))
		fail("no pipe");
	target = fork();
	if (target == 0) {
		dup2(ends[1], 1);
		execl(program, program, "spin", NULL);
		_exit(127);
	}
	if (read(ends[0], &byte, 1) != 1)
		fail("the program does not start");
	tracee = mt_tracee_open(target, 0, &err);
	if (!tracee || mt_tracee_avoid_usual(tracee, &err))
		fail("%s", err.text);
	for (unsigned i = 0; i < count; i++) {
		const uint64_t arguments[6] = {0};
		const struct mt_tracee_stop *stops;
		pid_t thread = mt_tracee_borrow(tracee, 0, 10000, &err);
		uint32_t stop_count;
		int64_t result;

		mt_tracee_forget_stops(tracee);
		if (thread < 0
			|| mt_tracee_system_call(tracee, thread, SYS_gettid, arguments, &result,
				&err))
			fail("%s", err.text);
		stops = mt_tracee_stops(tracee, &stop_count);
		ns[i] = stops[stop_count - 1].ns;
	}
	qsort(ns, count, sizeof *ns, compare);
	printf("stop_us p50 %llu p99 %llu most %llu\n", (unsigned long long)ns[count / 2] / 1000,
		(unsigned long long)ns[count * 99 / 100] / 1000,
		(unsigned long long)ns[count - 1] / 1000);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	free(ns);
}

static int ask(const char *what, pid_t pid, const char *avoid)
{
	struct mt_tracee *t;
	struct mt_err err = {0};
	struct mt_tracee_symbol symbol;
	uint32_t count;
	int error = 0;

	t = mt_tracee_open(pid, 0, &err);
	if (t && !strcmp(what, "open"))
		puts("opened");
	if (t && avoid && !mt_tracee_find(t, "", avoid, &symbol, &err))
		mt_tracee_avoid(t, symbol.address, symbol.address + symbol.size, avoid);
	if (t && !strcmp(what, "borrow"))
		error = mt_tracee_borrow(t, 0, 300, &err);
	if (t && !strcmp(what, "stop"))
		error = mt_tracee_stop(t, 400, &err);
	if (t && error >= 0 && strcmp(what, "open")) {
		mt_tracee_resume(t);
		mt_tracee_stops(t, &count);
		printf("%s %u\n", what, count);
	}
	if (!t || error < 0)
		puts(err.text);
	if (t)
		mt_tracee_close(t);
	return !t || error < 0;
}

int main(int count, char **arguments)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count == 6 && !strcmp(arguments[1], "rounds"))
		rounds(arguments[2], (unsigned)atoi(arguments[3]), (unsigned)atoi(arguments[4]),
			(unsigned)atoi(arguments[5]));
	else if (count == 5 && !strcmp(arguments[1], "parked"))
		parked(arguments[2], (unsigned)atoi(arguments[3]), (unsigned)atoi(arguments[4]));
	else if (count == 4 && !strcmp(arguments[1], "measure"))
		measure(arguments[2], (unsigned)atoi(arguments[3]));
	else if (count >= 3)
		return ask(arguments[1], atoi(arguments[2]), arguments[3]);
	return 0;
}
