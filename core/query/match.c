/* What a filter leaves of a recording, as a profile. Where the filter asks of groups alone, their totals are it; else the
 * matching allocations are fed to the model, all others tell it when the whole heap is at its peak. */
#include "core/query/question.h"

#include "core/model/replay.h"

#include <stdlib.h>

#define NEEDS_ENDS (MT_FILTER_NEEDS_END | MT_FILTER_NEEDS_CHAIN)

struct match {
	struct mt_question question;
	struct mt_bits bits;
	bool decided; /* the bits stand already */
	struct mt_replay replay;
	uint8_t *chosen;
	uint32_t capacity;
};

/* The source's profile without what is counted. */
static void begin(struct mt_profile *p, const struct mt_profile *of)
{
	*p = *of;
	p->groups = mt_alloc(((size_t)of->group_count + 1) * sizeof *p->groups);
	p->group_capacity = of->group_count + 1;
	for (uint32_t i = 0; i < of->group_count; i++)
		p->groups[i].node = of->groups[i].node;
	p->samples = NULL;
	p->sample_count = p->sample_capacity = 0;
	p->free_sites = NULL;
	p->free_site_count = p->free_site_capacity = 0;
	p->info.allocations = p->info.frees = p->info.reallocations = p->info.allocated_bytes = 0;
	p->info.leaked_count = p->info.leaked_bytes = p->info.temporary_count = 0;
	p->info.peak_bytes = p->info.peak_ns = p->info.slack_bytes = 0;
}

/* ---- by totals ---- */

static void add_free_sites(struct mt_profile *p, const struct mt_profile *of, const uint8_t *groups)
{
	for (uint32_t i = 0; i < of->free_site_count; i++)
		if (groups[of->free_sites[i].group])
			mt_profile_add_free_site(p, &of->free_sites[i]);
}

static void match_groups(struct mt_profile *p, const struct mt_profile *of, const uint8_t *groups)
{
	struct mt_info *info = &p->info;

	begin(p, of);
	for (uint32_t i = 0; i < of->group_count; i++) {
		const struct mt_group *g = &of->groups[i];

		if (!groups[i])
			continue;
		p->groups[i] = *g;
		info->allocations += g->allocated_count;
		info->frees += g->allocated_count - g->live_count;
		info->allocated_bytes += g->allocated_bytes;
		info->leaked_count += g->live_count;
		info->leaked_bytes += g->live_bytes;
		info->temporary_count += g->temporary_count;
	}
	add_free_sites(p, of, groups);
}

/* ---- by events ---- */

static void choose(struct match *m, const struct mt_event *events, uint32_t count, const struct mt_event *after)
{
	const struct mt_question *q = &m->question;
	uint32_t groups = q->source->profile->group_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct mt_event *e = &events[i];

		if (e->type > MT_EVENT_REALLOCATE)
			continue;
		m->chosen[i] = m->decided ? mt_bits_get(&m->bits, e->number) :
			e->group < groups && mt_question_takes(q, e, i + 1 < count ? &events[i + 1] : after);
	}
}

static int on_events(void *context, const struct mt_event *events, uint32_t count, const struct mt_event *after)
{
	struct match *m = context;

	if (count > m->capacity) {
		m->capacity = count;
		m->chosen = mt_resize(m->chosen, count);
	}
	choose(m, events, count, after);
	return mt_replay_events(&m->replay, events, m->chosen, count);
}

/* Of the peak, whose events are gone: what lived then, and still at the checkpoint. */
static void add_share(struct mt_group *g, uint64_t size)
{
	g->at_peak_count++;
	g->at_peak_bytes += size;
}

static int resume(void *context, const struct mt_checkpoint *checkpoint, const struct mt_checkpoint_block *b)
{
	struct match *m = context;
	const struct mt_info *info = &m->question.source->profile->info;
	bool peak_is_gone = info->peak_ns < checkpoint->time_ns && info->peak_ns >= m->replay.from_ns
		&& info->peak_ns <= m->replay.to_ns;
	struct mt_resumed events;

	if (!b) {
		mt_replay_go_on(&m->replay, checkpoint);
		m->replay.heap_peak_ns = checkpoint->time_ns;
		if (peak_is_gone) {
			m->replay.in_range = true;
			m->replay.heap_peak = info->peak_bytes;
			m->replay.heap_peak_ns = info->peak_ns;
		}
		return 0;
	}
	mt_question_resumed(&events, b);
	bool chosen = m->decided ? mt_bits_get(&m->bits, b->number) :
		mt_question_takes(&m->question, events.events, events.after);

	mt_replay_take(&m->replay, b, chosen, checkpoint->time_ns);
	if (chosen && peak_is_gone && b->time_ns <= info->peak_ns)
		add_share(&m->replay.model.profile->groups[b->group], b->size);
	return 0;
}

