/* From the three commands to the running program, and back with the terminal as it was. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/query/filter_match.h"
#include "core/query/wrappers.h"
#include "tui/app.h"
#include "tui/command/commands.h"
#include "tui/data/difference.h"
#include "tui/data/job.h"
#include "tui/data/switch.h"
#include "tui/data/triage.h"
#include "tui/ending.h"
#include "tui/terminal/theme.h"
#include "tui/user/config.h"
#include "tui/user/keymap.h"
#include "tui/user/restore.h"
#include "tui/user/theme_menu.h"
#include "tui/user/unsaved.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* profile: of what is shown; NULL: only the built-in columns are known. */
static int take_sort(enum mt_metric *sort, const struct mt_profile *profile,
	const struct mt_ui_options *o, struct mt_err *err)
{
	return o->sort ? mt_options_metric(sort, profile, o->sort, err) : 0;
}

/* Of a recording that runs, before there is one: it has no columns of its own. */
static int check_live_filter(const struct mt_ui_options *o, struct mt_err *err)
{
	struct mt_filter *filter = mt_filter_new();
	char *text = o->filter(o->filter_of, NULL, err);
	int result = text ? mt_filter_parse(filter, text, err) : -EBADRQC;

	mt_filter_free(filter);
	free(text);
	return result;
}

/* Of a saved one, which says what its columns are. Returns what mt_data_filter does. */
static int take_filter(struct mt_data *data, const struct mt_ui_options *o, struct mt_err *err)
{
	char *text = o->filter(o->filter_of, data->whole, err);
	int result = text ? mt_data_filter(data, text, err) : -EBADRQC;

	free(text);
	return result;
}

static int check_options(const struct mt_ui_options *o, bool live, struct mt_err *err)
{
	enum mt_metric ignored;
	int result = live ? check_live_filter(o, err) : 0;

	/* A recording may have columns of its own; one that runs has none. */
	if (!result && live)
		result = take_sort(&ignored, NULL, o, err);
	return result ? result : mt_screen_check(err);
}

/* A file that was asked for must be there; the user's own is said to be wrong, and memtui goes
 * on. */
static int take_keymap(struct mt_app *app, const char *path, struct mt_err *err)
{
	struct mt_faults faults = {0};
	struct mt_buffer conflicts = {0};
	struct mt_err unread = {0};
	char text[256];
	int code = mt_keymap_load(path, &faults, &unread);

	if (code)
		mt_app_say(app, "%s", unread.text);
	if (faults.count) {
		mt_faults_first(&faults, text, sizeof text);
		mt_app_say(app, "%s", text);
	}
	if (mt_keymap_conflicts(&conflicts))
		for (char *next = (char *)conflicts.data; *next;)
			mt_log_note(app, strsep(&next, "\n"));
	mt_faults_free(&faults);
	mt_buffer_free(&conflicts);
	return code && path ? mt_fail(err, code, "%s", unread.text) : 0;
}

/* The settings; what is wrong in them is said, and left out. */
static void take_config(struct mt_app *app)
{
	struct mt_faults faults = {0};
	struct mt_err unread = {0};
	char text[256];

	app->config = mt_alloc(sizeof *app->config);
	mt_config_init(app->config);
	if (mt_config_load(app->config, &faults, &unread) < 0)
		mt_app_say(app, "%s", unread.text);
	if (faults.count) {
		mt_faults_first(&faults, text, sizeof text);
		mt_app_say(app, "%s", text);
	}
	mt_faults_free(&faults);
	mt_chosen_columns_parse(app, app->config->value[MT_SETTING_COLUMNS]);
}

/* The theme that is asked for, or that of the settings; NULL: the usual one. Where the user's own
 * of that name is damaged, it is said, and nobody is kept from working. */
static const char *take_theme(struct mt_app *app, const char *asked)
{
	const struct mt_config *config = app->config;
	struct mt_err unread = {0};
	struct mt_theme theme;

	if (asked || config->given[MT_SETTING_THEME])
		return asked ? asked : config->value[MT_SETTING_THEME];
	if (!mt_theme_load(&theme, NULL, &unread))
		return NULL;
	mt_app_say(app, "%s", unread.text);
	return "mono";
}

/* What the options and the user's files say: before anything is started. */
struct look {
	const char *name; /* of the theme; NULL: the usual one */
	struct mt_theme theme;
};

