/* A file that a command writes: beside its name, as NAME.PID.new, until it is whole. It is removed
 * where the command fails, or a signal ends memtui. Symbolic links: core/base/links.h. */
#ifndef MT_TUI_NEW_FILE_H
#define MT_TUI_NEW_FILE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct mt_new_file {
	char *path, *aside; /* aside NULL: nothing is written, or not to a plain file */
	bool force;         /* what has the name is replaced */
};

/* -EINVAL where both are one plain file, by whatever names: it would be lost. "-": standard input,
 * or output. */
int mt_new_file_check(const char *from, const char *to, struct mt_err *err);
/* A descriptor to read and write, or a negative errno: an existing file is refused without force. A
 * FIFO or a device is opened as it is, for writing. mode: of a file that was not there. One file at
 * a time. */
int mt_new_file_open(struct mt_new_file *, const char *path, bool force, mode_t mode,
	struct mt_err *err);
/* The file gets its name; status < 0, or where that cannot be: it is removed. Returns status, or a
 * negative errno. Does nothing where none was opened. */
int mt_new_file_close(struct mt_new_file *, int status, struct mt_err *err);

#endif
