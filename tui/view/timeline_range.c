/* A range of time, selected on the timeline: by keys, by the mouse; and what is said of it. */
#include "tui/view/timeline_range.h"
#include "core/export/number.h"
#include "tui/user/keymap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000u

void mt_timeline_span(const struct mt_app *app, uint64_t *from, uint64_t *to)
{
	const struct mt_timeline_state *t = &app->timeline;

	*from = t->to_ns > t->from_ns ? t->from_ns : 0;
	*to = t->to_ns > t->from_ns ? t->to_ns
		: app->data.live    ? mt_timeline_growing_end(app->data.whole, t->columns)
				    : app->data.whole->info.wall_ns;
	if (*to <= *from)
		*to = *from + 1;
}

static struct mt_timeline laid(const struct mt_app *app)
{
	struct mt_timeline t = {0};
	uint64_t from, to;

	mt_timeline_span(app, &from, &to);
	mt_timeline_lay(&t, app->data.whole, from, to,
		app->timeline.columns ? app->timeline.columns : 1);
	return t;
}

/* When a column begins; the one behind the last: when that ends. */
static uint64_t column_ns(const struct mt_app *app, uint32_t column)
{
	struct mt_timeline t = laid(app);
	uint64_t at = mt_timeline_edge(&t, column < t.count ? column : t.count);
	uint64_t wall = app->data.whole->info.wall_ns;

	return at < wall ? at : wall;
}

static uint32_t column_at(const struct mt_app *app, uint64_t ns)
{
	struct mt_timeline t = laid(app);

	return mt_timeline_column(&t, ns);
}

/* Bounds of a range are rounded for people: a column is in it when most of it is. */
static uint32_t nearest_edge(const struct mt_app *app, uint64_t ns)
{
	struct mt_timeline t = laid(app);
	uint32_t column = mt_timeline_column(&t, ns);
	uint64_t begin = mt_timeline_edge(&t, column), end = mt_timeline_edge(&t, column + 1);

	return ns > begin + (end - begin) / 2 ? column + 1 : column;
}

/* As few digits as tell columns apart: what is typed is read again by people. */
static uint64_t even(const struct mt_app *app, uint64_t ns)
{
	uint64_t from, to, quantum = MICROSECOND;

	mt_timeline_span(app, &from, &to);
	uint64_t step = (to - from) / (app->timeline.columns ? app->timeline.columns : 1);

	while (quantum * 10 <= step / 4)
		quantum *= 10;
	return ns >= app->data.whole->info.wall_ns ? ns : (ns + quantum / 2) / quantum * quantum;
}

/* ---- selecting ---- */

static void extend(struct mt_app *app)
{
	struct mt_timeline_state *t = &app->timeline;
	uint64_t first = column_ns(app, t->cursor), behind = column_ns(app, t->cursor + 1);

	if (!t->extending)
		return;
	t->first_ns = even(app, first < t->anchor_ns ? first : t->anchor_ns);
	t->last_ns = even(app, behind > t->anchor_end_ns ? behind : t->anchor_end_ns);
}

static void begin(struct mt_app *app)
{
	struct mt_timeline_state *t = &app->timeline;

	t->selecting = t->extending = true;
	t->anchor_ns = column_ns(app, t->cursor);
	t->anchor_end_ns = column_ns(app, t->cursor + 1);
	extend(app);
}

static void set_end(struct mt_app *app, bool last)
{
	struct mt_timeline_state *t = &app->timeline;
	uint64_t first = even(app, column_ns(app, t->cursor));
	uint64_t behind = even(app, column_ns(app, t->cursor + 1));

	if (!last && (!t->selecting || t->last_ns <= first))
		t->last_ns = app->data.whole->info.wall_ns;
	if (last && (!t->selecting || t->first_ns >= behind))
		t->first_ns = 0;
	*(last ? &t->last_ns : &t->first_ns) = last ? behind : first;
	t->selecting = true;
	t->extending = false;
}

