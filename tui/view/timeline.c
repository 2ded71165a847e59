/* The heap over time: live bytes, rates of allocations and frees, and the numbers at a cursor. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/difference.h"
#include "tui/view/sparkline.h"
#include "tui/view/timeline_marks.h"
#include "tui/view/timeline_measure.h"
#include "tui/view/timeline_range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS 8
#define PIN_ROWS 3    /* of the cursor above the graph: each costs bytes when it moves */
#define RULE_WORDS 19 /* where those of the rule have ended */

/* Of the graph. */
static uint32_t columns(int width)
{
	return width > LABELS ? (uint32_t)(width - LABELS) : 1;
}

/* '~' before an estimate; a beginning is none. */
static void say_time(const struct mt_app *app, char out[MT_NUMBER_LEN + 1], uint64_t ns)
{
	bool about = ns && mt_info_estimates_times(&app->data.whole->info);

	strcpy(out, "~");
	if (ns)
		mt_number_time(out + about, ns);
	else
		strcpy(out, "0s");
}

static void draw_times(struct mt_app *app, struct mt_rect r, uint64_t from, uint64_t to)
{
	int marks = r.columns >= 60 ? 5 : 3, cursor = (int)app->timeline.cursor;
	const char *utf8_rule = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_RULE);
	const char *shade = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_SHADE);
	uint32_t first = 0, behind = 0;
	char text[MT_NUMBER_LEN + 1];

	mt_timeline_columns(app, &first, &behind);
	for (int x = 0; x < r.columns; x++) {
		bool shaded = (uint32_t)x >= first && (uint32_t)x < behind;

		mt_draw(app->screen, r.row, r.column + x, 1,
			x == cursor      ? MT_ROLE_PROMPT
				: shaded ? MT_ROLE_RANGE
					 : MT_ROLE_AXIS,
			x == cursor      ? mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_ASCENDING)
				: shaded ? shade
					 : utf8_rule);
	}
	for (int i = 0; i < marks; i++) {
		int x = i * (r.columns - 1) / (marks - 1);

		uint64_t at = from + (to - from) * (uint64_t)i / (uint64_t)(marks - 1);

		say_time(app, text, at);
		int width = mt_text_width(text);

		x = i == 0 ? 0 : i == marks - 1 ? r.columns - width : x - width / 2;
		mt_draw(app->screen, r.row + 1, r.column + x, width, MT_ROLE_AXIS, text);
	}
}

/* Of which time single events are gone: a dotted rule. What it means stands at the cursor. */
static void draw_gone(struct mt_app *app, struct mt_rect r, uint64_t from, uint64_t to)
{
	uint64_t history = app->data.profile.info.history_from_ns;
	int gone = history > from ? (int)((double)((history < to ? history : to) - from)
			   / (double)(to - from) * r.columns)
				  : 0;
	const char *dot = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_GONE);
	uint32_t first = 0, behind = 0;

	mt_timeline_columns(app, &first, &behind);
	for (int x = 0; x < gone; x++)
		if (x != (int)app->timeline.cursor
			&& ((uint32_t)x < first || (uint32_t)x >= behind))
			mt_draw(app->screen, r.row, r.column + x, 1, MT_ROLE_PROMPT, dot);
}

static void draw_rate(struct mt_app *app, struct mt_rect r, const char *words,
	const struct mt_timeline *t, bool frees, enum mt_role role)
{
	uint32_t count = mt_timeline_seen(t, app->data.whole);
	uint64_t *values = mt_alloc((count + 1) * sizeof *values), max = 0;

	for (uint32_t i = 0; i < count; i++) {
		values[i] = frees ? t->columns[i].frees : t->columns[i].allocations;
		max = values[i] > max ? values[i] : max;
	}
	mt_draw(app->screen, r.row, r.column, LABELS - 1, MT_ROLE_AXIS, words);
	mt_sparkline_draw(app->screen, r.row, r.column + LABELS, r.columns - LABELS, role, values,
		count, app->data.live ? mt_timeline_round(max) : max);
	free(values);
}

/* Whether the steps are those of what matched; else unfiltered says why not, or is NULL. */
static bool is_filtered(struct mt_app *app, const char **unfiltered)
{
	mt_data_timeline(&app->data, unfiltered);
	return !*unfiltered && mt_filter_active(app->data.filter);
}

