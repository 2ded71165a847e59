/* Lines of the program's terminal: those that have scrolled out are kept, the oldest go first. */
#include "tui/view/program.h"

#ifdef HAVE_LIBVTERM
#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>

static int colour_of(const VTermColor *colour, bool background)
{
	if (background ? VTERM_COLOR_IS_DEFAULT_BG(colour) : VTERM_COLOR_IS_DEFAULT_FG(colour))
		return MT_COLOUR_DEFAULT;
	if (VTERM_COLOR_IS_INDEXED(colour))
		return MT_COLOUR_INDEX | colour->indexed.idx;
	return colour->rgb.red << 16 | colour->rgb.green << 8 | colour->rgb.blue;
}

static struct mt_program_cell take_cell(const VTermScreenCell *from)
{
	bool half = from->chars[0] == UINT32_MAX; /* of a wide character that is not there */

	return (struct mt_program_cell){
		.code = half ? 0 : from->chars[0],
		.mark = half || !from->chars[0] ? 0 : from->chars[1],
		.foreground = colour_of(&from->fg, false),
		.background = colour_of(&from->bg, true),
		.attributes = (uint8_t)((from->attrs.bold ? MT_STYLE_BOLD : 0)
			| (from->attrs.underline ? MT_STYLE_UNDERLINE : 0)
			| (from->attrs.reverse ? MT_STYLE_REVERSE : 0)
			| (from->attrs.italic ? MT_STYLE_ITALIC : 0)),
		.width = from->width > 1 ? 2 : 1,
	};
}

static bool is_blank(const struct mt_program_cell *c)
{
	return (!c->code || c->code == ' ') && c->background == MT_COLOUR_DEFAULT
		&& !(c->attributes & (MT_STYLE_REVERSE | MT_STYLE_UNDERLINE));
}

static uint32_t without_blanks(const struct mt_program_cell *cells, uint32_t count)
{
	while (count && is_blank(&cells[count - 1]))
		count--;
	return count;
}

static struct mt_program_line *line_at(struct mt_program_state *p, uint32_t index)
{
	return &p->lines[(p->first + index) % MT_PROGRAM_LINES];
}

static void drop(struct mt_program_state *p, uint32_t index)
{
	struct mt_program_line *line = line_at(p, index);

	p->bytes -= line->count * sizeof *line->cells;
	free(line->cells);
	*line = (struct mt_program_line){0};
	p->count--;
}

static void drop_oldest(struct mt_program_state *p)
{
	drop(p, 0);
	p->first = (p->first + 1) % MT_PROGRAM_LINES;
	/* Who looks at lines keeps them, as long as they are there. */
	p->list.top -= p->list.top > 0;
	p->list.selected -= p->list.selected > 0;
}

void mt_program_push(struct mt_program_state *p, int columns, const VTermScreenCell *cells)
{
	struct mt_program_cell *taken = mt_alloc((size_t)(columns + 1) * sizeof *taken);
	uint32_t count = 0;

	if (!p->lines)
		p->lines = mt_alloc(MT_PROGRAM_LINES * sizeof *p->lines);
	for (int i = 0; i < columns; i += taken[count++].width)
		taken[count] = take_cell(&cells[i]);
	count = without_blanks(taken, count);
	if (p->count == MT_PROGRAM_LINES)
		drop_oldest(p);
	*line_at(p, p->count++) =
		(struct mt_program_line){mt_resize(taken, (count + 1) * sizeof *taken), count};
	p->bytes += count * sizeof *taken;
	while (p->bytes > MT_PROGRAM_BYTES)
		drop_oldest(p);
}

static VTermColor colour_back(int colour, bool background)
{
	VTermColor c;

	if (colour >= 0 && colour & MT_COLOUR_INDEX)
		vterm_color_indexed(&c, (uint8_t)colour);
	else
		vterm_color_rgb(&c, (uint8_t)(colour >> 16), (uint8_t)(colour >> 8),
			(uint8_t)colour);
	if (colour == MT_COLOUR_DEFAULT)
		c.type |= background ? VTERM_COLOR_DEFAULT_BG : VTERM_COLOR_DEFAULT_FG;
	return c;
}

