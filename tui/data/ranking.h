/* Samples of what every group holds live, taken while somebody watches, and which groups look like
 * leaks by them. */
#ifndef MT_TUI_RANKING_H
#define MT_TUI_RANKING_H

#include "tui/data/history_worker.h"

/* Points have equal distances. When there are MT_RANK_POINTS, every second one goes and the
 * distance doubles, up to eight seconds; from then on the oldest goes. So the span grows with the
 * time of watching, to three minutes. */
#define MT_RANKING_MOST 100000u /* with more groups a point would take the screen too long */
struct mt_ranking {
	struct mt_rank_point *points; /* MT_RANK_POINTS of each group, oldest first */
	/* of each group, as mt_rank_series takes it; NULL: not known */
	uint32_t *old;
	uint32_t groups, capacity; /* that there are points of; room for */
	uint64_t time_ns[MT_RANK_POINTS];
	uint32_t count;
	uint64_t step_ns; /* 0: not begun */
	uint8_t *scores;  /* of each group; NULL: too few points yet */
	uint32_t score_count, score_capacity;
	double weight; /* of all groups */
};

void mt_ranking_free(struct mt_ranking *);
/* Takes a point where its time has come. */
void mt_ranking_add(struct mt_ranking *, const struct mt_profile *);
/* Takes over what the events told of all groups. */
void mt_ranking_take(struct mt_ranking *, const struct mt_profile *, const struct mt_series *);
/* false: nothing is known of how the group grows. */
bool mt_ranking_get(const struct mt_ranking *, const struct mt_profile *, uint32_t group,
	struct mt_rank *);
/* Live bytes at these points, at most so many of them, spread over the span; returns how many. */
uint32_t mt_ranking_history(const struct mt_ranking *, uint32_t group, uint64_t *out,
	uint32_t most);

#endif
