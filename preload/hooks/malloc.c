/* The allocation functions of C. Each takes its caller's state first, so that the stack begins
 * there. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "preload/hooks/bootstrap.h"
#include "preload/hooks/libc_family.h"
#include "preload/record/event.h"
#include "preload/record/pending.h"

static inline void allocated(const struct mt_entry *entry, enum mt_function_id function,
	const void *p, size_t size)
{
	struct mt_thread_state *t = mt_thread_self();

	if (mt_likely(t != NULL))
		mt_event_allocation(t, entry, function, p, size);
}

MT_EXPORT void *malloc(size_t size)
{
	void *p = mt_tracer.real.malloc(size);
	struct mt_entry entry = MT_ENTRY(); /* not before, or it would have to be kept */
	struct mt_thread_state *t = mt_thread_self();

	if (mt_likely(t != NULL))
		mt_event_allocated(t, &entry, MT_FUNCTION_MALLOC, p, size);
	return p;
}

MT_EXPORT void *calloc(size_t count, size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	void *p = mt_tracer.real.calloc(count, size);

	allocated(&entry, MT_FUNCTION_CALLOC, p, count * size);
	return p;
}

/* The call around it may have been left without a return, its stack be gone: then this is another
 * free. */
static MT_COLD void free_within(struct mt_thread_state *t, const struct mt_entry *entry, void *p)
{
	struct mt_freeing freeing = t->freeing;
	bool holds = mt_freeing_holds(t, entry);

	t->freeing.p = NULL;
	if (!holds)
		mt_event_freed(t, entry, MT_FUNCTION_FREE, p);
	else if (freeing.function)
		mt_event_freed(t, &freeing.entry, freeing.function, p);
}

/* Records a free, unless the one around it has. False: nothing is to be freed. */
static MT_INLINE bool released(void *p, const struct mt_entry *entry)
{
	struct mt_thread_state *t;

	if (mt_unlikely(!p))
		return false;
	if (mt_unlikely(mt_bootstrap_has(p)))
		return false;
	t = mt_thread_self();
	if (mt_likely(t != NULL)) {
		if (mt_unlikely(t->freeing.p == p))
			free_within(t, entry, p);
		else
			mt_event_freed(t, entry, MT_FUNCTION_FREE, p);
	}
	return true;
}

static MT_INLINE void release(void *p, const struct mt_entry *entry)
{
	if (mt_likely(released(p, entry)))
		mt_tracer.real.free(p);
}

static MT_COLD void free_slowly(void *p, uint64_t pc, uint64_t sp, uint64_t fp)
{
	release(p, &(struct mt_entry){pc, sp, fp});
}

MT_EXPORT void free(void *p)
{
	struct mt_entry entry = MT_ENTRY();
	struct mt_thread_state *t = mt_tls.self;

	if (mt_unlikely(mt_event_free_is_unusual()) || mt_unlikely(!p)
		|| mt_unlikely(mt_load(&mt_tracer.bootstrap_count)) || mt_unlikely(!t)
		|| mt_unlikely(t->freeing.p == p) || !mt_event_begin(t, &entry)) {
		if (mt_event_free_passes(p))
			mt_tracer.real.free(p);
		else
			free_slowly(p, entry.pc, entry.sp, entry.fp);
	} else
		mt_event_free_quick(t, MT_FUNCTION_FREE, p);
}

void cfree(void *p); /* glibc keeps it for old programs and declares it no more */
MT_EXPORT void cfree(void *p)
{
	struct mt_entry entry = MT_ENTRY();

	release(p, &entry);
}

/* C23 has these, glibc 2.36 does not: then free does the same. The real one may call free in turn,
 * which is told that the free is recorded. */
static void release_by_size(void *p, size_t alignment, size_t size, bool aligned,
	const struct mt_entry *entry)
{
	const struct mt_real *real = &mt_tracer.real;
	struct mt_thread_state *t;
	struct mt_freeing before = {0};

	if (!released(p, entry))
		return;
	if (aligned ? !real->free_aligned_sized : !real->free_sized) {
		real->free(p);
		return;
	}
	t = mt_tls.self;
	if (t) {
		before = t->freeing;
		t->freeing = (struct mt_freeing){p, 0, *entry};
	}
	if (aligned)
		real->free_aligned_sized(p, alignment, size);
	else
		real->free_sized(p, size);
	if (t)
		t->freeing = before;
}

MT_EXPORT void free_sized(void *p, size_t size);
MT_EXPORT void free_sized(void *p, size_t size)
{
	struct mt_entry entry = MT_ENTRY();

	release_by_size(p, 0, size, false, &entry);
}

MT_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t size);
MT_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t size)
{
	struct mt_entry entry = MT_ENTRY();

	release_by_size(p, alignment, size, true, &entry);
}

/* A size of 0 frees, with glibc: that is known before the call, so a free is recorded; should a
 * block come back all the same, it is an allocation. */
static void *resize_to_nothing(struct mt_thread_state *t, const struct mt_entry *entry,
	enum mt_function_id function, void *old)
{
	void *p;

