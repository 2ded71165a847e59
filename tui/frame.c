/* What surrounds the view: title, tabs, status line, key bar; and what lies on top of it. */
#include "core/export/blind.h"
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/job.h"
#include "tui/terminal/fit.h"
#include "tui/user/keymap.h"
#include "tui/view/guidance.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS_MIN 10
#define NOT_SEEN " not seen: "
#define COLUMNS_MIN 40

void mt_frame_hit(struct mt_app *app, struct mt_rect r, enum mt_hit_kind kind, enum mt_view_id view,
	uint32_t value)
{
	if (app->hit_count < MT_HITS)
		app->hits[app->hit_count++] = (struct mt_hit){r, kind, view, value};
}

const char *mt_frame_function(char *out, size_t len, const struct mt_backtrace_frame *frame)
{
	const char *slash = strrchr(frame->module, '/');

	if (*frame->function || frame->pc < MT_PC_FIRST)
		return frame->function;
	snprintf(out, len, "%s+0x%llx",
		slash                    ? slash + 1
			: *frame->module ? frame->module
					 : "?",
		(unsigned long long)frame->offset);
	return out;
}

void mt_frame_source(char *out, size_t len, const struct mt_backtrace_frame *frame, bool full_path)
{
	const char *path = *frame->source ? frame->source : frame->module;
	const char *slash = strrchr(path, '/');

	if (!full_path && !*frame->source && frame->caller) {
		snprintf(out, len, "in %s", frame->caller);
		return;
	}
	if (!full_path && slash)
		path = slash + 1;
	if (*frame->source && frame->line)
		snprintf(out, len, "%s:%u", path, frame->line);
	else
		snprintf(out, len, "%s", path);
}

void mt_group_text(struct mt_app *app, uint32_t group, char *out, size_t len)
{
	struct mt_backtrace backtrace = {0};
	const struct mt_backtrace_frame *frame;
	char source[256], name[512];

	*out = '\0';
	mt_backtrace_get(&backtrace, &app->data.profile, app->data.symbols, group);
	frame = mt_backtrace_own(&backtrace);
	if (frame) {
		mt_frame_source(source, sizeof source, frame, true);
		snprintf(out, len, "%s %s", mt_frame_function(name, sizeof name, frame), source);
	}
	mt_backtrace_free(&backtrace);
}

void mt_frame_name(struct mt_app *app, int row, int column, int width, enum mt_role role,
	const char *name, bool inlined)
{
	int mark = inlined ? (int)strlen(MT_FRAME_INLINED) : 0;
	int room = width < 2 * mark ? width : width - mark;
	char *fitting = mt_fit_name(name, room, mt_screen_utf8(app->screen), app->whole_names);
	int used = mt_draw(app->screen, row, column, room, role, fitting);

	free(fitting);
	if (room < width)
		mt_draw(app->screen, row, column + used, mark,
			role == MT_ROLE_FUNCTION || role == MT_ROLE_MATCH ? MT_ROLE_DIM : role,
			MT_FRAME_INLINED);
}

#define GAP 2            /* between name and source */
#define SOURCE_SCREEN 26 /* columns from which on a source has room beside the name */

/* Of the columns that name and source have together: the source ends at one of a few stops, so that
 * sources stand below each other and not too far from their names. */
static int stop_of(int width, int wanted)
{
	static const int stops[] = {100, 140};

	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
		if (wanted <= stops[i] && stops[i] < width)
			return stops[i];
	return width;
}

struct mt_frame_place mt_frame_lay_out(int width, int name_width, const char *source)
{
	int source_width = mt_text_width(source), room = width * 2 / 5;

	width = stop_of(width, name_width + GAP + source_width);
	if (width < SOURCE_SCREEN || !source_width)
		return (struct mt_frame_place){.name = width, .source_column = width};
	if (room < width - GAP - name_width)
		room = width - GAP - name_width;
	if (source_width > room)
		source_width = room;
	return (struct mt_frame_place){width - GAP - source_width, width - source_width,
		source_width};
}

