/* The live blocks of a process at an instant, by address, with what the leak check finds out about
 * each: 28 bytes a block, and an index over chunks of the address space. */
#ifndef MT_LEAKCHECK_BLOCKS_H
#define MT_LEAKCHECK_BLOCKS_H

#include "core/model/verdicts.h"

#include <stdbool.h>
#include <stdint.h>

struct mt_held_block {
	uint64_t address;
	uint64_t size : 55, verdict : 8, is_listed : 1; /* the last is the walk's */
	uint32_t group;
	uint32_t holder; /* what reached it first; see words below */
};

#define MT_BLOCKS_MOST 0x7fffffffu /* the bit beyond tells roots from blocks */
#define MT_BLOCK_NONE UINT32_MAX

struct mt_held_blocks {
	struct mt_held_block *items;
	uint32_t count, capacity;
	uint32_t *words; /* by block: which word of its holder reached it */
	/* private: chunks of 64 KiB in which a block lies, by hash, and the blocks that are so
	 * large that only their ends are among these */
	struct mt_block_chunk *chunks;
	uint32_t chunk_bits;
	uint32_t *large, large_count;
	uint64_t low, high; /* no block is outside */
};

/* Adds blocks in any order, then arranges them all, once. false: there are too many. */
bool mt_held_blocks_add(struct mt_held_blocks *, uint64_t address, uint64_t size, uint32_t group);
void mt_held_blocks_arrange(struct mt_held_blocks *);
void mt_held_blocks_free(struct mt_held_blocks *);
/* The block that has the address inside, or MT_BLOCK_NONE. A block of no bytes has its own address
 * inside. Where blocks overlap, since a free was lost, it is the one that begins last. */
uint32_t mt_held_blocks_find(const struct mt_held_blocks *, uint64_t address);
/* The first block that ends behind the address, or the count. */
uint32_t mt_held_blocks_from(const struct mt_held_blocks *, uint64_t address);

#endif
