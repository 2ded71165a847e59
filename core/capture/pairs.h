/* Allocations whose blocks the same thread frees by its next event: from a third to nearly all of
 * what programs do. Such a block need not enter the table of live ones, and its two events are one
 * for the model and the trace's encoder. All of it comes to what single events come to. */
#ifndef MT_CAPTURE_PAIRS_H
#define MT_CAPTURE_PAIRS_H

#include "core/capture/merge.h"
#include "core/capture/ring.h"

/* Whether two records are an allocation and the free of its block, both complete by themselves. */
static inline bool mt_pairs_match(const struct mt_wire_record *begin,
	const struct mt_wire_record *end)
{
	uint64_t pointer = mt_wire_record_pointer(begin);

	return end->word1 == mt_wire_record_pack(MT_RECORD_FREE, 0, 0, pointer, 0).word1
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

/* Consumes pairs below limit and with stamps below bound, up to the first that is not plain.
 * Returns how many: where none, its allocation is to be treated as any other. */
uint32_t mt_pairs_run(struct mt_merge *, struct mt_ring *, uint64_t limit, uint64_t bound);

#endif
