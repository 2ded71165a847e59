#include "tui/data/difference.h"
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/query/filter_match.h"
#include "tui/data/job.h"
#include "tui/data/switch.h"
#include "tui/data/triage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MS 100

struct mt_difference *mt_difference_of(struct mt_app *app)
{
	if (!app->difference) {
		app->difference = mt_alloc(sizeof *app->difference);
		app->difference->baseline = UINT32_MAX;
	}
	return app->difference;
}

/* Both sides are what was live at an instant: all of what matched, whether it was freed later or
 * not. */
static bool of_instants(const struct mt_app *app)
{
	const struct mt_difference *d = app->difference;

	return d && !d->own_path && d->baseline < d->then_count
		&& strstr(d->then[d->baseline].filter, "alive_at:")
		&& mt_filter_get(app->data.filter, MT_FILTER_ALIVE_AT);
}

enum mt_metric mt_difference_metric(const struct mt_app *app)
{
	/* a score is of one recording */
	enum mt_metric sort =
		app->data.sort == MT_METRIC_SUSPECT ? MT_METRIC_LEAKED_SIZE : app->data.sort;

	if (of_instants(app))
		return sort == MT_METRIC_LEAKED_SIZE ? MT_METRIC_SIZE
			: sort == MT_METRIC_LEAKED_COUNT
			? MT_METRIC_ALLOCATED_COUNT
			: sort;
	return sort;
}

const char *mt_difference_words(const struct mt_app *app)
{
	enum mt_metric metric = mt_difference_metric(app);

	if (of_instants(app) && (metric == MT_METRIC_SIZE || metric == MT_METRIC_ALLOCATED_COUNT))
		return metric == MT_METRIC_SIZE ? "bytes live" : "blocks live";
	return mt_metric_info(&app->data.profile, metric)->words;
}

/* ---- snapshots ---- */

static void free_then(struct mt_totals_then *t)
{
	free(t->groups);
	free(t->late);
	free(t->filter);
	*t = (struct mt_totals_then){0};
}

static void forget_then(struct mt_difference *d, uint32_t index)
{
	free_then(&d->then[index]);
	memmove(&d->then[index], &d->then[index + 1],
		(d->then_count - index - 1) * sizeof *d->then);
	d->then[--d->then_count] = (struct mt_totals_then){0};
	if (d->baseline != UINT32_MAX && d->baseline > index)
		d->baseline--;
}

/* When what is shown was: the moment that a filter asks for, else the end of what is known. */
static uint64_t shown_time(const struct mt_app *app)
{
	struct mt_filter_bounds bounds = {0};
	uint64_t time = app->data.whole->info.wall_ns;

	if (mt_data_is_matched(&app->data)
		&& mt_filter_compile(&bounds, app->data.filter, app->data.whole, NULL) == 0) {
		if (bounds.alive_at_peak)
			time = app->data.whole->info.peak_ns;
		else if (mt_filter_get(app->data.filter, MT_FILTER_ALIVE_AT))
			time = bounds.alive_at_ns < time ? bounds.alive_at_ns : time;
		else if (bounds.to_ns < time)
			time = bounds.to_ns;
	}
	mt_filter_bounds_free(&bounds);
	return time;
}

static struct mt_totals_then *take(struct mt_app *app)
{
	struct mt_difference *d = mt_difference_of(app);
	const struct mt_profile *p = &app->data.profile;
	struct mt_totals_then *t;

