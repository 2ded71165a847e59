/* Private to saved*.c: what may be touched in the cache, and how. */
#ifndef MT_TUI_SAVED_PARTS_H
#define MT_TUI_SAVED_PARTS_H

#include "core/base/buffer.h"
#include "tui/user/saved.h"

#include <sys/stat.h>

/* A directory of the user's own, by a name that is no link; or a negative errno. */
int mt_saved_open_directory(int at, const char *name);
/* Returns true if memtui gives such names to its files. *whole: it is the trace of what a process
 * ran, neither a snapshot nor an unfinished file. */
bool mt_saved_is_name(const char *name, bool *whole);
/* Returns true for a regular file of the user's own. */
bool mt_saved_is_own(const struct stat *);
/* Opens a file of a session to read it; -EPERM: it is none of memtui's; or a negative errno. */
int mt_saved_open(int directory, const char *name, struct stat *);
/* Returns true if somebody else has the file open, for writing (F_RDLCK) or at all (F_WRLCK). A
 * lease tells it, which is given back at once. *unsure: the file system knows none. */
bool mt_saved_is_leased(int fd, int kind, bool *unsure);
/* Fills a file that has its name and size. Takes the descriptor. *readable: bytes that may be read
 * where sums are missing; less what was. */
void mt_saved_look(struct mt_saved_file *, int fd, uint64_t *readable);

#endif