void mt_frame_put(struct mt_app *app, int row, int column, const struct mt_frame_place *place,
	enum mt_role role, enum mt_role source_role, const char *name, bool inlined,
	const char *source)
{
	char *fitting = mt_fit_source(source, place->source_width, mt_screen_utf8(app->screen));

	mt_frame_name(app, row, column, place->name, role, name, inlined);
	mt_draw_right(app->screen, row, column + place->source_column, place->source_width,
		source_role, fitting);
	free(fitting);
}

void mt_frame_where(struct mt_app *app, int row, int column, int width, bool selected, bool focus,
	const struct mt_backtrace_frame *frame)
{
	enum mt_role role =
		selected ? focus ? MT_ROLE_SELECTED : MT_ROLE_SELECTED_AWAY : MT_ROLE_FUNCTION;
	struct mt_frame_place place;
	char text[512], of_frame[512];
	const char *name;

	if (!frame || frame->pc == MT_PC_CUT) {
		mt_draw(app->screen, row, column, width, selected ? role : MT_ROLE_DIM,
			frame ? "stack cut here" : "(no stack)");
		return;
	}
	mt_frame_source(text, sizeof text, frame, false);
	name = mt_frame_function(of_frame, sizeof of_frame, frame);
	place = mt_frame_lay_out(width,
		mt_text_width(name) + (frame->inlined ? (int)strlen(MT_FRAME_INLINED) : 0), text);
	mt_frame_put(app, row, column, &place,
		!selected && mt_prompt_matches(app, frame->function) ? MT_ROLE_MATCH : role,
		selected ? role : MT_ROLE_SOURCE, name, frame->inlined, text);
}

struct mt_line mt_frame_line(struct mt_app *app, enum mt_view_id view, struct mt_rect r,
	uint32_t index, bool selected, bool focus)
{
	enum mt_role role = !selected ? MT_ROLE_NUMBER
		: focus               ? MT_ROLE_SELECTED
				      : MT_ROLE_SELECTED_AWAY;

	mt_draw_fill(app->screen, r.row, r.column, r.columns, role);
	mt_draw(app->screen, r.row, r.column, 1, role,
		selected ? mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_CURSOR) : " ");
	mt_frame_hit(app, r, MT_HIT_LINE, view, index);
	return (struct mt_line){r, index, selected, focus, role};
}

int mt_frame_list(struct mt_app *app, enum mt_view_id view, struct mt_rect r, struct mt_list *l,
	bool focus, void (*draw)(struct mt_app *, const struct mt_line *, void *context),
	void *context)
{
	int seen = 0;

	mt_list_fit(l, r.rows);
	for (; seen < r.rows && l->top + (uint32_t)seen < l->count; seen++) {
		uint32_t index = l->top + (uint32_t)seen;
		struct mt_line line = mt_frame_line(app, view,
			(struct mt_rect){r.row + seen, r.column, 1, r.columns}, index,
			index == l->selected, focus);

		draw(app, &line, context);
	}
	return seen;
}

static const char *state_words(const struct mt_app *app)
{
	const struct mt_data *d = &app->data;

	if (d->frozen)
		return "FROZEN";
	if (d->live)
		return d->profile.info.paused ? "PAUSED" : "LIVE";
	if (app->session && !app->home && d->profile.info.ended
		&& d->profile.info.exit_status == -1)
		return mt_session_trouble(app->session) ? "INCOMPLETE"
			: mt_app_stopped(app)           ? "STOPPED"
							: "ENDED";
	return d->profile.info.recorder_lost
			|| (d->recorder_gone && !d->profile.info.ended && !app->program_ended)
		? "INCOMPLETE"
		: app->session || d->client || d->followed
		? "ENDED"
		: "";
}

/* Without the program's directory where there is no room for all: its name says more. */
static const char *fitting(const char *command, int room)
{
	const char *name = command;

	if (mt_text_width(command) <= room)
		return command;
	for (size_t i = 0, len = strcspn(command, " "); i + 1 < len; i++)
		if (command[i] == '/')
			name = command + i + 1;
	return name;
}

#define ATTACHED_COLUMNS 120 /* that have room for when it was */

