/* Private to core/query: a filter made ready for going over events, and the pass that does. */
#ifndef MT_QUERY_PREPARED_QUERY_H
#define MT_QUERY_PREPARED_QUERY_H

#include "core/model/checkpoint.h"
#include "core/query/bits.h"
#include "core/query/filter_match.h"
#include "core/query/scan.h"

/* from: a number, or where these are not known a time */
struct mt_set_marker {
	uint64_t from;
	uint32_t text;
};

/* A place among the events: allocations so far, and other events since the last of them. */
struct mt_place {
	uint64_t allocations, since;
};
static inline void mt_place_pass(struct mt_place *p, const struct mt_event *e)
{
	if (e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE)
		*p = (struct mt_place){e->number + 1, 0};
	else if (e->type != MT_EVENT_NOTE)
		p->since++;
}
static inline bool mt_place_after(const struct mt_place *a, const struct mt_place *b)
{
	return a->allocations != b->allocations
		? a->allocations > b->allocations
		: a->since > b->since;
}

struct mt_prepared_query {
	const struct mt_source *source;
	struct mt_filter_bounds bounds;
	unsigned needs;
	uint8_t *groups;               /* verdicts; NULL: all match */
	struct mt_set_marker *markers; /* in order */
	uint32_t marker_count;
	bool markers_by_time;
	/* behind the event that made the heap largest, where the filter asks for it */
	struct mt_place peak;
	double done, share; /* of all passes: before this one; of it */
};

/* question: zeroed. filter may be NULL. */
int mt_prepared_query_init(struct mt_prepared_query *, const struct mt_source *, struct mt_filter *,
	struct mt_err *);
void mt_prepared_query_free(struct mt_prepared_query *);

/* The last marker set before an allocation. */
uint32_t mt_prepared_query_marker(const struct mt_prepared_query *, uint64_t number,
	uint64_t time_ns);
/* Its usable size: as noted behind it, or by the rule that info names; 0: not known. */
uint64_t mt_prepared_query_usable(const struct mt_prepared_query *, const struct mt_event *,
	const struct mt_event *after);
/* Sets domain, key and address of an allocation whose group exists. */
void mt_prepared_query_place(const struct mt_prepared_query *, struct mt_allocation *,
	uint64_t key);
/* Whether it matches as far as it is known then; its group exists. */
bool mt_prepared_query_judge(const struct mt_prepared_query *, const struct mt_event *,
	const struct mt_event *after);
static inline bool mt_prepared_query_takes(const struct mt_prepared_query *q,
	const struct mt_event *e, const struct mt_event *after)
{
	if (q->groups && !q->groups[e->group])
		return false;
	return !q->bounds.at_allocation || mt_prepared_query_judge(q, e, after);
}

/* Goes over all events to find the peak of the heap. -ENOTSUP: it is not in them. */
int mt_prepared_query_find_peak(struct mt_prepared_query *, struct mt_err *);

struct mt_reach;

struct mt_pass {
	unsigned wants; /* enum mt_trace_wants */
	/* Only these event blocks are needed (core/query/reach.h); NULL: all are. Of each of the
	 * others, skipped learns what it allocated, and the number behind that; may be NULL. */
	const struct mt_reach *reach;
	void (*skipped)(void *context, const struct mt_trace_facts *, uint64_t next_number);
	bool from_range; /* what comes before the range is not needed */
	/* after: follows the last of them; NULL: nothing does. Negative: failed; positive: ends the
	 * pass, which returns it. */
	int (*events)(void *context, const struct mt_event *, uint32_t count,
		const struct mt_event *after);
	/* Of a trace whose events begin at a checkpoint: its blocks, by rising number, and then
	 * none. */
	int (*resume)(void *context, const struct mt_checkpoint *,
		const struct mt_checkpoint_block *);
	/* asked behind the range: nothing that follows matters. May be NULL */
	bool (*idle)(void *context);
	/* what the consumer found wrong with the events: it returned -EINVAL */
	const char **fault;
	void *context;
};
/* A checkpoint's block as the events that it would have come with: of its allocation, and a note of
 * its usable size. */
struct mt_resumed {
	struct mt_event events[2];
	const struct mt_event *after;
};
void mt_prepared_query_resumed(struct mt_resumed *, const struct mt_checkpoint_block *);
int mt_prepared_query_pass(const struct mt_prepared_query *, const struct mt_pass *,
	struct mt_err *);
/* Several (MT_MATCHES_MOST) in one, of the same source; how far it is says the first query. */
int mt_prepared_query_passes(const struct mt_prepared_query *const *, const struct mt_pass *,
	unsigned count, struct mt_err *);

/* Joins allocations with their ends and visits what matches: mt_scan_allocations. */
int mt_join(const struct mt_prepared_query *, unsigned wants,
	int (*visit)(void *context, const struct mt_allocation *), void *context, struct mt_err *);
/* The matching allocations as bits, by a join: for a second pass. Of several questions at once. */
int mt_join_bits(const struct mt_prepared_query *const *, struct mt_bits *const *, unsigned count,
	struct mt_err *);

#endif
