/* What keys and clicks do, where no view knows better. */
#include "tui/app.h"
#include "tui/data/difference.h"
#include "tui/data/job.h"
#include "tui/data/lost.h"
#include "tui/data/triage.h"
#include "tui/terminal/clipboard.h"
#include "tui/user/config.h"
#include "tui/user/keymap.h"
#include "tui/user/restore.h"
#include "tui/user/theme_menu.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

/* clang-format off */
static const struct mt_view *const views[] = {
#define X(id, name) &mt_view_##name,
	MT_TABS(X)
#undef X
	&mt_view_detail,
};
/* clang-format on */

static const enum mt_action tabs[] = {
#define X(id, name) MT_ACTION_##id,
	MT_TABS(X)
#undef X
};

enum mt_action mt_app_tab(enum mt_view_id id)
{
	return tabs[id];
}

bool mt_app_has(const struct mt_app *app, enum mt_view_id id)
{
	return id != MT_VIEW_OUTPUT || app->program;
}

const struct mt_view *mt_app_view(enum mt_view_id id)
{
	return views[id];
}

const struct mt_view *mt_app_focus(struct mt_app *app)
{
	return views[app->view == MT_VIEW_MAIN ? app->pane : app->view];
}

bool mt_app_live(const struct mt_app *app)
{
	const struct mt_data *d = app->home ? app->home : &app->data;

	return d->client && !d->recorder_gone && !app->program_ended && !d->profile.info.ended;
}

bool mt_app_stopped(const struct mt_app *app)
{
	const struct mt_data *d = app->home ? app->home : &app->data;

	return app->session && d->client && !d->recorder_gone && !app->program_ended
		&& d->profile.info.ended && d->profile.info.exit_status == -1;
}

bool mt_app_attached(const struct mt_app *app)
{
	const struct mt_data *d = app->home ? app->home : &app->data;

	return d->client && mt_client_entry(d->client)->attached;
}

bool mt_app_runs(const struct mt_app *app)
{
	return mt_app_live(app) || mt_app_stopped(app);
}

uint32_t mt_app_lives_on(const struct mt_app *app)
{
	const struct mt_data *d = app->home ? app->home : &app->data;

	return d->client && !d->recorder_gone && !mt_app_runs(app)
		? mt_client_others(d->client)
		: 0;
}

bool mt_app_pick(struct mt_app *app, struct mt_pick *pick)
{
	const struct mt_view *view = mt_app_focus(app);
	char words[256];

	*pick = (struct mt_pick){.group = MT_NO_GROUP, .frame = UINT32_MAX, .node = MT_NO_NODE};
	if (view->pick)
		view->pick(app, pick);
	if (pick->group != MT_NO_GROUP || pick->branch.function)
		return true;
	if (pick->why)
		mt_app_say(app, "%s", mt_keymap_words(words, sizeof words, pick->why));
	else if (view->pick)
		mt_app_say(app, "nothing is selected here");
	else
		mt_app_say(app, "no group is selected here; {groups} lists the groups");
	return false;
}

uint32_t mt_app_scopes(struct mt_app *app)
{
	uint32_t scopes = 1u << MT_SCOPE_MOVE | 1u << MT_SCOPE_FOLD | 1u << MT_SCOPE_VIEWS
		| 1u << MT_SCOPE_FIND | 1u << MT_SCOPE_APP | 1u << MT_SCOPE_OUT;

	if (mt_app_live(app) || app->data.recording->import)
		scopes |= 1u << MT_SCOPE_LIVE;
	return scopes | mt_app_focus(app)->scopes;
}

void mt_app_say(struct mt_app *app, const char *format, ...)
{
	char words[512];
	va_list args;

	va_start(args, format);
	vsnprintf(app->message, sizeof app->message, mt_keymap_words(words, sizeof words, format),
		args);
	va_end(args);
	mt_log_note(app, app->message);
}

void mt_app_go(struct mt_app *app, enum mt_view_id id)
{
	if (app->view == id)
		return;
	if (app->back_count == sizeof app->back / sizeof *app->back) {
		for (uint32_t i = 1; i < app->back_count; i++)
			app->back[i - 1] = app->back[i];
		app->back_count--;
	}
	app->back[app->back_count++] = app->view;
	app->view = id;
}

