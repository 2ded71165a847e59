#include "core/leakcheck/blocks.h"
#include "core/base/buffer.h"

#include <stdlib.h>

#define CHUNK_BITS 16
#define LARGE (64ull << 20) /* from this size on, a block would fill the index */

struct mt_block_chunk {
	uint64_t number;    /* of the chunk, counted from 1; 0: free */
	uint32_t low, high; /* the blocks that lie in it, or begin or end there */
};

bool mt_held_blocks_add(struct mt_held_blocks *b, uint64_t address, uint64_t size, uint32_t group)
{
	if (b->count == MT_BLOCKS_MOST)
		return false;
	MT_GROW(b->items, b->count, b->capacity);
	b->items[b->count++] = (struct mt_held_block){
		.address = address,
		.size = size,
		.verdict = MT_VERDICT_NONE,
		.group = group,
		.holder = MT_HOLDER_NONE,
	};
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct mt_held_block *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static uint64_t last_of(const struct mt_held_block *block)
{
	return block->address + (block->size ? block->size - 1 : 0);
}

/* The chunk's entry, or the free one where it belongs. */
static struct mt_block_chunk *chunk_of(const struct mt_held_blocks *b, uint64_t number)
{
	uint32_t mask = (1u << b->chunk_bits) - 1;
	uint32_t at = (uint32_t)((number * 0x9e3779b97f4a7c15u) >> (64 - b->chunk_bits));

	while (b->chunks[at].number && b->chunks[at].number != number)
		at = (at + 1) & mask;
	return &b->chunks[at];
}

static void enter(struct mt_held_blocks *b, uint64_t chunk, uint32_t block)
{
	struct mt_block_chunk *c = chunk_of(b, chunk + 1);

	if (!c->number)
		*c = (struct mt_block_chunk){chunk + 1, block, block};
	c->high = block + 1;
}

/* Calls enter for each chunk; or counts them, where it is NULL. */
static uint64_t each_chunk(struct mt_held_blocks *b, uint32_t i,
	void (*enter_one)(struct mt_held_blocks *, uint64_t chunk, uint32_t block))
{
	const struct mt_held_block *block = &b->items[i];
	uint64_t first = block->address >> CHUNK_BITS, last = last_of(block) >> CHUNK_BITS;
	uint64_t step = block->size >= LARGE ? last - first : 1, count = 0;

	for (uint64_t chunk = first; chunk <= last; chunk += step ? step : 1, count++)
		if (enter_one)
			enter_one(b, chunk, i);
	return count;
}

void mt_held_blocks_arrange(struct mt_held_blocks *b)
{
	uint64_t chunks = 0;
	uint32_t large_capacity = 0;

	b->words = mt_alloc((b->count + 1ull) * sizeof *b->words);
	if (b->count)
		qsort(b->items, b->count, sizeof *b->items, by_address);
	b->low = b->count ? b->items[0].address : UINT64_MAX;
	b->high = 0;
	for (uint32_t i = 0; i < b->count; i++) {
		uint64_t last = last_of(&b->items[i]);

		if (last >= b->high)
			b->high = last + 1;
		/* the count is too high by those that share a chunk with the block before */
		if (!i || b->items[i].size >= LARGE
			|| b->items[i].address >> CHUNK_BITS
				!= last_of(&b->items[i - 1]) >> CHUNK_BITS
			|| last >> CHUNK_BITS != b->items[i].address >> CHUNK_BITS)
			chunks += each_chunk(b, i, NULL);
		if (b->items[i].size < LARGE)
			continue;
		MT_GROW(b->large, b->large_count, large_capacity);
		b->large[b->large_count++] = i;
	}
	for (b->chunk_bits = 4; 1ull << b->chunk_bits < 2 * chunks && b->chunk_bits < 31;)
		b->chunk_bits++;
	b->chunks = mt_alloc(sizeof *b->chunks << b->chunk_bits);
	for (uint32_t i = 0; i < b->count; i++)
		each_chunk(b, i, enter);
}

void mt_held_blocks_free(struct mt_held_blocks *b)
{
	free(b->items);
	free(b->words);
	free(b->chunks);
	free(b->large);
	*b = (struct mt_held_blocks){0};
}

/* The last block of low to high that begins at the address or before; low - 1: none. */
static uint32_t last_begun(const struct mt_held_blocks *b, uint32_t low, uint32_t high,
	uint64_t address)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (b->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

static bool has_inside(const struct mt_held_block *block, uint64_t address)
{
	return address >= block->address && address <= last_of(block);
}

static uint32_t find_large(const struct mt_held_blocks *b, uint64_t address)
{
	uint32_t low = 0, high = b->large_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (b->items[b->large[middle]].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && has_inside(&b->items[b->large[low - 1]], address)
		? b->large[low - 1]
		: MT_BLOCK_NONE;
}

uint32_t mt_held_blocks_find(const struct mt_held_blocks *b, uint64_t address)
{
	if (address < b->low || address >= b->high)
		return MT_BLOCK_NONE;
	const struct mt_block_chunk *c = chunk_of(b, (address >> CHUNK_BITS) + 1);

	if (c->number) {
		uint32_t at = last_begun(b, c->low, c->high, address);

		if (at + 1 > c->low && has_inside(&b->items[at], address))
			return at;
	}
	return b->large_count ? find_large(b, address) : MT_BLOCK_NONE;
}

uint32_t mt_held_blocks_from(const struct mt_held_blocks *b, uint64_t address)
{
	uint32_t at = last_begun(b, 0, b->count, address);

	return at == UINT32_MAX ? 0 : has_inside(&b->items[at], address) ? at : at + 1;
}
