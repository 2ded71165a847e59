/* What is beside the heap: maps, calls, markers, a pause, threads with arenas; blocks freed at two
 * places. */
#define _GNU_SOURCE
#include "preload/memtui.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void free_here(void *block)
{
	free(block);
}
__attribute__((noinline)) static void free_there(void *block)
{
	free(block);
}

__attribute__((noinline)) static char *map_pages(size_t pages)
{
	return mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void maps(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *a = map_pages(10), *b = map_pages(3);

	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		abort();
	close(fd);
	munmap(a + 4096, 4096); /* splits: 1 and 8 are left */
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) != MAP_FAILED)
		abort();
	if (mremap(b, 3 * 4096, 5 * 4096, MREMAP_MAYMOVE) == MAP_FAILED)
		abort();
}

/* An arena of its own, for as long as it takes to be seen: the recorder looks once a second. */
static void *grow(void *unused)
{
	for (int i = 0; i < 1000; i++)
		memset(malloc(1000), 1, 1000);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	maps();
	mallopt(M_TOP_PAD, 4096);
	malloc_trim(0);
	memtui_marker("half way");
	for (int i = 0; i < 10; i++) {
		kept = malloc(100);
		(i % 5 ? free_here : free_there)(kept);
	}
	memtui_pause("not this");
	memtui_pause("nor that"); /* within: it is one pause */
	kept = malloc(77);
	free_here(kept);
	memtui_resume(NULL);
	kept = malloc(33); /* 40 are usable */
	if (argc > 1 && !strcmp(argv[1], "stay")) {
		pthread_create(&thread, NULL, grow, NULL);
		pthread_join(thread, NULL);
		puts("ready");
		fflush(stdout);
		return getchar() != 'x';
	}
	return 0;
}
