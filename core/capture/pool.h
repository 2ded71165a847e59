/* Blocks by address. They lie in a pool whose cells are reused last in, first out, so that
 * it stays as small as the live set has been, and of memory that tables have left. The hash is made
 * of buckets of a line each: tags that are compared at once, and which cells they stand for. A
 * bucket counts those that found it full and lie further on, so a look-up of an address that is not
 * there, which every allocation begins with, reads one line as good as always, and a removal moves
 * nothing: hardly a branch that the processor could not foresee. (The method is that of Folly's
 * F14.) The hash is many small tables rather than a big one: when one grows, the pause is short
 * enough for the rings to hold what comes meanwhile. */
#ifndef MT_CAPTURE_POOL_H
#define MT_CAPTURE_POOL_H

#include "core/base/assert.h"
#include "core/model/model.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MT_POOL_PARTS 64
#define MT_POOL_WIDTH 7      /* slots of a bucket */
#define MT_POOL_CHUNK 65536u /* cells of the pool that are allocated together */

/* A live block: what its end needs of it. Small, since where many live, what they cost is memory
 * touched. */
struct mt_pool_cell {
	_Alignas(32) uint64_t address; /* 0: the cell is free */
	uint64_t size, number;
	uint32_t group, thread;
};
_Static_assert(sizeof(struct mt_pool_cell) == 32, "two cells fill a line");

struct mt_pool_bucket {
	_Alignas(64) uint32_t tags[MT_POOL_WIDTH]; /* 0: empty */
	/* how many lie further on, for want of room here */
	uint32_t passed;
	uint32_t cells[MT_POOL_WIDTH + 1]; /* the last stays 0 */
};
_Static_assert(sizeof(struct mt_pool_bucket) == 64, "a bucket is a line");

struct mt_pool_part {
	struct mt_pool_bucket *buckets;
	uint32_t mask, used, shift;
};
/* Tables of one size of all parts, which grow at about the same time, lie together: so huge pages
 * can hold them. */
struct mt_pool_region {
	struct mt_pool_bucket *buckets;
	uint32_t users;
};
struct mt_pool {
	struct mt_pool_part parts[MT_POOL_PARTS];
	struct mt_pool_region regions[32]; /* by bits of a part */
	struct mt_pool_cell **chunks;
	uint32_t chunk_count, chunk_capacity;
	/* what tables have left, in pieces of a chunk's size: it need not be cleared once more */
	void **spare;
	uint32_t spare_count, spare_capacity;
	uint32_t cell_count; /* handed out so far */
	uint32_t *free;      /* cells to reuse, the last first; room for all that there are */
	uint32_t free_count;
};

/* Where a look-up ended: at the address's slot, or where none was found. Holds until the table
 * changes next. */
struct mt_pool_place {
	struct mt_pool_part *part;
	uint32_t tag, bucket, slot;
};

void mt_pool_init(struct mt_pool *);
void mt_pool_free(struct mt_pool *);
/* The id of a cell of the pool that was never used before. */
uint32_t mt_pool_new_cell(struct mt_pool *);
/* As mt_pool_insert_at, where the part is to grow first; where the first bucket is full. */
void mt_pool_insert_growing(struct mt_pool *, struct mt_pool_place *, uint32_t cell);
void mt_pool_insert_further(const struct mt_pool_place *, uint32_t cell);
/* What lay at the place, beyond its first bucket, is gone. */
void mt_pool_unpass(const struct mt_pool_place *);

/* The upper 6 bits name the part, those below are the tag, whose upper bits are the first
 * bucket. */
static inline uint64_t mt_pool_hash(uint64_t address)
{
	return address * 0x9e3779b97f4a7c15ull;
}

static inline uint32_t mt_pool_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 26) | 1;
}

/* A bit for each slot with this tag. */
static inline uint32_t mt_pool_with_tag(const struct mt_pool_bucket *b, uint32_t tag)
{
#ifdef __SSE2__
	const __m128i *tags = (const __m128i *)(const void *)b->tags;
	__m128i wanted = _mm_set1_epi32((int)tag);
	__m128i same =
		_mm_packs_epi32(_mm_cmpeq_epi32(tags[0], wanted), _mm_cmpeq_epi32(tags[1], wanted));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(same, _mm_setzero_si128()))
		& ((1u << MT_POOL_WIDTH) - 1);
#else
	uint32_t found = 0;

	for (unsigned i = 0; i < MT_POOL_WIDTH; i++)
		found |= (uint32_t)(b->tags[i] == tag) << i;
	return found;
#endif
}

