/* live_list HOW: leaves blocks behind whose ends are of every kind. HOW: threads, crash, fork,
 * many. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20000
#define KEPT 4096
#define MANY 150000u /* many parts */

static void *kept[8][KEPT];

__attribute__((noinline)) static void *grow(void *p, size_t size)
{
	void *q = realloc(p, size);

	__asm__ volatile("" ::: "memory");
	return q;
}

/* A realloc that fails: the block is released and restored. */
__attribute__((noinline)) static void fail(void *p)
{
	volatile size_t much = SIZE_MAX / 4;

	if (realloc(p, much))
		abort();
}

static void *work(void *argument)
{
	void **mine = argument;
	uint64_t random = (uintptr_t)argument / sizeof kept[0] + 1;

	for (int i = 0; i < ROUNDS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		void **place = &mine[(random >> 33) % KEPT];

		switch (random >> 60) {
		case 0: *place = grow(*place, 40 + (random >> 40) % 2000); break;
		case 1:
			free(*place);
			*place = NULL;
			break;
		case 2:
			if (*place && !((random >> 50) % 16))
				fail(*place);
			break;
		case 3:
			if (!*place)
				*place = calloc(1, (random >> 40) % 100000);
			break;
		default: free(malloc((random >> 40) % 300));
		}
	}
	return NULL;
}

static void work_in_threads(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, work, kept[i]);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

/* So many that their list has many parts, whose blocks do not follow each other by number. */
static void leave_many(void)
{
	static void *blocks[MANY];

	for (int i = 0; i < MANY; i++)
		blocks[i] = malloc(24);
	for (int i = 0; i < MANY; i += 3)
		free(blocks[i]);
	for (int i = 0; i < MANY; i += 3)
		blocks[i] = malloc(24 + i % 7 * 1000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "threads";

	work(kept[0]);
	if (!strcmp(how, "fork")) {
		if (!fork()) {
			work(kept[0]); /* reallocs and frees what the parent allocated */
			work(kept[1]);
			_exit(0);
		}
		wait(NULL);
	}
	if (!strcmp(how, "many"))
		leave_many();
	work_in_threads();
	fail(kept[0][0] = malloc(77)); /* the last thing that happens to a block */
	if (!strcmp(how, "crash"))
		abort();
	return 0;
}
