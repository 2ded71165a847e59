/* What the timeline draws: one of these at a time. X(id, words, short words, bytes: else a
 * count) */
#ifndef MT_TUI_TIMELINE_MEASURE_H
#define MT_TUI_TIMELINE_MEASURE_H

#include "tui/app.h"

#define MT_MEASURES(X) \
	X(LIVE, "live bytes", "live", true) \
	X(BLOCKS, "live blocks", "blocks", false) \
	X(ALLOCATIONS, "allocations/s", "allocs", false) \
	X(FREES, "frees/s", "frees", false) \
	X(GROWTH, "growth/s", "growth", true) \
	X(RESIDENT, "resident", "rss", true)

enum mt_measure {
#define X(id, words, brief, bytes) MT_MEASURE_##id,
	MT_MEASURES(X) MT_MEASURE_COUNT,
#undef X
};

const char *mt_measure_words(enum mt_measure);
bool mt_measure_in_bytes(enum mt_measure);
/* Two values a column; *max grows to the largest. The caller frees. */
uint64_t *mt_measure_values(enum mt_measure, const struct mt_timeline *, const struct mt_profile *,
	uint64_t *max);
/* Bytes by which the heap grew in a second of the column; less than 0: it shrank. */
int64_t mt_measure_growth(const struct mt_timeline *, const struct mt_profile *, uint32_t column);
/* All of them in a row, the chosen one marked; a click chooses. */
void mt_measure_draw(struct mt_app *, struct mt_rect);

#endif
