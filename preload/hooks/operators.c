/* operator new leaves its function and its caller's state with the thread, for the allocation
 * inside the real operator, which it calls with no guard held: std::bad_alloc may pass. operator
 * delete records the free, and tells the free inside that it is done.
 *
 * All forms take up to three words in registers, so one type serves them all. */
#include "preload/hooks/operators.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "preload/base/installed.h"
#include "preload/record/event.h"
#include "preload/record/pending.h"
#include "preload/symbols/find.h"

static const char *const names[MT_OPERATOR_COUNT] = {
#define X(id, symbol, function) [MT_OPERATOR_##id] = #symbol,
	MT_OPERATORS(X) MT_DELETE_OPERATORS(X)
#undef X
};

static const uint8_t functions[MT_OPERATOR_COUNT] = {
#define X(id, symbol, function) [MT_OPERATOR_##id] = MT_FUNCTION_##function,
	MT_OPERATORS(X) MT_DELETE_OPERATORS(X)
#undef X
};

/* of the libraries that the program was started with */
static struct mt_found known[MT_OPERATOR_COUNT];

static bool by_own[MT_OPERATOR_COUNT]; /* the known one may call these */

static bool binds_to_us(const char *name)
{
	return mt_is_own((uint64_t)dlsym(RTLD_DEFAULT, name));
}

static bool is_in(const struct mt_found *found, const char *const *libraries)
{
	struct dl_find_object object;
	const char *path, *slash;

	if (mt_object_of(found->function, &object) < 0)
		return false;
	path = object.dlfo_link_map->l_name;
	slash = strrchr(path, '/');
	for (; *libraries; libraries++)
		if (!strncmp(slash ? slash + 1 : path, *libraries, strlen(*libraries)))
			return true;
	return false;
}

/* libstdc++'s operators, but those for alignments, are malloc or free, by way of the simple
 * operator; where all of these are ours, and go on to libstdc++, nothing is missed by going there
 * at once. */
static bool may_be_plain(const char *name, const struct mt_found *found)
{
	static const char *const libstdcxx[] = {"libstdc++.so.6", NULL};

	return !strstr(name, "align_val_t") && is_in(found, libstdcxx) && binds_to_us("malloc")
		&& binds_to_us("free") && binds_to_us("_Znwm") && binds_to_us("_ZdlPv");
}

static bool is_plain(const char *name, const struct mt_found *found)
{
	struct mt_found simple;

	return may_be_plain(name, found)
		&& mt_find_in_scope((uint64_t)found->function, "_Znwm", &simple)
		&& simple.start == found->start
		&& mt_find_in_scope((uint64_t)found->function, "_ZdlPv", &simple)
		&& simple.start == found->start;
}

static bool is_delete(enum mt_operator which)
{
#define X(id, symbol, function) || which == MT_OPERATOR_##id
	return false MT_DELETE_OPERATORS(X);
#undef X
}