bool mt_program_pop(struct mt_program_state *p, int columns, VTermScreenCell *cells)
{
	static const struct mt_program_cell blank = {
		.foreground = MT_COLOUR_DEFAULT,
		.background = MT_COLOUR_DEFAULT,
		.width = 1,
	};

	if (!p->count)
		return false;
	struct mt_program_line *line = line_at(p, p->count - 1);
	uint32_t at = 0;

	memset(cells, 0, (size_t)columns * sizeof *cells);
	for (int i = 0; i < columns; at++) {
		const struct mt_program_cell *from = at < line->count ? &line->cells[at] : &blank;
		VTermScreenCell *to = &cells[i];

		if (from->width > columns - i) /* half of it would stand beyond the edge */
			from = &blank;
		to->chars[0] = from->code;
		to->chars[1] = from->mark;
		to->width = (char)from->width;
		to->fg = colour_back(from->foreground, false);
		to->bg = colour_back(from->background, true);
		to->attrs.bold = (from->attributes & MT_STYLE_BOLD) != 0;
		to->attrs.underline = (from->attributes & MT_STYLE_UNDERLINE) != 0;
		to->attrs.reverse = (from->attributes & MT_STYLE_REVERSE) != 0;
		to->attrs.italic = (from->attributes & MT_STYLE_ITALIC) != 0;
		i += from->width;
	}
	drop(p, p->count - 1);
	return true;
}

void mt_program_clear(struct mt_program_state *p)
{
	while (p->count)
		drop(p, p->count - 1);
	free(p->lines);
	p->lines = NULL;
	p->first = 0;
}

static uint32_t screen_row(struct mt_program_state *p, int row)
{
	uint32_t count = 0;

	p->row = mt_resize(p->row, (size_t)(p->columns + 1) * sizeof *p->row);
	for (int column = 0; column < p->columns; column += p->row[count++].width) {
		VTermScreenCell cell = {.width = 1};

		vterm_screen_get_cell(p->screen, (VTermPos){row, column}, &cell);
		p->row[count] = take_cell(&cell);
	}
	return without_blanks(p->row, count);
}

uint32_t mt_program_rows(const struct mt_program_state *p)
{
	struct mt_program_state *q = (struct mt_program_state *)p; /* its row is a cache */
	int rows = p->rows;

	while (rows > 0 && !screen_row(q, rows - 1))
		rows--;
	return (uint32_t)rows;
}

uint32_t mt_program_cells(struct mt_program_state *p, uint32_t line,
	const struct mt_program_cell **cells)
{
	if (line < p->count) {
		*cells = line_at(p, line)->cells;
		return line_at(p, line)->count;
	}
	if (line - p->count >= (uint32_t)p->rows)
		return 0;
	uint32_t count = screen_row(p, (int)(line - p->count));

	*cells = p->row;
	return count;
}

static size_t put_utf8(char *out, uint32_t code)
{
	if (code < 0x80)
		return out[0] = (char)code, 1;
	if (code < 0x800)
		return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
	if (code < 0x10000)
		return out[0] = (char)(0xe0 | code >> 12), out[1] = (char)(0x80 | (code >> 6 & 63)),
		       out[2] = (char)(0x80 | (code & 63)), 3;
	return out[0] = (char)(0xf0 | (code >> 18 & 7)), out[1] = (char)(0x80 | (code >> 12 & 63)),
	       out[2] = (char)(0x80 | (code >> 6 & 63)), out[3] = (char)(0x80 | (code & 63)), 4;
}

void mt_program_text(struct mt_program_state *p, uint32_t line, char *out, size_t len)
{
	const struct mt_program_cell *cells = NULL;
	uint32_t count = mt_program_cells(p, line, &cells);
	size_t at = 0;

	for (uint32_t i = 0; i < count && at + 9 < len; i++) {
		at += put_utf8(out + at, cells[i].code ? cells[i].code : ' ');
		if (cells[i].mark)
			at += put_utf8(out + at, cells[i].mark);
	}
	out[at] = '\0';
}
#endif
