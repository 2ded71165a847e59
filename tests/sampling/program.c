/* program MODE [N]: allocations whose numbers are known, each kind in a function of its own. Prints
 * the truth of the functions, one to a line: NAME BLOCKS BYTES LIVE_BLOCKS LIVE_BYTES. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone))
#define KEPT 40000
static void *kept[KEPT];

static void tell(const char *name, long blocks, long bytes, long live_blocks, long live_bytes)
{
	printf("%s %ld %ld %ld %ld\n", name, blocks, bytes, live_blocks, live_bytes);
	fflush(stdout);
}

#define ALLOCATES(name, call) \
	SITE static void *name(size_t size) \
	{ \
		void *volatile p = call; \
		return p; \
	}
ALLOCATES(site_small, malloc(size))
ALLOCATES(site_large, malloc(size))
ALLOCATES(site_sure, malloc(size))
ALLOCATES(site_zeroed, calloc(1, size))

SITE static void *site_realloc(void *p, size_t size)
{
	void *volatile q = realloc(p, size);

	return q;
}

static void fill(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = i % 100 == 0 ? site_large(50000)
			: i % 100 == 1 ? site_zeroed(2000)
			: i == 2       ? site_sure(10 << 20)
				       : site_small(80);
}

static void empty(int from)
{
	for (int i = from; i < KEPT; i++) {
		free(kept[i]);
		kept[i] = NULL;
	}
}

static void pairs(long n)
{
	for (long i = 0; i < n; i++)
		free(site_small(80));
}

static void *thread(void *n)
{
	pairs((long)n);
	return NULL;
}

static void *freer(void *unused)
{
	empty(0);
	return unused;
}

static void run_threads(int count, long n)
{
	pthread_t threads[16];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, thread, (void *)n);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	/* what this thread has allocated, another frees */
	fill();
	pthread_create(&threads[0], NULL, freer, NULL);
	pthread_join(threads[0], NULL);
	tell("site_small", count * n + 39199, (count * n + 39199) * 80, 0, 0);
}

/* Grows step by step; fails: and fails once, where the block lives on. */
static void run_realloc(long n, int fails)
{
	struct rlimit limit = {1ul << 30, 1ul << 30};
	long bytes = 0;

	for (long i = 0; i < n; i++) {
		void *p = NULL;

		for (long size = 100; size <= 6400; size *= 2) {
			p = site_realloc(p, size);
			bytes += size;
		}
		kept[i] = p;
	}
	setrlimit(RLIMIT_AS, &limit);
	for (long i = 0; fails && i < n; i++)
		if (site_realloc(kept[i], 1ul << 40))
			abort();
	/* half of them end in a realloc to 0 */
	for (long i = 0; i < n / 2; i++)
		site_realloc(kept[i], 0);
	tell("site_realloc", 7 * n, bytes, n - n / 2, (n - n / 2) * 6400);
}

static void run_fork(long n)
{
	fill();
	if (fork() == 0) {
		/* blocks of its parent's, then its own */
		empty(0);
		pairs(n);
		_exit(0);
	}
	wait(NULL);
	empty(0);
	tell("site_small", 39199, 39199 * 80, 0, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argv[1];
	long n = argc > 2 ? atol(argv[2]) : 1000000;

	if (!strcmp(mode, "frees") || !strcmp(mode, "leaks")) {
		int leaks = !strcmp(mode, "leaks");

		pairs(n);
		fill();
		if (!leaks)
			empty(0);
		tell("site_small", n + 39199, (n + 39199) * 80, leaks ? 39199 : 0,
			leaks ? 39199 * 80 : 0);
		tell("site_large", 400, 400 * 50000, leaks ? 400 : 0, leaks ? 400 * 50000 : 0);
		tell("site_zeroed", 400, 400 * 2000, leaks ? 400 : 0, leaks ? 400 * 2000 : 0);
		tell("site_sure", 1, 10 << 20, leaks ? 1 : 0, leaks ? 10 << 20 : 0);
	} else if (!strcmp(mode, "waits")) { /* for a line, and when its blocks live for another */
		char line[8];

		if (read(0, line, sizeof line) <= 0)
			return 1;
		fill();
		pairs(n);
		puts("# filled");
		fflush(stdout);
		if (read(0, line, sizeof line) <= 0)
			return 1;
		empty(20000);
		/* of these, 200 each are large and zeroed, and one is sure */
		tell("site_small", n + 39199, (n + 39199) * 80, 19599, 19599 * 80);
		tell("site_large", 400, 400 * 50000, 200, 200 * 50000);
	} else if (!strcmp(mode, "threads")) {
		run_threads(4, n / 4);
	} else if (!strcmp(mode, "realloc")) {
		run_realloc(n / 50, 1);
	} else if (!strcmp(mode, "grow")) {
		run_realloc(n / 50, 0);
	} else if (!strcmp(mode, "fork")) {
		run_fork(n);
	} else {
		return 2;
	}
	return 0;
}
