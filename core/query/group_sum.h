/* Adding groups up: counts and bytes add, times and sizes take the smaller or larger. */
#ifndef MT_QUERY_GROUP_SUM_H
#define MT_QUERY_GROUP_SUM_H

#include "core/model/profile.h"

/* sum starts zeroed. A group without allocations adds nothing. */
void mt_group_sum(struct mt_group *sum, const struct mt_group *group);

#endif
