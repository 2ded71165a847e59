/* Help over the screen: every action that the screen knows, searchable; Enter runs the line. */
#include "tui/app.h"
#include "tui/user/keymap.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool contains(const char *text, const char *part)
{
	return !*part || strcasestr(text, part);
}

/* Actions of the screen behind, in the order of the list, that contain what was typed. */
static uint32_t matching(struct mt_app *app, enum mt_action out[MT_ACTION_COUNT])
{
	uint32_t scopes = mt_app_scopes(app), count = 0;

	if (scopes & 1u << MT_SCOPE_TRIAGE) /* the line runs without the t before it */
		scopes |= 1u << MT_SCOPE_JUDGE;
	char keys[64];

	for (int i = 0; i < MT_ACTION_COUNT; i++) {
		const struct mt_action_info *info = mt_action_info((enum mt_action)i);

		if (scopes & 1u << info->scope && (contains(info->words, app->help.search) ||
				contains(info->name, app->help.search) || contains(mt_keymap_keys((enum mt_action)i, keys), app->help.search)))
			out[count++] = (enum mt_action)i;
	}
	return count;
}

void mt_help_open(struct mt_app *app)
{
	app->help = (struct mt_help){.open = true};
}

static void draw_line(struct mt_app *app, struct mt_rect r, enum mt_action what, bool selected, bool first)
{
	const struct mt_action_info *info = mt_action_info(what);
	enum mt_role role = selected ? MT_ROLE_SELECTED : MT_ROLE_BOX;
	int scope = r.columns >= 70 ? 16 : 0, keys = r.columns >= 50 ? 16 : 10;
	char all[64];

	mt_draw_fill(app->screen, r.row, r.column, r.columns, role);
	if (scope && first)
		mt_draw(app->screen, r.row, r.column + 1, scope - 1, role, mt_scope_words(info->scope));
	mt_draw(app->screen, r.row, r.column + 1 + scope, keys - 1, selected ? role : MT_ROLE_BOX_KEY,
		mt_keymap_keys(what, all));
	mt_draw(app->screen, r.row, r.column + 1 + scope + keys, r.columns - scope - keys - 2, role, info->words);
	mt_frame_hit(app, r, MT_HIT_ACTION, MT_VIEW_MAIN, what);
}

void mt_box_draw(struct mt_app *app, struct mt_rect r, const char *head, const char *foot)
{
	struct mt_screen *s = app->screen;
	bool utf8 = mt_screen_utf8(s);

	mt_draw_rule(s, r.row, r.column, r.columns, MT_ROLE_BOX, head);
	mt_draw_rule(s, r.row + r.rows - 1, r.column, r.columns, MT_ROLE_BOX, foot);
	mt_draw(s, r.row, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_TOP_LEFT));
	mt_draw(s, r.row, r.column + r.columns - 1, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_TOP_RIGHT));
	mt_draw(s, r.row + r.rows - 1, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BOTTOM_LEFT));
	mt_draw(s, r.row + r.rows - 1, r.column + r.columns - 1, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BOTTOM_RIGHT));
	for (int row = r.row + 1; row < r.row + r.rows - 1; row++) {
		mt_draw_fill(s, row, r.column, r.columns, MT_ROLE_BOX);
		mt_draw(s, row, r.column, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BAR));
		mt_draw(s, row, r.column + r.columns - 1, 1, MT_ROLE_BOX, mt_glyph(utf8, MT_GLYPH_BAR));
	}
}

/* A box in the middle for so many lines and columns of text, as far as there is room. */
struct mt_rect mt_box_middle(struct mt_app *app, int rows, int columns)
{
	int all_rows = mt_screen_rows(app->screen), all_columns = mt_screen_columns(app->screen);

	rows = rows + 2 < all_rows - 2 ? rows + 2 : all_rows - 2;
	columns = columns + 2 < all_columns - 2 ? columns + 2 : all_columns - 2;
	return (struct mt_rect){(all_rows - rows) / 2, (all_columns - columns) / 2, rows, columns};
}

void mt_help_draw(struct mt_app *app)
{
	enum mt_action shown[MT_ACTION_COUNT];
	struct mt_list *l = &app->help.list;
	struct mt_rect r = mt_box_middle(app, 100, 96);
	char head[128], foot[128];

	l->count = matching(app, shown);
	mt_list_select(l, l->selected);
	mt_list_fit(l, r.rows - 2);
	snprintf(head, sizeof head, "Help: %s   %s%s", mt_app_focus(app)->name, app->help.len ? "search: " : "type to search",
		app->help.search);
	uint32_t others = app->data.live && app->data.client && !app->data.recorder_gone ? mt_client_others(app->data.client) : 0;

	snprintf(foot, sizeof foot, "Esc closes   Enter runs the line%s", others && r.columns >= 90
		? "   '+N more': 'memtui attach PID' elsewhere watches them" : "");
	mt_box_draw(app, r, head, r.columns >= 50 ? foot : "Esc closes");
	app->hit_count = 0;
	for (int i = 0; i < r.rows - 2 && l->top + (uint32_t)i < l->count; i++) {
		uint32_t index = l->top + (uint32_t)i;
		bool first = i == 0 || mt_action_info(shown[index])->scope != mt_action_info(shown[index - 1])->scope;

		draw_line(app, (struct mt_rect){r.row + 1 + i, r.column + 1, 1, r.columns - 2}, shown[index],
			index == l->selected, first);
	}
	if (!l->count)
		mt_draw(app->screen, r.row + 1, r.column + 2, r.columns - 4, MT_ROLE_BOX, "no action is called so");
}

