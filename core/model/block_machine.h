/* The life of a block, as doc/block-machine.md draws it. The recorder finds blocks by address, and
 * readers of events find them by number (core/model/live.h). Both change them here alone, and
 * supply only what they do at a change. All is inline and the tables are constant, so the compiler
 * leaves no call of a pointer. */
#ifndef MT_MODEL_BLOCK_MACHINE_H
#define MT_MODEL_BLOCK_MACHINE_H

#include "core/trace/trace.h"

#define MT_BLOCK_INLINE static inline __attribute__((always_inline))

enum mt_block_state { MT_BLOCK_NONE, MT_BLOCK_LIVE, MT_BLOCK_RELEASED };

enum mt_block_change {
	MT_BLOCK_END,         /* live -> none: a free */
	MT_BLOCK_IMPLIED_END, /* live -> none: its free was lost */
	MT_BLOCK_RELEASE,     /* live -> released: the first half of a realloc */
	MT_BLOCK_RESTORE,     /* released -> live: the realloc failed */
	MT_BLOCK_CONTINUE,    /* released -> none: another block continues it */
};

MT_BLOCK_INLINE enum mt_block_state mt_block_before(enum mt_block_change change)
{
	return change < MT_BLOCK_RESTORE ? MT_BLOCK_LIVE : MT_BLOCK_RELEASED;
}

MT_BLOCK_INLINE enum mt_block_state mt_block_after(enum mt_block_change change)
{
	return change == MT_BLOCK_RELEASE    ? MT_BLOCK_RELEASED
		: change == MT_BLOCK_RESTORE ? MT_BLOCK_LIVE
					     : MT_BLOCK_NONE;
}

/* A table of blocks with its owner. Each function gets the owner, which knows the event. */
struct mt_block_table {
	/* Returns the block that the event names if it is in this state, else NULL. */
	void *(*find)(void *owner, enum mt_block_state);
	/* The event names no block in the state that the change needs. What it returns is
	 * returned. */
	int (*refuse)(void *owner, enum mt_block_change);
	/* Ends whatever block is where this one will live. NULL: nothing can be there. */
	void (*evict)(void *owner, void *block);
	/* The owner's part of the change; the block is still in its old state. */
	int (*act)(void *owner, void *block, enum mt_block_change);
	/* Puts the block into its new state. */
	void (*move)(void *owner, void *block, enum mt_block_state);
};

/* Changes the block that the event names. Returns what act or refuse returned. */
MT_BLOCK_INLINE int mt_block_change(const struct mt_block_table *t, void *owner,
	enum mt_block_change change)
{
	void *block = t->find(owner, mt_block_before(change));
	int result;

	if (__builtin_expect(!block, 0))
		return t->refuse(owner, change);
	if (t->evict && mt_block_after(change) == MT_BLOCK_LIVE)
		t->evict(owner, block);
	result = t->act(owner, block, change);
	t->move(owner, block, mt_block_after(change));
	return result;
}

/* The change that an event makes which is neither an allocation nor a note nor an unknown free. */
MT_BLOCK_INLINE enum mt_block_change mt_block_change_of(const struct mt_event *e)
{
	return e->type == MT_EVENT_FREE       ? MT_BLOCK_END
		: e->type == MT_EVENT_RELEASE ? MT_BLOCK_RELEASE
		: e->type == MT_EVENT_RESTORE ? MT_BLOCK_RESTORE
					      : MT_BLOCK_IMPLIED_END;
}

/* ---- for readers that do not believe the events ---- */

#define MT_BLOCK_NO_PREVIOUS UINT64_MAX /* a realloc of a block that was not recorded */

/* Returns what is wrong with an allocation, or NULL. next: the number that it must have; groups:
 * how many are defined. */
static inline const char *mt_block_begin_fault(const struct mt_event *e, uint64_t next,
	uint32_t groups)
{
	if (e->number != next)
		return "an allocation has a number that does not follow the one before";
	if (e->group >= groups)
		return "an allocation refers to an undefined group";
	if (e->type == MT_EVENT_REALLOCATE && e->previous >= e->number
		&& e->previous != MT_BLOCK_NO_PREVIOUS)
		return "a realloc refers to an unknown block";
	return NULL;
}

/* Says why a change was refused. */
static inline const char *mt_block_change_fault(enum mt_block_change change)
{
	return mt_block_before(change) == MT_BLOCK_LIVE
		? "a free refers to a block that is not live"
		: "a failed realloc refers to a block that was not released";
}

#endif
