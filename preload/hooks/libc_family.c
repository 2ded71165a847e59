/* glibc's allocator under its other names, where another library provides malloc: two heaps side by
 * side. Calls of the provider's own are part of its blocks. */
#include "preload/hooks/libc_family.h"

#include <errno.h>

#include "preload/base/installed.h"
#include "preload/hooks/bootstrap.h"
#include "preload/record/event.h"
#include "preload/symbols/find.h"

uint32_t mt_libc_is_plain;

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real;

void mt_libc_family_find(const struct mt_real *plain)
{
	struct mt_found found;
	bool has = mt_find_next("__libc_malloc", &found);

#define FIND(name) (void)mt_find_once("__libc_" #name, (void *)&real.name)
	FIND(malloc);
	FIND(calloc);
	FIND(realloc);
	FIND(free);
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
#undef FIND
	mt_store(&mt_libc_is_plain,
		!has || (uint64_t)plain->malloc - found.start < found.end - found.start);
}

/* Of the provider, or in the place of a call that one of our hooks has made. */
static struct mt_thread_state *thread_of(const struct mt_entry *entry)
{
	return mt_allocator_has(entry->pc) || mt_is_own(entry->pc) ? NULL : mt_thread_self();
}

/* The provider may not be asked for its usable size. */
static void record(const struct mt_entry *entry, enum mt_function_id function,
	enum mt_record_type type, const void *p, size_t size)
{
	struct mt_thread_state *t = thread_of(entry);

	if (t && p)
		mt_event_block(t, entry, function, type, (uint64_t)p, size, size);
}

static void *call(enum mt_function_id function, size_t a, size_t b)
{
	switch (function) {
	case MT_FUNCTION_CALLOC: return real.calloc(a, b);
	case MT_FUNCTION_MEMALIGN: return real.memalign(a, b);
	case MT_FUNCTION_VALLOC: return real.valloc(a);
	case MT_FUNCTION_PVALLOC: return real.pvalloc(a);
	default: return real.malloc(a);
	}
}

/* While dlsym looks the real functions up. */
static void *early(enum mt_function_id function, size_t a, size_t b)
{
	size_t size = function == MT_FUNCTION_MEMALIGN ? b : a;

	if (function == MT_FUNCTION_CALLOC && __builtin_mul_overflow(a, b, &size))
		return NULL;
	return mt_bootstrap_allocate(size,
		function == MT_FUNCTION_MEMALIGN ? a
			: function == MT_FUNCTION_VALLOC || function == MT_FUNCTION_PVALLOC
			? MT_WIRE_PAGE
			: 1);
}

void *mt_libc_allocate(enum mt_function_id function, const struct mt_entry *entry, size_t a,
	size_t b)
{
	void *p;

	if (!mt_load((void **)&real.malloc) && !mt_real_ready()) {
		p = early(function, a, b);
		if (!p)
			errno = ENOMEM;
		return p;
	}
	p = call(function, a, b);
	record(entry, function, MT_RECORD_ALLOC, p,
		function == MT_FUNCTION_CALLOC             ? a * b
			: function == MT_FUNCTION_MEMALIGN ? b
							   : a);
	return p;
}

void *mt_libc_resize(const struct mt_entry *entry, void *old, size_t size)
{
	enum mt_released released = MT_RELEASED_NOT;
	struct mt_thread_state *t;
	void *p;

	if (!old)
		return mt_libc_allocate(MT_FUNCTION_REALLOC, entry, size, 0);
	if (mt_bootstrap_has(old))
		return mt_bootstrap_move(old, size);
	if (!mt_load((void **)&real.realloc) && !mt_real_ready())
		return NULL;
	t = thread_of(entry);
	if (t && size)
		released = mt_event_release(t, entry, MT_FUNCTION_REALLOC, old, size);
	else if (t)
		mt_event_free(t, entry, MT_FUNCTION_REALLOC, old);
	p = real.realloc(old, size);
	if (!t || !mt_tls.self)
		return p;
	if (released == MT_RELEASED_LAST) {
		mt_event_release_ended(t, entry, p, size);
	} else if (p) {
		record(entry, MT_FUNCTION_REALLOC,
			released == MT_RELEASED ? MT_RECORD_REALLOC : MT_RECORD_ALLOC, p, size);
	} else if (released == MT_RELEASED) {
		mt_event_reallocation(t, entry, MT_FUNCTION_REALLOC, NULL, old, 0);
	}
	return p;
}

void mt_libc_free(const struct mt_entry *entry, void *p)
{
	struct mt_thread_state *t;

	if (!p || mt_bootstrap_has(p) || (!mt_load((void **)&real.free) && !mt_real_ready()))
		return;
	t = thread_of(entry);
	if (t)
		mt_event_free(t, entry, MT_FUNCTION_FREE, p);
	real.free(p);
}
