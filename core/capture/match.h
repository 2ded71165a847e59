/* Live blocks by address. Many small tables rather than a big one: when one grows, the pause is short
 * enough for the rings to hold what comes meanwhile. */
#ifndef MT_CAPTURE_MATCH_H
#define MT_CAPTURE_MATCH_H

#include "core/model/model.h"

#define MT_MATCH_PARTS 256

struct mt_match_part {
	struct mt_block *slots; /* address 0: empty */
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

static inline struct mt_block *mt_match_home(const struct mt_match *m, uint64_t address)
{
	uint64_t hash = mt_match_hash(address);
	const struct mt_match_part *part = &m->parts[hash >> 56];

	return &part->slots[hash >> part->shift & part->mask];
}

static inline void mt_match_prefetch(const struct mt_match *m, uint64_t address)
{
	const struct mt_block *home = mt_match_home(m, address);

	__builtin_prefetch(home, 1);
	__builtin_prefetch((const char *)home + sizeof *home - 1, 1);
}

static inline struct mt_block *mt_match_find(const struct mt_match *m, uint64_t address)
{
	uint64_t hash = mt_match_hash(address);
	const struct mt_match_part *part = &m->parts[hash >> 56];
	uint32_t at = (uint32_t)(hash >> part->shift) & part->mask;

	for (; part->slots[at].address; at = (at + 1) & part->mask)
		if (part->slots[at].address == address)
			return &part->slots[at];
	return NULL;
}

#endif