/* Of a process that memtui came to while it ran: the totals begin then. */
static void describe_attach(char *out, size_t size, const struct mt_info *info, int columns)
{
	time_t seconds = (time_t)(info->start_unix_ns / 1000000000u);
	struct tm parts;
	char when[16];

	*out = '\0';
	if (info->origin != MT_ORIGIN_ATTACHED)
		return;
	if (columns >= ATTACHED_COLUMNS && gmtime_r(&seconds, &parts)
		&& strftime(when, sizeof when, "%H:%M:%SZ", &parts))
		snprintf(out, size, ", recorded since it was attached at %s", when);
	else
		snprintf(out, size, ", attached");
}

static void draw_title(struct mt_app *app, int columns)
{
	const struct mt_data *d = &app->data;
	const struct mt_info *info = &d->profile.info;
	uint64_t lost = mt_data_lost(d);
	char right[128], lost_text[48], count[16], wall[17] = "~", pid[160], others[64] = "";
	char attached[64];
	char state[40] = "", processes[MT_NUMBER_OF_LEN], key[16];
	bool about = mt_info_estimates_times(info);
	int used, width, room;

	mt_number_count(count, lost);
	uint64_t seconds = info->wall_ns / 1000000000u;

	/* whole seconds: the clock alone must not repaint at every frame; later all times are */
	if (d->live && seconds && seconds < 60)
		snprintf(wall + about, sizeof wall - about, "%us", (unsigned)seconds);
	else
		mt_number_time(wall + about, info->wall_ns);
	if (*state_words(app))
		snprintf(state, sizeof state, "%s %s ",
			d->live ? mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_LIVE) : "",
			state_words(app));
	snprintf(lost_text, sizeof lost_text, lost ? "  %s lost " : " ", count);
	snprintf(right, sizeof right, "%s", columns >= 60 ? wall : "");
	width = mt_text_width(right) + mt_text_width(state) + mt_text_width(lost_text) + 1;
	mt_draw_fill(app->screen, 0, 0, columns, MT_ROLE_TITLE);
	describe_attach(attached, sizeof attached, info, columns);
	pid[0] = 0;
	if (d->live && d->client && !d->recorder_gone && mt_client_others(d->client))
		snprintf(others, sizeof others, " +%u more", mt_client_others(d->client));
	else if (!app->home && mt_app_lives_on(app))
		snprintf(others, sizeof others, "  %s still run%s: press %s",
			mt_number_of(processes, mt_app_lives_on(app), "process"),
			mt_app_lives_on(app) == 1 ? "s" : "",
			mt_action_key(MT_ACTION_PROCESSES, key));
	if (columns >= 60 && !d->members.count)
		snprintf(pid, sizeof pid, "  pid %u%s%s",
			info->pid || !d->client ? info->pid
						: (unsigned)mt_client_entry(d->client)->program,
			attached, others);
	used = mt_draw(app->screen, 0, 0, columns, MT_ROLE_TITLE, columns >= 60 ? "memtui  " : "");
	room = columns - used - width - (int)strlen(pid) - 1;
	used += mt_draw(app->screen, 0, used, room, MT_ROLE_TITLE,
		d->command ? fitting(d->command, room) : "");
	mt_draw(app->screen, 0, used, columns - used - width, MT_ROLE_TITLE, pid);
	used = columns - width;
	used += mt_draw(app->screen, 0, used, columns - used, MT_ROLE_LIVE, state);
	used += mt_draw(app->screen, 0, used, columns - used, MT_ROLE_TITLE, right);
	mt_draw(app->screen, 0, used, columns - used, lost ? MT_ROLE_LOST : MT_ROLE_TITLE,
		lost_text);
}

/* What was not seen, in a row of its own: beside it no number says that all is well. Returns the
 * rows that it takes. */
