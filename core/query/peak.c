/* The peak of the whole heap as a place among the events: a time is too coarse for it. */
#include "core/query/prepared_query.h"

#include "core/model/live.h"
#include "core/model/sampling.h"

#include <errno.h>

struct seeker {
	struct mt_live live;
	struct mt_place at, peak;
	uint64_t bytes, most;
	const char *fault;
	const struct mt_profile *profile;
};

/* What a block adds to the heap. */
static uint64_t bytes_of(const struct seeker *s, uint32_t group, uint64_t number, uint64_t size)
{
	return mt_profile_weigh(s->profile, group, number, size).bytes;
}

static int on_change(void *of, const struct mt_event *e, struct mt_live_cell *c,
	enum mt_block_change change)
{
	struct seeker *s = of;

	(void)e;
	if (change != MT_BLOCK_CONTINUE)
		s->bytes += change == MT_BLOCK_RESTORE ? c->size : -c->size;
	return 0;
}

static int on_refusal(void *of, const struct mt_event *e, const struct mt_live_cell *c,
	enum mt_block_change change)
{
	(void)e;
	(void)c;
	if (change == MT_BLOCK_CONTINUE)
		return 0;
	((struct seeker *)of)->fault = mt_block_change_fault(change);
	return -EINVAL;
}

static const struct mt_live_reader seeking = {.act = on_change, .refuse = on_refusal};

static int allocate(struct seeker *s, const struct mt_event *e)
{
	s->fault = mt_block_begin_fault(e, s->at.allocations, UINT32_MAX);
	if (s->fault)
		return -EINVAL;
	if (e->type == MT_EVENT_REALLOCATE)
		mt_live_change(&s->live, e->previous, MT_BLOCK_CONTINUE, &seeking, s, e);
	uint64_t bytes = bytes_of(s, e->group, e->number, e->size);

	mt_live_insert(&s->live, e->number)->size = bytes;
	s->bytes += bytes;
	return 0;
}

static int seek(struct seeker *s, const struct mt_event *e)
{
	if (e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE)
		return allocate(s, e);
	if (e->type == MT_EVENT_UNKNOWN_FREE)
		return 0;
	return mt_live_change(&s->live, e->number, mt_block_change_of(e), &seeking, s, e);
}

static int on_events(void *context, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	struct seeker *s = context;

	(void)after;
	for (uint32_t i = 0; i < count; i++) {
		const struct mt_event *e = &events[i];
		int result = e->type == MT_EVENT_NOTE ? 0 : seek(s, e);

		if (result)
			return result;
		mt_place_pass(&s->at, e);
		if (s->bytes > s->most) {
			s->most = s->bytes;
			s->peak = s->at;
		}
	}
	return 0;
}

static int resume(void *context, const struct mt_checkpoint *checkpoint,
	const struct mt_checkpoint_block *b)
{
	struct seeker *s = context;

	if (b) {
		struct mt_live_cell *c = mt_live_insert(&s->live, b->number);

		c->size = bytes_of(s, b->group, b->number, b->size);
		c->state = b->released ? MT_BLOCK_RELEASED : MT_BLOCK_LIVE;
		s->bytes += b->released ? 0 : c->size;
	} else {
		s->at = s->peak = (struct mt_place){checkpoint->next_number, 0};
		s->most = s->bytes;
	}
	return 0;
}

int mt_prepared_query_find_peak(struct mt_prepared_query *q, struct mt_err *err)
{
	struct mt_prepared_query all = {.source = q->source,
		.share = 0,
		.bounds = {.to_ns = UINT64_MAX}};
	struct seeker s = {.profile = q->source->profile};
	struct mt_pass pass = {
		.events = on_events,
		.resume = resume,
		.fault = &s.fault,
		.context = &s,
	};

	mt_live_init(&s.live);
	int result = mt_prepared_query_pass(&all, &pass, err);

	mt_live_free(&s.live);
	if (result < 0)
		return result;
	if (s.most != q->source->profile->info.peak_bytes)
		return mt_fail(err, -ENOTSUP,
			"peak: the trace no longer has the events of the heap's peak; give a time");
	q->peak = s.peak;
	return 0;
}
