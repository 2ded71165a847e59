/* Tables that are copied into a larger place while others read them. */
#ifndef MT_GROW_H
#define MT_GROW_H

#include "preload/base/tracer.h"

/* One thread at a time copies a table; others and its own signal handlers go on with the old one.
 * table: one of MT_GROWING_*. False: it is being copied. */
static inline bool mt_grow_begin(uint32_t table)
{
	struct mt_thread_state *t = mt_tls.self;

	if (__atomic_fetch_or(&mt_tracer.growing, table, __ATOMIC_ACQUIRE) & table)
		return false;
	if (t)
		t->growing |= table;
	return true;
}

static inline void mt_grow_end(uint32_t table)
{
	struct mt_thread_state *t = mt_tls.self;

	__atomic_fetch_and(&mt_tracer.growing, ~table, __ATOMIC_RELEASE);
	if (t)
		t->growing &= ~table;
}

#endif
