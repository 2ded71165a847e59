#include "core/symbol/bundled.h"

#include <gelf.h>
#include <string.h>

#define BYTES_MOST (512u << 20) /* of symbol tables and their names that are read of a file */
#define ENTRIES (sizeof known / sizeof *known)

/* One function that each build of the allocator has. A name that ends in * stands for its
 * beginning. unless: whoever has this symbol, too, contains the allocator but does not use it
 * (Python 3.13 carries mimalloc for builds without a global lock). */
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
	{"dlmalloc", "dlmalloc", NULL},
	{"scalable_malloc", "tbbmalloc", NULL},
	{"runtime.mallocgc", "Go's heap", NULL},
	{"_ZN14partition_alloc13PartitionRoot*", "PartitionAlloc", NULL},
};

const char mt_bundled_own_malloc[] = "its own malloc";

static bool matches(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	return pattern[len - 1] == '*' ? strncmp(name, pattern, len - 1) == 0
				       : strcmp(name, pattern) == 0;
}

static int entry_of(const char *name)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (*name == *known[i].symbol && matches(name, known[i].symbol))
			return (int)i;
	return -1;
}

/* Defined here, and called without the dynamic linker. */
static bool is_for_itself(const GElf_Sym *symbol, bool is_program)
{
	unsigned visibility = GELF_ST_VISIBILITY(symbol->st_other);

	if (symbol->st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol->st_info) != STT_FUNC)
		return false;
	return is_program || GELF_ST_BIND(symbol->st_info) == STB_LOCAL || visibility == STV_HIDDEN
		|| visibility == STV_INTERNAL;
}

struct table {
	Elf_Data *symbols, *names;
};

/* Returns false if there is nothing to be read, or too much: *left is what may still be read of the
 * file, which can name the same bytes as a table any number of times. */
static bool open_table(struct table *t, Elf *elf, Elf_Scn *section, uint64_t *left)
{
	GElf_Shdr header, names_header;
	Elf_Scn *names;

	if (!gelf_getshdr(section, &header)
		|| (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
		return false;
	names = elf_getscn(elf, header.sh_link);
	if (!names || !gelf_getshdr(names, &names_header)
		|| (header.sh_flags | names_header.sh_flags) & SHF_COMPRESSED
		|| header.sh_size > *left || names_header.sh_size > *left - header.sh_size)
		return false;
	*left -= header.sh_size + names_header.sh_size;
	t->symbols = elf_getdata(section, NULL);
	t->names = elf_getdata(names, NULL);
	return t->symbols && t->names && t->names->d_buf && t->names->d_size
		&& !((const char *)t->names->d_buf)[t->names->d_size - 1];
}

/* NULL: beyond the table of names. */
static const char *name_of(const struct table *t, const GElf_Sym *symbol)
{
	return symbol->st_name < t->names->d_size
		? (const char *)t->names->d_buf + symbol->st_name
		: NULL;
}

static bool defines(const struct table *t, const char *wanted)
{
	const char *name;
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(t->symbols, i, &symbol); i++)
		if (symbol.st_shndx != SHN_UNDEF && (name = name_of(t, &symbol))
			&& !strcmp(name, wanted))
			return true;
	return false;
}

/* *own_malloc: set if malloc itself is defined. */
static const char *search(const struct table *t, bool is_program, bool *own_malloc)
{
	bool unused[ENTRIES] = {false};
	const char *name;
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(t->symbols, i, &symbol); i++) {
		if (!is_for_itself(&symbol, is_program) || !(name = name_of(t, &symbol)))
			continue;
		int entry = entry_of(name);

		*own_malloc = *own_malloc
			|| (is_program && GELF_ST_BIND(symbol.st_info) != STB_LOCAL
				&& !strcmp(name, "malloc"));
		if (entry < 0 || unused[entry])
			continue;
		if (!known[entry].unless || !defines(t, known[entry].unless))
			return known[entry].allocator;
		unused[entry] = true;
	}
	return NULL;
}

const char *mt_bundled_allocator(int fd, bool is_program)
{
	const char *allocator = NULL;
	uint64_t left = BYTES_MOST;
	bool own_malloc = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	for (Elf_Scn *s = NULL; !allocator && elf && (s = elf_nextscn(elf, s));) {
		struct table table;

		if (open_table(&table, elf, s, &left))
			allocator = search(&table, is_program, &own_malloc);
	}
	elf_end(elf);
	return allocator || !own_malloc ? allocator : mt_bundled_own_malloc;
}