static int draw_blind(struct mt_app *app, int row, int columns)
{
	const struct mt_profile *p = app->data.whole;
	char *sentence = mt_blind_summary(p, false);
	int room = columns - (int)strlen(NOT_SEEN);

	if (!sentence)
		return 0;
	if (mt_text_width(sentence) > room) {
		free(sentence);
		sentence = mt_blind_summary(p, true);
	}
	mt_draw_fill(app->screen, row, 0, columns, MT_ROLE_LOST);
	mt_draw(app->screen, row, 0, columns, MT_ROLE_LOST, NOT_SEEN);
	mt_draw(app->screen, row, (int)strlen(NOT_SEEN), room, MT_ROLE_LOST, sentence);
	free(sentence);
	return 1;
}

/* Of which blocks the metric is that groups stand in the order of. */
static const char *sorted_by(const struct mt_app *app)
{
	if (!mt_data_is_matched(&app->data))
		return "";
	return app->data.sort_all && app->view != MT_VIEW_TREE ? "whole groups: " : "filtered: ";
}

/* How much of the tabs' names there is room for. */
enum names { NAMES_FULL, NAMES_BRIEF, NAMES_NONE };

static int tab_text(char out[64], enum mt_view_id id, bool active, enum names names)
{
	const struct mt_view *view = mt_app_view(id);
	const char *name = names == NAMES_BRIEF && view->brief ? view->brief : view->name;
	char key[16];

	mt_action_key(mt_app_tab(id), key);
	/* "3Tree" is read as a key and a name, "VOver" is not */
	bool close = names == NAMES_BRIEF && isdigit((unsigned char)*key) && !key[1];
	const char *gap = close ? "" : " ";

	if (names == NAMES_NONE && !active)
		return snprintf(out, 64, " %s", key);
	return snprintf(out, 64, active ? "[%s%s%s]" : " %s%s%s", key, gap, name);
}

static int tabs_width(struct mt_app *app, enum mt_view_id open, enum names names)
{
	char text[64];
	int width = 0;

	for (int i = 0; i < MT_VIEW_TABS; i++)
		width += mt_app_has(app, (enum mt_view_id)i)
			? tab_text(text, (enum mt_view_id)i, open == (enum mt_view_id)i, names)
			: 0;
	return width;
}

static void draw_tabs(struct mt_app *app, int columns)
{
	enum mt_view_id open = app->view == MT_VIEW_DETAIL && app->back_count
		? app->back[app->back_count - 1]
		: app->view;
	enum names names = NAMES_FULL;
	int column = 0, room = columns;
	char right[64], text[64];

	if (app->view == MT_VIEW_OUTPUT)
		mt_program_words(app, right, sizeof right);
	else if (app->view == MT_VIEW_DETAIL)
		snprintf(right, sizeof right, "group #%u", app->detail.group);
	else if (app->view == MT_VIEW_BLOCKS)
		snprintf(right, sizeof right, "%s", mt_blocks_order_words(app));
	else
		snprintf(right, sizeof right, "%s%s%s",
			app->data.inverted && columns >= 80 ? "inverted  " : "", sorted_by(app),
			mt_metric_info(&app->data.profile, app->data.sort)->words);
	int beside = *right ? 1 + mt_text_width(right) : 0;

	/* What the program's terminal shows stands nowhere else. An order makes names brief, but
	 * takes none of them away. */
	if (app->view == MT_VIEW_OUTPUT)
		room -= beside;
	else if ((*sorted_by(app) || app->data.inverted)
		&& tabs_width(app, open, names) + beside > columns)
		names = NAMES_BRIEF;
	while (names < NAMES_NONE && tabs_width(app, open, names) > room)
		names++;
	for (int i = 0; i < MT_VIEW_TABS; i++) {
		enum mt_view_id id = (enum mt_view_id)i;
		int used;

		if (!mt_app_has(app, id))
			continue;
		tab_text(text, id, open == id, names);
		used = mt_draw(app->screen, 1, column, columns - column,
			open == id ? MT_ROLE_TAB_ACTIVE : MT_ROLE_TAB, text);
		mt_frame_hit(app, (struct mt_rect){1, column, 1, used}, MT_HIT_ACTION, id,
			(uint32_t)mt_app_tab(id));
		column += used;
	}
	if (columns - column - 1 < mt_text_width(right) && app->data.inverted)
		strcpy(right, "inverted"); /* before the order */
	if (columns - column - 1 >= mt_text_width(right))
		mt_draw_right(app->screen, 1, column + 1, columns - column - 1, MT_ROLE_DIM, right);
}