	if (d->then_count == MT_SNAPSHOTS)
		forget_then(d, d->baseline == 0 ? 1 : 0);
	t = &d->then[d->then_count++];
	*t = (struct mt_totals_then){
		.number = ++d->numbers,
		.time_ns = shown_time(app),
		.group_count = p->group_count,
		.info = p->info,
	};
	t->filter =
		mt_data_is_matched(&app->data) ? mt_filter_text(app->data.filter) : mt_strdup("");
	t->groups = mt_resize(NULL, ((size_t)p->group_count + 1) * sizeof *t->groups);
	if (p->group_count)
		memcpy(t->groups, p->groups, (size_t)p->group_count * sizeof *t->groups);
	if (p->late) {
		t->late = mt_resize(NULL, ((size_t)p->group_count + 1) * sizeof *t->late);
		memcpy(t->late, p->late, (size_t)p->group_count * sizeof *t->late);
	}
	if (d->baseline == UINT32_MAX)
		d->baseline = d->then_count - 1;
	d->change++;
	return t;
}

void mt_difference_snapshot(struct mt_app *app)
{
	struct mt_difference *d = mt_difference_of(app);
	const struct mt_totals_then *t;
	char when[MT_NUMBER_LEN];

	if (d->own_path) {
		mt_app_say(app,
			"snapshots need a single trace; you are comparing two: open one alone");
		return;
	}
	if (mt_data_pending(&app->data)) {
		mt_app_say(app,
			"the filter is still being applied; press {snapshot} again afterwards");
		return;
	}
	t = take(app);
	mt_number_time(when, t->time_ns);
	mt_app_say(app,
		app->data.live || *t->filter
			? "S%u holds the totals at %s; {diff} shows what changes since S%u"
			: "S%u holds the totals at %s; {diff} shows what changes since S%u: filter "
			  "another time ({timeline}, {alive-here})",
		t->number, when, d->then[d->baseline].number);
}

void mt_difference_baseline(struct mt_app *app)
{
	struct mt_difference *d = mt_difference_of(app);
	char when[MT_NUMBER_LEN];

	if (d->own_path) {
		mt_app_say(app, "the baseline is %s; {swap} swaps the traces",
			mt_base_name(d->other_path));
		return;
	}
	if (app->view != MT_VIEW_DIFF || !d->then_count) {
		mt_difference_snapshot(app);
		if (mt_data_pending(&app->data))
			return;
		d->baseline = d->then_count - 1;
	} else {
		d->baseline = (d->baseline + 1) % d->then_count;
	}
	d->change++;
	mt_number_time(when, d->then[d->baseline].time_ns);
	mt_app_say(app,
		app->view == MT_VIEW_DIFF ? "the baseline is S%u, the totals at %s"
					  : "the baseline is S%u, the totals at %s; {diff} shows "
					    "what changes from then on",
		d->then[d->baseline].number, when);
}

static bool compare_then(struct mt_app *app, const char **words)
{
	struct mt_difference *d = app->difference;
	struct mt_data *data = &app->data;
	const struct mt_totals_then *t = &d->then[d->baseline];
	struct mt_profile then = data->profile;
	struct mt_selection selection = {0};
	struct mt_diff_side a = {&then, data->symbols, &selection};
	struct mt_diff_side b = {&data->profile, data->symbols, &data->selection};

	(void)words;
	then.groups = t->groups;
	then.late = t->late;
	then.columns_unknown = true; /* their values are those of now */
	then.group_count = t->group_count < data->profile.group_count
		? t->group_count
		: data->profile.group_count;
	then.info = t->info;
	mt_select(&selection, &then, data->symbols, mt_data_is_matched(data) ? NULL : data->filter,
		MT_METRIC_LEAKED_SIZE, false, NULL);
	mt_diff_since(&d->diff, d->swapped ? &b : &a, d->swapped ? &a : &b,
		mt_difference_metric(app), data->ascending);
	mt_selection_free(&selection);
	return true;
}

/* ---- another trace ---- */

struct reading {
	struct mt_data *data;
	char *path;
};

static int read_other(struct mt_job *job, void *context, struct mt_err *err)
{
	struct reading *r = context;

	return mt_data_open(r->data, r->path, mt_job_tell, job, err);
}