/* To a view by its number: the way back is the main screen. */
static void turn_to(struct mt_app *app, enum mt_view_id id)
{
	if (!mt_app_has(app, id)) {
		mt_app_say(app,
			mt_app_live(app)
				? "memtui does not show this program's terminal; 'memtui run' does"
				: "only 'memtui run' shows the program's output");
		return;
	}
	if (app->view != id)
		app->before = app->view;
	app->view = id;
	app->back_count = 0;
	if (id != MT_VIEW_MAIN)
		app->back[app->back_count++] = MT_VIEW_MAIN;
}

void mt_app_back(struct mt_app *app)
{
	if (app->back_count)
		app->view = app->back[--app->back_count];
	else
		mt_quit(app);
}

uint32_t mt_app_follow(struct mt_app *app, uint32_t *shown, uint32_t selected, uint32_t count)
{
	app->following = shown;
	if (app->rested || app->followed != shown || *shown >= count)
		*shown = selected;
	app->follows = *shown != selected;
	return *shown;
}

void mt_app_open_group(struct mt_app *app, uint32_t group)
{
	app->detail.group = group;
	mt_app_go(app, MT_VIEW_DETAIL);
}

static void sort_beside(struct mt_app *app, int by)
{
	int count = (int)mt_metric_count(&app->data.profile);
	int metric = ((int)app->data.sort + by + count) % count;

	mt_data_sort(&app->data, (enum mt_metric)metric, app->data.ascending);
	mt_app_say(app, "sorted by %s", mt_metric_info(&app->data.profile, app->data.sort)->words);
}

static void suspects(struct mt_app *app)
{
	enum mt_metric metric =
		app->data.sort == MT_METRIC_SUSPECT ? MT_METRIC_LEAKED_SIZE : MT_METRIC_SUSPECT;

	mt_data_sort(&app->data, metric, false);
	/* What the key asks for stands in the first line, wherever the cursor was. */
	mt_list_move(&app->groups.list, MT_ACTION_TOP);
	mt_list_move(&app->tree.list, MT_ACTION_TOP);
	mt_list_move(&app->overview.list, MT_ACTION_TOP);
	char why[80];

	if (metric == MT_METRIC_SUSPECT && mt_data_unsampled(&app->data, why, sizeof why)) {
		mt_app_say(app, "sorted by leak score (~ estimates): %s", why);
		return;
	}
	if (metric == MT_METRIC_SUSPECT && mt_data_scores_wait(&app->data)) {
		mt_app_say(app, "sorted by leak score; .. means not known yet%s",
			app->data.live ? ": it takes a few seconds" : "");
		return;
	}
	mt_app_say(app,
		metric == MT_METRIC_SUSPECT ? "sorted by %s; {suspects} again: by bytes not freed"
					    : "sorted by %s; {suspects}: by leak score",
		mt_metric_info(&app->data.profile, metric)->words);
}

static void sort_whole(struct mt_app *app)
{
	app->data.sort_all = !app->data.sort_all;
	mt_data_select(&app->data);
	mt_app_say(app, "sorted by %s values of %s%s",
		app->data.sort_all ? "whole-group" : "filtered",
		mt_metric_info(&app->data.profile, app->data.sort)->name,
		mt_data_is_matched(&app->data) ? ""
					       : "; the filter selects whole groups: no change");
}

static void freeze(struct mt_app *app)
{
	mt_data_freeze(&app->data, !app->data.frozen, app->frame_ms);
	mt_app_say(app,
		app->data.frozen ? "view frozen, still recording; {freeze} unfreezes it"
				 : "view updates again");
}

static void pause_recording(struct mt_app *app)
{
	struct mt_data *d = &app->data;
	bool pause = !d->profile.info.paused;

	if (!d->live || !d->client) {
		mt_app_say(app, "nothing is being recorded");
		return;
	}
	mt_client_pause(d->client, pause);
	mt_app_say(app,
		pause ? "recording paused: until {pause}, new blocks are left out, but frees count"
		      : "recording resumed");
}

static void change_graphs(struct mt_app *app)
{
	enum mt_graphs next = (mt_screen_graphs(app->screen) + 1) % MT_GRAPHS_COUNT;

	if (!mt_screen_utf8(app->screen)) {
		mt_app_say(app, "this terminal shows only ASCII, so graphs are drawn in ASCII");
		return;
	}
	mt_screen_set_graphs(app->screen, next);
	mt_app_say(app, "graphs are drawn with %s", mt_graphs_name(next));
}

