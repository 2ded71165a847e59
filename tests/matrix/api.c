/* api FILE [cfree|libc]: every allocation function of C a thousand times, in each way it can go:
 * success, failure, overflow, size 0, NULL, alignments good and bad. FILE has long lines, for
 * getline. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static volatile size_t most = PTRDIFF_MAX, half = SIZE_MAX / 2, all = SIZE_MAX;
static void (*old_free)(void *);
static FILE *lines;

static void drop(void *p, size_t size)
{
	if (!p)
		return;
	free(p);
	gone(size);
}

CASE case_malloc(size_t i)
{
	void *p = got(malloc(i * 7 % 5000), i * 7 % 5000);

	if (i % 3)
		drop(p, i * 7 % 5000);
}

CASE case_malloc_zero(size_t i)
{
	void *p = got(malloc(0), 0);

	if (i % 4)
		drop(p, 0);
}

CASE case_malloc_large(size_t i)
{
	size_t size = 65530 + i * 1000;

	drop(got(malloc(size), size), size);
}

CASE case_malloc_fails(size_t i)
{
	got(malloc(most - i), 0);
	got(malloc(half + i), 0);
	got(malloc(all - i), 0);
}

CASE case_calloc(size_t i)
{
	char *p = got(calloc(i % 50 + 1, 13), (i % 50 + 1) * 13);

	for (size_t at = 0; at < (i % 50 + 1) * 13; at++)
		if (p[at])
			abort();
	memset(p, 1, (i % 50 + 1) * 13);
	if (i % 3)
		drop(p, (i % 50 + 1) * 13);
}

CASE case_calloc_zero(size_t i)
{
	drop(got(calloc(0, i), 0), 0);
	drop(got(calloc(i, 0), 0), 0);
}

CASE case_calloc_fails(size_t i)
{
	got(calloc(half, 4), 0);
	got(calloc(i + 3, half), 0);
	got(calloc(most - i, 1), 0);
}

CASE case_realloc(size_t i)
{
	char *p = got(realloc(NULL, i + 1), i + 1);

	memset(p, 'x', i + 1);
	p = moved(realloc(p, 10 * i + 10), i + 1, 10 * i + 10);
	p = moved(realloc(p, 200000), 10 * i + 10, 200000);
	if (p[0] != 'x' || p[i] != 'x')
		abort();
	p = moved(realloc(p, 5), 200000, 5);
	if (i % 5)
		drop(p, 5);
}

CASE case_realloc_zero(size_t i)
{
	void *p = got(malloc(i), i);

	if (saw(realloc(p, 0)))
		abort();
	frees++;
	now.leaked--;
	now.leaked_bytes -= (long)i;
	drop(got(realloc(NULL, 0), 0), 0);
}

CASE case_realloc_fails(size_t i)
{
	char *p = got(malloc(100 + i), 100 + i);

	strcpy(p, "kept");
	moved(realloc(p, most - i), 100 + i, 0);
	moved(realloc(p, all - i), 100 + i, 0);
	got(realloc(NULL, most - i), 0);
	if (strcmp(p, "kept") != 0)
		abort();
	if (i % 2)
		drop(p, 100 + i);
}

CASE case_reallocarray(size_t i)
{
	void *p = got(reallocarray(NULL, i % 60 + 1, 16), (i % 60 + 1) * 16);

	p = moved(reallocarray(p, 100, 16), (i % 60 + 1) * 16, 1600);
	if (moved(reallocarray(p, half, 4), 1600, 0)
		|| moved(reallocarray(p, most / 8, 8), 1600, 0))
		abort();
	if (i % 2) {
		drop(p, 1600);
		return;
	}
	if (saw(reallocarray(p, 0, 16)))
		abort();
	frees++;
	now.leaked--;
	now.leaked_bytes -= 1600;
}

static void *aligned(size_t alignment, size_t size)
{
	void *p = &p;
	int error = posix_memalign(&p, alignment, size);

	see((uint64_t)error);
	if (!error && (uint64_t)p % alignment)
		abort();
	if (error && p != &p)
		abort();
	return error ? NULL : p;
}

CASE case_posix_memalign(size_t i)
{
	void *p = got(aligned(8u << i % 10, i), i);

	if (i % 3)
		drop(p, i);
}

CASE case_posix_memalign_fails(size_t i)
{
	got(aligned(0, 10), 0);
	got(aligned(3, 10), 0);
	got(aligned(4, 10), 0);
	got(aligned(24, 10), 0);
	got(aligned(64, most - i), 0);
	got(aligned(64, all - i), 0);
}

CASE case_aligned_alloc(size_t i)
{
	void *p = got(aligned_alloc(16u << i % 8, 4096), 4096);

	if (i % 3)
		drop(p, 4096);
	drop(got(aligned_alloc(64, i), i), i);
}

CASE case_aligned_alloc_fails(size_t i)
{
	drop(got(aligned_alloc(3, 9), 9), 9); /* one libc says EINVAL, another rounds up */
	got(aligned_alloc(64, most - i), 0);
	got(aligned_alloc(half + 2, 64), 0);
}