/* Returns rows used: a message that is too long for its own takes that of the keys as well, until
 * the next key. */
static int draw_status(struct mt_app *app, int row, int columns)
{
	struct mt_data *d = &app->data;
	char right[160], hidden[80], keys[64], hint[160], groups[16], age[32];
	char *filter;

	if (app->prompt.kind != MT_PROMPT_NONE) {
		mt_prompt_draw(app, row, columns);
		return 1;
	}
	if (app->message[0])
		return mt_draw_wrapped(app->screen, (struct mt_rect){row, 0, 2, columns},
			       MT_ROLE_PROMPT, app->message)
				> 1
			? 2
			: 1;
	if (app->filtering && mt_data_pending(d)) {
		mt_drawf(app->screen, row, 0, columns, MT_ROLE_PROMPT, "filtering %d %%   %s   %s",
			app->percent, mt_keymap_words(keys, sizeof keys, "{cancel} cancels"),
			mt_data_pending(d));
		return 1;
	}
	if (mt_jobs_words(app, right, sizeof right)) {
		mt_draw(app->screen, row, 0, columns, MT_ROLE_PROMPT, right);
		return 1;
	}
	snprintf(hidden, sizeof hidden,
		mt_keymap_words(keys, sizeof keys,
			columns >= 60 ? "%u suppressed ({show-hidden})   " : "%u{show-hidden} "),
		d->hidden);
	snprintf(groups, sizeof groups, "%u", d->profile.group_count);
	mt_data_age_words(age, d, mt_data_moment_ns(d));
	snprintf(right, sizeof right, "%s%s%s%s%u/%s %s",
		mt_data_busy(d) ? "looking up names   " : "", age, *age ? "   " : "",
		d->hidden ? hidden : "", d->selection.count, groups, MT_PLURAL(groups, "group"));
	int width = mt_text_width(right);

	filter = mt_filter_text(d->filter);
	if (!*filter && mt_guidance_wrapper(app, hint, sizeof hint, columns - width - 1))
		mt_draw(app->screen, row, 0, columns - width - 1, MT_ROLE_PROMPT, hint);
	else
		mt_drawf(app->screen, row, 0, columns - width - 1,
			*filter ? MT_ROLE_PROMPT : MT_ROLE_DIM, "filter: %s",
			*filter ? filter : "-");
	free(filter);
	mt_draw(app->screen, row, columns - width, width, MT_ROLE_DIM, right);
	return 1;
}

/* Actions that mean something here and now. */
static bool offered(struct mt_app *app, enum mt_action what)
{
	if (what == MT_ACTION_MAXIMISE)
		return app->view == MT_VIEW_MAIN || app->view == MT_VIEW_DETAIL;
	if (what == MT_ACTION_APPLY)
		return app->timeline.selecting;
	if (what == MT_ACTION_FOLLOW)
		return app->view == MT_VIEW_LOG || app->view == MT_VIEW_OUTPUT;
	if (what == MT_ACTION_FREEZE)
		return app->data.live;
	if (what == MT_ACTION_EDITOR)
		return app->view == MT_VIEW_DETAIL;
	if (what == MT_ACTION_FILTER)
		return app->view != MT_VIEW_DETAIL;
	if (what == MT_ACTION_SEARCH)
		return mt_app_focus(app)->list != NULL;
	if (what == MT_ACTION_OPEN)
		return app->view != MT_VIEW_TIMELINE && app->view != MT_VIEW_OUTPUT
			&& app->view != MT_VIEW_DETAIL && app->view != MT_VIEW_ICICLE
			&& app->view != MT_VIEW_LOG;
	return true;
}

/* The last two ranks, how to leave a view and how to quit, have their places in a bar of usual
 * width; in a narrower one quitting alone. */
#define KEYS_RANKS 13
#define KEYS_USUAL 80
#define KEYS_NARROW 60

