/* Words for one who sees a screen for the first time: why there is nothing here, or less than there
 * could be, and what to do. */
#ifndef MT_TUI_GUIDANCE_H
#define MT_TUI_GUIDANCE_H

#include "tui/app.h"

#define MT_GUIDANCE_LINES 64 /* more say nothing else */

/* In place of a list of groups without lines. */
void mt_guidance_empty(struct mt_app *, struct mt_rect);
/* In the room that a list of groups leaves; bare: so many of the lines that are seen have no
 * source. */
void mt_guidance_below(struct mt_app *, struct mt_rect room, uint32_t seen, uint32_t bare);
/* The answer first: which group looks most like a leak, how fast it grows, since when, and the key
 * that shows why; what has no room is left out. False: none looks like one. */
bool mt_guidance_suspect(struct mt_app *, char *out, size_t len, int width);
/* Where the lines of a list of groups that are seen are, who calls that, and for how much. */
struct mt_guidance_lines {
	uint32_t count;
	struct {
		const char *function; /* borrowed; NULL: it does not pass on to malloc */
		uint32_t site;        /* where in it: the line, or else the pc id */
		uint32_t caller;      /* pc id */
		uint64_t least, most; /* sizes */
	} line[MT_GUIDANCE_LINES];
};
void mt_guidance_line(struct mt_guidance_lines *, const struct mt_profile *, uint32_t group,
	const struct mt_backtrace *, const struct mt_backtrace_frame *own);
/* Notes which function many of them name although its callers differ, and what they ask of one
 * place in it, as with a wrapper of malloc that nobody has told of. */
void mt_guidance_lines_seen(struct mt_app *, const struct mt_guidance_lines *);
/* In the status line: that there is such a function, and in its groups' detail the setting that
 * makes lists name its callers. Shorter than width. */
bool mt_guidance_wrapper(struct mt_app *, char *out, size_t len, int width);
/* In place of the source of a frame. here: its file was found, but not the line. Returns rows
 * used. */
int mt_guidance_source(struct mt_app *, struct mt_rect, const struct mt_backtrace_frame *,
	bool here);

#endif
