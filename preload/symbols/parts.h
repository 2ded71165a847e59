/* What symbol.c, scope.c and find.c share. */
#ifndef MT_FIND_PARTS_H
#define MT_FIND_PARTS_H

#include <elf.h>

#include "preload/symbols/find.h"

/* An object's dynamic symbols. */
struct mt_find_table {
	const uint32_t *hash;
	const Elf64_Sym *symbols;
	const char *strings;
};
struct mt_find_table mt_find_table_of(uint64_t base, const Elf64_Dyn *dynamic);
/* The object's own definition of a function, or NULL. */
void *mt_find_in(uint64_t base, const Elf64_Dyn *dynamic, const char *name);
/* The function, which may be NULL, and where its library lies. */
void mt_find_describe(struct mt_found *, void *function);
/* In the scopes of the caller's object; NULL: of code that was made at run time. False: not for
 * certain. */
bool mt_find_search(const struct link_map *caller, const char *name, struct mt_found *);
/* Changes with what is loaded: what was found before does not count. */
extern uint32_t mt_find_epoch;

#endif
