/* Gives the pages of rings back to the system when their threads are idle or slow, and says how
 * much of the segment is resident. */
#ifndef MT_CAPTURE_RING_PAGES_H
#define MT_CAPTURE_RING_PAGES_H

#include "core/capture/merge.h"

/* Call after each poll. Looks at every ring twice a second. Takes at most budget_ns and the time of
 * one ring for it; the other rings follow at the next call. */
void mt_ring_pages_tend(struct mt_merge *, uint64_t now_ns, uint64_t budget_ns);
/* Bytes of the segment that the program has written and that were not given back. */
uint64_t mt_ring_pages_resident(const struct mt_merge *);

#endif
