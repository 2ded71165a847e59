/* Private to preload/process/thread*.c: between what makes a thread's state, forks, and enters. */
#ifndef MT_THREAD_PARTS_H
#define MT_THREAD_PARTS_H

#include "preload/base/sys.h"
#include "preload/process/attach.h"
#include "preload/process/thread.h"
#include "preload/segment/segment.h"

/* ---- states (thread_state.c): all with signals blocked ---- */

/* A state for this thread, with a ring: one that was left, or a new one. NULL: there is no ring, or
 * no memory. */
struct mt_thread_state *mt_thread_make(int32_t tid);
/* Gives back the memory of a state that nobody uses any more. */
void mt_thread_unmap(struct mt_thread_state *);
/* Gives a state a ring of its own that nobody had before. */
bool mt_thread_claim_ring(struct mt_thread_state *);
/* Enters the thread in the segment's table and its name in the ring's next record. */
bool mt_thread_register(struct mt_thread_state *, int32_t tid);
/* Puts a state on the list of all. */
void mt_thread_enlist(struct mt_thread_state *);
/* The stack that the kernel gave the process becomes the thread's, if sp is on it. */
void mt_thread_find_main_stack(struct mt_thread_state *, uint64_t sp);
/* The stack that the C library gave another thread, if sp is on it. */
void mt_thread_find_stack(struct mt_thread_state *, uint64_t sp);

/* ---- forks (thread_fork.c) ---- */

/* One thread of the child finds its segment, with signals blocked. own: NULL when it has no state
 * yet. */
bool mt_thread_find_segment(struct mt_thread_state *own);
/* In a child, called back by fork: notes it, and where that was within an event, nothing more of
 * that is recorded. */
void mt_thread_in_child(void);

/* An event that nobody records, as there is no segment yet. */
static inline void mt_thread_miss(void)
{
	__atomic_fetch_add(&mt_tracer.missed, 1, __ATOMIC_SEQ_CST);
	mt_attach_count_missed();
}

#endif
