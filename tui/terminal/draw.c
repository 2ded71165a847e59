/* Text and cells into the frame that is being made. */
#include "core/base/text.h"
#include "tui/terminal/screen_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

attr_t mt_screen_attributes(unsigned style)
{
	return (style & MT_STYLE_BOLD ? A_BOLD : 0) | (style & MT_STYLE_DIM ? A_DIM : 0)
		| (style & MT_STYLE_UNDERLINE ? A_UNDERLINE : 0)
		| (style & MT_STYLE_REVERSE ? A_REVERSE : 0)
		| (style & MT_STYLE_ITALIC ? A_ITALIC : 0);
}

/* Where the last column of what is drawn has the left half of a wide character, ncurses keeps the
 * right half and does not send its cell: all behind it would be a column too far left. */
static void drop_right_half(int row, int column)
{
	wchar_t text[CCHARW_MAX + 1] = {0};
	attr_t attributes;
	short pair;
	cchar_t cell;

	if (column + 1 < COLS && mvin_wch(row, column, &cell) == OK
		&& getcchar(&cell, text, &attributes, &pair, NULL) == OK && wcwidth(text[0]) > 1)
		mvaddch(row, column + 1, ' ');
}

void mt_screen_put(int row, int column, attr_t attributes, int pair, const wchar_t *text)
{
	cchar_t cell;

	if (wcwidth(text[0]) <= 1)
		drop_right_half(row, column);
	setcchar(&cell, text, attributes, (short)pair, NULL);
	mvadd_wch(row, column, &cell);
}

static void put(struct mt_screen *s, int row, int column, enum mt_role role, const wchar_t *text)
{
	int pair = s->colour ? (int)role + 1 : 0, width = wcwidth(text[0]);

	mt_screen_put(row, column, s->attributes[role], pair, text);
	mt_blanks_note(&s->blanks, row, column, width > 1 ? width : 1,
		&(struct mt_blanks_cell){s->attributes[role], pair, s->ground[role],
			text[0] == L' ' && !text[1]});
}

int mt_draw(struct mt_screen *s, int row, int column, int width, enum mt_role role,
	const char *text)
{
	int used = 0;
	bool cut;

	if (row < 0 || row >= LINES || column < 0 || column >= COLS || width <= 0)
		return 0;
	if (width > COLS - column)
		width = COLS - column;
	cut = mt_text_width(text) > width;
	width -= cut;
	while (*text) {
		wchar_t cell[CCHARW_MAX + 1] = {0};
		int columns, more, count = 1;

		cell[0] = mt_text_cell(s->utf8, mt_text_next(&text), &columns);
		if (columns == 0) { /* a combining character with nothing to stand on */
			cell[1] = cell[0];
			cell[0] = L' ';
			columns = 1;
			count = 2;
		}
		if (used + columns > width)
			break;
		for (const char *next = text; *next; text = next) {
			wchar_t mark = mt_text_cell(s->utf8, mt_text_next(&next), &more);

			if (more != 0)
				break;
			if (count < CCHARW_MAX - 1)
				cell[count++] = mark;
		}
		put(s, row, column + used, role, cell);
		used += columns;
	}
	if (cut) {
		const char *glyph = mt_glyph(s->utf8, MT_GLYPH_ELLIPSIS);
		wchar_t end[2] = {(wchar_t)mt_text_next(&glyph), 0};

		mt_draw_fill(s, row, column + used, width - used, role);
		used = width + 1;
		put(s, row, column + used - 1, role, end);
	}
	return used;
}

int mt_drawf(struct mt_screen *s, int row, int column, int width, enum mt_role role,
	const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return mt_draw(s, row, column, width, role, text);
}

void mt_draw_right(struct mt_screen *s, int row, int column, int width, enum mt_role role,
	const char *text)
{
	int used = mt_text_width(text);

	mt_draw(s, row, used < width ? column + width - used : column, width, role, text);
}

void mt_draw_fill(struct mt_screen *s, int row, int column, int width, enum mt_role role)
{
	for (int i = 0; i < width && column + i < COLS && row >= 0 && row < LINES; i++)
		put(s, row, column + i, role, L" ");
}

