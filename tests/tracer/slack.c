/* slack LIBRARY [always]: proves that each block's usable size follows from its size by the rule of
 * the segment, or is recorded with it. LIBRARY provides malloc; the address of its malloc goes to
 * stderr. */
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <string.h>

#include "core/wire.h"
#include "truth.h"

static int always;

static void *got(enum mt_function_id kind, void *volatile p, size_t size)
{
	const char *type = kind == MT_FUNCTION_REALLOC ? "REALLOC" : "ALLOC";
	size_t usable = malloc_usable_size(p);

	if (always || usable != mt_wire_usable(size))
		truth("%s %d %lx %zu usable=%zu main", type, kind, (long)p, size, usable);
	else
		truth("%s %d %lx %zu main", type, kind, (long)p, size);
	return p;
}

static void gone(void *p)
{
	truth("FREE %d %lx 0 -", MT_FUNCTION_FREE, (long)p);
	free(p);
}

static void *resized(void *p, size_t size)
{
	truth("RELEASE %d %lx 0 -", MT_FUNCTION_REALLOC, (long)p);
	return got(MT_FUNCTION_REALLOC, realloc(p, size), size);
}

/* The library's, by its symbol table, since dlsym gives the tracer's. The names lie behind the
 * symbols. */
static uintptr_t own_malloc(void *library)
{
	const struct link_map *map = library;
	const ElfW(Sym) *symbol = NULL;
	const char *names = NULL;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag; d++)
		if (d->d_tag == DT_SYMTAB)
			symbol = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			names = (const char *)d->d_un.d_ptr;
	for (; (const char *)symbol < names; symbol++)
		if (symbol->st_value && !strcmp(names + symbol->st_name, "malloc"))
			return map->l_addr + symbol->st_value;
	return 0;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD), *block[10];

	must(library);
	always = argc > 2;
	dprintf(2, "allocator=%lx\n", (long)own_malloc(library));
	free(malloc(1)); /* the library may make itself ready now */
	truth("ALLOC %d", MT_FUNCTION_MALLOC);
	for (size_t size = 0; size < 100; size++)
		gone(got(MT_FUNCTION_MALLOC, malloc(size), size));
	for (int i = 0; i < 10; i++)
		block[i] = got(MT_FUNCTION_MALLOC, malloc(2000), 2000);
	gone(block[3]);
	/* takes the rest of the hole too, where it is small */
	block[3] = got(MT_FUNCTION_MALLOC, malloc(1976), 1976);
	gone(block[7]);
	block[7] = got(MT_FUNCTION_CALLOC, calloc(1, 1968), 1968);
	for (int i = 0; i < 10; i++)
		block[i] = resized(block[i], 100 + 300 * (size_t)i);
	for (int i = 0; i < 10; i++)
		gone(block[i]);
	for (size_t size = 1000; size < 40000000; size *= 7)
		gone(resized(got(MT_FUNCTION_MALLOC, malloc(size), size), 2 * size));
	for (size_t alignment = 64; alignment < 100000; alignment *= 4)
		gone(got(MT_FUNCTION_MEMALIGN, memalign(alignment, 3 * alignment + 5),
			3 * alignment + 5));
	truth_write();
	return 0;
}
