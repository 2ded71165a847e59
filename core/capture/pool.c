#include "core/capture/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BITS 3

#define HUGE_PAGE (2u << 20)
_Static_assert(sizeof(struct mt_pool_cell) * MT_POOL_CHUNK == HUGE_PAGE,
	"chunks and large tables share their memory");

static size_t region_size(unsigned bits)
{
	return MT_POOL_PARTS * sizeof(struct mt_pool_bucket) << bits;
}

/* Gives the part a table of its own in the region of that size. It is empty: no part takes one of a
 * size twice. */
static void take_table(struct mt_pool *pool, struct mt_pool_part *part, unsigned bits)
{
	struct mt_pool_region *region = &pool->regions[bits];
	size_t size = region_size(bits);

	if (!region->users++)
		region->buckets = size < HUGE_PAGE
			? memset(mt_alloc_aligned(size, MT_WIRE_PAGE), 0, size)
			: mt_alloc_huge(size);
	part->buckets = region->buckets + ((size_t)(part - pool->parts) << bits);
	part->mask = (1u << bits) - 1;
	part->shift = 32 - bits;
	part->used = 0;
}

static void drop_table(struct mt_pool *pool, const struct mt_pool_part *part)
{
	struct mt_pool_region *region = &pool->regions[32 - part->shift];
	size_t size = region_size(32 - part->shift);

	if (--region->users)
		return;
	if (size < HUGE_PAGE) {
		free(region->buckets);
		return;
	}
	for (size_t at = 0; at < size; at += HUGE_PAGE) {
		MT_GROW(pool->spare, pool->spare_count, pool->spare_capacity);
		pool->spare[pool->spare_count++] = (char *)region->buckets + at;
	}
}

/* Whether a look-up that begins in the tag's own bucket comes to this one. */
static bool is_reached(const struct mt_pool_part *part, uint32_t tag, uint32_t bucket)
{
	uint32_t at = tag >> part->shift;

	while (at != bucket && part->buckets[at].passed)
		at = (at + 1) & part->mask;
	return at == bucket;
}

/* Every block of the part is counted, and lies where a look-up finds it. */
static bool is_sound(const struct mt_pool *pool, const struct mt_pool_part *part)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i <= part->mask; i++)
		for (unsigned slot = 0; slot < MT_POOL_WIDTH; slot++) {
			const struct mt_pool_bucket *b = &part->buckets[i];
			uint64_t hash;

			if (!b->tags[slot])
				continue;
			hash = mt_pool_hash(mt_pool_cell(pool, b->cells[slot])->address);
			if (&pool->parts[hash >> 58] != part || mt_pool_tag(hash) != b->tags[slot]
				|| !is_reached(part, b->tags[slot], i))
				return false;
			used++;
		}
	return used == part->used;
}

void mt_pool_init(struct mt_pool *pool)
{
	*pool = (struct mt_pool){0};
	for (int i = 0; i < MT_POOL_PARTS; i++)
		take_table(pool, &pool->parts[i], FIRST_BITS);
}

void mt_pool_free(struct mt_pool *pool)
{
	/* none when it is freed already */
	for (int i = 0; i < MT_POOL_PARTS && pool->parts[i].buckets; i++) {
		mt_assert_expensive(is_sound(pool, &pool->parts[i]));
		drop_table(pool, &pool->parts[i]);
	}
	free(pool->chunks ? pool->chunks[0] : NULL);
	for (uint32_t i = 1; i < pool->chunk_count; i++)
		munmap(pool->chunks[i], HUGE_PAGE);
	for (uint32_t i = 0; i < pool->spare_count; i++)
		munmap(pool->spare[i], HUGE_PAGE);
	free(pool->spare);
	free(pool->chunks);
	free(pool->free);
	*pool = (struct mt_pool){0};
}

/* ---- pool ------------------------------------------------------------------------------------ */

/* Random accesses to a large pool cost most in page walks: from the second chunk on, huge pages
 * spare them. */
static void add_chunk(struct mt_pool *pool)
{
	struct mt_pool_cell *chunk;

	if (pool->spare_count)
		chunk = pool->spare[--pool->spare_count];
	else
		chunk = pool->chunk_count ? mt_alloc_huge(HUGE_PAGE)
					  : mt_alloc_aligned(HUGE_PAGE, MT_WIRE_PAGE);
	MT_GROW(pool->chunks, pool->chunk_count, pool->chunk_capacity);
	pool->chunks[pool->chunk_count++] = chunk;
	pool->free = mt_resize(pool->free, pool->chunk_count * sizeof *pool->free * MT_POOL_CHUNK);
}

uint32_t mt_pool_new_cell(struct mt_pool *pool)
{
	if (pool->cell_count / MT_POOL_CHUNK == pool->chunk_count)
		add_chunk(pool);
	return pool->cell_count++;
}

/* ---- hash ------------------------------------------------------------------------------------ */

/* Into the first bucket with room, from the tag's own on. */
static void put(struct mt_pool_part *part, uint32_t tag, uint32_t cell)
{
	struct mt_pool_bucket *bucket = &part->buckets[tag >> part->shift];
	uint32_t empty;

	while (!(empty = mt_pool_with_tag(bucket, 0))) {
		bucket->passed++;
		bucket = &part->buckets[(bucket - part->buckets + 1) & part->mask];
	}
	bucket->tags[__builtin_ctz(empty)] = tag;
	bucket->cells[__builtin_ctz(empty)] = cell;
}

static void grow(struct mt_pool *pool, struct mt_pool_part *part)
{
	struct mt_pool_part old = *part;

	mt_assert_expensive(is_sound(pool, part));

	/* as the compiler cannot know: memory ends before 32 */
	take_table(pool, part, (32 - old.shift + 1) % 32);
	for (uint32_t i = 0; i <= old.mask; i++) {
		const struct mt_pool_bucket *b = &old.buckets[i];

		for (unsigned slot = 0; slot < MT_POOL_WIDTH; slot++)
			if (b->tags[slot])
				put(part, b->tags[slot], b->cells[slot]);
	}
	part->used = old.used;
	drop_table(pool, &old);
}

void mt_pool_insert_growing(struct mt_pool *pool, struct mt_pool_place *place, uint32_t cell)
{
	grow(pool, place->part);
	place->part->used++;
	put(place->part, place->tag, cell);
}

void mt_pool_insert_further(const struct mt_pool_place *place, uint32_t cell)
{
	put(place->part, place->tag, cell);
}

void mt_pool_unpass(const struct mt_pool_place *place)
{
	const struct mt_pool_part *part = place->part;

	for (uint32_t at = place->tag >> part->shift; at != place->bucket;
		at = (at + 1) & part->mask) {
		mt_assert(part->buckets[at].passed);
		part->buckets[at].passed--;
	}
}
