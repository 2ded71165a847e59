/* operator new and delete. */
#ifndef MT_OPERATORS_H
#define MT_OPERATORS_H

#include "preload/tracer.h"

/* An allocation inside the real operator new is that of the operator: its kind is t->pending_kind,
 * its caller's state t->pending. False: this allocation is not the operator's. */
bool mt_operators_take(const struct mt_thread *, const struct mt_entry *entry, size_t size);

#endif
