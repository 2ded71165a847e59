/* names HOW: 1,000 blocks of 16 bytes from keep(), by a way to malloc that is not the name malloc.
 *   libc      __libc_malloc and its kin       handle   dlsym in the handle of libc
 *   version   dlvsym there                    next     dlsym(RTLD_NEXT) in a library, which counts
 *   early     before any constructor          own      a malloc of the program's, on __libc_malloc
 * Ends with 0 where each function did what it is to do. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t), *__libc_valloc(size_t), *__libc_pvalloc(size_t);
extern void __libc_free(void *);

static void *volatile last;

static __attribute__((noinline)) void keep(void *(*allocate)(size_t))
{
	for (int i = 0; i < 1000; i++)
		last = allocate(16);
}

/* 5 blocks more, of which one is resized and all are freed. */
static bool others_work(void)
{
	char *p[5] = {__libc_calloc(3, 7), __libc_memalign(64, 5), __libc_valloc(6),
		__libc_pvalloc(8), __libc_realloc(NULL, 9)};
	bool good = !p[0][20] && !((size_t)p[1] % 64) && !((size_t)p[2] % 4096)
		&& !((size_t)p[3] % 4096);

	strcpy(p[4], "it stays");
	p[4] = __libc_realloc(p[4], 90000);
	good &= !strcmp(p[4], "it stays");
	for (int i = 0; i < 5; i++)
		__libc_free(p[i]);
	__libc_free(NULL);
	return good;
}

static void early(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "early"))
		keep(malloc);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **) = early;

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *(*found)(size_t) = NULL;

	if (!strcmp(how, "libc")) {
		keep(__libc_malloc);
		return !others_work();
	}
	if (!strcmp(how, "early"))
		return 0;
	*(void **)&found = !strcmp(how, "handle") ? dlsym(libc, "malloc")
		: !strcmp(how, "version")         ? dlvsym(libc, "malloc", "GLIBC_2.2.5")
						  : dlsym(RTLD_DEFAULT, "malloc");
	if (dlsym(libc, "no_such_function") || !dlerror() || dlsym(libc, "getenv") != (void *)getenv
		|| dlvsym(libc, "malloc", "GLIBC_9"))
		return 1;
	keep(found);
	return 0;
}