void mt_draw_rule(struct mt_screen *s, int row, int column, int width, enum mt_role role,
	const char *words)
{
	const char *rule = mt_glyph(s->utf8, MT_GLYPH_RULE);

	for (int i = 0; i < width; i++)
		mt_draw(s, row, column + i, 1, role, rule);
	if (*words && width > 8) {
		int used;

		mt_draw(s, row, column + 2, 1, role, " ");
		used = mt_draw(s, row, column + 3, width - 6, role, words);
		mt_draw(s, row, column + 3 + used, 1, role, " ");
	}
}

/* 0 where there are no more colours than pairs: the next frame begins anew, for what is on the
 * screen then. */
static int cell_pair(struct mt_screen *s, int foreground, int background)
{
	int most = COLOR_PAIRS - MT_ROLE_ALL - 1 < CELL_PAIRS * 3 / 4
		? COLOR_PAIRS - MT_ROLE_ALL - 1
		: CELL_PAIRS * 3 / 4;
	unsigned at =
		((unsigned)foreground * 2654435761u ^ (unsigned)background * 2246822519u) >> 12;

	if (!s->colour || (foreground < 0 && background < 0))
		return 0;
	for (;; at++) {
		at %= CELL_PAIRS;
		if (!s->cell_pair[at].pair)
			break;
		if (s->cell_pair[at].foreground == foreground
			&& s->cell_pair[at].background == background)
			return s->cell_pair[at].pair;
	}
	if (s->cell_pairs >= most) {
		s->cell_pairs_full = true;
		return 0;
	}
	s->cell_pair[at].foreground = foreground;
	s->cell_pair[at].background = background;
	s->cell_pair[at].pair = MT_ROLE_ALL + 1 + s->cell_pairs++;
	init_extended_pair(s->cell_pair[at].pair, foreground, background);
	return s->cell_pair[at].pair;
}

bool mt_draw_shows_layers(const struct mt_screen *s)
{
	return s->utf8 && s->colour && s->graphs != MT_GRAPHS_ASCII && s->ink[MT_ROLE_GROUP_1] >= 0;
}

/* A cell in a group's colour, on a background of its own. */
static void put_coloured(struct mt_screen *s, int row, int column, attr_t attributes,
	enum mt_role group, int background, const char *glyph)
{
	wchar_t cell[2] = {(wchar_t)mt_text_next(&glyph), 0};

	if (row < 0 || row >= LINES || column < 0 || column >= COLS)
		return;
	mt_screen_put(row, column, attributes, cell_pair(s, s->ink[group], background), cell);
	mt_blanks_note(&s->blanks, row, column, 1,
		&(struct mt_blanks_cell){.ground = GROUND_UNKNOWN});
}

void mt_draw_layers(struct mt_screen *s, int row, int column, int level, enum mt_role lower,
	enum mt_role upper)
{
	put_coloured(s, row, column, 0, lower,
		upper == MT_ROLE_TEXT ? s->ground[upper] : s->ink[upper],
		mt_glyph_level(true, level));
}

void mt_draw_swatch(struct mt_screen *s, int row, int column, int layer, enum mt_role role)
{
	char digit[2] = {(char)(layer < MT_ROLE_OTHER - MT_ROLE_GROUP_1 ? '1' + layer : '0'), '\0'};

	if (layer < 0)
		return;
	if (mt_draw_shows_layers(s))
		put_coloured(s, row, column, s->attributes[role],
			(enum mt_role)(MT_ROLE_GROUP_1 + layer), s->ground[role],
			mt_glyph(true, MT_GLYPH_SWATCH));
	else
		mt_draw(s, row, column, 1, role, digit);
}

void mt_draw_cell(struct mt_screen *s, int row, int column, const uint32_t *code,
	const struct mt_style *style)
{
	wchar_t cell[CCHARW_MAX + 1] = {0};
	int width, count = 0;

	if (row < 0 || row >= LINES || column < 0 || column >= COLS)
		return;
	do
		cell[count] = mt_text_cell(s->utf8, code[count] ? code[count] : ' ', &width);
	while (code[count] && ++count < CCHARW_MAX - 1 && code[count]);
	mt_screen_put(row, column, mt_screen_attributes(style->attributes),
		cell_pair(s, mt_theme_nearest(style->foreground, COLORS),
			mt_theme_nearest(style->background, COLORS)),
		cell);
	mt_blanks_note(&s->blanks, row, column, 1,
		&(struct mt_blanks_cell){.ground = GROUND_UNKNOWN});
}
