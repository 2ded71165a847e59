/* The setup screen: every setting with its value; a change holds at once, and w writes them into
 * the user's file. */
#include "core/base/buffer.h"
#include "core/query/wrappers.h"
#include "tui/app.h"
#include "tui/user/config.h"
#include "tui/user/theme_menu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFRESH_SSH_MS 1000
#define REFRESH_MS 250

#define VALUE 11 /* where values stand */

struct setup {
	struct mt_list list;
	bool typing; /* the value of the selected line */
	char text[200];
	uint32_t len;
};

void mt_setup_refresh(struct mt_app *app, unsigned milliseconds)
{
	if (!milliseconds)
		milliseconds =
			getenv("SSH_CONNECTION") || getenv("SSH_TTY") ? REFRESH_SSH_MS : REFRESH_MS;
	app->frame_ms = milliseconds;
	if (app->data.client && !app->data.frozen && !app->data.recorder_gone)
		mt_client_interval(app->data.client, milliseconds);
}

void mt_setup_faster(struct mt_app *app, int by)
{
	static const unsigned steps[] = {50, 100, 200, 250, 500, 1000, 2000, 5000, 10000, 60000};
	int count = (int)(sizeof steps / sizeof *steps), at = 0;

	while (at + 1 < count && steps[at] < app->frame_ms)
		at++;
	if (by > 0 && at > 0)
		at--;
	else if (by < 0 && at + 1 < count && steps[at] <= app->frame_ms)
		at++;
	mt_setup_refresh(app, steps[at]);
	mt_app_say(app, "redraws every %u ms; {setup} saves a rate for all programs",
		app->frame_ms);
}

void mt_setup_wrappers(struct mt_app *app)
{
	const char *regex = app->config->value[MT_SETTING_WRAPPER];

	mt_wrappers_clear(app->wrappers);
	if (*regex)
		mt_wrappers_add(app->wrappers, regex, "wrapper", NULL);
}

static void apply(struct mt_app *app, enum mt_setting id)
{
	const struct mt_config *c = app->config;

	switch (id) {
	case MT_SETTING_THEME: mt_themes_use(app, c->value[id]); break;
	case MT_SETTING_ASCII: mt_screen_ascii(app->screen, c->value[id]); break;
	case MT_SETTING_GRAPHS:
		mt_screen_set_graphs(app->screen, mt_graphs_find(c->value[id]));
		break;
	case MT_SETTING_SORT:
	case MT_SETTING_ORDER:
		mt_data_sort(&app->data,
			(enum mt_metric)mt_metric_find(NULL, c->value[MT_SETTING_SORT]),
			mt_config_is(c, MT_SETTING_ORDER, "asc"));
		break;
	case MT_SETTING_COLUMNS: mt_chosen_columns_parse(app, c->value[id]); break;
	case MT_SETTING_REFRESH: mt_setup_refresh(app, mt_config_number(c, id)); break;
	case MT_SETTING_MOUSE: mt_screen_mouse(app->screen, mt_config_is(c, id, "on")); break;
	case MT_SETTING_WRAPPER:
		mt_setup_wrappers(app);
		mt_data_select(&app->data);
		break;
	default: break;
	}
}

static void change(struct mt_app *app, int by)
{
	struct setup *s = app->overlay_state;
	enum mt_setting id = (enum mt_setting)s->list.selected;

	if (mt_config_step(app->config, id, by)) {
		apply(app, id);
	} else if (mt_setting_info(id)->kind == MT_SETTING_KIND_METRICS) {
		mt_columns_open(app);
	} else {
		s->typing = true;
		s->len = (uint32_t)snprintf(s->text, sizeof s->text, "%.*s",
			(int)sizeof s->text - 1, app->config->value[id]);
	}
}

static void save(struct mt_app *app)
{
	struct mt_err err = {0};
	char *path;

	if (mt_config_save(app->config, &path, &err) < 0)
		mt_app_say(app, "%s", err.text);
	else
		mt_app_say(app, "settings saved in %s", path);
	free(path);
}

