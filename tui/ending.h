/* The end of a session, once the screen is closed: what becomes of the program and of the
 * recording, as the question (question.c) was answered. */
#ifndef MT_TUI_ENDING_H
#define MT_TUI_ENDING_H

#include "tui/app.h"

/* Asks the program to end, and then the processes that it has left; kills those that do not. whole:
 * the session's first process is watched, not another one alone. */
void mt_ending_end(struct mt_app *, bool whole);
/* Path of the trace of the process that is shown; the caller frees. */
char *mt_ending_shown_trace(const struct mt_app *);
/* The same of the process that memtui was started with. */
char *mt_ending_home_trace(const struct mt_app *);
/* Saves the recording of one process of a session that goes on, once it is complete. */
int mt_ending_save_part(struct mt_app *, struct mt_err *err);
/* Saves or discards a recording without a name, as the answer says. */
int mt_ending_take_fate(struct mt_app *, struct mt_err *err);

#endif
