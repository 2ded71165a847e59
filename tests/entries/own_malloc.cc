/* A program that has malloc for itself, and asks for blocks by the operators of the library, which
 * call that malloc, or with OPERATORS by its own;
 * with LIBRARY all is that of a library that is linked in. 100 blocks of new, 50 of them stay; 100 of new[],
 * 75 stay; 10 texts of strdup, which libc allocates for it, and all are freed. */
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>

#ifndef LIBRARY
static char memory[1 << 24] __attribute__((aligned(64)));
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

extern "C" {
__attribute__((noinline)) void *malloc(size_t size)
{
	pthread_mutex_lock(&lock);
	char *p = memory + used;
	used += 16 + ((size + 15) & ~size_t(15));
	pthread_mutex_unlock(&lock);
	memcpy(p, &size, sizeof size);
	return p + 16;
}
__attribute__((noinline)) void free(void *p)
{
	if (p)
		memset(static_cast<char *>(p) - 16, 0xee, 8);
}
__attribute__((noinline)) void *calloc(size_t count, size_t size)
{
	return memset(malloc(count * size), 0, count * size);
}
__attribute__((noinline)) void *realloc(void *old, size_t size)
{
	void *p = malloc(size);
	if (old)
		memcpy(p, old, size);
	return p;
}
}

#endif

#ifdef OPERATORS
#define APART __attribute__((noinline, noipa))
APART void *operator new(size_t size)
{
	return malloc(size);
}
APART void *operator new[](size_t size)
{
	return malloc(size);
}
APART void operator delete(void *p) noexcept
{
	free(p);
}
APART void operator delete[](void *p) noexcept
{
	free(p);
}
APART void operator delete(void *p, size_t) noexcept
{
	free(p);
}
APART void operator delete[](void *p, size_t) noexcept
{
	free(p);
}
#endif

struct big {
	char bytes[1000];
};
big *volatile one;
int *volatile some;

int main()
{
	for (int i = 0; i < 100; i++) {
		one = new big;
		if (i % 2)
			delete one;
		some = new int[50];
		if (i % 4 == 0)
			delete[] some;
	}
	for (int i = 0; i < 10; i++)
		free(strdup("a text"));
	return 0;
}
