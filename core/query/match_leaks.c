/* What a filter for leaks leaves of a recording: the blocks of the list (core/query/leaks.h) are
 * replayed as if the program had done nothing else. */
#include "core/query/leaks.h"
#include "core/query/match_parts.h"

#include <stdlib.h>

/* Where something happens to a block of the list: twice the number of the next allocation, or one
 * more for the allocation itself. */
struct moment {
	uint64_t place;
	uint32_t order; /* of those at one place */
	struct mt_event event;
};

static int by_place(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* When blocks of the list were released and restored. */
static struct moment *list_moments(const struct mt_live_list *l, uint32_t *count)
{
	struct moment *moments = mt_resize(NULL, (2ull * l->restore_count + 1) * sizeof *moments);

	*count = 0;
	for (uint32_t i = 0; i < l->restore_count; i++) {
		const struct mt_live_list_restore *r = &l->restores[i];
		struct mt_event e = {.function = MT_FUNCTION_REALLOC, .number = r->number};

		e.type = MT_EVENT_RELEASE;
		e.time_ns = r->released_ns;
		moments[*count] = (struct moment){2 * r->released_at, *count, e};
		++*count;
		e.type = MT_EVENT_RESTORE;
		e.time_ns = r->restored_ns;
		moments[*count] = (struct moment){2 * r->restored_at, *count, e};
		++*count;
	}
	if (*count)
		qsort(moments, *count, sizeof *moments, by_place);
	return moments;
}

struct feeder {
	struct match *match;
	uint64_t peak; /* place of the whole heap's */
	bool passed;   /* it has come */
	struct moment *moments;
	uint32_t moment_count, next;
};

static int feed(struct feeder *f, uint64_t place, const struct mt_event *events, uint32_t count)
{
	static const uint8_t chosen[2] = {1, 1};
	struct mt_replay *r = &f->match->replay;

	if (!f->passed && place > f->peak) {
		f->passed = true;
		r->model.peak_epoch++;
	}
	if (events->type == MT_EVENT_ALLOCATE)
		r->next_number = events->number;
	return mt_replay_events(r, events, chosen, count);
}

static int feed_moments(struct feeder *f, uint64_t before)
{
	int result = 0;

	for (; f->next < f->moment_count && f->moments[f->next].place < before && !result;
		f->next++) {
		const struct moment *m = &f->moments[f->next];

		if (mt_live_find(&f->match->replay.live, m->event.number)) /* it matches */
			result = feed(f, m->place, &m->event, 1);
	}
	return result;
}

/* To a filter for leaks, the block that a realloc ended does not match, and what continues it is an
 * allocation. */
static int feed_block(struct feeder *f, const struct mt_live_list_block *b,
	const struct mt_trace_origin *origin)
{
	const bool realloc = origin->reallocated && !origin->reallocs;
	const uint64_t time_ns = origin->time_ns;
	const struct mt_event events[2] = {
		{
			.type = realloc ? MT_EVENT_REALLOCATE : MT_EVENT_ALLOCATE,
			.number = b->number,
			.previous = realloc ? MT_BLOCK_NO_PREVIOUS : 0,
			.time_ns = time_ns,
			.size = b->size,
			.address = b->key,
			.group = b->group,
			.thread = b->thread,
		},
		{.type = MT_EVENT_NOTE,
			.note = MT_NOTE_USABLE,
			.time_ns = time_ns,
			.size = b->usable},
	};
	int result = feed_moments(f, 2 * b->number + 1);

	return result ? result : feed(f, 2 * b->number + 1, events, b->usable ? 2 : 1);
}

/* Whether anything happened to a block of the list within an event block: the numbers of
 * allocations up to the next one. */
static bool happens_within(const struct mt_leaks *l, uint64_t first, uint64_t next)
{
	const struct mt_live_list *b = &l->blocks;
	uint64_t low = 0, high = b->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (b->blocks[middle].number < first)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = 0; i < b->restore_count; i++)
		if (b->restores[i].released_at <= next && b->restores[i].restored_at >= first)
			return true;
	return low < b->count && b->blocks[low].number < next;
}

/* The peak of the whole recording, where it does not matter at which event of its event block it
 * was. 1: it does, or that is not known. */
static int find_whole_peak(const struct match *m, const struct mt_leaks *l,
	struct mt_reach_peak *peak)
{
	const struct mt_source *source = m->query.source;
	const struct mt_info *info = &source->profile->info;
	struct mt_trace_facts *f = mt_alloc(sizeof *f);
	uint64_t first = UINT64_MAX, next = l->blocks.next_number;
	bool known = m->query.bounds.from_ns == 0 && m->query.bounds.to_ns == UINT64_MAX
		&& info->peak_bytes;

	for (uint32_t i = 0; i < mt_trace_reader_count(source->reader) && known; i++) {
		if (mt_trace_reader_block(source->reader, i)->type != MT_BLOCK_EVENTS)
			continue;
		known = mt_trace_reader_facts(source->reader, i, f) && f->exact;
		if (first != UINT64_MAX) {
			next = f->first_number;
			break;
		}
		if (f->high_bytes >= info->peak_bytes)
			first = f->first_number;
	}
	free(f);
	*peak = (struct mt_reach_peak){true, info->peak_bytes, info->peak_ns, next - 1};
	return known && first < next && !happens_within(l, first, next) ? 0 : 1;
}

static int replay_leaks(struct match *m, const struct mt_leaks *l)
{
	static const struct mt_reach some = {0}; /* not all events are read */
	struct feeder f = {
		.match = m,
		.peak = m->peak.number == UINT64_MAX ? UINT64_MAX : 2 * m->peak.number + 1,
	};
	const struct mt_matched before = *m->out;
	struct mt_pass pass;
	struct mt_allocation a;
	int result = 0;

	mt_match_begin_replay(m, &pass, &some);
	m->replay.peak_number = UINT64_MAX; /* feed knows it */
	f.moments = list_moments(&l->blocks, &f.moment_count);
	for (uint64_t i = 0; i < l->blocks.count && !result; i++)
		if (mt_leaks_get(l, &m->query, i, &a))
			result = feed_block(&f, &l->blocks.blocks[i], &l->origins[i]);
	if (!result)
		result = feed_moments(&f, UINT64_MAX);
	if (!f.passed && f.peak != UINT64_MAX)
		m->replay.model.peak_epoch++;
	free(f.moments);
	if (!result)
		mt_match_end_replay(m);
	mt_replay_free(&m->replay);
	if (result) { /* the list contradicts itself */
		mt_matched_free(m->out);
		*m->out = before;
	}
	return result ? 1 : 0;
}

int mt_match_leaks(struct match *m, struct mt_err *err)
{
	struct mt_leaks leaks;
	int result = mt_leaks_find(&leaks, &m->query, MT_LEAKS_CONTINUED, err);

	if (result)
		return result;
	result = find_whole_peak(m, &leaks, &m->peak);
	if (result)
		result = mt_reach_find_peak(&m->query, &m->peak, err);
	if (!result)
		result = replay_leaks(m, &leaks);
	mt_leaks_free(&leaks);
	if (!result && m->query.source->progress)
		m->query.source->progress(m->query.source->context, 1);
	return result;
}