static void follow(struct mt_app *app)
{
	const struct mt_view *view = mt_app_focus(app);

	if (!view->list) {
		mt_app_say(app, "this view has no list to follow");
		return;
	}
	struct mt_list *l = view->list(app);

	l->held = !l->held;
	if (!l->held)
		l->selected = l->top = 0;
	mt_app_say(app,
		l->held ? "this line stays selected"
			: "the selection follows the first line until you move it");
}

static void cancel(struct mt_app *app)
{
	if (mt_data_pending(&app->data)) {
		mt_data_back(&app->data);
		mt_app_say(app, "cancelled: the filter is unchanged");
	} else if (!mt_jobs_cancel(app) && app->view == MT_VIEW_DETAIL) {
		mt_app_back(app);
	}
}

void mt_app_act(struct mt_app *app, enum mt_action what)
{
	if (what == MT_ACTION_NONE || views[app->view]->action(app, what)
		|| mt_triage_action(app, what))
		return;
	for (int id = 0; id < MT_VIEW_TABS; id++)
		if (tabs[id] == what) {
			turn_to(app, (enum mt_view_id)id);
			return;
		}
	switch (what) {
	case MT_ACTION_SETUP: mt_setup_open(app); break;
	case MT_ACTION_COLUMNS: mt_columns_open(app); break;
	case MT_ACTION_SIGNAL: mt_signals_open(app); break;
	case MT_ACTION_FASTER: mt_setup_faster(app, 1); break;
	case MT_ACTION_SLOWER: mt_setup_faster(app, -1); break;
	case MT_ACTION_COPY: mt_clipboard_stack(app); break;
	case MT_ACTION_FRESH: mt_restore_fresh(app); break;
	case MT_ACTION_PALETTE: mt_palette_open(app); break;
	case MT_ACTION_HELP: mt_help_open(app); break;
	case MT_ACTION_WELCOME: mt_overlay_open(app, &mt_overlay_welcome, NULL); break;
	case MT_ACTION_SEARCH: mt_prompt_open(app, MT_PROMPT_SEARCH); break;
	case MT_ACTION_FILTER: mt_prompt_open(app, MT_PROMPT_FILTER); break;
	case MT_ACTION_NEXT_MATCH: mt_prompt_next(app, 1); break;
	case MT_ACTION_PREVIOUS_MATCH: mt_prompt_next(app, -1); break;
	case MT_ACTION_NAMES: app->whole_names = !app->whole_names; break;
	case MT_ACTION_SORT: mt_sort_open(app); break;
	case MT_ACTION_SORT_WHOLE: sort_whole(app); break;
	case MT_ACTION_ALL_TIMES: mt_timeline_all_times(app); break;
	case MT_ACTION_AT_PEAK: mt_timeline_alive_at_peak(app); break;
	case MT_ACTION_SORT_LEFT: sort_beside(app, -1); break;
	case MT_ACTION_SORT_RIGHT: sort_beside(app, 1); break;
	case MT_ACTION_SUSPECTS: suspects(app); break;
	case MT_ACTION_REVERSE:
		mt_data_sort(&app->data, app->data.sort, !app->data.ascending);
		break;
	case MT_ACTION_BACK: mt_app_back(app); break;
	case MT_ACTION_CANCEL: cancel(app); break;
	case MT_ACTION_FOLLOW: follow(app); break;
	case MT_ACTION_SNAPSHOT: mt_difference_snapshot(app); break;
	case MT_ACTION_BASELINE: mt_difference_baseline(app); break;
	case MT_ACTION_FREEZE: freeze(app); break;
	case MT_ACTION_PAUSE: pause_recording(app); break;
	case MT_ACTION_LEAK_CHECK: mt_lost_check(app); break;
	case MT_ACTION_EDITOR: mt_editor_open(app); break;
	case MT_ACTION_THEME: mt_themes_open(app); break;
	case MT_ACTION_GRAPHS: change_graphs(app); break;
	case MT_ACTION_REDRAW: mt_screen_redraw(app->screen); break;
	case MT_ACTION_SUSPEND:
		if (mt_config_is(app->config, MT_SETTING_SUSPEND, "on"))
			app->signal = SIGTSTP;
		else
			mt_app_say(app, "suspend is off; {setup} changes the settings");
		break;
	case MT_ACTION_QUIT: mt_quit(app); break;
	default: break;
	}
}

