/* asleep THREADS EVENTS: THREADS threads make EVENTS pairs of malloc and free each, at most 1,000 a
 * second. When the last one is done, all sleep for a second; then the program says how much of its
 * memory is resident, and ends. Shows what threads that mostly sleep cost. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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
	pthread_barrier_wait(&done);
	return unused;
}

/* Without stdio, which would allocate. */
static void say_resident(void)
{
	char text[128], *pages;
	int file = open("/proc/self/statm", O_RDONLY);
	ssize_t length = read(file, text, sizeof text - 1);

	if (length <= 0)
		return;
	text[length] = '\0';
	strtol(text, &pages, 10);
	dprintf(1, "idle_rss_kib=%ld\n", strtol(pages, NULL, 10) * sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 1;
	pthread_attr_t attributes;
	pthread_t *all = malloc(sizeof *all * threads);

	events = argc > 2 ? atoi(argv[2]) : 100;
	pthread_barrier_init(&done, NULL, threads + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&all[i], &attributes, asleep, NULL) != 0)
			return 1;
	pthread_barrier_wait(&done);
	nanosleep(&(struct timespec){1, 0}, NULL);
	say_resident();
	pthread_barrier_wait(&done);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return 0;
}