static void type(struct mt_app *app, uint32_t code)
{
	struct setup *s = app->overlay_state;
	enum mt_setting id = (enum mt_setting)s->list.selected;
	struct mt_err err = {0};

	if (code == MT_KEY_ENTER) {
		s->typing = false;
		if (mt_config_set(app->config, id, s->text, &err) < 0)
			mt_app_say(app, "%s", err.text);
		else
			apply(app, id);
	} else if (code == MT_KEY_BACKSPACE) {
		while (s->len && ((uint8_t)s->text[--s->len] & 0xc0) == 0x80)
			;
	} else if (code == ('U' & 0x1f)) {
		s->len = 0;
	} else if (code >= 32 && code < MT_KEY_SPECIAL && s->len + 5 < sizeof s->text) {
		s->len += (uint32_t)mt_key_bytes(s->text + s->len, code);
	}
	s->text[s->len] = '\0';
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	struct setup *s = app->overlay_state;

	if (mt_overlay_closes(input) && s->typing) {
		s->typing = false;
	} else if (s->typing) {
		type(app, input->code);
	} else if (mt_overlay_closes(input) || input->code == 'q' || input->code == MT_KEY_F1 + 1) {
		mt_overlay_close(app);
	} else if (input->code == MT_KEY_ENTER || input->code == ' ' || input->code == MT_KEY_RIGHT
		|| input->code == 'l') {
		change(app, 1);
	} else if (input->code == MT_KEY_LEFT || input->code == 'h') {
		change(app, -1);
	} else if (input->code == 'w') {
		save(app);
	} else {
		mt_list_move(&s->list, mt_keys_action(input->code, 1u << MT_SCOPE_MOVE));
	}
}

static struct mt_rect words_at(struct mt_rect r)
{
	int width = VALUE + (r.columns >= 70 ? 18 : 10);

	return (struct mt_rect){r.row, r.column + width, r.rows, r.columns - width - 1};
}

static int height(struct mt_app *app, uint32_t index, int columns)
{
	return mt_draw_wrapped(app->screen, words_at((struct mt_rect){0, 0, 0, columns}),
		MT_ROLE_BOX, mt_setting_info((enum mt_setting)index)->words);
}

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, enum mt_role role)
{
	struct setup *s = app->overlay_state;
	enum mt_setting id = (enum mt_setting)index;
	const struct mt_setting_info *info = mt_setting_info(id);
	bool typing = index == s->list.selected && s->typing;
	const char *value = typing ? s->text : app->config->value[id];
	struct mt_rect words = words_at(r);
	int at = r.column + VALUE, width = typing ? r.columns - VALUE - 1 : words.column - at - 1;

	mt_draw(app->screen, r.row, r.column + 2, VALUE - 3, role, info->name);
	mt_draw(app->screen, r.row, at, width, role == MT_ROLE_BOX ? MT_ROLE_BOX_KEY : role,
		*value || typing ? value : mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_DASH));
	if (typing)
		mt_screen_cursor(app->screen, r.row, at + mt_text_width(value));
	else
		mt_draw_wrapped(app->screen, words, role, info->words);
}

static void draw(struct mt_app *app)
{
	struct setup *s = app->overlay_state;
	struct mt_rect r = mt_box_middle(app, 0, 96);
	int rows = 0;

	for (uint32_t i = 0; i < MT_SETTING_COUNT; i++)
		rows += height(app, i, mt_box_width(app, r));
	r = mt_box_middle(app, rows, 96);
	const char *foot = s->typing ? "Enter accepts it   Esc"
		: r.columns < 50     ? "Enter   w saves   Esc"
				     : "Enter changes it   w saves the changes   Esc closes";

	mt_box_draw(app, r, "Setup", foot);
	mt_box_list(app, r, 0, &s->list, draw_line, height);
}

static struct mt_list *list(struct mt_app *app)
{
	return &((struct setup *)app->overlay_state)->list;
}

static void click(struct mt_app *app, uint32_t value)
{
	struct setup *s = app->overlay_state;

	s->typing = false;
	if (value == s->list.selected)
		change(app, 1);
	else
		mt_list_select(&s->list, value);
}

const struct mt_overlay mt_overlay_setup = {.draw = draw, .key = key, .list = list, .click = click};

void mt_setup_open(struct mt_app *app)
{
	struct setup *s = mt_alloc(sizeof *s);

	s->list.count = MT_SETTING_COUNT;
	mt_overlay_open(app, &mt_overlay_setup, s);
}
