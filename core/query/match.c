/* What a filter leaves of a recording, as a profile. Where the filter asks of groups alone, their
 * totals are it; else the matching allocations are fed to the model, all others tell it when the
 * whole heap is at its peak. */
#include "core/query/match_parts.h"

#include <stdlib.h>

#define NEEDS_ENDS (MT_FILTER_NEEDS_END | MT_FILTER_NEEDS_CHAIN)

/* The source's profile without what is counted. */
static void begin(struct mt_profile *p, const struct mt_profile *of)
{
	*p = *of;
	p->groups = mt_alloc(((size_t)of->group_count + 1) * sizeof *p->groups);
	p->group_capacity = of->group_count + 1;
	for (uint32_t i = 0; i < of->group_count; i++)
		p->groups[i].node = of->groups[i].node;
	p->late = NULL;
	p->estimates = NULL;
	p->estimate_count = p->estimate_capacity = 0;
	p->columns_unknown = true;
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
	p->columns_unknown = of->columns_unknown;
	for (uint32_t i = 0; i < of->group_count; i++) {
		const struct mt_group *g = &of->groups[i];

		if (!groups[i])
			continue;
		p->groups[i] = *g;
		if (i < of->estimate_count)
			*mt_profile_estimates(p, i) = of->estimates[i];
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

static void choose(struct match *m, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	const struct mt_prepared_query *q = &m->query;
	uint32_t groups = q->source->profile->group_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct mt_event *e = &events[i];

		if (e->type > MT_EVENT_REALLOCATE)
			continue;
		m->chosen[i] = m->decided ? mt_bits_get(&m->bits, e->number)
					  : e->group < groups
				&& mt_prepared_query_takes(q, e,
					i + 1 < count ? &events[i + 1] : after);
	}
}

static int on_events(void *context, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
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
static void add_share(struct mt_profile *p, const struct mt_checkpoint_block *b)
{
	struct mt_weight w = mt_profile_weigh(p, b->group, b->number, b->size);

	p->groups[b->group].at_peak_count += w.blocks;
	p->groups[b->group].at_peak_bytes += w.bytes;
	if (mt_info_is_sampled(&p->info))
		mt_estimate_add(&mt_profile_estimates(p, b->group)->at_peak, &w, b->size);
}

static int resume(void *context, const struct mt_checkpoint *checkpoint,
	const struct mt_checkpoint_block *b)
{
	struct match *m = context;
	const struct mt_info *info = &m->query.source->profile->info;
	bool peak_is_gone = info->peak_ns < checkpoint->time_ns
		&& info->peak_ns >= m->replay.from_ns && info->peak_ns <= m->replay.to_ns;
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
	mt_prepared_query_resumed(&events, b);
	bool chosen = m->decided ? mt_bits_get(&m->bits, b->number)
				 : mt_prepared_query_takes(&m->query, events.events, events.after);

	mt_replay_take(&m->replay, b, chosen, checkpoint->time_ns);
	if (chosen && peak_is_gone && b->time_ns <= info->peak_ns)
		add_share(m->replay.model.profile, b);
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
	for (uint32_t i = 0;
		p->step_ns == of->step_ns && i < p->sample_count && i < of->sample_count; i++)
		p->samples[i].memory = of->samples[i].memory;
}

static void on_skipped(void *context, const struct mt_trace_facts *facts, uint64_t next_number)
{
	mt_replay_pass_by(&((struct match *)context)->replay, facts, next_number);
}

void mt_match_begin_replay(struct match *m, struct mt_pass *pass, const struct mt_reach *reach)
{
	struct mt_profile *p = &m->out->profile;
	const struct mt_prepared_query *q = &m->query;

	*pass = (struct mt_pass){
		.wants = q->needs & MT_FILTER_NEEDS_ADDRESS && !m->decided ? MT_TRACE_ADDRESSES : 0,
		.reach = reach,
		.skipped = on_skipped,
		.events = on_events,
		.resume = resume,
		.idle = is_idle,
		.fault = &m->replay.fault,
		.context = m,
	};
	begin(p, q->source->profile);
	mt_replay_init(&m->replay, p);
	m->replay.choosing = true;
	m->replay.partial = reach != NULL;
	m->replay.peak_number = m->peak.number;
	m->replay.from_ns = q->bounds.from_ns;
	m->replay.to_ns = q->bounds.to_ns;
	m->replay.model.outer_peak = true;
	m->replay.model.temporary_threshold = q->bounds.temporary_threshold;
}

void mt_match_end_replay(struct match *m)
{
	struct mt_matched *out = m->out;

	finish_samples(&m->replay, m->query.source->profile);
	out->profile.info.slack_bytes = mt_replay_slack(&m->replay);
	if (m->replay.partial) {
		out->heap_peak_bytes = m->peak.bytes;
		out->heap_peak_ns = m->peak.begun ? m->peak.time_ns : out->from_ns;
		return;
	}
	out->heap_peak_bytes = m->replay.in_range ? m->replay.heap_peak : m->replay.heap_bytes;
	out->heap_peak_ns = m->replay.in_range ? m->replay.heap_peak_ns : out->from_ns;
}

/* The ends, for those that ask for them. */
static int decide(struct match *const *matches, unsigned count, struct mt_err *err)
{
	const struct mt_prepared_query *queries[MT_MATCHES_MOST];
	struct mt_bits *bits[MT_MATCHES_MOST];
	unsigned deciding = 0;

	for (unsigned i = 0; i < count; i++) {
		struct match *m = matches[i];

		m->decided = m->query.needs & NEEDS_ENDS;
		if (!m->decided)
			continue;
		queries[deciding] = &m->query;
		bits[deciding++] = &m->bits;
	}
	for (unsigned i = 0; i < count && deciding; i++)
		matches[i]->query.share = 0.5;
	int result = deciding ? mt_join_bits(queries, bits, deciding, err) : 0;

	for (unsigned i = 0; i < count && deciding; i++)
		matches[i]->query.done = 0.5;
	return result;
}

/* The blocks that are enough, and the peaks that then must be known. 1: none are left out. */
static int find_reach(struct mt_reach *reach, struct match *const *matches,
	const struct mt_prepared_query *const *queries, unsigned count, struct mt_err *err)
{
	int result = mt_reach_find(reach, queries, count) ? 0 : 1;

	for (unsigned i = 0; i < count && !result; i++)
		result = mt_reach_find_peak(queries[i], &matches[i]->peak, err);
	return result;
}

static int match_events(struct match *const *matches, unsigned count, struct mt_err *err)
{
	const struct mt_prepared_query *queries[MT_MATCHES_MOST];
	struct mt_pass passes[MT_MATCHES_MOST] = {0};
	struct mt_reach reach = {0};
	int result = decide(matches, count, err);

	for (unsigned i = 0; i < count; i++)
		queries[i] = &matches[i]->query;
	if (!result)
		result = find_reach(&reach, matches, queries, count, err);
	if (result < 0) {
		mt_reach_free(&reach);
		return result;
	}
	for (unsigned i = 0; i < count; i++)
		mt_match_begin_replay(matches[i], &passes[i], result ? NULL : &reach);
	result = mt_prepared_query_passes(queries, passes, count, err);
	mt_reach_free(&reach);
	for (unsigned i = 0; i < count; i++) {
		if (!result)
			mt_match_end_replay(matches[i]);
		mt_replay_free(&matches[i]->replay);
	}
	return result;
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

	return range->from_ns < info->history_from_ns
		&& !(peak_inside && info->peak_ns >= info->history_from_ns);
}

static int open_match(struct match *m, const struct mt_source *source, struct mt_filter *filter,
	unsigned wants, struct mt_err *err)
{
	struct mt_matched *out = m->out;
	const struct mt_prepared_query *q = &m->query;
	int result = mt_prepared_query_init(&m->query, source, filter, err);

	m->events = q->needs || (wants & MT_MATCH_HISTORY && q->groups);
	out->history = m->events || !q->groups;
	out->own = m->events || q->groups;
	out->from_ns = smaller(q->bounds.from_ns, source->profile->info.wall_ns);
	out->to_ns = smaller(q->bounds.to_ns, source->profile->info.wall_ns);
	out->heap_peak_bytes = source->profile->info.peak_bytes;
	out->heap_peak_ns = source->profile->info.peak_ns;
	out->unanswered_ns = m->events ? source->profile->info.history_from_ns : 0;
	if (!out->own)
		out->profile = *source->profile;
	else if (!result && !m->events)
		match_groups(&out->profile, source->profile, q->groups);
	return result;
}

static void close_match(struct match *m, int result)
{
	if (!result && m->events)
		m->out->profile.info.peak_unsure =
			peak_may_be_gone(&m->query.source->profile->info, &m->query.bounds);
	if (result)
		mt_matched_free(m->out);
	free(m->chosen);
	mt_bits_free(&m->bits);
	mt_prepared_query_free(&m->query);
}

int mt_match_several(struct mt_matched *const *outs, const struct mt_source *source,
	struct mt_filter *const *filters, unsigned count, unsigned wants, struct mt_err *err)
{
	struct match matches[MT_MATCHES_MOST] = {0}, *by_events[MT_MATCHES_MOST];
	unsigned events = 0;
	int result = 0;

	for (unsigned i = 0; i < count; i++) {
		mt_matched_free(outs[i]);
		matches[i].out = outs[i];
	}
	for (unsigned i = 0; i < count && !result; i++) {
		int leaks = 1;

		result = open_match(&matches[i], source, filters[i], wants, err);
		if (!result && matches[i].events)
			leaks = mt_match_leaks(&matches[i], err);
		result = leaks < 0 ? leaks : result;
		if (matches[i].events && leaks == 1)
			by_events[events++] = &matches[i];
	}
	if (!result && events)
		result = match_events(by_events, events, err);
	for (unsigned i = 0; i < count; i++)
		close_match(&matches[i], result);
	return result;
}

int mt_match(struct mt_matched *out, const struct mt_source *source, struct mt_filter *filter,
	unsigned wants, struct mt_err *err)
{
	return mt_match_several(&out, source, &filter, 1, wants, err);
}

void mt_matched_free(struct mt_matched *m)
{
	if (m->own) {
		free(m->profile.groups);
		free(m->profile.late);
		free(m->profile.estimates);
		free(m->profile.samples);
		free(m->profile.free_sites);
	}
	*m = (struct mt_matched){0};
}
