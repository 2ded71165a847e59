/* A library that has C23's functions: they go by way of free, which must not be recorded again. */
#include <stdlib.h>

int sized_calls;

void free_sized(void *p, size_t size)
{
	(void)size;
	sized_calls++;
	free(p);
}

void free_aligned_sized(void *p, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	sized_calls++;
	free(p);
}

__attribute__((destructor)) static void check(void)
{
	if (sized_calls != 2)
		abort();
}
