/* A list of the memory that the tracer has for itself, beside the segment. A leak check must not
 * take what stands there, such as copies of the program's stacks, for the program's own pointers.
 * Whoever looks for leaks reads the list from outside (doc/leak-check.md). */
#ifndef MT_OWN_H
#define MT_OWN_H

#include "core/wire.h"

/* Free entries have the length 0. */
extern struct mt_wire_own mt_own[MT_WIRE_OWN_MOST];

/* Memory for which there is no room is counted in the segment. */
void mt_own_add(const void *, uint64_t len);
/* Memory that is not in the list is not the list's. */
void mt_own_remove(const void *);

#endif
