/* program MODE [N]: allocations of many sizes, also just at 100 and 4096 bytes and just beside,
 * from each function that allocates; blocks that cross these sizes by realloc, and back. A third
 * of them leaks. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t sizes[] = {0, 1, 16, 99, 100, 101, 500, 4095, 4096, 4097, 20000, 300000};
#define SIZES (sizeof sizes / sizeof *sizes)

static void *get(int how, size_t size)
{
	void *p = NULL;

	switch (how % 5) {
	case 0: return malloc(size);
	case 1: return calloc(1, size);
	case 2: return realloc(NULL, size);
	case 3: return aligned_alloc(64, size);
	default: return posix_memalign(&p, 64, size) ? NULL : p;
	}
}

static void *mix(void *rounds)
{
	for (long i = 0; i < (long)rounds; i++)
		for (size_t s = 0; s < SIZES; s++) {
			void *volatile p = get((int)i, sizes[s]);

			if ((i + (long)s) % 3)
				free(p);
		}
	return NULL;
}

/* In and out of the sizes, within, and beyond. fails: so do some, and the block lives on. */
static void reallocs(long rounds, int fails)
{
	static const size_t steps[] = {50, 200, 300, 5000, 6000, 150, 100, 99, 4096, 4097, 10};

	for (long i = 0; i < rounds; i++) {
		void *volatile p = malloc(40);

		for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
			p = realloc(p, steps[(s + (size_t)i) % (sizeof steps / sizeof *steps)]);
			if (fails && s % 2 && realloc(p, 1ul << 46))
				abort();
		}
		if (i % 3)
			free(p);
	}
}

/* More blocks live at once than the tracer's table holds. */
static void many(long n)
{
	void **blocks = calloc((size_t)n, sizeof *blocks);

	for (long i = 0; i < n; i++)
		blocks[i] = malloc(i % 8 ? 100 : 50);
	for (long i = 0; i < n; i += 2)
		free(blocks[i]);
	for (long i = 0; i < n; i += 2)
		blocks[i] = malloc(i % 16 ? 50 : 110);
	for (long i = 0; i < n; i++)
		if (i % 1000)
			free(blocks[i]);
	for (long i = 0; i < n; i += 1000)
		blocks[i] = realloc(blocks[i], i % 3000 ? 60 : 120);
	free(blocks);
}

static volatile sig_atomic_t handled;

/* Allocates within another allocation. */
static void handler(int signal)
{
	(void)signal;
	handled++;
	free(malloc(handled % 2 ? 50 : 200));
}

static void *freer(void *of)
{
	void **blocks = of;

	for (int i = 0; i < 3000; i++)
		free(blocks[i]);
	return NULL;
}

static void threads(long rounds)
{
	static void *blocks[3000];
	pthread_t all[5];

	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, mix, (void *)rounds);
	for (int i = 0; i < 3000; i++)
		blocks[i] = malloc(sizes[(size_t)i % SIZES]);
	pthread_create(&all[4], NULL, freer, blocks);
	for (int i = 0; i < 5; i++)
		pthread_join(all[i], NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argv[1];
	long n = argc > 2 ? atol(argv[2]) : 2000;

	if (!strcmp(mode, "mix")) {
		mix((void *)n);
	} else if (!strcmp(mode, "reallocs")) {
		reallocs(n, 0);
	} else if (!strcmp(mode, "fails")) {
		reallocs(n, 1);
	} else if (!strcmp(mode, "many")) {
		many(n);
	} else if (!strcmp(mode, "threads")) {
		threads(n);
	} else if (!strcmp(mode, "fork")) {
		void *inherited = malloc(200), *small = malloc(20);

		mix((void *)n);
		if (fork() == 0) {
			mix((void *)(2 * n));
			free(inherited);
			free(small);
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(mode, "waits")) { /* for a line, and for another */
		char line[8];
		int got = read(0, line, sizeof line) > 0;

		mix((void *)n);
		if (write(1, "filled\n", 7) < 0 || !got || read(0, line, sizeof line) <= 0)
			return 1;
		reallocs(n, 0);
	} else if (!strcmp(mode, "signals")) {
		signal(SIGUSR1, handler);
		for (long i = 0; i < n; i++)
			raise(SIGUSR1);
	} else {
		return 2;
	}
	return 0;
}
