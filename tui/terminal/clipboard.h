/* Text into the clipboard of the user's terminal, also over SSH: OSC 52. */
#ifndef MT_TUI_CLIPBOARD_H
#define MT_TUI_CLIPBOARD_H

#include <stddef.h>

struct mt_app;

/* terminals take no more in one go (xterm's limit) */
#define MT_CLIPBOARD_BASE64 74994u
#define MT_CLIPBOARD_TEXT (MT_CLIPBOARD_BASE64 / 4 * 3) /* bytes of text */

/* The call stack of what is selected, as text. */
void mt_clipboard_stack(struct mt_app *);
/* Any text; what is longer than MT_CLIPBOARD_TEXT is cut at a line. what: for the message, "the
 * stack of f". */
void mt_clipboard_copy(struct mt_app *, const char *text, size_t len, const char *what);

#endif