/* What the graph above shows, where it is not the heap and nothing else. */
static void draw_rule_words(struct mt_app *app, struct mt_rect r, const struct mt_timeline *whole)
{
	char marked[192];
	bool gone = app->data.profile.info.history_from_ns;
	const char *mark = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_GONE);
	const char *unfiltered;
	char words[128] = "";
	bool matched = is_filtered(app, &unfiltered);

	if (gone)
		snprintf(words, sizeof words, "%s %s dropped (--max-size) ", mark,
			matched ? "events are" : "events are");
	if (mt_timeline_marks_at(app, whole, app->timeline.cursor, marked, sizeof marked))
		mt_drawf(app->screen, r.row, r.column + RULE_WORDS, r.columns - RULE_WORDS,
			MT_ROLE_PROMPT, " %s ", marked);
	else if (gone || matched || unfiltered)
		mt_drawf(app->screen, r.row, r.column + RULE_WORDS, r.columns - RULE_WORDS,
			MT_ROLE_AXIS, " %s%s", words,
			matched              ? "area: filtered, line: all "
				: unfiltered ? unfiltered
					     : "");
}

/* The time of the steps that a column shows. */
static void when_it_is(const struct mt_app *app, const struct mt_timeline *t, uint32_t column,
	char from[MT_NUMBER_LEN + 1], char to[MT_NUMBER_LEN + 1])
{
	say_time(app, from, mt_timeline_begin(t, column));
	say_time(app, to, mt_timeline_end(t, column));
}

/* What happened at the cursor: of what matched, and of the whole heap. */
static void draw_cursor(struct mt_app *app, struct mt_rect r, const struct mt_timeline *t,
	const struct mt_timeline *whole)
{
	const char *unfiltered;
	bool matched = is_filtered(app, &unfiltered);
	const struct mt_sample *at;
	const struct mt_profile *p = app->data.whole;
	char when[MT_NUMBER_LEN + 1], until[MT_NUMBER_LEN + 1], live[17], most[17], blocks[17],
		allocations[17], frees[17];
	char rss[16], heap[32] = "", growth[17];

	if (!t->count || app->timeline.cursor >= t->count)
		return;
	at = &t->columns[app->timeline.cursor];
	when_it_is(app, t, app->timeline.cursor, when, until);
	mt_data_sum(live, p, at->live_bytes, MT_UNIT_BYTES);
	mt_data_sum(most, p, at->max_bytes, MT_UNIT_BYTES);
	mt_data_sum(blocks, p, at->live_count, MT_UNIT_COUNT);
	mt_data_sum(allocations, p, at->allocations, MT_UNIT_COUNT);
	mt_data_sum(frees, p, at->frees, MT_UNIT_COUNT);
	mt_number_size(rss, at->memory.rss_bytes);
	if (matched) {
		mt_data_sum(live, p, whole->columns[app->timeline.cursor].live_bytes,
			MT_UNIT_BYTES);
		snprintf(heap, sizeof heap, "   of %s in total", live);
		mt_data_sum(live, p, at->live_bytes, MT_UNIT_BYTES);
	}
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE, "at the cursor");
	draw_rule_words(app, r, whole);
	mt_drawf(app->screen, r.row + 1, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
		"%s %s %s   live %s in %s %s%s   peak %s", when,
		mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_DASH), until, live, blocks,
		MT_PLURAL(blocks, "block"), heap, most);
	if (r.rows < 3)
		return;
	int64_t grows = mt_measure_growth(t, mt_data_timeline(&app->data, &unfiltered),
		app->timeline.cursor);

	mt_data_sum(growth, p, (uint64_t)(grows < 0 ? -grows : grows), MT_UNIT_BYTES);
	mt_drawf(app->screen, r.row + 2, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
		"allocations %s   frees %s   %s %s/s%s%s", allocations, frees,
		grows < 0 ? "shrinks" : "grows", growth, at->memory.rss_bytes ? "   resident " : "",
		at->memory.rss_bytes ? rss : "");
}

