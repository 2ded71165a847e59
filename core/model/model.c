#include "core/model/model.h"
#include "core/model/timeline.h"

#include <stdlib.h>
#include <string.h>

/* Bits of mt_group.flags. */
#define GROUP_DIRTY 1u
#define GROUP_UNSETTLED 2u

/* Bit of mt_block.thread_sequence while the block is released: the release counted as temporary. */
#define RELEASED_TEMPORARY (1ull << 63)

void mt_model_init(struct mt_model *m, struct mt_profile *profile)
{
	*m = (struct mt_model){.profile = profile};
	for (uint32_t i = 0; i < profile->group_count; i++)
		profile->groups[i].flags = 0;
	mt_timeline_start(m);
}

void mt_model_free_memory(struct mt_model *m)
{
	free(m->thread_sequence);
	free(m->dirty);
	free(m->unsettled);
	*m = (struct mt_model){0};
}

static __attribute__((noinline)) void list_group(struct mt_model *m, struct mt_group *g)
{
	uint32_t id = (uint32_t)(g - m->profile->groups);

	if (!(g->flags & GROUP_UNSETTLED)) {
		MT_GROW(m->unsettled, m->unsettled_count, m->unsettled_capacity);
		m->unsettled[m->unsettled_count++] = id;
	}
	if (m->track_dirty && !(g->flags & GROUP_DIRTY)) {
		MT_GROW(m->dirty, m->dirty_count, m->dirty_capacity);
		m->dirty[m->dirty_count++] = id;
		g->flags |= GROUP_DIRTY;
	}
	g->flags |= GROUP_UNSETTLED;
}

/* Comes before every change of what a group holds live. */
static inline void before_change(struct mt_model *m, struct mt_group *g)
{
	uint32_t wanted = GROUP_UNSETTLED | (m->track_dirty ? GROUP_DIRTY : 0);

	if (__builtin_expect((g->flags & wanted) != wanted, 0))
		list_group(m, g);
	if (g->peak_epoch != m->peak_epoch) {
		g->at_peak_count = g->live_count;
		g->at_peak_bytes = g->live_bytes;
		g->peak_epoch = m->peak_epoch;
	}
}

static inline void pass_time(struct mt_model *m, uint64_t time_ns)
{
	if (time_ns > m->now_ns)
		m->now_ns = time_ns;
	if (__builtin_expect(time_ns >= m->step_end_ns, 0))
		mt_timeline_advance(m, time_ns);
}

static __attribute__((noinline)) void grow_threads(struct mt_model *m, uint32_t thread)
{
	uint32_t old = m->thread_capacity, wanted = thread + 1 > 2 * old ? thread + 1 : 2 * old;

	m->thread_sequence = mt_resize(m->thread_sequence, (size_t)wanted * sizeof *m->thread_sequence);
	memset(m->thread_sequence + old, 0, (size_t)(wanted - old) * sizeof *m->thread_sequence);
	m->thread_capacity = wanted;
}

/* The block's bytes are live from now on. */
static inline void rise(struct mt_model *m, struct mt_group *g, uint64_t size, uint64_t time_ns)
{
	g->live_count++;
	g->live_bytes += size;
	if (g->live_count > g->own_peak_count)
		g->own_peak_count = g->live_count;
	if (g->live_bytes > g->own_peak_bytes)
		g->own_peak_bytes = g->live_bytes;
	m->live_count++;
	m->live_bytes += size;
	if (m->live_bytes > m->step_max_bytes) {
		struct mt_info *info = &m->profile->info;

		m->step_max_bytes = m->live_bytes;
		if (m->live_bytes > info->peak_bytes) {
			info->peak_bytes = m->live_bytes;
			info->peak_ns = time_ns;
			m->peak_epoch++;
		}
	}
}

static inline void fall(struct mt_model *m, struct mt_group *g, uint64_t size)
{
	g->live_count--;
	g->live_bytes -= size;
	m->live_count--;
	m->live_bytes -= size;
	m->step_frees++;
}

