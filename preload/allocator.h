/* Who provides malloc, and what that says of usable sizes. */
#ifndef MT_ALLOCATOR_H
#define MT_ALLOCATOR_H

#include "preload/tracer.h"

/* When the real functions have just been looked up, while they cannot yet be called. */
void mt_allocator_find(const struct mt_real *);
/* Tells a new segment. */
void mt_allocator_announce(struct mt_wire_header *, bool slack);

/* Is this the code of the library that provides malloc? */
static inline bool mt_allocator_has(uint64_t pc)
{
	return pc - mt_tracer.allocator.start < mt_tracer.allocator.end - mt_tracer.allocator.start;
}

#endif
