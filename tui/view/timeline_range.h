/* The range of time that is selected on the timeline, or asked for by the filter. */
#ifndef MT_TUI_TIMELINE_RANGE_H
#define MT_TUI_TIMELINE_RANGE_H

#include "tui/app.h"

/* what is on the screen; of a live run also what is to come */
void mt_timeline_span(const struct mt_app *, uint64_t *from, uint64_t *to);
bool mt_timeline_range(const struct mt_app *, uint64_t *from, uint64_t *to); /* false: none */
/* The columns of it that are on the screen. */
bool mt_timeline_columns(const struct mt_app *, uint32_t *first, uint32_t *behind);
bool mt_timeline_range_action(struct mt_app *, enum mt_action);
void mt_timeline_moved(struct mt_app *); /* the cursor */
/* What is selected, with totals: a rule and a line, or the rule alone. */
bool mt_timeline_has_legend(const struct mt_app *);
void mt_timeline_legend(struct mt_app *, struct mt_rect);

#endif