static bool is_idle(void *context)
{
	return !((const struct match *)context)->replay.chosen_count;
}

/* The samples have the steps of the whole recording, and what is known of the process at each. */
static void finish_samples(struct mt_replay *r, const struct mt_profile *of)
{
	struct mt_profile *p = r->model.profile;
	uint64_t last = of->sample_count ? (of->sample_count - 1) * of->step_ns : 0;

	mt_model_advance(&r->model, last > of->info.wall_ns ? last : of->info.wall_ns, 0);
	mt_model_settle(&r->model);
	p->info.wall_ns = of->info.wall_ns;
	for (uint32_t i = 0; p->step_ns == of->step_ns && i < p->sample_count && i < of->sample_count; i++)
		p->samples[i].memory = of->samples[i].memory;
}

static int replay(struct match *m, struct mt_matched *out, struct mt_err *err)
{
	struct mt_profile *p = &out->profile;
	const struct mt_question *q = &m->question;
	const struct mt_profile *of = q->source->profile;
	struct mt_pass pass = {.wants = q->needs & MT_FILTER_NEEDS_ADDRESS && !m->decided ? MT_TRACE_ADDRESSES : 0,
		.events = on_events, .resume = resume, .idle = is_idle, .fault = &m->replay.fault, .context = m};

	begin(p, of);
	mt_replay_init(&m->replay, p);
	m->replay.choosing = true;
	m->replay.from_ns = q->bounds.from_ns;
	m->replay.to_ns = q->bounds.to_ns;
	m->replay.model.outer_peak = true;
	m->replay.model.temporary_threshold = q->bounds.temporary_threshold;
	int result = mt_question_pass(q, &pass, err);

	if (!result) {
		finish_samples(&m->replay, of);
		p->info.slack_bytes = mt_replay_slack(&m->replay);
		out->heap_peak_bytes = m->replay.in_range ? m->replay.heap_peak : m->replay.heap_bytes;
		out->heap_peak_ns = m->replay.in_range ? m->replay.heap_peak_ns : out->from_ns;
	}
	mt_replay_free(&m->replay);
	return result;
}

static int match_events(struct match *m, struct mt_matched *out, struct mt_err *err)
{
	struct mt_question *q = &m->question;
	int result = 0;

	m->decided = q->needs & NEEDS_ENDS;
	if (m->decided) {
		q->share = 0.5;
		result = mt_join_bits(q, &m->bits, err);
		q->done = 0.5;
	}
	return result ? result : replay(m, out, err);
}

/* ---- all ---- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Whether the heap's peak within the range may lie before the events that are left. */
static bool peak_may_be_gone(const struct mt_info *info, const struct mt_filter_bounds *range)
{
	bool peak_inside = info->peak_ns >= range->from_ns && info->peak_ns <= range->to_ns;

	return range->from_ns < info->history_from_ns && !(peak_inside && info->peak_ns >= info->history_from_ns);
}

int mt_match(struct mt_matched *out, const struct mt_source *source, struct mt_filter *filter, unsigned wants,
	struct mt_err *err)
{
	struct match m = {0};
	int result = mt_question_init(&m.question, source, filter, err);
	const struct mt_question *q = &m.question;
	bool events = q->needs || (wants & MT_MATCH_HISTORY && q->groups);

	mt_matched_free(out);
	out->history = events || !q->groups;
	out->own = events || q->groups;
	out->from_ns = smaller(q->bounds.from_ns, source->profile->info.wall_ns);
	out->to_ns = smaller(q->bounds.to_ns, source->profile->info.wall_ns);
	out->heap_peak_bytes = source->profile->info.peak_bytes;
	out->heap_peak_ns = source->profile->info.peak_ns;
	if (!out->own)
		out->profile = *source->profile;
	else if (!result && events)
		result = match_events(&m, out, err);
	else if (!result)
		match_groups(&out->profile, source->profile, q->groups);
	if (!result && events)
		out->profile.info.peak_unsure = peak_may_be_gone(&source->profile->info, &q->bounds);
	out->unanswered_ns = events ? source->profile->info.history_from_ns : 0;
	if (result)
		mt_matched_free(out);
	free(m.chosen);
	free(m.bits.words);
	mt_question_free(&m.question);
	return result;
}

void mt_matched_free(struct mt_matched *m)
{
	if (m->own) {
		free(m->profile.groups);
		free(m->profile.samples);
		free(m->profile.free_sites);
	}
	*m = (struct mt_matched){0};
}
