/* The prompt for filter and search: what is typed is tried at once. */
#include "core/base/text.h"
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/triage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mt_prompt_matches(struct mt_app *app, const char *text)
{
	return app->prompt.pattern && mt_pattern_match(app->prompt.pattern, text, NULL) == 1;
}

static void set_pattern(struct mt_prompt *p, const char *text)
{
	struct mt_err err = {0};

	p->error[0] = '\0';
	mt_pattern_free(p->pattern);
	p->pattern = *text ? mt_pattern_new(text, "search", &err) : NULL;
	if (*text && !p->pattern)
		snprintf(p->error, sizeof p->error, "%s", err.text);
	if (p->pattern)
		mt_pattern_begin(p->pattern);
}

/* The next line from index on, in direction, that matches; wraps. count: all that match. */
static uint32_t find(struct mt_app *app, uint32_t from, int direction, uint32_t *count)
{
	const struct mt_view *view = mt_app_focus(app);
	struct mt_list *l = view->list(app);
	uint32_t best = UINT32_MAX, best_distance = UINT32_MAX;
	char text[1024];

	*count = 0;
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t distance = direction > 0 ? (i + l->count - from) % l->count
						  : (from + l->count - i) % l->count;

		view->line(app, i, text, sizeof text);
		if (!mt_prompt_matches(app, text))
			continue;
		++*count;
		if (distance < best_distance) {
			best = i;
			best_distance = distance;
		}
	}
	return best;
}

static void go(struct mt_app *app, uint32_t index)
{
	if (index < mt_app_focus(app)->list(app)->count)
		mt_app_focus(app)->choose(app, index);
}

static void preview(struct mt_app *app)
{
	struct mt_prompt *p = &app->prompt;
	struct mt_err err = {0};

	if (p->kind == MT_PROMPT_FILTER) {
		p->error[0] = '\0';
		if (p->chosen == UINT32_MAX)
			mt_filter_complete(p->text, p->cursor, &app->data.profile, &p->candidates);
		if (mt_data_filter(&app->data, p->text, &err) < 0)
			snprintf(p->error, sizeof p->error, "%s", err.text);
		return;
	}
	if (p->kind != MT_PROMPT_SEARCH)
		return;
	set_pattern(p, p->text);
	p->matches = 0;
	if (p->pattern)
		go(app, find(app, p->origin, 1, &p->matches));
}

void mt_prompt_open(struct mt_app *app, enum mt_prompt_kind kind)
{
	struct mt_prompt *p = &app->prompt;
	char *filter;

	if (kind == MT_PROMPT_SEARCH && !mt_app_focus(app)->list) {
		mt_app_say(app, "there are no lines to search here");
		return;
	}
	p->kind = kind;
	p->error[0] = p->text[0] = '\0';
	p->matches = 0;
	p->chosen = UINT32_MAX;
	mt_filter_candidates_free(&p->candidates);
	if (kind == MT_PROMPT_FILTER) {
		filter = mt_data_wanted(&app->data);
		snprintf(p->text, sizeof p->text, "%s", filter);
		free(filter);
		mt_data_remember(&app->data);
	} else if (kind == MT_PROMPT_SEARCH) {
		p->origin = mt_app_focus(app)->list(app)->selected;
	} else {
		mt_triage_prompt(app, kind, p->text, sizeof p->text);
	}
	p->len = p->cursor = (uint32_t)strlen(p->text);
}

void mt_prompt_next(struct mt_app *app, int direction)
{
	char lines[MT_NUMBER_OF_LEN];
	struct mt_prompt *p = &app->prompt;
	struct mt_list *l = mt_app_focus(app)->list ? mt_app_focus(app)->list(app) : NULL;
	uint32_t count, at;

	if (!p->search[0] || !l || !l->count) {
		mt_app_say(app, "nothing was searched for yet; / searches");
		return;
	}
	if (!p->pattern)
		set_pattern(p, p->search);
	mt_pattern_begin(p->pattern);
	at = find(app, (l->selected + (direction > 0 ? 1 : l->count - 1)) % l->count, direction,
		&count);
	if (at == UINT32_MAX)
		mt_app_say(app, "no line matches %s", p->search);
	else
		mt_app_say(app, "%s %s %s", mt_number_of(lines, count, "line"),
			count == 1 ? "matches" : "match", p->search);
	go(app, at);
}

static void finish(struct mt_app *app, bool accept)
{
	char lines[MT_NUMBER_OF_LEN];
	struct mt_prompt *p = &app->prompt;
	enum mt_prompt_kind kind = p->kind;

	if (kind == MT_PROMPT_NOTE || kind == MT_PROMPT_WRITE) {
		p->kind = MT_PROMPT_NONE;
		if (accept)
			mt_triage_accept(app, kind, p->text);
		return;
	}

	if (p->kind == MT_PROMPT_FILTER) {
		if (!accept || p->error[0])
			mt_data_back(&app->data);
	} else if (accept && !p->error[0]) {
		strcpy(p->search, p->text);
		if (*p->text)
			mt_app_say(app, "%s %s; {next-match} and {previous-match} go on",
				mt_number_of(lines, p->matches, "line"),
				p->matches == 1 ? "matches" : "match");
	} else {
		set_pattern(p, p->search);
		go(app, p->origin);
	}
	if (accept && p->error[0])
		mt_app_say(app, "%s", p->error);
	p->error[0] = '\0';
	p->kind = MT_PROMPT_NONE;
}

