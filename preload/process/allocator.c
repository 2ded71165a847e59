/* What is known of the allocator that provides malloc: its usable sizes, and what a new segment is
 * told of it. The installer has found it. */
#include "preload/process/allocator.h"

#include "preload/base/installed.h"
#include "preload/unwind/modules.h"

void mt_allocator_led(void)
{
	mt_tracer.allocator.own = 0;
	mt_store(&mt_tracer.header->own_allocator, 0);
}

/* It may allocate in turn, as tcmalloc's does when it is first called. */
static size_t ask(const void *p, size_t size)
{
	size_t usable;

	if (mt_tls.flags & MT_TLS_ASKING)
		return size;
	mt_tls.flags |= MT_TLS_ASKING;
	mt_signal_fence();
	usable = mt_tracer.real.malloc_usable_size((void *)p);
	mt_signal_fence();
	mt_tls.flags &= ~MT_TLS_ASKING;
	return usable;
}

/* As glibc's malloc_usable_size has it (malloc.c, musable): a chunk's size word is the next one's,
 * so a block ends with the word after its chunk; a mapped chunk has no next one. */
size_t mt_allocator_usable(const void *p, size_t size)
{
	uint64_t word;

	if (mt_tracer.usable_rule != MT_USABLE_GLIBC)
		return ask(p, size);
	word = ((const uint64_t *)p)[-1];
	return (word & ~7ull) - (word & 2 ? 16 : 8);
}

size_t mt_allocator_usable_of(const void *function, const void *p, size_t size)
{
	return mt_tracer.usable_rule == MT_USABLE_ALWAYS && mt_allocator_has((uint64_t)function)
		? ask(p, size)
		: size;
}

void mt_allocator_announce(struct mt_wire_header *h, bool slack)
{
	const struct mt_allocator *a = &mt_tracer.allocator;

	if (!a->address)
		mt_real_ready(); /* nothing has been allocated yet */
	mt_tracer.usable_rule = slack || a->rule == MT_USABLE_GLIBC ? a->rule : MT_USABLE_NONE;
	mt_store(&h->usable_rule, mt_tracer.usable_rule);
	mt_store(&h->allocator, a->address);
	mt_store(&h->own_allocator, a->own);
	/* their names must be known even of a program that is gone at once */
	mt_modules_enter(a->address);
	mt_modules_enter(a->own);
}
