/* Private to core/trace: a batch of events that are stored run by run, each run the events
 * of a thread, and the order in which they happened. doc/trace-format.md, "Orders". */
#ifndef MT_TRACE_UNRAVEL_H
#define MT_TRACE_UNRAVEL_H

#include "core/trace/trace.h"

#define MT_THREAD_RUNS_MAX 16          /* of a batch */
#define MT_THREAD_RUN_EVENTS_MAX 4096u /* of all runs of a batch */

/* Bits that say from which of so many runs an event comes: a divisor of 8. */
static inline unsigned mt_thread_run_bits(uint32_t runs)
{
	return runs <= 2 ? 1 : runs <= 4 ? 2 : 4;
}

static inline size_t mt_thread_run_bytes(uint32_t runs, uint32_t events)
{
	return ((size_t)events * mt_thread_run_bits(runs) + 7) / 8;
}

struct mt_unravel {
	const uint8_t *choices; /* borrowed */
	unsigned bits;
	uint32_t count, given;           /* events of the batch; those that were given back */
	uint32_t at[MT_THREAD_RUNS_MAX]; /* each run's next event */
	struct mt_event stored[MT_THREAD_RUN_EVENTS_MAX];
	uint64_t happened
		[MT_THREAD_RUN_EVENTS_MAX]; /* number by stored number, from the batch's first */
};

/* Begins with count events that are in stored, of which the first allocation has the number first.
 * choices: mt_thread_run_bytes of them, which stay where they are. False: one is of no run. */
bool mt_unravel_start(struct mt_unravel *, const uint8_t *choices, uint32_t runs, uint32_t count,
	uint64_t first);
/* The next events in the order in which they happened, `room` at most; 0: there are no more. */
uint32_t mt_unravel_next(struct mt_unravel *, struct mt_event *out, uint32_t room);

#endif
