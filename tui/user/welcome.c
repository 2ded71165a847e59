/* The first screen of the first run: the few keys that lead to a leak. A file beside the kept views
 * says that it was seen. */
#include "tui/app.h"
#include "tui/user/user_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY 8 /* columns */

static const struct {
	enum mt_action action, second;
	const char *words;
} lines[] = {
	{MT_ACTION_SUSPECTS, MT_ACTION_NONE, "sort by leak score"},
	{MT_ACTION_OPEN, MT_ACTION_NONE, "open a group: backtrace, source"},
	{MT_ACTION_EDITOR, MT_ACTION_NONE, "open that line in the editor"},
	{MT_ACTION_OUTPUT, MT_ACTION_NONE, "show the program's terminal"},
	{MT_ACTION_BACK, MT_ACTION_QUIT, "go back; quit memtui"},
	{MT_ACTION_HELP, MT_ACTION_PALETTE, "all keys; all actions"},
};
#define LINES (sizeof lines / sizeof *lines)

static void draw(struct mt_app *app)
{
	struct mt_rect r = mt_box_middle(app, (int)LINES - !mt_app_has(app, MT_VIEW_OUTPUT), 52);
	int row = r.row + 1;
	char first[16], second[16], keys[40];

	mt_box_draw(app, r, "Find a leak",
		r.columns < 50 ? "any key closes this" : "any key closes this and does its work");
	mt_frame_hit(app,
		(struct mt_rect){0, 0, mt_screen_rows(app->screen), mt_screen_columns(app->screen)},
		MT_HIT_OVERLAY, MT_VIEW_MAIN, 0);
	for (size_t i = 0; i < LINES && row < r.row + r.rows - 1; i++) {
		if (lines[i].action == MT_ACTION_OUTPUT && !mt_app_has(app, MT_VIEW_OUTPUT))
			continue;
		mt_action_key(lines[i].action, first);
		snprintf(keys, sizeof keys, lines[i].second == MT_ACTION_NONE ? "%s" : "%s  %s",
			first,
			lines[i].second == MT_ACTION_NONE ? ""
							  : mt_action_key(lines[i].second, second));
		mt_draw(app->screen, row, r.column + 2, KEY - 1, MT_ROLE_BOX_KEY, keys);
		mt_draw(app->screen, row++, r.column + 2 + KEY, r.columns - KEY - 4, MT_ROLE_BOX,
			lines[i].words);
	}
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	mt_overlay_close(app);
	if (!mt_overlay_closes(input))
		mt_app_input(app, input);
}

static void click(struct mt_app *app, uint32_t value)
{
	(void)value;
	mt_overlay_close(app);
}

const struct mt_overlay mt_overlay_welcome = {.draw = draw, .key = key, .click = click};

void mt_welcome(struct mt_app *app)
{
	char *path = mt_user_state("welcomed"), *text = NULL;
	struct mt_err err = {0};

	/* Where it cannot be noted, it would come each time. */
	if (path && mt_user_read(path, &text, &err) == -ENOENT && !mt_user_write(path, "", &err))
		mt_overlay_open(app, &mt_overlay_welcome, NULL);
	free(text);
	free(path);
}
