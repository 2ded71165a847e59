/* Boxes on top of the view: one is open at a time, and has the keys until it closes. */
#include "tui/app.h"

#include <stdlib.h>

void mt_overlay_open(struct mt_app *app, const struct mt_overlay *overlay, void *state)
{
	mt_overlay_close(app);
	app->overlay = overlay;
	app->overlay_state = state;
}

void mt_overlay_close(struct mt_app *app)
{
	free(app->overlay_state);
	app->overlay_state = NULL;
	app->overlay = NULL;
}

bool mt_overlay_closes(const struct mt_input *input)
{
	return input->code == MT_KEY_ESCAPE || input->code == ('C' & 0x1f);
}
