/* Looking symbols up where they may well not be: dlsym would allocate for its error, and take a
 * lock. */
#ifndef MT_FIND_H
#define MT_FIND_H

#include <link.h>

#include "preload/base/tracer.h"

/* A function that one of the tracer's stands before, and where its library lies. */
struct mt_found {
	void *function;
	uint64_t start, end;
	uint32_t plain; /* what the judge has said of it */
};
typedef bool mt_find_judge(const char *name, const struct mt_found *);

/* Where the tracer itself and the dynamic linker lie, for mt_is_own and mt_is_loader. */
void mt_find_own(void);
/* The next after the tracer among the objects that the program was started with. */
bool mt_find_next(const char *name, struct mt_found *);
/* The same once: *function, NULL until it is known, is what was found. False: there is none. */
bool mt_find_once(const char *name, void *function);
/* The same where dlsym is what is looked for: not by dlsym. */
bool mt_find_dlsym(const char *name, void *function);
/* The tracer's own function of this name, or NULL. */
void *mt_find_hook(const char *name);
/* The same: where its code lies; both 0 where there is none. */
void mt_find_code(const char *name, uint64_t *start, uint64_t *end);
/* Calls back for each function that the tracer shows, with each symbol of its next definition among
 * the objects that the program was started with, which may be changed: what it said is still found
 * here. One thread at a time; takes no lock. */
typedef void mt_find_visit(const struct link_map *, Elf64_Sym *symbol, const char *name,
	uint64_t function);
void mt_find_each_next(mt_find_visit *);
/* The function that the code at caller would be bound to if it were not for the tracer: that of an
 * object that was opened for all, or else of the caller's object, what it needs, and what it was
 * opened for. */
bool mt_find_in_scope(uint64_t caller, const char *name, struct mt_found *);
/* The same, remembered, with what the judge says of it (NULL: none). name must be the same pointer
 * each time. */
bool mt_find_for(uint64_t caller, const char *name, struct mt_found *, mt_find_judge *);
#ifdef MT_ATTACHED
/* Calls it. Nobody looks for definitions by the caller. */
static MT_INLINE void *mt_find_call(const void *function, uintptr_t a, uintptr_t b, uintptr_t c)
{
	return ((void *(*)(uintptr_t, uintptr_t, uintptr_t))function)(a, b, c);
}
#else
/* Calls it. A call that it ends with, of another of ours, seems to come from us, but is its own. */
static MT_INLINE void *mt_find_call(const void *function, uintptr_t a, uintptr_t b, uintptr_t c)
{
	const void *before = mt_tls.called;
	void *p;

	mt_tls.called = function;
	p = ((void *(*)(uintptr_t, uintptr_t, uintptr_t))function)(a, b, c);
	mt_tls.called = before;
	return p;
}
#endif
/* In a forked child, before anything is mapped there: a place that an object has just left may be
 * taken at once, and must not be read as the object. */
void mt_find_in_child(void);
/* Around what may unload objects. */
void mt_find_unload_begins(void);
void mt_find_unload_ends(void);

#endif
