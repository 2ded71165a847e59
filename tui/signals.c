/* A signal to the program under test, from a menu; SIGKILL is asked for twice. */
#include "core/base/buffer.h"
#include "tui/app.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int number;
	const char *name, *words;
} signals[] = {
	{SIGTERM, "TERM", "ask it to exit"},
	{SIGINT, "INT", "like ^C in its terminal"},
	{SIGHUP, "HUP", "terminal closed; servers reload their settings"},
	{SIGUSR1, "USR1", "program-defined; kills it if unhandled"},
	{SIGUSR2, "USR2", "program-defined; kills it if unhandled"},
	{SIGSTOP, "STOP", "stop it until CONT"},
	{SIGCONT, "CONT", "let it continue"},
	{SIGKILL, "KILL", "kill it at once; its unsaved data is lost"},
};
#define SIGNALS (sizeof signals / sizeof *signals)

struct menu {
	struct mt_list list;
	bool asking; /* whether KILL is meant */
};

/* Of the process that is shown: it gets the signal. */
static const char *program_name(const struct mt_app *app, char out[32])
{
	const char *command = app->data.command ? app->data.command : "";
	int len = (int)strcspn(command, " ");

	for (int i = 0; i < len; i++)
		if (command[i] == '/') {
			command += i + 1;
			len -= i + 1;
			i = -1;
		}
	snprintf(out, 32, "%.*s", len, command);
	return out;
}

static void choose(struct mt_app *app, uint32_t at)
{
	struct menu *m = app->overlay_state;
	char name[32];

	mt_list_select(&m->list, at);
	if (signals[at].number == SIGKILL && !m->asking) {
		m->asking = true;
		return;
	}
	mt_overlay_close(app);
	if (!mt_app_runs(app)) {
		mt_app_say(app, "the program has ended");
		return;
	}
	mt_client_signal(app->data.client, signals[at].number);
	mt_app_say(app,
		signals[at].number == SIGSTOP ? "sent SIG%s to %s, pid %u; CONT continues it"
					      : "sent SIG%s to %s, pid %u",
		signals[at].name, program_name(app, name), app->data.whole->info.pid);
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

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, enum mt_role role)
{
	mt_draw(app->screen, r.row, r.column + 2, 5, role == MT_ROLE_BOX ? MT_ROLE_BOX_KEY : role,
		signals[index].name);
	mt_draw(app->screen, r.row, r.column + 8, r.columns - 9, role, signals[index].words);
}

static void draw(struct mt_app *app)
{
	struct menu *m = app->overlay_state;
	struct mt_rect r = mt_box_middle(app, (int)SIGNALS, 64);
	char head[96], name[32];

	snprintf(head, sizeof head,
		m->asking ? "Press Enter again to kill %s" : "Send a signal to %s",
		program_name(app, name));
	mt_box_draw(app, r, head, m->asking ? "Esc cancels" : "Enter sends it   Esc closes");
	mt_box_list(app, r, 0, &m->list, draw_line, NULL);
}

static struct mt_list *list(struct mt_app *app)
{
	return &((struct menu *)app->overlay_state)->list;
}

const struct mt_overlay mt_overlay_signals = {
	.draw = draw,
	.key = key,
	.list = list,
	.click = choose,
};

void mt_signals_open(struct mt_app *app)
{
	struct menu *m;

	if (!mt_app_runs(app) || !app->data.client) {
		mt_app_say(app, "no program is running here to send a signal to");
		return;
	}
	m = mt_alloc(sizeof *m);
	m->list.count = SIGNALS;
	mt_overlay_open(app, &mt_overlay_signals, m);
}
