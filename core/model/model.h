/* The model: turns allocations and frees, in their published order, into a profile's totals, peak,
 * temporaries and timeline. The recorder feeds it live; the trace reader feeds it again where a
 * trace has no totals of its own. Matching a free with its allocation is the caller's work. */
#ifndef MT_MODEL_MODEL_H
#define MT_MODEL_MODEL_H

#include "core/model/sampling.h"

/* One block, as its matcher keeps it while it lives (by address in the recorder, by number in a
 * reader). */
struct mt_block {
	uint64_t address, size;
	/* of the allocation, counted from 0 in merge order: no other block has it */
	uint64_t number;
	uint64_t time_ns;
	uint32_t group;
	uint32_t thread;
	uint64_t thread_sequence; /* set by mt_model_allocate; of no meaning to mt_model_free */
	/* between mt_model_release and mt_model_restore: it counted as temporary */
	bool temporary;
};

struct mt_model {
	struct mt_profile *profile; /* borrowed */
	uint64_t live_bytes, live_count;
	uint64_t peak_epoch, settled_epoch;
	/* the profile is a part of the heap: the owner says when the whole heap is at its peak */
	bool outer_peak;
	struct mt_model_thread {
		uint64_t sequence;    /* allocations so far */
		uint64_t last;        /* number of the last one + 1 */
	} * threads;                  /* by thread index */
	uint64_t temporary_threshold; /* of mt_model_release and mt_model_free_again; see there */
	uint32_t thread_capacity;
	/* timeline under construction: the open step is the profile's last sample */
	uint64_t now_ns;
	struct mt_memory memory; /* of the process, as last seen */
	uint64_t step_end_ns, step_allocations, step_frees;
	/* Most bytes live since the step began or the last event block was written: one maximum
	 * serves both. What came before it in the step, and in the event block. */
	uint64_t step_max_bytes, step_before_bytes, block_before_bytes;
	uint64_t *told; /* by thread: allocations up to the last event block */
	uint32_t told_count;
	/* Reached before a step was reopened, 0: none is. Samples up to it still hold their
	 * memory. */
	uint32_t seen_steps;
	/* groups whose share of the peak may not be up to date, each once */
	uint32_t *unsettled;
	uint32_t unsettled_count, unsettled_capacity;
	uint32_t *site_slots, site_mask; /* (group, node) -> free site + 1 */
};

/* The peak is the first instant at which live bytes were largest. Each rise above the old peak
 * starts a new epoch. A group notes the epoch in which it last changed: before a change in a later
 * epoch, what it holds live is what it held at that peak, and is saved as such; groups that do not
 * change cost nothing. */

/* Asks for the memory that an event of this group will touch. Inline at any rate: GCC may take a
 * call of a function that only prefetches for one without effect. */
static inline __attribute__((always_inline)) void mt_model_prefetch(const struct mt_group *group)
{
	__builtin_prefetch(group, 1);
	__builtin_prefetch((const char *)(group + 1) - 1, 1);
}

/* borrowed: empty of events. */
void mt_model_init(struct mt_model *, struct mt_profile *borrowed);
/* borrowed: with the totals of a checkpoint. Its threads' allocations so far are the caller's to
 * set. */
void mt_model_resume(struct mt_model *, struct mt_profile *borrowed, uint64_t time_ns);
void mt_model_free_memory(struct mt_model *);

/* First half of a realloc: as a free, but counted in no info.frees; undone by restore when the
 * realloc failed. The block keeps whether it counted as temporary: give restore the same struct, or
 * a copy made after release. */
void mt_model_release(struct mt_model *, struct mt_block *block, uint64_t time_ns);
void mt_model_restore(struct mt_model *, struct mt_block *block, uint64_t time_ns);
/* Bytes of a live block beyond what was asked for. usable: as it was noted, 0: by the rule that
 * info names. */
