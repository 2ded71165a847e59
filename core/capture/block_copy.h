/* The live blocks of an instant between two events, copied in slices while events go on. The walk
 * copies the blocks that it meets, and leaves out those that began after the instant. A block that
 * ends before the walk is over is kept as it was. So the copy is exact, and nothing waits for all
 * of it. Each slice sorts its blocks by number; at the end the slices are merged. */
#ifndef MT_CAPTURE_BLOCK_COPY_H
#define MT_CAPTURE_BLOCK_COPY_H

#include "core/capture/block_history.h"
#include "core/capture/live_table.h"
#include "core/model/checkpoint.h"

struct mt_block_copy {
	uint64_t before; /* number of the first allocation after the instant */
	struct mt_merge_walk walk;
	/* Blocks that were sorted together. */
	struct mt_copied_run {
		struct mt_copied_block *blocks;
		uint32_t count, at;
	} * runs;
	uint32_t run_count, run_capacity;
	struct mt_copied_run open; /* kept blocks that are not sorted yet */
	struct mt_copied_extra *extras;
	uint32_t extra_count, extra_capacity;
	uint32_t *heap, heap_count; /* runs by their next block's number */
	uint64_t copied;            /* with those that were copied twice */
	struct mt_copied_block *spare;
	struct mt_block_history_cursor cursor;
	struct mt_block_history_survivor *survivors;
	uint64_t survivor_count;
};

#define MT_COPY_SLICE 4096u /* blocks of a slice: 0.2 ms */

/* Between two events, with a history. No copy is under way. */
void mt_block_copy_begin(struct mt_merge *);
/* Copies the next blocks, `most` (up to MT_COPY_SLICE) at the most. False: all are copied, and next
 * can be called. */
bool mt_block_copy_slice(struct mt_merge *, uint32_t most);
/* The next block by number; false: there are no more. */
bool mt_block_copy_next(struct mt_merge *, struct mt_checkpoint_block *);
/* taken: all blocks were asked for. Then the history forgets what it knows of earlier ones. */
void mt_block_copy_end(struct mt_merge *, bool taken);
/* The block ends or is released, and began before the instant. */
void mt_block_copy_keep(struct mt_merge *, const struct mt_pool_cell *);

#endif
