/* A program that brings its own malloc, which comes before any library's: the tracer sees none of
 * its blocks, and is to say so. The address goes to stdout. */
#include <stddef.h>
#include <stdio.h>

static _Alignas(16) char arena[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	void *p = arena + used;

	used += (size + 15) / 16 * 16;
	return p;
}

void free(void *p)
{
	(void)p;
}

int main(void)
{
	for (int i = 0; i < 100; i++)
		free(malloc(100));
	printf("own=%lx\n", (long)malloc);
	return 0;
}
