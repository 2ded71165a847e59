#include "core/query/prepared_query.h"
#include "core/query/reach.h"

#include "core/base/assert.h"
#include "core/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- getting ready ---- */

static int decide_groups(struct mt_prepared_query *q, struct mt_filter *filter, struct mt_err *err)
{
	uint32_t count = q->source->profile->group_count;

	q->groups = mt_alloc((size_t)count + 1);
	int status =
		mt_filter_match(filter, q->source->profile, q->source->symbols, q->groups, err);

	if (status < 0)
		return status;
	if (!memchr(q->groups, 0, count)) {
		free(q->groups);
		q->groups = NULL;
	}
	return 0;
}

static int compare_markers(const void *a, const void *b)
{
	const struct mt_set_marker *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static bool are_in_order(const struct mt_prepared_query *q)
{
	for (uint32_t i = 1; i < q->marker_count; i++)
		if (q->markers[i - 1].from > q->markers[i].from)
			return false;
	return true;
}

/* The log is in merge order, and numbers are; times are so only nearly. */
static void find_markers(struct mt_prepared_query *q)
{
	const struct mt_profile *p = q->source->profile;
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < p->log_count; i++)
		if (p->log[i].type == MT_LOG_MARKER && !p->log[i].values[0])
			q->markers_by_time = true;
	for (uint32_t i = 0; i < p->log_count; i++) {
		const struct mt_log_entry *e = &p->log[i];

		if (e->type != MT_LOG_MARKER)
			continue;
		MT_GROW(q->markers, q->marker_count, capacity);
		q->markers[q->marker_count++] =
			(struct mt_set_marker){q->markers_by_time ? e->time_ns : e->values[0] - 1,
				e->text};
	}
	for (uint32_t i = 1; i < q->marker_count; i++)
		if (q->markers[i].from < q->markers[i - 1].from) {
			qsort(q->markers, q->marker_count, sizeof *q->markers, compare_markers);
			break;
		}
	mt_assert_expensive(are_in_order(q));
}

int mt_prepared_query_init(struct mt_prepared_query *q, const struct mt_source *source,
	struct mt_filter *filter, struct mt_err *err)
{
	*q = (struct mt_prepared_query){.source = source, .share = 1};
	q->bounds.to_ns = UINT64_MAX;
	if (filter && mt_filter_active(filter)) {
		int status = mt_filter_compile(&q->bounds, filter, source->profile, err);

		if (status < 0)
			return status;
		q->needs = mt_filter_needs(filter);
		status = decide_groups(q, filter, err);
		if (status >= 0 && (q->bounds.alive_at_peak || q->bounds.dead_at_peak))
			status = mt_prepared_query_find_peak(q, err);
		if (status < 0)
			return status;
	}
	find_markers(q);
	return 0;
}

void mt_prepared_query_free(struct mt_prepared_query *q)
{
	mt_filter_bounds_free(&q->bounds);
	free(q->groups);
	free(q->markers);
	*q = (struct mt_prepared_query){0};
}

/* ---- one allocation ---- */

static bool set_behind(const void *markers, uint32_t at, uint64_t key)
{
	return ((const struct mt_set_marker *)markers)[at].from > key;
}

uint32_t mt_prepared_query_marker(const struct mt_prepared_query *q, uint64_t number,
	uint64_t time_ns)
{
	uint64_t key = q->markers_by_time ? time_ns : number;
	uint32_t at = mt_search(0, q->marker_count, set_behind, q->markers, key);

	return at ? q->markers[at - 1].text : 0;
}

uint64_t mt_prepared_query_usable(const struct mt_prepared_query *q, const struct mt_event *e,
	const struct mt_event *after)
{
	const struct mt_profile *p = q->source->profile;

	if (after && after->type == MT_EVENT_NOTE && after->function == MT_NOTE_USABLE)
		return after->size;
	if (p->info.usable_rule != MT_USABLE_GLIBC || !mt_profile_has_usable(p, e->group))
		return 0;
	return mt_wire_usable(e->size);
}

void mt_prepared_query_place(const struct mt_prepared_query *q, struct mt_allocation *a,
	uint64_t key)
{
	const struct mt_profile *p = q->source->profile;

	a->domain = mt_profile_group_domain(p, a->group);
	a->key = key;
	a->address = mt_domain_address(&p->domains[a->domain], key);
}

bool mt_prepared_query_judge(const struct mt_prepared_query *q, const struct mt_event *e,
	const struct mt_event *after)
{
	struct mt_allocation a = {
		.number = e->number,
		.size = e->size,
		.time_ns = e->time_ns,
		.group = e->group,
		.thread = e->thread,
		.end_ns = MT_LIVE,
	};

	if (q->needs & MT_FILTER_NEEDS_ADDRESS) {
		mt_prepared_query_place(q, &a, e->address);
		a.usable = mt_prepared_query_usable(q, e, after);
	}
	if (q->bounds.marker_count)
		a.marker = mt_prepared_query_marker(q, e->number, e->time_ns);
	return mt_filter_allocation_matches(&q->bounds, &a);
}

