/* Events. Only the outermost event of a thread uses the memo; what a signal handler allocates
 * inside one is walked frame by frame and reserves behind it, and is published with it if it holds
 * a slot already. */
#include "preload/record/event.h"

#include "preload/record/pending.h"
#include "preload/unwind/check.h"

enum turn { TURN_NONE, TURN_OUTERMOST, TURN_NESTED };

/* An event is under way already. Either this is a signal handler within it, whose stack then shows
 * the hook, or a handler has left that event by longjmp. */
static MT_COLD enum turn nested(struct mt_thread_state *t, const struct mt_entry *entry)
{
	uint64_t level;
	struct mt_walk walk;

	if (t->busy >= MT_BUSY_STALE)
		return mt_thread_renew(t) ? TURN_OUTERMOST : TURN_NONE;
	/* as many handlers may have been left here, each from within the next one's walk */
	level = mt_arch_add(&t->busy, 1);
	walk.pcs = level < MT_NESTED_LEVELS ? t->pcs[level] : NULL;
	mt_walk(t, entry, &walk);
	if (walk.saw_own || (walk.cut && entry->sp <= t->hook_sp) || (walk.cut && walk.foreign))
		return TURN_NESTED;
	mt_thread_recover(t);
	return TURN_OUTERMOST;
}

/* No new blocks are recorded; what ends one is. A forked child asks its own segment. */
static inline bool paused(void)
{
	const struct mt_wire_header *h;

	if (mt_unlikely(!mt_load(mt_tracer.running)))
		mt_thread_prepare();
	h = mt_tracer.header;
	return mt_unlikely(!mt_load(&h->recording));
}

static inline enum turn begin(struct mt_thread_state *t, const struct mt_entry *entry)
{
	enum turn turn;

	if (mt_unlikely(!mt_load(mt_tracer.running)) && !mt_thread_forked(t, entry))
		return TURN_NONE;
	if (mt_unlikely(t->busy) && (turn = nested(t, entry)) != TURN_OUTERMOST)
		return turn;
	if (mt_event_begin(t, entry))
		return TURN_OUTERMOST;
	/* a handler has forked just now */
	return mt_thread_forked(t, entry) && mt_event_begin(t, entry) ? TURN_OUTERMOST : TURN_NONE;
}

static bool has_stack(unsigned type)
{
	return type == MT_RECORD_ALLOC || type == MT_RECORD_REALLOC || type == MT_RECORD_MARK
		|| mt_tracer.free_stacks;
}

/* Records within another event, and leaves the level that nested() entered. */
static MT_COLD bool record_nested(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, struct mt_item *item)
{
	uint64_t level = t->busy - 1;
	bool done;

	mt_count(MT_COUNTER_NESTED_EVENTS, 1);
	item->node = function;
	if (has_stack(item->type)) {
		struct mt_walk walk = {.cut = MT_CUT};

		if (level < MT_NESTED_LEVELS) {
			walk.pcs = t->pcs[level];
			mt_walk(t, entry, &walk);
		}
		if (walk.cut)
			mt_unwind_count(walk.cut);
		item->node = mt_walk_node(&walk, function);
		if (mt_unlikely(mt_tracer.check) && level < MT_NESTED_LEVELS)
			mt_check_nested(t, entry, item->node, (uint32_t)level);
	}
	done = mt_ring_record_nested(t, item);
	mt_signal_fence();
	mt_arch_add(&t->busy, -1);
	return done;
}

/* The way of all that is not an everyday allocation or free. */
static MT_COLD bool record_item(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, struct mt_item *item)
{
	bool done = false;

	switch (begin(t, entry)) {
	case TURN_OUTERMOST:
		item->node = has_stack(item->type) ? mt_unwind(t, entry, function) : function;
		done = mt_ring_record_item(t, item);
		mt_ring_publish(t, done);
		break;
	case TURN_NESTED: done = record_nested(t, entry, function, item); break;
	case TURN_NONE: break;
	}
	return done;
}

bool mt_event_mark(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_mark mark, const uint64_t *values, unsigned count)
{
	bool continues = mark == MT_MARK_MAP && function == MT_FUNCTION_MREMAP;
	struct mt_item item = {
		.type = MT_RECORD_MARK,
		.size = mark,
		.values = values,
		.value_count = count,
		.paused = continues && paused(),
	};

	if (mark == MT_MARK_MAP && !continues && paused())
		return false;
	return record_item(t, entry, function, &item);
}

