#include "core/query/reach.h"
#include "core/base/search.h"

#include <stdlib.h>

/* Numbers of the range's allocations: one interval for each run of its blocks. */
struct intervals {
	struct mt_trace_span *at;
	uint32_t count, capacity;
};

/* Chains need all events, and so does the order of events around the heap's peak. */
static bool has_range(const struct mt_prepared_query *q)
{
	return (q->bounds.from_ns || q->bounds.to_ns < UINT64_MAX) && !q->bounds.alive_at_peak
		&& !q->bounds.dead_at_peak && !(q->needs & MT_FILTER_NEEDS_CHAIN);
}

/* ---- which blocks ---- */

/* Those whose allocations may be in the range, and what is needed of all blocks. */
static bool choose_range(struct mt_reach *reach, const struct mt_trace_reader *r, uint64_t from_ns,
	uint64_t to_ns, struct mt_trace_facts *f, struct intervals *numbers)
{
	bool inside = false;

	for (uint32_t i = 0; i < reach->count; i++) {
		if (!mt_reach_is_events(r, i))
			continue;
		if (!mt_trace_reader_facts(r, i, f) || !f->exact || !f->knows_earlier)
			return false;
		if (inside)
			numbers->at[numbers->count - 1].last = f->first_number - 1;
		reach->wanted[i] = mt_reach_overlaps(r, i, from_ns, to_ns);
		if (reach->wanted[i] && !inside) {
			MT_GROW(numbers->at, numbers->count, numbers->capacity);
			numbers->at[numbers->count++] =
				(struct mt_trace_span){f->first_number, UINT64_MAX};
		}
		inside = reach->wanted[i];
		reach->wanted[i] |= !f->knows_threads;
	}
	return true;
}

static bool ends_behind(const void *intervals, uint32_t at, uint64_t number)
{
	return ((const struct mt_trace_span *)intervals)[at].last >= number;
}

static bool touches(const struct intervals *numbers, const struct mt_trace_span *span)
{
	uint32_t at = mt_search(0, numbers->count, ends_behind, numbers->at, span->first);

	return at < numbers->count && numbers->at[at].first <= span->last;
}

/* Those that name a block of the range. A note belongs to the last event of the block before. */
static void choose_later(struct mt_reach *reach, const struct mt_trace_reader *r,
	struct mt_trace_facts *f, const struct intervals *numbers)
{
	uint32_t before = UINT32_MAX;
	uint8_t *continued = mt_alloc((size_t)reach->count + 1);

	for (uint32_t i = 0; i < reach->count; i++) {
		if (!mt_reach_is_events(r, i) || !mt_trace_reader_facts(r, i, f))
			continue;
		for (uint32_t n = 0; n < f->span_count && !reach->wanted[i]; n++)
			reach->wanted[i] = touches(numbers, &f->earlier[n]);
		continued[i] = f->continued;
		if (continued[i] && before != UINT32_MAX)
			reach->wanted[i] |= reach->wanted[before];
		before = i;
	}
	before = UINT32_MAX; /* now the one behind */
	for (uint32_t i = reach->count; i-- > 0;) {
		if (!mt_reach_is_events(r, i))
			continue;
		if (before != UINT32_MAX && continued[before])
			reach->wanted[i] |= reach->wanted[before];
		before = i;
	}
	free(continued);
}

bool mt_reach_find(struct mt_reach *reach, const struct mt_prepared_query *const *queries,
	unsigned count)
{
	const struct mt_trace_reader *r = queries[0]->source->reader;
	uint64_t from_ns = UINT64_MAX, to_ns = 0;
	struct intervals numbers = {0};

	*reach = (struct mt_reach){0};
	for (unsigned i = 0; i < count; i++) {
		const struct mt_filter_bounds *b = &queries[i]->bounds;

		if (!r || !has_range(queries[i]))
			return false;
		from_ns = b->from_ns < from_ns ? b->from_ns : from_ns;
		to_ns = b->to_ns > to_ns ? b->to_ns : to_ns;
	}
	if (mt_trace_reader_damage(r, NULL) || mt_checkpoint_of_start(r) != MT_NO_CHECKPOINT)
		return false;
	struct mt_trace_facts *f = mt_alloc(sizeof *f);

	reach->count = mt_trace_reader_count(r);
	reach->wanted = mt_alloc((size_t)reach->count + 1);
	bool found = choose_range(reach, r, from_ns, to_ns, f, &numbers);

	if (found)
		choose_later(reach, r, f, &numbers);
	else
		mt_reach_free(reach);
	free(numbers.at);
	free(f);
	return found;
}

void mt_reach_free(struct mt_reach *reach)
{
	free(reach->wanted);
	*reach = (struct mt_reach){0};
}

bool mt_reach_skips(const struct mt_reach *reach, const struct mt_trace_reader *r, uint32_t from,
	uint32_t to)
{
	for (; from < to; from++)
		if (mt_reach_is_events(r, from) && !reach->wanted[from])
			return true;
	return false;
}

void mt_reach_pass_by(const struct mt_reach *reach, const struct mt_trace_reader *r, uint32_t *next,
	uint32_t index,
	void (*skipped)(void *context, const struct mt_trace_facts *, uint64_t next_number),
	void *context)
{
	struct mt_trace_facts left, here;
	bool some = false;

	for (; *next < index; ++*next) {
		if (!mt_reach_is_events(r, *next) || reach->wanted[*next])
			continue;
		if (some)
			skipped(context, &left, left.first_number);
		some = mt_trace_reader_facts(r, *next, &left);
	}
	if (some && mt_trace_reader_facts(r, index, &here))
		skipped(context, &left, here.first_number);
	++*next;
}
