/* A session that has ended: its trace takes the place of what was seen of it live. */
#ifndef MT_TUI_ENDED_H
#define MT_TUI_ENDED_H

#include "tui/app.h"

/* Begins to read the trace, once there is one that has its end; in a thread. From then on all that
 * only events tell is known: threads, sizes and ages of a group, single blocks, filters on them. */
void mt_ended_tend(struct mt_app *);

#endif
