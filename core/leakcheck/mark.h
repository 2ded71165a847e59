/* What reaches each block: doc/leak-check.md, "Marking". */
#ifndef MT_LEAKCHECK_MARK_H
#define MT_LEAKCHECK_MARK_H

#include "core/leakcheck/roots.h"

/* Gives each block its verdict and its holder. */
void mt_mark(struct mt_held_blocks *, const struct mt_roots *, const struct mt_still *);

/* The first word of a root or block that points into a block: where it stands (for registers, 0),
 * and what it says. false: none does. */
bool mt_mark_find_word(const struct mt_still *, const struct mt_held_blocks *,
	const struct mt_roots *, uint32_t holder, uint32_t block, uint64_t *address,
	uint64_t *word);

#endif
