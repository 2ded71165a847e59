/* Asks the memory for what a ring's next events will touch. */
#ifndef MT_CAPTURE_PREFETCH_H
#define MT_CAPTURE_PREFETCH_H

#include "core/capture/merge.h"
#include "core/capture/ring.h"

#define MT_PREFETCH_MANY 4096 /* live blocks from which on it is worth it */

/* From the position on; moves r->looked. */
void mt_prefetch_from(struct mt_merge *, struct mt_ring *, uint64_t position);

/* Before the event at the position happens. */
static inline void mt_prefetch_look(struct mt_merge *m, struct mt_ring *r, uint64_t position)
{
	if (position >= r->looked && m->model->live_count >= MT_PREFETCH_MANY)
		mt_prefetch_from(m, r, position);
}

#endif
