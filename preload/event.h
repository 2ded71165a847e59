/* Events: an allocation, a free or a mark, from the hook that saw it to the record in the ring. During a pause
 * (header.recording is 0) what makes a new block is left out, and nothing else. */
#ifndef MT_EVENT_H
#define MT_EVENT_H

#include "preload/thread.h"

/* After the real call. entry is the state of the hook's caller; p may be NULL. */
void mt_event_allocation(struct mt_thread *, const struct mt_entry *entry, enum mt_kind kind, const void *p,
	size_t size);
/* Second half of a realloc whose release has been recorded: p is its result, NULL when it failed. */
void mt_event_reallocation(struct mt_thread *, const struct mt_entry *entry, enum mt_kind kind, const void *p,
	const void *old, size_t size);
/* Before the real call; published on return. type is MT_RECORD_FREE or MT_RECORD_RELEASE. True: recorded. */
bool mt_event_free(struct mt_thread *, const struct mt_entry *entry, enum mt_kind kind, const void *p,
	enum mt_record_type type);
/* ALLOC or REALLOC of a block that is not the plain allocator's: by its address on the wire, with its usable size. */
void mt_event_block(struct mt_thread *, const struct mt_entry *entry, enum mt_kind kind, enum mt_record_type type,
	uint64_t address, size_t size, size_t usable);
/* A mark with the caller's stack, with at most MT_MARK_VALUES values. True: recorded. */
bool mt_event_mark(struct mt_thread *, const struct mt_entry *entry, enum mt_kind kind, enum mt_mark mark,
	const uint64_t *values, unsigned count);

#endif
