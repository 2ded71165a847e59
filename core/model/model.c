#include "core/model/model.h"
#include "core/model/sampled.h"
#include "core/model/timeline.h"

#include <stdlib.h>
#include <string.h>

void mt_model_init(struct mt_model *m, struct mt_profile *profile)
{
	*m = (struct mt_model){.profile = profile};
	for (uint32_t i = 0; i < profile->group_count; i++)
		profile->groups[i].flags = 0;
	mt_timeline_start(m);
}

void mt_model_resume(struct mt_model *m, struct mt_profile *p, uint64_t time_ns)
{
	struct mt_sample last =
		p->sample_count ? p->samples[p->sample_count - 1] : (struct mt_sample){0};

	p->sample_count -= p->sample_count != 0; /* the open step, as a new one in its place */
	mt_model_init(m, p);
	for (uint32_t i = 0; i < p->group_count; i++) {
		struct mt_group *g = &p->groups[i];

		m->live_count += g->live_count;
		m->live_bytes += g->live_bytes;
		if (g->at_peak_count != g->live_count || g->at_peak_bytes != g->live_bytes)
			mt_model_list_group(m, g);
	}
	m->now_ns = time_ns;
	m->memory = last.memory;
	m->step_before_bytes = last.max_bytes;
	m->step_max_bytes = m->live_bytes;
	m->step_allocations = last.allocations;
	m->step_frees = last.frees;
}

void mt_model_free_memory(struct mt_model *m)
{
	free(m->threads);
	free(m->told);
	free(m->unsettled);
	free(m->site_slots);
	*m = (struct mt_model){0};
}

void mt_model_list_group(struct mt_model *m, struct mt_group *g)
{
	MT_GROW(m->unsettled, m->unsettled_count, m->unsettled_capacity);
	m->unsettled[m->unsettled_count++] = (uint32_t)(g - m->profile->groups);
	g->flags |= MT_GROUP_UNSETTLED;
}

void mt_model_end_step(struct mt_model *m, uint64_t time_ns)
{
	mt_timeline_advance(m, time_ns);
}

void mt_model_grow_threads(struct mt_model *m, uint32_t thread)
{
	uint32_t old = m->thread_capacity, wanted = thread + 1 > 2 * old ? thread + 1 : 2 * old;

	m->threads = mt_resize(m->threads, (size_t)wanted * sizeof *m->threads);
	memset(m->threads + old, 0, (size_t)(wanted - old) * sizeof *m->threads);
	m->thread_capacity = wanted;
}

void mt_model_release(struct mt_model *m, struct mt_block *b, uint64_t time_ns)
{
	b->temporary = mt_model_is_temporary(m, b);
	if (mt_model_is_sampled(m))
		mt_model_free_sampled(m, b, time_ns);
	else
		mt_model_take_away(m, b, time_ns, b->temporary);
}

void mt_model_restore(struct mt_model *m, struct mt_block *b, uint64_t time_ns)
{
	struct mt_group *g = &m->profile->groups[b->group];
	struct mt_weight w = mt_profile_weigh(m->profile, b->group, b->number, b->size);

	mt_model_pass_time(m, time_ns);
	mt_model_sampled_before(m, b->group);
	mt_model_before_change(m, g);
	g->temporary_count -= b->temporary;
	m->profile->info.temporary_count -= b->temporary;
	b->temporary = false;
	mt_timeline_unfree(m, w.blocks);
	if (mt_model_is_sampled(m)) {
		mt_estimate_add(&mt_profile_estimates(m->profile, b->group)->live, &w, b->size);
		m->profile->info.frees -= w.blocks;
	}
	mt_model_rise(m, g, w.blocks, w.bytes, time_ns);
}

void mt_model_advance(struct mt_model *m, uint64_t time_ns, uint64_t rss_bytes)
{
	mt_model_pass_time(m, time_ns);
	if (rss_bytes)
		m->memory.rss_bytes = rss_bytes;
}

void mt_model_reopen(struct mt_model *m, uint64_t time_ns)
{
	if (time_ns / m->profile->step_ns < m->profile->sample_count - 1)
		mt_timeline_reopen(m, time_ns);
}

/* ---- where blocks are freed ---- */

static uint32_t *site_slot(struct mt_model *m, uint32_t group, uint32_t node)
{
	const struct mt_free_site *sites = m->profile->free_sites;
	uint32_t at = (uint32_t)(((uint64_t)group << 32 | node) * 0x9e3779b97f4a7c15ull >> 32)
		& m->site_mask;

	while (m->site_slots[at]
		&& (sites[m->site_slots[at] - 1].group != group
			|| sites[m->site_slots[at] - 1].node != node))
		at = (at + 1) & m->site_mask;
	return &m->site_slots[at];
}

static void grow_sites(struct mt_model *m)
{
	const struct mt_profile *p = m->profile;

	free(m->site_slots);
	do
		m->site_mask = m->site_mask ? m->site_mask * 2 + 1 : 1023;
	while (p->free_site_count >= m->site_mask / 2);
	m->site_slots = mt_alloc(((size_t)m->site_mask + 1) * sizeof *m->site_slots);
	for (uint32_t i = 0; i < p->free_site_count; i++)
		*site_slot(m, p->free_sites[i].group, p->free_sites[i].node) = i + 1;
}

void mt_model_free_site(struct mt_model *m, uint32_t group, uint32_t node)
{
	if (m->profile->free_site_count >= m->site_mask / 2)
		grow_sites(m);
	uint32_t *slot = site_slot(m, group, node);

	if (!*slot) {
		mt_profile_add_free_site(m->profile,
			&(struct mt_free_site){.group = group, .node = node});
		*slot = m->profile->free_site_count;
	}
	m->profile->free_sites[*slot - 1].count++;
}

/* A new peak changes the shares of the groups whose share is not what they hold, and of those that
 * have changed since: these are listed. All others' shares stay right by themselves. */
static void settle_groups(struct mt_model *m)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->unsettled_count; i++) {
		uint32_t id = m->unsettled[i];
		struct mt_group *g = &m->profile->groups[id];

		if (g->peak_epoch != m->peak_epoch) {
			mt_model_sampled_before(m, id);
			mt_model_before_change(m, g);
		}
		if (g->at_peak_count == g->live_count && g->at_peak_bytes == g->live_bytes)
			g->flags &= ~MT_GROUP_UNSETTLED;
		else
			m->unsettled[kept++] = id;
	}
	m->unsettled_count = kept;
	m->settled_epoch = m->peak_epoch;
}

void mt_model_settle(struct mt_model *m)
{
	struct mt_info *info = &m->profile->info;

	mt_model_pass_time(m, m->now_ns); /* to the end of what was reopened */
	if (m->settled_epoch != m->peak_epoch)
		settle_groups(m);
	info->leaked_count = m->live_count;
	info->leaked_bytes = m->live_bytes;
	info->wall_ns = m->now_ns > info->wall_ns ? m->now_ns : info->wall_ns;
	mt_timeline_store(m);
}
