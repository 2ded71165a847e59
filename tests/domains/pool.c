/* A pool that hands out the start of its own chunk, and frees in the wrong domain. Prints what the
 * trace must say: "ADDRESS SIZE FUNCTION END" of each block, and "wrong ADDRESS". */
#include <stdio.h>
#include <stdlib.h>

#include "preload/memtui.h"

static void told(const void *p, int size, const char *function, const char *end)
{
	printf("%lu %d %s %s\n", (unsigned long)p, size, function, end);
}

int main(void)
{
	char *chunk = malloc(4000), *inner = chunk + 1, *volatile other = malloc(64);

	memtui_pool_alloc(chunk, chunk, 100);
	told(chunk, 4000, "malloc", "free");
	told(other, 64, "malloc", "free");
	told(chunk, 100, "pool", "pool free");
	/* a pool of the pool's block hands out its start, too */
	memtui_pool_alloc(inner, chunk, 10);
	told(chunk, 10, "pool", "pool free");
	memtui_pool_alloc(chunk, chunk + 200, 50);
	memtui_pool_realloc(chunk, chunk + 200, chunk + 208, 60);
	told(chunk + 200, 50, "pool", "pool");
	told(chunk + 208, 60, "pool", "live");
	/* the chunk is no block of this pool, and nor is a block of the heap */
	memtui_pool_free(chunk, other);
	printf("wrong %lu\n", (unsigned long)other);
	memtui_pool_free(inner, chunk);
	memtui_pool_free(chunk, chunk);
	free(other);
	free(chunk);
	memtui_pool_free(chunk, chunk);
	printf("double %lu\n", (unsigned long)chunk);
	return 0;
}
