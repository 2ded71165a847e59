/* Proves that threads which come and go by the thousand are all seen, that their states and rings
 * are used again, and that frees from destructors of thread-specific data after the thread's
 * function, pthread_exit and cancellation are still recorded. Prints the truth. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 1000
#define AT_ONCE 4
#define BLOCKS 10

static pthread_key_t key;

static void *work(void *how)
{
	void *volatile p;

	for (int i = 0; i < BLOCKS - 1; i++) {
		p = malloc(50);
		free(p);
	}
	pthread_setspecific(key, malloc(77)); /* freed by the destructor */
	if (how == (void *)1)
		pthread_exit(NULL);
	if (how == (void *)2)
		for (;;)
			pause(); /* until cancelled */
	return NULL;
}

int main(void)
{
	pthread_t threads[AT_ONCE];
	char text[100];
	int len;

	pthread_key_create(&key, free);
	for (int round = 0; round < ROUNDS; round++) {
		for (long i = 0; i < AT_ONCE; i++)
			if (pthread_create(&threads[i], NULL, work, (void *)(i % 3)) != 0)
				return 1;
		pthread_cancel(threads[2]);
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	/* a cancelled thread may have been stopped before its first block: it counts none or
	 * some */
	len = snprintf(text, sizeof text, "TRUTH threads=%d\n", ROUNDS * AT_ONCE);
	return write(2, text, (size_t)len) != len;
}
