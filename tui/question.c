/* Questions at the end: what becomes of a program that runs, and of a trace without a name. */
#include "tui/app.h"

static const struct question {
	const struct mt_overlay *overlay;
	bool ended; /* while it was asked: what is typed for the one before must do no harm */
	const char *head, *foot; /* foot: what Enter does */
	uint32_t enter;          /* the key that it stands for: nothing is lost by it */
	const char *line[4];
} questions[] = {
	{&mt_overlay_leave, false, "The program still runs", "Enter leaves it running", 'l',
		{"l  leave it running (memtui attach comes back)", "e  end it (SIGTERM)",
			"Esc  stay here", NULL}},
	{&mt_overlay_leave, true, "The program has ended meanwhile", "Enter quits", 'l',
		{"l or e  quit", "Esc  stay here", NULL}},
	{&mt_overlay_leave_save, false, "The program still runs", "Enter leaves it running", 'l',
		{"l  leave it running (memtui attach comes back)",
			"s  end it (SIGTERM), save the trace in this directory",
			"e  end it, discard the trace", "Esc  stay here"}},
	{&mt_overlay_leave_save, true, "The program has ended meanwhile", "Enter saves the trace",
		's',
		{"s or l  save the trace in this directory", "e  discard the trace",
			"Esc  stay here", NULL}},
	{&mt_overlay_keep, false, "Keep the trace?", "Enter saves it", 's',
		{"s  save it in this directory", "d  discard it", "Esc  stay here", NULL}},
};

static const struct question *asked(const struct mt_app *app)
{
	const struct question *q = questions;

	bool ended = app->overlay != &mt_overlay_keep && !mt_app_runs(app);

	while (q->overlay != app->overlay || q->ended != ended)
		q++;
	return q;
}

static const char *line_of(const struct mt_app *app, const struct question *q, int line)
{
	return q->enter == 'l' && line == 0 && mt_app_stopped(app)
		? "l  leave it running (it is recorded no more)"
		: q->line[line];
}

static void draw(struct mt_app *app)
{
	const struct question *q = asked(app);
	struct mt_rect r = mt_box_middle(app, q->line[3] ? 4 : 3, 64);
	mt_box_draw(app, r, q->head, q->foot);
	for (int i = 0; i < r.rows - 2 && q->line[i]; i++)
		mt_draw(app->screen, r.row + 1 + i, r.column + 2, r.columns - 4, MT_ROLE_BOX_KEY,
			line_of(app, q, i));
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	bool keep = app->overlay == &mt_overlay_keep;
	bool ended = asked(app)->ended, unnamed = app->overlay == &mt_overlay_leave_save;
	uint32_t code = input->code == MT_KEY_ENTER ? asked(app)->enter : input->code;

	if (mt_overlay_closes(input) || code == 'q') {
		mt_overlay_close(app);
		return;
	}
	if (ended && unnamed && code == 'l')
		code = 's'; /* it would have been kept */
	if (ended && (code == 'l' || code == 'e' || (unnamed && code == 's')))
		app->outcome = MT_OUTCOME_QUIT;
	else if (!keep && !ended && code == 'l')
		app->outcome = MT_OUTCOME_LEAVE;
	else if (!keep && !ended && (code == 'e' || (unnamed && code == 's')))
		app->outcome = MT_OUTCOME_END;
	else if (keep && (code == 's' || code == 'd'))
		app->outcome = MT_OUTCOME_QUIT;
	else
		return;
	app->save = code == 's';
	mt_overlay_close(app);
}

const struct mt_overlay mt_overlay_leave = {.draw = draw, .key = key};
const struct mt_overlay mt_overlay_leave_save = {.draw = draw, .key = key};
const struct mt_overlay mt_overlay_keep = {.draw = draw, .key = key};
