/* What one event does: matching, numbering, model, trace. */
#ifndef MT_CAPTURE_EVENTS_H
#define MT_CAPTURE_EVENTS_H

#include "core/capture/merge.h"
#include "core/capture/ring.h"

/* nesting: how many events wait for this one as their predecessor. */
void mt_event_consume(struct mt_merge *, struct mt_ring *, const struct mt_decoded *, unsigned nesting);
/* Looks in the other rings for the allocation (or the release) of d's address that must come before d, and
 * consumes up to it. */
bool mt_merge_fetch(struct mt_merge *, const struct mt_decoded *d, bool want_allocation, unsigned nesting);

#endif
