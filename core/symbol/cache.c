/* A module's names as a file of the cache:
 *   8 bytes magic; u32 CRC-32 of all that follows; u32 pcs
 *   the key, as it is in memory
 *   offsets of the pcs: u64 each, ascending
 *   a symbol block (symbols.c), its pcs in the same order
 * Files are read by the program that wrote them: numbers are the machine's. */
#include "core/symbol/cache.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Grows with the form, and whenever looking up gives other names than before. */
#define MAGIC "mtnames2"
#define FILE_SLACK 65536u /* of the greatest size: what is not counted by the pc */

struct header {
	char magic[8];
	uint32_t checksum, count;
	struct mt_cache_key key;
};
#define CHECKED offsetof(struct header, count)

_Static_assert(sizeof(struct mt_cache_stamp) == 56 && sizeof(struct mt_cache_key) % 8 == 0,
	"no padding is compared");

const char mt_cached_unknown[] = "\001";

static struct mt_cache_stamp stamp(const struct stat *file)
{
	return (struct mt_cache_stamp){file->st_dev, file->st_ino, (uint64_t)file->st_size,
		(uint64_t)file->st_mtim.tv_sec, (uint64_t)file->st_mtim.tv_nsec,
		(uint64_t)file->st_ctim.tv_sec, (uint64_t)file->st_ctim.tv_nsec};
}

void mt_cache_key(struct mt_cache_key *key, struct mt_build_id id, const struct stat *module,
	const struct stat *debug)
{
#ifdef HAVE_LIBIBERTY
	const char *names = "demangled";
#else
	const char *names = "raw";
#endif
	/* grows when the same file gives other names than before */
	static const char choice[] = "2";

	memset(key, 0, sizeof *key);
	snprintf(key->versions, sizeof key->versions, "%s %s %s %s", MT_VERSION, dwfl_version(NULL),
		names, choice);
	key->build_id_len = id.len < MT_BUILD_ID_MAX ? id.len : MT_BUILD_ID_MAX;
	memcpy(key->build_id, id.bytes, key->build_id_len);
	key->module = stamp(module);
	if (debug)
		key->debug = stamp(debug);
}

struct mt_cached *mt_cached_new(const struct mt_cache_key *key)
{
	struct mt_cached *c = mt_alloc(sizeof *c);

	c->key = *key;
	mt_symbols_init(&c->known);
	mt_symbols_init(&c->fresh);
	return c;
}

void mt_cached_free(struct mt_cached *c)
{
	if (!c)
		return;
	mt_symbols_free(&c->known);
	mt_symbols_free(&c->fresh);
	free(c->offsets);
	free(c->fresh_offsets);
	free(c);
}

