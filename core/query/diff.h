/* What changed from one profile to another: two recordings, or the heap at two instants of one. */
#ifndef MT_QUERY_DIFF_H
#define MT_QUERY_DIFF_H

#include "core/query/query.h"

enum mt_diff_state {
	MT_DIFF_NEW,
	MT_DIFF_GREW,
	MT_DIFF_SHRANK,
	MT_DIFF_GONE,
	MT_DIFF_SAME,
	MT_DIFF_STATES
};
const char *mt_diff_state_name(enum mt_diff_state);

/* One side; all borrowed. */
struct mt_diff_side {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	const struct mt_selection *selection;
};

/* Groups of both sides whose backtraces are the same. */
struct mt_diff_entry {
	enum mt_diff_state state;
	struct mt_group a, b;      /* sums, as recorded */
	uint32_t group_a, group_b; /* one group of each side, MT_NO_GROUP: none */
	int64_t change;            /* of the metric: b * factor - a; of a time: b - a */
	bool doubtful;             /* a frame without a name was matched by its module alone */
};
/* The backtrace of an entry: the later one, or the earlier one where that has more names. */
void mt_diff_backtrace(struct mt_backtrace *, const struct mt_diff_side *a,
	const struct mt_diff_side *b, const struct mt_diff_entry *);

struct mt_diff {
	/* first those that grew, then those that shrank (ascending: the other way round), each with
	 * the largest change first; last those without a change */
	struct mt_diff_entry *entries;
	uint32_t count, capacity;
	struct mt_group a, b; /* sums of everything */
	struct mt_folds folds;
	/* what b's counts and bytes are multiplied with before they are compared */
	double factor;
	uint32_t states[MT_DIFF_STATES]; /* how many entries have each */
};

enum mt_diff_normalise { MT_DIFF_AS_RECORDED, MT_DIFF_PER_TIME, MT_DIFF_PER_ALLOCATION };

/* Where a side does not know kinds of call (what other tools recorded), they are left out of
 * account. Backtraces are the same when their kinds of call and their frames' functions and source
 * files are, whatever the lines and addresses; a frame without a name is the same at the same
 * offset of the same build of a module, and else is taken for any other nameless one of that
 * module. out: zeroed, or of an earlier call. */
void mt_diff_get(struct mt_diff *out, const struct mt_diff_side *a, const struct mt_diff_side *b,
	enum mt_metric, enum mt_diff_normalise, bool ascending);
void mt_diff_free(struct mt_diff *);

/* What of it takes time, once for all metrics and selections: which groups of two recordings have
 * the same backtrace. It reads definitions and names alone: no totals, no selection. progress may
 * be NULL; non-zero cancels: -ECANCELED, and there are no pairs. Else 0, and mt_diff_pairs_free
 * frees them. */
struct mt_diff_pairs {
	uint32_t *a, *b; /* by group of each side: the backtrace */
	uint32_t a_count, b_count, count;
	bool *doubtful; /* by backtrace */
};
int mt_diff_pair(struct mt_diff_pairs *, const struct mt_diff_side *a, const struct mt_diff_side *b,
	int (*progress)(void *context, double fraction), void *context);
/* The other way round: a becomes b. */
void mt_diff_pairs_swap(struct mt_diff_pairs *);
void mt_diff_pairs_free(struct mt_diff_pairs *);
/* As mt_diff_get. The sides may be what matched of the recordings that were paired. */
void mt_diff_of_pairs(struct mt_diff *out, const struct mt_diff_pairs *,
	const struct mt_diff_side *a, const struct mt_diff_side *b, enum mt_metric,
	enum mt_diff_normalise, bool ascending);
/* Two instants of one recording: the same group has the same number on both sides. A group is new
 * when its metric was 0 on the first side, gone when it is 0 on the second. */
void mt_diff_since(struct mt_diff *out, const struct mt_diff_side *a, const struct mt_diff_side *b,
	enum mt_metric, bool ascending);

/* Modules whose functions have names on one side and none on the other, so that no backtrace
 * through them is the same: the first one's name and how many others. NULL: there are none.
 * which: the side without names, 0 or 1. The caller frees. */
char *mt_diff_nameless(const struct mt_diff_side *a, const struct mt_diff_side *b, int *which);

#endif
