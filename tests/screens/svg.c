#include "svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_WIDTH 8.4 /* of a monospace font of 14 pixels */
#define CELL_HEIGHT 18
#define BASELINE 14
#define MARGIN 8
#define STYLES_MAX 128

struct style {
	unsigned foreground;
	bool bold, italic, underline;
};

struct picture {
	struct terminal *t;
	FILE *out;
	unsigned foreground, background;
	struct style styles[STYLES_MAX];
	int style_count;
};

/* xterm's 256 colours; libvterm's are others. */
static unsigned palette(unsigned index)
{
	static const unsigned basic[] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
		0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff,
		0x00ffff, 0xffffff};
	static const unsigned cube[] = {0, 95, 135, 175, 215, 255};

	if (index < 16)
		return basic[index];
	if (index >= 232)
		return (8 + (index - 232) * 10) * 0x10101;
	index -= 16;
	return cube[index / 36] << 16 | cube[index / 6 % 6] << 8 | cube[index % 6];
}

static unsigned rgb(struct picture *p, VTermColor colour, bool ground)
{
	if (ground ? VTERM_COLOR_IS_DEFAULT_BG(&colour) : VTERM_COLOR_IS_DEFAULT_FG(&colour))
		return ground ? p->background : p->foreground;
	if (VTERM_COLOR_IS_INDEXED(&colour))
		return palette(colour.indexed.idx);
	vterm_screen_convert_color_to_rgb(vterm_obtain_screen(p->t->vterm), &colour);
	return (unsigned)colour.rgb.red << 16 | (unsigned)colour.rgb.green << 8 | colour.rgb.blue;
}

static void cell_at(struct picture *p, int row, int column, VTermScreenCell *cell,
	struct style *style, unsigned *ground)
{
	vterm_screen_get_cell(vterm_obtain_screen(p->t->vterm), (VTermPos){row, column}, cell);
	unsigned text = rgb(p, cell->fg, false), behind = rgb(p, cell->bg, true);

	*ground = cell->attrs.reverse ? text : behind;
	*style = (struct style){cell->attrs.reverse ? behind : text, cell->attrs.bold,
		cell->attrs.italic, cell->attrs.underline != 0};
}

static bool same(const struct style *a, const struct style *b)
{
	return a->foreground == b->foreground && a->bold == b->bold && a->italic == b->italic
		&& a->underline == b->underline;
}

static int find_style(struct picture *p, const struct style *style)
{
	int i = 0;

	while (i < p->style_count && !same(&p->styles[i], style))
		i++;
	if (i == p->style_count && i < STYLES_MAX)
		p->styles[p->style_count++] = *style;
	return i;
}

static void draw_ground(struct picture *p, int row)
{
	VTermScreenCell cell;
	struct style style;
	unsigned ground, next = 0;

	for (int column = 0, end; column < p->t->columns; column = end) {
		cell_at(p, row, column, &cell, &style, &ground);
		for (end = column + 1; end < p->t->columns; end++) {
			VTermScreenCell other;

			cell_at(p, row, end, &other, &style, &next);
			/* -1: the right half of a wide character */
			if (next != ground && other.chars[0] != (uint32_t)-1)
				break;
		}
		if (ground != p->background)
			fprintf(p->out,
				"<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
				"height=\"%d\" fill=\"#%06x\"/>\n",
				MARGIN + column * CELL_WIDTH, MARGIN + row * CELL_HEIGHT,
				(end - column) * CELL_WIDTH, CELL_HEIGHT, ground);
	}
}

static void put_character(FILE *out, uint32_t c)
{
	if (c == '<' || c == '>' || c == '&')
		fputs(c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;", out);
	else if (c < 0x80)
		fputc((int)c, out);
	else if (c < 0x800)
		fprintf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
	else if (c < 0x10000)
		fprintf(out, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 63)),
			(int)(0x80 | (c & 63)));
	else
		fprintf(out, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 63)),
			(int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
}

static bool blank(const VTermScreenCell *cell)
{
	return !cell->chars[0] || cell->chars[0] == ' ';
}

/* Text of one style without two blanks in a row; how wide it is drawn is said, whatever font there
 * is. */
static int draw_run(struct picture *p, int row, int column)
{
	VTermScreenCell cell, next;
	struct style style, other;
	unsigned ground;
	int end = column, text_end = column;

	cell_at(p, row, column, &cell, &style, &ground);
	if (blank(&cell) && !style.underline)
		return column + 1;
	while (end < p->t->columns) {
		cell_at(p, row, end, &next, &other, &ground);
		if (!same(&style, &other) || (blank(&next) && !style.underline && end > text_end))
			break;
		end += next.width > 1 ? next.width : 1;
		if (!blank(&next) || style.underline)
			text_end = end;
	}
	fprintf(p->out, "<text class=\"%c%c\" x=\"%.1f\" y=\"%d\" textLength=\"%.1f\">",
		'a' + find_style(p, &style) % 26, 'a' + find_style(p, &style) / 26,
		MARGIN + column * CELL_WIDTH, MARGIN + row * CELL_HEIGHT + BASELINE,
		(text_end - column) * CELL_WIDTH);
	for (int at = column; at<text_end; at += next.width> 1 ? next.width : 1) {
		vterm_screen_get_cell(vterm_obtain_screen(p->t->vterm), (VTermPos){row, at}, &next);
		if (!next.chars[0])
			fputc(' ', p->out);
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && next.chars[i]; i++)
			put_character(p->out, next.chars[i]);
	}
	fputs("</text>\n", p->out);
	return end;
}

static void put_styles(struct picture *p, FILE *out)
{
	fputs("<style>text{font:14px Menlo,Consolas,\"DejaVu Sans Mono\","
	      "monospace;white-space:pre}\n",
		out);
	for (int i = 0; i < p->style_count; i++) {
		const struct style *s = &p->styles[i];

		fprintf(out, ".%c%c{fill:#%06x%s%s%s}\n", 'a' + i % 26, 'a' + i / 26, s->foreground,
			s->bold ? ";font-weight:bold" : "", s->italic ? ";font-style:italic" : "",
			s->underline ? ";text-decoration:underline" : "");
	}
	fputs("</style>\n", out);
}

char *terminal_svg(struct terminal *t, unsigned foreground, unsigned background)
{
	struct picture p = {.t = t, .foreground = foreground, .background = background};
	int width = 2 * MARGIN + (int)(t->columns * CELL_WIDTH + 0.5);
	int height = 2 * MARGIN + t->rows * CELL_HEIGHT;
	VTermScreenCell corner;
	char *body, *all;
	size_t size;

	vterm_screen_get_cell(vterm_obtain_screen(t->vterm),
		(VTermPos){t->rows - 1, t->columns - 1}, &corner);
	p.background = rgb(&p, corner.bg, true); /* a theme's own goes on to the edge */

	p.out = open_memstream(&body, &size);
	for (int row = 0; row < t->rows; row++)
		draw_ground(&p, row);
	for (int row = 0; row < t->rows; row++)
		for (int column = 0; column < t->columns;)
			column = draw_run(&p, row, column);
	fclose(p.out);
	FILE *out = open_memstream(&all, &size);

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 "
		"0 %d %d\" xml:space=\"preserve\">\n",
		width, height, width, height);
	put_styles(&p, out);
	fprintf(out, "<rect width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#%06x\"/>\n%s</svg>\n",
		width, height, p.background, body);
	fclose(out);
	free(body);
	return all;
}
