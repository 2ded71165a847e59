#include "core/query/scan.h"
#include "core/query/leaks.h"
#include "core/query/prepared_query.h"
#include "core/query/reach.h"

#include <errno.h>
#include <stdlib.h>

int mt_scan_allocations(const struct mt_source *source, struct mt_filter *filter, unsigned wants,
	int (*visit)(void *context, const struct mt_allocation *), void *context,
	struct mt_err *err)
{
	struct mt_prepared_query q = {0};
	bool answered = false;
	int result = mt_prepared_query_init(&q, source, filter, err);

	if (!result)
		result = mt_leaks_visit(&q, wants, visit, context, &answered, err);
	if (!result && !answered)
		result = mt_join(&q, wants, visit, context, err);
	mt_prepared_query_free(&q);
	return result;
}

/* ---- events ---- */

struct teller {
	const struct mt_prepared_query *query;
	struct mt_bits bits;
	bool decided; /* the bits stand already */
	int (*visit)(void *context, const struct mt_event *);
	void *context;
	const char *fault;
};

static int tell_allocation(struct teller *t, const struct mt_event *e, const struct mt_event *after)
{
	bool reallocated = e->type == MT_EVENT_REALLOCATE;
	bool before = reallocated && mt_bits_get(&t->bits, e->previous);
	struct mt_event half = *e;

	if (e->group >= t->query->source->profile->group_count) {
		t->fault = "an allocation refers to an undefined group";
		return -EINVAL;
	}
	if (!t->decided)
		mt_bits_set(&t->bits, e->number, mt_prepared_query_takes(t->query, e, after));
	bool matches = mt_bits_get(&t->bits, e->number);

	if (matches && reallocated && e->previous != UINT64_MAX && !before) {
		half.type = MT_EVENT_ALLOCATE;
		half.previous = 0;
		return t->visit(t->context, &half);
	}
	if (matches)
		return t->visit(t->context, e);
	if (!before)
		return 0;
	half = (struct mt_event){
		.type = MT_EVENT_FREE,
		.function = MT_FUNCTION_REALLOC,
		.thread = e->thread,
		.time_ns = e->time_ns,
		.number = e->previous,
	};
	return t->visit(t->context, &half);
}

static int tell(void *context, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	struct teller *t = context;
	int result = 0;

	for (uint32_t i = 0; i < count && !result; i++) {
		const struct mt_event *e = &events[i];

		if (e->type == MT_EVENT_NOTE || e->type == MT_EVENT_UNKNOWN_FREE)
			continue;
		if (e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE)
			result = tell_allocation(t, e, i + 1 < count ? &events[i + 1] : after);
		else if (mt_bits_get(&t->bits, e->number))
			result = t->visit(t->context, e);
	}
	return result;
}

static int resume(void *context, const struct mt_checkpoint *checkpoint,
	const struct mt_checkpoint_block *b)
{
	struct teller *t = context;
	struct mt_resumed events;

	if (!b)
		return 0;
	mt_prepared_query_resumed(&events, b);
	int result = tell_allocation(t, events.events, events.after);

	if (result || !b->released || !mt_bits_get(&t->bits, b->number))
		return result;
	return t->visit(t->context,
		&(struct mt_event){
			.type = MT_EVENT_RELEASE,
			.function = MT_FUNCTION_REALLOC,
			.number = b->number,
			.thread = b->thread,
			.time_ns = checkpoint->time_ns,
		});
}

int mt_scan_events(const struct mt_source *source, struct mt_filter *filter,
	int (*visit)(void *context, const struct mt_event *), void *context, struct mt_err *err)
{
	struct mt_prepared_query q = {0};
	struct teller t = {.query = &q, .visit = visit, .context = context};
	struct mt_pass pass = {
		.wants = MT_TRACE_ADDRESSES,
		.from_range = true,
		.events = tell,
		.resume = resume,
		.fault = &t.fault,
		.context = &t,
	};
	struct mt_reach reach = {0};
	int result = mt_prepared_query_init(&q, source, filter, err);

	if (!result && mt_reach_find(&reach, &(const struct mt_prepared_query *){&q}, 1))
		pass.reach = &reach;
	t.decided = q.needs & (MT_FILTER_NEEDS_END | MT_FILTER_NEEDS_CHAIN);
	if (!result && t.decided) {
		q.share = 0.5;
		result = mt_join_bits(&(const struct mt_prepared_query *){&q},
			&(struct mt_bits *){&t.bits}, 1, err);
		q.done = 0.5;
	}
	if (!result)
		result = mt_prepared_query_pass(&q, &pass, err);
	mt_bits_free(&t.bits);
	mt_reach_free(&reach);
	mt_prepared_query_free(&q);
	return result;
}
