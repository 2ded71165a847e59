/* Who provides malloc, and what that says of usable sizes. */
#ifndef MT_ALLOCATOR_H
#define MT_ALLOCATOR_H

#include "preload/base/tracer.h"

/* Tells a new segment. slack: usable sizes are worth a call of malloc_usable_size for each
 * block. */
void mt_allocator_announce(struct mt_wire_header *, bool slack);

/* Is this the code of the library that provides malloc? */
static inline bool mt_allocator_has(uint64_t pc)
{
	return pc - mt_tracer.allocator.start < mt_tracer.allocator.end - mt_tracer.allocator.start;
}

/* The program's own malloc leads to a hook from now on. */
void mt_allocator_led(void);
/* size: where it cannot be known. */
size_t mt_allocator_usable(const void *p, size_t size);
/* The same of a block that this function has made: known when it is the provider's too. */
size_t mt_allocator_usable_of(const void *function, const void *p, size_t size);

/* Does the usable size of the provider's block not follow from the size that was asked for? The
 * word before a block of glibc's is the size of its chunk and three flags, of which IS_MMAPPED (2)
 * makes it differ from any rule. */
static MT_INLINE bool mt_allocator_odd(const void *p, size_t size)
{
	uint32_t rule = mt_tracer.usable_rule;

	if (mt_likely(rule == MT_USABLE_GLIBC))
		return (((const uint64_t *)p)[-1] & ~5ull) != mt_wire_usable(size) + sizeof(size_t);
	return rule != MT_USABLE_NONE;
}

#endif