	mt_event_free(t, entry, function, old);
	p = mt_tracer.real.realloc(old, 0);
	mt_event_allocation(t, entry, function, p, 0);
	return p;
}

static void *resize(void *old, size_t size, const struct mt_entry *entry,
	enum mt_function_id function)
{
	struct mt_thread_state *t = mt_thread_self();
	enum mt_released released;
	void *p;

	if (!old || mt_unlikely(mt_bootstrap_has(old))) {
		p = old ? mt_bootstrap_move(old, size) : mt_tracer.real.realloc(NULL, size);
		if (t)
			mt_event_allocation(t, entry, function, p, size);
		return p;
	}
	if (mt_unlikely(!t))
		return mt_tracer.real.realloc(old, size);
	if (mt_unlikely(size == 0))
		return resize_to_nothing(t, entry, function, old);
	released = mt_event_release(t, entry, function, old, size);
	p = mt_tracer.real.realloc(old, size);
	if (mt_likely(released == MT_RELEASED))
		mt_event_reallocation(t, entry, function, p, old, size);
	else if (released == MT_RELEASED_NOT && mt_tls.self)
		mt_event_allocation(t, entry, function, p, size);
	else if (released == MT_RELEASED_LAST)
		mt_event_release_ended(t, entry, p, size);
	return p;
}

MT_EXPORT void *realloc(void *old, size_t size)
{
	struct mt_entry entry = MT_ENTRY();

	return resize(old, size, &entry, MT_FUNCTION_REALLOC);
}

MT_EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(old, bytes, &entry, MT_FUNCTION_REALLOCARRAY);
}

MT_EXPORT int posix_memalign(void **at, size_t alignment, size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	int error = mt_tracer.real.posix_memalign(at, alignment, size);

	if (error == 0)
		allocated(&entry, MT_FUNCTION_POSIX_MEMALIGN, *at, size);
	return error;
}

MT_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	void *p = mt_tracer.real.aligned_alloc(alignment, size);

	allocated(&entry, MT_FUNCTION_ALIGNED_ALLOC, p, size);
	return p;
}

MT_EXPORT void *memalign(size_t alignment, size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	void *p = mt_tracer.real.memalign(alignment, size);

	allocated(&entry, MT_FUNCTION_MEMALIGN, p, size);
	return p;
}

MT_EXPORT void *valloc(size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	void *p = mt_tracer.real.valloc(size);

	allocated(&entry, MT_FUNCTION_VALLOC, p, size);
	return p;
}

MT_EXPORT void *pvalloc(size_t size)
{
	struct mt_entry entry = MT_ENTRY();
	void *p = mt_tracer.real.pvalloc(size);

	allocated(&entry, MT_FUNCTION_PVALLOC, p, size);
	return p;
}

MT_EXPORT size_t malloc_usable_size(void *p)
{
	return mt_unlikely(mt_bootstrap_has(p))
		? mt_bootstrap_size(p)
		: mt_tracer.real.malloc_usable_size(p);
}

/* ---- glibc's other names --------------------------------------------------------------------- */

#define ALLOCATE(function, plain, size, a, b) \
	struct mt_entry entry = MT_ENTRY(); \
	void *p; \
\
	if (!mt_load(&mt_libc_is_plain)) \
		return mt_libc_allocate(function, &entry, a, b); \
	p = mt_tracer.real.plain; \
	allocated(&entry, function, p, size); \
	return p

void *__libc_malloc(size_t size);
MT_EXPORT void *__libc_malloc(size_t size)
{
	ALLOCATE(MT_FUNCTION_MALLOC, malloc(size), size, size, 0);
}

void *__libc_calloc(size_t count, size_t size);
MT_EXPORT void *__libc_calloc(size_t count, size_t size)
{
	ALLOCATE(MT_FUNCTION_CALLOC, calloc(count, size), count * size, count, size);
}

void *__libc_memalign(size_t alignment, size_t size);
MT_EXPORT void *__libc_memalign(size_t alignment, size_t size)
{
	ALLOCATE(MT_FUNCTION_MEMALIGN, memalign(alignment, size), size, alignment, size);
}

void *__libc_valloc(size_t size);
MT_EXPORT void *__libc_valloc(size_t size)
{
	ALLOCATE(MT_FUNCTION_VALLOC, valloc(size), size, size, 0);
}

void *__libc_pvalloc(size_t size);
MT_EXPORT void *__libc_pvalloc(size_t size)
{
	ALLOCATE(MT_FUNCTION_PVALLOC, pvalloc(size), size, size, 0);
}

void *__libc_realloc(void *old, size_t size);
MT_EXPORT void *__libc_realloc(void *old, size_t size)
{
	struct mt_entry entry = MT_ENTRY();

	return mt_load(&mt_libc_is_plain) ? resize(old, size, &entry, MT_FUNCTION_REALLOC)
					  : mt_libc_resize(&entry, old, size);
}

void __libc_free(void *p);
MT_EXPORT void __libc_free(void *p)
{
	struct mt_entry entry = MT_ENTRY();

	if (mt_load(&mt_libc_is_plain))
		release(p, &entry);
	else
		mt_libc_free(&entry, p);
}