/* The view with a tab whose keys a scope means; MT_VIEW_COUNT: none of those that there are. */
static enum mt_view_id view_of(struct mt_app *app, enum mt_scope scope)
{
	for (int id = 0; id < MT_VIEW_TABS; id++)
		if (views[id]->scopes & 1u << scope && mt_app_has(app, (enum mt_view_id)id))
			return (enum mt_view_id)id;
	return MT_VIEW_COUNT;
}

void mt_app_run(struct mt_app *app, enum mt_action what)
{
	/* without t */
	enum mt_scope own = mt_action_info(what)->scope;
	enum mt_scope scope = own == MT_SCOPE_JUDGE ? MT_SCOPE_TRIAGE : own;
	struct mt_pick pick;

	if (!(mt_app_scopes(app) & 1u << scope)) {
		enum mt_view_id id = view_of(app, scope);

		if (id != MT_VIEW_COUNT)
			turn_to(app, id);
		else if (scope == MT_SCOPE_DETAIL && mt_app_pick(app, &pick)
			&& pick.group != MT_NO_GROUP)
			mt_app_open_group(app, pick.group);
		else if (!app->message[0])
			mt_app_say(app, "'%s' works only while the program is running",
				mt_action_info(what)->name);
		if (!(mt_app_scopes(app) & 1u << scope))
			return;
	}
	mt_app_act(app, what);
}

/* A key that means nothing here: where it does, or where keys are found. No line in the log: it is
 * no event. */
static void say_meaning(struct mt_app *app, uint32_t code)
{
	uint32_t all = (1u << MT_SCOPE_COUNT) - 1;
	enum mt_action what = mt_keys_action(code, all & ~(1u << MT_SCOPE_JUDGE));

	if (what == MT_ACTION_NONE)
		what = mt_keys_action(code, all);
	enum mt_view_id view =
		what == MT_ACTION_NONE ? MT_VIEW_COUNT : view_of(app, mt_action_info(what)->scope);
	const char *name = what == MT_ACTION_NONE ? "" : mt_action_info(what)->name;
	char key[16], tab[16], words[160];

	if (code == MT_KEY_UNKNOWN || code == MT_KEY_PASTE_BEGIN || code == MT_KEY_PASTE_END)
		return;
	if (app->view == MT_VIEW_OUTPUT && mt_app_runs(app))
		snprintf(words, sizeof words, "does nothing here; %s sends keys to the program",
			mt_action_key(MT_ACTION_KEYBOARD, tab));
	else if (app->view == MT_VIEW_MAIN && view == MT_VIEW_TREE)
		snprintf(words, sizeof words, "(%s) works in the call tree; %s shows it", name,
			mt_action_key(MT_ACTION_NEXT_PANE, tab));
	else if (view != MT_VIEW_COUNT)
		snprintf(words, sizeof words, "(%s) works in %s; %s shows it", name,
			mt_app_view(view)->name, mt_action_key(tabs[view], tab));
	else if (what != MT_ACTION_NONE && mt_action_info(what)->scope == MT_SCOPE_JUDGE)
		snprintf(words, sizeof words,
			"(%s) comes after %s, which judges the selected group", name,
			mt_action_key(MT_ACTION_JUDGE, tab));
	else if (what != MT_ACTION_NONE && mt_action_info(what)->scope == MT_SCOPE_DETAIL)
		snprintf(words, sizeof words, "(%s) works in a group; %s opens one", name,
			mt_action_key(MT_ACTION_OPEN, tab));
	else if (what != MT_ACTION_NONE)
		snprintf(words, sizeof words, "(%s) works only while the program is running", name);
	else
		snprintf(words, sizeof words, "does nothing here; %s lists the keys",
			mt_action_key(MT_ACTION_HELP, tab));
	snprintf(app->message, sizeof app->message, "%s %s", mt_key_name(code, key), words);
}