static void find_own(const struct mt_found *found)
{
	static const char *const libraries[] = {"libstdc++.so.", "libc++.so.", "libc++abi.so.",
		NULL};
	bool deletes = false;

#define X(id, symbol, function) \
	if (!binds_to_us(#symbol)) \
		mt_pending_code.own[mt_pending_code.own_count++] = \
			(uint64_t)dlsym(RTLD_DEFAULT, #symbol);
	MT_OPERATORS(X)
#undef X
#define X(id, symbol, function) deletes |= !binds_to_us(#symbol);
	MT_DELETE_OPERATORS(X)
#undef X
	for (int i = 0; i < MT_OPERATOR_COUNT; i++)
		by_own[i] = (is_delete(i) ? deletes : mt_pending_code.own_count)
			&& found[i].function && is_in(&found[i], libraries);
}

void mt_operators_find(void)
{
	struct mt_found found[MT_OPERATOR_COUNT], *simple = &found[MT_OPERATOR_NEW];
	struct mt_found *free = &found[MT_OPERATOR_DELETE];

	for (int i = 0; i < MT_OPERATOR_COUNT; i++)
		mt_find_next(names[i], &found[i]);
	find_own(found);
	mt_find_code("__cxa_allocate_exception", &mt_pending_code.throwing_start,
		&mt_pending_code.throwing_end);
	for (int i = 0; i < MT_OPERATOR_COUNT; i++) {
		if (!found[i].function)
			continue;
		known[i].start = found[i].start;
		known[i].end = found[i].end;
		known[i].plain = simple->start == found[i].start && free->start == found[i].start
			&& may_be_plain(names[i], &found[i]);
		mt_store_release(&known[i].function, found[i].function);
	}
}

/* A C program may have opened a C++ plug-in for itself: then there is no next one, but the plug-in
 * has it or needs it. */
static MT_COLD const struct mt_found *look_up(enum mt_operator which, uint64_t caller,
	struct mt_found *found)
{
	/* the very first call of all */
	if (!mt_tracer.allocator.address && mt_real_ready() && known[which].function)
		return &known[which];
	mt_find_for(caller, names[which], found, is_plain);
	return found;
}

static inline const struct mt_found *real(enum mt_operator which, const struct mt_entry *entry,
	struct mt_found *found)
{
	return mt_likely(mt_load_acquire(&known[which].function) != NULL)
		? &known[which]
		: look_up(which, entry->pc, found);
}

/* There is no such function: a C program has looked for it, and found ours. It throws nothing. */
static MT_COLD void *allocate_without(enum mt_operator which, const struct mt_entry *entry,
	size_t size, size_t alignment)
{
	struct mt_thread_state *t;
	void *p;

	size += !size;
	p = strstr(names[which], "align_val_t")
		? mt_tracer.real.memalign(alignment, size)
		: mt_tracer.real.malloc(size);
	t = mt_thread_self();
	if (t)
		mt_event_allocation(t, entry, functions[which], p, size);
	return p;
}

/* This is counted already where it is lost: not by malloc's hook once more. */
static MT_COLD void *allocate_unseen(const struct mt_found *found, uintptr_t a, uintptr_t b,
	uintptr_t c)
{
	void *p = found->plain ? mt_tracer.real.malloc(a ? a : 1) : NULL;

	return p ? p : mt_find_call(found->function, a, b, c);
}

/* libstdc++'s operators for alignments ask aligned_alloc for a multiple of the alignment. One of
 * the program's own may add something to the size. */
static uint32_t pending_function(enum mt_operator which, const struct mt_found *found)
{
	bool rounds = strstr(names[which], "align_val_t")
		&& !(by_own[which] && found == &known[which])
		&& !mt_pending_is_of_own(found->start);

	return functions[which] | (rounds ? MT_PENDING_ROUNDS : 0);
}

/* Is it known, and no more than malloc or free? */
static MT_INLINE bool is_known_plain(enum mt_operator which)
{
	return mt_likely(mt_load_acquire(&known[which].function) != NULL)
		&& mt_likely(known[which].plain);
}

/* tried: malloc in its place has found no memory. */
static MT_COLD void *allocate(enum mt_operator which, const struct mt_entry *entry, uintptr_t a,
	uintptr_t b, uintptr_t c, bool tried)
{
	struct mt_found local;
	const struct mt_found *found = real(which, entry, &local);
	struct mt_pending before;
	struct mt_thread_state *t;
	void *p;

	if (mt_unlikely(!found->function))
		return allocate_without(which, entry, a, b);
	t = mt_thread_self();
	if (mt_unlikely(!t))
		return allocate_unseen(found, a, b, c);
	/* new[] calls new */
	if (mt_unlikely(t->pending_function) && mt_pending_belongs(t, entry))
		return mt_find_call(found->function, a, b, c);
	if (found->plain && !t->pending_function && !tried) {
		p = mt_tracer.real.malloc(a ? a : 1);
		if (p) {
			mt_event_allocation(t, entry, functions[which], p, a ? a : 1);
			return p;
		}
	} /* no memory: the real operator asks the new-handler, and throws */
	uint32_t function = pending_function(which, found);

	mt_pending_begin(t, &before, entry, function, a || !(function & MT_PENDING_ROUNDS) ? a : 1,
		found->start, found->end);
	p = mt_find_call(found->function, a, b, c);
	if (mt_pending_end(t, &before) || (by_own[which] && found == &known[which]))
		/* the program's operator may have gone another way than straight to malloc: what it
		 * called is recorded */
		return p;
	if (mt_tls.self && p) /* not by way of our malloc */
		mt_event_block(t, entry, functions[which], MT_RECORD_ALLOC, (uint64_t)p, a,
			mt_allocator_usable_of(found->function, p, a));
	return p;
}

static MT_COLD void deallocate(enum mt_operator which, const struct mt_entry *entry, uintptr_t p,
	uintptr_t b, uintptr_t c)
{
	struct mt_found local;
	const struct mt_found *found;
	struct mt_thread_state *t;
	struct mt_freeing before;

	if (!p)
		return;
	found = real(which, entry, &local);
	t = mt_thread_self();
	if (mt_unlikely(!t) /* delete[] calls delete */
		|| (t->freeing.p == (void *)p && mt_freeing_holds(t, entry))) {
		if (found->function && (t || !found->plain))
			mt_find_call(found->function, p, b, c);
		else
			mt_tracer.real.free((void *)p);
		return;
	}
	before = t->freeing;
	if (by_own[which] && found == &known[which]) { /* the program's operator may keep it */
		t->freeing = (struct mt_freeing){(void *)p, functions[which], *entry};
	} else {
		mt_event_freed(t, entry, functions[which], (void *)p);
		if (mt_likely(found->plain || !found->function)) {
			mt_tracer.real.free((void *)p);
			return;
		}
		t->freeing = (struct mt_freeing){(void *)p, 0, *entry};
	}
	mt_find_call(found->function, p, b, c);
	t->freeing = before;
}

/* The everyday case; allocate and deallocate see to the rest. Only the forms that are used most
 * often have it for themselves: it takes 2 KB. */
static MT_INLINE void *allocate_quick(enum mt_operator which, const struct mt_entry *entry,
	uintptr_t a, uintptr_t b, uintptr_t c)
{
	bool often = which == MT_OPERATOR_NEW || which == MT_OPERATOR_NEW_ARRAY;
	struct mt_thread_state *t = mt_tls.self;
	struct mt_entry copy;
	void *p = NULL;

	often = often && is_known_plain(which) && mt_likely(t != NULL)
		&& mt_likely(!t->pending_function);
	if (often)
		p = mt_tracer.real.malloc(a ? a : 1);
	if (mt_unlikely(!p)) {
		copy = *entry;
		return allocate(which, &copy, a, b, c, often);
	}
	mt_event_allocated(t, entry, functions[which], p, a ? a : 1);
	return p;
}

static MT_INLINE void deallocate_quick(enum mt_operator which, const struct mt_entry *entry,
	uintptr_t p, uintptr_t b, uintptr_t c)
{
	struct mt_thread_state *t = mt_tls.self;
	struct mt_entry copy;

	if (mt_unlikely(mt_event_free_is_unusual()) || !is_known_plain(which) || mt_unlikely(!p)
		|| mt_unlikely(!t) || mt_unlikely(t->freeing.p == (void *)p)
		|| !mt_event_begin(t, entry)) {
		if (is_known_plain(which) && mt_event_free_passes((void *)p)) {
			mt_tracer.real.free((void *)p);
			return;
		}
		copy = *entry;
		deallocate(which, &copy, p, b, c);
		return;
	}
	mt_event_free_quick(t, functions[which], (void *)p);
}

#define X(id, symbol, function) \
	MT_EXPORT void *symbol(uintptr_t a, uintptr_t b, uintptr_t c); \
	MT_EXPORT void *symbol(uintptr_t a, uintptr_t b, uintptr_t c) \
	{ \
		struct mt_entry entry = MT_ENTRY(); \
		return allocate_quick(MT_OPERATOR_##id, &entry, a, b, c); \
	}
MT_OPERATORS(X)
#undef X

#define X(id, symbol, function) \
	MT_EXPORT void symbol(uintptr_t a, uintptr_t b, uintptr_t c); \
	MT_EXPORT void symbol(uintptr_t a, uintptr_t b, uintptr_t c) \
	{ \
		struct mt_entry entry = MT_ENTRY(); \
		deallocate_quick(MT_OPERATOR_##id, &entry, a, b, c); \
	}
MT_DELETE_OPERATORS(X)
#undef X