static void take_other(struct mt_app *app, void *context, int result, const struct mt_err *err)
{
	struct reading *r = context;
	struct mt_difference *d = app ? mt_difference_of(app) : NULL;

	if (d && result >= 0) {
		d->other = r->data;
		r->data = NULL;
		mt_data_select(d->other);
		d->change++;
	} else if (d) {
		snprintf(d->error, sizeof d->error, "%s", err->text);
		mt_app_say(app, "%s", err->text);
	}
	if (r->data) {
		mt_data_free(r->data);
		free(r->data);
	}
	free(r->path);
	free(r);
}

void mt_difference_open(struct mt_app *app, const char *path, const char *own_path)
{
	static const struct mt_work work = {read_other, take_other,
		"reading the trace to compare with"};
	struct mt_difference *d = mt_difference_of(app);
	struct reading *r = mt_alloc(sizeof *r);

	d->other_path = mt_strdup(path);
	d->own_path = mt_strdup(own_path);
	r->path = mt_strdup(path);
	r->data = mt_alloc(sizeof *r->data);
	mt_data_init(r->data);
	r->data->wrappers = app->wrappers;
	mt_job_start(app, &work, r);
}

struct pairing {
	struct mt_generation a, b;
	struct mt_diff_pairs pairs;
};

static int pair(struct mt_job *job, void *context, struct mt_err *err)
{
	struct pairing *p = context;
	struct mt_diff_side a = {p->a.profile, p->a.symbols, NULL};
	struct mt_diff_side b = {p->b.profile, p->b.symbols, NULL};

	(void)err; /* none but that nobody wants it any more */
	return mt_diff_pair(&p->pairs, &a, &b, mt_job_progress, job);
}

static void take_pairs(struct mt_app *app, void *context, int result, const struct mt_err *err)
{
	struct pairing *p = context;
	struct mt_difference *d = app ? mt_difference_of(app) : NULL;

	if (d) {
		d->pairing = false;
		app->dirty = true;
		if (result < 0)
			snprintf(d->error, sizeof d->error, "%s", err->text);
	}
	if (d && result >= 0) {
		mt_diff_pairs_free(&d->pairs);
		d->pairs = p->pairs;
		d->paired = true;
		d->error[0] = '\0';
		d->change++;
		p->pairs = (struct mt_diff_pairs){0};
	}
	mt_diff_pairs_free(&p->pairs);
	mt_generation_release(&p->a);
	mt_generation_release(&p->b);
	free(p);
}

static void start_pairing(struct mt_app *app)
{
	static const struct mt_work work = {pair, take_pairs, NULL};
	struct mt_difference *d = app->difference;
	struct pairing *p = mt_alloc(sizeof *p);

	p->a = mt_generation_hold(&d->other->recording->now, true);
	p->b = mt_generation_hold(&app->data.recording->now, true);
	d->names_a = d->other->symbols->generation;
	d->names_b = app->data.symbols->generation;
	d->tried = d->pairing = true;
	mt_job_start(app, &work, p);
}

/* The filter in force holds for both. */
static void filter_other(struct mt_app *app)
{
	struct mt_difference *d = app->difference;
	char *text = mt_filter_text(app->data.filter);
	struct mt_err err = {0};

	if (!d->asked || strcmp(d->asked, text)) {
		free(d->asked);
		d->asked = mt_strdup(text);
		d->error[0] = '\0';
		d->tried = d->paired; /* what failed may be tried again */
		if (mt_data_filter(d->other, text, &err) < 0)
			snprintf(d->error, sizeof d->error, "%s", err.text);
		d->change++;
		app->dirty = true;
	}
	free(text);
}

