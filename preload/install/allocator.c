/* Which library provides malloc. Found once, with the real functions: a forked child must not call
 * dlsym, whose lock may be held for good. */
#include "preload/process/allocator.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "preload/install/allocator.h"

/* One library has them all: a usable size asked of another one's block could be anything. */
static bool are_of_one(const struct mt_real *real, uint64_t start, uint64_t end)
{
	const void *const functions[] = {(void *)real->malloc, (void *)real->calloc,
		(void *)real->realloc, (void *)real->free, (void *)real->posix_memalign,
		(void *)real->aligned_alloc, (void *)real->memalign,
		(void *)real->malloc_usable_size};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if ((uint64_t)functions[i] - start >= end - start)
			return false;
	return true;
}

static bool is_libc(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, "libc.so.6") == 0;
}

/* Not so the entry to its procedure linkage table that stands for another's malloc in a program of
 * fixed addresses. */
static bool is_defined(const void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return !dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol
		|| symbol->st_shndx != SHN_UNDEF;
}

void mt_install_find_allocator(const struct mt_real *real)
{
	struct mt_allocator *a = &mt_tracer.allocator;
	struct dl_find_object object;
	uint64_t first = (uint64_t)dlsym(RTLD_DEFAULT, "malloc");

	a->address = (uint64_t)real->malloc;
	/* an executable's own malloc comes before that of any library */
	if (mt_object_of(&mt_tracer, &object) == 0
		&& first - (uint64_t)object.dlfo_map_start
			>= (uint64_t)(object.dlfo_map_end - object.dlfo_map_start)
		&& is_defined((void *)first))
		a->own = first;
	if (mt_object_of((void *)real->malloc, &object) < 0)
		return;
	a->start = (uint64_t)object.dlfo_map_start;
	a->end = (uint64_t)object.dlfo_map_end;
	if (are_of_one(real, a->start, a->end))
		a->rule =
			is_libc(object.dlfo_link_map->l_name) ? MT_USABLE_GLIBC : MT_USABLE_ALWAYS;
}
