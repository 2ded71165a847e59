/* busy THREADS: allocates and frees in so many threads of several names until it is killed, grows
 * by leaks and chains of reallocs, maps memory, and has a child that does the same. Prints "ready
 * CHILD" when a part of all is done. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_barrier_t begun;

static void *__attribute__((noinline)) leak(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : : "r"(p));
	return p;
}
static void *__attribute__((noinline)) grow(void *p, size_t size)
{
	p = realloc(p, size);
	__asm__ volatile("");
	return p;
}
static void *work(void *number)
{
	unsigned seed = (unsigned)(size_t)number * 7919 + 1;
	void *keep[64] = {0}, *chain = NULL;
	size_t length = 0;
	char name[16];

	snprintf(name, sizeof name, "worker %zu", (size_t)number % 4);
	prctl(PR_SET_NAME, name);
	for (unsigned step = 0;; step++) {
		seed = seed * 1103515245u + 12345u;
		unsigned at = seed >> 8 & 63;

		free(keep[at]);
		keep[at] = malloc((seed >> 12) % 3000 + 1);
		if (step % 50 == 0)
			leak((seed >> 10) % 700 + 1);
		if (step % 20 == 0)
			chain = grow(chain, length = length > 4000 ? 1 : length + 100);
		if (step % 500 == 0)
			munmap(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				       -1, 0),
				8192);
		if (step == 2000)
			pthread_barrier_wait(&begun);
		if (step > 2000)
			usleep(2000);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
	int ready[2];
	char byte = 0;
	pid_t child = pipe(ready) < 0 ? -1 : fork();
	pthread_t thread;

	if (child < 0)
		return 1;
	if (!child)
		prctl(PR_SET_PDEATHSIG, 9);
	pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
	for (size_t i = 0; i < count; i++)
		pthread_create(&thread, NULL, work, (void *)i);
	pthread_barrier_wait(&begun);
	if (!child && write(ready[1], &byte, 1) < 0)
		return 1;
	if (child && read(ready[0], &byte, 1) == 1) {
		printf("ready %d\n", (int)child);
		fflush(stdout);
	}
	for (;;)
		pause();
}
