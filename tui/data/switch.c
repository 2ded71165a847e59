#include "tui/data/switch.h"
#include "core/base/buffer.h"
#include "tui/data/difference.h"
#include "tui/data/job.h"
#include "tui/data/triage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mt_data *mt_app_home(const struct mt_app *app)
{
	return app->home ? app->home : (struct mt_data *)&app->data;
}

/* ---- what is kept, and what is not ---- */

void mt_app_forget_views(struct mt_app *app)
{
	unsigned level = app->tree.level;

	mt_tree_state_free(&app->tree);
	app->tree = (struct mt_tree_state){.level = level};
	mt_detail_free(&app->detail);
	app->detail = (struct mt_detail_state){0};
	app->groups = (struct mt_groups_state){0};
	app->overview = (struct mt_overview_state){0};
	app->timeline = (struct mt_timeline_state){0};
	app->hit_count = 0;
	app->back_count = 0;
	for (int i = 0; i < MT_VIEW_COUNT; i++)
		if (mt_app_view((enum mt_view_id)i)->leave)
			mt_app_view((enum mt_view_id)i)->leave(app);
}

static void turn(struct mt_app *app)
{
	enum mt_view_id id = app->before;

	app->view = id == MT_VIEW_DETAIL || id == MT_VIEW_PROCESSES || id == MT_VIEW_OUTPUT
		? MT_VIEW_MAIN
		: id;
	app->back_count = 0;
	if (app->view != MT_VIEW_MAIN)
		app->back[app->back_count++] = MT_VIEW_MAIN;
}

/* Takes next's contents. The filter, the order and the view stay. */
static void show(struct mt_app *app, struct mt_data *next, const char *words)
{
	struct mt_data *d = &app->data;
	enum mt_metric sort = d->sort;
	bool ascending = d->ascending, sort_all = d->sort_all, inverted = d->inverted;
	uint64_t generation = d->generation, asked = d->asked;
	char *filter = mt_data_wanted(d), from[16];
	const char *gone = mt_difference_snapshots(app) ? "; snapshots dropped" : "";
	struct mt_err err = {0};

	snprintf(from, sizeof from, d->members.count ? "all" : "%u", d->whole->info.pid);
	mt_app_forget_views(app);
	if (app->home || !(d->client || d->members.count)) {
		mt_data_free(d);
	} else {
		app->home = mt_alloc(sizeof *app->home);
		if (d->client && !d->recorder_gone)
			mt_client_interval(d->client, 0);
		mt_data_move(app->home, d);
	}
	mt_data_move(d, next);
	mt_triage_turn(app);
	d->sort = sort;
	d->ascending = ascending;
	d->sort_all = sort_all;
	d->inverted = inverted;
	d->generation = generation + 1;
	d->asked = asked + 1;
	turn(app);
	if (mt_data_filter(d, filter, &err) < 0)
		mt_app_say(app, "showing %s%s; filter removed: %s", words, gone, err.text);
	else
		mt_app_say(app, "showing %s; {processes}, then {open} on %s: back%s", words, from,
			gone);
	mt_data_select(d);
	free(filter);
}

/* ---- the thread ---- */

struct target {
	struct mt_data data;
	char *session, *path, *words;
	pid_t process;
	unsigned frame_ms;
};

static int open_target(struct mt_job *job, void *context, struct mt_err *err)
{
	struct target *t = context;

	return t->process ? mt_data_attach(&t->data, t->session, t->process, t->frame_ms, err)
			  : mt_data_open(&t->data, t->path, mt_job_tell, job, err);
}

static void take_target(struct mt_app *app, void *context, int result, const struct mt_err *err)
{
	struct target *t = context;

	if (app && result >= 0)
		show(app, &t->data, t->words);
	else if (app && result != -ECANCELED)
		mt_app_say(app, "%s", err->text);
	mt_data_free(&t->data);
	free(t->session);
	free(t->path);
	free(t->words);
	free(t);
}

/* Home is there still. */
static void go_home(struct mt_app *app, const char *words)
{
	struct mt_data *home = app->home;
	struct mt_data next;

	if (home->client && !home->recorder_gone)
		mt_client_interval(home->client, app->frame_ms);
	mt_data_move(&next, home);
	mt_data_update(&next, true);
	show(app, &next, words); /* home is set: what was shown is freed */
	mt_data_free(&next);
	free(home);
	app->home = NULL;
}

void mt_switch_to(struct mt_app *app, pid_t process, const char *trace_path, const char *words)
{
	static const struct mt_work work = {open_target, take_target,
		"opening the process's recording"};
	struct mt_data *home = mt_app_home(app);
	struct target *t;

	if (app->difference && app->difference->own_path) {
		mt_app_say(app,
			"you are comparing two traces; open one alone to see other processes");
		return;
	}
	if (app->home
		&& (home->members.count
				? !*trace_path
				: process && process == mt_client_entry(home->client)->program)) {
		go_home(app, words);
		return;
	}
	t = mt_alloc(sizeof *t);
	mt_data_init(&t->data);
	t->data.wrappers = app->wrappers;
	t->process = process;
	t->session = home->client ? mt_strdup(mt_client_entry(home->client)->name) : NULL;
	t->path = mt_strdup(trace_path);
	t->words = mt_strdup(words);
	t->frame_ms = app->frame_ms;
	mt_job_start(app, &work, t);
}

void mt_switch_free(struct mt_app *app)
{
	if (app->home)
		mt_data_free(app->home);
	free(app->home);
}
