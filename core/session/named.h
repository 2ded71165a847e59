/* Functions that the user names as those of an allocator (--allocator-functions). */
#ifndef MT_SESSION_NAMED_H
#define MT_SESSION_NAMED_H

#include "core/base/err.h"

#include <stdbool.h>

#define MT_NAMED_SYMBOL 256u /* bytes of a function's name, with its 0 */
/* What functions can be named for; beside them object=NAME and prefix=TEXT. */
#define MT_NAMED_ROLES \
	"malloc|calloc|realloc|free|memalign|posix_memalign|aligned_alloc|valloc|pvalloc|" \
	"reallocarray|usable_size"

struct mt_named_functions;

/* Reads "malloc=my_alloc free=my_free ...": malloc and free at least, unless prefix= names all,
 * of which those that are missing are then no error. NULL: err has the reason. */
struct mt_named_functions *mt_named_new(const char *text, struct mt_err *);
void mt_named_free(struct mt_named_functions *); /* NULL is allowed */

/* The function that is named for this; "": none is. symbol: MT_NAMED_SYMBOL bytes. */
const char *mt_named_symbol(const struct mt_named_functions *, const char *role, char *symbol);
/* Whether a module without this one is refused. */
bool mt_named_is_needed(const struct mt_named_functions *, const char *role);
/* Whether functions of the module with this path are meant. */
bool mt_named_is_in(const struct mt_named_functions *, const char *path);
/* Whether the ELF file defines the function that is named for malloc. fd: borrowed. */
bool mt_named_is_defined(const struct mt_named_functions *, int fd);

#endif
