/* The processes of a session as a tree: of one that runs as the recorder lists them, of one that is
 * over by the traces that it left beside each other. */
#ifndef MT_SESSION_FAMILY_H
#define MT_SESSION_FAMILY_H

#include "core/session/session.h"

struct mt_family {
	/* parents before their children, those of one parent by their start */
	struct mt_session_process *items;
	uint32_t *depths; /* beside them: 0 where the parent is not among them */
	uint32_t count, capacity;
	bool truncated; /* there are more files than were looked at */
};

/* Puts what lists gave into the order of the tree. Takes items, which were allocated for count of
 * them. */
void mt_family_make(struct mt_family *, struct mt_session_process *items, uint32_t count);
/* The traces beside this one that are of its session; it is among them. progress (may be NULL) is
 * told fractions 0..1 and may return non-zero to cancel. What cannot be read is left out. Of a
 * trace that does not say its session: itself alone. */
int mt_family_of_trace(struct mt_family *, const char *path,
	int (*progress)(void *context, double fraction), void *context, struct mt_err *err);
/* A process by what was recorded of it. path: of its trace; "": it has none. */
void mt_family_describe(struct mt_session_process *, const struct mt_profile *, const char *path);
/* Whether a file's name is one that the recorder gives the trace of another process or image of the
 * session whose trace has this name; both without directories. pid: of the named trace. */
bool mt_family_is_named_so(const char *name, const char *of, uint32_t pid);
void mt_family_free(struct mt_family *);

#endif
