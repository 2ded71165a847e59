/* The symbol table of a module, sorted by address: .symtab, else .dynsym with MiniDebugInfo, which
 * libdwfl merges. */
#include "core/symbol/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define UNDERSCORES_MAX 7u

unsigned mt_symbol_underscores(const char *name)
{
	size_t count = strspn(name, "_");

	return count < UNDERSCORES_MAX ? (unsigned)count : UNDERSCORES_MAX;
}

/* As __pthread_create_2_1: a name for one version of a function. */
static bool names_version(const char *name)
{
	size_t len = strcspn(name, "@");

	return len > 4 && name[len - 4] == '_' && isdigit((unsigned char)name[len - 3])
		&& name[len - 2] == '_' && isdigit((unsigned char)name[len - 1]);
}

/* Of several names for one address the one that people write: exported before local, the version
 * that programs are linked with now before older ones, then the fewest leading underscores, no name
 * of a version, global before weak. */
static unsigned preference(const GElf_Sym *symbol, const char *name)
{
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	const char *version = strchr(name, '@');
	unsigned rank = binding != STB_GLOBAL && binding != STB_WEAK;

	rank = rank * 2 + (version && version[1] != '@');
	rank = rank * (UNDERSCORES_MAX + 1) + mt_symbol_underscores(name);
	rank = rank * 2 + names_version(name);
	return rank * 2 + (binding == STB_WEAK);
}

static bool is_function(const GElf_Sym *symbol, GElf_Word section)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return section != SHN_UNDEF && section != SHN_ABS && section != (GElf_Word)-1
		&& (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

struct entry {
	uint64_t low, size;
	uint64_t section_end;
	const char *name;
	unsigned preference;
};

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	if (x->preference != y->preference)
		return x->preference < y->preference ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* End of the executable section that holds the address; 0: none does. The offset from the section's
 * start keeps this free of the question whether the table is of the module or of its debug file. */
static uint64_t section_end(Dwfl_Module *module, uint64_t address)
{
	GElf_Addr at = address;
	GElf_Shdr header;
	Dwarf_Addr bias;
	Elf_Scn *section = dwfl_module_address_section(module, &at, &bias);

	if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR)
		|| at > header.sh_size)
		return 0;
	return address + (header.sh_size - at);
}

static uint32_t collect(Dwfl_Module *module, int count, struct entry *entries)
{
	uint32_t kept = 0;
	uint64_t low = 1, high = 0; /* the executable section that was met last */

	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section;
		Elf *elf;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, NULL);

		if (!name || !*name || *name == '$' || !is_function(&symbol, section)
			|| !mt_elf_text(elf, name))
			continue;
		if (address < low || address >= high) {
			low = address;
			high = section_end(module, address);
			if (!high)
				continue;
		}
		uint64_t size = symbol.st_size > UINT64_MAX - address ? 0 : symbol.st_size;

		entries[kept++] =
			(struct entry){address, size, high, name, preference(&symbol, name)};
	}
	return kept;
}

void mt_elf_symbols_load(struct mt_elf_symbols *s, Dwfl_Module *module)
{
	int count = dwfl_module_getsymtab(module);

	if (count <= 0)
		return;
	struct entry *entries = mt_alloc((size_t)count * sizeof *entries);
	uint32_t kept = collect(module, count, entries);

	qsort(entries, kept, sizeof *entries, compare);
	for (uint32_t i = 0; i < kept; i++) {
		uint64_t end = entries[i].low + entries[i].size;

		if (i && entries[i].low == entries[i - 1].low)
			continue;
		if (!entries[i].size) { /* assembler: up to the next symbol */
			uint32_t next = i + 1;

			while (next < kept && entries[next].low == entries[i].low)
				next++;
			end = next < kept && entries[next].low < entries[i].section_end
				? entries[next].low
				: entries[i].section_end;
		}
		MT_GROW(s->names, s->name_count, s->name_capacity);
		s->names[s->name_count] = entries[i].name;
		mt_ranges_add(&s->ranges, entries[i].low, end, s->name_count++);
	}
	mt_ranges_sort(&s->ranges);
	free(entries);
}

const char *mt_elf_symbols_find(const struct mt_elf_symbols *s, uint64_t address, uint64_t *start)
{
	ssize_t at = mt_ranges_find(&s->ranges, address, -1);

	if (at < 0)
		return NULL;
	*start = s->ranges.items[at].low;
	return s->names[s->ranges.items[at].index];
}

void mt_elf_symbols_free(struct mt_elf_symbols *s)
{
	mt_ranges_free(&s->ranges);
	free(s->names);
	*s = (struct mt_elf_symbols){0};
}
