/* Words for one who sees a screen for the first time: why there is nothing here, or less than there
 * could be, and what to do. */
#ifndef MT_TUI_GUIDANCE_H
#define MT_TUI_GUIDANCE_H

#include "tui/app.h"

/* In place of a list of groups without lines. */
void mt_guidance_empty(struct mt_app *, struct mt_rect);
/* In the room that a list of groups leaves; bare: so many of the lines that are seen have no
 * source. */
void mt_guidance_below(struct mt_app *, struct mt_rect room, uint32_t seen, uint32_t bare);
/* In the status line of a screen that stands in another order: which group looks most like a leak,
 * if one does. Shorter than width. */
bool mt_guidance_suspect(struct mt_app *, char *out, size_t len, int width);
/* In place of the source of a frame. here: its file was found, but not the line. Returns rows
 * used. */
int mt_guidance_source(struct mt_app *, struct mt_rect, const struct mt_backtrace_frame *,
	bool here);

#endif
