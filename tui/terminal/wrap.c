/* Text on several rows, broken between words. */
#include "core/base/text.h"
#include "tui/terminal/screen.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a row that has so many columns: up to a blank, or as many characters as fit where a word
 * is longer. */
static size_t row_of(const char *text, int columns)
{
	const char *at = text, *blank = NULL, *next;
	int width = 0;
	char one[8];

	for (; *at; at = next) {
		next = at;
		mt_text_next(&next);
		snprintf(one, sizeof one, "%.*s", (int)(next - at), at);
		width += mt_text_width(one);
		if (*at == ' ')
			blank = at;
		if (width > columns && (blank || at > text))
			return (size_t)((blank ? blank : at) - text);
	}
	return (size_t)(at - text);
}

int mt_draw_wrapped(struct mt_screen *s, struct mt_rect r, enum mt_role role, const char *text)
{
	char part[512];
	int rows = 0;

	for (; *text; rows++) {
		size_t len = rows + 1 == r.rows ? strlen(text) : row_of(text, r.columns);

		snprintf(part, sizeof part, "%.*s", (int)len, text);
		if (rows < r.rows)
			mt_draw(s, r.row + rows, r.column, r.columns, role, part);
		text += len;
		text += *text == ' ';
	}
	return rows;
}