uint64_t mt_difference_tend(struct mt_app *app, uint64_t now)
{
	struct mt_difference *d = app->difference;

	if (!d || !d->other)
		return UINT64_MAX;
	if (app->data.live || app->data.client || d->other->live) {
		snprintf(d->error, sizeof d->error,
			"a recording in progress cannot be compared with another");
		return UINT64_MAX;
	}
	filter_other(app);
	if (mt_data_busy(d->other) && now >= d->next_ms) {
		d->next_ms = now + NAMES_MS;
		if (mt_data_update(d->other, false))
			app->data_dirty = true;
	}
	if (!d->pairing && !mt_data_busy(d->other) && !mt_data_busy(&app->data)
		&& (!d->tried || d->names_a != d->other->symbols->generation
			|| d->names_b != app->data.symbols->generation))
		start_pairing(app);
	return mt_data_busy(d->other) ? d->next_ms : UINT64_MAX;
}

int mt_difference_fd(const struct mt_app *app)
{
	const struct mt_difference *d = app->difference;

	return d && d->other && d->other->matching ? mt_worker_fd(d->other->matching) : -1;
}

void mt_difference_collect(struct mt_app *app)
{
	struct mt_difference *d = app->difference;
	struct mt_err err = {0};
	int result = mt_data_collect(d->other, &err);

	if (!result)
		return;
	snprintf(d->error, sizeof d->error, "%s", result < 0 ? err.text : "");
	d->change++;
	app->dirty = true;
}

bool mt_difference_busy(const struct mt_app *app)
{
	const struct mt_difference *d = app->difference;

	return d && d->other && !*d->error
		&& (!d->paired || d->pairing || mt_data_pending(d->other));
}

static bool compare_other(struct mt_app *app, const char **words)
{
	struct mt_difference *d = app->difference;
	struct mt_data *b = &app->data, *a = d->other;
	struct mt_diff_side side_a, side_b = {&b->profile, b->symbols, &b->selection};

	*words = *d->error                           ? d->error
		: !a                                 ? "reading the other trace"
		: mt_data_busy(a) || mt_data_busy(b) ? "looking up names, to match the groups"
		: mt_data_pending(a)                 ? "filtering the other trace"
						     : "comparing";
	if (!a || *d->error || !d->paired || mt_data_pending(a))
		return false;
	side_a = (struct mt_diff_side){&a->profile, a->symbols,
		mt_left_out_of(&d->left_out, app, a, &d->pairs)};
	mt_diff_of_pairs(&d->diff, &d->pairs, &side_a, &side_b, mt_difference_metric(app),
		MT_DIFF_AS_RECORDED, b->ascending);
	return true;
}

/* The traces change places, in every view. */
static void swap_traces(struct mt_app *app)
{
	struct mt_difference *d = app->difference;
	struct mt_data *shown = &app->data, from;
	uint64_t generation = shown->generation, asked = shown->asked;
	enum mt_metric sort = shown->sort;
	bool ascending = shown->ascending, inverted = shown->inverted, sort_all = shown->sort_all;
	char *path = d->own_path;

	if (!d->other || d->pairing || mt_data_pending(shown) || mt_data_pending(d->other)) {
		mt_app_say(app, "the traces are still being compared");
		return;
	}
	mt_app_forget_views(app);
	mt_data_move(&from, shown);
	mt_data_move(shown, d->other);
	mt_data_move(d->other, &from);
	shown->sort = sort;
	shown->ascending = ascending;
	shown->inverted = inverted;
	shown->sort_all = sort_all;
	shown->generation = generation + 1;
	shown->asked = asked + 1;
	mt_triage_turn(app);
	mt_data_select(shown);
	mt_data_select(d->other); /* as a whole: what is hidden depends on both */
	mt_diff_pairs_swap(&d->pairs);
	mt_left_out_free(&d->left_out);
	d->own_path = d->other_path;
	d->other_path = path;
	uint64_t names = d->names_a;

	d->names_a = d->names_b;
	d->names_b = names;
	d->list = (struct mt_list){0};
	d->made = false;
	app->view = MT_VIEW_DIFF;
	app->back[app->back_count++] = MT_VIEW_MAIN;
	mt_app_say(app, "A is now %s; B, which all views show, is %s", mt_base_name(d->other_path),
		mt_base_name(d->own_path));
}

