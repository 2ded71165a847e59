#include "core/capture/match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BITS 3

#define HUGE_PAGE (2u << 20)
_Static_assert(sizeof(struct mt_match_cell) * MT_MATCH_CHUNK == HUGE_PAGE,
	"chunks and large tables share their memory");

static size_t region_size(unsigned bits)
{
	return MT_MATCH_PARTS * sizeof(struct mt_match_bucket) << bits;
}

/* Gives the part a table of its own in the region of that size. It is empty: no part takes one of a
 * size twice. */
static void take_table(struct mt_match *m, struct mt_match_part *part, unsigned bits)
{
	struct mt_match_region *region = &m->regions[bits];
	size_t size = region_size(bits);

	if (!region->users++)
		region->buckets = size < HUGE_PAGE
			? memset(mt_alloc_aligned(size, MT_WIRE_PAGE), 0, size)
			: mt_alloc_huge(size);
	part->buckets = region->buckets + ((size_t)(part - m->parts) << bits);
	part->mask = (1u << bits) - 1;
	part->shift = 32 - bits;
	part->used = 0;
}

static void drop_table(struct mt_match *m, const struct mt_match_part *part)
{
	struct mt_match_region *region = &m->regions[32 - part->shift];
	size_t size = region_size(32 - part->shift);

	if (--region->users)
		return;
	if (size < HUGE_PAGE) {
		free(region->buckets);
		return;
	}
	for (size_t at = 0; at < size; at += HUGE_PAGE) {
		MT_GROW(m->spare, m->spare_count, m->spare_capacity);
		m->spare[m->spare_count++] = (char *)region->buckets + at;
	}
}

void mt_match_init(struct mt_match *m)
{
	*m = (struct mt_match){0};
	for (int i = 0; i < MT_MATCH_PARTS; i++)
		take_table(m, &m->parts[i], FIRST_BITS);
}

void mt_match_free(struct mt_match *m)
{
	/* none when it is freed already */
	for (int i = 0; i < MT_MATCH_PARTS && m->parts[i].buckets; i++)
		drop_table(m, &m->parts[i]);
	free(m->chunks ? m->chunks[0] : NULL);
	for (uint32_t i = 1; i < m->chunk_count; i++)
		munmap(m->chunks[i], HUGE_PAGE);
	for (uint32_t i = 0; i < m->spare_count; i++)
		munmap(m->spare[i], HUGE_PAGE);
	free(m->spare);
	free(m->chunks);
	free(m->free);
	*m = (struct mt_match){0};
}

/* ---- pool ------------------------------------------------------------------------------------ */

/* Random accesses to a large pool cost most in page walks: from the second chunk on, huge pages
 * spare them. */
static void add_chunk(struct mt_match *m)
{
	struct mt_match_cell *chunk;

	if (m->spare_count)
		chunk = m->spare[--m->spare_count];
	else
		chunk = m->chunk_count ? mt_alloc_huge(HUGE_PAGE)
				       : mt_alloc_aligned(HUGE_PAGE, MT_WIRE_PAGE);
	MT_GROW(m->chunks, m->chunk_count, m->chunk_capacity);
	m->chunks[m->chunk_count++] = chunk;
	m->free = mt_resize(m->free, m->chunk_count * sizeof *m->free * MT_MATCH_CHUNK);
}

uint32_t mt_match_new_cell(struct mt_match *m)
{
	if (m->cell_count / MT_MATCH_CHUNK == m->chunk_count)
		add_chunk(m);
	return m->cell_count++;
}

/* ---- hash ------------------------------------------------------------------------------------ */

/* Into the first bucket with room, from the tag's own on. */
static void put(struct mt_match_part *part, uint32_t tag, uint32_t cell)
{
	struct mt_match_bucket *bucket = &part->buckets[tag >> part->shift];
	uint32_t empty;

	while (!(empty = mt_match_with_tag(bucket, 0))) {
		bucket->passed++;
		bucket = &part->buckets[(bucket - part->buckets + 1) & part->mask];
	}
	bucket->tags[__builtin_ctz(empty)] = tag;
	bucket->cells[__builtin_ctz(empty)] = cell;
}

static void grow(struct mt_match *m, struct mt_match_part *part)
{
	struct mt_match_part old = *part;

	/* as the compiler cannot know: memory ends before 32 */
	take_table(m, part, (32 - old.shift + 1) % 32);
	for (uint32_t i = 0; i <= old.mask; i++) {
		const struct mt_match_bucket *b = &old.buckets[i];

		for (unsigned slot = 0; slot < MT_MATCH_WIDTH; slot++)
			if (b->tags[slot])
				put(part, b->tags[slot], b->cells[slot]);
	}
	part->used = old.used;
	drop_table(m, &old);
}

void mt_match_insert_growing(struct mt_match *m, struct mt_match_place *place, uint32_t cell)
{
	grow(m, place->part);
	place->part->used++;
	put(place->part, place->tag, cell);
}

void mt_match_insert_further(const struct mt_match_place *place, uint32_t cell)
{
	put(place->part, place->tag, cell);
}

void mt_match_unpass(const struct mt_match_place *place)
{
	const struct mt_match_part *part = place->part;

	for (uint32_t at = place->tag >> part->shift; at != place->bucket;
		at = (at + 1) & part->mask)
		part->buckets[at].passed--;
}

struct mt_match_cell *mt_match_enter(struct mt_match *m, uint64_t address,
	struct mt_match_place *place)
{
	for (unsigned i = 0; i < MT_MATCH_OPEN; i++) {
		struct mt_match_open *o = &m->open[i];
		uint32_t id;

		if (!(m->open_taken & 1u << i) || o->cell.address != address)
			continue;
		id = mt_match_take_cell(m);
		*mt_match_cell(m, id) = o->cell;
		o->cell.address = 0;
		mt_match_insert_at(m, place, id);
		return mt_match_look_up(m, address, place);
	}
	return NULL;
}

void mt_match_insert(struct mt_match *m, const struct mt_match_cell *cell)
{
	uint32_t id = mt_match_take_cell(m);
	struct mt_match_place place;

	*mt_match_cell(m, id) = *cell;
	mt_match_look_up(m, cell->address, &place);
	mt_match_insert_at(m, &place, id);
}

void mt_match_remove(struct mt_match *m, struct mt_match_cell *cell)
{
	struct mt_match_place place;

	mt_match_look_up(m, cell->address, &place);
	mt_match_remove_at(m, &place);
}