static int compare_offset(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t mt_cached_find(const struct mt_cached *c, uint64_t offset)
{
	const uint64_t *at = c->count
		? bsearch(&offset, c->offsets, c->count, sizeof offset, compare_offset)
		: NULL;

	return at ? at - c->offsets : -1;
}

static size_t size_of(const struct mt_symbols *s)
{
	return s->strings.text.len + s->frame_count * 4 * sizeof(uint32_t)
		+ s->pc_count * 3 * sizeof(uint32_t);
}

/* ---- adding ---- */

/* A real function of the name that stands for none could not be told from it. */
static bool is_ambiguous(const struct mt_symbols *s, struct mt_pc_symbols place)
{
	for (uint32_t i = 0; i < place.count; i++)
		if (!strcmp(mt_strings_get(&s->strings, s->frames[place.first + i].function),
			    mt_cached_unknown))
			return true;
	return false;
}

void mt_cached_add(struct mt_cached *c, uint64_t offset, const struct mt_symbols *from, uint32_t pc,
	const char *unknown)
{
	if (c->unfit || size_of(&c->known) + size_of(&c->fresh) > MT_CACHE_FILE_MAX - FILE_SLACK
		|| is_ambiguous(from, from->pcs[pc]))
		return;
	uint32_t position = c->fresh_count;
	uint32_t nameless = mt_strings_add(&c->fresh.strings, mt_cached_unknown);

	mt_symbols_copy_pc(&c->fresh, position, from, pc);
	for (uint32_t i = 0; i < from->pcs[pc].count; i++) {
		struct mt_frame *frame = &c->fresh.frames[c->fresh.pcs[position].first + i];

		if (!strcmp(mt_strings_get(&c->fresh.strings, frame->function), unknown))
			frame->function = frame->raw_function = nameless;
	}
	MT_GROW(c->fresh_offsets, c->fresh_count, c->fresh_capacity);
	c->fresh_offsets[c->fresh_count++] = offset;
}

/* ---- the form of a file ---- */

/* A pc of one of the three: the file's, what it held before, what is new. */
struct source {
	uint64_t offset;
	const struct mt_symbols *symbols;
	uint32_t pc;
};

static int compare_source(const void *a, const void *b)
{
	return compare_offset(&((const struct source *)a)->offset,
		&((const struct source *)b)->offset);
}

static uint32_t list_sources(struct source *sources, uint32_t count,
	const struct mt_symbols *symbols, const uint64_t *offsets, uint32_t pcs)
{
	for (uint32_t i = 0; i < pcs; i++)
		sources[count++] = (struct source){offsets[i], symbols, i};
	return count;
}

void mt_cached_encode(const struct mt_cached *c, const struct mt_cached *base,
	struct mt_buffer *out)
{
	uint32_t all = c->count + c->fresh_count + (base ? base->count : 0), count = 0, kept = 0;
	struct source *sources = mt_alloc((all + 1) * sizeof *sources);
	struct header header = {.magic = MAGIC, .key = c->key};
	struct mt_symbols symbols;

	count = list_sources(sources, count, &c->known, c->offsets, c->count);
	count = list_sources(sources, count, &c->fresh, c->fresh_offsets, c->fresh_count);
	if (base)
		count = list_sources(sources, count, &base->known, base->offsets, base->count);
	qsort(sources, count, sizeof *sources, compare_source);
	mt_symbols_init(&symbols);
	mt_buffer_add(out, &header, sizeof header);
	for (uint32_t i = 0; i < count; i++) {
		if (i && sources[i].offset == sources[i - 1].offset)
			continue;
		mt_buffer_add(out, &sources[i].offset, sizeof sources[i].offset);
		mt_symbols_copy_pc(&symbols, kept++, sources[i].symbols, sources[i].pc);
	}
	mt_symbols_encode(&symbols, out);
	mt_symbols_free(&symbols);
	free(sources);
	header.count = kept;
	memcpy(out->data, &header, sizeof header);
	header.checksum = (uint32_t)crc32(0, out->data + CHECKED, (unsigned)(out->len - CHECKED));
	memcpy(out->data, &header, sizeof header);
	if (out->len > MT_CACHE_FILE_MAX)
		out->len = 0;
}

static bool is_complete(const struct mt_symbols *symbols, const uint64_t *offsets, uint32_t count)
{
	if (symbols->pc_count != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!symbols->pcs[i].count || (i && offsets[i] <= offsets[i - 1]))
			return false;
	return true;
}

bool mt_cached_decode(struct mt_cached *c, const void *bytes, size_t len)
{
	struct mt_symbols symbols;
	struct header header;
	struct mt_err err;

	if (len < sizeof header || len > MT_CACHE_FILE_MAX)
		return false;
	memcpy(&header, bytes, sizeof header);
	if (memcmp(header.magic, MAGIC, sizeof header.magic)
		|| memcmp(&header.key, &c->key, sizeof c->key)
		|| header.checksum
			!= (uint32_t)crc32(0, (const uint8_t *)bytes + CHECKED,
				(unsigned)(len - CHECKED))
		|| header.count > (len - sizeof header) / sizeof *c->offsets)
		return false;
	size_t size = header.count * sizeof *c->offsets;
	uint64_t *offsets = mt_alloc(size + 1);
	const uint8_t *block = (const uint8_t *)bytes + sizeof header + size;

	memcpy(offsets, (const uint8_t *)bytes + sizeof header, size);
	mt_symbols_init(&symbols);
	if (mt_symbols_decode(&symbols, block, len - sizeof header - size, &err) < 0
		|| !is_complete(&symbols, offsets, header.count)) {
		mt_symbols_free(&symbols);
		free(offsets);
		return false;
	}
	mt_symbols_free(&c->known);
	free(c->offsets);
	c->known = symbols;
	c->offsets = offsets;
	c->count = header.count;
	return true;
}
