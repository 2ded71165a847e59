#include "core/symbol/bundled.h"

#include <gelf.h>
#include <string.h>

#define TABLE_MOST (256u << 20) /* bytes of a symbol table, or of its names, that are read */

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

static bool matches(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	return pattern[len - 1] == '*' ? strncmp(name, pattern, len - 1) == 0
				       : strcmp(name, pattern) == 0;
}

static int entry_of(const char *name)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
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

static bool defines(Elf *elf, Elf_Data *data, const GElf_Shdr *header, const char *wanted)
{
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = symbol.st_shndx != SHN_UNDEF
			? elf_strptr(elf, header->sh_link, symbol.st_name)
			: NULL;

		if (name && !strcmp(name, wanted))
			return true;
	}
	return false;
}

static const char *search(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, bool is_program)
{
	Elf_Scn *names = elf_getscn(elf, header->sh_link);
	GElf_Shdr names_header;
	Elf_Data *data;
	GElf_Sym symbol;

	if (header->sh_size > TABLE_MOST || !names || !gelf_getshdr(names, &names_header)
		|| names_header.sh_size > TABLE_MOST || names_header.sh_flags & SHF_COMPRESSED)
		return NULL;
	data = elf_getdata(section, NULL);
	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = is_for_itself(&symbol, is_program)
			? elf_strptr(elf, header->sh_link, symbol.st_name)
			: NULL;
		int entry = name ? entry_of(name) : -1;

		if (entry >= 0
			&& !(known[entry].unless
				&& defines(elf, data, header, known[entry].unless)))
			return known[entry].allocator;
	}
	return NULL;
}

const char *mt_bundled_allocator(int fd, bool is_program)
{
	const char *allocator = NULL;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	for (Elf_Scn *s = NULL; !allocator && elf && (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;

		if (gelf_getshdr(s, &header)
			&& (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			&& !(header.sh_flags & SHF_COMPRESSED))
			allocator = search(elf, s, &header, is_program);
	}
	elf_end(elf);
	return allocator;
}
