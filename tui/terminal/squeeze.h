/* What ncurses sends, in fewer bytes: changes of style that follow each other, or repeat what
 * holds, become one or none. */
#ifndef MT_TUI_SQUEEZE_H
#define MT_TUI_SQUEEZE_H

#include "core/base/buffer.h"

/* Adds to out what bytes do: a frame that begins and ends in the terminal's plain style. Of styles
 * it knows ECMA-48's (CSI ... m) without colons; whatever else there is stays as it is. */
void mt_squeeze(struct mt_buffer *out, const char *bytes, size_t len);

#endif
