/* The peak of the heap within a range, by the bounds in the headers of event blocks. */
#include "core/base/search.h"
#include "core/model/sampling.h"
#include "core/query/reach.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 65536u /* no event block has more */
#define LOOKS_MAX 64u     /* then a pass over all events is no slower */

struct seeker {
	const struct mt_prepared_query *query;
	struct mt_trace_reader *reader;
	struct mt_reach_peak *peak;
	struct mt_err *err;
	/* event blocks in their order, and each one's first number and bound of its peak */
	struct candidate {
		uint32_t index;
		bool seen;
		uint64_t first_number, high_bytes, begin_bytes;
	} * blocks;
	uint32_t count, capacity;
	uint32_t best; /* block of the peak so far */
	bool restored; /* a failed realloc reached it */
	/* of the block at hand: earlier numbers that it names, with their sizes; its own sizes */
	const struct candidate *at;
	struct named {
		uint64_t number, size;
	} * named;
	uint32_t named_count, named_capacity, cursor;
	uint64_t *sizes;
	uint32_t size_count;
	uint8_t *wanted; /* by block of the trace: they have the sizes */
	uint64_t level;
	struct mt_reach_peak here;
	bool here_restored;
};

static bool frees_or_restores(const struct mt_event *e)
{
	return e->type == MT_EVENT_FREE || e->type == MT_EVENT_RELEASE
		|| e->type == MT_EVENT_RESTORE || e->type == MT_EVENT_IMPLIED_FREE;
}

static int collect(void *context, uint32_t index, const struct mt_event *events, uint32_t count)
{
	struct seeker *s = context;

	(void)index;
	for (uint32_t i = 0; i < count; i++) {
		if (!frees_or_restores(&events[i]) || events[i].number >= s->at->first_number)
			continue;
		MT_GROW(s->named, s->named_count, s->named_capacity);
		s->named[s->named_count++] = (struct named){events[i].number, 0};
	}
	return 0;
}

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* What the block adds to the heap. */
static uint64_t bytes_of(const struct seeker *s, const struct mt_event *e)
{
	return mt_profile_weigh(s->query->source->profile, e->group, e->number, e->size).bytes;
}

static int take_sizes(void *context, uint32_t index, const struct mt_event *events, uint32_t count)
{
	struct seeker *s = context;

	(void)index;
	for (uint32_t i = 0; i < count; i++) {
		const struct mt_event *e = &events[i];

		if (e->type > MT_EVENT_REALLOCATE)
			continue;
		while (s->cursor < s->named_count && s->named[s->cursor].number < e->number)
			s->cursor++;
		for (; s->cursor < s->named_count && s->named[s->cursor].number == e->number;
			s->cursor++)
			s->named[s->cursor].size = bytes_of(s, e);
	}
	return 0;
}

static bool has_no_sizes(void *context, uint32_t index)
{
	return !((const struct seeker *)context)->wanted[index];
}

static bool begins_behind(const void *blocks, uint32_t at, uint64_t number)
{
	return ((const struct candidate *)blocks)[at].first_number > number;
}

/* The event block that allocated a number: the last one that begins with it or before. */
static uint32_t block_of(const struct seeker *s, uint64_t number)
{
	uint32_t at = mt_search(0, s->count, begins_behind, s->blocks, number);

	return at ? at - 1 : 0;
}

static uint64_t size_of(const struct seeker *s, uint64_t number)
{
	const struct named key = {number, 0}, *found;

	if (number >= s->at->first_number)
		return number - s->at->first_number < s->size_count
			? s->sizes[number - s->at->first_number]
			: 0;
	found = s->named_count ? bsearch(&key, s->named, s->named_count, sizeof key, compare_named)
			       : NULL;
	return found ? found->size : 0;
}

static void step(struct seeker *s, const struct mt_event *e)
{
	const struct mt_filter_bounds *range = &s->query->bounds;
	bool rises = e->type <= MT_EVENT_REALLOCATE;

	if (!s->here.begun && e->time_ns >= range->from_ns)
		s->here = (struct mt_reach_peak){true, s->level, range->from_ns, UINT64_MAX};
	if (rises && s->size_count < EVENTS_MAX)
		s->sizes[s->size_count++] = bytes_of(s, e);
	if (rises)
		s->level += bytes_of(s, e);
	else if (frees_or_restores(e))
		s->level += e->type == MT_EVENT_RESTORE
			? size_of(s, e->number)
			: -size_of(s, e->number);
	if (!s->here.begun || s->level <= s->here.bytes || e->time_ns < range->from_ns
		|| e->time_ns > range->to_ns)
		return;
	s->here = (struct mt_reach_peak){true, s->level, e->time_ns, rises ? e->number : 0};
	s->here_restored = !rises;
}

static int walk(void *context, uint32_t index, const struct mt_event *events, uint32_t count)
{
	(void)index;
	for (uint32_t i = 0; i < count; i++)
		step(context, &events[i]);
	return 0;
}

