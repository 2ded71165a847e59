/* Every character that is not text, in UTF-8 and in ASCII. */
#ifndef MT_TUI_GLYPHS_H
#define MT_TUI_GLYPHS_H

#include <stdbool.h>

/* X(id, UTF-8, ASCII) */
#define MT_GLYPHS(X) \
	X(RULE, "─", "-") \
	X(BAR, "│", "|") \
	X(TOP_LEFT, "┌", "+") \
	X(TOP_RIGHT, "┐", "+") \
	X(BOTTOM_LEFT, "└", "+") \
	X(BOTTOM_RIGHT, "┘", "+") \
	X(CLOSED, "▸", "+") \
	X(OPENED, "▾", "-") \
	X(LEAF, "·", ".") \
	X(CURSOR, "▶", ">") \
	X(LINE, "►", ">") \
	X(ARROW, " › ", " > ") \
	X(ELLIPSIS, "…", "~") \
	X(DESCENDING, "▼", "v") \
	X(ASCENDING, "▲", "^") \
	X(LIVE, "●", "*") \
	X(GROWING, "▲", "+") \
	X(MARKER, "┃", "!") \
	X(GONE, "┄", ":") \
	X(DASH, "–", "-") \
	X(SHADE, "▒", "#") \
	X(BLOCK, "█", "#") \
	X(SWATCH, "▌", "#") \
	X(MARK, "✓", "*") \
	X(PAUSED, "╍", "_") \
	X(LOST, "╳", "x") \
	X(EVENT, "◇", "m") \
	X(PEAK, "◆", "P")

enum mt_glyph {
#define X(id, utf8, ascii) MT_GLYPH_##id,
	MT_GLYPHS(X) MT_GLYPH_COUNT,
#undef X
};
const char *mt_glyph(bool utf8, enum mt_glyph);
/* One cell of a line graph, level 0 (empty) to 8 (full). */
const char *mt_glyph_level(bool utf8, int level);
/* One cell of an area graph with two columns, each 0 to 4 dots high from below; out holds the
 * UTF-8. */
const char *mt_glyph_dots(bool utf8, int left, int right, char out[4]);
/* The same with a line: in each column the dots above bottom up to top. */
const char *mt_glyph_lined(bool utf8, const int fill[2], const int top[2], const int bottom[2],
	char out[4]);

#endif