static int prepare(struct mt_app *app, struct look *look, const struct mt_ui_options *o,
	struct mt_err *err)
{
	*app = (struct mt_app){.pane = MT_VIEW_GROUPS, .tree = {.level = 3}};
	mt_data_init(&app->data);
	app->data.wrappers = app->wrappers = mt_wrappers_new();
	take_config(app);
	mt_setup_wrappers(app);
	look->name = take_theme(app, o->theme);
	if (mt_theme_load(&look->theme, look->name, err) < 0)
		return err->code;
	return take_keymap(app, o->keymap, err);
}

static int start(struct mt_app *app, const struct look *look, const struct mt_ui_options *o,
	bool live, struct mt_err *err)
{
	const struct mt_config *config = app->config;
	bool remote = getenv("SSH_CONNECTION") || getenv("SSH_TTY");
	unsigned refresh = mt_config_number(config, MT_SETTING_REFRESH);

	app->frame_ms = o->frame_ms ? o->frame_ms : refresh ? refresh : remote ? 1000 : 250;
	app->data.sort = (enum mt_metric)mt_metric_find(NULL, config->value[MT_SETTING_SORT]);
	if (live)
		take_sort(&app->data.sort, NULL, o, NULL);
	app->data.ascending = mt_config_is(config, MT_SETTING_ORDER, "asc");
	mt_triage_begin(app, o->triage);
	app->data.sort_all = o->sort_all;
	app->screen = mt_screen_open(&look->theme,
		o->ascii ? o->ascii : config->value[MT_SETTING_ASCII], err);
	if (!app->screen)
		return err->code ? err->code : -EIO;
	mt_screen_mouse(app->screen, mt_config_is(config, MT_SETTING_MOUSE, "on"));
	mt_screen_set_graphs(app->screen, mt_graphs_find(config->value[MT_SETTING_GRAPHS]));
	mt_themes_begin(app, look->name);
	return 0;
}

static void finish(struct mt_app *app)
{
	mt_screen_close(app->screen);
	mt_program_free(app->program);
	mt_jobs_free(app->jobs);
	mt_triage_end(app);
	mt_log_free(app->log);
	mt_processes_free(app->processes);
	mt_difference_free(app->difference);
	mt_switch_free(app);
	mt_themes_free(app);
	mt_tree_state_free(&app->tree);
	mt_icicle_state_free(app->icicle);
	mt_blocks_state_free(app->blocks);
	mt_detail_free(&app->detail);
	mt_prompt_free(&app->prompt);
	mt_overlay_close(app);
	mt_restore_free(app);
	free(app->config);
	free(app->unsaved);
	free(app->part_of);
	free(app->shown_trace);
	free(app->home_trace);
	mt_data_free(&app->data);
	mt_wrappers_free(app->wrappers);
}

