/* Usable sizes that do not follow from the size, and what all live blocks have beyond what was
 * asked for. The sum is made when it is asked for, by a walk over the live blocks: allocations and
 * frees do nothing for it. */
#ifndef MT_CAPTURE_SLACK_H
#define MT_CAPTURE_SLACK_H

#include "core/capture/live_table.h"
#include "core/capture/segment.h"

struct mt_slack {
	struct mt_slack_entry {
		uint64_t address, number, usable; /* of an allocation; usable 0: empty */
	} * entries;
	/* by address; entries of blocks that are gone stay until there is need for room */
	uint32_t mask, used;
};

void mt_slack_free(struct mt_slack *);
/* The block was just allocated, and is in the table. */
void mt_slack_note(struct mt_slack *, struct mt_live_table *, const struct mt_pool_cell *,
	uint64_t usable, const struct mt_segment *ticking);
/* The block's noted usable size, or 0. */
uint64_t mt_slack_usable(const struct mt_slack *, const struct mt_pool_cell *);
uint64_t mt_slack_sum(const struct mt_slack *, struct mt_live_table *, const struct mt_profile *,
	const struct mt_segment *ticking);

#endif