void mt_model_allocate(struct mt_model *m, struct mt_block *b, bool reallocated)
{
	struct mt_info *info = &m->profile->info;
	struct mt_group *g = &m->profile->groups[b->group];

	if (__builtin_expect(b->thread >= m->thread_capacity, 0))
		grow_threads(m, b->thread);
	b->thread_sequence = ++m->thread_sequence[b->thread];
	pass_time(m, b->time_ns);
	before_change(m, g);
	if (!g->allocated_count++) {
		g->first_ns = b->time_ns;
		g->min_size = b->size;
	}
	g->allocated_bytes += b->size;
	if (b->time_ns < g->first_ns)
		g->first_ns = b->time_ns;
	if (b->time_ns > g->last_ns)
		g->last_ns = b->time_ns;
	if (b->size < g->min_size)
		g->min_size = b->size;
	if (b->size > g->max_size)
		g->max_size = b->size;
	info->allocations += !reallocated;
	info->reallocations += reallocated;
	info->allocated_bytes += b->size;
	m->step_allocations++;
	rise(m, g, b->size, b->time_ns);
}

/* Whether it was temporary. */
static inline bool take_away(struct mt_model *m, const struct mt_block *b, uint64_t time_ns)
{
	struct mt_group *g = &m->profile->groups[b->group];
	bool temporary = m->thread_sequence[b->thread] == b->thread_sequence;

	pass_time(m, time_ns);
	before_change(m, g);
	g->temporary_count += temporary;
	m->profile->info.temporary_count += temporary;
	fall(m, g, b->size);
	return temporary;
}

void mt_model_free(struct mt_model *m, const struct mt_block *b, uint64_t time_ns)
{
	take_away(m, b, time_ns);
	m->profile->info.frees++;
}

void mt_model_release(struct mt_model *m, struct mt_block *b, uint64_t time_ns)
{
	if (take_away(m, b, time_ns))
		b->thread_sequence |= RELEASED_TEMPORARY;
}

void mt_model_restore(struct mt_model *m, struct mt_block *b, uint64_t time_ns)
{
	struct mt_group *g = &m->profile->groups[b->group];
	bool temporary = b->thread_sequence & RELEASED_TEMPORARY;

	pass_time(m, time_ns);
	before_change(m, g);
	g->temporary_count -= temporary;
	m->profile->info.temporary_count -= temporary;
	b->thread_sequence &= ~RELEASED_TEMPORARY;
	mt_timeline_unfree(m);
	rise(m, g, b->size, time_ns);
}

void mt_model_advance(struct mt_model *m, uint64_t time_ns, uint64_t rss_bytes)
{
	pass_time(m, time_ns);
	if (rss_bytes)
		m->rss_bytes = rss_bytes;
}

/* A new peak changes the shares of the groups whose share is not what they hold, and of those that have changed
 * since: these are listed. All others' shares stay right by themselves. */
static void settle_groups(struct mt_model *m)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->unsettled_count; i++) {
		uint32_t id = m->unsettled[i];
		struct mt_group *g = &m->profile->groups[id];

		if (g->peak_epoch != m->peak_epoch)
			before_change(m, g);
		if (g->at_peak_count == g->live_count && g->at_peak_bytes == g->live_bytes)
			g->flags &= ~GROUP_UNSETTLED;
		else
			m->unsettled[kept++] = id;
	}
	m->unsettled_count = kept;
	m->settled_epoch = m->peak_epoch;
}

void mt_model_settle(struct mt_model *m)
{
	struct mt_info *info = &m->profile->info;

	if (m->settled_epoch != m->peak_epoch)
		settle_groups(m);
	info->leaked_count = m->live_count;
	info->leaked_bytes = m->live_bytes;
	info->wall_ns = m->now_ns > info->wall_ns ? m->now_ns : info->wall_ns;
	mt_timeline_store(m);
}

void mt_model_clean(struct mt_model *m)
{
	for (uint32_t i = 0; i < m->dirty_count; i++)
		m->profile->groups[m->dirty[i]].flags &= ~GROUP_DIRTY;
	m->dirty_count = 0;
}
