/* memtui.h: what a program can tell memtui about memory of its own management. One file, for C99
 * and later and C++11 and later; nothing to link. In a program that memtui does not trace each call
 * costs one test of a pointer that is null, with MEMTUI_DISABLE defined before the inclusion
 * nothing at all.
 *
 *   memtui_pool_alloc(pool, p, size) a block of your own pool, arena or cache has been handed out
 *   memtui_pool_free(pool, p) it has been taken back: say so before another thread may get it
 *   memtui_pool_realloc(pool, old, p, size)   it has been resized, and perhaps moved from old to p
 *   memtui_marker(text) a moment worth finding again, with up to 64 bytes of text
 *   memtui_pause(text), memtui_resume(text) between these no new block is recorded; what ends a
 *   block is.
 *                                             text says why, or is NULL
 *   memtui_is_traced()                        1 when memtui records this process, else 0
 *
 * What a pool takes back without a word, as an arena that is emptied at once, counts as live until
 * it hands out the same address again. A child of vfork shares the memory of its parent, so its
 * calls count there.
 *
 * A pool is any pointer that tells your pools apart, NULL if there is but one. The blocks of pools
 * are shown as such, with the stacks that asked for them, beside the blocks of the heap that the
 * pools are made of. None of the functions changes errno or allocates; all may be called by any
 * thread at any time, in signal handlers too.
 *
 * Copy it into your sources if you like. SPDX-License-Identifier: MIT, (c) 2026 the memtui
 * authors. */
#ifndef MEMTUI_H
#define MEMTUI_H

#include <stddef.h>

#if defined(__GNUC__) && defined(__ELF__) && !defined(MEMTUI_DISABLE)

#ifdef __cplusplus
extern "C" {
#endif
/* The tracer has these. Do not call them but by the functions below. */
extern void memtui_tracer_pool_alloc(const void *, const void *, size_t) __attribute__((__weak__));
extern void memtui_tracer_pool_free(const void *, const void *) __attribute__((__weak__));
extern void memtui_tracer_pool_realloc(const void *, const void *, const void *, size_t)
	__attribute__((__weak__));
extern void memtui_tracer_marker(const char *) __attribute__((__weak__));
extern void memtui_tracer_pause(const char *) __attribute__((__weak__));
extern void memtui_tracer_resume(const char *) __attribute__((__weak__));
extern int memtui_tracer_active(void) __attribute__((__weak__));
#ifdef __cplusplus
}
#endif

#define MEMTUI_INLINE static inline __attribute__((__always_inline__, __unused__))

/* Code that is not position-independent would have the linker decide once and for all that there is
 * no tracer, so it reads the address from the table that the dynamic linker fills in. */
#if defined(__x86_64__) && !defined(__PIC__) && !defined(__PIE__)
#define MEMTUI_CALL(returned, name, arguments) \
	do { \
		__typeof__(&name) memtui_function; \
		__asm__(".weak " #name "\n\tmovq " #name "@GOTPCREL(%%rip), %0" \
			: "=r"(memtui_function)); \
		if (__builtin_expect(!!memtui_function, 0)) \
			returned memtui_function arguments; \
	} while (0)
#else
#define MEMTUI_CALL(returned, name, arguments) \
	do { \
		if (__builtin_expect(!!name, 0)) \
			returned name arguments; \
	} while (0)
#endif

MEMTUI_INLINE void memtui_pool_alloc(const void *pool, const void *p, size_t size)
{
	MEMTUI_CALL(, memtui_tracer_pool_alloc, (pool, p, size));
}

MEMTUI_INLINE void memtui_pool_free(const void *pool, const void *p)
{
	MEMTUI_CALL(, memtui_tracer_pool_free, (pool, p));
}

MEMTUI_INLINE void memtui_pool_realloc(const void *pool, const void *old, const void *p,
	size_t size)
{
	MEMTUI_CALL(, memtui_tracer_pool_realloc, (pool, old, p, size));
}

MEMTUI_INLINE void memtui_marker(const char *text)
{
	MEMTUI_CALL(, memtui_tracer_marker, (text));
}

MEMTUI_INLINE void memtui_pause(const char *text)
{
	MEMTUI_CALL(, memtui_tracer_pause, (text));
}

MEMTUI_INLINE void memtui_resume(const char *text)
{
	MEMTUI_CALL(, memtui_tracer_resume, (text));
}

MEMTUI_INLINE int memtui_is_traced(void)
{
	MEMTUI_CALL(return, memtui_tracer_active, ());
	return 0;
}

#undef MEMTUI_CALL
#undef MEMTUI_INLINE

#else /* another compiler, or switched off */

#define memtui_pool_alloc(pool, p, size) ((void)(pool), (void)(p), (void)(size))
#define memtui_pool_free(pool, p) ((void)(pool), (void)(p))
#define memtui_pool_realloc(pool, old, p, size) ((void)(pool), (void)(old), (void)(p), (void)(size))
#define memtui_marker(text) ((void)(text))
#define memtui_pause(text) ((void)(text))
#define memtui_resume(text) ((void)(text))
#define memtui_is_traced() 0

#endif
#endif
