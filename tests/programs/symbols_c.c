/* For symbol_test: C with inline frames two deep, a static and a nested function. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) void *innermost(size_t size)
{
	void *block = malloc(size + 1);

	if (block)
		*(volatile char *)block = 1;
	return block;
}

static inline __attribute__((always_inline)) void *middle(size_t size)
{
	return innermost(size * 2);
}

__attribute__((noinline)) void *outer_function(size_t size)
{
	void *block = middle(size);

	printf("%p\n", block);
	return block;
}

static __attribute__((noinline)) int static_function(int x)
{
	for (int i = 0; i < x; i++)
		x ^= rand() + i;
	return x;
}

int main(int argc, char **argv)
{
	int base = argc;
	__attribute__((noinline)) int nested_function(int y)
	{
		return static_function(y + base) * rand();
	}

	free(outer_function((size_t)argc));
	return nested_function(argc) + static_function(3) == (int)(size_t)argv;
}
