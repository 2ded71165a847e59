/* What people said about the leaks of a program: a judgement for a fingerprint
 * (core/query/fingerprint.h), kept in a sidecar file of the program's name. The file is text, one
 * judgement a line, so it can be read, merged and put under version control. */
#ifndef MT_TRIAGE_TRIAGE_H
#define MT_TRIAGE_TRIAGE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* X(id, name in files, letter, words) */
#define MT_TRIAGE_STATES(X) \
	X(NEW, "new", 'N', "new") \
	X(INVESTIGATING, "investigating", 'I', "investigating") \
	X(LEAK, "leak", 'L', "leak") \
	X(FIXED, "fixed", 'F', "fixed") \
	X(SUPPRESSED, "suppressed", 'X', "suppressed")
enum mt_triage_state {
#define X(id, name, letter, words) MT_TRIAGE_##id,
	MT_TRIAGE_STATES(X) MT_TRIAGE_STATE_COUNT,
#undef X
};
const char *mt_triage_state_name(enum mt_triage_state);
char mt_triage_state_letter(enum mt_triage_state);

#define MT_TRIAGE_NOTE_MAX 1000
struct mt_judgement {
	uint64_t fingerprint;
	enum mt_triage_state state;
	uint64_t time;         /* Unix seconds: when the state was set */
	uint64_t leaked_bytes; /* of its groups, as seen then */
	const char *where;     /* a function, for who reads the file; may be "" */
	const char *note;      /* may be "" */
};
/* A group that was fixed leaks again: in a recording that began after somebody said so. In one that
 * goes on blocks live that may still be freed: it has come back when they are as much as it was.
 * start_ns 0: not known. */
bool mt_judgement_came_back(const struct mt_judgement *, uint64_t start_ns, uint64_t leaked_bytes,
	bool live);

struct mt_triage;
/* Where judgements about a program of this name are kept: below $XDG_STATE_HOME or ~/.local/state.
 * Caller frees. */
char *mt_triage_path(const char *program);
/* own: the file lies in a directory of memtui's, which is made, and has to be the user's. NULL:
 * kept nowhere. */
struct mt_triage *mt_triage_new(const char *path, bool own);
void mt_triage_free(struct mt_triage *);
const char *mt_triage_file(const struct mt_triage *); /* NULL: none */
/* Reads the file, if it is another one than last time. 1: it was read; 0: nothing new, or there is
 * none; negative: it cannot be used, and what is known stays. */
int mt_triage_read(struct mt_triage *, struct mt_err *err);
/* Lines that make no sense; they are kept as they are. first: number of the first one, from 1. */
uint32_t mt_triage_damaged(const struct mt_triage *, uint32_t *first);

/* NULL: nothing was said. Valid until the next read or change. */
const struct mt_judgement *mt_triage_find(const struct mt_triage *, uint64_t fingerprint);
/* All of them, by fingerprint; and the place of one, or UINT32_MAX. */
uint32_t mt_triage_place(const struct mt_triage *, uint64_t fingerprint);
uint32_t mt_triage_count(const struct mt_triage *);
const struct mt_judgement *mt_triage_at(const struct mt_triage *, uint32_t);
uint64_t mt_triage_generation(const struct mt_triage *); /* grows with every change */

/* Says something about several groups, each once, as one step; new without a note takes the line
 * away. Written at once, with what others wrote meanwhile. Negative: it is known here but not in
 * the file; the next change tries again, as does mt_triage_save. */
int mt_triage_change(struct mt_triage *, const struct mt_judgement *, uint32_t count,
	struct mt_err *err);
/* Takes the last step of this process back. groups: how many judgements it was, 0: there is
 * none. */
int mt_triage_undo(struct mt_triage *, uint32_t *groups, struct mt_err *err);
int mt_triage_save(struct mt_triage *, struct mt_err *err);
uint32_t mt_triage_unsaved(const struct mt_triage *); /* judgements that are not in the file */

#endif