CASE case_memalign(size_t i)
{
	void *p = got(memalign(8u << i % 8, i), i);

	if (i % 3)
		drop(p, i);
	drop(got(memalign(3, 50), 50), 50);
	drop(got(memalign(0, 50), 50), 50);
}

CASE case_memalign_fails(size_t i)
{
	got(memalign(32, most - i), 0);
	got(memalign(half + 2, 32), 0);
}

CASE case_valloc(size_t i)
{
	void *p = got(valloc(i), i);

	if (i % 7)
		drop(p, i);
}

CASE case_pvalloc(size_t i)
{
	void *p = got(pvalloc(i), i);

	if (i % 7)
		drop(p, i);
}

CASE case_valloc_fails(size_t i)
{
	got(valloc(most - i), 0);
	got(valloc(all - i), 0);
	got(pvalloc(most - i), 0);
	got(pvalloc(all - i), 0);
}

CASE case_free_null(size_t i)
{
	free(NULL);
	saw(NULL);
	errno = (int)i;
	free(NULL);
	saw(NULL);
}

CASE case_cfree(size_t i)
{
	void *p = got(malloc(i), i);

	(old_free ? old_free : free)(p);
	gone(i);
}

CASE case_usable_size(size_t i)
{
	void *p = got(malloc(i), i);

	see(malloc_usable_size(p));
	see(malloc_usable_size(NULL));
	drop(p, i);
}

CASE case_strdup(size_t i)
{
	char text[] = "a string of some length that is cut somewhere", *p;

	text[i % 40] = '\0';
	p = got(strdup(text), i % 40 + 1);
	if (i % 3)
		drop(p, i % 40 + 1);
	drop(got(strndup("abcdefgh", i % 12), (i % 12 < 8 ? i % 12 : 8) + 1),
		(i % 12 < 8 ? i % 12 : 8) + 1);
}

/* How often libc moves the string meanwhile is its own affair: only what stays counts. */
CASE case_libc_asprintf(size_t i)
{
	char *p;
	int len = asprintf(&p, "%zu %*s", i, (int)i, "x");

	see((uint64_t)len);
	if (i % 3 == 0) {
		now.leaked++;
		now.leaked_bytes += len + 1;
		return;
	}
	free(p);
}

CASE case_libc_getline(size_t i)
{
	static char *line;
	static size_t size;
	size_t before = size;
	ssize_t len = getline(&line, &size, lines);

	see((uint64_t)len);
	see(size);
	now.leaked += before == 0;
	now.leaked_bytes += (long)size - (long)before;
	if (i % 100 == 99) {
		free(line);
		now.leaked--;
		now.leaked_bytes -= (long)size;
		line = NULL;
		size = 0;
	}
}

#define RUN(name, kinds) run_case(#name, kinds, case_##name)
int main(int argc, char **argv)
{
	static char buffer[65536];

	lines = fopen(argv[1], "r");
	if (!lines)
		return 98;
	setvbuf(lines, buffer, _IOFBF, sizeof buffer);
	heap = (uint64_t)malloc(1);
	drop((void *)heap, 1);
	if (argc > 2 && !strcmp(argv[2], "libc")) {
		RUN(libc_asprintf, NULL);
		RUN(libc_getline, NULL);
		return 0;
	}
	/* by itself: what dlsym says of it may differ, and with that what dlsym allocates */
	if (argc > 2) {
		old_free = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");
		heap = half;
		RUN(cfree, "malloc");
		say_total();
		return 0;
	}
	RUN(malloc, "malloc");
	RUN(malloc_zero, "malloc");
	RUN(malloc_large, "malloc");
	RUN(malloc_fails, "");
	RUN(calloc, "calloc");
	RUN(calloc_zero, "calloc");
	RUN(calloc_fails, "");
	RUN(realloc, "realloc");
	RUN(realloc_zero, "malloc,realloc");
	RUN(realloc_fails, "malloc");
	RUN(reallocarray, "reallocarray");
	RUN(posix_memalign, "posix_memalign");
	RUN(posix_memalign_fails, "");
	RUN(aligned_alloc, "aligned_alloc");
	RUN(aligned_alloc_fails, "aligned_alloc");
	RUN(memalign, "memalign");
	RUN(memalign_fails, "");
	RUN(valloc, "valloc");
	RUN(pvalloc, "pvalloc");
	RUN(valloc_fails, "");
	RUN(free_null, "");
	RUN(usable_size, "malloc");
	RUN(strdup, "malloc");
	say_total();
	return 0;
}
