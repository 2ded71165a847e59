/* What ncurses writes for a frame, taken before the terminal gets it: ncurses writes to a
 * descriptor and nowhere else, so for the length of a frame standard output is a file in memory. */
#ifndef MT_TUI_CAPTURE_H
#define MT_TUI_CAPTURE_H

#include "core/base/buffer.h"

#include <stdbool.h>

struct mt_capture {
	/* the terminal, to be written to at any time; the file, or -1: frames go out as they are */
	int out, file;
	bool begun;
	struct mt_buffer bytes, frame;
};
void mt_capture_open(struct mt_capture *); /* while standard output is the terminal */
void mt_capture_close(struct mt_capture *);
void mt_capture_begin(struct mt_capture *);
/* What was written since, squeezed; valid until the next one. Empty where it went out already. */
const struct mt_buffer *mt_capture_end(struct mt_capture *);

#endif
