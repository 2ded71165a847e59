/* operator new and delete, and what allocators that may call malloc have in common with them. */
#ifndef MT_OPERATORS_H
#define MT_OPERATORS_H

#include "preload/tracer.h"

struct mt_pending {
	struct mt_entry entry;
	uint64_t size, start, end;
	uint32_t kind;
};

/* An allocation inside the real operator new is that of the operator: its kind is t->pending_kind,
 * its caller's state t->pending. False: this allocation is not the operator's. */
bool mt_operators_take(const struct mt_thread *, const struct mt_entry *entry, size_t size);
/* Before a call of code in [start, end), and after it: true when an allocation in it has been taken. */
void mt_pending_begin(struct mt_thread *, struct mt_pending *before, const struct mt_entry *entry, uint32_t kind,
	uint64_t size, uint64_t start, uint64_t end);
bool mt_pending_end(struct mt_thread *, const struct mt_pending *before);

#endif
