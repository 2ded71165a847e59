/* A file of our own for a while, in $TMPDIR or /tmp: empty, readable by its owner alone. */
#ifndef MT_BASE_TEMPORARY_H
#define MT_BASE_TEMPORARY_H

#include "core/base/err.h"

/* A descriptor, or a negative errno. name: gets the file's name, to unlink and free by the caller;
 * NULL: it has none. */
int mt_temporary_file(char **name, struct mt_err *err);

#endif
