/* Live blocks by address, and which addresses have none. Others insert, look up, remove and walk
 * here. Only core/capture/ahead looks into the tables themselves, to prefetch. */
#ifndef MT_CAPTURE_LIVE_TABLE_H
#define MT_CAPTURE_LIVE_TABLE_H

#include "core/base/assert.h"
#include "core/capture/grid.h"
#include "core/capture/pool.h"

#define MT_LIVE_TABLE_ABSENT 1024u
#define MT_LIVE_TABLE_POOLED 1024u
#define MT_LIVE_TABLE_OPEN 8u /* blocks whose end is known before their place */

struct mt_live_table {
	struct mt_grid grid; /* small blocks, */
	struct mt_pool pool; /* and others */
	/* how many blocks of the pool have a hash like this: few as a rule */
	uint32_t pooled[MT_LIVE_TABLE_POOLED];
	/* addresses at which no block is, by their tags: programs use few again and again */
	uint64_t absent[MT_LIVE_TABLE_ABSENT];
	/* Open blocks: neither in the grid nor in the pool, since who opened them will end them
	 * soon. A look-up of such an address by anybody else enters the block. */
	struct mt_live_table_open {
		struct mt_pool_cell cell; /* address 0: none, or it has been entered */
		uint64_t *absent;         /* where it is said that nothing is there */
	} open[MT_LIVE_TABLE_OPEN];
	uint32_t open_taken; /* a bit for each entry */
};

/* Where a look-up ended. Holds until something is inserted or removed. */
struct mt_live_table_place {
	struct mt_grid_row *row;
	bool in_grid;
	struct mt_pool_cell cell;    /* of a block of the grid: a copy */
	struct mt_pool_place pooled; /* its part is NULL: the pool was not asked */
};

void mt_live_table_init(struct mt_live_table *);
void mt_live_table_free(struct mt_live_table *);
/* The address must not be there. */
void mt_live_table_insert(struct mt_live_table *, const struct mt_pool_cell *);
/* As mt_live_table_insert_at, into the pool. */
void mt_live_table_insert_pooled(struct mt_live_table *, struct mt_live_table_place *,
	const struct mt_pool_cell *);
/* Enters the open block at an address, if there is one; place: where it goes. */
struct mt_pool_cell *mt_live_table_enter(struct mt_live_table *, uint64_t address,
	struct mt_live_table_place *);
/* Whether there is a block at an address. */
bool mt_live_table_has(struct mt_live_table *, uint64_t address);
/* A walk over all blocks, which begins with all zeroes. Between two slices of it things may be
 * inserted and removed, and tables may grow: a block that is there all the time is met once. */
struct mt_live_table_walk {
	struct mt_grid_walk grid;
	uint32_t id;
	bool begun;
};
/* The same over the tables of all domains: see core/capture/merge.h. */
struct mt_merge_walk {
	struct mt_live_table_walk of;
	unsigned domain;
};
/* Copies the next blocks, `most` at the most. Returns how many; 0: there are no more. */
uint32_t mt_live_table_slice(struct mt_live_table *, struct mt_live_table_walk *,
	struct mt_pool_cell *blocks, uint32_t most);

static inline uint32_t *mt_live_table_pooled(struct mt_live_table *m, uint64_t hash)
{
	return &m->pooled[hash >> 32 & (MT_LIVE_TABLE_POOLED - 1)];
}

static inline struct mt_pool_cell mt_live_table_of(uint64_t address,
	const struct mt_grid_cell *cell)
{
	return (struct mt_pool_cell){
		.address = address,
		.size = cell->size,
		.number = cell->number,
		.group = (uint32_t)cell->group,
		.thread = (uint32_t)cell->thread,
	};
}

/* The block at an address, or NULL. */
static inline __attribute__((always_inline)) struct mt_pool_cell *
mt_live_table_look_up(struct mt_live_table *m, uint64_t address, struct mt_live_table_place *place)
{
	const struct mt_grid_cell *cell;
	struct mt_pool_cell *found;

	place->row = mt_grid_row(&m->grid, address);
	cell = mt_grid_find(place->row, address);
	place->in_grid = cell != NULL;
	if (cell) {
		place->cell = mt_live_table_of(address, cell);
		return &place->cell;
	}
	place->pooled.part = NULL;
	if (__builtin_expect(*mt_live_table_pooled(m, mt_pool_hash(address)), 0)) {
		found = mt_pool_look_up(&m->pool, address, &place->pooled);
		if (found)
			return found;
	}
	return __builtin_expect(m->open_taken, 0) ? mt_live_table_enter(m, address, place) : NULL;
}