static inline struct mt_pool_cell *mt_pool_cell(const struct mt_pool *pool, uint32_t id)
{
	return &pool->chunks[id / MT_POOL_CHUNK][id % MT_POOL_CHUNK];
}

/* The cell at the place where a look-up found its block. */
static inline struct mt_pool_cell *mt_pool_at(const struct mt_pool *pool,
	const struct mt_pool_place *place)
{
	return mt_pool_cell(pool, place->part->buckets[place->bucket].cells[place->slot]);
}

static inline struct mt_block mt_pool_block(const struct mt_pool_cell *c)
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
static inline const struct mt_pool_bucket *mt_pool_home(const struct mt_pool *pool, uint64_t hash)
{
	const struct mt_pool_part *part = &pool->parts[hash >> 58];

	return &part->buckets[mt_pool_tag(hash) >> part->shift];
}

/* The block of this tag in a bucket, probably, if there is one: to prefetch it. There is one cell
 * at least. */
static inline const struct mt_pool_cell *mt_pool_guess(const struct mt_pool *pool,
	const struct mt_pool_bucket *bucket, uint32_t tag)
{
	return mt_pool_cell(pool,
		bucket->cells[__builtin_ctz(mt_pool_with_tag(bucket, tag) | 1u << MT_POOL_WIDTH)]);
}

static inline struct mt_pool_cell *mt_pool_look_up(struct mt_pool *pool, uint64_t address,
	struct mt_pool_place *place)
{
	uint64_t hash = mt_pool_hash(address);
	struct mt_pool_part *part = &pool->parts[hash >> 58];
	uint32_t tag = mt_pool_tag(hash), home = tag >> part->shift, at = home;

	do {
		const struct mt_pool_bucket *bucket = &part->buckets[at];

		for (uint32_t found = mt_pool_with_tag(bucket, tag); found; found &= found - 1) {
			uint32_t slot = (uint32_t)__builtin_ctz(found);
			struct mt_pool_cell *cell = mt_pool_cell(pool, bucket->cells[slot]);

			if (__builtin_expect(cell->address == address, 1)) {
				*place = (struct mt_pool_place){part, tag, at, slot};
				return cell;
			}
		}
		if (__builtin_expect(!bucket->passed, 1))
			break;
		at = (at + 1) & part->mask;
	} while (at != home); /* those that were passed may all have room by now */
	*place = (struct mt_pool_place){part, tag, at, 0};
	return NULL;
}

/* The id of a cell to fill in and insert. */
#define MT_POOL_CELLS_AHEAD 8
static inline uint32_t mt_pool_take_cell(struct mt_pool *pool)
{
	if (__builtin_expect(!pool->free_count, 0))
		return mt_pool_new_cell(pool);
	pool->free_count--;
	if (pool->free_count >= MT_POOL_CELLS_AHEAD)
		__builtin_prefetch(mt_pool_cell(pool,
					   pool->free[pool->free_count - MT_POOL_CELLS_AHEAD]),
			1);
	return pool->free[pool->free_count];
}

/* place: where the look-up of the cell's address found nothing. Tables are filled to four fifths:
 * memory touched for the first time costs more than a second line now and then. */
static inline void mt_pool_insert_at(struct mt_pool *pool, struct mt_pool_place *place,
	uint32_t cell)
{
	struct mt_pool_part *part = place->part;
	struct mt_pool_bucket *home = &part->buckets[place->tag >> part->shift];
	uint32_t empty = mt_pool_with_tag(home, 0);
	uint32_t slot = (uint32_t)__builtin_ctz(empty | 1u << MT_POOL_WIDTH);

	if (__builtin_expect(part->used >= part->mask * 11ull / 2, 0)) {
		mt_pool_insert_growing(pool, place, cell);
		return;
	}
	part->used++;
	if (__builtin_expect(!empty, 0)) {
		mt_pool_insert_further(place, cell);
		return;
	}
	home->tags[slot] = place->tag;
	home->cells[slot] = cell;
}

/* place: where the look-up found the block. */
static inline void mt_pool_remove_at(struct mt_pool *pool, const struct mt_pool_place *place)
{
	struct mt_pool_part *part = place->part;
	struct mt_pool_bucket *bucket = &part->buckets[place->bucket];
	uint32_t cell = bucket->cells[place->slot];

	mt_assert(part->used && bucket->tags[place->slot] == place->tag);
	mt_assert(pool->free_count < pool->cell_count);
	part->used--;
	bucket->tags[place->slot] = 0;
	if (__builtin_expect(place->bucket != place->tag >> part->shift, 0))
		mt_pool_unpass(place);
	mt_pool_cell(pool, cell)->address = 0;
	pool->free[pool->free_count++] = cell;
}

#endif
