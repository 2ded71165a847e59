/* Prefixed and bundled allocators: each function goes to the next definition. What is called from
 * within the library that provides malloc, or by another of these functions, is part of a call that
 * is recorded already. An allocator that turns out to stand on malloc itself (a wrapper) is left
 * alone from then on: its malloc says all. */
#include "preload/hooks/prefixed.h"

#include <errno.h>
#include <string.h>

#include "preload/base/text.h"
#include "preload/process/allocator.h"
#include "preload/record/event.h"
#include "preload/record/pending.h"
#include "preload/symbols/find.h"
#include "preload/unwind/modules.h"

#define FRAMES_MAX 65536 /* an allocator's function and what it calls take less stack than this */

enum function {
#define X(family, symbol, shape, function) FUNCTION_##symbol,
	MT_PREFIXED_ALL(X) FUNCTION_COUNT,
#undef X
};
enum family {
	FAMILY_JE,
	FAMILY_RJEM,
	FAMILY_X,
	FAMILY_MI,
	FAMILY_TC,
	FAMILY_PROGRAM,
	FAMILY_NAMED
};

static const struct {
	const char *name;
	uint8_t family, shape, function;
} functions[FUNCTION_COUNT] = {
#define X(family, symbol, shape, function) \
	[FUNCTION_##symbol] = {#symbol, FAMILY_##family, MT_SHAPE_##shape, MT_FUNCTION_##function},
	MT_PREFIXED_ALL(X)
#undef X
};

/* In the first set those of the libraries that the program was started with, unless the program has
 * them inside itself; in the others those inside of one library each. */
static struct mt_found known[MT_WIRE_SETS][FUNCTION_COUNT];
static size_t (*usable_size[MT_WIRE_SETS])(const void *); /* NULL: not known */

/* Functions inside the program have several names, as an operator delete that is free: what was
 * called cannot be told, and all are taken for the plain family. */
static bool one_family;

/* The C library's free. When a thread ends, malloc's own code hands it blocks of the thread's
 * cache, which the program has freed before; it calls the function directly. Other code of libc
 * calls it as programs do, so that another malloc can take its place. 0: no entry of libc leads
 * here. */
static uint64_t libc_free, libc_start, libc_end;

/* A call under way: where the function's frame is. */
struct call {
	enum function which;
	unsigned set;
	struct mt_entry entry;
	uintptr_t a, b, c;
	const void *real;
	uint64_t start, end; /* of its library */
	/* whose block it is: an operator new may have called */
	const struct mt_entry *asker;
	enum mt_function_id function;
};

/* ---- the real function ----------------------------------------------------------------------- */

/* Each family's first function tells whether there is any. */
void mt_prefixed_find(void)
{
	struct mt_found found;
	bool absent = false;

	for (int i = 0; i < FUNCTION_COUNT; i++) {
		bool first = i == 0 || functions[i].family != functions[i - 1].family;

		if (!first && absent)
			continue;
		if (first)
			absent = true;
		if (!mt_find_next(functions[i].name, &found))
			continue;
		if (first)
			absent = false;
		known[0][i].start = found.start;
		known[0][i].end = found.end;
		mt_store_release(&known[0][i].function, found.function);
	}
}

/* The caller's library may have been opened for itself alone, with an allocator of its own, and
 * others with others. */
static MT_COLD const struct mt_found *look_up(enum function which, uint64_t caller,
	struct mt_found *found)
{
	mt_find_for(caller, functions[which].name, found, NULL);
	return found;
}

static void find_real(struct call *call)
{
	struct mt_found local;
	const struct mt_found *found = &known[call->set][call->which];

	if (!mt_load_acquire(&found->function))
		found = look_up(call->which, call->entry.pc, &local);
	call->real = found->function;
	call->start = found->start;
	call->end = found->end;
}

/* ---- where there is none: the plain family --------------------------------------------------- */

static void *cleared(void *p, size_t size)
{
	return p ? memset(p, 0, size) : NULL;
}

static void *plain(const struct call *call)
{
	const struct mt_real *real = &mt_tracer.real;
	uintptr_t a = call->a, b = call->b, c = call->c;
	unsigned alignment;
	size_t size;
	void *p;

	switch ((enum mt_shape)functions[call->which].shape) {
	case MT_SHAPE_SIZE:
		if (functions[call->which].function == MT_FUNCTION_VALLOC)
			return real->valloc(a);
		return functions[call->which].function == MT_FUNCTION_PVALLOC
			? real->pvalloc(a)
			: real->malloc(a);
	case MT_SHAPE_ZERO: return real->calloc(1, a);
	case MT_SHAPE_ALIGNED: return real->memalign(b, a);
	case MT_SHAPE_ZERO_ALIGNED: return cleared(real->memalign(b, a), a);
	case MT_SHAPE_FLAGS: /* of jemalloc: the exponent of the alignment, and 64 for zeroes */
		alignment = b & 63;
		p = alignment > 4 ? real->memalign(1ul << alignment, a) : real->malloc(a);
		return b & 64 ? cleared(p, a) : p;
	case MT_SHAPE_ALIGNMENT: return real->memalign(a, b);
	case MT_SHAPE_PRODUCT:
	case MT_SHAPE_CLEAR: return real->calloc(a, b);
	case MT_SHAPE_CLEAR_ALIGNED:
		return __builtin_mul_overflow(a, b, &size)
			? NULL
			: cleared(real->memalign(c, size), size);
	case MT_SHAPE_POSIX: return (void *)(intptr_t)real->posix_memalign((void **)a, b, c);
	case MT_SHAPE_TEXT:
		for (size = 0; (functions[call->which].name[5] != 'n' || size < b)
			&& ((const char *)a)[size];)
			size++;
		p = real->malloc(size + 1);
		if (p)
			((char *)memcpy(p, (const void *)a, size))[size] = '\0';
		return p;
	case MT_SHAPE_RESIZE: return real->realloc((void *)a, b);
	case MT_SHAPE_RESIZE_PRODUCT:
		if (!__builtin_mul_overflow(b, c, &size))
			return real->realloc((void *)a, size);
		errno = ENOMEM;
		return NULL;
	case MT_SHAPE_RESIZE_OR_FREE:
		p = real->realloc((void *)a, b);
		if (!p && b)
			real->free((void *)a);
		return p;
	case MT_SHAPE_FREE: real->free((void *)a); return NULL;
	}
	return NULL;
}

/* ---- on malloc ------------------------------------------------------------------------------- */

static bool wraps(const struct call *call)
{
	for (int i = 0; i < MT_MODULES_WRAPPERS; i++) {
		uint64_t start = mt_load(&mt_modules_wrappers[i]);

		if (!start)
			return false;
		if (start == call->start)
			return true;
	}
	return true; /* so many that any may be one */
}

static void note_wrapper(const struct call *call)
{
	for (int i = 0; i < MT_MODULES_WRAPPERS; i++) {
		uint64_t none = 0;

		if (mt_swap_if(&mt_modules_wrappers[i], &none, call->start) || none == call->start)
			return;
	}
}

/* ---- the call -------------------------------------------------------------------------------- */

/* A call out of a function of these that this thread has called and that has not returned. Or one
 * that took the place of such a call, or of one of a plain function: it returns to our hook. */
static bool is_inner(struct mt_thread_state *t, const struct mt_entry *entry)
{
	bool gone, holds;

	if (mt_is_own(entry->pc))
		return true;
	if (!t->outer.sp)
		return false;
	holds = mt_call_holds(t, &t->outer, entry, FRAMES_MAX, t->outer_start, t->outer_end, &gone);
	if (gone)
		t->outer.sp = 0;
	return holds;
}

static void *forward(struct mt_thread_state *t, const struct call *call)
{
	uint64_t start, end;
	struct mt_entry outer;
	void *p;

	if (!call->real)
		return plain(call);
	if (!t)
		return mt_find_call(call->real, call->a, call->b, call->c);
	outer = t->outer;
	start = t->outer_start;
	end = t->outer_end;
	t->outer_start = call->start;
	t->outer_end = call->end;
	t->outer = call->entry;
	p = mt_find_call(call->real, call->a, call->b, call->c);
	t->outer = outer;
	t->outer_start = start;
	t->outer_end = end;
	return p;
}

static size_t usable_of(const struct call *call, const void *p, size_t size)
{
	size_t (*ask)(const void *) = mt_load_acquire(&usable_size[call->set]);

	if (mt_likely(!ask) || functions[call->which].family != FAMILY_NAMED
		|| mt_tracer.usable_rule == MT_USABLE_NONE)
		return mt_allocator_usable_of(call->real, p, size);
	return ask(p);
}

static void record(struct mt_thread_state *t, const struct call *call, enum mt_record_type type,
	void *p, size_t size)
{
	if (call->real)
		mt_event_block(t, call->asker, call->function, type, (uint64_t)p, size,
			usable_of(call, p, size));
	else if (type == MT_RECORD_ALLOC)
		mt_event_allocation(t, call->asker, call->function, p, size);
	else
		mt_event_reallocation(t, call->asker, call->function, p, (void *)call->a, size);
}

static size_t product(size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

static size_t size_of(const struct call *call, const void *p)
{
	switch ((enum mt_shape)functions[call->which].shape) {
	case MT_SHAPE_ALIGNMENT:
	case MT_SHAPE_RESIZE:
	case MT_SHAPE_RESIZE_OR_FREE: return call->b;
	case MT_SHAPE_PRODUCT:
	case MT_SHAPE_CLEAR:
	case MT_SHAPE_CLEAR_ALIGNED: return product(call->a, call->b);
	case MT_SHAPE_POSIX: return call->c;
	case MT_SHAPE_RESIZE_PRODUCT: return product(call->b, call->c);
	case MT_SHAPE_TEXT: return p ? strlen(p) + 1 : 0;
	default: return call->a;
	}
}

/* As the library's operator new calls the program's own malloc. Returns whether the size is that
 * which the operator was asked for. */
static MT_COLD bool take_operator(struct mt_thread_state *t, struct call *call,
	struct mt_entry *asker)
{
	bool rounds = t->pending_function & MT_PENDING_ROUNDS;

	*asker = t->pending;
	call->asker = asker;
	call->function = t->pending_function & ~MT_PENDING_ROUNDS;
	t->pending_function = 0;
	return rounds;
}

/* Notices when the block comes from malloc, whose hook has then recorded it as this call's. */
static void *allocate(struct mt_thread_state *t, struct call *call)
{
	bool posix = functions[call->which].shape == MT_SHAPE_POSIX, taken, rounds = false;
	struct mt_pending before;
	struct mt_entry asker;
	uint64_t asked = 0;
	void *result, *p;

	if (mt_unlikely(t->pending_function)
		&& mt_pending_take(t, &call->entry, size_of(call, NULL))) {
		asked = t->pending_size;
		rounds = take_operator(t, call, &asker);
	}

	if (!call->real) {
		result = plain(call);
		taken = false;
	} else {
		mt_pending_begin(t, &before, &call->entry, call->function, size_of(call, NULL),
			call->start, call->end);
		result = forward(t, call);
		taken = mt_pending_end(t, &before);
	}
	p = !posix ? result : (int)(intptr_t)result == 0 ? *(void **)call->a : NULL;
	if (taken)
		note_wrapper(call);
	else if (p && mt_tls.self)
		record(t, call, MT_RECORD_ALLOC, p, rounds ? asked : size_of(call, p));
	return result;
}

/* A size of 0 may give a block or none; both end the old one. */
static void *resize(struct mt_thread_state *t, struct call *call)
{
	size_t size = size_of(call, NULL);
	enum mt_function_id function = call->function;
	enum mt_released released = MT_RELEASED_NOT;
	void *old = (void *)call->a, *p;

	if (!old)
		return allocate(t, call);
	if (size)
		released = mt_event_release(t, &call->entry, function, old, size);
	else
		mt_event_free(t, &call->entry, function, old);
	p = forward(t, call);
	if (!mt_tls.self)
		return p;
	if (released == MT_RELEASED_LAST) {
		if (p || functions[call->which].shape != MT_SHAPE_RESIZE_OR_FREE)
			mt_event_release_ended(t, &call->entry, p, size);
		return p;
	}
	if (released == MT_RELEASED_NOT) {
		if (p)
			record(t, call, MT_RECORD_ALLOC, p, size);
		return p;
	}
	if (p)
		record(t, call, MT_RECORD_REALLOC, p, size);
	else
		mt_event_reallocation(t, &call->entry, function, NULL, old, 0);
	if (!p && functions[call->which].shape == MT_SHAPE_RESIZE_OR_FREE)
		mt_event_free(t, &call->entry, function, old);
	return p;
}

static void *release(struct mt_thread_state *t, const struct call *call)
{
	struct mt_freeing before = t->freeing;
	void *p = (void *)call->a, *result;

	if (!p)
		return forward(t, call);
	if (before.p != p || !mt_freeing_holds(t, &call->entry))
		mt_event_free(t, &call->entry, call->function, p);
	else if (before.function)
		mt_event_free(t, &before.entry, before.function, p);
	if (before.p == p)
		before.p = NULL; /* what was under way is recorded, or was left */
	t->freeing = (struct mt_freeing){p, 0, call->entry}; /* should it call free */
	result = forward(t, call);
	t->freeing = before;
	return result;
}

/* Has a hook of malloc's family recorded something since? Where the ring has begun anew meanwhile
 * nobody looks. */
static bool has_recorded(const struct mt_thread_state *t, uint64_t since)
{
	uint64_t now = mt_load(&t->reserve);

	if ((now ^ since) > t->mask)
		return true;
	for (uint64_t at = since; at != now; at++)
		switch (mt_wire_record_type(&t->data[at & t->mask])) {
		case MT_RECORD_ALLOC:
		case MT_RECORD_FREE:
		case MT_RECORD_RELEASE:
		case MT_RECORD_REALLOC: return true;
		}
	return false;
}

/* In a wrapper: malloc's hooks record. A block that none of them sees comes from, or goes to, a
 * pool beside malloc. */
static void *pass_on(struct mt_thread_state *t, const struct call *call)
{
	uint64_t before = mt_load(&t->reserve);
	void *p = forward(t, call);
	bool block;

	switch ((enum mt_shape)functions[call->which].shape) {
	case MT_SHAPE_FREE: block = call->a != 0; break;
	case MT_SHAPE_POSIX: block = !p; break;
	case MT_SHAPE_RESIZE:
	case MT_SHAPE_RESIZE_PRODUCT:
	case MT_SHAPE_RESIZE_OR_FREE: block = p && p != (void *)call->a; break;
	default: block = p != NULL; break;
	}
	/* in a recording that leaves blocks out, a hook that sees the block may not record it */
	if (block && mt_tls.self == t && !mt_load(&mt_tracer.sampled) && !has_recorded(t, before)
		&& !t->gap.active && mt_load(&mt_tracer.header->recording))
		mt_count(MT_COUNTER_UNTRACED_EVENTS, 1);
	return p;
}

static enum mt_function_id function_of(enum function which)
{
	enum mt_function_id function = functions[which].function;

	if (mt_likely(!one_family))
		return function;
	switch (function) {
	case MT_FUNCTION_NEW:
	case MT_FUNCTION_NEW_ARRAY: return MT_FUNCTION_MALLOC;
	case MT_FUNCTION_DELETE:
	case MT_FUNCTION_DELETE_ARRAY: return MT_FUNCTION_FREE;
	default: return function;
	}
}

#define CALL_SIZE 5 /* of a direct call: 0xe8 and the distance from the next instruction */

static bool empties_cache(const struct call *call)
{
	const uint8_t *at = (const uint8_t *)call->entry.pc - CALL_SIZE;
	int32_t distance;

	if (mt_likely(call->entry.pc - libc_start >= libc_end - libc_start)
		|| call->which != FUNCTION_mt_program_free || *at != 0xe8)
		return false;
	memcpy(&distance, at + 1, sizeof distance);
	return call->entry.pc + (uint64_t)(int64_t)distance == libc_free;
}

static void *called(struct call *call)
{
	struct mt_thread_state *t;

	call->asker = &call->entry;
	call->function = function_of(call->which);
	find_real(call);
	/* libc allocates for its callers where the program's own malloc is what it calls */
	t = functions[call->which].family != FAMILY_PROGRAM && mt_allocator_has(call->entry.pc)
		? NULL
		: mt_thread_self();
	if (!t || is_inner(t, &call->entry) || empties_cache(call))
		return call->real ? mt_find_call(call->real, call->a, call->b, call->c)
				  : plain(call);
	if (call->real && wraps(call))
		return pass_on(t, call);
	switch ((enum mt_shape)functions[call->which].shape) {
	case MT_SHAPE_FREE: return release(t, call);
	case MT_SHAPE_RESIZE:
	case MT_SHAPE_RESIZE_PRODUCT:
	case MT_SHAPE_RESIZE_OR_FREE: return resize(t, call);
	default: return allocate(t, call);
	}
}

#define HOOK(linkage, symbol, name, number) \
	linkage void *name(uintptr_t a, uintptr_t b, uintptr_t c) \
	{ \
		struct call call; /* called() fills in the rest: to clear it first is dear */ \
		call.which = FUNCTION_##symbol; \
		call.set = number; \
		call.entry = MT_ENTRY(); \
		call.a = a; \
		call.b = b; \
		call.c = c; \
		return called(&call); \
	}
/* A program that exports a function of this name comes before ours: by symbol##_0 ours is meant. */
#define X(family, symbol, shape, function) \
	MT_EXPORT void *symbol(uintptr_t a, uintptr_t b, uintptr_t c); \
	HOOK(MT_EXPORT, symbol, symbol, 0) \
	extern __typeof__(symbol) symbol##_0 __attribute__((alias(#symbol), visibility("hidden")));
MT_PREFIXED(X)
#undef X
#define X(family, symbol, shape, function) HOOK(static, symbol, symbol##_0, 0)
MT_PREFIXED_PROGRAM(X)
MT_PREFIXED_NAMED(X)
#undef X
#define X(family, symbol, shape, function) \
	HOOK(static, symbol, symbol##_1, 1) \
	HOOK(static, symbol, symbol##_2, 2) \
	HOOK(static, symbol, symbol##_3, 3)
MT_PREFIXED_ALL(X)
#undef X

/* ---- functions inside of modules ------------------------------------------------------------- */

static const char *name_of(int i)
{
	size_t prefix = functions[i].family == FAMILY_PROGRAM ? sizeof MT_PROGRAM_PREFIX - 1
		: functions[i].family == FAMILY_NAMED
		? sizeof MT_NAMED_PREFIX - 1
		: 0;

	return functions[i].name + prefix;
}

unsigned mt_prefixed_hooks(struct mt_wire_hook *hooks)
{
	static void *(*const own[][MT_WIRE_SETS])(uintptr_t, uintptr_t, uintptr_t) = {
#define X(family, symbol, shape, function) {symbol##_0, symbol##_1, symbol##_2, symbol##_3},
		MT_PREFIXED_ALL(X)
#undef X
	};
	struct mt_wire_hook *usable = &hooks[FUNCTION_COUNT];

	_Static_assert(FUNCTION_COUNT < MT_WIRE_HOOKS_MAX, "the recorder reads no more");
	for (int i = 0; i < FUNCTION_COUNT; i++) {
		mt_text_add(hooks[i].name, name_of(i));
		for (unsigned set = 0; set < MT_WIRE_SETS; set++)
			hooks[i].hook[set] = (uint64_t)own[i][set];
		hooks[i].function = functions[i].function;
		hooks[i].plain = functions[i].family == FAMILY_PROGRAM;
		hooks[i].named = functions[i].family == FAMILY_NAMED;
		hooks[i].exported =
			functions[i].family == FAMILY_PROGRAM || functions[i].family == FAMILY_X;
		/* callers are bound to a library's function of this name already */
		if (known[0][i].function)
			hooks[i].hook[0] = 0;
	}
	mt_text_add(usable->name, "usable_size");
	usable->named = usable->only_found = 1;
	return FUNCTION_COUNT + 1;
}

unsigned mt_prefixed_lead(const struct mt_wire_hook *hooks, unsigned set, uint64_t start,
	uint64_t end, bool is_libc)
{
	unsigned count = 0;

	if (is_libc) {
		libc_free = hooks[FUNCTION_mt_program_free].address;
		libc_start = start;
		libc_end = end;
	}

	if (hooks[FUNCTION_COUNT].original)
		mt_store_release(&usable_size[set], (void *)hooks[FUNCTION_COUNT].original);
	for (int i = 0; i < FUNCTION_COUNT; i++) {
		struct mt_found *found = &known[set][i];

		if (!hooks[i].original)
			continue;
		found->start = start;
		found->end = end;
		mt_store_release(&found->function, (void *)hooks[i].original);
		if (functions[i].family == FAMILY_PROGRAM)
			mt_allocator_led();
		one_family = one_family || hooks[i].shared;
		count++;
	}
	return count;
}
