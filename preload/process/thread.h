/* Thread states: made at a thread's first event, handed on when the thread is gone. */
#ifndef MT_THREAD_H
#define MT_THREAD_H

#include "preload/base/tracer.h"

/* This thread's state, attaching to the recorder first if that has not been tried; NULL: not
 * traced. */
struct mt_thread_state *mt_thread_enter(void);
/* Puts a state that was left in the middle of an event right again. */
void mt_thread_recover(struct mt_thread_state *);
/* An event finds the running word 0: tracing has ended, or this is a forked child. True: t has a
 * ring of a segment of this process, and the event can go on. */
bool mt_thread_forked(struct mt_thread_state *, const struct mt_entry *);
/* Before a process gets another thread: a forked child asks for its segment now, since what one
 * thread allocates while another is asking goes unrecorded. */
void mt_thread_prepare(void);
/* Takes a state of before a fork into use again, when another thread has found the new segment. */
bool mt_thread_renew(struct mt_thread_state *);

/* Where the code is with which threads start (pthread_create, thrd_create). */
void mt_thread_starts(uint64_t *low, uint64_t *high);

static inline struct mt_thread_state *mt_thread_self(void)
{
	struct mt_thread_state *t = mt_tls.self;

	return mt_likely(t != NULL) ? t : mt_thread_enter();
}

#endif
