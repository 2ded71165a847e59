/* What reaches each block: doc/leak-check.md, "Marking". */
#ifndef MT_LEAKCHECK_MARK_H
#define MT_LEAKCHECK_MARK_H

#include "core/leakcheck/roots.h"

/* Gives each block its verdict, its holder, and the word of that which reached it. */
void mt_mark(struct mt_held_blocks *, const struct mt_roots *, const struct mt_still *);
/* The first part of that: blocks that the roots reach become reachable or possibly lost. Blocks
 * that are reachable before are passed over, as if they had no words: so it is found out what only
 * they lead to. */
void mt_mark_reached(struct mt_held_blocks *, const struct mt_roots *, const struct mt_still *);

/* The first of the words at which the holder's words are counted. */
uint64_t mt_mark_words_begin(const struct mt_held_blocks *, const struct mt_roots *,
	uint32_t holder);

#endif
