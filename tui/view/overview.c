/* The overview: the heap now and lately, what grows fastest, what is largest. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/export/resident.h"
#include "tui/app.h"
#include "tui/data/triage.h"
#include "tui/terminal/fit.h"
#include "tui/view/guidance.h"
#include "tui/view/legend.h"
#include "tui/view/sparkline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROWING 8
/* a line's mark and state of triage stand behind, where the score and growth leave room */
#define JUDGED 12

/* Blocks that begin or end in a second: over the last second of a running session, over all of a
 * finished one. */
static uint64_t rate(const struct mt_profile *p, bool live, bool frees)
{
	uint64_t steps = p->step_ns ? (1000000000u + p->step_ns - 1) / p->step_ns : 1, sum = 0;
	uint64_t ns = 0;

	if (!live) {
		uint64_t all =
			frees ? mt_info_blocks_ended(&p->info) : mt_info_blocks_begun(&p->info);

		return p->info.wall_ns ? (uint64_t)((double)all * 1e9 / (double)p->info.wall_ns)
				       : 0;
	}
	for (uint32_t i = p->sample_count; i-- > 0 && steps-- > 0; ns += p->step_ns)
		sum += frees ? p->samples[i].frees : p->samples[i].allocations;
	return ns ? (uint64_t)((double)sum * 1e9 / (double)ns) : 0;
}

/* The figures in one line, in few words or in more. */
static int put_numbers(char *text, size_t size, const struct mt_app *app, bool brief)
{
	const struct mt_profile *p = &app->data.profile;
	const struct mt_info *info = &p->info;
	uint64_t known = mt_triage_suppressed_bytes(app, p);
	char suppressed[40] = "", now[17], peak[17], when[16], blocks[17], allocations[17],
	     frees[17];
	bool set = app->data.members.count; /* of each process at its own end */
	const char *moment = brief ? ""
		: app->data.live   ? "now "
		: set              ? "at each end "
				   : "at the end ";

	if (known) {
		mt_number_size(now, known);
		snprintf(suppressed, sizeof suppressed, " (%s suppressed)", now);
	}
	mt_data_sum(now, p, info->leaked_bytes, MT_UNIT_BYTES);
	mt_data_sum(peak, p, info->peak_bytes, MT_UNIT_BYTES);
	mt_number_time(when, info->peak_ns);
	mt_data_sum(blocks, p, info->leaked_count, MT_UNIT_COUNT);
	mt_data_sum(allocations, p, rate(p, app->data.live, false), MT_UNIT_COUNT);
	mt_data_sum(frees, p, rate(p, app->data.live, true), MT_UNIT_COUNT);
	return snprintf(text, size,
		"%s %s%s%s   peak %s%s at %s   %sblocks %s   allocs/s %s   frees/s %s",
		mt_data_is_matched(&app->data) ? "filtered"
			: set                  ? "not freed"
					       : "heap",
		moment, now, suppressed, info->peak_unsure && *peak != '~' ? "~" : "", peak, when,
		brief ? "" : "live ", blocks, allocations, frees);
}

/* What has room; the last figures have not where it is narrow. */
static void draw_numbers(struct mt_app *app, int row, int columns)
{
	static const char *const last[] = {"   frees/s", "   allocs/s", "   blocks", " at"};
	char text[256];
	int len = put_numbers(text, sizeof text, app, columns < 90);

	if (len + 6 > columns)
		len = put_numbers(text, sizeof text, app, true);
	for (size_t i = 0; i < sizeof last / sizeof *last && len + 6 > columns; i++) {
		*strstr(text, last[i]) = '\0';
		len = (int)strlen(text);
	}
	mt_draw_rule(app->screen, row, 0, columns, MT_ROLE_RULE, text);
}

/* ---- the heap's graph ---- */

#define LAYERS (MT_LAYERS + 1) /* with all other groups */

/* Where each layer ends in a column: what the groups with a colour held then, as parts of the whole
 * heap, which is exact. */
static void stack_column(const struct mt_layers *layers, uint64_t ns, uint64_t whole,
	uint64_t tops[LAYERS])
{
	uint64_t sum = 0, sizes[MT_LAYERS] = {0};

	for (int i = 0; i < MT_LAYERS; i++)
		if (layers->layer[i].group != MT_NO_GROUP)
			sum += sizes[i] = mt_layers_at(layers, i, ns);
	for (int i = 0; i < MT_LAYERS; i++) {
		uint64_t part = sum > whole
			? (uint64_t)((double)sizes[i] / (double)sum * (double)whole)
			: sizes[i];

		tops[i] = (i ? tops[i - 1] : 0) + part;
	}
	tops[MT_LAYERS] = whole;
}

