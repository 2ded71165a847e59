/* Groups of allocations, one a line, sortable by every metric. */
#include "tui/app.h"
#include "tui/data/triage.h"
#include "tui/view/guidance.h"
#include "tui/view/sparkline.h"

#include <stdio.h>
#include <string.h>

#define COLUMN 10 /* of a metric: 9 and the mark of the order */
#define PERCENT 6
#define TREND 8
#define SWATCH 2 /* the colour of a group, and a gap */
#define WHERE_MIN 26
#define WHERE_GOOD 40 /* with the source beside the function */

struct layout {
	enum mt_metric metric[MT_METRICS_MAX];
	int metrics, percent; /* percent: after which of them, or -1 */
	bool trend;
	int where, where_column; /* width and place */
	/* of the lines that were drawn: how many without a source, and where they are */
	uint32_t bare;
	struct mt_guidance_lines lines;
};

/* In order of what says most: the first metric with its share and where; how it came to be; then
 * the other metrics. What is left is for names. */
static struct layout lay_out(const struct mt_app *app, int width)
{
	struct layout l = {0};
	const struct mt_chosen_columns *chosen = &app->columns;
	int room = width - 2 - SWATCH - COLUMN
		- (width >= 78 && !chosen->count ? WHERE_GOOD : WHERE_MIN);
	int sorted = -1;
	int most = chosen->count ? (int)chosen->count : 6;

	l.percent = room >= PERCENT && mt_metric_sums(&app->data.profile, app->data.sort) ? 0 : -1;
	room -= l.percent < 0 ? 0 : PERCENT;
	l.trend = app->data.live && room >= TREND + COLUMN;
	room -= l.trend ? TREND : 0;
	l.metrics = 1 + (room > 0 ? room / COLUMN : 0);
	l.metrics = l.metrics > most ? most : l.metrics;
	for (int i = 0; i < l.metrics; i++) {
		l.metric[i] = chosen->count ? (enum mt_metric)chosen->metric[i] : (enum mt_metric)i;
		if (l.metric[i] == app->data.sort)
			sorted = i;
	}
	if (sorted < 0)
		l.metric[sorted = l.metrics - 1] = app->data.sort;
	l.percent = l.percent < 0 ? -1 : sorted;
	l.where_column = 2 + l.metrics * COLUMN + (l.percent < 0 ? 0 : PERCENT)
		+ (l.trend ? TREND : 0) + SWATCH;
	l.where = width - l.where_column;
	return l;
}

static void draw_heading(struct mt_app *app, struct mt_rect r, const struct layout *l)
{
	struct mt_screen *s = app->screen;
	bool leaks_known = mt_info_knows_leaks(&app->data.whole->info);
	int column = r.column + 2;

	mt_draw_fill(s, r.row, r.column, r.columns, MT_ROLE_HEADING);
	for (int i = 0; i < l->metrics; i++) {
		bool sorted = l->metric[i] == app->data.sort;
		enum mt_role role = sorted ? MT_ROLE_SORTED : MT_ROLE_HEADING;

		mt_draw_right(s, r.row, column, COLUMN - 1, role,
			mt_metric_heading(&app->data.profile, l->metric[i], leaks_known));
		if (sorted)
			mt_draw(s, r.row, column + COLUMN - 1, 1, role,
				mt_glyph(mt_screen_utf8(s),
					app->data.ascending ? MT_GLYPH_ASCENDING
							    : MT_GLYPH_DESCENDING));
		mt_frame_hit(app, (struct mt_rect){r.row, column, 1, COLUMN}, MT_HIT_SORT,
			MT_VIEW_GROUPS, l->metric[i]);
		column += COLUMN;
		if (i == l->percent) {
			mt_draw_right(s, r.row, column - 1, PERCENT, MT_ROLE_HEADING, "%");
			column += PERCENT;
		}
	}
	if (l->trend)
		mt_draw(s, r.row, column + 1, TREND - 1, MT_ROLE_HEADING, "TREND");
	mt_draw(s, r.row, r.column + l->where_column, l->where, MT_ROLE_HEADING, "WHERE");
}

