/* A program that knows what it holds. It does a step for each line that it reads, and prints what
 * is true behind it:
 *   NAME COUNT BYTES OFFSET   of each of its places: what lives of it, and where it asks for memory
 *   addr ADDRESS SIZE         each live block of the place 'large'
 *   calls COUNT               calls so far that have begun or ended a block of its places
 * and 'end' last. With threads, each step is done by so many of them at once. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT 65536
#define THREADS 4

struct kept {
	void *at;
	size_t size;
};
struct place {
	const char *name;
	void *(*allocate)(size_t);
	struct kept blocks[KEPT];
	unsigned count;
	unsigned long offset;
};

static unsigned long calls;
static unsigned long small_offset, large_offset, grown_offset;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What returns here lies behind the call of it in the place. */
__attribute__((noinline)) static void *ask(size_t size, uintptr_t place, unsigned long *offset)
{
	void *p = malloc(size);

	*offset = (unsigned long)((uintptr_t)__builtin_return_address(0) - place);
	return p;
}

__attribute__((noinline)) void *small(size_t size)
{
	void *p = ask(size, (uintptr_t)small, &small_offset);

	memset(p, 1, size);
	return p;
}

__attribute__((noinline)) void *large(size_t size)
{
	void *p = ask(size, (uintptr_t)large, &large_offset);

	memset(p, 2, size);
	return p;
}

__attribute__((noinline)) void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	memset(p, 3, size);
	return p;
}

static struct place places[2] = {{.name = "small", .allocate = small},
	{.name = "large", .allocate = large}};
static struct kept grown;

static void hold(struct place *to, size_t size)
{
	void *p = to->allocate(size);

	pthread_mutex_lock(&lock);
	calls++;
	to->blocks[to->count++] = (struct kept){p, size};
	pthread_mutex_unlock(&lock);
}

static void drop(struct place *of)
{
	pthread_mutex_lock(&lock);
	struct kept last = of->count ? of->blocks[--of->count] : (struct kept){0};

	calls += last.at != NULL;
	pthread_mutex_unlock(&lock);
	free(last.at);
}

static void *work(void *unused)
{
	for (int i = 0; i < 10; i++) {
		hold(&places[0], 16);
		hold(&places[0], 24);
		hold(&places[1], (size_t)1000 + (size_t)i);
	}
	for (int i = 0; i < 5; i++) {
		drop(&places[0]);
		drop(&places[1]);
	}
	return unused;
}

static void step(int threads)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (!threads)
		work(NULL);
	calls += grown.at ? 2 : 1;
	grown.size += 3000;
	grown.at = grow(grown.at, grown.size);
}

static void say(FILE *out)
{
	places[0].offset = small_offset;
	places[1].offset = large_offset;
	for (int i = 0; i < 2; i++) {
		size_t bytes = 0;

		for (unsigned b = 0; b < places[i].count; b++)
			bytes += places[i].blocks[b].size;
		fprintf(out, "%s %u %zu %lx\n", places[i].name, places[i].count, bytes,
			places[i].offset);
	}
	fprintf(out, "grow %d %zu %lx\n", grown.at != NULL, grown.size, grown_offset);
	for (unsigned b = 0; b < places[1].count; b++)
		fprintf(out, "addr %lx %zu\n", (unsigned long)(uintptr_t)places[1].blocks[b].at,
			places[1].blocks[b].size);
	fprintf(out, "calls %lu\nend\n", calls);
	fflush(out);
}

/* holder THREADS FIFO FILE [fork]: lines come from FIFO, answers go to FILE. */
int main(int argc, char **argv)
{
	int threads = atoi(argv[1]);

	if (argc > 4) {
		pid_t child = fork();
		int status;

		if (child)
			return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
	}
	FILE *in = fopen(argv[2], "r"), *out = fopen(argv[3], "w");
	char line[64];

	if (!in || !out)
		return 1;
	fprintf(out, "pid %d\nend\n", (int)getpid());
	fflush(out);
	while (fgets(line, sizeof line, in)) {
		if (!strncmp(line, "quit", 4))
			break;
		step(threads);
		say(out);
	}
	fclose(out);
	return 7;
}
