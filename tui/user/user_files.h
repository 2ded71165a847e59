/* Files of the user: settings below $XDG_CONFIG_HOME/memtui, what memtui remembers below
 * $XDG_STATE_HOME/memtui, and where traces are kept that have no name yet. */
#ifndef MT_TUI_USER_FILES_H
#define MT_TUI_USER_FILES_H

#include "core/base/buffer.h"
#include "core/base/err.h"

/* Paths; NULL where there is no home. The caller frees. */
char *mt_user_config(const char *name);
char *mt_user_state(const char *name);
/* Where traces are kept until somebody says whether to save them: a directory of the user's alone,
 * below $XDG_CACHE_HOME or ~/.cache, or below /tmp if there is no home or it is somebody else's, as
 * with sudo. NULL on error; the caller frees. */
char *mt_user_traces(struct mt_err *err);
/* The directories that it may have returned, without making or checking any: 0 is the usual one, 1
 * the one below /tmp. NULL: there is no such place. The caller frees. */
char *mt_user_traces_at(int place);
/* A whole text file. 0: *text is its contents, which the caller frees; -ENOENT: there is none; else
 * err says why. */
int mt_user_read(const char *path, char **text, struct mt_err *err);
/* Writes it aside, and puts it in its place; makes the directories that are missing. */
int mt_user_write(const char *path, const char *text, struct mt_err *err);

/* What is wrong in a file, a line for each fault: "FILE:3: ...". */
struct mt_faults {
	struct mt_buffer text;
	uint32_t count;
};
void mt_faults_add(struct mt_faults *, const char *file, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The first one, and how many there are besides; out is one line. */
void mt_faults_first(const struct mt_faults *, char *out, size_t len);
void mt_faults_free(struct mt_faults *);

#endif
