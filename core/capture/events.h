/* What one event does: matching, numbering, model, trace. */
#ifndef MT_CAPTURE_EVENTS_H
#define MT_CAPTURE_EVENTS_H

#include "core/capture/merge.h"
#include "core/capture/prefetch.h"
#include "core/capture/ring.h"

/* nesting: how many events wait for this one as their predecessor. */
void mt_event_consume(struct mt_merge *, struct mt_ring *, const struct mt_decoded *,
	unsigned nesting);
/* Time never goes back, and never beyond the moment at which the heads were read. To the
 * microsecond, as the trace has it: its replay comes to the same totals. */
void mt_event_move_time(struct mt_merge *, uint64_t stamp);
static inline void mt_event_set_time(struct mt_merge *m, uint64_t stamp)
{
	if (stamp >= m->stamp_end)
		mt_event_move_time(m, stamp);
}
/* The ring's next event has the stamp before which nothing else comes: counts it as ambiguous if
 * another ring's next one has it, too. */
void mt_merge_note_tie(struct mt_merge *, const struct mt_ring *, uint64_t time);
/* The next event of the ring, which was read before, happens. bound: nothing else is earlier. */
static inline __attribute__((always_inline)) void mt_event_step(struct mt_merge *m,
	struct mt_ring *r, uint64_t time, uint64_t bound)
{
	if (__builtin_expect(time == bound, 0))
		mt_merge_note_tie(m, r, time);
	mt_prefetch_look(m, r, r->decoded);
	r->time = time;
	r->decoded++;
	mt_event_set_time(m, time);
	m->model->profile->info.events++;
}

/* Something that the ring's thread does to a block, now. The period stays unset, because a writer
 * takes it from no event, and setting it costs 1 % of the recorder's instructions. */
static inline __attribute__((always_inline)) void mt_event_fill(struct mt_event *e,
	const struct mt_merge *m, const struct mt_ring *r, const struct mt_pool_cell *b,
	enum mt_event_type type, uint16_t function, uint64_t previous)
{
	e->type = (uint8_t)type;
	e->function = function;
	e->thread = r->thread;
	e->group = b->group;
	e->time_ns = m->now_ns;
	e->number = b->number;
	e->previous = previous;
	e->size = b->size;
	e->address = b->address;
}

/* Which open block is the ring's: where there are many rings, it may be another's. */
static inline unsigned mt_event_slot(const struct mt_merge *m, const struct mt_ring *r)
{
	return (unsigned)(r - m->rings) % MT_LIVE_TABLE_OPEN;
}

/* A block that lives from now on, into the model. */
static inline __attribute__((always_inline)) struct mt_pool_cell mt_event_begin(struct mt_merge *m,
	const struct mt_ring *r, uint64_t address, uint64_t size, uint32_t group, bool again)
{
	struct mt_pool_cell cell = {
		.address = address,
		.size = size,
		.number = m->next_number++,
		.group = group,
		.thread = r->thread,
	};
	struct mt_block block = mt_pool_block(&cell);

	block.time_ns = m->now_ns;
	mt_model_allocate(m->model, &block, again);
	if (__builtin_expect(m->history != NULL, 0))
		mt_block_history_note(m->history, block.number, block.time_ns,
			block.thread_sequence);
	return cell;
}

/* A mark from MT_DECODED_GAP on: what is beside the heap. (marks.c) */
void mt_mark_consume(struct mt_merge *, struct mt_ring *, const struct mt_decoded *);
/* Consumes allocations and frees straight from the ring, up to the first record that is neither, or
 * that has extensions, or to one with a stamp beyond bound; then goes on with the ring that has
 * what comes first, if that is such an event too. r->ready must be false. */
void mt_event_run(struct mt_merge *, struct mt_ring *, uint64_t bound);
/* Lets the program have the slots of what the ring's reader has consumed. */
void mt_merge_step(struct mt_merge *, struct mt_ring *);
/* Looks in the other rings for the allocation (or the release) of the address in its domain that
 * must come before an event with this stamp, and consumes up to it. */
bool mt_merge_fetch(struct mt_merge *, unsigned domain, uint64_t address, uint64_t stamp,
	bool want_allocation, unsigned nesting);

#endif
