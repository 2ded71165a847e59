/* The prompt for filter and search: what is typed is tried at once. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/app.h"
#include "tui/data/triage.h"
#include "tui/user/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name) [MT_PROMPT_##id] = #name,
	MT_PROMPTS(X)
#undef X
};

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

/* The lines of the view with the focus, or NULL if it has none. A click on a tab changes the view
 * below an open prompt. */
static struct mt_list *searched(struct mt_app *app)
{
	const struct mt_view *view = mt_app_focus(app);

	return view->list ? view->list(app) : NULL;
}

/* The next line from index on, in direction, that matches; wraps. count: all that match. */
static uint32_t find(struct mt_app *app, uint32_t from, int direction, uint32_t *count)
{
	const struct mt_view *view = mt_app_focus(app);
	struct mt_list *l = searched(app);
	uint32_t best = UINT32_MAX, best_distance = UINT32_MAX;
	char text[1024];

	*count = 0;
	for (uint32_t i = 0; l && i < l->count; i++) {
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
	struct mt_list *l = searched(app);

	if (l && index < l->count)
		mt_app_focus(app)->choose(app, index);
}

/* Function names are counted anew when there are more groups or names. */
static const struct mt_filter_functions *functions_of(struct mt_app *app)
{
	struct mt_prompt *p = &app->prompt;
	const struct mt_data *d = &app->data;

	if (!p->functions.groups || p->functions.count > d->symbols->strings.count
		|| p->function_groups != d->whole->group_count
		|| p->function_names != d->symbols->generation) {
		mt_filter_functions_make(&p->functions, d->whole, d->symbols);
		p->function_groups = d->whole->group_count;
		p->function_names = d->symbols->generation;
	}
	return &p->functions;
}

static void find_candidates(struct mt_app *app)
{
	struct mt_prompt *p = &app->prompt;

	mt_filter_complete(p->text, p->cursor, &app->data.profile, functions_of(app),
		&p->candidates);
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

/* A word that is wrong, or not yet complete, is left out of what is shown meanwhile: before it had
 * its operator, it was taken for the name of a function. */
static void preview_filter(struct mt_app *app)
{
	struct mt_prompt *p = &app->prompt;
	struct mt_err err = {0};
	int result = mt_data_filter(&app->data, p->text, &err);
	uint32_t from = word_start(p), to = p->cursor + (uint32_t)strcspn(p->text + p->cursor, " ");

	snprintf(p->error, sizeof p->error, "%s", result < 0 ? err.text : "");
	if (result >= 0 || result == -ENOTSUP)
		return;
	char *others = mt_format("%.*s%s", (int)from, p->text, p->text + to);

	mt_data_filter(&app->data, others, NULL);
	free(others);
}

static void preview(struct mt_app *app)
{
	struct mt_prompt *p = &app->prompt;

	if (p->kind == MT_PROMPT_FILTER) {
		if (p->chosen == UINT32_MAX)
			find_candidates(app);
		preview_filter(app);
		return;
	}
	if (p->kind != MT_PROMPT_SEARCH) {
		p->error[0] = '\0';
		return;
	}
	set_pattern(p, p->text);
	p->matches = 0;
	if (p->pattern)
		go(app, find(app, p->origin, 1, &p->matches));
}

void mt_prompt_open(struct mt_app *app, enum mt_prompt_kind kind)
{
	struct mt_prompt *p = &app->prompt;
	char *filter;

	if (kind == MT_PROMPT_SEARCH && !searched(app)) {
		mt_app_say(app, "this view has nothing to search");
		return;
	}
	p->kind = kind;
	p->error[0] = p->text[0] = '\0';
	p->matches = p->back = 0;
	p->refused = false;
	p->chosen = UINT32_MAX;
	mt_filter_candidates_free(&p->candidates);
	if (kind == MT_PROMPT_FILTER) {
		filter = mt_data_wanted(&app->data);
		snprintf(p->text, sizeof p->text, "%s", filter);
		free(filter);
		mt_data_remember(&app->data);
	} else if (kind == MT_PROMPT_SEARCH) {
		p->origin = searched(app)->selected;
	} else {
		mt_triage_prompt(app, kind, p->text, sizeof p->text);
	}
	p->len = p->cursor = (uint32_t)strlen(p->text);
}

void mt_prompt_next(struct mt_app *app, int direction)
{
	char lines[MT_NUMBER_OF_LEN];
	struct mt_prompt *p = &app->prompt;
	struct mt_list *l = searched(app);
	uint32_t count, at;

	if (!p->search[0] || !l || !l->count) {
		mt_app_say(app, "no search yet; / starts one");
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

/* A text that is wrong stays, with what is wrong in it, to be mended. */
static void finish(struct mt_app *app, bool accept)
{
	char lines[MT_NUMBER_OF_LEN];
	struct mt_prompt *p = &app->prompt;
	enum mt_prompt_kind kind = p->kind;

	bool done = kind == MT_PROMPT_NOTE || kind == MT_PROMPT_WRITE;
	struct mt_err err = {0};

	if (accept && done)
		snprintf(p->error, sizeof p->error, "%s",
			mt_triage_accept(app, kind, p->text, &err) < 0 ? err.text : "");
	if (accept && p->error[0]) {
		p->refused = true;
		mt_filter_candidates_free(&p->candidates);
		return;
	}
	if (accept)
		mt_history_add(&p->history, names[kind], p->text);
	p->back = 0;
	if (done) {
		p->error[0] = '\0';
		p->kind = MT_PROMPT_NONE;
		return;
	}
	if (p->kind == MT_PROMPT_FILTER) {
		if (!accept)
			mt_data_back(&app->data);
	} else if (accept) {
		strcpy(p->search, p->text);
		if (*p->text)
			mt_app_say(app, "%s %s; {next-match} next, {previous-match} previous",
				mt_number_of(lines, p->matches, "line"),
				p->matches == 1 ? "matches" : "match");
	} else {
		set_pattern(p, p->search);
		go(app, p->origin);
	}
	p->error[0] = '\0';
	p->kind = MT_PROMPT_NONE;
}

/* To the text that was accepted before, or back towards what is being typed. */
static void browse(struct mt_app *app, bool older)
{
	struct mt_prompt *p = &app->prompt;
	const char *text = NULL;

	if (!older && !p->back)
		return;
	if (!p->back)
		memcpy(p->draft, p->text, sizeof p->draft);
	if (older || p->back > 1)
		text = mt_history_get(&p->history, names[p->kind], p->back + (older ? 1 : -1u));
	if (older && !text)
		return;
	p->back += older ? 1 : -1u;
	snprintf(p->text, sizeof p->text, "%s", text ? text : p->draft);
	p->len = p->cursor = (uint32_t)strlen(p->text);
	p->refused = false;
	preview(app);
	mt_filter_candidates_free(&p->candidates);
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
		find_candidates(app);
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
	case MT_KEY_UP:
	case 'P' & 0x1f: browse(app, true); return;
	case MT_KEY_DOWN:
	case 'N' & 0x1f: browse(app, false); return;
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
	p->refused = p->refused && p->len == len;
	if (p->len != len || (p->cursor != at && p->kind == MT_PROMPT_FILTER && !p->refused))
		preview(app);
}

void mt_prompt_free(struct mt_prompt *p)
{
	mt_pattern_free(p->pattern);
	mt_filter_candidates_free(&p->candidates);
	mt_filter_functions_free(&p->functions);
	mt_history_free(p->history);
}
