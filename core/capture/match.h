/* Live blocks by address, and which addresses have none. */
#ifndef MT_CAPTURE_MATCH_H
#define MT_CAPTURE_MATCH_H

#include "core/capture/pool.h"

#define MT_MATCH_ABSENT 1024u
#define MT_MATCH_OPEN 8u /* blocks whose end is known before their place */

struct mt_match {
	struct mt_pool pool;
	/* addresses at which no block is, by their tags: programs use few again and again */
	uint64_t absent[MT_MATCH_ABSENT];
	/* Open blocks: not in the pool, since who opened them will end them soon. A look-up of
	 * such an address by anybody else enters the block. */
	struct mt_match_open {
		struct mt_pool_cell cell; /* address 0: none, or it has been entered */
		uint64_t *absent;         /* where it is said that nothing is there */
	} open[MT_MATCH_OPEN];
	uint32_t open_taken; /* a bit for each entry */
};

/* Where a look-up ended. Holds until something is inserted or removed. */
struct mt_match_place {
	struct mt_pool_place pooled;
};

void mt_match_init(struct mt_match *);
void mt_match_free(struct mt_match *);
/* The address must not be there. */
void mt_match_insert(struct mt_match *, const struct mt_pool_cell *);
/* Enters the open block at an address, if there is one; place: where it goes. */
struct mt_pool_cell *mt_match_enter(struct mt_match *, uint64_t address, struct mt_match_place *);

/* The block at an address, or NULL. */
static inline struct mt_pool_cell *mt_match_look_up(struct mt_match *m, uint64_t address,
	struct mt_match_place *place)
{
	struct mt_pool_cell *found = mt_pool_look_up(&m->pool, address, &place->pooled);

	return found || __builtin_expect(!m->open_taken, 1)
		? found
		: mt_match_enter(m, address, place);
}

static inline bool mt_match_has(struct mt_match *m, uint64_t address)
{
	struct mt_match_place place;

	return mt_match_look_up(m, address, &place) != NULL;
}

static inline uint64_t *mt_match_absent(struct mt_match *m, uint32_t tag)
{
	return &m->absent[tag >> 1 & (MT_MATCH_ABSENT - 1)];
}

/* Whether there is no block at an address: the same as looking it up, which it remembers. */
static inline bool mt_match_lacks(struct mt_match *m, uint64_t address)
{
	uint64_t *absent = mt_match_absent(m, mt_pool_tag(mt_pool_hash(address)));

	if (__builtin_expect(*absent == address, 1))
		return true;
	if (mt_match_has(m, address))
		return false;
	*absent = address;
	return true;
}

/* place: where the look-up of the block's address found nothing. Returns the id of its cell. */
static inline uint32_t mt_match_insert_at(struct mt_match *m, struct mt_match_place *place,
	const struct mt_pool_cell *block)
{
	uint32_t id = mt_pool_take_cell(&m->pool);

	*mt_match_absent(m, mt_pool_tag(mt_pool_hash(block->address))) = 0;
	*mt_pool_cell(&m->pool, id) = *block;
	mt_pool_insert_at(&m->pool, &place->pooled, id);
	return id;
}

/* place: where the look-up found the block. */
static inline void mt_match_remove_at(struct mt_match *m, const struct mt_match_place *place)
{
	mt_pool_remove_at(&m->pool, &place->pooled);
}

/* An open block for an address at which none is: its cell, to be filled in before anything is
 * looked up; NULL: there is a block, or the slot is taken. */
static inline struct mt_match_open *mt_match_open(struct mt_match *m, unsigned slot,
	uint64_t address)
{
	struct mt_match_open *o = &m->open[slot];

	if (m->open_taken & 1u << slot || !mt_match_lacks(m, address))
		return NULL;
	m->open_taken |= 1u << slot;
	o->absent = mt_match_absent(m, mt_pool_tag(mt_pool_hash(address)));
	*o->absent = 0;
	return o;
}

/* Whoever opened the block will not end it: it is in the table from now on, if it was not yet. */
static inline void mt_match_drop(struct mt_match *m, struct mt_match_open *o)
{
	if (o->cell.address)
		mt_match_has(m, o->cell.address); /* which enters it */
	o->cell.address = 0;
	m->open_taken &= ~(1u << (o - m->open));
}

/* The cell of an open block that ends: it stays as it is up to the next mt_match_open. NULL: it is
 * in the table by now, or it is not the one at this address, and in the table from now on. */
static inline struct mt_pool_cell *mt_match_close(struct mt_match *m, struct mt_match_open *o,
	uint64_t address)
{
	if (__builtin_expect(o->cell.address != address, 0)) {
		mt_match_drop(m, o);
		return NULL;
	}
	*o->absent = address;
	m->open_taken &= ~(1u << (o - m->open));
	return &o->cell;
}

#endif
