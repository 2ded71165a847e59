/* What can be watched: recordings that run, and the user's other processes with their memory. */
#ifndef MT_TUI_CANDIDATES_H
#define MT_TUI_CANDIDATES_H

#include "core/session/session.h"

struct mt_candidate {
	pid_t pid;
	uint64_t start_time;             /* of the process: its number may come again */
	bool recorded;                   /* by a session */
	uint64_t rss_bytes, first_bytes; /* now; when the list had it first */
	char command[256];
};
struct mt_candidates {
	struct mt_candidate *items; /* recordings, then processes; the largest first */
	uint32_t count, capacity;
};

/* Looks again. What grew is told from the first look on. */
void mt_candidates_look(struct mt_candidates *);
void mt_candidates_free(struct mt_candidates *);

#endif
