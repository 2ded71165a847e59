/* Memory for what is allocated before the real allocator is known. Never given back. */
#ifndef MT_BOOTSTRAP_H
#define MT_BOOTSTRAP_H

#include "preload/base/tracer.h"

/* Zeroed; alignment is a power of two. NULL when there is no memory. */
void *mt_bootstrap_allocate(size_t size, size_t alignment);
bool mt_bootstrap_contains(const void *p);
size_t mt_bootstrap_size(const void *p);
/* A real block with the contents of a bootstrap one; size 0 gives NULL as realloc does. */
void *mt_bootstrap_move(void *p, size_t size);

static inline bool mt_bootstrap_has(const void *p)
{
	return mt_unlikely(mt_load(&mt_tracer.bootstrap_count) != 0) && mt_bootstrap_contains(p);
}

#endif
