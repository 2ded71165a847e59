/* Proves what memtui.h tells the recorder, and what a pause leaves out. Untraced it must do nothing
 * at all. */
#include <string.h>
#include <sys/mman.h>

#include "core/wire.h"
#include "preload/memtui.h"
#include "truth.h"

#define PAGE 4096ul

static char memory[1000];

static unsigned long pooled(const void *pool, const void *p)
{
	return ((unsigned long)pool * 0x9e3779b97f4a7c15ul >> 48) << 47 | (unsigned long)p;
}

static void pools(void)
{
	char *outer = memory, *inner = memory + 1;

	memtui_pool_alloc(outer, memory + 8, 500);
	truth("ALLOC %d %lx 500 main", MT_FUNCTION_POOL, pooled(outer, memory + 8));
	/* the same address in another pool, and no more than a claim */
	memtui_pool_alloc(inner, memory + 8, 70000);
	truth("ALLOC %d %lx 70000 main", MT_FUNCTION_POOL, pooled(inner, memory + 8));
	memtui_pool_realloc(inner, memory + 8, memory + 9, 11);
	truth("RELEASE %d %lx 0 -", MT_FUNCTION_POOL, pooled(inner, memory + 8));
	truth("REALLOC %d %lx 11 main", MT_FUNCTION_POOL, pooled(inner, memory + 9));
	memtui_pool_realloc(inner, NULL, memory + 100, 12);
	truth("ALLOC %d %lx 12 main", MT_FUNCTION_POOL, pooled(inner, memory + 100));
	memtui_pool_realloc(inner, memory + 100, NULL, 13); /* failed */
	memtui_pool_alloc(inner, NULL, 5);                  /* failed */
	memtui_pool_free(inner, NULL);
	memtui_pool_free(inner, memory + 9);
	truth("FREE %d %lx 0 -", MT_FUNCTION_POOL_FREE, pooled(inner, memory + 9));
	memtui_pool_free(outer, memory + 8);
	truth("FREE %d %lx 0 -", MT_FUNCTION_POOL_FREE, pooled(outer, memory + 8));
}

static void markers(void)
{
	memtui_marker("short");
	truth("USER %d short main", MT_FUNCTION_MARKER);
	memtui_marker("");
	memtui_marker(NULL);
	truth("USER %d  main\nUSER %d  main", MT_FUNCTION_MARKER, MT_FUNCTION_MARKER);
	memtui_marker("0123456789012345678901234567890123456789012345678901234567890123and "
		      "what is too much");
	truth("USER %d 0123456789012345678901234567890123456789012345678901234567890123 main",
		MT_FUNCTION_MARKER);
	memtui_marker("012345678901234567890123456789012345678901234567890123456789012\303\251");
	truth("USER %d 012345678901234567890123456789012345678901234567890123456789012 main",
		MT_FUNCTION_MARKER);
}

static void *allocate(size_t size, int recorded)
{
	void *volatile p = malloc(size);

	must(p);
	if (recorded)
		truth("ALLOC %d %lx %zu main", MT_FUNCTION_MALLOC, (long)p, size);
	return p;
}

static void release(void *p)
{
	truth("FREE %d %lx 0 -", MT_FUNCTION_FREE, (long)p);
	free(p);
}

static void *resize(void *p, size_t size, const char *when)
{
	void *volatile q;

	truth("RELEASE %d %lx 0 -", MT_FUNCTION_REALLOC, (long)p);
	q = realloc(p, size);
	truth("REALLOC %d %lx %zu%s main", MT_FUNCTION_REALLOC, (long)q, size, when);
	return q;
}

/* What ends a block is recorded; what makes one is not. */
static void pause_all(void)
{
	void *before = allocate(100, 1), *grown = allocate(200, 1), *volatile during, *gone;
	char *map = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *moved;

	truth("MAP %d %lx %lx %lx 0 main", MT_FUNCTION_MMAP, (long)map, 2 * PAGE, 1 | 0x22l << 32);
	memtui_pause("why");
	truth("USER %d why main", MT_FUNCTION_PAUSE);
	during = allocate(300, 0);
	gone = allocate(400, 0);
	release(gone); /* the recorder knows that it does not know it */
	during = resize(during, 3000, " paused");
	grown = resize(grown, 2000, " paused");
	truth("RELEASE %d %lx 0 -", MT_FUNCTION_REALLOC, (long)before);
	must(!realloc(before, ~0ul / 4));
	truth("RESTORE %d %lx 0 -", MT_FUNCTION_REALLOC, (long)before);
	release(before);
	during = realloc(NULL, 500);
	memtui_pool_alloc(memory, memory + 8, 1);
	memtui_pool_free(memory, memory + 8);
	truth("FREE %d %lx 0 -", MT_FUNCTION_POOL_FREE, pooled(memory, memory + 8));
	must(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	moved = mremap(map, 2 * PAGE, 300 * PAGE, MREMAP_MAYMOVE);
	truth("UNMAP %d %lx %lx main", MT_FUNCTION_MREMAP, (long)map, 2 * PAGE);
	truth("MAP %d %lx %lx %lx %lx 0 paused main", MT_FUNCTION_MREMAP, (long)moved, 300 * PAGE,
		(long)map, 2 * PAGE);
	must(munmap(moved, 300 * PAGE) == 0);
	truth("UNMAP %d %lx %lx main", MT_FUNCTION_MUNMAP, (long)moved, 300 * PAGE);
	memtui_marker("still");
	truth("USER %d still main", MT_FUNCTION_MARKER);
	memtui_resume(NULL);
	truth("USER %d  main", MT_FUNCTION_RESUME);
	release(allocate(600, 1));
	release(grown);
}

int main(int argc, char **argv)
{
	must(memtui_is_traced() == (argc > 1 && strcmp(argv[1], "traced") == 0));
	pools();
	markers();
	pause_all();
	truth_write();
	return 0;
}
