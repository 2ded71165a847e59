/* Live blocks by address. Blocks lie in a pool whose cells are reused last in, first out, so that it stays as small
 * as the live set has been, and of memory that tables have left; the hash holds 8 bytes a slot: which cell, and 32 bits of the hash, so that a look-up
 * of an address that is not there, which every allocation begins with, reads a slot and no block. The hash is many
 * small tables rather than a big one: when one grows, the pause is short enough for the rings to hold what comes
 * meanwhile. */
#ifndef MT_CAPTURE_MATCH_H
#define MT_CAPTURE_MATCH_H

#include "core/model/model.h"

#define MT_MATCH_PARTS 64
#define MT_MATCH_CHUNK 65536u /* cells of the pool that are allocated together */

/* A live block: what its end needs of it. Small, since where many live, what they cost is memory touched. */
struct mt_match_cell {
	_Alignas(32) uint64_t address; /* 0: the cell is free */
	uint64_t size, number;
	uint32_t group, thread;
};
_Static_assert(sizeof(struct mt_match_cell) == 32, "two cells fill a line");

struct mt_match_part {
	uint64_t *slots; /* tag << 32 | cell + 1; 0: empty */
	uint32_t mask, used, shift;
};
/* Tables of one size of all parts, which grow at about the same time, lie together: so huge pages can hold them. */
struct mt_match_region {
	uint64_t *slots;
	uint32_t users;
};
struct mt_match {
	struct mt_match_part parts[MT_MATCH_PARTS];
	struct mt_match_region regions[32]; /* by bits of a part */
	struct mt_match_cell **chunks;
	uint32_t chunk_count, chunk_capacity;
	void **spare;        /* what tables have left, in pieces of a chunk's size: it need not be cleared once more */
	uint32_t spare_count, spare_capacity;
	uint32_t cell_count; /* handed out so far */
	uint32_t *free;      /* cells to reuse, the last first; room for all that there are */
	uint32_t free_count;
};

/* Where a look-up ended: at the address's slot, or at the empty one that would be its. Holds until the table changes
 * next. */
struct mt_match_place {
	struct mt_match_part *part;
	uint32_t tag, at;
};

void mt_match_init(struct mt_match *);
void mt_match_free(struct mt_match *);
/* The id of a cell of the pool that was never used before. */
uint32_t mt_match_new_cell(struct mt_match *);
/* The address must not be in the table. */
void mt_match_insert(struct mt_match *, const struct mt_match_cell *);
/* As mt_match_insert_at, where the part is to grow first. */
void mt_match_insert_growing(struct mt_match *, struct mt_match_place *, uint64_t slot);
/* cell: as returned by mt_match_find and not removed since. */
void mt_match_remove(struct mt_match *, struct mt_match_cell *cell);
void mt_match_close_hole(struct mt_match_part *, uint32_t hole);

/* The upper 6 bits name the part, the 32 below are the tag, whose upper bits are the home slot. */
static inline uint64_t mt_match_hash(uint64_t address)
{
	return address * 0x9e3779b97f4a7c15ull;
}

static inline uint32_t mt_match_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 26);
}

static inline struct mt_match_cell *mt_match_cell(const struct mt_match *m, uint32_t id)
{
	return &m->chunks[id / MT_MATCH_CHUNK][id % MT_MATCH_CHUNK];
}

static inline struct mt_block mt_match_block(const struct mt_match_cell *c)
{
	return (struct mt_block){.address = c->address, .size = c->size, .number = c->number, .group = c->group,
		.thread = c->thread};
}

/* Inline at any rate: GCC takes a call of a function that only prefetches for one without effect, and drops it. */
static inline __attribute__((always_inline)) void mt_match_prefetch(const struct mt_match *m, uint64_t address)
{
	uint64_t hash = mt_match_hash(address);
	const struct mt_match_part *part = &m->parts[hash >> 58];

	__builtin_prefetch(&part->slots[mt_match_tag(hash) >> part->shift], 1);
}

/* The block that lives at the address, probably, if one does: to prefetch it. NULL while there are no blocks. */
static inline struct mt_match_cell *mt_match_guess(const struct mt_match *m, uint64_t address)
{
	uint64_t hash = mt_match_hash(address);
	const struct mt_match_part *part = &m->parts[hash >> 58];
	uint32_t cell = (uint32_t)part->slots[mt_match_tag(hash) >> part->shift];

	return cell ? mt_match_cell(m, cell - 1) : NULL;
}

static inline struct mt_match_cell *mt_match_look_up(struct mt_match *m, uint64_t address, struct mt_match_place *place)
{
	uint64_t hash = mt_match_hash(address);
	struct mt_match_part *part = &m->parts[hash >> 58];
	const uint64_t *slots = part->slots;
	uint32_t tag = mt_match_tag(hash), at = tag >> part->shift;
	struct mt_match_cell *found = NULL;

	for (; slots[at]; at = (at + 1) & part->mask) {
		if (slots[at] >> 32 != tag)
			continue;
		struct mt_match_cell *cell = mt_match_cell(m, (uint32_t)slots[at] - 1);

		if (cell->address == address) {
			found = cell;
			break;
		}
	}
	*place = (struct mt_match_place){part, tag, at};
	return found;
}

static inline struct mt_match_cell *mt_match_find(struct mt_match *m, uint64_t address)
{
	struct mt_match_place place;

	return mt_match_look_up(m, address, &place);
}

/* place: where the look-up found the block. */
static inline uint32_t mt_match_id_at(const struct mt_match_place *place)
{
	return (uint32_t)place->part->slots[place->at] - 1;
}

/* The id of a cell to fill in and insert. */
#define MT_MATCH_CELLS_AHEAD 8
static inline uint32_t mt_match_take_cell(struct mt_match *m)
{
	if (__builtin_expect(!m->free_count, 0))
		return mt_match_new_cell(m);
	m->free_count--;
	if (m->free_count >= MT_MATCH_CELLS_AHEAD)
		__builtin_prefetch(mt_match_cell(m, m->free[m->free_count - MT_MATCH_CELLS_AHEAD]), 1);
	return m->free[m->free_count];
}

/* place: where the look-up of the cell's address found nothing. Tables are filled to three quarters: memory touched for
 * the first time costs more than some slots more in the same line. */
static inline void mt_match_insert_at(struct mt_match *m, struct mt_match_place *place, uint32_t cell)
{
	struct mt_match_part *part = place->part;
	uint64_t slot = (uint64_t)place->tag << 32 | (cell + 1);

	if (__builtin_expect(part->used > part->mask - part->mask / 4, 0)) {
		mt_match_insert_growing(m, place, slot);
		return;
	}
	part->slots[place->at] = slot;
	part->used++;
}

/* place: where the look-up found the block. */
static inline void mt_match_remove_at(struct mt_match *m, const struct mt_match_place *place)
{
	struct mt_match_part *part = place->part;
	uint32_t cell = (uint32_t)part->slots[place->at] - 1;

	part->used--;
	if (__builtin_expect(part->slots[(place->at + 1) & part->mask] != 0, 0))
		mt_match_close_hole(part, place->at);
	else
		part->slots[place->at] = 0;
	mt_match_cell(m, cell)->address = 0;
	m->free[m->free_count++] = cell;
}

#endif
