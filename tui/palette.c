/* The palette: every action of the list, found by some letters of its name or words of its help;
 * Enter runs it. */
#include "core/base/buffer.h"
#include "tui/app.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define EXACT 10000
#define NAME 4 /* how much more a letter of the name is worth than one of the words */

#define NAME_WIDTH 14
#define KEY_WIDTH 9
#define SCOPE_WIDTH 15

struct palette {
	char text[64];
	uint32_t len;
	struct mt_list list;
	enum mt_action found[MT_ACTION_COUNT]; /* the best first */
	int score[MT_ACTION_COUNT];            /* beside it */
};

static bool starts_word(const char *text, size_t at)
{
	return at == 0 || !isalnum((unsigned char)text[at - 1]);
}

/* How well the letters of part stand in text in their order: letters at the start of words and side
 * by side are better, as in fzf. 0: they do not. */
static int fuzzy(const char *text, const char *part, size_t part_len)
{
	int best[96] = {0}, before[96];
	size_t len = strlen(text);

	if (len > sizeof best / sizeof *best)
		len = sizeof best / sizeof *best;
	for (size_t i = 0; i < part_len; i++) {
		/* the best way to the letters before, that ends further left than beside */
		int reach = 0;

		memcpy(before, best, sizeof best);
		for (size_t j = 0; j < len; j++) {
			int beside = i && j ? before[j - 1] : 0;
			int from = i == 0 ? 0 : beside ? beside + 5 : 0;

			if (i && reach > 2 && reach - 2 > from)
				from = reach - 2;
			best[j] = 0;
			if (tolower((unsigned char)text[j]) == tolower((unsigned char)part[i])
				&& (i == 0 || from))
				best[j] = from + 1 + (starts_word(text, j) ? 6 : 0)
					+ (i == 0 && j == 0 ? 4 : 0);
			if (beside > reach)
				reach = beside;
		}
	}
	int score = 0;

	for (size_t j = 0; j < len; j++)
		score = best[j] > score ? best[j] : score;
	return score;
}

