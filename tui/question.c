/* Questions at the end: what becomes of a program that runs, and of a trace without a name. */
#include "tui/app.h"

static const struct question {
	const struct mt_overlay *overlay;
	const char *head, *line[4];
} questions[] = {
	{&mt_overlay_leave, "The program still runs",
		{"l  leave it running (memtui attach comes back)", "e  end it (SIGTERM)",
			"Esc  stay here", NULL}},
	{&mt_overlay_leave_save, "The program still runs",
		{"l  leave it running (memtui attach comes back)",
			"s  end it (SIGTERM), save the trace in this directory",
			"e  end it, discard the trace", "Esc  stay here"}},
	{&mt_overlay_keep, "Keep the trace?",
		{"s  save it in this directory", "d  discard it", "Esc  stay here", NULL}},
};

static void draw(struct mt_app *app)
{
	const struct question *q = questions;
	struct mt_rect r;

	while (q->overlay != app->overlay)
		q++;
	r = mt_box_middle(app, q->line[3] ? 4 : 3, 64);
	mt_box_draw(app, r, q->head, "");
	for (int i = 0; i < r.rows - 2 && q->line[i]; i++)
		mt_draw(app->screen, r.row + 1 + i, r.column + 2, r.columns - 4, MT_ROLE_BOX_KEY,
			q->line[i]);
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	bool keep = app->overlay == &mt_overlay_keep;

	if (mt_overlay_closes(input) || input->code == 'q') {
		mt_overlay_close(app);
		return;
	}
	if (!keep && input->code == 'l')
		app->outcome = MT_OUTCOME_LEAVE;
	else if (!keep
		&& (input->code == 'e'
			|| (app->overlay == &mt_overlay_leave_save && input->code == 's')))
		app->outcome = MT_OUTCOME_END;
	else if (keep && (input->code == 's' || input->code == 'd'))
		app->outcome = MT_OUTCOME_QUIT;
	else
		return;
	app->save = input->code == 's';
	mt_overlay_close(app);
}

const struct mt_overlay mt_overlay_leave = {.draw = draw, .key = key};
const struct mt_overlay mt_overlay_leave_save = {.draw = draw, .key = key};
const struct mt_overlay mt_overlay_keep = {.draw = draw, .key = key};
