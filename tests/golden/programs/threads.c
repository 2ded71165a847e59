/* threads: named threads one after another, blocks that another thread frees, then three threads
 * at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone)) static
#define BARRIER __asm__ volatile("" ::: "memory") /* keeps the call site on the stack */

static void *handed[64];
static pthread_barrier_t start;

SITE void *produce(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 64; i++)
		handed[i] = malloc(30 + (size_t)i * 5);
	BARRIER;
	return NULL;
}

SITE void *consume(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 64; i += 2) {
		free(handed[i]);
		handed[i] = NULL;
		if (i % 8 == 0)
			handed[i + 1] = realloc(handed[i + 1], 900);
	}
	BARRIER;
	return NULL;
}

SITE void pairs(int count) /* threads that do this at once are stored as runs of one thread each */
{
	for (int i = 0; i < count; i++) {
		void *volatile p = malloc(16 + (size_t)i % 7 * 8);

		free(p);
	}
	BARRIER;
}

SITE void churn(unsigned *seed, void **own)
{
	for (int i = 0; i < 400; i++) {
		*seed = *seed * 1103515245 + 12345;
		unsigned at = *seed >> 16 & 15;

		if (*seed >> 28 < 6) {
			void *volatile p = malloc(16 + (*seed >> 20 & 63));

			free(p);
		} else {
			free(own[at]);
			own[at] = *seed >> 28 < 12 ? malloc(64 + at * 16) : NULL;
		}
	}
	BARRIER;
}

SITE void *at_once(void *name)
{
	unsigned seed = (unsigned)*(char *)name;
	void *own[16] = {0};

	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&start);
	pairs(300);
	churn(&seed, own);
	pairs(100);
	for (int i = 0; i < 16; i += 2)
		free(own[i]);
	BARRIER;
	return NULL;
}

static void run(void *(*function)(void *), const char *name)
{
	pthread_t thread;

	pthread_create(&thread, NULL, function, (void *)name);
	pthread_join(thread, NULL);
}

int main(void)
{
	static char names[3][8] = {"red", "green", "blue"};
	pthread_t threads[3];

	run(produce, "producer");
	usleep(3000);
	run(consume, "consumer");
	run(consume, "consumer");
	pthread_barrier_init(&start, NULL, 3);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, at_once, names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	BARRIER;
	return 0;
}
