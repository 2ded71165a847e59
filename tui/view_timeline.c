/* The heap over time: live bytes, rates of allocations and frees, and the numbers at a cursor. */
#include "tui/app.h"
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/sparkline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS 8
#define RULE_WORDS 19 /* where those of the rule have ended */

static void span(const struct mt_app *app, uint64_t *from, uint64_t *to)
{
	const struct mt_timeline_state *t = &app->timeline;

	*from = t->to_ns > t->from_ns ? t->from_ns : 0;
	*to = t->to_ns > t->from_ns ? t->to_ns : app->data.profile.info.wall_ns;
	if (*to <= *from)
		*to = *from + 1;
}

static void draw_times(struct mt_app *app, struct mt_rect r, uint64_t from, uint64_t to)
{
	int marks = r.columns >= 60 ? 5 : 3, cursor = (int)app->timeline.cursor;
	const char *utf8_rule = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_RULE);
	char text[16];

	for (int x = 0; x < r.columns; x++)
		mt_draw(app->screen, r.row, r.column + x, 1, x == cursor ? MT_ROLE_PROMPT : MT_ROLE_AXIS, x == cursor ?
			mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_ASCENDING) : utf8_rule);
	for (int i = 0; i < marks; i++) {
		int x = i * (r.columns - 1) / (marks - 1);

		uint64_t at = from + (to - from) * (uint64_t)i / (uint64_t)(marks - 1);

		if (at)
			mt_number_time(text, at);
		else
			strcpy(text, "0s");
		int width = mt_text_width(text);

		x = i == 0 ? 0 : i == marks - 1 ? r.columns - width : x - width / 2;
		mt_draw(app->screen, r.row + 1, r.column + x, width, MT_ROLE_AXIS, text);
	}
}

/* Of which time single events are gone: a dotted rule. What it means stands at the cursor. */
static void draw_gone(struct mt_app *app, struct mt_rect r, uint64_t from, uint64_t to)
{
	uint64_t history = app->data.profile.info.history_from_ns;
	int gone = history > from ? (int)((double)((history < to ? history : to) - from) / (double)(to - from) * r.columns) : 0;
	const char *dot = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_GONE);

	for (int x = 0; x < gone; x++)
		if (x != (int)app->timeline.cursor)
			mt_draw(app->screen, r.row, r.column + x, 1, MT_ROLE_PROMPT, dot);
}

static void draw_rate(struct mt_app *app, struct mt_rect r, const char *words, const struct mt_timeline *t,
	bool frees, enum mt_role role)
{
	uint64_t *values = mt_alloc((t->count + 1) * sizeof *values);

	for (uint32_t i = 0; i < t->count; i++)
		values[i] = frees ? t->columns[i].frees : t->columns[i].allocations;
	mt_draw(app->screen, r.row, r.column, LABELS - 1, MT_ROLE_AXIS, words);
	mt_sparkline_draw(app->screen, r.row, r.column + LABELS, r.columns - LABELS, role, values, t->count, 0);
	free(values);
}

static void draw_cursor(struct mt_app *app, struct mt_rect r, const struct mt_timeline *t)
{
	const struct mt_sample *at;
	uint64_t step = (t->to_ns - t->from_ns) / (t->count ? t->count : 1);
	char when[16], live[16], most[16], blocks[16], allocations[16], frees[16], rss[16];

	if (!t->count || app->timeline.cursor >= t->count)
		return;
	at = &t->columns[app->timeline.cursor];
	mt_number_time(when, t->from_ns + step * app->timeline.cursor);
	mt_number_size(live, at->live_bytes);
	mt_number_size(most, at->max_bytes);
	mt_number_count(blocks, at->live_count);
	mt_number_count(allocations, at->allocations);
	mt_number_count(frees, at->frees);
	mt_number_size(rss, at->memory.rss_bytes);
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE, "at the cursor");
	if (app->data.profile.info.history_from_ns)
		mt_drawf(app->screen, r.row, r.column + RULE_WORDS, r.columns - RULE_WORDS, MT_ROLE_AXIS, " %s single events are "
			"gone (--max-size) ", mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_GONE));
	mt_drawf(app->screen, r.row + 1, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
		"%s   live %s in %s blocks   most %s", when, live, blocks, most);
	if (r.rows < 3)
		return;
	mt_drawf(app->screen, r.row + 2, r.column + 1, r.columns - 1, MT_ROLE_TEXT, "allocations %s   frees %s%s%s",
		allocations, frees, at->memory.rss_bytes ? "   resident " : "", at->memory.rss_bytes ? rss : "");
}