/* An allocation of a size that is not recorded. */
static MT_COLD void leave_out(struct mt_thread_state *t, const struct mt_entry *entry, size_t size)
{
	switch (begin(t, entry)) {
	case TURN_OUTERMOST:
		mt_event_count_left_out(t, size);
		mt_ring_publish(t, true);
		break;
	case TURN_NESTED:
		mt_event_count_left_out(t, size);
		mt_signal_fence();
		mt_arch_add(&t->busy, -1);
		break;
	case TURN_NONE: break;
	}
}

/* Whether the recording wants the block: each, those of some sizes, or what is drawn. */
static inline bool is_kept(struct mt_thread_state *t, const struct mt_entry *entry,
	uint64_t address, size_t size)
{
	if (mt_likely(!mt_load(&mt_tracer.sampled)))
		return true;
	if (!mt_samples_leave_out(size))
		return mt_samples_keeps(t, address, size);
	leave_out(t, entry, size);
	return false;
}

/* The second half of a realloc, whose first was recorded: it has been drawn before. */
static inline bool is_kept_again(uint64_t address)
{
	if (mt_unlikely(mt_load(&mt_tracer.sampled)))
		mt_samples_insert(address);
	return true;
}

void mt_event_block(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_record_type type, uint64_t address, size_t size,
	size_t usable)
{
	bool plain = mt_tracer.usable_rule == MT_USABLE_NONE
		|| (mt_tracer.usable_rule == MT_USABLE_GLIBC && mt_wire_usable(size) == usable);
	struct mt_item item = {
		.type = type,
		.pointer = address,
		.size = size,
		.usable = plain ? 0 : usable,
	};

	if (mt_tracer.usable_rule == MT_USABLE_NONE && type == MT_RECORD_ALLOC) {
		/* records cheaper */
		mt_event_allocation(t, entry, function, (const void *)address, size);
		return;
	}
	item.paused = paused();
	if (type == MT_RECORD_REALLOC ? !is_kept_again(address)
				      : item.paused || !is_kept(t, entry, address, size))
		return;
	record_item(t, entry, function, &item);
}

void mt_event_domain_block(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_record_type type, uint64_t key, size_t size)
{
	struct mt_item item = {
		.type = type,
		.function = function,
		.pointer = key,
		.size = size,
		.paused = paused(),
	};

	if (!item.paused || type == MT_RECORD_REALLOC)
		record_item(t, entry, function, &item);
}

bool mt_event_domain_free(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_record_type type, uint64_t key)
{
	struct mt_item item = {.type = type, .function = function, .pointer = key};

	return record_item(t, entry, function, &item);
}

/* With a usable size that does not follow from the size. */
static MT_COLD void record_odd(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, size_t size)
{
	size_t usable = mt_allocator_usable(p, size);
	bool plain = mt_tracer.usable_rule == MT_USABLE_GLIBC && mt_wire_usable(size) == usable;
	struct mt_item item = {
		.type = MT_RECORD_ALLOC,
		.pointer = (uint64_t)p,
		.size = size,
		.usable = plain ? 0 : usable,
	};

	record_item(t, entry, function, &item);
}

void mt_event_allocation(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, size_t size)
{
	uint32_t node;

	if (mt_unlikely(!p))
		return;
	if (mt_unlikely(t->pending_function) && mt_pending_take(t, entry, size)) {
		entry = &t->pending;
		function = t->pending_function & ~MT_PENDING_ROUNDS;
		if (t->pending_function & MT_PENDING_ROUNDS)
			size = t->pending_size;
		t->pending_function = 0;
	}
	if (paused() || !is_kept(t, entry, (uint64_t)p, size))
		return;
	if (mt_unlikely(mt_allocator_odd(p, size))) {
		record_odd(t, entry, function, p, size);
		return;
	}
	switch (begin(t, entry)) {
	case TURN_OUTERMOST:
		node = mt_unwind(t, entry, function);
		mt_ring_publish(t,
			mt_ring_record(t, MT_RECORD_ALLOC, node, (uint64_t)p, size, false));
		break;
	case TURN_NESTED:
		record_nested(t, entry, function,
			&(struct mt_item){
				.type = MT_RECORD_ALLOC,
				.pointer = (uint64_t)p,
				.size = size,
			});
		break;
	case TURN_NONE: break;
	}
}

