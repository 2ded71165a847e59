/* A library that carries an allocator inside itself, under the names of jemalloc or, with NAMED,
 * under others. It counts what it asks for. */
#include <stddef.h>
#include <string.h>

#ifdef NAMED
#define je_malloc arena_get
#define je_calloc arena_zero
#define je_realloc arena_grow
#define je_free arena_put
#endif
#define HIDDEN __attribute__((visibility("hidden"), noinline, noipa))

static _Alignas(64) char memory[8 << 20];
static _Atomic size_t used;
static unsigned long allocated, bytes, live;

HIDDEN void *je_malloc(size_t size)
{
	size_t room = 16 + (size + 15) / 16 * 16;
	char *p = memory + (used += room) - room;

	*(size_t *)p = size;
	return p + 16;
}
HIDDEN void *je_calloc(size_t count, size_t size)
{
	return memset(je_malloc(count * size), 0, count * size);
}
HIDDEN void je_free(void *p)
{
	if (p)
		((size_t *)p)[-1] = 0;
}
HIDDEN void *je_realloc(void *old, size_t size)
{
	void *p = je_malloc(size);
	size_t had = ((size_t *)old)[-2];

	memcpy(p, old, had < size ? had : size);
	je_free(old);
	return p;
}
/* What malloc_usable_size is for others; the program's blocks are all larger than asked for. */
HIDDEN size_t arena_size(const void *p)
{
	return (((const size_t *)p)[-2] + 15) / 16 * 16;
}

static void *ask(size_t size)
{
	allocated++;
	live++;
	bytes += size;
	return je_malloc(size);
}

__attribute__((constructor, noinline, noipa)) static void begin(void)
{
#ifndef QUIET
	for (int i = 0; i < 5; i++)
		ask(1000);
#endif
}

__attribute__((noinline, noipa)) void work(unsigned long *count, unsigned long *size,
	unsigned long *kept)
{
	for (size_t i = 0; i < 200; i++) {
		void *p = ask(1 + i);

		if (i % 3 == 0) {
			p = je_realloc(p, 300);
			allocated++;
			bytes += 300;
		}
		if (i % 2 == 0) {
			je_free(p);
			live--;
		}
		if (!arena_size(p) && i % 2)
			return;
	}
	*count += allocated;
	*size += bytes;
	*kept += live;
	allocated = bytes = live = 0; /* of the next time */
}
