/* Tabs whose view is not there yet: each line goes when its view comes. */
#include "tui/app.h"

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	(void)focus;
	mt_draw(app->screen, r.row, r.column, r.columns, MT_ROLE_DIM, "not here yet");
}

static bool action(struct mt_app *app, enum mt_action what)
{
	(void)app, (void)what;
	return false;
}

#define TO_COME(id, words) const struct mt_view mt_view_##id = {.name = words, .draw = draw, .action = action}
TO_COME(diff, "Diff");
