/* A file of our own for a while, in $TMPDIR or /tmp: empty, readable by its owner alone. It is
 * without a name, so that nothing is left of it however memtui ends. */
#ifndef MT_BASE_TEMPORARY_H
#define MT_BASE_TEMPORARY_H

#include "core/base/err.h"

/* A descriptor, or a negative errno. writing: gets another one, for what takes and closes it; may
 * be NULL. */
int mt_temporary_file(int *writing, struct mt_err *err);

#endif