static inline uint64_t mt_model_slack(const struct mt_profile *p, uint32_t group, uint64_t size,
	uint64_t usable)
{
	if (!usable && p->info.usable_rule == MT_USABLE_GLIBC && mt_profile_has_usable(p, group))
		usable = mt_wire_usable(size);
	return usable > size ? usable - size : 0;
}
/* Time passes without events; rss_bytes 0: unknown. More of the process is set in memory. */
void mt_model_advance(struct mt_model *, uint64_t time_ns, uint64_t rss_bytes);
/* What comes next happened no earlier than this. Where that lies before a time that has passed
 * without events, it counts in the timeline's step in which it happened. */
void mt_model_reopen(struct mt_model *, uint64_t time_ns);
/* A block of the group was freed by the stack that ends at node. */
void mt_model_free_site(struct mt_model *, uint32_t group, uint32_t node);
/* Brings every group's at_peak_* and info up to date, so that the profile can be read. Cheap when
 * little changed. */
void mt_model_settle(struct mt_model *);

/* ---- the two events that come most often: inline, since their cost bounds the traced program's
 * speed ---- */

/* In mt_group.flags. */
#define MT_GROUP_UNSETTLED 1u

/* The model's own: the rare ends of what follows. */
void mt_model_list_group(struct mt_model *, struct mt_group *);
void mt_model_end_step(struct mt_model *, uint64_t time_ns);
void mt_model_grow_threads(struct mt_model *, uint32_t thread);

/* Comes before every change of what a group holds live. */
static inline void mt_model_before_change(struct mt_model *m, struct mt_group *g)
{
	if (__builtin_expect(!(g->flags & MT_GROUP_UNSETTLED), 0))
		mt_model_list_group(m, g);
	if (g->peak_epoch != m->peak_epoch) {
		g->at_peak_count = g->live_count;
		g->at_peak_bytes = g->live_bytes;
		g->peak_epoch = m->peak_epoch;
	}
}

static inline void mt_model_pass_time(struct mt_model *m, uint64_t time_ns)
{
	if (time_ns > m->now_ns)
		m->now_ns = time_ns;
	if (__builtin_expect(time_ns >= m->step_end_ns, 0))
		mt_model_end_step(m, time_ns);
}

/* No block is larger than what an address space holds. Whoever adds allocations to a model refuses
 * those beyond the sum, so that none of its sums, which are no larger than all that was allocated,
 * can overflow. */
#define MT_BLOCK_BYTES_MAX (1ull << 47)
#define MT_SUM_BYTES_MAX (1ull << 62)
static inline bool mt_model_has_room(const struct mt_model *m, uint64_t size)
{
	const struct mt_info *info = &m->profile->info;

	/* no sampled block stands for more than its own bytes and those between two samples, or for
	 * more than as many of its size */
	if (__builtin_expect(info->sample_every != 0, 0)
		&& size > MT_SUM_BYTES_MAX / 2 / info->sample_every)
		return false;
	return size <= MT_BLOCK_BYTES_MAX
		&& info->allocated_bytes
		<= MT_SUM_BYTES_MAX - size - info->sample_bytes - size * info->sample_every;
}

/* More is live than ever in this step. */
static inline void mt_model_climb(struct mt_model *m, uint64_t live_bytes, uint64_t time_ns)
{
	struct mt_info *info = &m->profile->info;

	m->step_max_bytes = live_bytes;
	if (live_bytes > info->peak_bytes) {
		info->peak_bytes = live_bytes;
		info->peak_ns = time_ns;
		m->peak_epoch += !m->outer_peak;
	}
}

/* Blocks of so many bytes are live from now on: one, or what a sampled one stands for. */
static inline void mt_model_rise(struct mt_model *m, struct mt_group *g, uint64_t blocks,
	uint64_t size, uint64_t time_ns)
{
	g->live_count += blocks;
	g->live_bytes += size;
	if (g->live_count > g->own_peak_count)
		g->own_peak_count = g->live_count;
	if (g->live_bytes > g->own_peak_bytes)
		g->own_peak_bytes = g->live_bytes;
	m->live_count += blocks;
	m->live_bytes += size;
	if (m->live_bytes > m->step_max_bytes)
		mt_model_climb(m, m->live_bytes, time_ns);
}

