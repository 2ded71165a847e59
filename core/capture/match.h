/* Live blocks by address. Many small tables rather than a big one: when one grows, the pause is short
 * enough for the rings to hold what comes meanwhile. */
#ifndef MT_CAPTURE_MATCH_H
#define MT_CAPTURE_MATCH_H

#include "core/model/model.h"

#define MT_MATCH_BITS 6 /* of the hash name the part */
#define MT_MATCH_PARTS (1 << MT_MATCH_BITS)

struct mt_match_part {
	struct mt_block *blocks; /* what is allocated; the addresses stand behind them */
	uint64_t *addresses;     /* 0: empty; apart from the blocks, so that a search reads few lines */
	uint32_t mask, used;
	uint32_t shift;
};
struct mt_match {
	struct mt_match_part parts[MT_MATCH_PARTS];
};

void mt_match_init(struct mt_match *);
void mt_match_free(struct mt_match *);
/* The address must not be in the table, nor 0. */
void mt_match_insert(struct mt_match *, const struct mt_block *);
/* block: as returned by mt_match_find, nothing inserted or removed since. */
void mt_match_remove(struct mt_match *, struct mt_block *block);

static inline uint64_t mt_match_hash(uint64_t address)
{
	return address * 0x9e3779b97f4a7c15ull;
}

static inline void mt_match_prefetch(const struct mt_match *m, uint64_t address)
{
	uint64_t hash = mt_match_hash(address);
	const struct mt_match_part *part = &m->parts[hash >> (64 - MT_MATCH_BITS)];
	uint32_t home = (uint32_t)(hash >> part->shift) & part->mask;

	__builtin_prefetch(&part->addresses[home], 1);
	__builtin_prefetch(&part->blocks[home], 1);
	__builtin_prefetch((const char *)&part->blocks[home + 1] - 1, 1);
}

static inline struct mt_block *mt_match_find(const struct mt_match *m, uint64_t address)
{
	uint64_t hash = mt_match_hash(address);
	const struct mt_match_part *part = &m->parts[hash >> (64 - MT_MATCH_BITS)];
	uint32_t at = (uint32_t)(hash >> part->shift) & part->mask;

	for (; part->addresses[at]; at = (at + 1) & part->mask)
		if (part->addresses[at] == address)
			return &part->blocks[at];
	return NULL;
}

#endif
