/* How many columns text takes on the screen. */
#ifndef MT_TUI_WIDTH_H
#define MT_TUI_WIDTH_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

/* What is shown for a character: never a control or an invisible one. width: its columns; 0: it
 * combines with the one before. */
wchar_t mt_text_cell(bool utf8, uint32_t code, int *width);
/* Moves past a character, and returns its columns; 0: a combining one, or the end. */
int mt_text_step(const char **text);
/* The columns that mt_draw would use. */
int mt_text_width(const char *text);

#endif
