/* The GNU hash table of an object's dynamic symbols: a Bloom filter, buckets, and chains that end with an odd hash.
 * Layout as binutils writes it (elf32.em, .gnu.hash). */
#include "preload/find.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "preload/tracer.h"

struct table {
	const uint32_t *hash;
	const Elf64_Sym *symbols;
	const char *strings;
};

/* glibc relocates these words in place, but not those of the vdso. */
static const void *address(const struct link_map *map, const Elf64_Dyn *entry)
{
	uint64_t p = entry->d_un.d_ptr;

	return (const void *)(p < map->l_addr ? p + map->l_addr : p);
}

static struct table table_of(const struct link_map *map)
{
	struct table t = {0};

	for (const Elf64_Dyn *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_GNU_HASH)
			t.hash = address(map, d);
		else if (d->d_tag == DT_SYMTAB)
			t.symbols = address(map, d);
		else if (d->d_tag == DT_STRTAB)
			t.strings = address(map, d);
	return t;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static void *find(const struct link_map *map, const char *name, uint32_t hash)
{
	struct table t = table_of(map);
	uint32_t buckets, first, words, shift, i;
	const uint64_t *bloom;
	const uint32_t *bucket, *chain;

	if (!t.hash || !t.symbols || !t.strings || !t.hash[0] || !t.hash[2])
		return NULL;
	buckets = t.hash[0];
	first = t.hash[1];
	words = t.hash[2];
	shift = t.hash[3];
	bloom = (const uint64_t *)(t.hash + 4);
	bucket = (const uint32_t *)(bloom + words);
	chain = bucket + buckets;
	if (!(bloom[hash / 64 % words] >> hash % 64 & bloom[hash / 64 % words] >> (hash >> shift) % 64 & 1))
		return NULL;
	for (i = bucket[hash % buckets]; i >= first; i++) {
		const Elf64_Sym *symbol = &t.symbols[i];

		if ((chain[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF
			&& ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && !strcmp(t.strings + symbol->st_name, name))
			return (void *)(map->l_addr + symbol->st_value);
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

void *mt_find_in(const struct link_map *map, const char *name)
{
	return find(map, name, hash_of(name));
}

void *mt_find_next(const char *name)
{
	uint32_t hash = hash_of(name);
	struct dl_find_object own;
	void *p = NULL;

	if (_dl_find_object(&mt_tracer, &own) < 0)
		return NULL;
	for (const struct link_map *map = own.dlfo_link_map->l_next; map && !p; map = map->l_next)
		p = find(map, name, hash);
	return p;
}
