/* Events: an allocation, a free or a mark, from the hook that saw it to the record in the ring.
 * During a pause (header.recording is 0) what makes a new block is left out, and nothing else. */
#ifndef MT_EVENT_H
#define MT_EVENT_H

#include "preload/process/allocator.h"
#include "preload/process/samples.h"
#include "preload/process/thread.h"
#include "preload/segment/ring.h"
#include "preload/unwind/branch.h"
#include "preload/unwind/unwind.h"

/* After the real call. entry is the state of the hook's caller; p may be NULL. */
void mt_event_allocation(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, size_t size);
/* Second half of a realloc whose release has been recorded: p is its result, NULL when it
 * failed. */
void mt_event_reallocation(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, const void *old, size_t size);
/* Before the real call; published on return. */
void mt_event_free(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, const void *p);
enum mt_released {
	MT_RELEASED_NOT, /* lost, paused, or not sampled: what comes back is new to the recorder */
	MT_RELEASED,     /* mt_event_reallocation, or a block of type REALLOC, has to follow */
	MT_RELEASED_LAST /* the old block has ended, the new one is not to be recorded */
};
/* First half of a realloc to a size other than 0: before the real call, published on return. */
enum mt_released mt_event_release(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, const void *old, size_t size);
/* After the realloc behind MT_RELEASED_LAST. p: its result; NULL: it has failed, and the old block
 * lives on unrecorded. */
void mt_event_release_ended(struct mt_thread_state *, const struct mt_entry *entry, const void *p,
	size_t size);
/* ALLOC or REALLOC of a block that is not the plain allocator's, with its usable size. */
void mt_event_block(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_record_type type, uint64_t address, size_t size,
	size_t usable);
/* The same of a domain other than the heap: ALLOC or REALLOC, FREE or RELEASE. function names the
 * domain, and key the block in it. */
void mt_event_domain_block(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_record_type type, uint64_t key, size_t size);
bool mt_event_domain_free(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_record_type type, uint64_t key);
/* A mark with the caller's stack, with at most MT_MARK_VALUES values. True: recorded. */
bool mt_event_mark(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, enum mt_mark mark, const uint64_t *values, unsigned count);

/* The rest of an allocation that has begun, with a stack that is not among the branches. */
void mt_event_allocated_anew(struct mt_thread_state *, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, size_t size);

/* ---- the everyday case, inline where it comes most often ------------------------------------- */

/* The outermost event of a thread begins; false: the general way has to look at it. The running
 * word is read when the state says that an event is under way: a signal handler that forks before
 * returns to a word that is 0, one that forks later sees that there is something to return to. */
static MT_INLINE bool mt_event_begin(struct mt_thread_state *t, const struct mt_entry *entry)
{
	if (mt_unlikely(t->busy))
		return false;
	t->hook_sp = entry->sp;
	mt_store(&t->busy, 1);
	mt_signal_fence();
	if (mt_likely(mt_load(mt_tracer.running)))
		return true;
	mt_store(&t->busy, 0);
	return false;
}

/* An allocation of a size that is not recorded, of an event that has begun. */
static MT_INLINE void mt_event_count_left_out(struct mt_thread_state *t, size_t size)
{
	mt_arch_add(&t->ring->left_out, 1);
	mt_arch_add(&t->ring->left_out_bytes, size);
}

/* False: during a pause it does not count, or the general way has to look. */
static MT_INLINE bool mt_event_leaves_out(struct mt_thread_state *t, const struct mt_entry *entry,
	size_t size)
{
	if (mt_unlikely(!mt_load(&mt_tracer.header->recording))
		|| mt_unlikely(!mt_event_begin(t, entry)))
		return false;
	mt_event_count_left_out(t, size);
	mt_ring_publish(t, true);
	return true;
}

/* Of a recording that leaves blocks out: an allocation that is not recorded. The general way looks
 * at all others again. */
static MT_INLINE bool mt_event_passes(struct mt_thread_state *t, const struct mt_entry *entry,
	const void *p, size_t size)
{
	if (!mt_load(&mt_tracer.sampled) || mt_unlikely(!p) || mt_unlikely(t->pending_function)
		|| mt_unlikely(!mt_load(mt_tracer.running)))
		return false;
	return mt_samples_leave_out(size) ? mt_event_leaves_out(t, entry, size)
					  : mt_sampler_passes(&t->sampler, mt_samples_size(size));
}

/* The same of a free. */
static MT_INLINE bool mt_event_free_passes(const void *p)
{
	return mt_load(&mt_tracer.sampled) && mt_likely(p != NULL)
		&& mt_likely(!mt_load(&mt_tracer.bootstrap_count)) && !mt_samples_may_have(p);
}

static MT_INLINE void mt_event_allocated(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p, size_t size)
{
	struct mt_entry copy;
	const struct mt_branch *branch;

	/* what a recording that leaves blocks out looks at comes first */
	if (mt_unlikely(mt_load(&mt_tracer.unusual)) || mt_unlikely(!p)
		|| mt_unlikely(t->pending_function)
		|| mt_unlikely(!mt_load(&mt_tracer.header->recording))
		|| mt_unlikely(mt_allocator_odd(p, size)) || !mt_event_begin(t, entry)) {
		if (mt_event_passes(t, entry, p, size))
			return;
		copy = *entry; /* so that the state itself can stay in registers */
		mt_event_allocation(t, &copy, function, p, size);
		return;
	}
	branch = mt_branch_find(t, entry, function);
	if (mt_unlikely(!branch)) {
		copy = *entry;
		mt_event_allocated_anew(t, &copy, function, p, size);
		return;
	}
	mt_ring_publish(t,
		mt_ring_record(t, MT_RECORD_ALLOC, branch->leaf, (uint64_t)p, size, true));
}

/* A free needs a stack or another clock, or may not be recorded: mt_event_free sees to it. */
static MT_INLINE bool mt_event_free_is_unusual(void)
{
	return mt_load(&mt_tracer.unusual) != 0;
}

/* What is left of another free that has begun: records it, unless that is done, publishes, calls
 * the real free. */
void mt_event_free_rest(enum mt_function_id function, void *p, bool recorded);

/* All of such a free. Nothing is called but what ends it: a hook whose last call this is saves no
 * register. */
static MT_INLINE void mt_event_free_quick(struct mt_thread_state *t, enum mt_function_id function,
	void *p)
{
	if (mt_unlikely(!mt_ring_record_quick(t, MT_RECORD_FREE, function, (uint64_t)p, 0, true)))
		mt_event_free_rest(function, p, false);
	else if (mt_unlikely(!mt_ring_publish_quick(t)))
		mt_event_free_rest(function, p, true);
	else
		mt_tracer.real.free(p);
}

static MT_INLINE void mt_event_freed(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, const void *p)
{
	struct mt_entry copy;

	if (mt_unlikely(mt_event_free_is_unusual()) || !mt_event_begin(t, entry)) {
		copy = *entry;
		mt_event_free(t, &copy, function, p);
		return;
	}
	mt_ring_publish(t, mt_ring_record(t, MT_RECORD_FREE, function, (uint64_t)p, 0, true));
}

#endif