void mt_help_key(struct mt_app *app, const struct mt_input *input)
{
	enum mt_action shown[MT_ACTION_COUNT];
	struct mt_help *h = &app->help;
	enum mt_action move = mt_keys_action(input->code, 1u << MT_SCOPE_MOVE);

	if (input->code == MT_KEY_ESCAPE || input->code == MT_KEY_F1 || input->code == ('C' & 0x1f)) {
		h->open = false;
	} else if (input->code == MT_KEY_ENTER) {
		uint32_t count = matching(app, shown);

		h->open = false;
		if (h->list.selected < count)
			mt_app_act(app, shown[h->list.selected]);
	} else if (input->code == MT_KEY_BACKSPACE) {
		h->search[h->len ? --h->len : 0] = '\0';
	} else if (input->code >= 32 && input->code < 127) {
		if (h->len + 1 < sizeof h->search) {
			h->search[h->len++] = (char)input->code;
			h->search[h->len] = '\0';
			h->list.selected = 0;
		}
	} else if (move != MT_ACTION_NONE) {
		mt_list_move(&h->list, move);
	}
}

/* ---- the menu of metrics ---- */

void mt_menu_open(struct mt_app *app)
{
	app->menu = (struct mt_menu){.open = true};
	app->menu.list.count = MT_METRIC_COUNT;
	app->menu.list.selected = app->data.sort;
}

void mt_menu_draw(struct mt_app *app)
{
	struct mt_list *l = &app->menu.list;
	struct mt_rect r = mt_box_middle(app, MT_METRIC_COUNT, 56);

	mt_list_fit(l, r.rows - 2);
	mt_box_draw(app, r, "Sort by", r.columns >= 40 ? "Enter sorts   r reverses   Esc" : "Enter   Esc");
	app->hit_count = 0;
	for (int i = 0; i < r.rows - 2 && l->top + (uint32_t)i < l->count; i++) {
		uint32_t index = l->top + (uint32_t)i;
		enum mt_role role = index == l->selected ? MT_ROLE_SELECTED : MT_ROLE_BOX;
		const struct mt_metric_info *info = mt_metric_info((enum mt_metric)index);
		struct mt_rect line = {r.row + 1 + i, r.column + 1, 1, r.columns - 2};

		mt_draw_fill(app->screen, line.row, line.column, line.columns, role);
		mt_draw(app->screen, line.row, line.column + 1, 1, role, index == app->data.sort ?
			mt_glyph(mt_screen_utf8(app->screen), app->data.ascending ? MT_GLYPH_ASCENDING : MT_GLYPH_DESCENDING) : " ");
		mt_draw(app->screen, line.row, line.column + 3, 10, role, info->heading);
		mt_draw(app->screen, line.row, line.column + 14, line.columns - 15, role, info->words);
		mt_frame_hit(app, line, MT_HIT_SORT, MT_VIEW_GROUPS, index);
	}
}

void mt_menu_key(struct mt_app *app, const struct mt_input *input)
{
	struct mt_list *l = &app->menu.list;

	if (input->code == MT_KEY_ENTER || input->code == 'r') {
		app->menu.open = false;
		mt_data_sort(&app->data, (enum mt_metric)l->selected, input->code == 'r' ? !app->data.ascending : app->data.ascending);
	} else if (input->code == MT_KEY_ESCAPE || input->code == 'q' || input->code == ('C' & 0x1f)) {
		app->menu.open = false;
	} else {
		mt_list_move(l, mt_keys_action(input->code, 1u << MT_SCOPE_MOVE));
	}
}

/* ---- questions at the end ---- */

static const struct {
	const char *head, *line[4];
} questions[] = {
	[MT_QUESTION_LEAVE] = {"The program still runs", {"l  leave it running and recorded ('memtui attach' comes back)",
		"e  end it (SIGTERM)", "Esc  stay here", NULL}},
	[MT_QUESTION_LEAVE_SAVE] = {"The program still runs", {"l  leave it running and recorded ('memtui attach' comes back)",
		"s  end it (SIGTERM) and save the trace in this directory", "e  end it and discard the trace", "Esc  stay here"}},
	[MT_QUESTION_SAVE] = {"Keep the trace?", {"s  save it in this directory", "d  discard it", "Esc  stay here", NULL}},
};

void mt_question_ask(struct mt_app *app, enum mt_question_id id)
{
	app->question.id = id;
}

void mt_question_draw(struct mt_app *app)
{
	struct mt_rect r = mt_box_middle(app, app->question.id == MT_QUESTION_LEAVE_SAVE ? 4 : 3, 64);

	mt_box_draw(app, r, questions[app->question.id].head, "");
	app->hit_count = 0;
	for (int i = 0; i < r.rows - 2 && questions[app->question.id].line[i]; i++)
		mt_draw(app->screen, r.row + 1 + i, r.column + 2, r.columns - 4, MT_ROLE_BOX_KEY, questions[app->question.id].line[i]);
}

void mt_question_key(struct mt_app *app, const struct mt_input *input)
{
	enum mt_question_id id = app->question.id;

	if (input->code == MT_KEY_ESCAPE || input->code == 'q') {
		app->question.id = MT_QUESTION_NONE;
		return;
	}
	if (id != MT_QUESTION_SAVE && input->code == 'l')
		app->outcome = MT_OUTCOME_LEAVE;
	else if (id != MT_QUESTION_SAVE && (input->code == 'e' || (id == MT_QUESTION_LEAVE_SAVE && input->code == 's')))
		app->outcome = MT_OUTCOME_END;
	else if (id == MT_QUESTION_SAVE && (input->code == 's' || input->code == 'd'))
		app->outcome = MT_OUTCOME_QUIT;
	else
		return;
	app->save = input->code == 's';
	app->question.id = MT_QUESTION_NONE;
}
