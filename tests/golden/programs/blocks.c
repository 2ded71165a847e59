/* blocks: one block of each allocator function of C, chains of reallocs, maps, markers, pools,
 * pauses, a deep recursion. */
#define _GNU_SOURCE
#include "preload/memtui.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SITE __attribute__((noinline, noclone)) static
#define BARRIER __asm__ volatile("" ::: "memory") /* keeps the call site on the stack */

void *__libc_malloc(size_t);

SITE void *grow(size_t from, size_t to, int keep)
{
	void *p = malloc(from);

	for (size_t n = from; n < to; n *= 2)
		p = realloc(p, n * 2 + 1);
	p = realloc(p, to / 2);
	if (!keep) {
		free(p);
		p = NULL;
	}
	BARRIER;
	return p;
}

SITE void fail(void *p)
{
	volatile size_t much = SIZE_MAX / 4;

	if (realloc(p, much))
		abort();
	BARRIER;
}

SITE void temporary(size_t n)
{
	for (int i = 0; i < 40; i++) {
		void *volatile p = malloc(n + (size_t)i * 3);

		free(p);
	}
	BARRIER;
}

SITE void *leak(int i)
{
	void *volatile p = malloc(100 + (size_t)i);

	BARRIER;
	return p;
}

SITE void *deep(int level)
{
	void *volatile p = level % 25 ? NULL : calloc(3, (size_t)level + 8);
	void *below = level ? deep(level - 1) : NULL;

	if (level % 50)
		free(p);
	BARRIER;
	return below ? below : p;
}

SITE void aligned(void)
{
	void *volatile blocks[5], *p = NULL;

	blocks[0] = aligned_alloc(64, 640);
	blocks[1] = memalign(256, 100);
	blocks[2] = valloc(5000);
	blocks[3] = pvalloc(1);
	blocks[4] = posix_memalign(&p, 4096, 4096) ? NULL : p;
	for (int i = 0; i < 4; i++)
		free(blocks[i]);
	BARRIER;
}

SITE void unknown(void)
{
	void *volatile p = __libc_malloc(77);

	free(p);
	BARRIER;
}

SITE void maps(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p[5000] = 1;
	p = mremap(p, 1 << 20, 3 << 20, MREMAP_MAYMOVE);
	munmap(p, 1 << 19);
	mallopt(M_MMAP_THRESHOLD, 1 << 17);
	void *volatile big = malloc(300000); /* has a mapping of its own */

	free(big);
	malloc_trim(0);
	BARRIER;
}

SITE void peak_again(size_t n) /* as many bytes as at the peak before: the first one is the peak */
{
	void *volatile p = malloc(n);

	free(p);
	BARRIER;
}

SITE void pools(void)
{
	static char arena[4096];
	char *volatile block = malloc(1000);

	memtui_pool_alloc(arena, arena, 48);
	memtui_pool_alloc(arena, arena + 64, 100);
	memtui_pool_realloc(arena, arena + 64, arena + 256, 300);
	memtui_pool_free(arena, arena);
	memtui_pause("a pause");
	void *volatile unseen = malloc(4000);

	free(block);
	memtui_resume("the pause");
	free(unseen);
	BARRIER;
}

int main(void)
{
	void *volatile kept[32];

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 24; i++)
		kept[i] = leak(i);
	memtui_marker("chains");
	kept[24] = grow(20, 3000, 1);
	kept[25] = grow(1, 200000, 0);
	fail(kept[24]);
	for (int i = 0; i < 24; i += 3)
		free(kept[i]);
	memtui_marker("temporary");
	temporary(10);
	usleep(2000);
	temporary(500);
	aligned();
	kept[26] = deep(320);
	unknown();
	memtui_marker("maps");
	maps();
	usleep(2500); /* the next step of the timeline */
	peak_again(300000);
	pools();
	usleep(3000);
	kept[27] = reallocarray(NULL, 10, 30);
	kept[28] = strdup("a string that leaks");
	BARRIER;
	return 3;
}