/* Where a part stands as it is, at the start of a word or within one; 0: nowhere. */
static int within(const char *text, const char *part, size_t part_len)
{
	int score = 0;

	for (size_t at = 0; text[at]; at++)
		if (!strncasecmp(text + at, part, part_len) && (starts_word(text, at) || !score))
			score = (int)part_len * (starts_word(text, at) ? 4 : 2);
	return score;
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

/* All words of what was typed must be found; 0: they are not. */
static int rate(const char *typed, enum mt_action what)
{
	const struct mt_action_info *info = mt_action_info(what);
	char id[32];
	int sum = 1;

	mt_action_id(what, id);
	if (*typed && (!strcasecmp(typed, id) || !strcasecmp(typed, info->name)))
		sum += EXACT;
	while (*(typed += strspn(typed, " "))) {
		size_t len = strcspn(typed, " ");
		int score =
			larger(NAME * larger(fuzzy(info->name, typed, len), fuzzy(id, typed, len)),
				larger(within(info->words, typed, len),
					within(mt_scope_words(info->scope), typed, len)));

		if (!score)
			return 0;
		sum += score;
		typed += len;
	}
	return sum;
}

/* What can be done here comes before what another view can do, where both fit alike. */
static void find(struct mt_app *app)
{
	struct palette *p = app->overlay_state;
	uint32_t scopes = mt_app_scopes(app);

	p->list.count = 0;
	for (int i = 0; i < MT_ACTION_COUNT; i++) {
		int score = rate(p->text, (enum mt_action)i) * 2;
		uint32_t at = p->list.count;

		if (!score)
			continue;
		score += scopes & 1u << mt_action_info((enum mt_action)i)->scope ? 1 : 0;
		for (; at > 0 && p->score[at - 1] < score; at--) {
			p->score[at] = p->score[at - 1];
			p->found[at] = p->found[at - 1];
		}
		p->score[at] = score;
		p->found[at] = (enum mt_action)i;
		p->list.count++;
	}
	mt_list_select(&p->list, 0);
}

static void run(struct mt_app *app, enum mt_action what)
{
	mt_overlay_close(app);
	if (what != MT_ACTION_PALETTE)
		mt_app_run(app, what);
}

/* Where the words of a line stand. */
static struct mt_rect words_at(struct mt_app *app, struct mt_rect r, uint32_t index)
{
	const struct palette *p = app->overlay_state;
	bool here = mt_app_scopes(app) & 1u << mt_action_info(p->found[index])->scope;

	r.column += 2 + NAME_WIDTH;
	r.columns -= 2 + NAME_WIDTH + KEY_WIDTH + 2 + (!here && r.columns >= 70 ? SCOPE_WIDTH : 0);
	return r;
}

static int height(struct mt_app *app, uint32_t index, int columns)
{
	const struct palette *p = app->overlay_state;

	return mt_draw_wrapped(app->screen,
		words_at(app, (struct mt_rect){0, 0, 0, columns}, index), MT_ROLE_BOX,
		mt_action_info(p->found[index])->words);
}

static void draw_line(struct mt_app *app, struct mt_rect r, uint32_t index, enum mt_role role)
{
	const struct palette *p = app->overlay_state;
	const struct mt_action_info *info = mt_action_info(p->found[index]);
	enum mt_role key_role = role == MT_ROLE_BOX ? MT_ROLE_BOX_KEY : role;
	struct mt_rect words = words_at(app, r, index);
	int behind = words.column + words.columns, key = r.column + r.columns - KEY_WIDTH - 1;
	char text[16];

	mt_draw(app->screen, r.row, r.column + 2, NAME_WIDTH - 1, key_role, info->name);
	mt_draw_wrapped(app->screen, words, role, info->words);
	mt_draw(app->screen, r.row, behind + 1, key - behind - 1, role,
		mt_scope_words(info->scope));
	mt_draw_right(app->screen, r.row, key, KEY_WIDTH, key_role,
		mt_action_key(p->found[index], text));
}

static void draw(struct mt_app *app)
{
	struct palette *p = app->overlay_state;
	struct mt_rect r = mt_box_middle(app, 20, 96);

	mt_box_draw(app, r, "All actions",
		r.columns >= 50 ? "Enter runs it   Up Down   Esc closes" : "Enter   Esc");
	int at = mt_draw(app->screen, r.row + 1, r.column + 1, 3, MT_ROLE_BOX_KEY, ": ");

	at += mt_draw(app->screen, r.row + 1, r.column + 1 + at, r.columns - 4 - at, MT_ROLE_BOX,
		p->text);
	mt_screen_cursor(app->screen, r.row + 1, r.column + 1 + at);
	mt_box_list(app, r, 1, &p->list, draw_line, height);
	if (!p->list.count)
		mt_draw(app->screen, r.row + 2, r.column + 3, r.columns - 5, MT_ROLE_BOX,
			"no action matches; Backspace deletes a letter");
}

static void key(struct mt_app *app, const struct mt_input *input)
{
	struct palette *p = app->overlay_state;
	uint32_t code = input->code, len = p->len;

	if (mt_overlay_closes(input)) {
		mt_overlay_close(app);
		return;
	}
	if (code == MT_KEY_ENTER) {
		if (p->list.count)
			run(app, p->found[p->list.selected]);
		return;
	}
	if (code == MT_KEY_BACKSPACE && len)
		p->len--;
	else if (code == ('U' & 0x1f))
		p->len = 0;
	else if (code >= 32 && code < 127 && len + 1 < sizeof p->text)
		p->text[p->len++] = (char)code;
	else
		mt_list_move(&p->list, mt_keys_action(code, 1u << MT_SCOPE_MOVE));
	p->text[p->len] = '\0';
	if (p->len != len)
		find(app);
}

static struct mt_list *list(struct mt_app *app)
{
	return &((struct palette *)app->overlay_state)->list;
}

static void click(struct mt_app *app, uint32_t index)
{
	run(app, ((struct palette *)app->overlay_state)->found[index]);
}

const struct mt_overlay mt_overlay_palette = {
	.draw = draw,
	.key = key,
	.list = list,
	.click = click,
};

void mt_palette_open(struct mt_app *app)
{
	mt_overlay_open(app, &mt_overlay_palette, mt_alloc(sizeof(struct palette)));
	find(app);
}
