/* The difference: what changed between two traces, or since a snapshot, group by group. */
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/difference.h"
#include "tui/data/triage.h"
#include "tui/user/keymap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELTA 10
#define NUMBER 9
#define COUNTS 14
#define STATE 5

struct layout {
	int delta, a, b, counts, where; /* columns of each; 0: left out */
};

static struct layout lay_out(int width)
{
	struct layout l = {.delta = DELTA};

	if (width >= 70)
		l.a = l.b = NUMBER;
	else if (width >= 50)
		l.b = NUMBER;
	if (width >= 78)
		l.counts = COUNTS;
	l.where = width - 2 - l.delta - l.a - l.b - l.counts - STATE - 1;
	return l;
}

/* Beside bytes the blocks, and the other way round. */
static enum mt_metric companion(const struct mt_app *app)
{
	enum mt_metric metric = mt_difference_metric(app);

	return mt_metric_info(&app->data.profile, metric)->unit == MT_UNIT_COUNT
		? metric
		: mt_tree_companion(metric);
}

static const char *state_words(enum mt_diff_state state)
{
	static const char *const words[MT_DIFF_STATES] = {"NEW", "+", "-", "GONE", "="};

	return state < MT_DIFF_STATES ? words[state] : "?";
}

static void number(char out[24], const struct mt_app *app, int64_t value, bool sign)
{
	char text[MT_NUMBER_LEN];

	mt_data_format(text, value < 0 ? -(uint64_t)value : (uint64_t)value,
		mt_metric_info(&app->data.profile, mt_difference_metric(app))->unit);
	snprintf(out, 24, "%s%s", value < 0 ? "-" : sign && value > 0 ? "+" : "", text);
}

static int64_t value_of(struct mt_app *app, const struct mt_group *group, bool of_a)
{
	const struct mt_difference *d = app->difference;
	const struct mt_profile *p = of_a && d->other ? &d->other->profile : &app->data.profile;

	return (int64_t)mt_metric_value(p, group,
		mt_metric_in(p, &app->data.profile, mt_difference_metric(app)));
}

/* ---- head and total ---- */

static void draw_head(struct mt_app *app, struct mt_rect r)
{
	const struct mt_difference *d = app->difference;
	const struct mt_totals_then *t = d->baseline < d->then_count ? &d->then[d->baseline] : NULL;
	char then[256], now[256], when[MT_NUMBER_LEN], text[600], metric[128] = "";

	if (d->own_path) {
		snprintf(then, sizeof then, "%.200s", mt_base_name(d->other_path));
		snprintf(now, sizeof now, "%.200s", mt_base_name(d->own_path));
	} else if (t) {
		mt_number_time(when, t->time_ns);
		snprintf(then, sizeof then, "S%u at %s", t->number, when);
		snprintf(now, sizeof now, "%s",
			mt_data_is_matched(&app->data) ? "as filtered" : "now");
	} else {
		return;
	}
	if (r.columns >= 60)
		snprintf(metric, sizeof metric, "%s   ", mt_difference_words(app));
	snprintf(text, sizeof text, "%sA %s   B %s", metric, d->swapped ? now : then,
		d->swapped ? then : now);
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE, text);
}

static void draw_total(struct mt_app *app, struct mt_rect r)
{
	const struct mt_difference *d = app->difference;
	const uint32_t *states = d->diff.states;
	uint32_t worse = states[MT_DIFF_NEW] + states[MT_DIFF_GREW];
	uint32_t better = states[MT_DIFF_GONE] + states[MT_DIFF_SHRANK];
	int64_t value_a = value_of(app, &d->diff.a, true);
	int64_t value_b = value_of(app, &d->diff.b, false);
	char a[24], b[24], delta[24], percent[24] = "", text[256];

	number(a, app, value_a, false);
	number(b, app, value_b, false);
	number(delta, app, value_b - value_a, true);
	if (value_a > 0)
		snprintf(percent, sizeof percent, " (%+.1f%%)",
			100.0 * (double)(value_b - value_a) / (double)value_a);
	if (r.columns >= 70)
		snprintf(text, sizeof text,
			"total  A %s  B %s  %s%s   %u worse  %u better  %u same", a, b, delta,
			percent, worse, better, states[MT_DIFF_SAME]);
	else
		snprintf(text, sizeof text, "%s%s  %u+ %u- %u=", delta, percent, worse, better,
			states[MT_DIFF_SAME]);
	mt_draw_fill(app->screen, r.row, r.column, r.columns, MT_ROLE_HEADING);
	mt_draw(app->screen, r.row, r.column + 1, r.columns - 1, MT_ROLE_HEADING, text);
}

/* ---- the list ---- */

