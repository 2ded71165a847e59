/* The terminal of the program under test, with what has scrolled out of it. Enter gives the program
 * the keyboard. */
#include "tui/view/program.h"
#include "tui/data/switch.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_LIBVTERM
#include "core/export/number.h"
#include "core/export/oom.h"

static bool ended(const struct mt_app *app)
{
	return app->program_ended || mt_app_home(app)->recorder_gone
		|| (mt_app_home(app)->profile.info.ended && !mt_app_stopped(app));
}

/* How it ended: the last line. */
static void end_words(const struct mt_app *app, char *out, size_t len)
{
	char oom[MT_OOM_LEN];
	int status =
		app->program_ended ? app->wait_status : mt_app_home(app)->profile.info.exit_status;

	if (!app->program_ended && !mt_app_home(app)->profile.info.ended)
		snprintf(out, len, "[the recorder is gone; the program may still be running]");
	else if (status < 0)
		snprintf(out, len, "[the program has exited]");
	else if (status & 0x7f)
		snprintf(out, len, "[program killed by signal %d%s%s]", status & 0x7f,
			mt_oom_words(oom, &mt_app_home(app)->profile.info) ? ": " : "", oom);
	else
		snprintf(out, len, "[program exited (%d)]", status >> 8 & 0xff);
}

static uint32_t all_lines(const struct mt_app *app)
{
	const struct mt_program_state *p = app->program;

	return p->count + (ended(app) ? mt_program_rows(p) + 1 : (uint32_t)p->rows);
}

/* Lines as a list whose top is what people move: it follows the newest unless somebody went
 * elsewhere. */
static struct mt_list *list(struct mt_app *app)
{
	struct mt_list *l = &app->program->list;
	uint32_t last;

	l->count = all_lines(app);
	l->rows = app->program->rows;
	last = l->count > (uint32_t)l->rows ? l->count - (uint32_t)l->rows : 0;
	if (!l->held || l->top > last)
		l->top = last;
	if (!l->held)
		l->selected = last;
	mt_list_select(l, l->selected);
	return l;
}

static void draw_line(struct mt_app *app, int row, int column, int width, uint32_t line)
{
	const struct mt_program_cell *cells = NULL;
	uint32_t count = mt_program_cells(app->program, line, &cells);
	bool found = app->program->found && line == app->program->list.selected;

	for (uint32_t i = 0, at = 0; i < count && (int)(at + cells[i].width) <= width;
		at += cells[i++].width) {
		struct mt_style style = {cells[i].foreground, cells[i].background,
			cells[i].attributes};
		uint32_t text[3] = {cells[i].code, cells[i].mark, 0};

		if (found)
			style.attributes ^= MT_STYLE_REVERSE;
		mt_draw_cell(app->screen, row, column + (int)at, text, &style);
	}
}

/* DECSCUSR's numbers: block, underline, bar; each blinking, then not. */
static int cursor_style(const struct mt_program_state *p)
{
	return 2 * (p->cursor_shape < 1 || p->cursor_shape > 3 ? 1 : p->cursor_shape)
		- p->cursor_blinks;
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_program_state *p = app->program;
	char words[64];

	(void)focus;
	if (!p)
		return;
	mt_program_fit(app, r.rows, r.columns);
	struct mt_list *l = list(app);

	if (!ended(app))
		mt_frame_hit(app, r, MT_HIT_ACTION, MT_VIEW_OUTPUT, MT_ACTION_KEYBOARD);
	for (int row = 0; row < r.rows && l->top + (uint32_t)row < l->count; row++) {
		uint32_t line = l->top + (uint32_t)row;

		if (ended(app) && line + 1 == l->count) {
			end_words(app, words, sizeof words);
			mt_draw(app->screen, r.row + row, r.column, r.columns, MT_ROLE_DIM, words);
		} else {
			draw_line(app, r.row + row, r.column, r.columns, line);
		}
	}
	if (!p->at && !ended(app))
		mt_draw(app->screen, r.row, r.column, r.columns, MT_ROLE_DIM,
			"no output yet; Enter sends keys to the program");
	int row = (int)(p->count + (uint32_t)p->cursor_row - l->top);

	if (mt_program_typing(app) && !p->cursor_hidden && row >= 0 && row < r.rows) {
		mt_screen_cursor(app->screen, r.row + row, r.column + p->cursor_column);
		mt_screen_cursor_style(app->screen, cursor_style(p));
	}
}

void mt_program_words(struct mt_app *app, char *out, size_t len)
{
	struct mt_program_state *p = app->program;
	char lost[MT_NUMBER_LEN], left_out[48] = "";

	*out = '\0';
	if (!p)
		return;
	mt_number_size(lost, p->lost);
	if (p->lost)
		snprintf(left_out, sizeof left_out, "   first %s of output dropped", lost);
	if (p->list.held)
		snprintf(out, len, "line %u of %u%s", p->list.top + 1, list(app)->count, left_out);
	else
		snprintf(out, len, "%s%s", p->title, left_out);
}

/* As a pager: keys move what is seen, not a selection in it. */
static bool scroll(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app), pager = *l;
	uint32_t last = l->count > (uint32_t)l->rows ? l->count - (uint32_t)l->rows : 0;

	pager.count = last + 1;
	pager.selected = l->top;
	if (what == MT_ACTION_CENTRE || !mt_list_move(&pager, what))
		return false;
	l->top = l->selected = pager.selected;
	l->held = pager.selected < last;
	app->program->found = false;
	return true;
}

static bool action(struct mt_app *app, enum mt_action what)
{
	if (!app->program)
		return false;
	if (what == MT_ACTION_FOLLOW) {
		app->program->list.held = app->program->found = false;
		mt_app_say(app, "the newest output is shown");
		return true;
	}
	if (what != MT_ACTION_KEYBOARD)
		return scroll(app, what);
	if (ended(app))
		mt_app_say(app, "the program has ended");
	else
		mt_program_give(app, true);
	return true;
}

/* A match: it stays where it is seen, else it comes to the middle. */
static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);
	uint32_t rows = (uint32_t)l->rows;

	l->held = app->program->found = true;
	mt_list_select(l, index);
	if (l->selected < l->top || l->selected >= l->top + rows)
		l->top = l->selected > rows / 2 ? l->selected - rows / 2 : 0;
	list(app);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	if (ended(app) && index + 1 == app->program->list.count)
		end_words(app, out, len);
	else
		mt_program_text(app->program, index, out, len);
}

#else

void mt_program_words(struct mt_app *app, char *out, size_t len)
{
	(void)app, (void)len, *out = '\0';
}
static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	(void)app;
	(void)r;
	(void)focus;
}
static bool action(struct mt_app *app, enum mt_action what)
{
	(void)app;
	(void)what;
	return false;
}

#endif

const struct mt_view mt_view_output = {
	.name = "Output",
	.brief = "Out",
	.scopes = 1u << MT_SCOPE_PROGRAM,
	.draw = draw,
	.action = action,
#ifdef HAVE_LIBVTERM
	.list = list,
	.choose = choose,
	.line = line_text,
#endif
};
