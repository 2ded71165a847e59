/* Of a recording that leaves blocks out: which are recorded (doc/sampling.md). A free looks here,
 * and is recorded if it finds its block.
 *
 * A bucket holds seven addresses and the way to another one for what does not fit. A byte beside it
 * counts what it holds with all that follow it: most frees read this byte, find 0, and are done.
 * There are no locks and no marks of what was removed: an empty slot is empty. */
#ifndef MT_SAMPLES_H
#define MT_SAMPLES_H

#include "preload/base/tracer.h"

#define MT_SAMPLES_BITS 15
#define MT_SAMPLES_BUCKETS (1u << MT_SAMPLES_BITS)
#define MT_SAMPLES_SPARE 65536u /* further buckets */
#define MT_SAMPLES_SLOTS 7

struct mt_samples {
	uint8_t held[MT_SAMPLES_BUCKETS];
	struct mt_samples_bucket {
		uint64_t slots[MT_SAMPLES_SLOTS]; /* addresses; 0: free */
		uint64_t next;                    /* of the spare buckets, from 1; 0: none */
	} buckets[MT_SAMPLES_BUCKETS], spare[MT_SAMPLES_SPARE];
	uint64_t spare_used;
	uint32_t full; /* a block had no room: from then on each free is recorded */
};

/* Maps the table, which the kernel empties in a forked child, and begins to leave blocks out as the
 * segment's header asks. False: there is no memory for it. */
bool mt_samples_start(const struct mt_wire_header *copy);
/* Unmaps it: no thread is in a hook any more. */
void mt_samples_free(void);
/* What an allocation counts as when samples are drawn. */
static MT_INLINE uint64_t mt_samples_size(uint64_t size)
{
	return mt_tracer.sample_call ? mt_tracer.sample_call : size;
}
/* Of sizes that are not recorded. */
static MT_INLINE bool mt_samples_leave_out(uint64_t size)
{
	return size - mt_tracer.gate_least > mt_tracer.gate_span;
}
/* Counts an allocation down whose size is recorded. True: it is to be recorded; its block goes into
 * the table. */
bool mt_samples_keeps(struct mt_thread_state *, uint64_t address, uint64_t size);
/* The same without a block yet. */
bool mt_samples_draws(struct mt_thread_state *, uint64_t size);
void mt_samples_insert(uint64_t address);
/* Takes a block out. False: its end is not to be recorded. */
bool mt_samples_take(uint64_t address);

static MT_INLINE uint32_t mt_samples_place(uint64_t address)
{
	return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15ull >> (64 - MT_SAMPLES_BITS));
}

/* False: it is not there. The thread that frees a block was handed it after its insertion, so it
 * reads a count of then or later. */
static MT_INLINE bool mt_samples_may_have(const void *p)
{
	const struct mt_samples *table = mt_tracer.samples;

	return mt_load(&table->held[mt_samples_place((uint64_t)p)]) != 0
		|| mt_unlikely(mt_load(&table->full));
}

#endif
