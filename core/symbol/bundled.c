#include "core/symbol/bundled.h"

#include "core/base/elf.h"

#include <string.h>

#define ENTRIES (sizeof known / sizeof *known)
#define OWN_MALLOC "malloc"

/* One function that each build of the allocator has. A name that ends in * stands for its
 * beginning. unless: whoever has this function, too, contains the allocator but does not use it
 * for its data (Python 3.13 carries mimalloc for builds without a global lock, libffi dlmalloc for
 * memory that can be executed). */
static const struct {
	const char *symbol, *allocator, *unless;
} known[] = {
	{"mi_malloc", "mimalloc", "PyMem_RawMalloc"},
	{"_mi_malloc_generic", "mimalloc", "PyMem_RawMalloc"},
	{"je_malloc", "jemalloc", NULL},
	{"_rjem_malloc", "jemalloc", NULL},
	{"_rjem_je_arena_malloc_hard", "jemalloc", NULL},
	{"je_arena_malloc_hard", "jemalloc", NULL},
	{"tc_malloc", "tcmalloc", NULL},
	{"TCMallocInternalMalloc", "tcmalloc", NULL},
	{"rpmalloc", "rpmalloc", NULL},
	{"sn_malloc", "snmalloc", NULL},
	{"sn_rust_alloc", "snmalloc", NULL},
	{"scudo_malloc", "scudo", NULL},
	{"dlmalloc", "dlmalloc", "ffi_call"},
	{"scalable_malloc", "tbbmalloc", NULL},
	{"runtime.mallocgc", "Go's heap", NULL},
	{"_ZN14partition_alloc13PartitionRoot*", "PartitionAlloc", NULL},
};

const char mt_bundled_own_malloc[] = "its own malloc";

static bool matches(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	return *name == *pattern
		&& (pattern[len - 1] == '*' ? strncmp(name, pattern, len - 1) == 0
					    : strcmp(name, pattern) == 0);
}

/* The first characters of a name: most are of no function of the list. */
static uint32_t beginning(const char *name)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < sizeof bytes && name[i]; i++)
		bytes |= (uint32_t)(unsigned char)name[i] << 8 * i;
	return bytes;
}

struct search {
	bool is_program, own_malloc;
	bool found[ENTRIES], excluded[ENTRIES];
	uint32_t beginnings[2 * ENTRIES + 1];
};

static bool may_be_known(const struct search *s, const char *name)
{
	uint32_t bytes = beginning(name);
	bool may = false;

	for (size_t i = 0; i < sizeof s->beginnings / sizeof *s->beginnings; i++)
		may |= s->beginnings[i] == bytes;
	return may;
}

/* Defined here, and called without the dynamic linker. */
static void consider(void *context, const struct mt_elf_function *f)
{
	struct search *s = context;
	bool is_for_itself = s->is_program || f->is_hidden;

	if (!may_be_known(s, f->name))
		return;
	for (size_t i = 0; i < ENTRIES; i++) {
		if (is_for_itself && matches(f->name, known[i].symbol))
			s->found[i] = true;
		if (known[i].unless && matches(f->name, known[i].unless))
			s->excluded[i] = true;
	}
	if (s->is_program && !f->is_local && matches(f->name, OWN_MALLOC))
		s->own_malloc = true;
}

const char *mt_bundled_allocator(int fd, bool is_program)
{
	struct search s = {.is_program = is_program};

	for (size_t i = 0; i < ENTRIES; i++) {
		s.beginnings[2 * i] = beginning(known[i].symbol);
		s.beginnings[2 * i + 1] = beginning(known[i].unless ? known[i].unless : OWN_MALLOC);
	}
	s.beginnings[2 * ENTRIES] = beginning(OWN_MALLOC);
	mt_elf_functions(fd, consider, &s);
	for (size_t i = 0; i < ENTRIES; i++)
		if (s.found[i] && !s.excluded[i])
			return known[i].allocator;
	return s.own_malloc ? mt_bundled_own_malloc : NULL;
}