/* Columns from first to behind. */
static void draw_part(struct mt_app *app, struct mt_rect r, struct mt_sparkline_graph g,
	uint32_t first, uint32_t behind)
{
	if (behind > g.count / 2)
		behind = g.count / 2;
	if (behind <= first)
		return;
	r.column += (int)first;
	r.columns = (int)(behind - first);
	g.first = 2 * first;
	g.count = 2 * behind;
	mt_sparkline_lined(app->screen, r, &g);
}

/* How many rows of the graph are empty above a column. */
static int rows_above(const struct mt_sparkline_graph *g, uint32_t column, int rows)
{
	uint64_t most = 0;

	for (uint32_t i = 2 * column; i < 2 * column + 2 && i < g->count; i++) {
		most = g->values[i] > most ? g->values[i] : most;
		most = g->line && g->line[i] > most ? g->line[i] : most;
	}
	return g->max ? rows - (int)((double)most * rows / (double)g->max) : rows;
}

static void draw_graph(struct mt_app *app, struct mt_rect r, const struct mt_timeline *t,
	const struct mt_timeline *whole)
{
	const char *unfiltered;
	bool matched = is_filtered(app, &unfiltered);
	enum mt_measure measure = (enum mt_measure)app->timeline.measure;
	uint64_t max = 0,
		 *values = mt_measure_values(measure, t, mt_data_timeline(&app->data, &unfiltered),
			 &max);
	uint64_t *line = matched ? mt_measure_values(measure, whole, app->data.whole, &max) : NULL;
	int cursor = (int)app->timeline.cursor;
	uint32_t first = 0, behind = 0;

	if (app->data.live)
		max = mt_timeline_round(max);
	struct mt_sparkline_graph g = {MT_ROLE_GRAPH, MT_ROLE_GRAPH_2, values, line,
		mt_timeline_seen(t, app->data.whole) * 2, 0, max};

	r = mt_sparkline_scale(app->screen, r, max, mt_measure_in_bytes(measure));
	int above = rows_above(&g, app->timeline.cursor, r.rows);

	mt_frame_hit(app, r, MT_HIT_TIME, MT_VIEW_TIMELINE, 0);
	mt_timeline_columns(app, &first, &behind);
	for (int y = 0; y < r.rows; y++)
		mt_draw_fill(app->screen, r.row + y, r.column + (int)first, (int)(behind - first),
			MT_ROLE_RANGE);
	for (int y = above - PIN_ROWS > 0 ? above - PIN_ROWS : 0; y < above && cursor < r.columns;
		y++)
		mt_draw(app->screen, r.row + y, r.column + cursor, 1, MT_ROLE_PROMPT,
			mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_MARKER));
	draw_part(app, r, g, 0, first);
	draw_part(app, r, g, behind, UINT32_MAX);
	g.role = g.line_role = MT_ROLE_RANGE;
	draw_part(app, r, g, first, behind);
	free(values);
	free(line);
}

/* The rows that each part gets: what matters most stays longest. */
struct parts {
	int heading, graph, rates, legend, cursor;
};
static struct parts divide(const struct mt_app *app, int rows)
{
	bool legend = mt_timeline_has_legend(app);
	struct parts p = {.rates = rows >= 7 ? 2 : 0, .cursor = rows >= 12 ? 3 : rows >= 8 ? 2 : 0};

	if (legend) {
		p.legend = rows >= 8 ? 2 : 1;
		p.cursor = rows >= 14 ? 3 : rows >= 12 ? 2 : 0;
		p.rates = rows >= 9 ? 2 : 0;
	}
	p.heading = rows >= 8;
	p.graph = rows - 2 - p.heading - p.rates - p.legend - p.cursor;
	return p;
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_timeline t = {0}, whole = {0};
	const char *unfiltered;
	struct parts p = divide(app, r.rows);
	uint64_t from, to;
	int row = r.row + p.heading;

	(void)focus;
	app->timeline.columns = columns(r.columns);
	mt_timeline_span(app, &from, &to);
	mt_timeline_get(&t, mt_data_timeline(&app->data, &unfiltered), from, to,
		app->timeline.columns);
	mt_timeline_get(&whole, app->data.whole, from, to, app->timeline.columns);
	uint32_t seen = mt_timeline_seen(&whole, app->data.whole);