/* In the group's colour, if it has one. */
static enum mt_role trend_role(const struct mt_app *app, int layer)
{
	return layer >= 0 && mt_draw_shows_layers(app->screen)
		? (enum mt_role)(MT_ROLE_GROUP_1 + layer)
		: MT_ROLE_GRAPH;
}

/* Whether its source is known. */
static void draw_line(struct mt_app *app, const struct mt_line *line, void *context)
{
	struct layout *l = context;
	struct mt_data *d = &app->data;
	uint32_t id = d->selection.groups[line->index];
	const struct mt_group *group = &d->profile.groups[id];
	const struct mt_rect r = line->r;
	enum mt_role role = line->role;
	int column = r.column + 2;
	struct mt_backtrace backtrace = {0};
	int layer = mt_layers_of(&d->layers, id);
	char text[32];

	for (int i = 0; i < l->metrics; i++) {
		uint64_t value = mt_metric_value(&d->profile, group, l->metric[i]);

		mt_draw_right(app->screen, r.row, column, COLUMN - 1, role,
			mt_data_metric(text, d, group, l->metric[i]));
		column += COLUMN;
		if (i == l->percent) {
			snprintf(text, sizeof text, "%.1f", mt_data_percent(d, value, d->sort));
			mt_draw_right(app->screen, r.row, column - 1, PERCENT, role, text);
			column += PERCENT;
		}
	}
	if (l->trend) {
		uint64_t points[TREND - 2];
		uint32_t count = mt_data_history(d, id, points, TREND - 2);

		mt_sparkline_trend(app->screen, r.row, column + 1, TREND - 2,
			line->selected ? role : trend_role(app, layer), points, count, 0);
	}
	mt_triage_draw_mark(app, r.row, r.column, role, id);
	mt_backtrace_get(&backtrace, &d->profile, d->symbols, id);
	const struct mt_backtrace_frame *frame = mt_backtrace_own(&backtrace);

	l->bare += !frame || !*frame->source;
	mt_guidance_line(&l->lines, &d->profile, id, &backtrace, frame);
	mt_draw_swatch(app->screen, r.row, r.column + l->where_column - SWATCH, layer, role);
	mt_frame_where(app, r.row, r.column + l->where_column, l->where, line->selected,
		line->focus, frame);
	mt_backtrace_free(&backtrace);
}

static struct mt_list *list(struct mt_app *app)
{
	struct mt_list *l = &app->groups.list;
	const struct mt_selection *selection = &app->data.selection;
	uint32_t at = UINT32_MAX;

	if (l->count == selection->count
		&& (!l->count || selection->groups[l->selected] == l->identity))
		return l;
	for (uint32_t i = 0; i < selection->count && at == UINT32_MAX; i++)
		if (selection->groups[i] == l->identity)
			at = i;
	mt_list_keep(l, selection->count, at);
	if (l->count)
		l->identity = selection->groups[l->selected];
	return l;
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	struct layout layout = lay_out(app, r.columns);

	draw_heading(app, r, &layout);
	r.row++;
	r.rows--;
	if (!l->count)
		mt_guidance_empty(app, r);
	int seen = mt_frame_list(app, MT_VIEW_GROUPS, r, l, focus, draw_line, &layout);

	mt_guidance_lines_seen(app, &layout.lines);
	mt_guidance_below(app, (struct mt_rect){r.row + seen, r.column, r.rows - seen, r.columns},
		(uint32_t)seen, layout.bare);
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);

	if (what == MT_ACTION_OPEN && l->count) {
		l->held = true;
		mt_app_open_group(app, app->data.selection.groups[l->selected]);
		return true;
	}
	if (!mt_list_move(l, what))
		return false;
	if (l->count)
		l->identity = app->data.selection.groups[l->selected];
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
	if (l->count)
		l->identity = app->data.selection.groups[l->selected];
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	mt_group_text(app, app->data.selection.groups[index], out, len);
}

static void pick(struct mt_app *app, struct mt_pick *out)
{
	struct mt_list *l = list(app);

	if (l->count)
		out->group = app->data.selection.groups[l->selected];
}

const struct mt_view mt_view_groups = {
	.name = "Groups",
	.brief = "Group",
	.scopes = 1u << MT_SCOPE_COLUMNS | 1u << MT_SCOPE_GROUPS | 1u << MT_SCOPE_TRIAGE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.pick = pick,
};
