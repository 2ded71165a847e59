/* The main screen: the heap, groups and call tree at once. On small screens one pane is seen, Tab
 * turns. */
#include "tui/app.h"
#include "tui/view/guidance.h"

#include <stdio.h>

static void draw_pane(struct mt_app *app, struct mt_rect r, enum mt_view_id id)
{
	bool focus = app->pane == id;
	char words[128];
	struct mt_list *l = mt_app_view(id)->list(app);

	snprintf(words, sizeof words, "%s %u/%u%s",
		id == MT_VIEW_GROUPS         ? "groups"
			: app->data.inverted ? "call tree, inverted"
					     : "call tree",
		l->count ? l->selected + 1 : 0, l->count, focus ? "" : "   Tab");
	mt_draw_rule(app->screen, r.row, r.column, r.columns,
		focus ? MT_ROLE_RULE_FOCUS : MT_ROLE_RULE, words);
	mt_frame_hit(app, (struct mt_rect){r.row, r.column, 1, r.columns}, MT_HIT_PANE, id, 0);
	mt_app_view(id)->draw(app, (struct mt_rect){r.row + 1, r.column, r.rows - 1, r.columns},
		focus);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	int heap = r.rows >= 40 ? 11 : r.rows >= 24 ? 7 : r.rows >= 17 ? 5 : r.rows >= 10 ? 2 : 1;
	int groups;
	char suspect[800];

	(void)focus;
	if (app->maximised) {
		draw_pane(app, r, app->pane);
		return;
	}
	if (r.rows >= 16 && mt_guidance_suspect(app, suspect, sizeof suspect, r.columns - 1)) {
		mt_draw(app->screen, r.row++, r.column, r.columns, MT_ROLE_GROWING, suspect);
		r.rows--;
	}
	mt_overview_heap(app, (struct mt_rect){r.row, r.column, heap, r.columns});
	r.row += heap;
	r.rows -= heap;
	if (r.rows < 16) {
		draw_pane(app, r, app->pane);
	} else if (r.columns >= 150) {
		int half = r.columns / 2;

		draw_pane(app, (struct mt_rect){r.row, r.column, r.rows, half - 1}, MT_VIEW_GROUPS);
		draw_pane(app, (struct mt_rect){r.row, r.column + half, r.rows, r.columns - half},
			MT_VIEW_TREE);
	} else {
		groups = r.rows * 9 / 20;
		draw_pane(app, (struct mt_rect){r.row, r.column, groups, r.columns},
			MT_VIEW_GROUPS);
		draw_pane(app,
			(struct mt_rect){r.row + groups, r.column, r.rows - groups, r.columns},
			MT_VIEW_TREE);
	}
}

static bool action(struct mt_app *app, enum mt_action what)
{
	switch (what) {
	case MT_ACTION_NEXT_PANE:
	case MT_ACTION_PREVIOUS_PANE:
		app->pane = app->pane == MT_VIEW_GROUPS ? MT_VIEW_TREE : MT_VIEW_GROUPS;
		return true;
	case MT_ACTION_MAXIMISE: app->maximised = !app->maximised; return true;
	default: return mt_app_view(app->pane)->action(app, what);
	}
}

const struct mt_view mt_view_main = {
	.name = "Main",
	.draw = draw,
	.action = action,
};
