/* operator new leaves its kind and its caller's state with the thread, for the allocation inside the
 * real operator, which it calls with no guard held: std::bad_alloc may pass. operator delete records
 * the free, and tells the free inside that it is done.
 *
 * All forms take up to three words in registers, so one type serves them all. */
#include "preload/operators.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "preload/event.h"

#define SIZE_SLACK_MAX 4096 /* rounding to alignments, and at least 1 byte */
#define OPERATOR_FRAMES_MAX 4096 /* the real operator and what it calls take less stack than this */

static const char *const names[MT_OPERATOR_COUNT] = {
#define X(id, symbol, kind) [MT_OPERATOR_##id] = #symbol,
	MT_OPERATORS(X) MT_DELETE_OPERATORS(X)
#undef X
};

static const uint8_t kinds[MT_OPERATOR_COUNT] = {
#define X(id, symbol, kind) [MT_OPERATOR_##id] = MT_KIND_##kind,
	MT_OPERATORS(X) MT_DELETE_OPERATORS(X)
#undef X
};

static bool is_own(uint64_t pc)
{
	return pc - mt_tracer.own_start < mt_tracer.own_end - mt_tracer.own_start;
}

static void *look_in(void *handle, const char *name)
{
	void *p = handle ? dlsym(handle, name) : NULL;

	return p && !is_own((uint64_t)p) ? p : NULL;
}

static bool binds_to_us(const char *name)
{
	return is_own((uint64_t)dlsym(RTLD_DEFAULT, name));
}

/* libstdc++'s operators, but those for alignments, are malloc or free, by way of the simple operator; where all
 * of these are ours, nothing is missed by going there at once. A program may have replaced any of them. */
static bool is_plain(enum mt_operator which, const struct dl_find_object *object)
{
	const char *path = object->dlfo_link_map->l_name, *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "libstdc++.so.6", 14) && !strstr(names[which], "align_val_t")
		&& binds_to_us("malloc") && binds_to_us("free") && binds_to_us("_Znwm") && binds_to_us("_ZdlPv");
}

/* A C program may have opened a C++ plug-in for itself: then there is no next one, but the C++ library that
 * is loaded has it, or else the plug-in. What is found so stays loaded from now on. */
static MT_COLD mt_operator_function look_up(enum mt_operator which, uint64_t caller)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1"};
	struct dl_find_object object;
	void *p = look_in(RTLD_NEXT, names[which]);

	for (size_t i = 0; !p && i < sizeof libraries / sizeof *libraries; i++)
		p = look_in(dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD), names[which]);
	if (!p && _dl_find_object((void *)caller, &object) == 0)
		p = look_in(dlopen(object.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD), names[which]);
	if (!p)
		abort(); /* there is no such function: without us the program would not have been linked */
	if (_dl_find_object(p, &object) == 0) {
		mt_store(&mt_tracer.operators_start, (uint64_t)object.dlfo_map_start);
		mt_store(&mt_tracer.operators_end, (uint64_t)object.dlfo_map_end);
		mt_store(&mt_tracer.plain[which], is_plain(which, &object));
	}
	mt_store_release(&mt_tracer.operators[which], (mt_operator_function)p);
	return (mt_operator_function)p;
}

static inline mt_operator_function real(enum mt_operator which, const struct mt_entry *entry)
{
	mt_operator_function function = mt_load_acquire(&mt_tracer.operators[which]);

	return mt_likely(function != NULL) ? function : look_up(which, entry->pc);
}

/* Is this call made by the real operator that the pending one has called? The pending operator's return
 * address must still lie where it was: an exception may have left it since. */
static inline bool belongs(const struct mt_thread *t, const struct mt_entry *entry)
{
	return (entry->pc - t->pending_start < t->pending_end - t->pending_start
			|| is_own(entry->pc)) /* a tail call: it returns to the hook itself */
		&& t->pending.sp - entry->sp < OPERATOR_FRAMES_MAX
		&& *(const uint64_t *)(t->pending.sp + MT_RETURN_ADDRESS_AT_CFA) == t->pending.pc;
}

