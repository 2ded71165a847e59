/* full LIVE THREADS ROUNDS: the threads hold LIVE blocks together, and then each replaces one of
 * its own by another one, ROUNDS times, as fast as it can. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long live, threads, rounds;
static pthread_barrier_t filled;

static void *run(void *seed)
{
	long count = live / threads;
	void **held = malloc((size_t)count * sizeof *held);
	uint64_t state = (uint64_t)(uintptr_t)seed * 0x9e3779b97f4a7c15ull;

	for (long i = 0; i < count; i++)
		held[i] = malloc(16 + (size_t)i % 200);
	pthread_barrier_wait(&filled);
	for (long i = 0; i < rounds; i++) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		void **one = &held[state % (uint64_t)count];

		free(*one);
		*one = malloc(16 + state % 200);
	}
	for (long i = 0; i < count; i++)
		free(held[i]);
	free(held);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[64];

	if (argc != 4) {
		fprintf(stderr, "usage: full LIVE THREADS ROUNDS\n");
		return 2;
	}
	live = atol(argv[1]);
	threads = atol(argv[2]) > 64 ? 64 : atol(argv[2]);
	rounds = atol(argv[3]);
	pthread_barrier_init(&filled, NULL, (unsigned)threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, run, (void *)(intptr_t)(i + 1));
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
