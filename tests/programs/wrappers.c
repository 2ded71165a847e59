/* Leaks through wrappers of wrappers: a usual one below in-house ones, and a container that
 * grows. */
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE void *xmalloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return memset(block, 1, size);
}

NOINLINE char *house_strdup(const char *text)
{
	return strcpy(xmalloc(strlen(text) + 1), text);
}

NOINLINE void *house_get(size_t size)
{
	char *block = xmalloc(size + 16);

	return block + 16;
}

NOINLINE void *house_make(size_t count, size_t size)
{
	char *block = house_get(count * size);

	return memset(block, 0, count * size) ? block : NULL;
}

static void *kept[12];

NOINLINE void keep_names(void)
{
	for (int i = 0; i < 4; i++)
		kept[i] = house_strdup("a name of twenty-four ch");
}

NOINLINE void keep_table(void)
{
	for (int i = 4; i < 8; i++)
		kept[i] = house_make(10, 100);
}

NOINLINE void keep_buffer(void)
{
	for (int i = 8; i < 12; i++)
		kept[i] = xmalloc(500);
}

int main(void)
{
	keep_names();
	keep_table();
	keep_buffer();
	return 0;
}
