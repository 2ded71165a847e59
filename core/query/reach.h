/* Which event blocks a question about a range of time needs, by what their headers say: those of
 * the range, and behind it those that name a block of it. doc/analysis.md, "Ranges". */
#ifndef MT_QUERY_REACH_H
#define MT_QUERY_REACH_H

#include "core/query/prepared_query.h"

struct mt_reach {
	uint8_t *wanted; /* by block of the trace */
	uint32_t count;
};

/* For all these questions at once; free it by mt_reach_free. False: every block is needed, because
 * there is no range, or the trace does not say what its blocks name. */
bool mt_reach_find(struct mt_reach *, const struct mt_prepared_query *const *, unsigned count);
void mt_reach_free(struct mt_reach *);

/* Whether any event block of [from, to) is left out. */
bool mt_reach_skips(const struct mt_reach *, const struct mt_trace_reader *, uint32_t from,
	uint32_t to);
/* Calls skipped for each event block of [*next, index) that is not wanted, and moves *next. */
void mt_reach_pass_by(const struct mt_reach *, const struct mt_trace_reader *, uint32_t *next,
	uint32_t index,
	void (*skipped)(void *context, const struct mt_trace_facts *, uint64_t next_number),
	void *context);

static inline bool mt_reach_is_events(const struct mt_trace_reader *r, uint32_t index)
{
	return mt_trace_reader_block(r, index)->type == MT_BLOCK_EVENTS;
}

/* Whether it is a block with events of the range. */
static inline bool mt_reach_overlaps(const struct mt_trace_reader *r, uint32_t index,
	uint64_t from_ns, uint64_t to_ns)
{
	const struct mt_trace_block *b = mt_trace_reader_block(r, index);

	return b->type == MT_BLOCK_EVENTS && b->last_ns >= from_ns && b->first_ns <= to_ns;
}

/* The peak of the whole heap within a question's range. */
struct mt_reach_peak {
	/* an event happened at the range's beginning or later; else bytes is the end's */
	bool begun;
	uint64_t bytes, time_ns;
	uint64_t number; /* of the allocation that reached it; UINT64_MAX: the beginning had it */
};
/* Decodes the few blocks that may contain it, and those with the sizes of what they free. 1: it
 * takes a pass over all events. */
int mt_reach_find_peak(const struct mt_prepared_query *, struct mt_reach_peak *, struct mt_err *);

#endif