static void draw_graph(struct mt_app *app, struct mt_rect r, const struct mt_timeline *t)
{
	uint64_t *values = mt_alloc((size_t)(t->count + 1) * 2 * sizeof *values), max = 0;
	int cursor = (int)app->timeline.cursor;

	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t before = i ? t->columns[i - 1].live_bytes : t->columns[0].live_bytes;

		values[2 * i] = (before + t->columns[i].live_bytes) / 2;
		values[2 * i + 1] = t->columns[i].max_bytes;
		if (t->columns[i].max_bytes > max)
			max = t->columns[i].max_bytes;
	}
	r = mt_sparkline_scale(app->screen, r, max);
	for (int y = 0; y < r.rows && cursor < r.columns; y++)
		mt_draw(app->screen, r.row + y, r.column + cursor, 1, MT_ROLE_PROMPT,
			mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_MARKER));
	mt_sparkline_area(app->screen, r, MT_ROLE_GRAPH, values, t->count * 2, max);
	free(values);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_timeline t = {0};
	uint64_t from, to;
	int below = r.rows >= 12 ? 3 : r.rows >= 8 ? 2 : 0, rates = r.rows >= 7 ? 2 : 0;
	int graph = r.rows - 2 - below - rates;

	(void)focus;
	app->timeline.columns = r.columns > LABELS ? (uint32_t)(r.columns - LABELS) : 1;
	if (app->timeline.cursor >= app->timeline.columns)
		app->timeline.cursor = app->timeline.columns - 1;
	span(app, &from, &to);
	mt_timeline_get(&t, &app->data.profile, from, to, app->timeline.columns);
	draw_graph(app, (struct mt_rect){r.row, r.column, graph, r.columns}, &t);
	draw_times(app, (struct mt_rect){r.row + graph, r.column + LABELS, 2, r.columns - LABELS}, from, to);
	draw_gone(app, (struct mt_rect){r.row + graph, r.column + LABELS, 1, r.columns - LABELS}, from, to);
	if (rates) {
		draw_rate(app, (struct mt_rect){r.row + graph + 2, r.column, 1, r.columns}, "allocs", &t, false, MT_ROLE_GRAPH);
		draw_rate(app, (struct mt_rect){r.row + graph + 3, r.column, 1, r.columns}, "frees", &t, true, MT_ROLE_GRAPH_2);
	}
	if (below)
		draw_cursor(app, (struct mt_rect){r.row + r.rows - below, r.column, below, r.columns}, &t);
	mt_timeline_free(&t);
}

static void zoom(struct mt_app *app, bool in)
{
	struct mt_timeline_state *t = &app->timeline;
	uint64_t from, to, all = app->data.profile.info.wall_ns, width, at;

	span(app, &from, &to);
	at = from + (uint64_t)((double)(to - from) * (t->cursor + 0.5) / (t->columns ? t->columns : 1));
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

	switch (what) {
	case MT_ACTION_CURSOR_LEFT: t->cursor -= t->cursor > 0; break;
	case MT_ACTION_CURSOR_RIGHT: t->cursor += t->cursor + 1 < t->columns; break;
	case MT_ACTION_TOP: t->cursor = 0; break;
	case MT_ACTION_BOTTOM: t->cursor = t->columns ? t->columns - 1 : 0; break;
	case MT_ACTION_ZOOM_IN: zoom(app, true); break;
	case MT_ACTION_ZOOM_OUT: zoom(app, false); break;
	case MT_ACTION_ZOOM_FIT: t->from_ns = t->to_ns = 0; break;
	default: return false;
	}
	return true;
}

const struct mt_view mt_view_timeline = {
	.name = "Timeline",
	.scopes = 1u << MT_SCOPE_TIMELINE,
	.draw = draw,
	.action = action,
};
