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

/* ---- a film: a row that stays the same from screen to screen is drawn once ---- */

#define SCENES_MAX 12
#define ROWS_MAX 64

struct strip { /* a row, and the scenes that show it */
	char *text;
	unsigned scenes;
};

struct film {
	struct picture picture;
	int columns, rows, count;
	unsigned seconds[SCENES_MAX];
	char *captions[SCENES_MAX];
	struct strip strips[ROWS_MAX][SCENES_MAX];
};

struct film *film_new(unsigned foreground, unsigned background)
{
	struct film *f = calloc(1, sizeof *f);

	f->picture.foreground = foreground;
	f->picture.background = background;
	return f;
}

static void add_row(struct film *f, int row)
{
	struct strip *strip = f->strips[row];
	char *text;
	size_t size;

	f->picture.out = open_memstream(&text, &size);
	draw_ground(&f->picture, row);
	for (int column = 0; column < f->columns;)
		column = draw_run(&f->picture, row, column);
	fclose(f->picture.out);
	while (strip->text && strcmp(strip->text, text))
		strip++;
	if (strip->text)
		free(text);
	else
		strip->text = text;
	strip->scenes |= 1u << f->count;
}

void film_add(struct film *f, struct terminal *t, unsigned seconds, const char *key,
	const char *caption)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	f->picture.t = t;
	f->columns = t->columns;
	f->rows = t->rows < ROWS_MAX ? t->rows : ROWS_MAX;
	for (int row = 0; row < f->rows; row++)
		add_row(f, row);
	fprintf(out, "<tspan class=\"key\">%s</tspan> %s", key, caption);
	fclose(out);
	f->captions[f->count] = text;
	f->seconds[f->count++] = seconds;
}

static void put_keyframes(const struct film *f, FILE *out, unsigned scenes)
{
	unsigned all = 0, at = 0;

	for (int i = 0; i < f->count; i++)
		all += f->seconds[i];
	fprintf(out, "@keyframes s%x{", scenes);
	for (int i = 0; i < f->count; at += f->seconds[i++])
		fprintf(out, "%.2f%%{visibility:%s}", 100.0 * at / all,
			scenes & 1u << i ? "visible" : "hidden");
	fprintf(out, "to{visibility:%s}}\n", scenes & 1 ? "visible" : "hidden");
	fprintf(out, ".s%x{visibility:%s;animation:s%x %us step-end infinite}\n", scenes,
		scenes & 1 ? "visible" : "hidden", scenes, all);
}

/* Each set of scenes that some row is shown in. */
static void put_scenes(const struct film *f, FILE *out)
{
	unsigned all = (1u << f->count) - 1;

	for (unsigned scenes = 1; scenes < all; scenes++) {
		bool used = (scenes & (scenes - 1)) == 0; /* a caption's */

		for (int row = 0; row < f->rows && !used; row++)
			for (int i = 0; i < f->count && !used; i++)
				used = f->strips[row][i].scenes == scenes;
		if (used)
			put_keyframes(f, out, scenes);
	}
	fputs("@media(prefers-reduced-motion:reduce){g{animation:none!important}}\n", out);
}

static void put_strip(struct film *f, FILE *out, unsigned scenes, const char *text)
{
	if (scenes == (1u << f->count) - 1)
		fputs(text, out);
	else if (*text)
		fprintf(out, "<g class=\"s%x\">\n%s</g>\n", scenes, text);
}

char *film_svg(struct film *f)
{
	int width = 2 * MARGIN + (int)(f->columns * CELL_WIDTH + 0.5);
	int foot = 2 * MARGIN + f->rows * CELL_HEIGHT, height = foot + CELL_HEIGHT + 2 * MARGIN;
	char *all;
	size_t size;
	FILE *out = open_memstream(&all, &size);

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 "
		"0 %d %d\" xml:space=\"preserve\">\n",
		width, height, width, height);
	put_styles(&f->picture, out);
	fputs("<style>.caption{fill:#fff;font-size:16px}.key{fill:#ffd75f;font-weight:bold}\n",
		out);
	put_scenes(f, out);
	fprintf(out,
		"</style>\n<rect width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#3a3a4a\"/>\n"
		"<rect width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#%06x\"/>\n",
		width, height, width, foot, f->picture.background);
	for (int row = 0; row < f->rows; row++)
		for (int i = 0; i < f->count && f->strips[row][i].text; i++) {
			put_strip(f, out, f->strips[row][i].scenes, f->strips[row][i].text);
			free(f->strips[row][i].text);
		}
	for (int i = 0; i < f->count; i++) {
		fprintf(out,
			"<g class=\"s%x\"><text class=\"caption\" x=\"%d\" "
			"y=\"%d\">%s</text></g>\n",
			1u << i, 2 * MARGIN, foot + MARGIN + BASELINE, f->captions[i]);
		free(f->captions[i]);
	}
	fputs("</svg>\n", out);
	fclose(out);
	free(f);
	return all;
}