/* The same where a block stands for others, too. */
void mt_model_allocate_sampled(struct mt_model *, struct mt_block *);
void mt_model_take_away_sampled(struct mt_model *, const struct mt_block *, uint64_t time_ns);
void mt_model_free_sampled(struct mt_model *, const struct mt_block *, uint64_t time_ns);
static inline bool mt_model_is_sampled(const struct mt_model *m)
{
	return __builtin_expect(mt_info_is_sampled(&m->profile->info), 0);
}

/* An allocation of a group that is to become live, or has been for a moment. It is not the group's
 * first. */
static inline __attribute__((always_inline)) void mt_model_count(struct mt_model *m,
	struct mt_group *g, uint64_t size)
{
	mt_model_before_change(m, g);
	g->allocated_count++;
	g->allocated_bytes += size;
	if (size < g->min_size)
		g->min_size = size;
	if (size > g->max_size)
		g->max_size = size;
}

/* So many allocations by a thread, and the number behind the last one's block. */
static inline void mt_model_count_thread(struct mt_model *m, uint32_t thread, uint64_t count,
	uint64_t end_number)
{
	if (__builtin_expect(thread >= m->thread_capacity, 0))
		mt_model_grow_threads(m, thread);
	m->threads[thread].sequence += count;
	m->threads[thread].last = end_number;
}

/* What an allocation changes before it is counted. */
static inline __attribute__((always_inline)) struct mt_group *mt_model_begin_block(struct mt_model
											   *m,
	struct mt_block *b)
{
	struct mt_group *g = &m->profile->groups[b->group];

	mt_model_count_thread(m, b->thread, 1, b->number + 1);
	b->thread_sequence = m->threads[b->thread].sequence;
	mt_model_pass_time(m, b->time_ns);
	if (__builtin_expect(!g->allocated_count, 0)) {
		g->first_ns = b->time_ns;
		g->min_size = b->size;
	}
	if (b->time_ns < g->first_ns)
		g->first_ns = b->time_ns;
	if (b->time_ns > g->last_ns)
		g->last_ns = b->time_ns;
	return g;
}

/* block: all but thread_sequence and temporary filled in; group and thread exist in the profile.
 * reallocated: second half of a realloc (counts as reallocation, not as allocation). */
static inline __attribute__((always_inline)) void mt_model_allocate(struct mt_model *m,
	struct mt_block *b, bool reallocated)
{
	struct mt_info *info = &m->profile->info;
	struct mt_group *g;

	if (mt_model_is_sampled(m)) {
		mt_model_allocate_sampled(m, b);
		return;
	}
	g = mt_model_begin_block(m, b);
	mt_model_count(m, g, b->size);
	mt_model_rise(m, g, 1, b->size, b->time_ns);
	info->allocations += !reallocated;
	info->reallocations += reallocated;
	info->allocated_bytes += b->size;
	m->step_allocations++;
}

/* A pair is a block that its thread frees before anything else happens: what follows makes of it
 * what mt_model_allocate and mt_model_free make, for a group that has had blocks before, at a time
 * that does not lie behind the open step. mt_model_pairs comes before any other event. */
