/* memtui.h: tell memtui about memory that your program manages itself. One file, for C99, C++11 and
 * later; there is nothing to link. If memtui does not trace the program, a call costs one test of a
 * null pointer. If MEMTUI_DISABLE is defined before the inclusion, a call costs nothing.
 *
 * - memtui_pool_alloc(pool, p, size): your pool, arena or cache has handed out the block p.
 * - memtui_pool_free(pool, p): the pool has taken p back. Call it before another thread can get p.
 * - memtui_pool_realloc(pool, old, p, size): a block was resized, and perhaps moved from old to p.
 * - memtui_marker(text): records a moment that you want to find again; text has at most 64 bytes.
 * - memtui_pause(text), memtui_resume(text): between them memtui records no new block, but still
 *   records frees. The text gives a reason; it may be NULL.
 * - memtui_is_traced(): returns 1 if memtui records this process, else 0.
 *
 * A block that a pool takes back without a call, as when an arena is emptied at once, counts as
 * live until the pool hands out the same address again. A child of vfork shares its parent's
 * memory, so its calls count in the parent.
 *
 * A pool is any pointer that tells your pools apart; pass NULL if you have only one. memtui shows
 * the blocks of a pool with the backtraces that allocated them, beside the heap blocks that the
 * pool is made of. The functions do not change errno and do not allocate. Any thread may call them
 * at any time, also in a signal handler.
 *
 * You may copy this file into your sources. SPDX-License-Identifier: MIT, (c) 2026 the memtui
 * authors. */
#ifndef MEMTUI_H
#define MEMTUI_H

#include <stddef.h>

#if defined(__GNUC__) && defined(__ELF__) && !defined(MEMTUI_DISABLE)

#ifdef __cplusplus
extern "C" {
#endif
/* The tracer defines these. Call them only by the functions below. */
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

/* In code that is not position-independent the linker would resolve the weak symbol to null for
 * good. So the code reads the address from the table that the dynamic linker fills in. */
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