static void other_end(struct mt_app *app)
{
	struct mt_timeline_state *t = &app->timeline;
	uint32_t first = nearest_edge(app, t->first_ns), behind = nearest_edge(app, t->last_ns);
	uint32_t last = behind > first ? behind - 1 : first;
	bool at_last = t->cursor >= last;

	if (!t->selecting) {
		mt_app_say(app, "no range is selected; {select} starts one at the cursor");
		return;
	}
	t->extending = true;
	t->anchor_ns = at_last ? t->last_ns : t->first_ns;
	t->anchor_end_ns = t->anchor_ns;
	t->cursor = at_last ? first : last;
}

static const char *seconds(char out[MT_NUMBER_EXACT_LEN + 1], uint64_t ns)
{
	mt_number_seconds(out, ns);
	return strcat(out, "s");
}

/* False, with a message: it cannot be answered. */
static bool ask(struct mt_app *app, const char *from, const char *to, const char *alive_at)
{
	struct mt_err err = {0};

	if (!mt_data_pending(&app->data))
		mt_data_remember(&app->data);
	if (mt_data_filter_time(&app->data, from, to, alive_at, &err) >= 0)
		return true;
	mt_app_say(app, "%s", err.text);
	return false;
}

static void apply(struct mt_app *app)
{
	struct mt_timeline_state *t = &app->timeline;
	char from[MT_NUMBER_EXACT_LEN + 1], to[MT_NUMBER_EXACT_LEN + 1];
	/* what runs goes on behind the last column */
	bool until = mt_app_live(app) || t->last_ns < app->data.whole->info.wall_ns;

	if (!t->selecting) {
		mt_app_say(app, "no range is selected; {select} starts one at the cursor");
		return;
	}
	if (!ask(app, t->first_ns ? seconds(from, t->first_ns) : NULL,
		    until ? seconds(to, t->last_ns) : NULL, NULL))
		return; /* the range stays: its totals are below the graph */
	t->selecting = t->extending = false;
	t->sent = app->data.asked;
}

void mt_timeline_alive_here(struct mt_app *app)
{
	char at[MT_NUMBER_EXACT_LEN + 1];

	app->timeline.selecting = false;
	ask(app, NULL, NULL, seconds(at, even(app, column_ns(app, app->timeline.cursor + 1))));
}

void mt_timeline_alive_at_peak(struct mt_app *app)
{
	struct mt_filter *filter = mt_filter_new_of(app->data.whole);
	char *text = mt_data_wanted(&app->data);
	const char *at;

	mt_filter_parse(filter, text, NULL);
	at = mt_filter_get(filter, MT_FILTER_ALIVE_AT);
	ask(app, NULL, NULL, at && !strcmp(at, "peak") ? NULL : "peak");
	mt_filter_free(filter);
	free(text);
}

void mt_timeline_all_times(struct mt_app *app)
{
	if (!app->timeline.selecting && !mt_timeline_has_legend(app))
		mt_app_say(app, "no time range to clear");
	app->timeline.selecting = false;
	ask(app, NULL, NULL, NULL);
}

bool mt_timeline_range_action(struct mt_app *app, enum mt_action what)
{
	struct mt_timeline_state *t = &app->timeline;

	switch (what) {
	case MT_ACTION_SELECT:
		if (t->selecting)
			t->selecting = t->extending = false;
		else
			begin(app);
		return true;
	case MT_ACTION_SELECT_FROM: set_end(app, false); return true;
	case MT_ACTION_SELECT_TO: set_end(app, true); return true;
	case MT_ACTION_OTHER_END: other_end(app); return true;
	case MT_ACTION_APPLY: apply(app); return true;
	case MT_ACTION_ALIVE_HERE: mt_timeline_alive_here(app); return true;
	case MT_ACTION_CANCEL:
		if (!t->selecting)
			return false;
		t->selecting = t->extending = false;
		return true;
	default: return false;
	}
}

void mt_timeline_moved(struct mt_app *app)
{
	if (app->timeline.selecting)
		extend(app);
}

