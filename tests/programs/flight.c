/* flight ROUNDS THREADS KEEP [PAUSES]: a deterministic churn of malloc, free, realloc (grown,
 * shrunk, moved, failing) and blocks that stay, in THREADS threads that hand nothing over to each
 * other, in two halves. Prints what it did after each: "allocations frees reallocations live
 * bytes". KEEP: blocks that each thread holds at most. PAUSES: reads a line before each half. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone)) static
#define BARRIER __asm__ volatile("" ::: "memory")

#define MOST 200000 /* of KEEP */

struct work {
	uint64_t seed;
	long rounds, keep;
	void **held;
	size_t *sizes;
	uint64_t allocations, frees, reallocations, live, bytes;
};

static uint32_t next(struct work *w)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed >> 33;
}

SITE void *keep(struct work *w, size_t size)
{
	void *p = malloc(size);

	BARRIER;
	w->allocations++;
	w->live++;
	w->bytes += size;
	return p;
}

SITE void drop(struct work *w, long at)
{
	free(w->held[at]);
	BARRIER;
	w->frees++;
	w->live--;
	w->bytes -= w->sizes[at];
	w->held[at] = NULL;
}

SITE void grow(struct work *w, long at, size_t size)
{
	void *p = realloc(w->held[at], size);

	BARRIER;
	w->reallocations++;
	w->bytes += size - w->sizes[at];
	w->held[at] = p;
	w->sizes[at] = size;
}

SITE void fail(struct work *w, long at)
{
	volatile size_t much = SIZE_MAX / 4;

	if (realloc(w->held[at], much))
		abort();
	BARRIER;
}

SITE void shortly(struct work *w, size_t size)
{
	char *p = malloc(size);

	__asm__ volatile("" ::"r"(p) : "memory");
	w->allocations++;
	w->frees++;
	free(p);
	BARRIER;
}

static void *work(void *arg)
{
	struct work *w = arg;

	for (long i = 0; i < w->rounds; i++) {
		long at = next(w) % w->keep;
		unsigned what = next(w) % 16;
		size_t size = 16 + next(w) % 400;

		if (what < 6) {
			shortly(w, size);
		} else if (!w->held[at]) {
			w->held[at] = keep(w, size);
			w->sizes[at] = size;
		} else if (what < 11) {
			grow(w, at, size);
		} else if (what == 11) {
			fail(w, at);
		} else {
			drop(w, at);
		}
	}
	return NULL;
}

static void report(const struct work *works, int threads)
{
	struct work sum = {0};
	char line[128];
	int len;

	for (int i = 0; i < threads; i++) {
		sum.allocations += works[i].allocations;
		sum.frees += works[i].frees;
		sum.reallocations += works[i].reallocations;
		sum.live += works[i].live;
		sum.bytes += works[i].bytes;
	}
	len = snprintf(line, sizeof line, "%lu %lu %lu %lu %lu\n", sum.allocations, sum.frees,
		sum.reallocations, sum.live, sum.bytes);
	if (write(1, line, (size_t)len) != len) /* stdio would allocate */
		abort();
}

static void half(struct work *works, int threads, int pauses)
{
	pthread_t ids[16];
	char c = 0;

	while (pauses && c != '\n' && read(0, &c, 1) == 1)
		;
	for (int i = 0; i < threads; i++)
		if (threads == 1)
			work(&works[i]);
		else
			pthread_create(&ids[i], NULL, work, &works[i]);
	for (int i = 0; threads > 1 && i < threads; i++)
		pthread_join(ids[i], NULL);
	report(works, threads);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100000, keep_most = argc > 3 ? atol(argv[3]) : 200;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	static struct work works[16];
	static void *held[16][MOST];
	static size_t sizes[16][MOST];

	for (int i = 0; i < threads; i++)
		works[i] = (struct work){
			.seed = 88172645463325252ull + (uint64_t)i * 7919,
			.rounds = rounds / threads / 2,
			.keep = keep_most,
			.held = held[i],
			.sizes = sizes[i],
		};
	half(works, threads, argc > 4);
	half(works, threads, argc > 4);
	return 0;
}