static void draw_layers(struct mt_app *app, struct mt_rect r, const struct mt_timeline *t,
	uint32_t seen, uint64_t max)
{
	uint64_t *tops = mt_resize(NULL, (seen + 1) * LAYERS * sizeof *tops);
	uint64_t step = t->count ? (t->to_ns - t->from_ns) / t->count : 0;

	for (uint32_t i = 0; i < seen; i++)
		stack_column(&app->data.layers, t->from_ns + step * i + step / 2,
			t->columns[i].max_bytes, tops + (size_t)i * LAYERS);
	mt_sparkline_layers(app->screen, r, &(struct mt_sparkline_layers){tops, seen, LAYERS, max});
	free(tops);
}

/* The swatches of all layers that this entry names, and the name. Returns the column behind it. */
static int draw_legend_entry(struct mt_app *app, struct mt_rect r,
	const struct mt_legend_entry *entries, const int *layers, int entry, int count)
{
	int column = r.column;

	for (int i = entry; i < count; i++)
		if (entries[i].same_as == entry) {
			mt_draw_swatch(app->screen, r.row, column, layers[i], MT_ROLE_NUMBER);
			column += MT_LEGEND_GAP;
		}
	column += mt_draw(app->screen, r.row, column, r.column + r.columns - column, MT_ROLE_DIM,
		entries[entry].text);
	return column + MT_LEGEND_GAP;
}

/* Which colour is which group's. */
static void draw_legend(struct mt_app *app, struct mt_rect r)
{
	struct mt_data *d = &app->data;
	struct mt_backtrace backtraces[MT_LAYERS] = {0};
	struct mt_legend_entry entries[MT_LAYERS];
	int layers[MT_LAYERS], count = 0, end = r.column + r.columns;

	for (int i = 0; i < MT_LAYERS; i++) {
		uint32_t group = d->layers.layer[i].group;

		if (group == MT_NO_GROUP)
			continue;
		mt_backtrace_get(&backtraces[count], &d->profile, d->symbols, group);
		entries[count].frame = mt_backtrace_own(&backtraces[count]);
		layers[count++] = i;
	}
	mt_legend_fit(entries, count, r.columns - (int)sizeof "  other" + 1,
		mt_screen_utf8(app->screen));
	for (int i = 0; i < count; i++)
		if (entries[i].text) {
			r.column = draw_legend_entry(app, r, entries, layers, i, count);
			r.columns = end - r.column;
		}
	for (int i = 0; i < count; i++) {
		free(entries[i].text);
		mt_backtrace_free(&backtraces[i]);
	}
	mt_draw_swatch(app->screen, r.row, r.column, MT_LAYERS, MT_ROLE_NUMBER);
	mt_draw(app->screen, r.row, r.column + MT_LEGEND_GAP, r.columns - MT_LEGEND_GAP,
		MT_ROLE_DIM, "other");
}

static void draw_graph(struct mt_app *app, struct mt_rect r, bool layered)
{
	struct mt_timeline t = {0};
	const struct mt_profile *p = &app->data.profile;
	bool line = r.rows == 1;
	int columns = line ? r.columns : r.columns - 8;
	uint64_t *values, max = 0, end;

	end = app->data.live ? mt_timeline_growing_end(p, (uint32_t)columns) : p->info.wall_ns;
	mt_timeline_get(&t, p, 0, end ? end : 1, (uint32_t)columns);
	uint32_t seen = mt_timeline_seen(&t, p);

	values = mt_alloc((t.count + 1) * 2 * sizeof *values);
	mt_timeline_halves(&t, p, values);
	for (uint32_t i = 0; i < seen; i++)
		max = t.columns[i].max_bytes > max ? t.columns[i].max_bytes : max;
	if (app->data.live)
		max = mt_timeline_round(max);
	if (line) {
		for (uint32_t i = 0; i < seen; i++)
			values[i] = t.columns[i].max_bytes;
		mt_sparkline_draw(app->screen, r.row, r.column, r.columns, MT_ROLE_GRAPH, values,
			seen, max);
	} else {
		r = mt_sparkline_scale(app->screen, r, max, true);
		if (layered)
			draw_layers(app, r, &t, seen, max);
		else
			mt_sparkline_area(app->screen, r, MT_ROLE_GRAPH, values, seen * 2, max);
	}
	free(values);
	mt_timeline_free(&t);
}