static inline void mt_model_pair(struct mt_model *m, struct mt_group *g, uint64_t size,
	uint64_t begin_ns)
{
	uint64_t count = g->live_count + 1, bytes = g->live_bytes + size;
	uint64_t heap = m->live_bytes + size;

	mt_model_count(m, g, size);
	g->temporary_count++;
	if (begin_ns > g->last_ns)
		g->last_ns = begin_ns;
	if (count > g->own_peak_count)
		g->own_peak_count = count;
	if (bytes > g->own_peak_bytes)
		g->own_peak_bytes = bytes;
	if (__builtin_expect(heap > m->step_max_bytes, 0)) {
		mt_model_climb(m, heap, begin_ns);
		if (g->peak_epoch != m->peak_epoch) {
			g->at_peak_count = count;
			g->at_peak_bytes = bytes;
			g->peak_epoch = m->peak_epoch;
		}
	}
}

/* What pairs of one thread have in common: how many there were, the sum of their sizes, the number
 * behind the last one's, and when its block was freed. */
static inline void mt_model_pairs(struct mt_model *m, uint32_t thread, uint64_t count,
	uint64_t bytes, uint64_t end_number, uint64_t end_ns)
{
	struct mt_info *info = &m->profile->info;

	if (end_ns > m->now_ns) /* time may have passed without events */
		m->now_ns = end_ns;
	info->allocations += count;
	info->frees += count;
	info->temporary_count += count;
	info->allocated_bytes += bytes;
	m->step_allocations += count;
	m->step_frees += count;
	mt_model_count_thread(m, thread, count, end_number);
}

/* Whether no further allocation by its thread came: freed now, the block is temporary. */
static inline bool mt_model_is_last(const struct mt_model *m, const struct mt_block *b)
{
	return m->threads[b->thread].last == b->number + 1;
}

/* The same where a reader may allow further allocations. */
static inline bool mt_model_is_recent(const struct mt_model *m, const struct mt_block *b)
{
	if (!m->temporary_threshold)
		return mt_model_is_last(m, b);
	return m->threads[b->thread].sequence - b->thread_sequence <= m->temporary_threshold;
}

/* Where blocks are left out, it is not known what came between. */
static inline bool mt_model_is_temporary(const struct mt_model *m, const struct mt_block *b)
{
	return mt_model_is_recent(m, b) && !mt_info_leaves_out(&m->profile->info);
}

/* The block's bytes are no longer live. */
static inline void mt_model_take_away(struct mt_model *m, const struct mt_block *b,
	uint64_t time_ns, bool temporary)
{
	struct mt_group *g = &m->profile->groups[b->group];

	if (mt_model_is_sampled(m)) {
		mt_model_take_away_sampled(m, b, time_ns);
		return;
	}
	mt_model_pass_time(m, time_ns);
	mt_model_before_change(m, g);
	g->temporary_count += temporary;
	m->profile->info.temporary_count += temporary;
	g->live_count--;
	g->live_bytes -= b->size;
	m->live_count--;
	m->live_bytes -= b->size;
	m->step_frees++;
}

/* The block is free, whoever freed it. */
static inline void mt_model_free(struct mt_model *m, const struct mt_block *b, uint64_t time_ns)
{
	if (mt_model_is_sampled(m)) {
		mt_model_free_sampled(m, b, time_ns);
		return;
	}
	mt_model_take_away(m, b, time_ns,
		mt_model_is_last(m, b) && !mt_info_leaves_out(&m->profile->info));
	m->profile->info.frees++;
}

/* The same for a reader of events, which may ask for another threshold. */
static inline void mt_model_free_again(struct mt_model *m, const struct mt_block *b,
	uint64_t time_ns)
{
	if (mt_model_is_sampled(m)) {
		mt_model_free_sampled(m, b, time_ns);
		return;
	}
	mt_model_take_away(m, b, time_ns, mt_model_is_temporary(m, b));
	m->profile->info.frees++;
}

/* An allocation by this thread that is not to be counted, but comes between others. thread: exists
 * in the profile. */
static inline void mt_model_pass_over(struct mt_model *m, uint32_t thread)
{
	if (__builtin_expect(thread >= m->thread_capacity, 0))
		mt_model_grow_threads(m, thread);
	m->threads[thread].sequence++;
	m->threads[thread].last = 0;
}

#endif