static void draw_heading(struct mt_app *app, struct mt_rect r, const struct layout *l)
{
	struct mt_screen *s = app->screen;
	int column = r.column + 2;

	mt_draw_fill(s, r.row, r.column, r.columns, MT_ROLE_HEADING);
	mt_draw_right(s, r.row, column, l->delta - 2, MT_ROLE_SORTED, "DELTA");
	mt_draw(s, r.row, column + l->delta - 2, 1, MT_ROLE_SORTED,
		mt_glyph(mt_screen_utf8(s),
			app->data.ascending ? MT_GLYPH_ASCENDING : MT_GLYPH_DESCENDING));
	mt_frame_hit(app, (struct mt_rect){r.row, column, 1, l->delta}, MT_HIT_SORT, MT_VIEW_DIFF,
		mt_difference_metric(app));
	column += l->delta;
	mt_draw_right(s, r.row, column, l->a - 1, MT_ROLE_HEADING, "A");
	mt_draw_right(s, r.row, column + l->a, l->b - 1, MT_ROLE_HEADING, "B");
	column += l->a + l->b;
	mt_draw_right(s, r.row, column, l->counts - 1, MT_ROLE_HEADING, "COUNT A>B");
	column += l->counts;
	mt_draw(s, r.row, column + 1, STATE, MT_ROLE_HEADING, "");
	mt_draw(s, r.row, column + 1 + STATE, l->where, MT_ROLE_HEADING, "WHERE");
}

static void backtrace_of(struct mt_app *app, const struct mt_diff_entry *e,
	struct mt_backtrace *backtrace)
{
	const struct mt_data *a = app->difference->other ? app->difference->other : &app->data;

	mt_diff_backtrace(backtrace, &(struct mt_diff_side){&a->profile, a->symbols, NULL},
		&(struct mt_diff_side){&app->data.profile, app->data.symbols, NULL}, e);
}

static enum mt_role role_of(enum mt_diff_state state)
{
	return state == MT_DIFF_NEW || state == MT_DIFF_GREW ? MT_ROLE_GROWING
		: state == MT_DIFF_SAME                      ? MT_ROLE_DIM
							     : MT_ROLE_NUMBER;
}

/* Lines of one function must not look alike, also where there is little room. */
static void draw_where(struct mt_app *app, int row, int column, int width, bool selected,
	bool focus, const struct mt_backtrace_frame *frame)
{
	char source[512];
	int used = 0;

	if (frame && frame->pc != MT_PC_CUT && width >= 26 && width < 34) {
		mt_frame_source(source, sizeof source, frame, false);
		used = mt_text_width(source) < width / 2 ? mt_text_width(source) + 1 : width / 2;
		mt_draw(app->screen, row, column + width - used + 1, used - 1,
			!selected       ? MT_ROLE_SOURCE
				: focus ? MT_ROLE_SELECTED
					: MT_ROLE_SELECTED_AWAY,
			source);
	}
	mt_frame_where(app, row, column, width - used, selected, focus, frame);
}

static void draw_line(struct mt_app *app, const struct mt_line *line, void *layout)
{
	const struct layout *l = layout;
	struct mt_difference *d = app->difference;
	const struct mt_diff_entry *e = &d->diff.entries[d->rows[line->index]];
	const struct mt_rect r = line->r;
	enum mt_role role = line->role;
	enum mt_role judged = line->selected ? role : role_of(e->state);
	struct mt_screen *s = app->screen;
	struct mt_backtrace backtrace = {0};
	char text[64], to[MT_NUMBER_LEN];
	int column = r.column + 2;

	number(text, app, e->change, true);
	mt_draw_right(s, r.row, column, l->delta - 1, judged, text);
	column += l->delta;
	number(text, app, value_of(app, &e->a, true), false);
	mt_draw_right(s, r.row, column, l->a - 1, role, text);
	number(text, app, value_of(app, &e->b, false), false);
	mt_draw_right(s, r.row, column + l->a, l->b - 1, role, text);
	column += l->a + l->b;
	if (l->counts) {
		enum mt_metric count = companion(app);

		mt_number_count(text,
			mt_metric_value(d->other ? &d->other->profile : &app->data.profile, &e->a,
				count));
		mt_number_count(to, mt_metric_value(&app->data.profile, &e->b, count));
		strcat(strcat(text, ">"), to);
		mt_draw_right(s, r.row, column, l->counts - 1, role, text);
		column += l->counts;
	}
	snprintf(text, sizeof text, "%s%s", state_words(e->state), e->doubtful ? "?" : "");
	mt_draw(s, r.row, column + 1, STATE, judged, text);
	if (e->group_b != MT_NO_GROUP)
		mt_triage_draw_mark(app, r.row, r.column, role, e->group_b);
	backtrace_of(app, e, &backtrace);
	draw_where(app, r.row, column + 1 + STATE, l->where, line->selected, line->focus,
		mt_backtrace_own(&backtrace));
	mt_backtrace_free(&backtrace);
}

