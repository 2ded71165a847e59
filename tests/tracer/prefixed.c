/* Uses the allocator with the prefix -DPREFIX. Its blocks are known truth: each is seen once, as
 * this program's. With the argument "usable" usable sizes are recorded by glibc's rule, from which
 * these blocks are exempt; with "plugin" FILE the library comes by dlopen for itself alone and
 * calls its own functions. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "core/wire.h"
#include "truth.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define P(name) JOIN(PREFIX, name)

void *P(malloc)(size_t);
void *P(calloc)(size_t, size_t);
void *P(realloc)(void *, size_t);
void P(free)(void *);
int P(posix_memalign)(void **, size_t, size_t);
void *P(memalign)(size_t, size_t) __attribute__((weak));

static int usable;

static void *got(const char *type, enum mt_function_id kind, void *p, size_t size)
{
	must(p);
	if (usable && mt_wire_usable(size) != size)
		truth("%s %d %lx %zu usable=%zu main", type, kind, (long)p, size, size);
	else
		truth("%s %d %lx %zu main", type, kind, (long)p, size);
	return p;
}

static void gone(void *p)
{
	truth("FREE %d %lx 0 -", MT_FUNCTION_FREE, (long)p);
	P(free)(p);
}

int main(int argc, char **argv)
{
	char *p;
	void *q = NULL;

	usable = argc > 1 && strcmp(argv[1], "usable") == 0;
	P(free)(P(malloc)(1)); /* the library makes itself ready */
	truth("ALLOC %d", MT_FUNCTION_MALLOC);
	for (size_t size = 8; size < 100000; size *= 3)
		gone(got("ALLOC", MT_FUNCTION_MALLOC, P(malloc)(size), size));
	p = got("ALLOC", MT_FUNCTION_CALLOC, P(calloc)(3, 40), 120);
	must(p[0] == 0 && p[119] == 0);
	strcpy(p, "kept");
	truth("RELEASE %d %lx 0 -", MT_FUNCTION_REALLOC, (long)p);
	p = got("REALLOC", MT_FUNCTION_REALLOC, P(realloc)(p, 50000), 50000);
	must(strcmp(p, "kept") == 0);
	truth("RELEASE %d %lx 0 -", MT_FUNCTION_REALLOC, (long)p);
	must(!P(realloc)(p, 1ul << 62) && errno == ENOMEM && strcmp(p, "kept") == 0);
	truth("RESTORE %d %lx 0 -", MT_FUNCTION_REALLOC, (long)p);
	gone(p);
	must(!P(calloc)(1ul << 40, 1ul << 40));
	gone(got("ALLOC", MT_FUNCTION_REALLOC, P(realloc)(NULL, 77), 77));
	must(P(posix_memalign)(&q, 256, 1000) == 0);
	gone(got("ALLOC", MT_FUNCTION_POSIX_MEMALIGN, q, 1000));
	if (P(memalign))
		gone(got("ALLOC", MT_FUNCTION_MEMALIGN, P(memalign)(64, 333), 333));
	P(free)(NULL);
	truth_write();
	return 0;
}