void mt_overview_heap(struct mt_app *app, struct mt_rect r)
{
	char words[MT_RESIDENT_LEN];
	bool layered;

	mt_data_site_history_soon(&app->data);
	draw_numbers(app, r.row++, r.columns);
	if (--r.rows < 1 || r.columns < 12)
		return;
	if (r.rows > 2 && mt_resident_words(words, app->data.whole, app->data.live)) {
		mt_draw(app->screen, r.row++, r.column + 1, r.columns - 1, MT_ROLE_TEXT, words);
		r.rows--;
	}
	/* of what a filter leaves of a group it is not known how it came to be */
	layered = r.rows >= 3 && app->data.layers.begun && !mt_data_is_matched(&app->data);
	if (layered)
		draw_legend(app,
			(struct mt_rect){r.row + --r.rows, r.column + 8, 1, r.columns - 8});
	draw_graph(app, r, layered);
}

/* ---- the two lists ---- */

/* What looks most like a leak. */
static void find_growing(struct mt_app *app)
{
	struct mt_overview_state *o = &app->overview;
	const struct mt_data *d = &app->data;
	double score[GROWING];

	o->growing_count = o->listed = 0;
	if (d->sort == MT_METRIC_SUSPECT && !d->ascending) {
		/* The second list goes on where the first one ends. */
		while (o->growing_count < GROWING && o->growing_count < d->selection.count
			&& mt_data_is_suspect(d,
				&d->profile.groups[d->selection.groups[o->growing_count]])) {
			o->growing[o->growing_count] = d->selection.groups[o->growing_count];
			o->growing_count++;
		}
		o->listed = o->growing_count;
		return;
	}
	for (uint32_t i = 0; i < d->selection.count; i++) {
		uint32_t group = d->selection.groups[i], at;
		struct mt_rank rank;

		if (!mt_data_is_suspect(d, &d->profile.groups[group]))
			continue;
		mt_data_rank(d, group, &rank);
		double here = rank.score + rank.part; /* of equal ones what grows fastest */

		if (o->growing_count == GROWING && score[GROWING - 1] >= here)
			continue;
		at = o->growing_count < GROWING ? o->growing_count++ : GROWING - 1;
		for (; at > 0 && score[at - 1] < here; at--) {
			score[at] = score[at - 1];
			o->growing[at] = o->growing[at - 1];
		}
		score[at] = here;
		o->growing[at] = group;
	}
}

static uint32_t group_at(const struct mt_app *app, uint32_t index)
{
	const struct mt_overview_state *o = &app->overview;

	return index < o->growing_count
		? o->growing[index]
		: app->data.selection.groups[index - o->growing_count + o->listed];
}

static uint64_t identity_at(const struct mt_app *app, uint32_t index)
{
	return (uint64_t)group_at(app, index) << 1 | (index >= app->overview.growing_count);
}

static struct mt_list *list(struct mt_app *app)
{
	struct mt_overview_state *o = &app->overview;
	uint32_t count, at = UINT32_MAX;

