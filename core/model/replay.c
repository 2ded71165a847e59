#include "core/model/replay.h"

#include <errno.h>
#include <stdlib.h>

void mt_replay_init(struct mt_replay *r, struct mt_profile *profile)
{
	*r = (struct mt_replay){.to_ns = UINT64_MAX};
	mt_model_init(&r->model, profile);
	mt_live_init(&r->live);
}

void mt_replay_resume(struct mt_replay *r, struct mt_profile *p, const struct mt_checkpoint *c)
{
	const struct mt_info *info = &p->info;

	*r = (struct mt_replay){
		.to_ns = UINT64_MAX,
		.next_number = c->next_number,
		.events = info->events,
		.implied_frees = info->implied_frees,
		.untold_frees = info->counters[MT_COUNTER_UNTOLD_FREES],
		.unknown_frees = mt_info_unfound_frees(info),
	};
	mt_model_resume(&r->model, p, c->time_ns);
	mt_model_grow_threads(&r->model, c->thread_count);
	for (uint32_t t = 0; t < c->thread_count; t++)
		r->model.threads[t] = (struct mt_model_thread){c->threads[t].allocations,
			c->threads[t].last_number};
	mt_live_init(&r->live);
}

void mt_replay_add(struct mt_replay *r, const struct mt_checkpoint_block *b)
{
	struct mt_live_cell *c = mt_live_insert(&r->live, b->number);

	c->size = b->size;
	c->usable = b->usable;
	c->thread_sequence = b->sequence;
	c->group = b->group;
	c->thread = b->thread;
	c->chosen = 1;
	c->late = 0;
	c->temporary = b->temporary;
	c->state = b->released ? MT_BLOCK_RELEASED : MT_BLOCK_LIVE;
}

/* What the block adds to the heap. */
static inline uint64_t bytes_of(const struct mt_replay *r, uint32_t group, uint64_t number,
	uint64_t size)
{
	return mt_profile_weigh(r->model.profile, group, number, size).bytes;
}

/* As if it were allocated now, at its time. */
void mt_replay_take(struct mt_replay *r, const struct mt_checkpoint_block *b, bool chosen,
	uint64_t checkpoint_ns)
{
	struct mt_block block = {
		.address = b->address,
		.size = b->size,
		.number = b->number,
		.time_ns = b->time_ns,
		.group = b->group,
		.thread = b->thread,
	};

	mt_replay_add(r, b);
	mt_live_find(&r->live, b->number)->chosen = chosen;
	r->chosen_count += chosen;
	r->heap_bytes += b->released ? 0 : bytes_of(r, b->group, b->number, b->size);
	if (!chosen)
		return;
	mt_model_allocate(&r->model, &block, b->position > 1);
	if (b->released)
		mt_model_take_away(&r->model, &block, checkpoint_ns, b->temporary);
}

void mt_replay_go_on(struct mt_replay *r, const struct mt_checkpoint *c)
{
	r->next_number = c->next_number;
	if (c->thread_count > r->model.thread_capacity)
		mt_model_grow_threads(&r->model, c->thread_count - 1);
	for (uint32_t t = 0; t < c->thread_count; t++)
		r->model.threads[t] = (struct mt_model_thread){c->threads[t].allocations,
			c->threads[t].last_number};
}

void mt_replay_pass_by(struct mt_replay *r, const struct mt_trace_facts *facts,
	uint64_t next_number)
{
	for (uint32_t i = 0; i < facts->thread_count; i++) {
		uint32_t thread = facts->threads[i].thread;

		if (thread >= r->model.profile->thread_count || thread >= MT_LIVE_THREADS)
			continue;
		mt_model_pass_over(&r->model, thread);
		r->model.threads[thread].sequence += facts->threads[i].allocations - 1ull;
	}
	r->next_number = next_number;
	r->last = MT_REPLAY_NOTHING;
}

void mt_replay_free(struct mt_replay *r)
{
	mt_live_free(&r->live);
	mt_model_free_memory(&r->model);
	*r = (struct mt_replay){0};
}

static int fault(struct mt_replay *r, const char *text)
{
	r->fault = text;
	return -EINVAL;
}

static struct mt_block block_of(const struct mt_live_cell *c)
{
	return (struct mt_block){
		.size = c->size,
		.number = c->number,
		.group = c->group,
		.thread = c->thread,
		.thread_sequence = c->thread_sequence,
		.temporary = c->temporary,
	};
}

/* A free behind the end of the range; sign -1: it was none. */
static void late(struct mt_replay *r, struct mt_live_cell *c, uint64_t sign)
{
	struct mt_profile *p = r->model.profile;
	struct mt_weight w = mt_profile_weigh(p, c->group, c->number, c->size);

	if (!p->late)
		p->late = mt_alloc((size_t)p->group_count * sizeof *p->late);
	p->late[c->group].count += sign * w.blocks;
	p->late[c->group].bytes += sign * w.bytes;
	c->late = sign == 1;
}

