/* Functions by which a program calls malloc: wrappers, allocators' own parts, containers that grow.
 * Their callers are what one looks for. Names alone are judged; the list is what profilers leave
 * out of their pictures (jeprof, pprof), and what the usual programs and libraries have. */
#ifndef MT_QUERY_WRAPPERS_H
#define MT_QUERY_WRAPPERS_H

#include "core/symbol/symbol.h"

/* raw: as in the symbol table, which tells Rust from C++. */
bool mt_is_usual_wrapper(const char *function, const char *raw);

/* The usual ones, and those that the user's regular expressions name. For one thread. */
struct mt_wrappers;
struct mt_wrappers *mt_wrappers_new(void);
/* Another pattern. -EINVAL: err says what was expected; name: of the setting or option. */
int mt_wrappers_add(struct mt_wrappers *, const char *pattern, const char *name,
	struct mt_err *err);
/* Only the usual ones again. */
void mt_wrappers_clear(struct mt_wrappers *);
/* Notes in the symbols which functions are wrappers, each once; what is not judged yet is taken for
 * usual or not. NULL: without a user's. */
void mt_wrappers_judge(struct mt_wrappers *, struct mt_symbols *);
/* Whether that was done for all that is there. */
bool mt_wrappers_have_judged(const struct mt_wrappers *, const struct mt_symbols *);
void mt_wrappers_free(struct mt_wrappers *);

#endif