/* Whether the block at an address has this number. */
static inline bool mt_live_table_is(struct mt_live_table *m, uint64_t address, uint64_t number)
{
	const struct mt_grid_cell *cell = mt_grid_find(mt_grid_row(&m->grid, address), address);
	const struct mt_pool_cell *found;
	struct mt_live_table_place place;

	if (cell)
		return cell->number == number;
	found = mt_live_table_look_up(m, address, &place);
	return found && found->number == number;
}

static inline uint64_t *mt_live_table_absent(struct mt_live_table *m, uint32_t tag)
{
	return &m->absent[tag >> 1 & (MT_LIVE_TABLE_ABSENT - 1)];
}

/* Whether there is no block at an address: the same as looking it up, which it remembers. */
static inline bool mt_live_table_lacks(struct mt_live_table *m, uint64_t address)
{
	uint64_t *absent = mt_live_table_absent(m, mt_pool_tag(mt_pool_hash(address)));

	if (__builtin_expect(*absent == address, 1))
		return true;
	if (mt_live_table_has(m, address))
		return false;
	*absent = address;
	return true;
}

/* place: where the look-up of the block's address found nothing. */
static inline __attribute__((always_inline)) void mt_live_table_insert_at(struct mt_live_table *m,
	struct mt_live_table_place *place, const struct mt_pool_cell *block)
{
	bool fits = block->size < MT_GRID_SIZES && block->group < MT_GRID_GROUPS
		&& block->thread < MT_GRID_THREADS;
	const struct mt_grid_cell cell = {
		.number = block->number,
		.size = block->size & (MT_GRID_SIZES - 1),
		.group = block->group & (MT_GRID_GROUPS - 1),
		.thread = block->thread & (MT_GRID_THREADS - 1),
	};

	mt_assert(block->address && !mt_grid_find(place->row, block->address));
	mt_assert_expensive(!mt_live_table_has(m, block->address));
	*mt_live_table_absent(m, mt_pool_tag(mt_pool_hash(block->address))) = 0;
	if (__builtin_expect(!fits, 0)
		|| !mt_grid_insert(&m->grid, place->row, block->address, cell))
		mt_live_table_insert_pooled(m, place, block);
}

/* place: where the look-up of the address found the block. */
static inline void mt_live_table_remove_at(struct mt_live_table *m, uint64_t address,
	const struct mt_live_table_place *place)
{
	if (__builtin_expect(place->in_grid, 1)) {
		mt_grid_remove(&m->grid, place->row, address);
		return;
	}
	mt_assert(mt_pool_at(&m->pool, &place->pooled)->address == address);
	mt_assert(*mt_live_table_pooled(m, mt_pool_hash(address)));
	--*mt_live_table_pooled(m, mt_pool_hash(address));
	mt_pool_remove_at(&m->pool, &place->pooled);
}

/* An open block for an address at which none is: its cell, to be filled in before anything is
 * looked up; NULL: there is a block, or the slot is taken. */
static inline struct mt_live_table_open *mt_live_table_open(struct mt_live_table *m, unsigned slot,
	uint64_t address)
{
	struct mt_live_table_open *o = &m->open[slot];

	if (m->open_taken & 1u << slot || !mt_live_table_lacks(m, address))
		return NULL;
	m->open_taken |= 1u << slot;
	o->absent = mt_live_table_absent(m, mt_pool_tag(mt_pool_hash(address)));
	*o->absent = 0;
	return o;
}

/* Whoever opened the block will not end it: it is entered now, if it was not yet. */
static inline void mt_live_table_drop(struct mt_live_table *m, struct mt_live_table_open *o)
{
	if (o->cell.address)
		mt_live_table_has(m, o->cell.address); /* which enters it */
	o->cell.address = 0;
	m->open_taken &= ~(1u << (o - m->open));
}

/* The cell of an open block that ends: it stays as it is up to the next mt_live_table_open. NULL:
 * it was entered, or it is not the one at this address, and is entered now. */
static inline struct mt_pool_cell *mt_live_table_close(struct mt_live_table *m,
	struct mt_live_table_open *o, uint64_t address)
{
	mt_assert(m->open_taken & 1u << (o - m->open));
	if (__builtin_expect(o->cell.address != address, 0)) {
		mt_live_table_drop(m, o);
		return NULL;
	}
	*o->absent = address;
	m->open_taken &= ~(1u << (o - m->open));
	return &o->cell;
}

#endif