static void press(struct mt_app *app, uint32_t code)
{
	enum mt_action what = mt_keys_action(code, mt_app_scopes(app));

	if (what == MT_ACTION_NONE)
		say_meaning(app, code);
	else
		mt_app_act(app, what);
}

/* ---- mouse ---- */

static void click_line(struct mt_app *app, const struct mt_hit *hit)
{
	const struct mt_view *view = views[hit->view];
	struct mt_list *l = view->list(app);
	bool again = hit->value == l->selected;

	if (app->view == MT_VIEW_MAIN) {
		again = again && app->pane == hit->view;
		app->pane = hit->view;
	}
	if (hit->value >= l->count)
		return;
	if (again) {
		view->action(app, MT_ACTION_OPEN);
		return;
	}
	view->choose(app, hit->value);
}

static void click(struct mt_app *app, const struct mt_hit *hit)
{
	switch (hit->kind) {
	case MT_HIT_ACTION: mt_app_act(app, (enum mt_action)hit->value); break;
	case MT_HIT_AREA:
	case MT_HIT_LINE: click_line(app, hit); break;
	case MT_HIT_SORT:
		mt_data_sort(&app->data, (enum mt_metric)hit->value,
			(enum mt_metric)hit->value == app->data.sort ? !app->data.ascending
								     : app->data.ascending);
		break;
	case MT_HIT_PANE: app->pane = hit->view; break;
	case MT_HIT_OVERLAY:
		if (app->overlay && app->overlay->click)
			app->overlay->click(app, hit->value);
		break;
	case MT_HIT_COLUMN: views[hit->view]->sort(app, hit->value); break;
	case MT_HIT_MEASURE: app->timeline.measure = hit->value; break;
	case MT_HIT_TIME: break;
	}
}

static void wheel(struct mt_app *app, enum mt_action what)
{
	const struct mt_overlay *overlay = app->overlay;

	if (!overlay) {
		mt_app_act(app, what);
	} else if (overlay->list) {
		mt_list_move(overlay->list(app), what);
		if (overlay->moved)
			overlay->moved(app);
	}
}

static void mouse(struct mt_app *app, const struct mt_input *input)
{
	if (app->view == MT_VIEW_TIMELINE && app->timeline.drag && !input->pressed)
		mt_timeline_mouse(app, input, app->timeline.left);
	if (!input->pressed)
		return;
	if (input->button >= 64) {
		for (int i = 0; i < 3; i++)
			wheel(app, input->button == 64 ? MT_ACTION_UP : MT_ACTION_DOWN);
		return;
	}
	if (input->button != 0)
		return;
	for (uint32_t i = app->hit_count; i-- > 0;) {
		const struct mt_rect *r = &app->hits[i].rect;

		if (input->row >= r->row && input->row < r->row + r->rows
			&& input->column >= r->column && input->column < r->column + r->columns) {
			struct mt_hit hit = app->hits[i];

			/* of a frame before it was there */
			if (app->overlay && hit.kind != MT_HIT_OVERLAY)
				return;
			if (hit.kind == MT_HIT_AREA)
				hit.value = views[hit.view]->at(app, input->row, input->column);
			if (hit.kind == MT_HIT_TIME)
				mt_timeline_mouse(app, input, app->timeline.left = r->column);
			else
				click(app, &hit);
			return;
		}
	}
}

void mt_app_input(struct mt_app *app, const struct mt_input *input)
{
	app->dirty = true;
	/* letting go is no answer to what the click said */
	if (input->code != MT_KEY_MOUSE || input->pressed)
		app->message[0] = '\0';
	mt_restore_give_up(app);
	if (mt_program_typing(app) && !app->overlay) {
		app->dirty = false;
		if (mt_program_type(app, input))
			return;
		app->dirty = true;
	}
	/* Whatever is open: a control key is no text. */
	if (input->code < 32
		&& mt_keys_action(input->code, 1u << MT_SCOPE_APP) == MT_ACTION_SUSPEND) {
		mt_app_act(app, MT_ACTION_SUSPEND);
		return;
	}
	if (input->code == MT_KEY_MOUSE) {
		mouse(app, input);
	} else if (app->overlay) {
		app->overlay->key(app, input);
	} else if (app->prompt.kind != MT_PROMPT_NONE) {
		mt_prompt_key(app, input->code);
	} else {
		press(app, input->code);
	}
}
