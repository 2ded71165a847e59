/* Lists of single blocks, which a thread takes out of the events. */
#ifndef MT_TUI_LISTING_H
#define MT_TUI_LISTING_H

#include "core/query/allocations.h"
#include "tui/data/worker.h"

#define MT_LISTING_MAX 10000u /* blocks kept: the first of the order */

struct mt_worker *mt_listing_new(void);
/* filter: in the prompt's language, parsed before. group: MT_NO_GROUP: of all. Watched and
 * cancelled as any worker; what is collected is a struct mt_allocation_list. */
void mt_listing_start(struct mt_worker *, const struct mt_generation *, const char *filter,
	uint32_t group, enum mt_allocation_order, bool ascending);

#endif
