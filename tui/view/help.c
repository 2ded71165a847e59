/* Help over the screen: every action that the screen knows, searchable; Enter runs the line. */
#include "core/base/buffer.h"
#include "tui/app.h"
#include "tui/user/keymap.h"

#include <stdio.h>
#include <string.h>

struct help {
	struct mt_list list;
	enum mt_action shown[MT_ACTION_COUNT]; /* of the list */
	char search[64];
	uint32_t len;
};

static bool contains(const char *text, const char *part)
{
	return !*part || strcasestr(text, part);
}

/* Actions of the screen behind, in the order of the list, that contain what was typed. */
static void find(struct mt_app *app)
{
	struct help *h = app->overlay_state;
	uint32_t scopes = mt_app_scopes(app), count = 0;
	char keys[64];

	if (scopes & 1u << MT_SCOPE_TRIAGE) /* the line runs without the t before it */
		scopes |= 1u << MT_SCOPE_JUDGE;
	for (int i = 0; i < MT_ACTION_COUNT; i++) {
		const struct mt_action_info *info = mt_action_info((enum mt_action)i);

		if (scopes & 1u << info->scope
			&& (contains(info->words, h->search) || contains(info->name, h->search)
				|| contains(mt_keymap_keys((enum mt_action)i, keys), h->search)))
			h->shown[count++] = (enum mt_action)i;
	}
	h->list.count = count;
	mt_list_select(&h->list, h->list.selected);
}

static int scope_width(int columns)
{
	return columns >= 70 ? 15 : 0;
}
static int keys_width(int columns)
{
	return columns >= 70 ? 14 : 10;
}

static struct mt_rect words_at(struct mt_rect r)
{
	int before = 1 + scope_width(r.columns) + keys_width(r.columns);

	return (struct mt_rect){r.row, r.column + before, r.rows, r.columns - before - 1};
}

static int height(struct mt_app *app, uint32_t index, int columns)
{
	const struct help *h = app->overlay_state;

	return mt_draw_wrapped(app->screen, words_at((struct mt_rect){0, 0, 0, columns}),
		MT_ROLE_BOX, mt_action_info(h->shown[index])->words);
}

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, enum mt_role role)
{
	const struct help *h = app->overlay_state;
	const struct mt_action_info *info = mt_action_info(h->shown[index]);
	bool first =
		index == h->list.top || info->scope != mt_action_info(h->shown[index - 1])->scope;
	int scope = scope_width(r.columns);
	char all[64];

	mt_draw(app->screen, r.row, r.column + 1, first ? scope - 1 : 0, role,
		mt_scope_words(info->scope));
	mt_draw(app->screen, r.row, r.column + 1 + scope, keys_width(r.columns) - 1,
		role == MT_ROLE_BOX ? MT_ROLE_BOX_KEY : role, mt_keymap_keys(h->shown[index], all));
	mt_draw_wrapped(app->screen, words_at(r), role, info->words);
}

static void draw(struct mt_app *app)
{
	struct help *h = app->overlay_state;
	struct mt_rect r = mt_box_middle(app, 100, 96);
	uint32_t others = app->data.live && app->data.client && !app->data.recorder_gone
		? mt_client_others(app->data.client)
		: 0;
	char head[128], foot[128];

	find(app); /* what the screen behind knows may have changed */
	snprintf(head, sizeof head, "Help: %s   %s%s", mt_app_focus(app)->name,
		h->len ? "search: " : "type to search", h->search);
	snprintf(foot, sizeof foot, "Esc closes   Enter runs the line%s%s",
		r.columns >= 70 ? "   ~ estimate  [i] inlined" : "",
		others && r.columns >= 90
			? "   '+N more': 'memtui attach PID' elsewhere watches them"
			: "");
	mt_box_draw(app, r, head, r.columns >= 50 ? foot : "Esc closes");
	mt_box_list(app, r, 0, &h->list, draw_line, height);
	if (!h->list.count)
		mt_draw(app->screen, r.row + 1, r.column + 2, r.columns - 4, MT_ROLE_BOX,
			"no action matches");
}

static void run(struct mt_app *app, uint32_t index)
{
	struct help *h = app->overlay_state;
	enum mt_action what = index < h->list.count ? h->shown[index] : MT_ACTION_NONE;

	mt_overlay_close(app);
	mt_app_act(app, what);
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	struct help *h = app->overlay_state;

	if (mt_overlay_closes(input) || input->code == MT_KEY_F1) {
		mt_overlay_close(app);
	} else if (input->code == MT_KEY_ENTER) {
		run(app, h->list.selected);
	} else if (input->code == MT_KEY_BACKSPACE) {
		h->search[h->len ? --h->len : 0] = '\0';
		find(app);
	} else if (input->code >= 32 && input->code < 127) {
		if (h->len + 1 < sizeof h->search) {
			h->search[h->len++] = (char)input->code;
			h->search[h->len] = '\0';
			h->list.selected = 0;
			find(app);
		}
	} else {
		mt_list_move(&h->list, mt_keys_action(input->code, 1u << MT_SCOPE_MOVE));
	}
}

static struct mt_list *list(struct mt_app *app)
{
	return &((struct help *)app->overlay_state)->list;
}

const struct mt_overlay mt_overlay_help = {.draw = draw, .key = key, .list = list, .click = run};

void mt_help_open(struct mt_app *app)
{
	mt_overlay_open(app, &mt_overlay_help, mt_alloc(sizeof(struct help)));
	find(app);
}