bool mt_operators_take(const struct mt_thread *t, const struct mt_entry *entry, size_t size)
{
	/* another size: not the block but the bad_alloc that tells of its lack */
	return size >= t->pending_size && size - t->pending_size < SIZE_SLACK_MAX && belongs(t, entry);
}

void mt_pending_begin(struct mt_thread *t, struct mt_pending *before, const struct mt_entry *entry, uint32_t kind,
	uint64_t size, uint64_t start, uint64_t end)
{
	*before = (struct mt_pending){t->pending, t->pending_size, t->pending_start, t->pending_end, t->pending_kind};
	t->pending_kind = 0;
	mt_signal_fence();
	t->pending = *entry;
	t->pending_size = size;
	t->pending_start = start;
	t->pending_end = end;
	mt_signal_fence();
	t->pending_kind = kind;
}

bool mt_pending_end(struct mt_thread *t, const struct mt_pending *before)
{
	bool taken = !t->pending_kind;

	t->pending_kind = 0;
	mt_signal_fence();
	t->pending = before->entry;
	t->pending_size = before->size;
	t->pending_start = before->start;
	t->pending_end = before->end;
	mt_signal_fence();
	t->pending_kind = before->kind;
	return taken;
}

static inline void *allocate(enum mt_operator which, const struct mt_entry *entry, uintptr_t a, uintptr_t b,
	uintptr_t c)
{
	mt_operator_function function = real(which, entry);
	struct mt_thread *t = mt_thread_self();
	struct mt_pending before;
	void *p;

	if (mt_unlikely(!t) || (t->pending_kind && belongs(t, entry))) /* new[] calls new */
		return function(a, b, c);
	if (mt_likely(mt_load(&mt_tracer.plain[which]) && !t->pending_kind)) {
		p = mt_tracer.real.malloc(a ? a : 1);
		if (mt_likely(p != NULL)) {
			mt_event_allocated(t, entry, kinds[which], p, a ? a : 1);
			return p;
		}
	} /* no memory: the real operator asks the new-handler, and throws */
	mt_pending_begin(t, &before, entry, kinds[which], a, mt_tracer.operators_start, mt_tracer.operators_end);
	p = function(a, b, c);
	if (!mt_pending_end(t, &before) && mt_tls.self && p) /* not by way of our malloc */
		mt_event_block(t, entry, kinds[which], MT_RECORD_ALLOC, (uint64_t)p, a,
			mt_allocator_usable_of((const void *)function, p, a));
	return p;
}

static inline void deallocate(enum mt_operator which, const struct mt_entry *entry, uintptr_t p, uintptr_t b,
	uintptr_t c)
{
	mt_operator_function function = real(which, entry);
	struct mt_thread *t;
	void *before;

	if (!p)
		return;
	t = mt_thread_self();
	if (mt_unlikely(!t) || t->recorded_free == (void *)p) { /* delete[] calls delete */
		function(p, b, c);
		return;
	}
	mt_event_freed(t, entry, kinds[which], (void *)p);
	if (mt_likely(mt_load(&mt_tracer.plain[which]))) {
		mt_tracer.real.free((void *)p);
		return;
	}
	before = t->recorded_free;
	t->recorded_free = (void *)p;
	function(p, b, c);
	t->recorded_free = before;
}

#define X(id, symbol, kind)                                             \
	MT_EXPORT void *symbol(uintptr_t a, uintptr_t b, uintptr_t c);      \
	MT_EXPORT void *symbol(uintptr_t a, uintptr_t b, uintptr_t c)       \
	{                                                                   \
		struct mt_entry entry = MT_ENTRY();                             \
		return allocate(MT_OPERATOR_##id, &entry, a, b, c);             \
	}
MT_OPERATORS(X)
#undef X

#define X(id, symbol, kind)                                             \
	MT_EXPORT void symbol(uintptr_t a, uintptr_t b, uintptr_t c);       \
	MT_EXPORT void symbol(uintptr_t a, uintptr_t b, uintptr_t c)        \
	{                                                                   \
		struct mt_entry entry = MT_ENTRY();                             \
		deallocate(MT_OPERATOR_##id, &entry, a, b, c);                  \
	}
MT_DELETE_OPERATORS(X)
#undef X
