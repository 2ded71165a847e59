/* A program of which it is known what its memory is for: each part is printed as "name bytes". Then
 * it waits for its input. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
#define BRK_BLOCKS 4000 /* of 1010 bytes: below the threshold of mmap */
#define ARENA_BLOCKS 2000
#define HOLES 3000 /* of 4000 bytes, every other one of them freed */

#define SMALL ((BRK_BLOCKS + ARENA_BLOCKS) * (size_t)1010 + HOLES / 2 * (size_t)4000)

static pthread_barrier_t ready;

static char *touched(char *p, size_t bytes)
{
	memset(p, 1, bytes);
	return p;
}

/* With an arena and a stack of its own. */
static void *thread(void *keep)
{
	char stack[3 * MB];

	for (int i = 0; i < ARENA_BLOCKS; i++)
		((char **)keep)[i] = touched(malloc(1010), 1010);
	touched(stack, sizeof stack);
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return NULL;
}

__attribute__((noinline)) static char *map_anonymous(void)
{
	return touched(mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0),
		6 * MB);
}

__attribute__((noinline)) static char *map_shared(void)
{
	return touched(mmap(NULL, 2 * MB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			       0),
		2 * MB);
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	volatile char sum = 0;
	char *map;

	if (ftruncate(fd, 4 * MB))
		abort();
	for (size_t i = 0; i < 4 * MB; i += 4096)
		if (pwrite(fd, "x", 1, (off_t)i) != 1)
			abort();
	map = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	madvise(map, 4 * MB, MADV_RANDOM);
	for (size_t i = 0; i < 4 * MB; i += 4096)
		sum += map[i];
	touched(map, MB); /* this is not the file's any more */
}

int main(int argc, char **argv)
{
	static char *brk_blocks[BRK_BLOCKS], *holes[HOLES], *arena_blocks[ARENA_BLOCKS];
	char *volatile large, *volatile untouched, *volatile half;
	size_t slack = 0;
	pthread_t t;
	char byte;

	if (argc < 2)
		return 2;
	for (int i = 0; i < BRK_BLOCKS; i++)
		brk_blocks[i] = touched(malloc(1010), 1010);
	for (int i = 0; i < HOLES; i++)
		holes[i] = touched(malloc(4000), 4000);
	for (int i = 0; i < HOLES; i += 2)
		free(holes[i]);
	large = touched(malloc(20 * MB), 20 * MB);
	untouched = malloc(64 * MB);
	half = malloc(10 * MB);
	touched(half, 5 * MB);
	map_anonymous();
	map_shared();
	map_file(argv[1]);
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&t, NULL, thread, arena_blocks);
	pthread_barrier_wait(&ready);
	for (int i = 0; i < BRK_BLOCKS; i++)
		slack += malloc_usable_size(brk_blocks[i]) - 1010;
	for (int i = 1; i < HOLES; i += 2)
		slack += malloc_usable_size(holes[i]) - 4000;
	for (int i = 0; i < ARENA_BLOCKS; i++)
		slack += malloc_usable_size(arena_blocks[i]) - 1010;
	slack += malloc_usable_size(large) - 20 * MB;
	printf("asked %zu\n", SMALL + (20 + 64 + 10) * MB);
	printf("blocks %zu\n", SMALL + (20 + 5) * MB);
	printf("slack %zu\nholes %zu\n", slack, HOLES / 2 * (size_t)4000);
	printf("anonymous %zu\nshared %zu\n", 6 * MB, 2 * MB);
	printf("file %zu\nchanged %zu\nstack %zu\n", 4 * MB, MB, 3 * MB);
	puts("ready");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
