/* The group that is said to look like a leak, above all views. */
#ifndef MT_TUI_SUSPECT_H
#define MT_TUI_SUSPECT_H

#include "tui/data/ranking.h"

/* A group that was named stays it while its score is high, since of several the first may change
 * with every point. Scores are of the last minutes, so that of a program which idles falls: then
 * the group stays while it holds at least half of its most, unless another one grows. */
struct mt_suspect {
	uint32_t group; /* from 1; 0: none */
	bool grows;     /* it did in the last minute; false: until grew_ns */
	uint64_t most_bytes, grew_ns;
};

/* After the ranking or the profile has changed. */
void mt_suspect_update(struct mt_suspect *, const struct mt_ranking *, const struct mt_profile *,
	bool live);

#endif
