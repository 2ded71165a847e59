/* What lives when a recording ends, for the trace: a walk over the tables of live blocks. With the
 * writing, it takes some 100 ns a block. So a large table outlives its merge, and another thread
 * walks it. */
#ifndef MT_CAPTURE_LIVE_LIST_H
#define MT_CAPTURE_LIVE_LIST_H

#include "core/capture/merge.h"

struct mt_live_keep {
	struct mt_live_table *tables[MT_DOMAIN_COUNT]; /* NULL: none */
	struct mt_slack slack;
	struct mt_live_list_restore *restores;
	uint32_t restore_count;
	uint64_t next_number, block_count;
	bool known; /* else there is nothing to write */
	/* whose tables these are, while the recording goes on: they are borrowed, and the writing
	 * ticks */
	struct mt_merge *of;
};

/* Takes the tables out of a merge to which no event comes any more. */
void mt_live_keep_take(struct mt_live_keep *, struct mt_merge *);
/* The same of a merge that goes on, until the next event comes. Tables and slack are borrowed. */
void mt_live_keep_borrow(struct mt_live_keep *, struct mt_merge *);
int mt_live_keep_write(struct mt_live_keep *, struct mt_trace_writer *, struct mt_err *err);
void mt_live_keep_free(struct mt_live_keep *);

#endif