/* Drawn with the button held: what is let go is the range. */
void mt_timeline_mouse(struct mt_app *app, const struct mt_input *input, int first_column)
{
	struct mt_timeline_state *t = &app->timeline;
	int column = input->column - first_column, most = (int)t->columns - 1;
	uint32_t cursor = column < 0 ? 0 : (uint32_t)(column > most ? most : column);

	if (input->pressed) {
		t->selecting = t->extending = false;
		t->cursor = cursor;
		t->drag = true;
	} else if (t->drag && input->dragged && (cursor != t->cursor || t->selecting)) {
		if (!t->selecting)
			begin(app);
		t->cursor = cursor;
		extend(app);
	} else if (t->drag && !input->dragged) {
		t->drag = false;
		if (t->selecting)
			apply(app);
	}
}

/* ---- what is selected ---- */

bool mt_timeline_range(const struct mt_app *app, uint64_t *from, uint64_t *to)
{
	const struct mt_timeline_state *t = &app->timeline;
	const struct mt_data *d = &app->data;

	if (t->selecting || (t->sent && t->sent == d->asked && mt_data_pending(d))) {
		*from = t->first_ns;
		*to = t->last_ns;
		return true;
	}
	*from = d->from_ns;
	*to = d->to_ns;
	return d->ranged;
}

bool mt_timeline_columns(const struct mt_app *app, uint32_t *first, uint32_t *behind)
{
	uint64_t from, to, begins, ends;

	mt_timeline_span(app, &begins, &ends);
	if (!mt_timeline_range(app, &from, &to) || from >= ends || to <= begins)
		return false;
	*first = nearest_edge(app, from);
	*behind = nearest_edge(app, to);
	if (*behind <= *first) { /* less than half a column */
		*first = column_at(app, from);
		*behind = *first + 1;
	}
	return true;
}

static void between(const struct mt_app *app, char out[64], uint64_t from, uint64_t to)
{
	char first[MT_NUMBER_EXACT_LEN + 1], last[MT_NUMBER_EXACT_LEN + 1];
	const char *dash = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_DASH);

	snprintf(out, 64, "%s %s %s", from ? seconds(first, from) : "the start", dash,
		to < app->data.whole->info.wall_ns ? seconds(last, to) : "the end");
}

/* An end of a range, where it is none of the run, on the bounds of a step? Else what its step holds
 * is not the range's alone. */
static bool is_on_step(const struct mt_app *app, uint64_t ns)
{
	const struct mt_profile *p = app->data.whole;

	return ns >= p->info.wall_ns || (p->step_ns && ns % p->step_ns == 0);
}

/* Before it is applied, and while that goes on: what the samples of the whole recording know, in
 * whole steps. */
static void draw_selecting(struct mt_app *app, struct mt_rect r, const char *span, uint64_t from,
	uint64_t to)
{
	struct mt_timeline t = {0};
	char words[160], keys[128], allocations[16], frees[16], first[16], last[16];
	const char *about = is_on_step(app, from) && is_on_step(app, to)
			&& !mt_info_is_sampled(&app->data.whole->info)
		? ""
		: "~";

	if (!app->timeline.selecting)
		snprintf(words, sizeof words,
			mt_keymap_words(keys, sizeof keys, "%s   {cancel} cancels"), span);
	else
		snprintf(words, sizeof words,
			mt_keymap_words(keys, sizeof keys,
				r.columns >= 60
					? "selected %s   {apply} applies it   {cancel} drops it"
					: "%s  {apply}  {cancel}"),
			span);
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE_FOCUS, words);
	if (r.rows < 2)
		return;
	mt_timeline_get(&t, app->data.whole, from, to > from ? to : from + 1, 1);
	mt_number_count(allocations, t.count ? t.columns[0].allocations : 0);
	mt_number_count(frees, t.count ? t.columns[0].frees : 0);
	mt_number_size(last, t.count ? t.columns[0].live_bytes : 0);
	mt_number_size(first, t.count ? t.columns[0].max_bytes : 0);
	mt_drawf(app->screen, r.row + 1, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
		"allocations %s%s   frees %s%s   peak %s%s   live at its end %s%s", about,
		allocations, about, frees, about, first, about, last);
	mt_timeline_free(&t);
}

