/* To another process of the session and back. */
#ifndef MT_TUI_SWITCH_H
#define MT_TUI_SWITCH_H

#include "tui/app.h"

/* The recording that memtui was started with: what a session's terminal and its end belong to. */
struct mt_data *mt_app_home(const struct mt_app *);
/* In a thread, then the whole screen shows it, in the view that was seen before. process: of the
 * session that runs, which is still traced; 0: the trace is opened. words: how people call it, for
 * the message. */
void mt_switch_to(struct mt_app *, pid_t process, const char *trace_path, const char *words);
/* Before the recording that is shown is exchanged: numbers of groups and nodes are another's
 * then. */
void mt_app_forget_views(struct mt_app *);
void mt_switch_free(struct mt_app *);

#endif
