/* A signal to the program under test, from a menu; SIGKILL is asked for twice. */
#include "tui/app.h"
#include "core/base/buffer.h"

#include <signal.h>
#include <stdio.h>

static const struct { int number; const char *name, *words; } signals[] = {
	{SIGTERM, "TERM", "ask it to end"},
	{SIGINT, "INT", "as ^C in its terminal"},
	{SIGHUP, "HUP", "its terminal is gone; servers read their settings again"},
	{SIGUSR1, "USR1", "what it makes of it; ends it where it makes nothing"},
	{SIGUSR2, "USR2", "the same"},
	{SIGSTOP, "STOP", "stop it until CONT"},
	{SIGCONT, "CONT", "let it go on"},
	{SIGKILL, "KILL", "end it at once; what it has not written is lost"},
};
#define SIGNALS (sizeof signals / sizeof *signals)

struct menu {
	struct mt_list list;
	bool asking; /* whether KILL is meant */
};

static void choose(struct mt_app *app, uint32_t at)
{
	struct menu *m = app->overlay_state;

	mt_list_select(&m->list, at);
	if (signals[at].number == SIGKILL && !m->asking) {
		m->asking = true;
		return;
	}
	mt_overlay_close(app);
	if (!mt_app_live(app)) {
		mt_app_say(app, "the program has ended");
		return;
	}
	mt_client_signal(app->data.client, signals[at].number);
	mt_app_say(app, "sent SIG%s to the program", signals[at].name);
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	struct menu *m = app->overlay_state;
	bool asking = m->asking;

	if (input->code == MT_KEY_ENTER) {
		choose(app, m->list.selected);
		return;
	}
	m->asking = false;
	if ((mt_overlay_closes(input) || input->code == 'q' || input->code == 'K') && !asking)
		mt_overlay_close(app);
	else
		mt_list_move(&m->list, mt_keys_action(input->code, 1u << MT_SCOPE_MOVE));
}

static void draw(struct mt_app *app)
{
	struct menu *m = app->overlay_state;
	struct mt_list *l = &m->list;
	struct mt_rect r = mt_box_middle(app, (int)SIGNALS, 64);

	mt_box_draw(app, r, m->asking ? "Enter once more kills the program" : "Send a signal to the program",
		m->asking ? "Esc does not" : "Enter sends it   Esc");
	app->hit_count = 0;
	mt_list_fit(l, r.rows - 2);
	for (int i = 0; i < r.rows - 2 && l->top + (uint32_t)i < l->count; i++) {
		uint32_t index = l->top + (uint32_t)i;
		enum mt_role role = index == l->selected ? MT_ROLE_SELECTED : MT_ROLE_BOX;
		struct mt_rect line = {r.row + 1 + i, r.column + 1, 1, r.columns - 2};

		mt_draw_fill(app->screen, line.row, line.column, line.columns, role);
		mt_draw(app->screen, line.row, line.column, 1, role, index == l->selected ?
			mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_CURSOR) : " ");
		mt_draw(app->screen, line.row, line.column + 2, 5, index == l->selected ? role : MT_ROLE_BOX_KEY,
			signals[index].name);
		mt_draw(app->screen, line.row, line.column + 8, line.columns - 9, role, signals[index].words);
		mt_frame_hit(app, line, MT_HIT_OVERLAY, MT_VIEW_MAIN, index);
	}
}

static struct mt_list *list(struct mt_app *app)
{
	return &((struct menu *)app->overlay_state)->list;
}

static const struct mt_overlay menu = {.draw = draw, .key = key, .list = list, .click = choose};

void mt_signals_open(struct mt_app *app)
{
	struct menu *m;

	if (!mt_app_live(app) || !app->data.client) {
		mt_app_say(app, "no program runs here that could get a signal");
		return;
	}
	m = mt_alloc(sizeof *m);
	m->list.count = SIGNALS;
	mt_overlay_open(app, &menu, m);
}
