/* Recordings in the cache that nobody has named: what memtui run has written there, read back. The
 * files may be damaged or planted, so nothing is taken that is no regular file of the user's, and
 * no symbolic link is followed. doc/sessions.md. */
#ifndef MT_TUI_SAVED_H
#define MT_TUI_SAVED_H

#include "core/base/err.h"
#include "core/session/session.h"

#include <stdbool.h>
#include <stdint.h>

/* In order of how little is known of it. */
enum mt_saved_state {
	MT_SAVED_COMPLETE,
	MT_SAVED_DAMAGED,    /* a part cannot be read */
	MT_SAVED_INCOMPLETE, /* its recorder was killed */
	MT_SAVED_WRITTEN,    /* somebody writes it now */
	MT_SAVED_UNREADABLE, /* error says why */
	MT_SAVED_EMPTY,      /* of a session: it has no trace, or not yet */
};
const char *mt_saved_state_name(enum mt_saved_state);

/* A file of a session, by a name that memtui gives. */
struct mt_saved_file {
	char *name;
	uint64_t bytes;
	enum mt_saved_state state;
	bool whole;     /* a trace of what a process ran; else a snapshot, or an unfinished file */
	bool is_unsure; /* the file system cannot tell whether it is in use */
	bool is_open;   /* somebody has it open, such as a screen that shows it */
	bool has_sums;  /* the last four of these are known */
	uint32_t pid, root; /* 0: not known */
	uint32_t images_before;
	bool sampled;
	uint64_t start_unix_ns, duration_ns, leaked_bytes, peak_bytes;
	char *command; /* NULL: not known; a safe line */
	char *error;   /* UNREADABLE; a sentence */
};

/* A session: one directory. */
struct mt_saved {
	char *directory;  /* absolute */
	const char *name; /* the end of its name, which is unique in the cache */
	struct mt_saved_file *files;
	uint32_t count, capacity;
	const struct mt_saved_file *first; /* the first program's trace; NULL: none */
	char **strange;                    /* names of entries that memtui has not written */
	uint32_t strange_count, strange_capacity;
	uint32_t processes;
	uint64_t bytes;
	int64_t changed_ns; /* when something was last written into it, as Unix time */
	enum mt_saved_state state;
	char *error;                            /* the directory cannot be read; NULL: it can */
	const struct mt_session_entry *running; /* it is being recorded; NULL: it is not */
};

struct mt_saved_list {
	struct mt_saved *items; /* the newest first */
	uint32_t count, capacity;
	/* recordings that run, of which some are in the cache and others elsewhere */
	struct mt_session_entry *running;
	int running_count;
	uint64_t readable; /* bytes of traces that may still be read for their sums */
	char *place; /* the directory of them all, which may not be there; NULL: there is no home */
};

/* sums: those of traces whose recorder was killed are wanted, too, which have to be read for it, as
 * far as that is soon done. 0, or a negative errno: a directory is there but cannot be read. To be
 * freed in any case. */
int mt_saved_load(struct mt_saved_list *, bool sums, struct mt_err *err);
void mt_saved_free(struct mt_saved_list *);
/* The name by which to speak of a session: its first process if no other has that number, else the
 * name of its directory. */
const char *mt_saved_handle(const struct mt_saved_list *, const struct mt_saved *, char out[16]);
/* The session that a word means: a handle, or the path of its directory. NULL: err says which there
 * are. A number that only a running recording has is no session of the cache. */
const struct mt_saved *mt_saved_find(const struct mt_saved_list *, const char *word,
	struct mt_err *err);

/* Returns true if somebody has one of the session's files open, such as a screen that shows it. */
bool mt_saved_is_open(const char *directory);
/* 0 if nobody records the session, writes it or shows it, as far as can be told; else err says
 * who. */
int mt_saved_check_unused(const struct mt_saved_list *, const struct mt_saved *,
	struct mt_err *err);
/* Removes a session that is not used: completely, or not at all. Adds to *bytes. 1: all its files
 * are gone, but the directory stays because of entries that memtui has not written; err names
 * it. */
int mt_saved_remove(const struct mt_saved *, uint64_t *bytes, struct mt_err *err);
/* Moves the files of a session that is not used into a directory, or to a name that is none. *kept:
 * the name of the first program's trace, also where mt_saved_remove failed in the end, whose result
 * and err this has; NULL: nothing was moved. The caller frees. */
int mt_saved_keep(const struct mt_saved *, const char *into, bool force, char **kept,
	struct mt_err *err);

#endif
