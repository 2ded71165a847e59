/* Threads map, remap, unmap, allocate and use pools while a timer's handler does the same within
 * them: every call is to be seen once. Prints how many of each there were. With "full" as argument
 * the recorder stands still. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "preload/memtui.h"

#define PAGE 4096ul
#define THREADS 4

static atomic_ulong maps, unmaps, failures, markers, pooled, allocations, handled;
static int rounds;

static void round_trip(char *pool)
{
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q;

	if (p == MAP_FAILED)
		abort();
	p[0] = 1;
	q = mremap(p, 4 * PAGE, 9 * PAGE, MREMAP_MAYMOVE);
	if (q == MAP_FAILED || q[0] != 1)
		abort();
	memtui_pool_alloc(pool, q, 100);
	memtui_marker("round");
	memtui_pool_free(pool, q);
	if (munmap(q, 9 * PAGE) != 0 || munmap(q, 1ul << 60) != -1)
		abort();
	maps += 2;
	unmaps += 3;
	failures++;
	markers++;
	pooled++;
}

static void handler(int signal)
{
	char pool;

	(void)signal;
	round_trip(&pool);
	handled++;
}

static void *run(void *unused)
{
	char pool;

	for (int i = 0; i < rounds; i++) {
		void *volatile p = malloc((size_t)i % 3000);

		p = realloc(p, (size_t)i % 5000 + 1);
		round_trip(&pool);
		free(p);
		allocations += 2;
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 300}, {0, 300}};
	pthread_t threads[THREADS];

	rounds = argc > 1 ? atoi(argv[1]) : 5000;
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, NULL);
	printf("MAP %lu UNMAP %lu UNMAP_FAILED %lu USER %lu ALLOC15 %lu FREE16 %lu\n", maps, unmaps,
		failures, markers, pooled, pooled);
	fprintf(stderr, "handled %lu\n", handled);
	return 0;
}
