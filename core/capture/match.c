#include "core/capture/match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BITS 6

#define HUGE_PAGE (2u << 20)
_Static_assert(sizeof(struct mt_match_cell) * MT_MATCH_CHUNK == HUGE_PAGE, "chunks and large tables share their memory");

static size_t region_size(unsigned bits)
{
	return MT_MATCH_PARTS * sizeof(uint64_t) << bits;
}

/* Gives the part a table of its own in the region of that size. It is empty: no part takes one of a size twice. */
static void take_table(struct mt_match *m, struct mt_match_part *part, unsigned bits)
{
	struct mt_match_region *region = &m->regions[bits];
	size_t size = region_size(bits);

	if (!region->users++)
		region->slots = size < HUGE_PAGE ? mt_alloc(size) : mt_alloc_huge(size);
	part->slots = region->slots + ((size_t)(part - m->parts) << bits);
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
		free(region->slots);
		return;
	}
	for (size_t at = 0; at < size; at += HUGE_PAGE) {
		MT_GROW(m->spare, m->spare_count, m->spare_capacity);
		m->spare[m->spare_count++] = (char *)region->slots + at;
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
	for (int i = 0; i < MT_MATCH_PARTS && m->parts[i].slots; i++) /* none when it is freed already */
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

/* ---- pool ------------------------------------------------------------------------------------------ */

/* Random accesses to a large pool cost most in page walks: from the second chunk on, huge pages spare them. */
static void add_chunk(struct mt_match *m)
{
	struct mt_match_cell *chunk;

	if (m->spare_count)
		chunk = m->spare[--m->spare_count];
	else
		chunk = m->chunk_count ? mt_alloc_huge(HUGE_PAGE) : mt_alloc_aligned(HUGE_PAGE, MT_WIRE_PAGE);
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

/* ---- hash ------------------------------------------------------------------------------------------ */

static void put(struct mt_match_part *part, uint64_t slot)
{
	uint32_t at = (uint32_t)(slot >> 32) >> part->shift;

	while (part->slots[at])
		at = (at + 1) & part->mask;
	part->slots[at] = slot;
	part->used++;
}

static void grow(struct mt_match *m, struct mt_match_part *part)
{
	struct mt_match_part old = *part;

	take_table(m, part, 32 - old.shift + 1);
	for (uint32_t i = 0; i <= old.mask; i++)
		if (old.slots[i])
			put(part, old.slots[i]);
	drop_table(m, &old);
}

void mt_match_insert_growing(struct mt_match *m, struct mt_match_place *place, uint64_t slot)
{
	grow(m, place->part);
	put(place->part, slot);
}

void mt_match_insert(struct mt_match *m, const struct mt_match_cell *cell)
{
	uint32_t id = mt_match_take_cell(m);
	struct mt_match_place place;

	*mt_match_cell(m, id) = *cell;
	mt_match_look_up(m, cell->address, &place);
	mt_match_insert_at(m, &place, id);
}

/* Moves later entries of the chain into the hole where their home allows it: no tombstones. */
void mt_match_close_hole(struct mt_match_part *part, uint32_t hole)
{
	for (uint32_t at = (hole + 1) & part->mask; part->slots[at]; at = (at + 1) & part->mask) {
		uint32_t home = (uint32_t)(part->slots[at] >> 32) >> part->shift;

		if (((at - home) & part->mask) >= ((at - hole) & part->mask)) {
			part->slots[hole] = part->slots[at];
			hole = at;
		}
	}
	part->slots[hole] = 0;
}

void mt_match_remove(struct mt_match *m, struct mt_match_cell *cell)
{
	struct mt_match_place place;

	mt_match_look_up(m, cell->address, &place);
	mt_match_remove_at(m, &place);
}
