/* witness COUNTERS THREADS: allocates and frees without end, and notes in a shared file what has
 * returned: of each thread the allocations and the frees, on a cache line of its own. Whoever kills
 * it can compare. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct counters {
	_Alignas(64) volatile uint64_t allocations;
	volatile uint64_t frees;
};
static struct counters *all;

__attribute__((noinline, noclone)) void *work(void *at)
{
	struct counters *mine = at;
	uint64_t seed = (uint64_t)(mine - all) + 1;
	void *kept[64] = {NULL};

	for (;;) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		void **slot = &kept[seed >> 20 & 63];

		if (*slot) {
			free(*slot);
			*slot = NULL;
			mine->frees++;
		} else {
			*slot = malloc(1 + (seed >> 32) % 100000);
			mine->allocations++;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1, fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	pthread_t thread;

	if (fd < 0 || ftruncate(fd, (threads + 1) * (off_t)sizeof *all) < 0)
		return 2;
	all = mmap(NULL, (threads + 1) * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	for (int i = 1; i < threads; i++)
		pthread_create(&thread, NULL, work, &all[i]);
	if (write(1, "ready\n", 6) != 6)
		return 2;
	work(&all[0]);
	return 0;
}
