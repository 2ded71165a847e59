/* What the prompt looks like: what is typed, what could be, and what is wrong with it. */
#include "core/base/text.h"
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/triage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_ROWS 4 /* that an error takes at most */

/* Returns true if the prompt has completions to show: not before a word has begun. */
static bool offers(const struct mt_prompt *p)
{
	const struct mt_filter_candidates *c = &p->candidates;

	return c->count
		&& (p->chosen != UINT32_MAX || c->to > c->from
			|| (c->from && p->text[c->from - 1] != ' '));
}

static const char *candidate_text(const struct mt_filter_candidate *c, char out[1100])
{
	if (c->groups)
		snprintf(out, 1100, "%s%u", c->text, c->groups);
	else
		snprintf(out, 1100, "%s", c->text);
	return out;
}

static int candidate_width(const struct mt_filter_candidate *candidate)
{
	char text[1100];

	return mt_text_width(candidate_text(candidate, text)) + 2;
}

static void draw_candidates(struct mt_app *app, int row, int columns)
{
	const struct mt_prompt *p = &app->prompt;
	const struct mt_filter_candidates *c = &p->candidates;
	uint32_t first = 0;
	int column = 0, width = 0;
	char text[1100];

	/* The chosen one has to be seen. */
	for (uint32_t i = 0; i < c->count && p->chosen != UINT32_MAX && i <= p->chosen; i++) {
		width += candidate_width(&c->items[i]);
		while (width > columns && first < i)
			width -= candidate_width(&c->items[first++]);
	}
	for (uint32_t i = first; i < c->count && column < columns; i++) {
		mt_draw(app->screen, row, column, columns - column,
			i == p->chosen ? MT_ROLE_KEY : MT_ROLE_TEXT,
			candidate_text(&c->items[i], text));
		column += candidate_width(&c->items[i]);
	}
}

/* ---- errors ---- */

/* Byte of the text that an error is about, by what it says: "at character 5", or "at character 5 of
 * 'PATTERN'"; SIZE_MAX: it names no place. */
static size_t place_of_error(const struct mt_prompt *p)
{
	const char *words = strstr(p->error, "at character "), *from = p->text;
	char *end, pattern[1024];

	if (!words)
		return SIZE_MAX;
	unsigned long place = strtoul(words + strlen("at character "), &end, 10);

	if (!strncmp(end, " of '", 5)) {
		const char *quote = strstr(end + 5, "\'; expected");

		snprintf(pattern, sizeof pattern, "%.*s", quote ? (int)(quote - end - 5) : 0,
			end + 5);
		from = strstr(p->text, pattern) ? strstr(p->text, pattern) : p->text;
	}
	for (; *from && place > 1; place--)
		mt_text_next(&from);
	return (size_t)(from - p->text);
}

/* Above the prompt, whole. */
static void draw_error(struct mt_app *app, int row, int columns)
{
	struct mt_rect r = {row, 0, 0, columns};
	int rows = mt_draw_wrapped(app->screen, r, MT_ROLE_ERROR, app->prompt.error);

	r.rows = rows < ERROR_ROWS ? rows : ERROR_ROWS;
	r.row = row - r.rows;
	for (int i = 0; i < r.rows; i++)
		mt_draw_fill(app->screen, r.row + i, 0, columns, MT_ROLE_ERROR);
	mt_draw_wrapped(app->screen, r, MT_ROLE_ERROR, app->prompt.error);
}

/* While a word is being typed, candidates are of more use than that it is not complete. */
static bool shows_error(const struct mt_prompt *p)
{
	return p->error[0] && (p->refused || !offers(p));
}

/* ---- rows ---- */

bool mt_prompt_draw_below(struct mt_app *app, int row, int columns)
{
	struct mt_prompt *p = &app->prompt;

	if (shows_error(p) && p->caret >= 0)
		mt_draw(app->screen, row, p->caret, columns - p->caret, MT_ROLE_ERROR, "^");
	else if (shows_error(p))
		return true;
	else if (p->kind != MT_PROMPT_FILTER)
		return false;
	else if (offers(p))
		draw_candidates(app, row, columns);
	else if (p->candidates.expected)
		mt_drawf(app->screen, row, 0, columns, MT_ROLE_DIM, "expected %s",
			p->candidates.expected);
	else
		mt_draw(app->screen, row, 0, columns, MT_ROLE_DIM,
			"all words must match   Tab completes   Up: history   Enter applies it");
	return true;
}

/* What stands right of the text. */
static const char *words_beside(struct mt_app *app, char out[64])
{
	struct mt_prompt *p = &app->prompt;
	char matches[MT_NUMBER_OF_LEN], groups[16];

	snprintf(groups, sizeof groups, "%u", app->data.profile.group_count);
	if (p->chosen < p->candidates.count && *p->candidates.items[p->chosen].words)
		return p->candidates.items[p->chosen].words;
	if (p->kind == MT_PROMPT_FILTER && app->filtering)
		snprintf(out, 64, "filtering %d %%", app->percent);
	else if (p->kind == MT_PROMPT_FILTER)
		snprintf(out, 64, "%u/%s %s", app->data.selection.count, groups,
			MT_PLURAL(groups, "group"));
	else if (p->kind == MT_PROMPT_SEARCH)
		snprintf(out, 64, "%s", mt_number_of(matches, p->matches, "match"));
	else
		mt_triage_prompt_words(app, p->kind, out, 64);
	return out;
}

void mt_prompt_draw(struct mt_app *app, int row, int columns)
{
	static const char *const heads[] = {
		[MT_PROMPT_SEARCH] = "search> ",
		[MT_PROMPT_FILTER] = "filter> ",
		[MT_PROMPT_NOTE] = "note> ",
		[MT_PROMPT_WRITE] = "write> ",
	};
	struct mt_prompt *p = &app->prompt;
	int at = mt_draw(app->screen, row, 0, columns, MT_ROLE_PROMPT, heads[p->kind]);
	char beside[64], part[sizeof p->text];
	const char *shown = p->text, *right = words_beside(app, beside);
	int right_width = mt_text_width(right), room;

	if (right_width > columns * 3 / 5)
		right_width = columns * 3 / 5;
	room = columns - at - right_width - 2;
	memcpy(part, p->text, p->cursor);
	part[p->cursor] = '\0';
	while (mt_text_width(part + (shown - p->text)) >= room && *shown)
		mt_text_next(&shown);
	mt_draw(app->screen, row, at, room, MT_ROLE_TEXT, shown);
	mt_draw(app->screen, row, columns - right_width, right_width, MT_ROLE_DIM, right);
	mt_screen_cursor(app->screen, row, at + mt_text_width(part + (shown - p->text)));
	p->caret = -1;
	if (!shows_error(p))
		return;
	draw_error(app, row, columns);
	size_t place = place_of_error(p);

	if (place > p->len || place < (size_t)(shown - p->text))
		return;
	snprintf(part, sizeof part, "%.*s", (int)(place - (size_t)(shown - p->text)), shown);
	if (mt_text_width(part) < room)
		p->caret = at + mt_text_width(part);
}
