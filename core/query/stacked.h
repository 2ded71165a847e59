/* The timeline, stacked: whose blocks the heap is made of at each of its steps. */
#ifndef MT_QUERY_STACKED_H
#define MT_QUERY_STACKED_H

#include "core/query/rows.h"

#define MT_STACKED_MOST 52

struct mt_stacked_series {
	uint32_t name;         /* string id in the names; by backtrace 0 */
	uint32_t group;        /* by backtrace; else MT_NO_GROUP */
	uint64_t at_peak;      /* its share when all that is shown is largest */
	uint64_t *live, *most; /* by step: at its end; the largest within it */
};
struct mt_stacked {
	struct mt_strings names;
	/* by share of the peak, the largest first; behind them: all others */
	struct mt_stacked_series series[MT_STACKED_MOST + 1];
	uint32_t count; /* the others left out */
	uint32_t steps;
	uint64_t until_ns; /* set before: != 0: what is freed later still lives */
	/* != 0: of the steps before it, what was freed before it is among the others, and not in
	 * their most */
	uint64_t gone_ns;
};

/* shown: what the filter leaves of the source's profile, with its history. The series are of the
 * `top` whose share of what is shown is largest when that is largest, in bytes or (by_count) in
 * blocks. With the others they add up to the shown samples, step by step. Goes over the events;
 * memory is bounded by series times steps, what lives at once, and a number per group. out: zeroed
 * but for until_ns; to be freed after an error too. */
int mt_stacked_get(struct mt_stacked *out, const struct mt_source *, struct mt_filter *,
	const struct mt_profile *shown, enum mt_rows_by, bool by_count, uint32_t top,
	struct mt_err *);
void mt_stacked_free(struct mt_stacked *);

#endif