static int key_width(enum mt_action what, char key[16])
{
	mt_action_key(what, key);
	return mt_text_width(key) + mt_text_width(mt_action_info(what)->name) + 1;
}

static int width_of_last(int columns)
{
	char key[16];
	int quit = key_width(MT_ACTION_QUIT, key), back = key_width(MT_ACTION_BACK, key);

	return columns >= KEYS_USUAL ? back + quit : columns >= KEYS_NARROW ? quit : 0;
}

static void draw_keys(struct mt_app *app, int row, int columns)
{
	uint32_t scopes = mt_app_scopes(app);
	int column = 0, last = width_of_last(columns);
	char key[16];

	for (int rank = 1; rank <= KEYS_RANKS; rank++)
		for (int i = 0; i < MT_ACTION_COUNT; i++) {
			const struct mt_action_info *info = mt_action_info((enum mt_action)i);
			bool kept = rank == KEYS_RANKS
				|| (i == MT_ACTION_BACK && columns >= KEYS_USUAL);

			if (info->bar != rank || !(scopes & 1u << info->scope)
				|| !offered(app, (enum mt_action)i))
				continue;
			int width = key_width((enum mt_action)i, key);

			/* no blank is needed behind the last one */
			if (column + width + (kept ? 0 : last) - 1 > columns)
				continue;
			mt_draw(app->screen, row, column, columns - column, MT_ROLE_KEY, key);
			mt_draw(app->screen, row, column + mt_text_width(key), columns,
				MT_ROLE_KEY_NAME, info->name);
			mt_frame_hit(app, (struct mt_rect){row, column, 1, width - 1},
				MT_HIT_ACTION, MT_VIEW_MAIN, (uint32_t)i);
			column += width;
		}
}

static void draw_typing_keys(struct mt_app *app, int row, int columns)
{
	int used = mt_draw(app->screen, row, 0, columns, MT_ROLE_KEY, "^]");

	mt_draw(app->screen, row, used, columns - used, MT_ROLE_KEY_NAME,
		"take the keyboard back from the program");
}

static void draw_too_small(struct mt_screen *s, int rows, int columns)
{
	if (columns < 19) { /* too small for words on it, too */
		mt_draw(s, 0, 0, columns, MT_ROLE_TEXT, "too small:");
		mt_drawf(s, 1, 0, columns, MT_ROLE_TEXT, "%dx%d, not", columns, rows);
		mt_drawf(s, 2, 0, columns, MT_ROLE_TEXT, "%dx%d", COLUMNS_MIN, ROWS_MIN);
		return;
	}
	mt_drawf(s, 0, 0, columns, MT_ROLE_TEXT, "memtui needs %dx%d,", COLUMNS_MIN, ROWS_MIN);
	mt_drawf(s, 1, 0, columns, MT_ROLE_TEXT, "this is %dx%d", columns, rows);
}

size_t mt_frame_draw(struct mt_app *app)
{
	struct mt_screen *s = app->screen;
	int rows = mt_screen_rows(s), columns = mt_screen_columns(s);

	mt_screen_begin(s);
	app->hit_count = 0;
	app->follows = false;
	app->followed = app->following;
	app->following = NULL;
	if (rows < ROWS_MIN || columns < COLUMNS_MIN) {
		draw_too_small(s, rows, columns);
		return mt_screen_end(s);
	}
	draw_title(app, columns);
	draw_tabs(app, columns);
	int top = 2 + draw_blind(app, 2, columns);

	mt_app_view(app->view)->draw(app, (struct mt_rect){top, 0, rows - 2 - top, columns}, true);
	bool covered = draw_status(app, rows - 2, columns) > 1;

	if (app->program && mt_program_typing(app) && app->view == MT_VIEW_OUTPUT)
		draw_typing_keys(app, rows - 1, columns);
	else if (!covered
		&& (app->prompt.kind == MT_PROMPT_NONE
			|| !mt_prompt_draw_below(app, rows - 1, columns)))
		draw_keys(app, rows - 1, columns);
	if (app->overlay)
		app->overlay->draw(app);
	return mt_screen_end(s);
}
