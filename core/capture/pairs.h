/* Allocations whose blocks the same thread frees by its next event: from a third to nearly all of
 * what programs do. Such a block need not enter the table of live ones, and its two events are one
 * for the model and the trace's encoder. All of it comes to what single events come to. */
#ifndef MT_CAPTURE_PAIRS_H
#define MT_CAPTURE_PAIRS_H

#include "core/capture/events.h"
#include "core/capture/ring.h"

/* Whether a record is the free of a block, complete by itself. pointer: as records have it. */
static inline bool mt_pairs_is_end(const struct mt_wire_record *record, uint64_t pointer)
{
	return record->word1 == mt_wire_record_pack(MT_RECORD_FREE, 0, 0, pointer, 0).word1;
}

/* Whether two records are an allocation and the free of its block, both complete by themselves. */
static inline bool mt_pairs_match(const struct mt_wire_record *begin,
	const struct mt_wire_record *end)
{
	return mt_pairs_is_end(end, mt_wire_record_pointer(begin))
		&& mt_wire_record_type(begin) == MT_RECORD_ALLOC && mt_ring_is_plain(begin);
}

enum mt_pairing {
	MT_PAIR_NONE,
	MT_PAIR_DIVIDED, /* by another ring's events */
	MT_PAIR_WHOLE,
};

/* What begins at r->decoded, which reads as record. bound: nothing else has an earlier stamp. */
static inline enum mt_pairing mt_pairs_begin(const struct mt_ring *r,
	const struct mt_wire_record *record, uint64_t limit, uint64_t bound)
{
	struct mt_wire_record next;

	if (limit - r->decoded < 2) /* what comes next is not published: it may be being written */
		return MT_PAIR_NONE;
	next = mt_ring_read(r, r->decoded + 1);
	if (!mt_pairs_match(record, &next))
		return MT_PAIR_NONE;
	return r->time + mt_wire_record_delta(record) + mt_wire_record_delta(&next) < bound
		? MT_PAIR_WHOLE
		: MT_PAIR_DIVIDED;
}

/* What is known of nodes: group + 1 of each that has been met. */
struct mt_pair_groups {
	const uint32_t *of;
	uint32_t count;
};
static inline struct mt_pair_groups mt_pair_groups(const struct mt_merge *m)
{
	return (struct mt_pair_groups){m->tables.groups, m->segment->nodes.capacity};
}

struct mt_pair {
	uint64_t address, begin, end; /* begin and end: stamps */
	uint32_t size, group;
	uint32_t function; /* of the free */
};

/* time: stamp of the event before. False: the records are no pair; or its group has not been met
 * yet, or its free has a stack: these are two single events. */
static inline __attribute__((always_inline)) bool mt_pair_read(const struct mt_wire_record *begin,
	const struct mt_wire_record *end, uint64_t time, struct mt_pair_groups groups,
	struct mt_pair *pair)
{
	uint32_t node = mt_wire_record_node(begin);

	pair->address = mt_wire_record_pointer(begin) << 3;
	pair->begin = time + mt_wire_record_delta(begin);
	pair->end = pair->begin + mt_wire_record_delta(end);
	pair->size = mt_wire_record_size(begin);
	pair->group = (node < groups.count ? groups.of[node] : 0) - 1;
	pair->function = mt_wire_record_node(end);
	return mt_pairs_match(begin, end) && pair->function < MT_FUNCTION_COUNT
		&& pair->group != UINT32_MAX;
}

bool mt_pair_reach_end(struct mt_merge *, uint64_t stamp); /* the rare part of what follows */

/* Moves the time to that of a pair's end, begin_ns is when it begins. False: it is not within the
 * timeline's step. Then nothing has happened, but that time may have passed up to its beginning: so
 * it does for the allocation as a single event, which comes next. */
static inline __attribute__((always_inline)) bool mt_pair_pass_time(struct mt_merge *m,
	const struct mt_pair *pair, uint64_t *begin_ns)
{
	mt_event_set_time(m, pair->begin);
	*begin_ns = m->now_ns;
	if (m->now_ns >= m->model->step_end_ns)
		return false;
	return pair->end < m->stamp_end || mt_pair_reach_end(m, pair->end);
}

/* Consumes pairs below limit and with stamps below bound, up to the first that is not plain.
 * Returns how many: where none, its allocation is to be treated as any other. */
uint32_t mt_pairs_run(struct mt_merge *, struct mt_ring *, uint64_t limit, uint64_t bound);

#endif