/* ---- a pass ---- */

struct pass {
	const struct mt_prepared_query *query;
	const struct mt_pass *wanted;
	struct mt_err *err;
	/* blocks: the first that matters; the first of those that begin behind the range */
	uint32_t first, behind;
	/* the last event is given when the next one is known, which may be a note about it */
	struct mt_event held;
	uint32_t held_from; /* block */
	uint32_t next;      /* of the trace: blocks before it were given or skipped */
	bool holds;
	bool idle;
};

static int tell(struct pass *p, uint32_t index)
{
	const struct mt_prepared_query *q = p->query;
	const struct mt_trace_reader *reader = q->source->reader;
	double part = (double)index / (mt_trace_reader_count(reader) + 1);

	if (!q->source->progress
		|| !q->source->progress(q->source->context, q->done + q->share * part))
		return 0;
	return mt_fail(p->err, -ECANCELED, "reading %s was cancelled",
		mt_trace_reader_path(reader));
}

/* What is held may yet matter itself. */
static bool is_idle(const struct pass *p)
{
	if (!p->wanted->idle || (p->holds && p->held.time_ns <= p->query->bounds.to_ns))
		return false;
	return p->wanted->idle(p->wanted->context);
}

/* Events of a block of the trace. */
static int give(struct pass *p, uint32_t index, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	const struct mt_trace_reader *reader = p->query->source->reader;
	int result = count ? p->wanted->events(p->wanted->context, events, count, after) : 0;

	if (result == -EINVAL && *p->wanted->fault)
		mt_fail(p->err, result,
			"%s: the events are damaged in the block at offset %llu: %s",
			mt_trace_reader_path(reader),
			(unsigned long long)mt_trace_reader_block(reader, index)->offset,
			*p->wanted->fault);
	return result;
}

/* What is held comes before the blocks that are left out: no note about it follows these. */
static int pass_by(struct pass *p, uint32_t index)
{
	const struct mt_reach *reach = p->wanted->reach;
	const struct mt_trace_reader *reader = p->query->source->reader;
	int result = 0;

	if (p->holds && mt_reach_skips(reach, reader, p->next, index)) {
		result = give(p, p->held_from, &p->held, 1, NULL);
		p->holds = false;
	}
	if (p->wanted->skipped)
		mt_reach_pass_by(reach, reader, &p->next, index, p->wanted->skipped,
			p->wanted->context);
	p->next = index + 1;
	return result;
}

static int on_block(void *context, uint32_t index)
{
	struct pass *p = context;

	if (mt_trace_reader_block(p->query->source->reader, index)->type != MT_BLOCK_EVENTS)
		return 0;
	p->idle = index >= p->behind && is_idle(p);
	if (p->idle)
		return 1;
	int result = p->wanted->reach ? pass_by(p, index) : 0;

	return result ? result : tell(p, index);
}

static int on_events(void *context, uint32_t index, const struct mt_event *events, uint32_t count)
{
	struct pass *p = context;
	int result = p->holds ? give(p, p->held_from, &p->held, 1, events) : 0;

	p->holds = false;
	if (!result)
		result = give(p, index, events, count - 1, &events[count - 1]);
	p->held = events[count - 1];
	p->held_from = index;
	p->holds = true;
	return result;
}

static bool skips(void *context, uint32_t index)
{
	const struct pass *p = context;

	return p->wanted->reach ? !p->wanted->reach->wanted[index] : index < p->first;
}

/* Spans of blocks may overlap: only a beginning and an end of the file can be left out. */
static void find_range(struct pass *p)
{
	const struct mt_trace_reader *reader = p->query->source->reader;
	const struct mt_filter_bounds *bounds = &p->query->bounds;
	uint32_t count = mt_trace_reader_count(reader), i;

	for (i = 0; p->wanted->from_range && i < count; i++) {
		const struct mt_trace_block *b = mt_trace_reader_block(reader, i);

		if (b->type == MT_BLOCK_EVENTS && b->last_ns >= bounds->from_ns)
			break;
	}
	p->first = i;
	for (i = count; i > p->first; i--) {
		const struct mt_trace_block *b = mt_trace_reader_block(reader, i - 1);

		if (b->type == MT_BLOCK_EVENTS && b->first_ns <= bounds->to_ns)
			break;
	}
	p->behind = i;
}

void mt_prepared_query_resumed(struct mt_resumed *r, const struct mt_checkpoint_block *b)
{
	r->events[0] = (struct mt_event){
		.type = MT_EVENT_ALLOCATE,
		.number = b->number,
		.size = b->size,
		.address = b->address,
		.group = b->group,
		.thread = b->thread,
		.time_ns = b->time_ns,
	};
	r->events[1] = (struct mt_event){.type = MT_EVENT_NOTE,
		.function = MT_NOTE_USABLE,
		.size = b->usable};
	r->after = b->usable ? &r->events[1] : NULL;
}

