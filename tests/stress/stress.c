/* stress THREADS ROUNDS: threads that allocate, move and free, and hand blocks to each other, so
 * that most are freed by another thread than their own; all live until the last is done. Prints
 * the truth. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 2048
#define SLOTS 4096
#define DEPTH 12

static void *slots[SLOTS];
static long rounds;
static pthread_barrier_t all_here;
static struct counts {
	long allocations, reallocations, frees, bytes;
	char pad[32];
} counts[THREADS_MAX];

/* A block tells its own size, and is filled: two owners of one would show. */
struct block {
	size_t size;
	unsigned char fill[];
};

static __attribute__((noinline)) struct block *case_make(struct counts *c, uint64_t random,
	int depth)
{
	struct block *b;
	size_t size = sizeof *b + random % 900;

	if (depth > 0) {
		b = case_make(c, random, depth - 1);
		__asm__ volatile("" : : "r"(b) : "memory"); /* no tail call */
		return b;
	}
	b = malloc(size);
	b->size = size;
	memset(b->fill, (int)size, size - sizeof *b);
	c->allocations++;
	c->bytes += (long)size;
	return b;
}

static void check(const struct block *b)
{
	for (size_t i = 0; i < b->size - sizeof *b; i++)
		if (b->fill[i] != (unsigned char)b->size)
			abort();
}

static __attribute__((noinline)) struct block *case_move(struct counts *c, struct block *b,
	uint64_t random)
{
	size_t size = sizeof *b + random % 1500;

	check(b);
	b = realloc(b, size);
	b->size = size;
	memset(b->fill, (int)size, size - sizeof *b);
	c->reallocations++;
	c->bytes += (long)size;
	return b;
}

static __attribute__((noinline)) void case_drop(struct counts *c, struct block *b)
{
	check(b);
	free(b);
	c->frees++;
}

static void *work(void *at)
{
	struct counts *c = at;
	uint64_t random = 0x9e3779b97f4a7c15ull * (uint64_t)(c - counts + 1);

	for (long i = 0; i < rounds; i++) {
		struct block *b;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		b = case_make(c, random >> 20, (int)(random >> 40) % DEPTH);
		if (random % 3 == 0)
			b = case_move(c, b, random >> 30);
		b = __atomic_exchange_n(&slots[random % SLOTS], b, __ATOMIC_ACQ_REL);
		if (b && random % 5 == 0)
			b = case_move(c, b, random >> 35);
		if (b)
			case_drop(c, b);
	}
	pthread_barrier_wait(&all_here); /* each has a ring until all have one */
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 64;
	pthread_t threads[THREADS_MAX];
	struct counts all = {0};
	long leaked = 0, leaked_bytes = 0;
	char text[256];
	int len;

	rounds = argc > 2 ? atol(argv[2]) : 10000;
	pthread_barrier_init(&all_here, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, &counts[i]) != 0)
			return 2;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < n; i++) {
		all.allocations += counts[i].allocations;
		all.reallocations += counts[i].reallocations;
		all.frees += counts[i].frees;
		all.bytes += counts[i].bytes;
	}
	for (int i = 0; i < SLOTS; i++)
		if (slots[i]) {
			leaked++;
			leaked_bytes += (long)((struct block *)slots[i])->size;
		}
	len = snprintf(text, sizeof text,
		"STRESS allocations=%ld reallocations=%ld "
		"frees=%ld bytes=%ld leaked=%ld leaked_bytes=%ld\n",
		all.allocations, all.reallocations, all.frees, all.bytes, leaked, leaked_bytes);
	return write(STDOUT_FILENO, text, (size_t)len) != len;
}
