/* Folding: the value of several groups from the value of each, by the rule of each column. Counters
 * add up in the sum itself. What lies beside the groups adds up in memory that the owner of the
 * sums keeps, and costs nothing if the profile has none of it. */
#ifndef MT_QUERY_FOLD_H
#define MT_QUERY_FOLD_H

#include "core/query/query.h"

#include <stddef.h>

struct mt_fold_values {
	uint64_t range_live_count, range_live_bytes;
	uint64_t suspect; /* of a sum with MT_GROUP_SUSPECT */
	struct mt_estimates estimates;
	/* By column of the profile: its values, then its variance if it has any. */
	uint64_t values[];
};

/* Adds a group of the profile, or a sum of such groups, to the sum, which starts zeroed. A group
 * without allocations adds nothing. Copies of a sum share what is folded: only one of them may be
 * added to. */
void mt_fold(struct mt_folds *, struct mt_group *sum, const struct mt_profile *,
	const struct mt_group *);
/* One value of a column to another, by its rule, without the variance. first: there was none. */
enum mt_folded { MT_FOLDED_NOT, MT_FOLDED_ADDED, MT_FOLDED_TAKEN };
enum mt_folded mt_fold_value(uint64_t *to, const uint64_t *from, const struct mt_group_column *,
	bool first);
/* The counters alone, of a group with allocations. */
void mt_fold_counters(struct mt_group *sum, const struct mt_group *);
/* The sum gets values of its own. */
void mt_fold_own(struct mt_folds *, struct mt_group *sum, const struct mt_profile *);
/* Gives the sum memory for values, if it has none. */
struct mt_fold_values *mt_fold_values(struct mt_folds *, struct mt_group *sum,
	const struct mt_profile *);
/* Where a column's values are in a sum's. */
size_t mt_fold_place(const struct mt_profile *, uint32_t column);
void mt_folds_free(struct mt_folds *);

#endif