static void restore(struct mt_replay *r, const struct mt_event *e, struct mt_live_cell *c)
{
	struct mt_block b = block_of(c);

	if (c->late)
		late(r, c, -1ull);
	if (c->chosen)
		mt_model_restore(&r->model, &b, e->time_ns);
	c->temporary = b.temporary;
	r->heap_bytes += bytes_of(r, c->group, c->number, c->size);
}

static inline void end_block(struct mt_replay *r, const struct mt_event *e, struct mt_live_cell *c,
	enum mt_block_change change)
{
	struct mt_block b = block_of(c);

	r->last = MT_REPLAY_FREED;
	r->last_group = b.group;
	r->last_chosen = c->chosen;
	r->heap_bytes -= bytes_of(r, c->group, c->number, c->size);
	if (__builtin_expect(e->time_ns > r->to_ns && c->chosen, 0))
		late(r, c, 1);
	if (change == MT_BLOCK_RELEASE && c->chosen) {
		mt_model_release(&r->model, &b, e->time_ns);
		c->temporary = b.temporary;
	} else if (c->chosen) {
		mt_model_free_again(&r->model, &b, e->time_ns);
	}
	if (change == MT_BLOCK_IMPLIED_END)
		*(mt_profile_group_function(r->model.profile, b.group) == MT_FUNCTION_POOL
				? &r->untold_frees
				: &r->implied_frees) += 1;
	if (change != MT_BLOCK_RELEASE)
		r->chosen_count -= c->chosen;
}

static inline int on_change(void *replay, const struct mt_event *e, struct mt_live_cell *c,
	enum mt_block_change change)
{
	if (change == MT_BLOCK_RESTORE)
		restore(replay, e, c);
	else
		end_block(replay, e, c, change);
	return 0;
}

static int on_refusal(void *replay, const struct mt_event *e, const struct mt_live_cell *c,
	enum mt_block_change change)
{
	struct mt_replay *r = replay;

	(void)e;
	if (r->partial && !c) { /* one that was not chosen */
		r->last = MT_REPLAY_FREED;
		r->last_chosen = false;
		return 0;
	}
	return fault(replay, mt_block_change_fault(change));
}

/* The second half of a realloc. */
struct continuation {
	struct mt_replay *replay;
	bool chosen; /* the new block */
	bool whole;  /* both blocks were chosen or none: else it is an allocation or a free */
};

static int on_continuation(void *of, const struct mt_event *e, struct mt_live_cell *previous,
	enum mt_block_change change)
{
	struct continuation *half = of;

	(void)e;
	(void)change;
	/* of a sampled recording the release has counted as a free */
	if (!mt_model_is_sampled(&half->replay->model))
		half->replay->model.profile->info.frees += previous->chosen && !half->chosen;
	half->replay->chosen_count -= previous->chosen;
	half->whole = previous->chosen;
	return 0;
}

static bool continues(struct mt_replay *r, const struct mt_event *e, bool chosen)
{
	static const struct mt_live_reader reader = {.act = on_continuation};
	/* a block that is not kept was not chosen */
	struct continuation half = {r, chosen, !r->partial || e->previous == MT_BLOCK_NO_PREVIOUS};

	mt_live_change(&r->live, e->previous, MT_BLOCK_CONTINUE, &reader, &half, e);
	return half.whole;
}

static inline int allocate(struct mt_replay *r, const struct mt_event *e, bool chosen)
{
	const char *wrong = mt_block_begin_fault(e, r->next_number, r->model.profile->group_count);
	struct mt_block b = {
		.address = e->address,
		.size = e->size,
		.number = e->number,
		.time_ns = e->time_ns,
		.group = e->group,
		.thread = e->thread,
	};

	if (wrong)
		return fault(r, wrong);
	bool again = e->type == MT_EVENT_REALLOCATE && continues(r, e, chosen);

	if (chosen)
		mt_model_allocate(&r->model, &b, again);
	else
		mt_model_pass_over(&r->model, e->thread);
	r->next_number++;
	r->last = MT_REPLAY_ALLOCATED;
	if (r->partial && !chosen)
		return 0;
	struct mt_live_cell *c = mt_live_insert(&r->live, e->number);

	c->size = b.size;
	c->usable = 0;
	c->thread_sequence = b.thread_sequence;
	c->group = b.group;
	c->thread = b.thread;
	c->chosen = chosen;
	c->late = c->temporary = 0;
	r->heap_bytes += bytes_of(r, b.group, b.number, b.size);
	r->chosen_count += chosen;
	return 0;
}

static int note(struct mt_replay *r, const struct mt_event *e)
{
	const struct mt_profile *p = r->model.profile;

	if (e->note == MT_NOTE_USABLE && r->last == MT_REPLAY_ALLOCATED) {
		struct mt_live_cell *c = mt_live_find(&r->live, r->next_number - 1);

		if (c)
			c->usable = e->size;
		return 0;
	}
	if (e->note != MT_NOTE_FREE_STACK
		|| (r->last != MT_REPLAY_FREED && r->last != MT_REPLAY_FREED_UNKNOWN))
		return fault(r, "a note does not belong to the event before it");
	if (e->size >= p->node_count || !mt_profile_is_marker(p, p->nodes[e->size].pc))
		return fault(r, "the stack of a free is not defined");
	if (r->last == MT_REPLAY_FREED && r->last_chosen)
		mt_model_free_site(&r->model, r->last_group, (uint32_t)e->size);
	return 0;
}

