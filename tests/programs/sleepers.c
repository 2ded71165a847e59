/* sleepers THREADS EVENTS [elsewhere]: THREADS threads make EVENTS pairs of malloc and free each,
 * and then sleep. Prints "ready" when all do. Each line of its input lets all threads make their
 * EVENTS once more. At the end of its input it prints "PAIRS pairs" and ends. elsewhere: first maps
 * and fills 64 MiB, which it unmaps after a line of input, and maps 1 GiB that it may not touch. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK 65536
#define ELSEWHERE (64ul << 20)
#define RESERVED (1ul << 30)

static pthread_barrier_t begin, done;
static int events;

__attribute__((noinline)) static void pair(int i)
{
	volatile char *p = malloc(64 + i % 64);

	*p = 1;
	free((void *)p);
}

static void *sleeper(void *unused)
{
	for (;;) {
		for (int i = 0; i < events; i++)
			pair(i);
		pthread_barrier_wait(&done);
		pthread_barrier_wait(&begin);
	}
	return unused;
}

static void map_elsewhere(void)
{
	void *p = mmap(NULL, ELSEWHERE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED
		|| mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0)
			== MAP_FAILED)
		exit(1);
	memset(p, 1, ELSEWHERE);
	puts("filled");
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
	munmap(p, ELSEWHERE);
}

int main(int argc, char **argv)
{
	static char out[BUFSIZ], in[BUFSIZ];
	int threads = argc > 2 ? atoi(argv[1]) : 0, rounds = 1;
	pthread_attr_t attributes;
	char line[64];

	if (threads < 1)
		return 2;
	events = atoi(argv[2]);
	setvbuf(stdout, out, _IOFBF, sizeof out);
	setvbuf(stdin, in, _IOFBF, sizeof in);
	if (argc > 3)
		map_elsewhere();
	pthread_barrier_init(&begin, NULL, threads + 1);
	pthread_barrier_init(&done, NULL, threads + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, sleeper, NULL) != 0)
			return 1;
	}
	pthread_barrier_wait(&done);
	puts("ready");
	fflush(stdout);
	for (; fgets(line, sizeof line, stdin); rounds++) {
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&done);
		puts("ready");
		fflush(stdout);
	}
	printf("%ld pairs\n", (long)threads * rounds * events);
	return 0;
}
