/* A recording whose leak check says which blocks are lost, as if these alone had not been freed. */
#ifndef MT_QUERY_LOST_H
#define MT_QUERY_LOST_H

#include "core/model/profile.h"

/* out: groups are own, all else is borrowed; its live blocks are those that are definitely or
 * indirectly lost (mt_profile.lost_alone). The profile must have verdicts, and whole groups. */
void mt_lost_keep(struct mt_profile *out, const struct mt_profile *);
void mt_lost_free(struct mt_profile *out); /* may be zeroed */

#endif
