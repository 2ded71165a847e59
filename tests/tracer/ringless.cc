/* Proves that each event of a thread without a ring is counted once, operators that go to malloc
 * included. Run with two rings: the first thread and the second have them. */
#include <new>
#include <pthread.h>
#include <stdlib.h>

static void *waits(void *barrier)
{
	free(malloc(10));
	pthread_barrier_wait((pthread_barrier_t *)barrier);
	pthread_barrier_wait((pthread_barrier_t *)barrier);
	return NULL;
}

/* 100 of each, 600 in all. */
static void *allocates(void *)
{
	for (int i = 0; i < 100; i++) {
		free(malloc(20));
		operator delete(operator new(30));
		operator delete[](operator new[](40));
	}
	return NULL;
}

int main()
{
	pthread_barrier_t barrier;
	pthread_t first, second;

	free(malloc(10));
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&first, NULL, waits, &barrier) != 0)
		return 1;
	pthread_barrier_wait(&barrier);
	if (pthread_create(&second, NULL, allocates, NULL) != 0)
		return 1;
	pthread_join(second, NULL);
	pthread_barrier_wait(&barrier);
	pthread_join(first, NULL);
	return 0;
}