	if (app->timeline.cursor >= seen)
		app->timeline.cursor = seen ? seen - 1 : 0;
	if (p.heading)
		mt_measure_draw(app, (struct mt_rect){r.row, r.column, 1, r.columns});
	draw_graph(app, (struct mt_rect){row, r.column, p.graph, r.columns}, &t, &whole);
	row += p.graph;
	draw_times(app, (struct mt_rect){row, r.column + LABELS, 2, r.columns - LABELS}, from, to);
	draw_gone(app, (struct mt_rect){row, r.column + LABELS, 1, r.columns - LABELS}, from, to);
	mt_timeline_draw_marks(app, (struct mt_rect){row, r.column + LABELS, 1, r.columns - LABELS},
		&whole);
	mt_difference_marks(app, (struct mt_rect){row, r.column + LABELS, 1, r.columns - LABELS},
		from, to);
	row += 2;
	if (p.rates) {
		draw_rate(app, (struct mt_rect){row++, r.column, 1, r.columns}, "allocs", &t, false,
			MT_ROLE_GRAPH);
		draw_rate(app, (struct mt_rect){row++, r.column, 1, r.columns}, "frees", &t, true,
			MT_ROLE_GRAPH_2);
	}
	if (p.legend)
		mt_timeline_legend(app, (struct mt_rect){row, r.column, p.legend, r.columns});
	row += p.legend;
	if (p.cursor)
		draw_cursor(app, (struct mt_rect){row, r.column, p.cursor, r.columns}, &t, &whole);
	mt_timeline_free(&t);
	mt_timeline_free(&whole);
}

static void zoom(struct mt_app *app, bool in)
{
	struct mt_timeline_state *t = &app->timeline;
	uint64_t from, to, all = app->data.whole->info.wall_ns, width, at;

	mt_timeline_span(app, &from, &to);
	at = from
		+ (uint64_t)((double)(to - from) * (t->cursor + 0.5)
			/ (t->columns ? t->columns : 1));
	width = in ? (to - from) / 2 : (to - from) * 2;
	if (width < 1000 || !t->columns)
		return;
	if (width >= all) {
		t->from_ns = t->to_ns = 0;
		from = 0;
		width = all;
	} else {
		from = at > width / 2 ? at - width / 2 : 0;
		from = from + width > all ? all - width : from;
		t->from_ns = from;
		t->to_ns = from + width;
	}
	t->cursor = (uint32_t)((double)(at - from) * t->columns / (double)(width ? width : 1));
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_timeline_state *t = &app->timeline;
	uint32_t cursor = t->cursor;

	t->columns = columns(mt_screen_columns(app->screen)); /* it may not have been drawn yet */
	if (mt_timeline_range_action(app, what))
		return true;
	switch (what) {
	case MT_ACTION_CURSOR_LEFT: t->cursor -= t->cursor > 0; break;
	case MT_ACTION_CURSOR_RIGHT: t->cursor += t->cursor + 1 < t->columns; break;
	case MT_ACTION_TOP: t->cursor = 0; break;
	case MT_ACTION_BOTTOM: t->cursor = t->columns ? t->columns - 1 : 0; break;
	case MT_ACTION_MEASURE:
		t->measure = (t->measure + 1) % MT_MEASURE_COUNT;
		mt_app_say(app, "showing %s", mt_measure_words((enum mt_measure)t->measure));
		break;
	case MT_ACTION_NEXT_MARK: mt_timeline_next_mark(app, 1); break;
	case MT_ACTION_PREVIOUS_MARK: mt_timeline_next_mark(app, -1); break;
	case MT_ACTION_ZOOM_IN: zoom(app, true); break;
	case MT_ACTION_ZOOM_OUT: zoom(app, false); break;
	case MT_ACTION_ZOOM_FIT: t->from_ns = t->to_ns = 0; break;
	default: return false;
	}
	if (t->cursor != cursor)
		mt_timeline_moved(app);
	return true;
}

const struct mt_view mt_view_timeline = {
	.name = "Time",
	.scopes = 1u << MT_SCOPE_TIMELINE,
	.draw = draw,
	.action = action,
};
