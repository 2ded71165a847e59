/* Why a group has its score as a leak, in words. */
#ifndef MT_EXPORT_RANK_WORDS_H
#define MT_EXPORT_RANK_WORDS_H

#include "core/query/rank.h"

#define MT_RANK_WORDS 256
/* One sentence without its full stop; live: blocks of the group. */
void mt_rank_words(char out[MT_RANK_WORDS], const struct mt_rank *, uint64_t live);

#endif