/* The clock is asked for again: a stack takes its time, and a signal handler may forbid the usual
 * one meanwhile. */
void mt_event_allocated_anew(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, size_t size)
{
	uint32_t node = mt_unwind_anew(t, entry, function);

	mt_ring_publish(t, mt_ring_record(t, MT_RECORD_ALLOC, node, (uint64_t)p, size, false));
}

static MT_COLD void reallocation_item(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, const void *old, size_t size)
{
	struct mt_item item = {
		.type = p ? MT_RECORD_REALLOC : MT_RECORD_RESTORE,
		.pointer = (uint64_t)(p ? p : old),
		.size = p ? size : 0,
		.paused = p && paused(),
		.usable = p && mt_allocator_odd(p, size) ? mt_allocator_usable(p, size) : 0,
	};

	record_item(t, entry, function, &item);
}

void mt_event_reallocation(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, const void *old, size_t size)
{
	uint32_t node;

	(void)is_kept_again((uint64_t)(p ? p : old));
	if (mt_unlikely(!p) || paused() || mt_unlikely(mt_allocator_odd(p, size))) {
		reallocation_item(t, entry, function, p, old, size);
		return;
	}
	switch (begin(t, entry)) {
	case TURN_OUTERMOST:
		node = mt_unwind(t, entry, function);
		mt_ring_publish(t,
			mt_ring_record(t, MT_RECORD_REALLOC, node, (uint64_t)p, size, false));
		break;
	case TURN_NESTED:
		record_nested(t, entry, function,
			&(struct mt_item){
				.type = MT_RECORD_REALLOC,
				.pointer = (uint64_t)p,
				.size = size,
			});
		break;
	case TURN_NONE: break;
	}
}

static bool record_end(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, enum mt_record_type type)
{
	uint32_t node = function;
	bool done = false;

	switch (begin(t, entry)) {
	case TURN_OUTERMOST:
		if (mt_unlikely(mt_tracer.free_stacks))
			node = mt_unwind(t, entry, function);
		done = mt_ring_record(t, type, node, (uint64_t)p, 0, false);
		mt_ring_publish(t, done);
		break;
	case TURN_NESTED:
		done = record_nested(t, entry, function,
			&(struct mt_item){.type = type, .pointer = (uint64_t)p});
		break;
	case TURN_NONE: break;
	}
	return done;
}

void mt_event_free(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p)
{
	if (mt_likely(!mt_load(&mt_tracer.sampled)) || mt_samples_take((uint64_t)p))
		record_end(t, entry, function, p, MT_RECORD_FREE);
}

/* Drawn before it is known whether the realloc succeeds: so the old block's end is recorded as what
 * it will be. */
static MT_COLD enum mt_released release_sampled(struct mt_thread_state *t,
	const struct mt_entry *entry, enum mt_function_id function, const void *old, size_t size)
{
	if (!mt_samples_take((uint64_t)old))
		return MT_RELEASED_NOT;
	if (!mt_samples_leave_out(size) && mt_samples_draws(t, size))
		return record_end(t, entry, function, old, MT_RECORD_RELEASE)
			? MT_RELEASED
			: MT_RELEASED_NOT;
	record_end(t, entry, function, old, MT_RECORD_FREE);
	return MT_RELEASED_LAST;
}

enum mt_released mt_event_release(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *old, size_t size)
{
	if (mt_unlikely(mt_load(&mt_tracer.sampled)))
		return release_sampled(t, entry, function, old, size);
	return record_end(t, entry, function, old, MT_RECORD_RELEASE)
		? MT_RELEASED
		: MT_RELEASED_NOT;
}

void mt_event_release_ended(struct mt_thread_state *t, const struct mt_entry *entry, const void *p,
	size_t size)
{
	if (!p)
		mt_count(MT_COUNTER_LOST_ALLOCATIONS, 1);
	else if (mt_samples_leave_out(size) && !paused())
		leave_out(t, entry, size);
}

MT_COLD void mt_event_free_rest(enum mt_function_id function, void *p, bool recorded)
{
	struct mt_thread_state *t = mt_tls.self;

	if (recorded)
		mt_ring_publish_rest(t);
	else
		mt_ring_publish(t,
			mt_ring_record_slow(t, MT_RECORD_FREE, function, (uint64_t)p, 0));
	mt_tracer.real.free(p);
}