static void draw_words(struct mt_app *app, struct mt_rect r, const char *words)
{
	static const char *const empty[] = {"Nothing to compare yet.",
		"{snapshot} saves the totals now; later this", "screen shows what changed since.",
		"Or: memtui open BEFORE AFTER",
		"Saved trace: filter a moment ({timeline}, {alive-here}),",
		"{snapshot}, then filter another one."};
	int count = words ? 1 : (int)(sizeof empty / sizeof *empty);
	char text[80];

	for (int i = 0; i < count && i < r.rows; i++)
		mt_draw(app->screen, r.row + i, r.column + 2, r.columns - 2,
			words && *app->difference->error ? MT_ROLE_ERROR : MT_ROLE_DIM,
			words ? words : mt_keymap_words(text, sizeof text, empty[i]));
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	const char *words;
	bool made = mt_difference_make(app, &words);
	struct mt_difference *d = app->difference;
	struct mt_list *l = &d->list;
	struct layout layout = lay_out(r.columns);
	char nothing[128], keys[80], same[MT_NUMBER_OF_LEN];

	draw_head(app, (struct mt_rect){r.row, r.column, 1, r.columns});
	if (!made) {
		draw_words(app,
			(struct mt_rect){r.row + (words != NULL), r.column,
				r.rows - (words != NULL), r.columns},
			words);
		return;
	}
	draw_heading(app, (struct mt_rect){r.row + 1, r.column, 1, r.columns}, &layout);
	mt_frame_list(app, MT_VIEW_DIFF,
		(struct mt_rect){r.row + 2, r.column, r.rows - 3, r.columns}, l, focus, draw_line,
		&layout);
	if (!l->count) {
		if (d->diff.count)
			snprintf(nothing, sizeof nothing,
				mt_keymap_words(keys, sizeof keys,
					"nothing changed; {hide-same} shows the %s"),
				mt_number_of(same, d->diff.count, "group"));
		else
			mt_keymap_words(nothing, sizeof nothing,
				"no group matches the filter; {filter} changes it");
		mt_draw(app->screen, r.row + 2, r.column + 2, r.columns - 2, MT_ROLE_DIM, nothing);
	}
	draw_total(app, (struct mt_rect){r.row + r.rows - 1, r.column, 1, r.columns});
}

/* ---- actions ---- */

static struct mt_list *list(struct mt_app *app)
{
	const char *words;

	mt_difference_make(app, &words);
	return &app->difference->list;
}

static const struct mt_diff_entry *selected(struct mt_app *app)
{
	struct mt_list *l = list(app);

	return l->selected < l->count
		? &app->difference->diff.entries[app->difference->rows[l->selected]]
		: NULL;
}

static void remember(struct mt_app *app)
{
	const struct mt_diff_entry *e = selected(app);

	if (e)
		app->difference->list.identity =
			e->group_b != MT_NO_GROUP ? e->group_b : 1ull << 32 | e->group_a;
}

/* A group of what all views show; MT_NO_GROUP: only the other trace has it. */
static uint32_t group_of(struct mt_app *app, const struct mt_diff_entry *e)
{
	return e->group_b != MT_NO_GROUP ? e->group_b
		: app->difference->other ? MT_NO_GROUP
					 : e->group_a;
}

static void open_selected(struct mt_app *app)
{
	const struct mt_diff_entry *e = selected(app);

	if (!e)
		return;
	app->difference->list.held = true;
	if (group_of(app, e) != MT_NO_GROUP)
		mt_app_open_group(app, group_of(app, e));
	else
		mt_app_say(app,
			"only A has this group: {swap} swaps the traces, then {open} opens it");
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);
	const char *words;

	if ((what == MT_ACTION_OPEN || what == MT_ACTION_SWAP || what == MT_ACTION_HIDE_SAME)
		&& !mt_difference_make(app, &words)) {
		mt_app_say(app, "%s", words ? words : "nothing to compare yet");
		return true;
	}
	switch (what) {
	case MT_ACTION_OPEN: open_selected(app); return true;
	case MT_ACTION_SWAP: mt_difference_swap(app); return true;
	case MT_ACTION_HIDE_SAME:
		app->difference->show_same = !app->difference->show_same;
		app->difference->change++;
		mt_app_say(app,
			app->difference->show_same
				? "unchanged groups are shown; {hide-same} hides them"
				: "unchanged groups are hidden; {hide-same} shows them");
		return true;
	default:
		if (!mt_list_move(l, what))
			return false;
		remember(app);
		return true;
	}
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
	remember(app);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	const struct mt_diff_entry *e =
		&app->difference->diff.entries[app->difference->rows[index]];
	const struct mt_backtrace_frame *frame;
	struct mt_backtrace backtrace = {0};
	char source[256] = "";

	backtrace_of(app, e, &backtrace);
	frame = mt_backtrace_own(&backtrace);
	if (frame)
		mt_frame_source(source, sizeof source, frame, true);
	snprintf(out, len, "%s %s %s", state_words(e->state), frame ? frame->function : "", source);
	mt_backtrace_free(&backtrace);
}

static void pick(struct mt_app *app, struct mt_pick *pick)
{
	const struct mt_diff_entry *e = selected(app);

	if (e)
		pick->group = group_of(app, e);
	if (e && pick->group == MT_NO_GROUP)
		pick->why = "only A has this group: {swap} swaps the traces";
}

const struct mt_view mt_view_diff = {
	.name = "Diff",
	.scopes = 1u << MT_SCOPE_COLUMNS | 1u << MT_SCOPE_GROUPS | 1u << MT_SCOPE_DIFF
		| 1u << MT_SCOPE_TRIAGE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.pick = pick,
	.leave = mt_difference_leave,
};
