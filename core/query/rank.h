/* Which groups look like leaks, and why: pure functions over a group's totals and over samples of
 * what it held live. A leak goes on growing, whatever comes and goes beside it; so what counts are
 * the minima of windows. A warm-up grows once, a sawtooth comes back, and what is only noisy rises
 * as often as it falls. */
#ifndef MT_QUERY_RANK_H
#define MT_QUERY_RANK_H

#include "core/model/profile.h"

/* Of a group at one instant. */
struct mt_rank_point {
	uint64_t bytes; /* live */
	uint32_t count; /* live */
	uint32_t freed; /* blocks so far, modulo 2^32 */
};
#define MT_RANK_POINTS 24 /* that are looked at, at the most */
#define MT_RANK_LEAST 6   /* with fewer nothing can be said */
#define MT_RANK_WINDOWS 6

/* What the four parts give at the most: 100 together. */
enum { MT_RANK_STEADY = 45, MT_RANK_SHARE = 35, MT_RANK_SURVIVORS = 10, MT_RANK_WHOLE = 10 };

/* Scores below it are noise: a group that has one is not called a suspect. */
#define MT_RANK_SUSPECT 30

struct mt_rank {
	uint8_t score; /* 0 to 100: the sum of: */
	uint8_t steady, share, survivors, whole;
	/* from totals alone: nothing is known of how the group became what it is */
	bool estimated;
	double certainty; /* that it grows on and on, 0 to 1 */
	double slope;     /* bytes a second, of the minima */
	double part;      /* of what all groups that look like leaks grow by, 0 to 1 */
	uint64_t span_ns; /* that was looked at */
	uint32_t windows; /* in it */
	/* of these, with a higher minimum than the one before (the first counts with the second) */
	uint32_t rising;
	uint64_t then_ns;    /* so long ago */
	uint64_t then_count; /* so many blocks lived, */
	/* and so many of them live now: at least, since others may have been freed, unless: */
	uint64_t old_count;
	bool exact;     /* they were counted one by one */
	uint64_t freed; /* blocks, ever */
};

/* Whether the last window's minimum is above the first one's: soon told of the many groups that do
 * not grow, whose score is 0. */
bool mt_rank_may_grow(const struct mt_rank_point *, uint32_t count);
/* From samples, oldest first, at least MT_RANK_LEAST; else as of totals. Score and share are to be
 * set by mt_rank_finish. old: live now of those that lived at mt_rank_then(), or MT_RANK_UNKNOWN */
void mt_rank_series(struct mt_rank *, const struct mt_rank_point *, const uint64_t *time_ns,
	uint32_t count, const struct mt_group *, int64_t old);
#define MT_RANK_UNKNOWN (-1)
static inline uint32_t mt_rank_then(uint32_t count)
{
	return count / 2;
}
/* What the group weighs among those that look like leaks: bytes a second. */
double mt_rank_weight(const struct mt_rank *);
void mt_rank_finish(struct mt_rank *, double weight_of_all);
/* Whole, from the group's totals at the end of a recording, without its history. */
void mt_rank_totals(struct mt_rank *, const struct mt_profile *, const struct mt_group *);

#endif
