/* Proves that every C allocation function is seen once, with the right count, size and kind: also
 * the edges (NULL, size 0, failure, large, overflow) and that errno and results are glibc's. Prints
 * the truth. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long allocations, frees, bytes;
static void *volatile keep;

static void *got(void *p, size_t size)
{
	keep = p;
	allocations++;
	bytes += (long)size;
	return p;
}

static void gone(void *p)
{
	frees++;
	errno = 77;
	free(p);
	if (errno != 77)
		abort();
}

static void grow(void)
{
	char *p = got(realloc(NULL, 10), 10), *q;

	strcpy(p, "kept");
	p = got(realloc(p, 200000), 200000);
	frees++;
	errno = 0;
	q = realloc(p, PTRDIFF_MAX); /* fails: released and restored */
	if (q || errno != ENOMEM || strcmp(p, "kept") != 0)
		abort();
	if (realloc(p, 0) != NULL)
		abort();
	frees++;
	p = got(reallocarray(NULL, 7, 8), 56);
	errno = 0;
	if (reallocarray(p, SIZE_MAX, 8) || errno != ENOMEM)
		abort();
	gone(p);
}

static void align(void)
{
	void *p = &allocations;

	if (posix_memalign(&p, 3, 100) != EINVAL || p != &allocations)
		abort();
	if (posix_memalign(&p, 64, 100) != 0)
		abort();
	gone(got(p, 100));
	gone(got(aligned_alloc(4096, 8192), 8192));
	gone(got(memalign(32, 33), 33));
	gone(got(valloc(5), 5));
	gone(got(pvalloc(5), 5));
}

int main(void)
{
	volatile size_t half = SIZE_MAX / 2;
	char *p, text[128];
	int len;

	free(NULL);
	gone(got(malloc(0), 0));
	gone(got(malloc(65534), 65534));
	gone(got(malloc(65535), 65535));
	gone(got(malloc(5000000), 5000000));
	p = got(calloc(3, 100), 300);
	for (int i = 0; i < 300; i++)
		if (p[i])
			abort();
	if (malloc_usable_size(p) < 300)
		abort();
	gone(p);
	errno = 0;
	if (calloc(half, 4) || errno != ENOMEM)
		abort();
	if (malloc(half + 1) || errno != ENOMEM)
		abort();
	grow();
	align();
	for (int i = 0; i < 100; i++)
		got(malloc((size_t)i), (size_t)i); /* leaks */
	len = snprintf(text, sizeof text,
		"TRUTH allocs=%ld frees=%ld bytes=%ld reallocs=1 restores=1\n", allocations, frees,
		bytes);
	return write(2, text, (size_t)len) != len;
}
