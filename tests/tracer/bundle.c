/* A library that exports an allocator of its own under a prefix (-DPREFIX=je_): from memory of its
 * own, or (-DWRAP=SIZE) from that size on from malloc, with a header before each block. Its
 * functions call one another as exported. use() is what a plug-in with it does: its blocks must be
 * of its own memory, not of another's that exports the same names. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define P(name) JOIN(PREFIX, name)

void *P(malloc)(size_t);
void *P(memalign)(size_t, size_t);
void P(free)(void *);

#ifndef WRAP
#define WRAP SIZE_MAX
#endif

int owns(const char *);

static _Alignas(65536) char memory[1 << 24];
static size_t used;

static void *take(size_t size, size_t alignment)
{
	size_t start = (used + 64 + alignment - 1) / alignment * alignment;
	size_t *p = (size_t *)(memory + start - 64);

	if (size >= WRAP) {
		p = malloc(size + 64);
		if (!p)
			return NULL;
	} else if (size > sizeof memory || start + size > sizeof memory) {
		errno = ENOMEM;
		return NULL;
	} else {
		used = start + size;
	}
	p[7] = size;
	return p + 8;
}

void *P(malloc)(size_t size)
{
	return take(size, 16);
}

void *P(calloc)(size_t count, size_t size)
{
	void *p = count && SIZE_MAX / count < size ? NULL : P(malloc)(count * size);

	return p ? memset(p, 0, count * size) : NULL;
}

void P(free)(void *p)
{
	if (p && !owns(p))
		free((size_t *)p - 8);
}

void *P(realloc)(void *old, size_t size)
{
	size_t old_size = old ? ((size_t *)old)[-1] : 0;
	void *p = P(malloc)(size);

	if (!p)
		return NULL;
	if (old)
		memcpy(p, old, old_size < size ? old_size : size);
	P(free)(old);
	return p;
}

void *P(memalign)(size_t alignment, size_t size)
{
	return take(size, alignment);
}

void *P(aligned_alloc)(size_t alignment, size_t size)
{
	return P(memalign)(alignment, size);
}

int P(posix_memalign)(void **at, size_t alignment, size_t size)
{
	void *p = P(memalign)(alignment, size);

	if (p)
		*at = p;
	return p ? 0 : ENOMEM;
}

int owns(const char *p)
{
	return p >= memory && p < memory + sizeof memory;
}

int use(void)
{
	char *volatile p = P(malloc)(1234);
	int own = owns(p) == (1234 < WRAP);

	P(free)(p);
	return own;
}