static void insert(struct mt_prompt *p, uint32_t code)
{
	char bytes[4];
	uint32_t n = (uint32_t)mt_key_bytes(bytes, code);

	if (p->len + n >= sizeof p->text)
		return;
	memmove(p->text + p->cursor + n, p->text + p->cursor, p->len - p->cursor + 1);
	memcpy(p->text + p->cursor, bytes, n);
	p->len += n;
	p->cursor += n;
}

static uint32_t before(const struct mt_prompt *p, uint32_t at)
{
	while (at > 0 && ((uint8_t)p->text[--at] & 0xc0) == 0x80)
		;
	return at;
}

static uint32_t after(const struct mt_prompt *p, uint32_t at)
{
	if (at < p->len)
		at++;
	while (at < p->len && ((uint8_t)p->text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static void cut(struct mt_prompt *p, uint32_t from, uint32_t to)
{
	memmove(p->text + from, p->text + to, p->len - to + 1);
	p->len -= to - from;
	p->cursor = from;
}

static uint32_t word_start(const struct mt_prompt *p)
{
	uint32_t at = p->cursor;

	while (at > 0 && p->text[at - 1] == ' ')
		at--;
	while (at > 0 && p->text[at - 1] != ' ')
		at--;
	return at;
}

/* ---- completion ---- */

/* What all candidates begin with, in bytes. */
static uint32_t common(const struct mt_filter_candidates *c)
{
	uint32_t len = (uint32_t)strlen(c->items[0].text);

	for (uint32_t i = 1; i < c->count; i++)
		while (strncmp(c->items[0].text, c->items[i].text, len) != 0)
			len--;
	return len;
}

/* Puts len bytes of text where the candidates would stand. */
static void replace(struct mt_prompt *p, const char *text, uint32_t len)
{
	struct mt_filter_candidates *c = &p->candidates;

	if (p->len - (c->to - c->from) + len >= sizeof p->text)
		return;
	cut(p, c->from, c->to);
	memmove(p->text + c->from + len, p->text + c->from, p->len - c->from + 1);
	memcpy(p->text + c->from, text, len);
	p->len += len;
	c->to = p->cursor = c->from + len;
}

/* Completes as far as there is no doubt, then goes through what is left. */
static void complete(struct mt_app *app, bool forward)
{
	struct mt_prompt *p = &app->prompt;
	struct mt_filter_candidates *c = &p->candidates;

	if (p->kind != MT_PROMPT_FILTER)
		return;
	if (p->chosen == UINT32_MAX)
		mt_filter_complete(p->text, p->cursor, &app->data.profile, c);
	if (!c->count)
		return;
	uint32_t len = common(c);

	if (p->chosen == UINT32_MAX && (c->count == 1 || len > c->to - c->from)) {
		replace(p, c->items[0].text, len);
	} else {
		p->chosen = p->chosen == UINT32_MAX
			? (forward ? 0 : c->count - 1)
			: (p->chosen + (forward ? 1 : c->count - 1)) % c->count;
		replace(p, c->items[p->chosen].text, (uint32_t)strlen(c->items[p->chosen].text));
	}
	preview(app);
}

void mt_prompt_key(struct mt_app *app, uint32_t code)
{
	struct mt_prompt *p = &app->prompt;
	uint32_t len = p->len, at = p->cursor;

	if (code == MT_KEY_TAB || code == MT_KEY_BACK_TAB) {
		complete(app, code == MT_KEY_TAB);
		return;
	}
	p->chosen = UINT32_MAX;
	switch (code) {
	case MT_KEY_ENTER: finish(app, true); return;
	case MT_KEY_ESCAPE:
	case 'C' & 0x1f: finish(app, false); return;
	case MT_KEY_LEFT:
	case 'B' & 0x1f: p->cursor = before(p, p->cursor); break;
	case MT_KEY_RIGHT:
	case 'F' & 0x1f: p->cursor = after(p, p->cursor); break;
	case MT_KEY_HOME:
	case 'A' & 0x1f: p->cursor = 0; break;
	case MT_KEY_END:
	case 'E' & 0x1f: p->cursor = p->len; break;
	case MT_KEY_BACKSPACE: cut(p, before(p, p->cursor), p->cursor); break;
	case MT_KEY_DELETE:
	case 'D' & 0x1f: cut(p, p->cursor, after(p, p->cursor)); break;
	case 'U' & 0x1f: cut(p, 0, p->cursor); break;
	case 'K' & 0x1f: cut(p, p->cursor, p->len); break;
	case 'W' & 0x1f: cut(p, word_start(p), p->cursor); break;
	default:
		if (code >= MT_KEY_SPECIAL || code < 32)
			return;
		insert(p, code);
	}
	if (p->len != len || (p->cursor != at && p->kind == MT_PROMPT_FILTER))
		preview(app);
}

/* Whether there is something to show below: not where nothing of a word is there yet. */
static bool offers(const struct mt_prompt *p)
{
	const struct mt_filter_candidates *c = &p->candidates;

	return c->count
		&& (p->chosen != UINT32_MAX || c->to > c->from
			|| (c->from && p->text[c->from - 1] != ' '));
}

static int candidate_width(const struct mt_filter_candidate *candidate)
{
	return mt_text_width(candidate->text) + 2;
}

static void draw_candidates(struct mt_app *app, int row, int columns)
{
	const struct mt_prompt *p = &app->prompt;
	const struct mt_filter_candidates *c = &p->candidates;
	uint32_t first = 0;
	int column = 0, width = 0;

	/* The chosen one has to be seen. */
	for (uint32_t i = 0; i < c->count && p->chosen != UINT32_MAX && i <= p->chosen; i++) {
		width += candidate_width(&c->items[i]);
		while (width > columns && first < i)
			width -= candidate_width(&c->items[first++]);
	}
	for (uint32_t i = first; i < c->count && column < columns; i++) {
		mt_draw(app->screen, row, column, columns - column,
			i == p->chosen ? MT_ROLE_KEY : MT_ROLE_TEXT, c->items[i].text);
		column += candidate_width(&c->items[i]);
	}
}

void mt_prompt_draw_below(struct mt_app *app, int row, int columns)
{
	const struct mt_prompt *p = &app->prompt;

	if (offers(p))
		draw_candidates(app, row, columns);
	else if (p->error[0])
		mt_draw(app->screen, row, 0, columns, MT_ROLE_ERROR, p->error);
	else if (p->candidates.expected)
		mt_drawf(app->screen, row, 0, columns, MT_ROLE_DIM, "expected %s",
			p->candidates.expected);
	else
		mt_draw(app->screen, row, 0, columns, MT_ROLE_DIM,
			"Tab completes from: lifetime: "
			"size>= ...   Enter keeps it   Esc goes back");
}

void mt_prompt_draw(struct mt_app *app, int row, int columns)
{
	char matches[MT_NUMBER_OF_LEN], groups[16];
	struct mt_prompt *p = &app->prompt;
	static const char *const names[] = {
		[MT_PROMPT_SEARCH] = "search> ",
		[MT_PROMPT_FILTER] = "filter> ",
		[MT_PROMPT_NOTE] = "note> ",
		[MT_PROMPT_WRITE] = "write> ",
	};
	const char *name = names[p->kind];
	int at = mt_draw(app->screen, row, 0, columns, MT_ROLE_PROMPT, name);
	char count[64], head[sizeof p->text];
	const char *shown = p->text;

	snprintf(groups, sizeof groups, "%u", app->data.profile.group_count);
	if (p->kind == MT_PROMPT_FILTER && app->filtering)
		snprintf(count, sizeof count, "filtering %d %%", app->percent);
	else if (p->kind == MT_PROMPT_FILTER)
		snprintf(count, sizeof count, "%u/%s %s", app->data.selection.count, groups,
			MT_PLURAL(groups, "group"));
	else if (p->kind == MT_PROMPT_SEARCH)
		snprintf(count, sizeof count, "%s", mt_number_of(matches, p->matches, "match"));
	else
		mt_triage_prompt_words(app, p->kind, count, sizeof count);
	/* The filter's error has the line below, unless there are candidates. */
	bool error = p->error[0] && (p->kind != MT_PROMPT_FILTER || offers(p));
	const char *right = error ? p->error
		: p->chosen < p->candidates.count
		? p->candidates.items[p->chosen].words
		: "";

	right = *right ? right : count;
	int right_width = mt_text_width(right), room;

	if (right_width > columns * 3 / 5)
		right_width = columns * 3 / 5;
	room = columns - at - right_width - 2;
	memcpy(head, p->text, p->cursor);
	head[p->cursor] = '\0';
	while (mt_text_width(head + (shown - p->text)) >= room && *shown)
		mt_text_next(&shown);
	mt_draw(app->screen, row, at, room, MT_ROLE_TEXT, shown);
	mt_draw(app->screen, row, columns - right_width, right_width,
		error ? MT_ROLE_ERROR : MT_ROLE_DIM, right);
	mt_screen_cursor(app->screen, row, at + mt_text_width(head + (shown - p->text)));
}

void mt_prompt_free(struct mt_prompt *p)
{
	mt_pattern_free(p->pattern);
	mt_filter_candidates_free(&p->candidates);
}