struct resuming {
	const struct mt_pass *pass;
	struct mt_checkpoint checkpoint;
};

static int resume_block(void *context, const struct mt_checkpoint_block *b)
{
	const struct resuming *r = context;

	return r->pass->resume(r->pass->context, &r->checkpoint, b);
}

/* What was before the first event, where that is not the program's start. */
static int resume(const struct mt_prepared_query *q, const struct mt_pass *pass, struct mt_err *err)
{
	struct resuming r = {.pass = pass};
	uint32_t index = mt_checkpoint_of_start(q->source->reader);

	if (index == MT_NO_CHECKPOINT)
		return 0;
	int result = mt_checkpoint_read(&r.checkpoint, q->source->reader, index, q->source->profile,
		resume_block, &r, err);

	if (!result)
		result = pass->resume(pass->context, &r.checkpoint, NULL);
	mt_checkpoint_free(&r.checkpoint);
	return result;
}

int mt_prepared_query_pass(const struct mt_prepared_query *q, const struct mt_pass *wanted,
	struct mt_err *err)
{
	struct pass p = {.query = q, .wanted = wanted, .err = err};
	struct mt_trace_reader *reader = q->source->reader;

	if (!reader)
		return mt_fail(err, -ENOTSUP,
			"this filter selects single allocations, but the recording has only "
			"totals; "
			"open a saved trace");
	find_range(&p);
	struct mt_trace_scan scan = {
		.end = mt_trace_reader_count(reader),
		.wants = wanted->wants,
		.workers = q->source->workers,
		.skip = skips,
		.events = on_events,
		.block = on_block,
		.context = &p,
	};
	int result = resume(q, wanted, err);

	if (!result)
		result = mt_trace_reader_scan(reader, &scan, err);
	/* Of a trace without a sound end, what stands before the damage is all that there is, in
	 * the profile too. */
	if (result == -EBADMSG && q->source->profile->info.recorder_lost)
		result = 0;
	if (!result && p.holds && !p.idle)
		result = give(&p, p.held_from, &p.held, 1, NULL);
	if (q->source->progress && q->done + q->share >= 1)
		/* what is printed next is not to follow a progress line */
		q->source->progress(q->source->context, 1);
	return p.idle ? 0 : result;
}

/* ---- several passes in one ---- */

struct several {
	const struct mt_pass *passes;
	unsigned count;
	const char *fault;
};

static int several_events(void *context, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	struct several *s = context;
	int result = 0;

	for (unsigned i = 0; i < s->count && !result; i++) {
		result = s->passes[i].events(s->passes[i].context, events, count, after);
		if (result)
			s->fault = *s->passes[i].fault;
	}
	return result;
}

static int several_resume(void *context, const struct mt_checkpoint *checkpoint,
	const struct mt_checkpoint_block *b)
{
	const struct several *s = context;
	int result = 0;

	for (unsigned i = 0; i < s->count && !result; i++)
		result = s->passes[i].resume(s->passes[i].context, checkpoint, b);
	return result;
}

static void several_skipped(void *context, const struct mt_trace_facts *facts, uint64_t next_number)
{
	const struct several *s = context;

	for (unsigned i = 0; i < s->count; i++)
		s->passes[i].skipped(s->passes[i].context, facts, next_number);
}

static bool several_idle(void *context)
{
	const struct several *s = context;

	for (unsigned i = 0; i < s->count; i++)
		if (!s->passes[i].idle || !s->passes[i].idle(s->passes[i].context))
			return false;
	return true;
}

int mt_prepared_query_passes(const struct mt_prepared_query *const *queries,
	const struct mt_pass *passes, unsigned count, struct mt_err *err)
{
	struct several s = {.passes = passes, .count = count};
	struct mt_prepared_query all = *queries[0];
	struct mt_pass pass = {
		.from_range = true,
		.reach = passes[0].reach,
		.skipped = several_skipped,
		.events = several_events,
		.resume = several_resume,
		.idle = several_idle,
		.fault = &s.fault,
		.context = &s,
	};

	for (unsigned i = 0; i < count; i++) {
		const struct mt_filter_bounds *bounds = &queries[i]->bounds;

		all.bounds.from_ns =
			bounds->from_ns < all.bounds.from_ns ? bounds->from_ns : all.bounds.from_ns;
		all.bounds.to_ns =
			bounds->to_ns > all.bounds.to_ns ? bounds->to_ns : all.bounds.to_ns;
		pass.wants |= passes[i].wants;
		pass.from_range &= passes[i].from_range;
	}
	return mt_prepared_query_pass(&all, &pass, err);
}
