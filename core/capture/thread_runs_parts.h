/* Private to core/capture: what the parts of taking runs share. */
#ifndef MT_CAPTURE_THREAD_RUNS_PARTS_H
#define MT_CAPTURE_THREAD_RUNS_PARTS_H

#include "core/capture/pairs.h"
#include "core/capture/thread_runs.h"
#include "core/trace/unravel.h"

#define MT_THREAD_RUN_PAIRS (MT_THREAD_RUN_EVENTS_MAX / MT_THREAD_RUNS_MAX / 2)

/* What comes next in a ring, read once: the program may write over it meanwhile. */
struct mt_thread_run {
	struct mt_ring *ring;
	/* the pairs' events, two of each: the first is 1 where the ring has an open block, of which
	 * the first pair is the end */
	uint32_t first, end;
	struct mt_pair pairs[MT_THREAD_RUN_PAIRS];
	uint64_t times[2 * MT_THREAD_RUN_PAIRS + 1];  /* stamps, and UINT64_MAX behind the last */
	int64_t changes[2 * MT_THREAD_RUN_PAIRS + 1]; /* of live bytes */
	bool guarded[2 * MT_THREAD_RUN_PAIRS + 1];    /* see guard_all in thread_runs_order.c */
	uint64_t size_max, lowest, highest;           /* of the blocks; of their addresses */
};

struct mt_thread_runs {
	uint32_t pause, pause_after; /* attempts to be left out, now and after the next failure */
	uint32_t most;               /* pairs of a run that are asked for */
	uint32_t count;              /* of runs */
	struct mt_thread_run runs[MT_THREAD_RUNS_MAX];
	uint8_t choices
		[MT_THREAD_RUN_EVENTS_MAX]; /* run of the event that comes first, and so on */
};

/* A beginning of all runs. */
struct mt_batch {
	uint32_t events, ambiguous;
	uint32_t at[MT_THREAD_RUNS_MAX]; /* what comes next in each */
	uint64_t max_bytes;              /* live at most, in the timeline's step */
};

/* Fills the runs with what comes next in their rings, and ends before a stamp. Returns up to
 * when that is all there is. (thread_runs_gather.c) */
uint64_t mt_thread_runs_gather(struct mt_merge *, struct mt_thread_runs *, uint64_t until);
/* What comes at a position of a ring, behind an event with this time, has no earlier stamp;
 * UINT64_MAX: there is nothing of what this poll takes. */
uint64_t mt_thread_runs_not_before(const struct mt_ring *, uint64_t position, uint64_t time);
/* Finds what happens before a stamp, events_max events at most, up to a moment at which no run
 * has an open block, and in which order. (thread_runs_order.c) */
struct mt_batch mt_thread_runs_order(const struct mt_merge *, struct mt_thread_runs *,
	uint64_t until, uint32_t events_max);

#endif
