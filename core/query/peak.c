/* The peak of the whole heap as a place among the events: a time is too coarse for it. */
#include "core/query/question.h"

#include "core/model/live.h"

#include <errno.h>

struct seeker {
	struct mt_live live;
	struct mt_place at, peak;
	uint64_t bytes, most;
	const char *fault;
};

static int allocate(struct seeker *s, const struct mt_event *e)
{
	struct mt_live_cell *old =
		e->type == MT_EVENT_REALLOCATE ? mt_live_find(&s->live, e->previous) : NULL;

	if (e->number + 1 < s->at.allocations || e->number == UINT64_MAX) {
		s->fault = "an allocation has a number that does not follow the one before";
		return -EINVAL;
	}
	if (old) {
		s->bytes -= old->state == MT_LIVE_LIVE ? old->size : 0;
		mt_live_remove(&s->live, old);
	}
	mt_live_insert(&s->live, e->number)->size = e->size;
	s->bytes += e->size;
	return 0;
}

static void end(struct seeker *s, const struct mt_event *e)
{
	struct mt_live_cell *c = mt_live_find(&s->live, e->number);
	bool lives = c && c->state == MT_LIVE_LIVE;

	if (!c || lives == (e->type == MT_EVENT_RESTORE))
		return;
	if (e->type == MT_EVENT_RESTORE) {
		s->bytes += c->size;
		c->state = MT_LIVE_LIVE;
		return;
	}
	s->bytes -= c->size;
	if (e->type == MT_EVENT_RELEASE)
		c->state = MT_LIVE_RELEASED;
	else
		mt_live_remove(&s->live, c);
}

static int on_events(void *context, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	struct seeker *s = context;

	(void)after;
	for (uint32_t i = 0; i < count; i++) {
		const struct mt_event *e = &events[i];
		bool allocates = e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE;

		if (e->type == MT_EVENT_NOTE)
			continue;
		if (allocates && allocate(s, e) < 0)
			return -EINVAL;
		mt_place_pass(&s->at, e);
		if (!allocates && e->type != MT_EVENT_UNKNOWN_FREE)
			end(s, e);
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

		c->size = b->size;
		c->state = b->released ? MT_LIVE_RELEASED : MT_LIVE_LIVE;
		s->bytes += b->released ? 0 : b->size;
	} else {
		s->at = s->peak = (struct mt_place){checkpoint->next_number, 0};
		s->most = s->bytes;
	}
	return 0;
}

int mt_question_find_peak(struct mt_question *q, struct mt_err *err)
{
	struct mt_question all = {.source = q->source, .share = 0, .bounds = {.to_ns = UINT64_MAX}};
	struct seeker s = {0};
	struct mt_pass pass = {
		.events = on_events,
		.resume = resume,
		.fault = &s.fault,
		.context = &s,
	};

	mt_live_init(&s.live);
	int result = mt_question_pass(&all, &pass, err);

	mt_live_free(&s.live);
	if (result < 0)
		return result;
	if (s.most != q->source->profile->info.peak_bytes)
		return mt_fail(err, -ENOTSUP,
			"peak: the trace no longer has the events of the heap's peak; give a time");
	q->peak = s.peak;
	return 0;
}
