/* Recordings of `memtui run` without -o, until somebody says whether to keep them: each session has
 * a directory for its files in the user's cache, so that nothing of it is left behind unnoticed. */
#ifndef MT_TUI_UNSAVED_H
#define MT_TUI_UNSAVED_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the directory of a new session, and removes the oldest ones of earlier sessions that nobody
 * has saved, but for the last MT_UNSAVED_KEPT. Returns the pattern of the trace's name (the caller
 * frees), or NULL with err. */
#define MT_UNSAVED_KEPT 8
#define MT_UNSAVED_PREFIX "unsaved_" /* of the name of such a directory; mkdtemp's six follow */
char *mt_unsaved_begin(struct mt_err *err);
/* The directory of an unsaved recording, by its trace's path; NULL: the trace has a name that
 * somebody gave it. The caller frees. */
char *mt_unsaved_directory(const char *trace_path);
/* How many processes it holds recordings of. */
uint32_t mt_unsaved_count(const char *directory);
/* Moves one recording, with what its process was before exec, into the working directory, and
 * removes the others. Says what was saved. Where it cannot be saved, nothing is removed. */
int mt_unsaved_save(const char *directory, const char *trace_path, struct mt_err *err);
/* The same for one process of a session that goes on: nothing is removed. */
int mt_unsaved_save_part(const char *directory, const char *trace_path, struct mt_err *err);
/* Moves all of them into a new directory below the working directory, which is called like the
 * trace. */
int mt_unsaved_save_all(const char *directory, const char *trace_path, struct mt_err *err);
void mt_unsaved_discard(const char *directory);

#endif
