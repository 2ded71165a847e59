/* A leak check of a process that is being recorded, from taking it to letting it go. */
#ifndef MT_LEAKCHECK_PROCESS_H
#define MT_LEAKCHECK_PROCESS_H

#include "core/leakcheck/leakcheck.h"
#include "core/recording/recording.h"

/* Which process, and how it is looked at. */
struct mt_leakcheck_target {
	const char *session;
	pid_t process;
	bool is_root;  /* of the session */
	bool at_end;   /* it is behind all destructors, and waits there */
	bool is_asked; /* what holds a block: without a copy, it stands still until the end */
	unsigned mode; /* MT_STILL_NO_COPY, or 0 */
};

/* Gives each block of the process its verdict, and the process's trace gets the verdicts. The
 * recording is as of this moment, with its names to come. c is zeroed; both are to be freed by
 * mt_leakcheck_end, after an error too. untold: why the trace does not get them; code 0: it does.
 * -ENODATA: the process has not allocated yet; -ENOTSUP: its recording is sampled. */
int mt_leakcheck_begin(struct mt_leakcheck *c, struct mt_recording **,
	const struct mt_leakcheck_target *, struct mt_err *untold, struct mt_err *err);
/* Lets go what is still held of the process. Negative: err says what of it stays behind. */
int mt_leakcheck_end(struct mt_leakcheck *, struct mt_recording *, struct mt_err *err);

/* The same at once, at the end of a process: its trace alone gets what was found. -ENODATA: it has
 * not allocated, so that there is nothing to find. */
int mt_leakcheck_at_end(const struct mt_session *, pid_t, struct mt_err *err);

#endif
