/* Places that both sides of a difference have: the same address of the same build of a module. */
#ifndef MT_QUERY_DIFF_PLACES_H
#define MT_QUERY_DIFF_PLACES_H

#include "core/query/diff.h"

/* By pc of the side: the other side's pc for the same place, if that one has names; 0: there is
 * none. The caller frees. */
uint32_t *mt_diff_places(const struct mt_diff_side *side, const struct mt_diff_side *other);
/* Whether the function of this pc is known by name. */
bool mt_diff_is_named(const struct mt_symbols *, uint32_t pc);

#endif
