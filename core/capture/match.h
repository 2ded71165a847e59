/* Live blocks by address. Blocks lie in a pool whose cells are reused last in, first out, so that
 * it stays as small as the live set has been, and of memory that tables have left. The hash is made
 * of buckets of a line each: tags that are compared at once, and which cells they stand for. A
 * bucket counts those that found it full and lie further on, so a look-up of an address that is not
 * there, which every allocation begins with, reads one line as good as always, and a removal moves
 * nothing: hardly a branch that the processor could not foresee. (The method is that of Folly's
 * F14.) The hash is many small tables rather than a big one: when one grows, the pause is short
 * enough for the rings to hold what comes meanwhile. */
#ifndef MT_CAPTURE_MATCH_H
#define MT_CAPTURE_MATCH_H

#include "core/model/model.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MT_MATCH_PARTS 64
#define MT_MATCH_WIDTH 7 /* slots of a bucket */
#define MT_MATCH_ABSENT 1024u
#define MT_MATCH_CHUNK 65536u /* cells of the pool that are allocated together */
#define MT_MATCH_OPEN 8u      /* blocks whose end is known before their place */

/* A live block: what its end needs of it. Small, since where many live, what they cost is memory
 * touched. */
struct mt_match_cell {
	_Alignas(32) uint64_t address; /* 0: the cell is free */
	uint64_t size, number;
	uint32_t group, thread;
};
_Static_assert(sizeof(struct mt_match_cell) == 32, "two cells fill a line");

struct mt_match_bucket {
	_Alignas(64) uint32_t tags[MT_MATCH_WIDTH]; /* 0: empty */
	/* how many lie further on, for want of room here */
	uint32_t passed;
	uint32_t cells[MT_MATCH_WIDTH + 1]; /* the last stays 0 */
};
_Static_assert(sizeof(struct mt_match_bucket) == 64, "a bucket is a line");

struct mt_match_part {
	struct mt_match_bucket *buckets;
	uint32_t mask, used, shift;
};
/* Tables of one size of all parts, which grow at about the same time, lie together: so huge pages
 * can hold them. */
struct mt_match_region {
	struct mt_match_bucket *buckets;
	uint32_t users;
};
struct mt_match {
	struct mt_match_part parts[MT_MATCH_PARTS];
	struct mt_match_region regions[32]; /* by bits of a part */
	struct mt_match_cell **chunks;
	uint32_t chunk_count, chunk_capacity;
	/* what tables have left, in pieces of a chunk's size: it need not be cleared once more */
	void **spare;
	uint32_t spare_count, spare_capacity;
	uint32_t cell_count; /* handed out so far */
	uint32_t *free;      /* cells to reuse, the last first; room for all that there are */
	uint32_t free_count;
	/* addresses at which no block is, by their tags: programs use few again and again */
	uint64_t absent[MT_MATCH_ABSENT];
	/* Open blocks: neither in the pool nor in the table, since who opened them will end them
	 * soon. A look-up of such an address by anybody else enters the block. */
	struct mt_match_open {
		struct mt_match_cell cell; /* address 0: none, or it has been entered */
		uint64_t *absent;          /* where it is said that nothing is there */
	} open[MT_MATCH_OPEN];
	uint32_t open_taken; /* a bit for each entry */
};

/* Where a look-up ended: at the address's slot, or where none was found. Holds until the table
 * changes next. */
struct mt_match_place {
	struct mt_match_part *part;
	uint32_t tag, bucket, slot;
};

