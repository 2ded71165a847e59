/* What is marked on the timeline's axis: the peak, markers of the program, snapshots, pauses,
 * losses. */
#ifndef MT_TUI_TIMELINE_MARKS_H
#define MT_TUI_TIMELINE_MARKS_H

#include "tui/app.h"

/* Over the axis; each column of it is one of the timeline. The cursor's column is left alone. */
void mt_timeline_draw_marks(struct mt_app *, struct mt_rect axis, const struct mt_timeline *);
/* Names of what is marked in a column, separated by commas; false: nothing is. */
bool mt_timeline_marks_at(const struct mt_app *, const struct mt_timeline *, uint32_t column,
	char *out, size_t len);
/* The cursor goes to the next marked column in a direction, 1 or -1, and what is there is said. */
void mt_timeline_next_mark(struct mt_app *, int direction);

#endif