static void draw_applied(struct mt_app *app, struct mt_rect r, const char *span)
{
	struct mt_data *d = &app->data;
	const struct mt_group *sum = &d->selection.sum;
	char words[224], keys[64], gone[64] = "", when[16], size[17], count[17], freed[17];
	char frees[17], live[17], blocks[17];

	if (d->matched.unanswered_ns > d->from_ns) {
		mt_number_time(when, d->matched.unanswered_ns);
		snprintf(gone, sizeof gone, "   blocks freed before %s are missing", when);
	}
	snprintf(words, sizeof words,
		mt_keymap_words(keys, sizeof keys,
			r.columns >= 60 ? "in %s   {all-times} clears it%s"
					: "in %s  {all-times}%s"),
		span, gone);
	mt_draw_rule(app->screen, r.row, r.column, r.columns,
		*gone ? MT_ROLE_RULE_FOCUS : MT_ROLE_RULE, words);
	if (r.rows < 2)
		return;
	mt_data_metric(blocks, d, sum, MT_METRIC_RANGE_LIVE_COUNT);
	mt_drawf(app->screen, r.row + 1, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
		r.columns >= 90
			? "allocated %s in %s   of these freed %s in %s   live at its end %s in "
			  "%s %s"
			: "allocated %s in %s   freed %s in %s   live at end %s in %s",
		mt_data_metric(size, d, sum, MT_METRIC_SIZE),
		mt_data_metric(count, d, sum, MT_METRIC_ALLOCATED_COUNT),
		mt_data_metric(freed, d, sum, MT_METRIC_RANGE_FREED_SIZE),
		mt_data_metric(frees, d, sum, MT_METRIC_RANGE_FREED_COUNT),
		mt_data_metric(live, d, sum, MT_METRIC_RANGE_LIVE_SIZE), blocks,
		MT_PLURAL(blocks, "block"));
}

static void draw_alive(struct mt_app *app, struct mt_rect r, const char *at)
{
	struct mt_data *d = &app->data;
	const struct mt_group *sum = &d->selection.sum;
	char size[17], count[17], live[17], blocks[17], words[128], keys[80];

	if (!strcmp(at, "peak"))
		mt_keymap_words(words, sizeof words,
			"blocks live at the peak of the heap   {all-times} clears it");
	else
		snprintf(words, sizeof words,
			mt_keymap_words(keys, sizeof keys,
				"blocks live at %.40s   {all-times} clears it"),
			at);
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE, words);
	if (r.rows < 2)
		return;
	mt_data_metric(count, d, sum, MT_METRIC_ALLOCATED_COUNT);
	mt_drawf(app->screen, r.row + 1, r.column + 1, r.columns - 1, MT_ROLE_TEXT,
		"%s in %s %s   of these never freed %s in %s",
		mt_data_metric(size, d, sum, MT_METRIC_SIZE), count, MT_PLURAL(count, "block"),
		mt_data_metric(live, d, sum, MT_METRIC_LEAKED_SIZE),
		mt_data_metric(blocks, d, sum, MT_METRIC_LEAKED_COUNT));
}

bool mt_timeline_has_legend(const struct mt_app *app)
{
	uint64_t from, to;

	return mt_timeline_range(app, &from, &to)
		|| mt_filter_get(app->data.filter, MT_FILTER_ALIVE_AT);
}

void mt_timeline_legend(struct mt_app *app, struct mt_rect r)
{
	const char *alive_at = mt_filter_get(app->data.filter, MT_FILTER_ALIVE_AT);
	uint64_t from, to;
	char span[64];

	if (mt_timeline_range(app, &from, &to)) {
		between(app, span, from, to);
		if (app->timeline.selecting || mt_data_pending(&app->data))
			draw_selecting(app, r, span, from, to);
		else
			draw_applied(app, r, span);
	} else if (alive_at) {
		draw_alive(app, r, alive_at);
	}
}
