/* asleep THREADS EVENTS: THREADS threads make EVENTS pairs of malloc and free each, at most 1,000 a
 * second, and all end when the last one is done. Shows what threads that mostly sleep cost. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t done;
static int events;

static void *asleep(void *unused)
{
	for (int i = 0; i < events; i++) {
		volatile char *p = malloc(64);

		*p = 1;
		free((void *)p);
		if (i % 10 == 9)
			nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	pthread_barrier_wait(&done);
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 1;
	pthread_attr_t attributes;
	pthread_t *all = malloc(sizeof *all * threads);

	events = argc > 2 ? atoi(argv[2]) : 100;
	pthread_barrier_init(&done, NULL, threads);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&all[i], &attributes, asleep, NULL) != 0)
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return 0;
}