uint64_t mt_replay_slack(const struct mt_replay *r)
{
	const struct mt_live_cell *c;
	uint64_t sum = 0, at = 0;

	while ((c = mt_live_next(&r->live, &at)))
		if (c->state == MT_BLOCK_LIVE && c->chosen)
			sum += mt_model_slack(r->model.profile, c->group, c->size, c->usable);
	return sum;
}

static const char undefined_function[] = "a free refers to an undefined allocator function";

static inline int replay(struct mt_replay *r, const struct mt_event *e, bool chosen)
{
	static const struct mt_live_reader reader = {.act = on_change, .refuse = on_refusal};

	if (e->thread >= r->model.profile->thread_count || e->thread >= MT_LIVE_THREADS)
		return fault(r, "an event refers to an undefined thread");
	if (e->time_ns > MT_REPLAY_TIME_MAX)
		return fault(r, "an event has a time out of range");
	if (e->type == MT_EVENT_NOTE)
		return note(r, e);
	r->events++;
	r->last = MT_REPLAY_NOTHING;
	switch ((enum mt_event_type)e->type) {
	case MT_EVENT_ALLOCATE:
	case MT_EVENT_REALLOCATE: return allocate(r, e, chosen);
	case MT_EVENT_FREE:
	case MT_EVENT_RELEASE:
	case MT_EVENT_IMPLIED_FREE:
	case MT_EVENT_RESTORE:
		if (e->function >= r->model.profile->function_count)
			return fault(r, undefined_function);
		return mt_live_change(&r->live, e->number, mt_block_change_of(e), &reader, r, e);
	case MT_EVENT_UNKNOWN_FREE:
		if (e->function >= r->model.profile->function_count)
			return fault(r, undefined_function);
		r->unknown_frees++;
		r->last = MT_REPLAY_FREED_UNKNOWN;
		return 0;
	case MT_EVENT_NOTE:
	case MT_EVENT_TYPES: break;
	}
	return fault(r, "an event is of an unknown type");
}

/* With many groups or blocks: asks for what the events ahead will touch, in rounds of which each
 * needs what the one before has brought. */
#define MANY 1024
#define FAR 24u
#define NEAR 12u
static inline bool frees(const struct mt_event *e)
{
	return e->type == MT_EVENT_FREE || e->type == MT_EVENT_RELEASE;
}

static inline void look_ahead(const struct mt_replay *r, const struct mt_event *far,
	const struct mt_event *near, const struct mt_event *next)
{
	const struct mt_profile *p = r->model.profile;
	const struct mt_live_cell *c;

	if (frees(far))
		mt_live_prefetch(&r->live, far->number);
	else if (far->group < p->group_count)
		mt_model_prefetch(&p->groups[far->group]);
	if (frees(near) && (c = mt_live_guess(&r->live, near->number)))
		__builtin_prefetch(c, 1);
	if (frees(next) && (c = mt_live_guess(&r->live, next->number)))
		mt_model_prefetch(&p->groups[c->group]);
}

/* The level at which the range begins counts as well as those behind each of its events. */
static inline void begin_range(struct mt_replay *r, const struct mt_event *e)
{
	if (r->in_range || e->time_ns < r->from_ns)
		return;
	r->in_range = true;
	r->heap_peak = r->heap_bytes;
	/* or when the events begin */
	r->heap_peak_ns = r->from_ns > r->heap_peak_ns ? r->from_ns : r->heap_peak_ns;
	r->model.peak_epoch++;
}

static inline void watch_heap(struct mt_replay *r, const struct mt_event *e)
{
	if (r->partial) {
		r->model.peak_epoch +=
			e->number == r->peak_number && e->type <= MT_EVENT_REALLOCATE;
		return;
	}
	if (r->heap_bytes <= r->heap_peak || !r->in_range || e->time_ns < r->from_ns
		|| e->time_ns > r->to_ns)
		return;
	r->heap_peak = r->heap_bytes;
	r->heap_peak_ns = e->time_ns;
	r->model.peak_epoch++;
}

int mt_replay_events(struct mt_replay *r, const struct mt_event *events, const uint8_t *chosen,
	uint32_t count)
{
	bool many = r->model.profile->group_count > MANY || r->live.pooled > MANY;
	int result = 0;

	for (uint32_t i = 0; i < count && !result; i++) {
		if (many && i + FAR < count)
			look_ahead(r, &events[i + FAR], &events[i + NEAR], &events[i + NEAR / 2]);
		if (r->choosing) {
			begin_range(r, &events[i]);
			result = replay(r, &events[i], chosen[i]);
			watch_heap(r, &events[i]);
		} else {
			result = replay(r, &events[i], true);
		}
	}
	return result;
}