/* A signal that ended memtui ends it as it would have, now that the terminal is as before. */
static void end_by_signal(int number)
{
	if (!number)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

static void say_left(pid_t program, const char *trace_path)
{
	mt_command_say(
		"process %d keeps running, recorded into %s; 'memtui attach %d' returns to it",
		(int)program, trace_path, (int)program);
}

static void say_stopped(const struct mt_session *session)
{
	const char *trouble = mt_session_trouble(session);

	if (trouble)
		mt_command_say("%s", trouble);
	mt_command_say("process %d keeps running, no longer recorded; the recording is %s",
		(int)session->program, session->trace_path);
}

/* ---- open ---- */

struct loading {
	struct mt_app *app;
	const char *path;
	uint64_t last_ms, first_ms;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A line with the percentage, ten times a second; Esc, q and ^C cancel. */
static int on_progress(void *context, const char *what, double fraction)
{
	struct loading *loading = context;
	struct mt_screen *s = loading->app->screen;
	uint64_t now = now_ms();
	struct pollfd keys = {.fd = mt_screen_fd(s), .events = POLLIN};
	char byte;

	if (fraction < 0 || now - loading->last_ms < 100)
		return 0;
	loading->last_ms = now;
	mt_screen_resize(s);
	mt_screen_begin(s);
	mt_drawf(s, 0, 0, mt_screen_columns(s), MT_ROLE_TEXT, "%s %s", what, loading->path);
	mt_drawf(s, 1, 0, mt_screen_columns(s), MT_ROLE_TEXT, "%3.0f %%   Esc cancels",
		fraction * 100);
	mt_screen_end(s);
	if (poll(&keys, 1, 0) == 1 && read(keys.fd, &byte, 1) == 1
		&& (byte == 27 || byte == 'q' || byte == 3))
		return 1;
	return 0;
}

static bool can_be_read(const char *path, struct mt_err *err)
{
	return !strcmp(path, "-") || access(path, R_OK) == 0 || mt_fail_open(err, path) == 0;
}

/* The difference is what two traces were opened for. */
static void compare_with(struct mt_app *app, const char *baseline, const char *trace_path)
{
	mt_difference_open(app, baseline, trace_path);
	app->view = MT_VIEW_DIFF;
	app->back[app->back_count++] = MT_VIEW_MAIN;
}

int mt_ui_open(const char *trace_path, const struct mt_ui_options *options, struct mt_err *err)
{
	struct mt_app app;
	char recordings[MT_NUMBER_OF_LEN];
	struct loading loading = {&app,
		options->set_count ? mt_number_of(recordings, options->set_count, "recording")
				   : trace_path,
		0, 0};
	struct look look;
	sigset_t old;
	int result = check_options(options, false, err), number = 0;

	if (result)
		return result;
	if ((!options->set_count && !can_be_read(trace_path, err))
		|| (options->baseline && !can_be_read(options->baseline, err)))
		return err->code;
	mt_loop_block(&old);
	result = prepare(&app, &look, options, err);
	if (!result)
		result = start(&app, &look, options, false, err);
	loading.last_ms = now_ms();
	if (!result)
		result = options->set_count
			? mt_data_open_set(&app.data, options->set, options->set_count,
				options->by_process ? MT_SET_BELOW_PROCESSES : MT_SET_STACKS,
				options->cache, on_progress, &loading, err)
			: mt_data_open(&app.data, trace_path, on_progress, &loading, err);
	if (!result && (app.data.unread || app.data.troubles))
		mt_app_say(&app, "%s", app.data.unread ? app.data.unread : app.data.troubles);
	if (!result)
		result = take_sort(&app.data.sort, app.data.whole, options, err);
	if (!result)
		result = take_filter(&app.data, options, err);
	if (result >= 0 && options->baseline)
		compare_with(&app, options->baseline, trace_path);
	if (result >= 0) {
		mt_restore_begin(&app, options);
		mt_welcome(&app);
		result = mt_loop_run(&app, err);
		mt_restore_keep(&app);
		number = app.signal;
	}
	finish(&app);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	end_by_signal(number);
	return result == -ECANCELED ? 0 : result;
}

/* ---- attach ---- */

static int show_session(struct mt_app *app, const char *name, pid_t process,
	const struct mt_ui_options *options, struct mt_err *err)
{
	int result = mt_data_attach(&app->data, name, process, app->frame_ms, err);

	if (result)
		return result;
	result = take_filter(&app->data, options, err);
	if (result < 0)
		return result;
	*(process ? &app->part_of : &app->unsaved) =
		mt_unsaved_directory(mt_client_entry(app->data.client)->trace_path);
	mt_data_select(&app->data);
	mt_program_open(app);
	mt_restore_begin(app, options);
	mt_welcome(app);
	result = mt_loop_run(app, err);
	mt_restore_keep(app);
	mt_screen_close(app->screen);
	app->screen = NULL;
	app->shown_trace = mt_ending_shown_trace(app);
	app->home_trace = mt_ending_home_trace(app);
	if (!result && app->outcome == MT_OUTCOME_END)
		mt_ending_end(app, !process);
	return result;
}

int mt_ui_attach(const char *session_name, pid_t process, const struct mt_ui_options *options,
	struct mt_err *err)
{
	struct mt_app app;
	struct look look;
	sigset_t old;
	int result = check_options(options, true, err), number;

	if (result)
		return result;
	mt_loop_block(&old);
	result = prepare(&app, &look, options, err);
	if (!result)
		result = start(&app, &look, options, true, err);
	if (!result)
		result = show_session(&app, session_name, process, options, err);
	if (!result) {
		const struct mt_session_entry *entry = mt_client_entry(mt_app_home(&app)->client);

		if (app.outcome == MT_OUTCOME_LEAVE && !app.signal)
			say_left(entry->program, app.home_trace);
		else if (app.outcome != MT_OUTCOME_LEAVE && app.unsaved)
			result = mt_ending_take_fate(&app, err);
		else if (app.outcome != MT_OUTCOME_LEAVE && app.fate == MT_FATE_SAVE)
			result = mt_ending_save_part(&app, err);
		else if (app.outcome != MT_OUTCOME_LEAVE)
			mt_command_say("the recording is %s", app.home_trace);
	}
	number = app.signal;
	finish(&app);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	end_by_signal(number);
	return result;
}

/* ---- run ---- */

static int end_session(struct mt_app *app, const struct mt_ui_options *o, int *exit_status,
	struct mt_err *err)
{
	struct mt_err failed = {0};
	int status = app->wait_status, result = 0;

	if (app->outcome == MT_OUTCOME_LEAVE && mt_app_stopped(app)) {
		say_stopped(app->session);
		*exit_status = 0;
		return 0;
	}
	if (app->outcome == MT_OUTCOME_LEAVE && !app->program_ended) {
		say_left(app->session->program, app->session->trace_path);
		*exit_status = 0;
		return 0;
	}
	if (!app->session->attached && mt_app_home(app)->recorder_gone && !app->program_ended
		&& mt_session_poll(app->session, &status) != 1)
		fprintf(stderr,
			"memtui: the recorder is gone; process %d is still running, waiting for "
			"it to exit\n",
			(int)app->session->program);
	*exit_status = mt_session_wait(app->session, &status, &failed);
	if (failed.code)
		result = mt_fail(err, failed.code, "%s", failed.text);
	if (app->session->detached)
		mt_command_say("process %d keeps running, no longer recorded",
			(int)app->session->program);
	if (o->output && o->close) {
		struct mt_err unread = {0};

		if (o->close(app->session, o->output, status, &unread) < 0)
			mt_command_say("%s", unread.text);
	} else if (app->session->going_on) {
		char others[MT_NUMBER_OF_LEN];

		mt_command_say("still recording %s, into files beside %s",
			mt_number_of(others, app->session->going_on, "other process"),
			app->session->trace_path);
	}
	if (app->unsaved && app->outcome == MT_OUTCOME_LEAVE && app->signal)
		mt_command_say("the recording stays in %s; 'memtui sessions' lists it",
			app->unsaved);
	if (!app->unsaved || (app->outcome == MT_OUTCOME_LEAVE && app->signal))
		return result;
	if (failed.code && app->fate != MT_FATE_DISCARD)
		mt_command_say("%s", failed.text); /* err may have to tell where the trace is */
	int code = mt_ending_take_fate(app, err);

	return code ? code : result;
}

/* Nothing could be shown: the program goes on, as its user asked for it to run. Why is said at
 * once, as it may run for long. */
static int wait_unseen(struct mt_session *session, int *exit_status, struct mt_err *err)
{
	struct mt_err ignored = {0};
	int status, code = err->code, program = (int)session->program;

	mt_session_unwatched(session);
	if (session->attached) { /* it was recorded for the screen's sake */
		mt_session_detach(session->name, &ignored);
		*exit_status = mt_session_wait(session, &status, &ignored);
		return code;
	}
	if (mt_session_poll(session, &status))
		mt_command_say("%s", err->text);
	else
		mt_command_say("%s; the program keeps running, and 'memtui attach %d' shows it",
			err->text, program);
	*exit_status = mt_session_wait(session, &status, &ignored);
	return mt_fail(err, code,
		"so the program was recorded without a screen; 'memtui open %s' shows the "
		"recording",
		session->trace_path);
}

static int run_session(struct mt_app *app, const struct look *look, struct mt_session *session,
	const struct mt_ui_options *o, int *exit_status, struct mt_err *err)
{
	sigset_t old;
	int result;

	mt_loop_block(&old);
	result = start(app, look, o, true, err);
	app->session = session;
	if (!result)
		result = show_session(app, session->name, 0, o, err);
	mt_screen_close(app->screen);
	app->screen = NULL;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (result < 0)
		return wait_unseen(session, exit_status, err);
	return end_session(app, o, exit_status, err);
}

int mt_ui_run(const struct mt_session_options *session_options, const struct mt_ui_options *options,
	int *exit_status, struct mt_err *err)
{
	struct mt_session_options with = *session_options;
	struct mt_session session = {0};
	struct mt_app app;
	struct look look;
	unsigned short rows, columns;
	char *cache = NULL;
	int result = check_options(options, true, err), number;

	*exit_status = 1;
	if (result)
		return result;
	if (!options->output) {
		cache = mt_unsaved_begin(err);
		if (!cache)
			return err->code;
		with.output = cache;
	} else {
		with.output = options->output;
	}
	mt_screen_size(&rows, &columns);
	with.watched = true;
	with.pty = !options->tty && !with.attach;
	with.terminal = options->tty;
	with.rows = rows > 10 ? rows - 4 : 6;
	with.columns = columns;
	result = prepare(&app, &look, options, err);
	if (!result)
		result = mt_session_start(&session, &with, err);
	if (result < 0 && cache) {
		char *directory = mt_unsaved_directory(cache);

		mt_unsaved_discard(directory);
		free(directory);
	}
	free(cache);
	if (result < 0) {
		finish(&app);
		return result;
	}
	result = run_session(&app, &look, &session, options, exit_status, err);
	number = app.signal;
	finish(&app);
	mt_session_free(&session);
	end_by_signal(number);
	return result;
}