void mt_match_init(struct mt_match *);
void mt_match_free(struct mt_match *);
/* The id of a cell of the pool that was never used before. */
uint32_t mt_match_new_cell(struct mt_match *);
/* The address must not be in the table. */
void mt_match_insert(struct mt_match *, const struct mt_match_cell *);
/* As mt_match_insert_at, where the part is to grow first; where the first bucket is full. */
void mt_match_insert_growing(struct mt_match *, struct mt_match_place *, uint32_t cell);
void mt_match_insert_further(const struct mt_match_place *, uint32_t cell);
/* cell: as returned by mt_match_find and not removed since. */
void mt_match_remove(struct mt_match *, struct mt_match_cell *cell);
/* What lay at the place, beyond its first bucket, is gone. */
void mt_match_unpass(const struct mt_match_place *);
/* Enters the open block at an address into the table, if there is one; place: where it goes. */
struct mt_match_cell *mt_match_enter(struct mt_match *, uint64_t address,
	struct mt_match_place *place);

/* The upper 6 bits name the part, those below are the tag, whose upper bits are the first
 * bucket. */
static inline uint64_t mt_match_hash(uint64_t address)
{
	return address * 0x9e3779b97f4a7c15ull;
}

static inline uint32_t mt_match_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 26) | 1;
}

/* A bit for each slot with this tag. */
static inline uint32_t mt_match_with_tag(const struct mt_match_bucket *b, uint32_t tag)
{
#ifdef __SSE2__
	const __m128i *tags = (const __m128i *)(const void *)b->tags;
	__m128i wanted = _mm_set1_epi32((int)tag);
	__m128i same =
		_mm_packs_epi32(_mm_cmpeq_epi32(tags[0], wanted), _mm_cmpeq_epi32(tags[1], wanted));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(same, _mm_setzero_si128()))
		& ((1u << MT_MATCH_WIDTH) - 1);
#else
	uint32_t found = 0;

	for (unsigned i = 0; i < MT_MATCH_WIDTH; i++)
		found |= (uint32_t)(b->tags[i] == tag) << i;
	return found;
#endif
}

static inline struct mt_match_cell *mt_match_cell(const struct mt_match *m, uint32_t id)
{
	return &m->chunks[id / MT_MATCH_CHUNK][id % MT_MATCH_CHUNK];
}

static inline struct mt_block mt_match_block(const struct mt_match_cell *c)
{
	return (struct mt_block){
		.address = c->address,
		.size = c->size,
		.number = c->number,
		.group = c->group,
		.thread = c->thread,
	};
}

/* Where the look-up of an address with this hash begins. */
static inline const struct mt_match_bucket *mt_match_home(const struct mt_match *m, uint64_t hash)
{
	const struct mt_match_part *part = &m->parts[hash >> 58];

	return &part->buckets[mt_match_tag(hash) >> part->shift];
}

/* The block of this tag in a bucket, probably, if there is one: to prefetch it. There is one cell
 * at least. */
static inline const struct mt_match_cell *mt_match_guess(const struct mt_match *m,
	const struct mt_match_bucket *bucket, uint32_t tag)
{
	return mt_match_cell(m,
		bucket->cells[__builtin_ctz(
			mt_match_with_tag(bucket, tag) | 1u << MT_MATCH_WIDTH)]);
}

static inline struct mt_match_cell *mt_match_look_up(struct mt_match *m, uint64_t address,
	struct mt_match_place *place)
{
	uint64_t hash = mt_match_hash(address);
	struct mt_match_part *part = &m->parts[hash >> 58];
	uint32_t tag = mt_match_tag(hash), home = tag >> part->shift, at = home;

	do {
		const struct mt_match_bucket *bucket = &part->buckets[at];

		for (uint32_t found = mt_match_with_tag(bucket, tag); found; found &= found - 1) {
			uint32_t slot = (uint32_t)__builtin_ctz(found);
			struct mt_match_cell *cell = mt_match_cell(m, bucket->cells[slot]);

			if (__builtin_expect(cell->address == address, 1)) {
				*place = (struct mt_match_place){part, tag, at, slot};
				return cell;
			}
		}
		if (__builtin_expect(!bucket->passed, 1))
			break;
		at = (at + 1) & part->mask;
	} while (at != home); /* those that were passed may all have room by now */
	*place = (struct mt_match_place){part, tag, at, 0};
	return __builtin_expect(m->open_taken, 0) ? mt_match_enter(m, address, place) : NULL;
}

