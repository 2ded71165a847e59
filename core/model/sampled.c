/* The events of a sampled recording: a block counts as what it stands for, and the errors are kept
 * beside the groups. Whether a block is temporary is not known: the allocations that came between
 * were not recorded. A realloc is a free and an allocation, of which often one alone is
 * recorded. */
#include "core/model/sampled.h"

void mt_model_sampled_before(struct mt_model *m, uint32_t group)
{
	struct mt_estimates *e;

	if (!mt_model_is_sampled(m))
		return;
	e = mt_profile_estimates(m->profile, group);
	if (m->profile->groups[group].peak_epoch != m->peak_epoch)
		e->at_peak = e->live;
}

void mt_model_allocate_sampled(struct mt_model *m, struct mt_block *b)
{
	struct mt_info *info = &m->profile->info;
	struct mt_weight w = mt_profile_weigh(m->profile, b->group, b->number, b->size);
	struct mt_group *g = mt_model_begin_block(m, b);
	struct mt_estimates *e;

	mt_model_sampled_before(m, b->group);
	mt_model_count(m, g, b->size);
	g->allocated_count += w.blocks - 1;
	g->allocated_bytes += w.bytes - b->size;
	e = mt_profile_estimates(m->profile, b->group);
	mt_estimate_add(&e->allocated, &w, b->size);
	mt_estimate_add(&e->live, &w, b->size);
	mt_model_rise(m, g, w.blocks, w.bytes, b->time_ns);
	info->allocations += w.blocks;
	info->allocated_bytes += w.bytes;
	m->step_allocations += w.blocks;
}

void mt_model_take_away_sampled(struct mt_model *m, const struct mt_block *b, uint64_t time_ns)
{
	struct mt_weight w = mt_profile_weigh(m->profile, b->group, b->number, b->size);
	struct mt_group *g = &m->profile->groups[b->group];

	mt_model_pass_time(m, time_ns);
	mt_model_sampled_before(m, b->group);
	mt_model_before_change(m, g);
	mt_estimate_subtract(&mt_profile_estimates(m->profile, b->group)->live, &w, b->size);
	g->live_count -= w.blocks;
	g->live_bytes -= w.bytes;
	m->live_count -= w.blocks;
	m->live_bytes -= w.bytes;
	m->step_frees += w.blocks;
}

void mt_model_free_sampled(struct mt_model *m, const struct mt_block *b, uint64_t time_ns)
{
	mt_model_take_away_sampled(m, b, time_ns);
	m->profile->info.frees += mt_profile_weigh(m->profile, b->group, b->number, b->size).blocks;
}