	mt_data_site_history(&app->data, MT_NO_GROUP);
	if (o->generation == app->data.generation)
		return &o->list;
	find_growing(app);
	count = o->growing_count + app->data.selection.count - o->listed;
	for (uint32_t i = 0; i < count && at == UINT32_MAX && o->generation; i++)
		if (identity_at(app, i) == o->list.identity)
			at = i;
	o->generation = app->data.generation;
	mt_list_keep(&o->list, count, at);
	if (count)
		o->list.identity = identity_at(app, o->list.selected);
	return &o->list;
}

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, bool focus)
{
	struct mt_data *d = &app->data;
	uint32_t id = group_at(app, index);
	bool selected = index == app->overview.list.selected;
	bool growing = index < app->overview.growing_count;
	const struct mt_group *group = &d->profile.groups[id];
	struct mt_line line = mt_frame_line(app, MT_VIEW_OVERVIEW, r, index, selected, focus);
	enum mt_role role = line.role;
	struct mt_screen *s = app->screen;
	struct mt_backtrace backtrace = {0};
	char text[48], number[17], score[8];
	int where = r.columns >= 60 ? 39 : 16, used = 0;

	if (growing) {
		struct mt_rank rank;

		mt_data_rank(d, id, &rank);
		mt_number_size(number, rank.slope > 0 ? (uint64_t)(rank.slope + 0.5) : 0);
		snprintf(score, sizeof score, "%s%u", rank.estimated ? "~" : " ", rank.score);
		snprintf(text, sizeof text, "%s%s +%s/s",
			mt_glyph(mt_screen_utf8(s), MT_GLYPH_GROWING),
			mt_data_scores_wait(d) ? " .." : score, number);
		used = mt_draw(s, r.row, r.column + 1, 15, selected ? role : MT_ROLE_GROWING, text);
	} else {
		mt_draw_right(s, r.row, r.column + 2, 9, role,
			mt_data_metric(number, d, group, d->sort));
	}
	if (used <= JUDGED + 1)
		mt_triage_draw_mark(app, r.row, r.column + (used > JUDGED ? used : JUDGED), role,
			id);
	if (where > 16) {
		uint64_t points[8], most = 0;
		uint32_t count = mt_data_history(d, id, points, 8);

		for (uint32_t i = 0; i < count; i++)
			most = points[i] > most ? points[i] : most;
		mt_sparkline_trend(s, r.row, r.column + 16, 8, selected ? role : MT_ROLE_GRAPH,
			points, count, d->live ? mt_timeline_round(most) : most);
		mt_data_metric(number, d, group,
			growing ? MT_METRIC_LEAKED_SIZE : MT_METRIC_LEAKED_COUNT);
		snprintf(text, sizeof text, growing ? "%s live" : "%s %-6s", number,
			MT_PLURAL(number, "block"));
		mt_draw_right(s, r.row, r.column + 25, 12, role, text);
	}
	mt_backtrace_get(&backtrace, &d->profile, d->symbols, id);
	mt_frame_where(app, r.row, r.column + where, r.columns - where, selected, focus,
		mt_backtrace_own(&backtrace));
	mt_backtrace_free(&backtrace);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	struct mt_overview_state *o = &app->overview;
	int graph = r.rows >= 22 ? 8 : r.rows >= 16 ? 5 : r.rows >= 10 ? 2 : 1;
	int growing_rows, row = r.row + graph, end = r.row + r.rows;

	mt_overview_heap(app, (struct mt_rect){r.row, r.column, graph, r.columns});
	growing_rows = (int)o->growing_count < (r.rows - graph - 2) / 2
		? (int)o->growing_count
		: (r.rows - graph - 2) / 2;
	if (r.rows - graph >= 6) {
		char why[80] = "", heading[120];
		bool estimates = mt_data_unsampled(&app->data, why, sizeof why);

		snprintf(heading, sizeof heading, "suspected leaks: %s%s",
			mt_data_scores_wait(&app->data) ? "being computed"
				: estimates             ? "~ estimates, "
							: "score of 100, growth",
			why);
		mt_draw_rule(app->screen, row++, r.column, r.columns, MT_ROLE_RULE, heading);
		for (int i = 0; i < growing_rows; i++)
			draw_line(app, (struct mt_rect){row++, r.column, 1, r.columns}, (uint32_t)i,
				focus);
		if (!o->growing_count)
			mt_draw(app->screen, row++, r.column + 2, r.columns - 2, MT_ROLE_DIM,
				app->data.live ? "nothing grows steadily; "
						 "a leak shows after a few seconds"
					       : "no leak is suspected");
	}
	char rest[128];

	snprintf(rest, sizeof rest, o->listed ? "the others, by %s" : "%s",
		mt_metric_info(&app->data.profile, app->data.sort)->words);
	mt_draw_rule(app->screen, row++, r.column, r.columns, MT_ROLE_RULE, rest);
	/* The second list scrolls by itself. */
	int rows = end - row;
	uint32_t chosen = l->selected >= o->growing_count ? l->selected - o->growing_count : 0;
	uint32_t top = rows > 0 && chosen >= (uint32_t)rows ? chosen - (uint32_t)rows + 1 : 0;

	l->rows = rows;
	if (!app->data.selection.count && rows > 0)
		mt_guidance_empty(app, (struct mt_rect){row, r.column, rows, r.columns});
	for (uint32_t i = top; row < end && i + o->listed < app->data.selection.count; i++)
		draw_line(app, (struct mt_rect){row++, r.column, 1, r.columns},
			o->growing_count + i, focus);
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);

	if (what == MT_ACTION_OPEN && l->count) {
		mt_app_open_group(app, group_at(app, l->selected));
		return true;
	}
	if (!mt_list_move(l, what))
		return false;
	if (l->count)
		l->identity = identity_at(app, l->selected);
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
	if (l->count)
		l->identity = identity_at(app, l->selected);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	struct mt_backtrace backtrace = {0};

	mt_backtrace_get(&backtrace, &app->data.profile, app->data.symbols, group_at(app, index));
	snprintf(out, len, "%s", backtrace.count ? mt_backtrace_own(&backtrace)->function : "");
	mt_backtrace_free(&backtrace);
}

static void pick(struct mt_app *app, struct mt_pick *out)
{
	struct mt_list *l = list(app);

	if (l->count)
		out->group = group_at(app, l->selected);
}

const struct mt_view mt_view_overview = {
	.name = "Overview",
	.brief = "Over",
	.scopes = 1u << MT_SCOPE_COLUMNS | 1u << MT_SCOPE_OVERVIEW | 1u << MT_SCOPE_TRIAGE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.pick = pick,
};
