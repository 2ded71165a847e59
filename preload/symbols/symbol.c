/* The GNU hash table of an object's dynamic symbols: a Bloom filter, buckets, and chains that end
 * with an odd hash. Layout as binutils writes it (elf32.em, .gnu.hash). */
#include <elf.h>
#include <string.h>

#include "preload/symbols/parts.h"

#define CHANGED_MAX 512 /* far more than we have functions */

/* glibc relocates these words in place, but not those of the vdso. */
static const void *address(uint64_t base, const Elf64_Dyn *entry)
{
	uint64_t p = entry->d_un.d_ptr;

	return (const void *)(p < base ? p + base : p);
}

struct mt_find_table mt_find_table_of(uint64_t base, const Elf64_Dyn *dynamic)
{
	struct mt_find_table t = {0};

	for (const Elf64_Dyn *d = dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_GNU_HASH)
			t.hash = address(base, d);
		else if (d->d_tag == DT_SYMTAB)
			t.symbols = address(base, d);
		else if (d->d_tag == DT_STRTAB)
			t.strings = address(base, d);
	return t;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* Not by strcmp: the hook of dlsym comes here when AddressSanitizer looks for the real one. */
static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Its first definition of a function, or the next behind another: one name may have several
 * versions, side by side in one chain. */
static const Elf64_Sym *find_symbol(const struct mt_find_table *t, const char *name, uint32_t hash,
	const Elf64_Sym *behind)
{
	uint32_t buckets, first, words, shift, i;
	const uint64_t *bloom;
	const uint32_t *bucket, *chain;

	if (!t->hash || !t->symbols || !t->strings || !t->hash[0] || !t->hash[2])
		return NULL;
	buckets = t->hash[0];
	first = t->hash[1];
	words = t->hash[2];
	shift = t->hash[3];
	bloom = (const uint64_t *)(t->hash + 4);
	bucket = (const uint32_t *)(bloom + words);
	chain = bucket + buckets;
	if (!(bloom[hash / 64 % words] >> hash % 64
		    & bloom[hash / 64 % words] >> (hash >> shift) % 64 & 1))
		return NULL;
	i = behind ? (uint32_t)(behind - t->symbols) : bucket[hash % buckets];
	if (behind && chain[i++ - first] & 1)
		return NULL;
	for (; i >= first; i++) {
		const Elf64_Sym *symbol = &t->symbols[i];

		if ((chain[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF
			&& ELF64_ST_TYPE(symbol->st_info) == STT_FUNC
			&& is_same(t->strings + symbol->st_name, name))
			return symbol;
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

/* Symbols that have been handed out to be changed, and what they said. */
static struct {
	const Elf64_Sym *symbol;
	uint64_t value;
} changed[CHANGED_MAX];
static uint32_t changed_count;

static uint64_t value_of(const Elf64_Sym *symbol)
{
	for (uint32_t i = 0, n = mt_load_acquire(&changed_count); i < n; i++)
		if (changed[i].symbol == symbol)
			return changed[i].value;
	return symbol->st_value;
}

void *mt_find_in(uint64_t base, const Elf64_Dyn *dynamic, const char *name)
{
	struct mt_find_table t = mt_find_table_of(base, dynamic);
	const Elf64_Sym *symbol = find_symbol(&t, name, hash_of(name), NULL);

	return symbol ? (void *)(base + value_of(symbol)) : NULL;
}

/* What the program was started with stays, and comes first in the dynamic linker's list. */
static const struct link_map *last_at_start;

static void find_last(void)
{
	struct dl_find_object own;
	const struct link_map *map;

	if (last_at_start || mt_object_of(&mt_tracer, &own) < 0)
		return;
	for (map = own.dlfo_link_map; map->l_next; map = map->l_next)
		;
	last_at_start = map;
}

extern void *__libc_stack_end __attribute__((weak));

void mt_find_own(void)
{
	struct dl_find_object own, loader;

	find_last();
	if (mt_object_of(&mt_tracer, &own) == 0) {
		mt_tracer.own_start = (uint64_t)own.dlfo_map_start;
		mt_tracer.own_end = (uint64_t)own.dlfo_map_end;
	}
	/* by a variable of its own: AT_BASE is 0 where it was started as the program */
	if (mt_object_of(&__libc_stack_end, &loader) == 0) {
		mt_tracer.loader_start = (uint64_t)loader.dlfo_map_start;
		mt_tracer.loader_end = (uint64_t)loader.dlfo_map_end;
	}
}

void mt_find_describe(struct mt_found *found, void *function)
{
	struct dl_find_object object;

	*found = (struct mt_found){.function = function};
	if (!function || mt_object_of(function, &object) < 0)
		return;
	found->start = (uint64_t)object.dlfo_map_start;
	found->end = (uint64_t)object.dlfo_map_end;
}

/* Behind the tracer, with the object that has it. */
static const Elf64_Sym *next_symbol(const char *name, const struct link_map **in)
{
	uint32_t hash = hash_of(name);
	const Elf64_Sym *symbol = NULL;
	struct dl_find_object own;

	if (mt_object_of(&mt_tracer, &own) < 0)
		return NULL;
	*in = own.dlfo_link_map;
	while (!symbol && *in != last_at_start && (*in = (*in)->l_next)) {
		struct mt_find_table t = mt_find_table_of((*in)->l_addr, (*in)->l_ld);

		symbol = find_symbol(&t, name, hash, NULL);
	}
	return symbol;
}

bool mt_find_next(const char *name, struct mt_found *found)
{
	const struct link_map *map;
	const Elf64_Sym *symbol;

	if (!mt_is_glibc()) {
		mt_find_describe(found, dlsym(RTLD_NEXT, name));
		dlerror(); /* that there is none is for nobody else */
		return found->function != NULL;
	}
	symbol = next_symbol(name, &map);
	mt_find_describe(found, symbol ? (void *)(map->l_addr + value_of(symbol)) : NULL);
	return symbol != NULL;
}

bool mt_find_once(const char *name, void *function)
{
	struct mt_found found;

	if (!mt_load((void **)function) && mt_find_next(name, &found))
		mt_store((void **)function, found.function);
	return mt_load((void **)function) != NULL;
}

/* For another libc, which has no link map to go through: any object's but ours. */
struct other {
	const char *name;
	void *function;
};

static int find_other(struct dl_phdr_info *info, size_t size, void *at)
{
	struct other *other = at;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !other->function; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD
			&& (uint64_t)&mt_tracer - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
			return 0;
		if (part->p_type == PT_DYNAMIC)
			other->function = mt_find_in(info->dlpi_addr,
				(const Elf64_Dyn *)(info->dlpi_addr + part->p_vaddr), other->name);
	}
	return other->function != NULL;
}

bool mt_find_dlsym(const char *name, void *function)
{
	struct other other = {name, NULL};

	if (mt_is_glibc())
		return mt_find_once(name, function);
	if (!mt_load((void **)function)) {
		dl_iterate_phdr(find_other, &other);
		mt_store((void **)function, other.function);
	}
	return mt_load((void **)function) != NULL;
}

void *mt_find_hook(const char *name)
{
	struct dl_find_object own;

	return mt_object_of(&mt_tracer, &own) == 0
		? mt_find_in(own.dlfo_link_map->l_addr, own.dlfo_link_map->l_ld, name)
		: NULL;
}

void mt_find_code(const char *name, uint64_t *start, uint64_t *end)
{
	const struct link_map *map;
	const Elf64_Sym *symbol = mt_is_glibc() ? next_symbol(name, &map) : NULL;

	*start = symbol ? map->l_addr + value_of(symbol) : 0;
	*end = symbol ? *start + symbol->st_size : 0;
}

static void visit(const struct link_map *map, const Elf64_Sym *symbol, const char *name,
	uint64_t function, mt_find_visit *call)
{
	uint32_t n = mt_load(&changed_count), i = 0;

	while (i < n && changed[i].symbol != symbol)
		i++;
	if (i == CHANGED_MAX)
		return;
	if (i == n) {
		changed[n].symbol = symbol;
		changed[n].value = symbol->st_value;
		mt_store_release(&changed_count, n + 1);
	}
	call(map, (Elf64_Sym *)symbol, name, function);
}

/* The next definitions of one of our functions, in the library that comes first: versions of one
 * function. */
static void visit_next(const struct link_map *own, const char *name, uint64_t function,
	mt_find_visit *call)
{
	const struct link_map *map = own;
	uint32_t hash = hash_of(name);
	const Elf64_Sym *symbol = NULL;
	uint64_t value;
	struct mt_find_table t;

	while (!symbol && map != last_at_start && (map = map->l_next)) {
		t = mt_find_table_of(map->l_addr, map->l_ld);
		symbol = find_symbol(&t, name, hash, NULL);
	}
	for (value = symbol ? value_of(symbol) : 0; symbol;
		symbol = find_symbol(&t, name, hash, symbol))
		if (value_of(symbol) == value)
			visit(map, symbol, name, function, call);
}

void mt_find_each_next(mt_find_visit *call)
{
	const uint32_t *bucket, *chain;
	struct dl_find_object own;
	const struct link_map *map;
	struct mt_find_table t;

	if (mt_object_of(&mt_tracer, &own) < 0)
		return;
	map = own.dlfo_link_map;
	t = mt_find_table_of(map->l_addr, map->l_ld);
	bucket = t.hash + 4 + 2 * t.hash[2];
	chain = bucket + t.hash[0];
	for (uint32_t b = 0; b < t.hash[0]; b++)
		for (uint32_t i = bucket[b]; i; i = chain[i - t.hash[1]] & 1 ? 0 : i + 1)
			visit_next(map, t.strings + t.symbols[i].st_name,
				map->l_addr + t.symbols[i].st_value, call);
}
