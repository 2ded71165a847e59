/* Adding groups up: counts and bytes add, times and sizes take the smaller or larger. */
#ifndef MT_QUERY_GROUP_SUM_H
#define MT_QUERY_GROUP_SUM_H

#include "core/query/query.h"

/* sum starts zeroed. A group without allocations adds nothing. */
void mt_group_sum(struct mt_group *sum, const struct mt_group *group);
/* The same of a group of the profile, which may have blocks of which it is not known whether they
 * live. */
static inline void mt_group_sum_of(struct mt_group *sum, const struct mt_profile *p,
	const struct mt_group *group)
{
	mt_group_sum(sum, group);
	if (mt_profile_is_estimated(p, group))
		sum->flags |= MT_GROUP_ESTIMATED;
}

/* Besides: a sum is as suspicious as the worst of its groups, so that it says of one what the list
 * of groups says. For those who ask for this metric alone: without samples it takes a while. */
void mt_group_sum_suspect(struct mt_group *sum, const struct mt_profile *, const struct mt_group *);

#endif
