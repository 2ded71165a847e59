#include "tui/view/sparkline.h"
#include "core/export/number.h"

static uint64_t largest(const uint64_t *values, uint32_t count)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < count; i++)
		if (values[i] > max)
			max = values[i];
	return max;
}

/* value as steps of a scale, rounded; above 0 it is at least one step */
static int steps(uint64_t value, uint64_t max, int scale)
{
	int n = max ? (int)((double)value * scale / (double)max + 0.5) : 0;

	return n > scale ? scale : n == 0 && value ? 1 : n;
}

void mt_sparkline_draw(struct mt_screen *s, int row, int column, int width, enum mt_role role,
	const uint64_t *values, uint32_t count, uint64_t max)
{
	if (!max)
		max = largest(values, count);
	for (int i = 0; i < width && (uint32_t)i < count; i++)
		mt_draw(s, row, column + i, 1, role,
			mt_glyph_level(mt_screen_graphs(s) != MT_GRAPHS_ASCII,
				steps(values[i], max, 8)));
}

#define TREND_MOST 64
#define TREND_LEAST 512 /* a change that is a smaller part than this of the value is none */

void mt_sparkline_trend(struct mt_screen *s, int row, int column, int width, enum mt_role role,
	const uint64_t *values, uint32_t count, uint64_t max)
{
	uint64_t low = UINT64_MAX, high = largest(values, count), above[TREND_MOST];

	for (uint32_t i = 0; i < count; i++)
		low = values[i] < low ? values[i] : low;
	if (!count || count > TREND_MOST || low < high - high / 4 || high - low < high / TREND_LEAST
		|| high == low) {
		mt_sparkline_draw(s, row, column, width, role, values, count, max);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		above[i] = values[i] - low + (high - low) / 8 + 1;
	mt_sparkline_draw(s, row, column, width, role, above, count, 0);
}

static int within(int level, int below)
{
	return level <= below ? 0 : level - below > 4 ? 4 : level - below;
}

/* The line at value i, as steps: from what it was before, so that jumps are seen. */
static void line_at(const struct mt_sparkline_graph *g, uint32_t i, int scale, int *top,
	int *bottom)
{
	int here = steps(g->line[i], g->max, scale);
	int before = i ? steps(g->line[i - 1], g->max, scale) : here;

	*top = here >= before ? here : before - 1;
	*bottom = (here <= before ? here : before + 1) - 1;
}

/* One value a column, the larger of its two, in eighths of a cell. */
static void draw_blocks(struct mt_screen *s, struct mt_rect r, const struct mt_sparkline_graph *g)
{
	for (uint32_t x = 0; x < (uint32_t)r.columns && g->first + x * 2 < g->count; x++) {
		uint32_t at = g->first + 2 * x, next = at + 1 < g->count ? at + 1 : at;
		int fill = steps(g->values[at] > g->values[next] ? g->values[at] : g->values[next],
			g->max, 8 * r.rows);
		int line = g->line
			? steps(g->line[at] > g->line[next] ? g->line[at] : g->line[next], g->max,
				8 * r.rows)
			: 0;

		for (int y = 0; y < r.rows; y++) {
			int below = 8 * (r.rows - 1 - y);
			int level = fill - below < 0 ? 0 : fill - below > 8 ? 8 : fill - below;

			if (level)
				mt_draw(s, r.row + y, r.column + (int)x, 1, g->role,
					mt_glyph_level(true, level));
			else if (line > below && line <= below + 8)
				mt_draw(s, r.row + y, r.column + (int)x, 1, g->line_role,
					mt_glyph(true, MT_GLYPH_RULE));
		}
	}
}

void mt_sparkline_lined(struct mt_screen *s, struct mt_rect r, const struct mt_sparkline_graph *g)
{
	if (mt_screen_graphs(s) == MT_GRAPHS_BLOCK) {
		draw_blocks(s, r, g);
		return;
	}
	for (uint32_t x = 0; x < (uint32_t)r.columns && g->first + x * 2 < g->count; x++) {
		int fill[2] = {0}, top[2] = {0}, bottom[2] = {0};

		for (uint32_t i = 0; i < 2 && g->first + 2 * x + i < g->count; i++) {
			fill[i] = steps(g->values[g->first + 2 * x + i], g->max, 4 * r.rows);
			if (g->line)
				line_at(g, g->first + 2 * x + i, 4 * r.rows, &top[i], &bottom[i]);
		}
		for (int y = 0; y < r.rows; y++) {
			int below = 4 * (r.rows - 1 - y);
			const int filled[2] = {within(fill[0], below), within(fill[1], below)};
			const int tops[2] = {within(top[0], below), within(top[1], below)};
			const int bottoms[2] = {within(bottom[0], below), within(bottom[1], below)};
			char cell[4];

			mt_glyph_lined(mt_screen_graphs(s) == MT_GRAPHS_BRAILLE, filled, tops,
				bottoms, cell);
			if (cell[0] != ' ')
				mt_draw(s, r.row + y, r.column + (int)x, 1,
					filled[0] || filled[1] ? g->role : g->line_role, cell);
		}
	}
}

void mt_sparkline_area(struct mt_screen *s, struct mt_rect r, enum mt_role role,
	const uint64_t *values, uint32_t count, uint64_t max)
{
	mt_sparkline_lined(s, r,
		&(struct mt_sparkline_graph){
			.role = role,
			.line_role = role,
			.values = values,
			.count = count,
			.max = max ? max : largest(values, count),
		});
}

/* ---- layers ---- */

#define EIGHTHS 8

static enum mt_role role_of(const struct mt_sparkline_layers *g, uint32_t layer)
{
	return layer + 1 == g->layers ? MT_ROLE_OTHER : (enum mt_role)(MT_ROLE_GROUP_1 + layer);
}

/* Which layer each eighth of a cell belongs to, from below; g->layers: none. */
static void layers_in(const struct mt_sparkline_layers *g, uint32_t column, int below, int scale,
	uint32_t out[EIGHTHS])
{
	const uint64_t *tops = &g->tops[(size_t)column * g->layers];

	for (int i = 0; i < EIGHTHS; i++) {
		out[i] = 0;
		while (out[i] < g->layers && steps(tops[out[i]], g->max, scale) <= below + i)
			out[i]++;
	}
}

/* A cell has two colours: of several layers the lowest and the highest, each with what is nearest
 * to it. */
static void draw_layered_cell(struct mt_screen *s, int row, int column,
	const struct mt_sparkline_layers *g, const uint32_t eighths[EIGHTHS])
{
	uint32_t low = eighths[0], high = eighths[EIGHTHS - 1];
	int level = 0, between = 0;

	if (low == g->layers)
		return;
	for (int i = 0; i < EIGHTHS; i++) {
		level += eighths[i] == low;
		between += eighths[i] != low && eighths[i] != high;
	}
	mt_draw_layers(s, row, column, low == high ? EIGHTHS : level + between / 2, role_of(g, low),
		high == g->layers ? MT_ROLE_TEXT : role_of(g, high));
}

/* The layer that has most of the cell, as its digit; 0 stands for all others. */
static void draw_layer_digit(struct mt_screen *s, int row, int column,
	const struct mt_sparkline_layers *g, const uint32_t eighths[EIGHTHS])
{
	uint32_t best = g->layers, most = 0;
	char digit[2] = "";

	for (int i = 0; i < EIGHTHS; i++) {
		uint32_t count = 0;

		for (int k = 0; k < EIGHTHS; k++)
			count += eighths[k] == eighths[i];
		if (eighths[i] < g->layers && count > most) {
			most = count;
			best = eighths[i];
		}
	}
	if (best == g->layers)
		return;
	digit[0] = (char)(best + 1 == g->layers ? '0' : '1' + (int)best);
	mt_draw(s, row, column, 1, MT_ROLE_GRAPH, digit);
}

void mt_sparkline_layers(struct mt_screen *s, struct mt_rect r, const struct mt_sparkline_layers *g)
{
	bool coloured = mt_draw_shows_layers(s);

	for (uint32_t x = 0; x < g->columns && x < (uint32_t)r.columns; x++)
		for (int y = 0; y < r.rows; y++) {
			uint32_t eighths[EIGHTHS];

			layers_in(g, x, EIGHTHS * (r.rows - 1 - y), EIGHTHS * r.rows, eighths);
			(coloured ? draw_layered_cell : draw_layer_digit)(s, r.row + y,
				r.column + (int)x, g, eighths);
		}
}

static void label(char out[16], uint64_t value, bool bytes)
{
	if (bytes)
		mt_number_size(out, value);
	else
		mt_number_count(out, value);
}

struct mt_rect mt_sparkline_scale(struct mt_screen *s, struct mt_rect r, uint64_t max, bool bytes)
{
	char text[16];
	const char *bar = mt_glyph(mt_screen_utf8(s), MT_GLYPH_BAR);

	for (int y = 0; y < r.rows; y++) {
		if (y == 0)
			label(text, max, bytes);
		else if (y == r.rows - 1)
			label(text, 0, bytes);
		else if (r.rows >= 5 && y == r.rows / 2)
			label(text, max / 2, bytes);
		else
			text[0] = '\0';
		mt_draw_right(s, r.row + y, r.column, 7, MT_ROLE_AXIS, text);
		mt_draw(s, r.row + y, r.column + 7, 1, MT_ROLE_AXIS, bar);
	}
	return (struct mt_rect){r.row, r.column + 8, r.rows, r.columns - 8};
}
