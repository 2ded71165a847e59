/* How the resolver uses the cache: a module's file is opened at once, as ever, but its debug
 * information only when a pc is not in the cache. */
#include "core/symbol/resolver.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The debug file as it would be found now; false: it cannot be said. */
static bool current_key(const struct file *file, struct mt_cache_key *key)
{
	const unsigned char *bytes;
	struct stat module, debug;
	GElf_Addr at;
	Dwarf_Addr bias;
	GElf_Word crc = 0;
	char *found = NULL;
	int len = dwfl_module_build_id(file->module, &bytes, &at);
	Elf *elf = dwfl_module_getelf(file->module, &bias);

	if (len <= 0 || !elf || fstat(file->fd, &module))
		return false;
	struct mt_build_id id = {bytes, (uint32_t)len};
	bool refused = false;
	struct mt_naming by = mt_file_naming(file, &refused);
	int fd = mt_finder_debug(&file->owner->finder, &by, file->path, file->opened, id,
		dwelf_elf_gnu_debuglink(elf, &crc), crc, &found);
	bool known = fd < 0 || !fstat(fd, &debug);

	if (fd >= 0)
		close(fd);
	free(found);
	if (known)
		mt_cache_key(key, id, &module, fd < 0 ? NULL : &debug);
	return known;
}

static void look_in_cache(struct file *file)
{
	struct mt_cache *cache = file->owner->cache;
	struct mt_cache_key key;

	file->cache_asked = true;
	if (!cache || file->loaded || !file->build_id_len || !current_key(file, &key)
		|| key.module.size + key.debug.size < MT_CACHE_WORTH)
		return;
	file->cached = mt_cached_new(&key);
	mt_cache_read(cache, file->cached);
}

/* What was found is worth nothing if one of the files was another one by then. */
void mt_file_keep(const struct file *file)
{
	struct mt_cache_key key;

	if (file->cached && file->cached->fresh_count && current_key(file, &key)
		&& !memcmp(&key, &file->cached->key, sizeof key))
		mt_cache_write(file->owner->cache, file->cached);
}

bool mt_file_cached_frames(struct file *file, const struct mt_profile *profile,
	const struct mt_pc *pc, struct mt_symbols *s, uint32_t *offset)
{
	if (!file->cache_asked)
		look_in_cache(file);
	if (!file->cached)
		return false;
	const struct mt_symbols *known = &file->cached->known;
	int64_t at = mt_cached_find(file->cached, pc->address - profile->modules[pc->module].bias);

	if (at < 0)
		return false;
	*offset = known->pcs[at].offset;
	for (uint32_t i = 0; i < known->pcs[at].count; i++) {
		const struct mt_frame *frame = &known->frames[known->pcs[at].first + i];
		const char *function = mt_strings_get(&known->strings, frame->function);
		const char *source = mt_strings_get(&known->strings, frame->source);

		if (strcmp(function, mt_cached_unknown))
			mt_resolver_add_frame(s, function,
				mt_strings_get(&known->strings, frame->raw_function), source,
				frame->line);
		else
			mt_resolver_add_unknown(profile, pc, s, source, frame->line);
	}
	return true;
}

void mt_file_remember(struct file *file, const struct mt_profile *profile, const struct mt_pc *pc,
	const struct mt_symbols *s, uint32_t as)
{
	if (!file->cached)
		return;
	char *text = mt_resolver_unknown(profile, pc);

	file->cached->unfit |= file->dwarf && mt_dwarf_split(file->dwarf);
	mt_cached_add(file->cached, pc->address - profile->modules[pc->module].bias, s, as, text);
	free(text);
}
