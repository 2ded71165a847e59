/* Private to core/trace: a batch of events that are stored strand by strand, each strand the events
 * of a thread, and the order in which they happened. doc/trace-format.md, "Orders". */
#ifndef MT_TRACE_UNRAVEL_H
#define MT_TRACE_UNRAVEL_H

#include "core/trace/trace.h"

#define MT_STRANDS_MAX 16          /* of a batch */
#define MT_STRAND_EVENTS_MAX 4096u /* of all strands of a batch */

/* Bits that say from which of so many strands an event comes: a divisor of 8. */
static inline unsigned mt_strand_bits(uint32_t strands)
{
	return strands <= 2 ? 1 : strands <= 4 ? 2 : 4;
}

static inline size_t mt_strand_bytes(uint32_t strands, uint32_t events)
{
	return ((size_t)events * mt_strand_bits(strands) + 7) / 8;
}

struct mt_unravel {
	const uint8_t *choices; /* borrowed */
	unsigned bits;
	uint32_t count, given;       /* events of the batch; those that were given back */
	uint32_t at[MT_STRANDS_MAX]; /* each strand's next event */
	struct mt_event stored[MT_STRAND_EVENTS_MAX];
	uint64_t happened
		[MT_STRAND_EVENTS_MAX]; /* number by stored number, from the batch's first */
};

/* Begins with count events that are in stored, of which the first allocation has the number first.
 * choices: mt_strand_bytes of them, which stay where they are. False: one is of no strand. */
bool mt_unravel_start(struct mt_unravel *, const uint8_t *choices, uint32_t strands, uint32_t count,
	uint64_t first);
/* The next events in the order in which they happened, `room` at most; 0: there are no more. */
uint32_t mt_unravel_next(struct mt_unravel *, struct mt_event *out, uint32_t room);

#endif
