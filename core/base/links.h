/* One rule for symbolic links, wherever memtui writes a file: the user's own are followed, to what
 * they name; others' are refused, also in directories where the kernel would follow them. */
#ifndef MT_BASE_LINKS_H
#define MT_BASE_LINKS_H

#include "core/base/err.h"

/* The file that a name means, which may not be there; caller frees. NULL: err says whose link it
 * is. */
char *mt_links_resolve(const char *name, struct mt_err *err);

#endif