void mt_difference_swap(struct mt_app *app)
{
	struct mt_difference *d = mt_difference_of(app);

	if (d->own_path) {
		swap_traces(app);
		return;
	}
	d->swapped = !d->swapped;
	d->change++;
	mt_app_say(app,
		d->swapped ? "A is now, B the snapshot; {swap} swaps again"
			   : "A is the snapshot, B is now; {swap} swaps again");
}

/* ---- either ---- */

static uint64_t identity(const struct mt_diff_entry *e)
{
	return e->group_b != MT_NO_GROUP ? e->group_b : 1ull << 32 | e->group_a;
}

static void make_rows(struct mt_difference *d)
{
	uint32_t at = UINT32_MAX;

	d->rows = mt_resize(d->rows, ((size_t)d->diff.count + 1) * sizeof *d->rows);
	d->row_count = 0;
	for (uint32_t i = 0; i < d->diff.count; i++) {
		if (!d->show_same && d->diff.entries[i].state == MT_DIFF_SAME)
			continue;
		if (identity(&d->diff.entries[i]) == d->list.identity)
			at = d->row_count;
		d->rows[d->row_count++] = i;
	}
	mt_list_keep(&d->list, d->row_count, at);
	if (d->row_count)
		d->list.identity = identity(&d->diff.entries[d->rows[d->list.selected]]);
}

bool mt_difference_make(struct mt_app *app, const char **words)
{
	struct mt_difference *d = mt_difference_of(app);
	uint64_t other = d->other ? d->other->generation : 0;

	*words = NULL;
	if (d->made && d->generation == app->data.generation && d->other_generation == other
		&& d->changes == d->change)
		return true;
	d->made = d->own_path ? compare_other(app, words)
			      : d->baseline != UINT32_MAX && compare_then(app, words);
	if (!d->made) {
		d->row_count = d->list.count = 0;
		return false;
	}
	d->generation = app->data.generation;
	d->other_generation = other;
	d->changes = d->change;
	make_rows(d);
	return true;
}

uint32_t mt_difference_snapshots(const struct mt_app *app)
{
	return app->difference ? app->difference->then_count : 0;
}

void mt_difference_leave(struct mt_app *app)
{
	struct mt_difference *d = app->difference;

	while (d && d->then_count)
		forget_then(d, d->then_count - 1);
	if (d) {
		d->baseline = UINT32_MAX;
		d->numbers = 0;
		d->made = false;
	}
}

void mt_difference_free(struct mt_difference *d)
{
	if (!d)
		return;
	while (d->then_count)
		forget_then(d, d->then_count - 1);
	if (d->other)
		mt_data_free(d->other);
	free(d->other);
	mt_diff_free(&d->diff);
	mt_diff_pairs_free(&d->pairs);
	mt_left_out_free(&d->left_out);
	free(d->rows);
	free(d->asked);
	free(d->other_path);
	free(d->own_path);
	free(d);
}

void mt_difference_marks(struct mt_app *app, struct mt_rect r, uint64_t from, uint64_t to)
{
	const struct mt_difference *d = app->difference;
	char name[16];

	for (uint32_t i = 0; d && i < d->then_count && to > from; i++) {
		const struct mt_totals_then *t = &d->then[i];
		int column = (int)((double)(t->time_ns - from) / (double)(to - from) * r.columns);

		snprintf(name, sizeof name, "S%u", t->number);
		if (t->time_ns < from || t->time_ns > to)
			continue;
		if (column > r.columns - (int)strlen(name))
			column = r.columns - (int)strlen(name);
		mt_draw(app->screen, r.row, r.column + column, (int)strlen(name),
			i == d->baseline ? MT_ROLE_PROMPT : MT_ROLE_RANGE, name);
	}
}