static inline struct mt_match_cell *mt_match_find(struct mt_match *m, uint64_t address)
{
	struct mt_match_place place;

	return mt_match_look_up(m, address, &place);
}

static inline uint64_t *mt_match_absent(struct mt_match *m, uint32_t tag)
{
	return &m->absent[tag >> 1 & (MT_MATCH_ABSENT - 1)];
}

/* Whether there is no block at an address: the same as looking it up, which it remembers. */
static inline bool mt_match_lacks(struct mt_match *m, uint64_t address)
{
	uint64_t *absent = mt_match_absent(m, mt_match_tag(mt_match_hash(address)));

	if (__builtin_expect(*absent == address, 1))
		return true;
	if (mt_match_find(m, address))
		return false;
	*absent = address;
	return true;
}

/* place: where the look-up found the block. */
static inline uint32_t mt_match_id_at(const struct mt_match_place *place)
{
	return place->part->buckets[place->bucket].cells[place->slot];
}

/* The id of a cell to fill in and insert. */
#define MT_MATCH_CELLS_AHEAD 8
static inline uint32_t mt_match_take_cell(struct mt_match *m)
{
	if (__builtin_expect(!m->free_count, 0))
		return mt_match_new_cell(m);
	m->free_count--;
	if (m->free_count >= MT_MATCH_CELLS_AHEAD)
		__builtin_prefetch(mt_match_cell(m, m->free[m->free_count - MT_MATCH_CELLS_AHEAD]),
			1);
	return m->free[m->free_count];
}

/* place: where the look-up of the cell's address found nothing. Tables are filled to four fifths:
 * memory touched for the first time costs more than a second line now and then. */
static inline void mt_match_insert_at(struct mt_match *m, struct mt_match_place *place,
	uint32_t cell)
{
	struct mt_match_part *part = place->part;
	struct mt_match_bucket *home = &part->buckets[place->tag >> part->shift];
	uint32_t empty = mt_match_with_tag(home, 0);
	uint32_t slot = (uint32_t)__builtin_ctz(empty | 1u << MT_MATCH_WIDTH);

	*mt_match_absent(m, place->tag) = 0;
	if (__builtin_expect(part->used >= part->mask * 11ull / 2, 0)) {
		mt_match_insert_growing(m, place, cell);
		return;
	}
	part->used++;
	if (__builtin_expect(!empty, 0)) {
		mt_match_insert_further(place, cell);
		return;
	}
	home->tags[slot] = place->tag;
	home->cells[slot] = cell;
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
	o->absent = mt_match_absent(m, mt_match_tag(mt_match_hash(address)));
	*o->absent = 0;
	return o;
}

/* Whoever opened the block will not end it: it is in the table from now on, if it was not yet. */
static inline void mt_match_drop(struct mt_match *m, struct mt_match_open *o)
{
	if (o->cell.address)
		mt_match_find(m, o->cell.address); /* which enters it */
	o->cell.address = 0;
	m->open_taken &= ~(1u << (o - m->open));
}

/* The cell of an open block that ends: it stays as it is up to the next mt_match_open. NULL: it is
 * in the table by now, or it is not the one at this address, and in the table from now on. */
static inline struct mt_match_cell *mt_match_close(struct mt_match *m, struct mt_match_open *o,
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

/* place: where the look-up found the block. */
static inline void mt_match_remove_at(struct mt_match *m, const struct mt_match_place *place)
{
	struct mt_match_part *part = place->part;
	struct mt_match_bucket *bucket = &part->buckets[place->bucket];
	uint32_t cell = bucket->cells[place->slot];

	part->used--;
	bucket->tags[place->slot] = 0;
	if (__builtin_expect(place->bucket != place->tag >> part->shift, 0))
		mt_match_unpass(place);
	mt_match_cell(m, cell)->address = 0;
	m->free[m->free_count++] = cell;
}

#endif