static int scan(struct seeker *s, uint32_t first, uint32_t end,
	int (*events)(void *, uint32_t, const struct mt_event *, uint32_t),
	bool (*skip)(void *, uint32_t))
{
	const struct mt_trace_scan scan = {
		.first = first,
		.end = end,
		.workers = s->query->source->workers,
		.skip = skip,
		.events = events,
		.context = s,
	};

	return mt_trace_reader_scan(s->reader, &scan, s->err);
}

/* The peak within the block, above the level `least`. */
static int look_into(struct seeker *s, struct candidate *c, bool first, uint64_t least)
{
	s->at = c;
	s->named_count = s->cursor = s->size_count = 0;
	s->level = c->begin_bytes;
	s->here = (struct mt_reach_peak){!first, least, 0, UINT64_MAX};
	s->here_restored = false;
	c->seen = true;
	int result = scan(s, c->index, c->index + 1, collect, NULL);

	if (result)
		return result;
	if (s->named_count) {
		qsort(s->named, s->named_count, sizeof *s->named, compare_named);
		memset(s->wanted, 0, c->index);
		for (uint32_t i = 0; i < s->named_count; i++)
			s->wanted[s->blocks[block_of(s, s->named[i].number)].index] = 1;
		result = scan(s, 0, c->index, take_sizes, has_no_sizes);
	}
	return result ? result : scan(s, c->index, c->index + 1, walk, NULL);
}

static void take_over(struct seeker *s, uint32_t block)
{
	*s->peak = s->here;
	s->best = block;
	s->restored = s->here_restored;
}

/* The block that may contain a higher level, or the same one earlier; count: none does. */
static uint32_t best_left(const struct seeker *s)
{
	const struct mt_filter_bounds *range = &s->query->bounds;
	uint32_t best = s->count;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct candidate *c = &s->blocks[i];
		bool earlier = s->peak->number != UINT64_MAX && i < s->best;

		if (c->seen || c->high_bytes < s->peak->bytes
			|| (c->high_bytes == s->peak->bytes && !earlier)
			|| !mt_reach_overlaps(s->reader, c->index, range->from_ns, range->to_ns))
			continue;
		if (best == s->count || c->high_bytes > s->blocks[best].high_bytes)
			best = i;
	}
	return best;
}

static int seek(struct seeker *s)
{
	const struct mt_filter_bounds *range = &s->query->bounds;
	uint32_t begin = 0, looks = 0, next;
	int result = 0;

	while (begin < s->count
		&& mt_trace_reader_block(s->reader, s->blocks[begin].index)->last_ns
			< range->from_ns)
		begin++;
	if (begin == s->count) { /* all events are before the range */
		uint32_t last = s->blocks[s->count - 1].index;

		*s->peak = (struct mt_reach_peak){false,
			mt_trace_reader_block(s->reader, last)->running.live_bytes, 0, UINT64_MAX};
		return 0;
	}
	s->best = begin;
	*s->peak = (struct mt_reach_peak){true, s->blocks[begin].begin_bytes, range->from_ns,
		UINT64_MAX};
	if (mt_trace_reader_block(s->reader, s->blocks[begin].index)->first_ns < range->from_ns) {
		result = look_into(s, &s->blocks[begin], true, 0);
		take_over(s, begin);
	}
	while (!result && (next = best_left(s)) < s->count) {
		if (++looks > LOOKS_MAX)
			return 1;
		bool earlier = next < s->best && s->peak->number != UINT64_MAX;

		result = look_into(s, &s->blocks[next], false,
			s->peak->bytes - (earlier && s->peak->bytes));
		if (s->here.number != UINT64_MAX)
			take_over(s, next);
	}
	return result ? result : s->restored;
}

static bool list_blocks(struct seeker *s)
{
	struct mt_trace_facts *f = mt_alloc(sizeof *f);
	uint64_t level = 0;
	bool known = true;

	for (uint32_t i = 0; i < mt_trace_reader_count(s->reader) && known; i++) {
		if (!mt_reach_is_events(s->reader, i))
			continue;
		known = mt_trace_reader_facts(s->reader, i, f) && f->exact;
		MT_GROW(s->blocks, s->count, s->capacity);
		s->blocks[s->count++] =
			(struct candidate){i, false, f->first_number, f->high_bytes, level};
		level = mt_trace_reader_block(s->reader, i)->running.live_bytes;
	}
	free(f);
	return known && s->count;
}

int mt_reach_find_peak(const struct mt_prepared_query *q, struct mt_reach_peak *peak,
	struct mt_err *err)
{
	struct seeker s = {
		.query = q,
		.reader = q->source->reader,
		.peak = peak,
		.err = err,
		.sizes = mt_resize(NULL, EVENTS_MAX * sizeof *s.sizes),
	};
	int result = 1;

	s.wanted = mt_alloc((size_t)mt_trace_reader_count(s.reader) + 1);
	if (list_blocks(&s))
		result = seek(&s);
	free(s.blocks);
	free(s.named);
	free(s.sizes);
	free(s.wanted);
	return result;
}
