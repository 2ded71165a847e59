/* Triage: how much of what leaks was judged, and the queue of what nobody has judged yet; below it,
 * what was. */
#include "tui/data/triage.h"

#include "core/model/blind.h"
#include "tui/user/keymap.h"
#include "tui/view/guidance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 9
#define BLOCKS 8

/* As they are shown: what is to be done first. */
static const int order[] = {MT_TRIAGE_NEW, MT_TRIAGE_CAME_BACK, MT_TRIAGE_LEAK,
	MT_TRIAGE_INVESTIGATING, MT_TRIAGE_FIXED, MT_TRIAGE_SUPPRESSED};
#define STATES ((int)(sizeof order / sizeof *order))

static const char *state_words(int state)
{
	return state == MT_TRIAGE_NEW          ? "untriaged"
		: state == MT_TRIAGE_CAME_BACK ? "came back"
					       : mt_triage_state_name((enum mt_triage_state)state);
}

static char state_letter(int state)
{
	return state == MT_TRIAGE_CAME_BACK ? '!'
					    : mt_triage_state_letter((enum mt_triage_state)state);
}

static void remember(struct mt_triage_ui *t)
{
	if (!t->list.count)
		return;
	t->list.identity = t->leaks[t->list.selected];
	t->on_queue = mt_triage_queued((enum mt_triage_state)t->shown[t->list.identity]);
}

/* Whoever works off the queue goes on with the next line when the selected one is judged, and does
 * not go with it. */
static struct mt_list *list(struct mt_app *app)
{
	struct mt_triage_ui *t = app->triage;
	struct mt_list *l = &t->list;
	uint32_t at = UINT32_MAX;

	mt_triage_queue(app);
	if (l->count == t->leak_count && (!l->count || t->leaks[l->selected] == l->identity))
		return l;
	for (uint32_t i = 0; i < t->leak_count && at == UINT32_MAX; i++)
		if (t->leaks[i] == l->identity)
			at = i;
	if (at != UINT32_MAX && t->on_queue
		&& !mt_triage_queued((enum mt_triage_state)t->shown[t->leaks[at]]))
		at = UINT32_MAX;
	mt_list_keep(l, t->leak_count, at);
	remember(t);
	return l;
}

/* ---- drawing ---- */

static uint64_t all_bytes(const struct mt_triage_ui *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < MT_TRIAGE_SHOWN; i++)
		sum += t->bytes[i];
	return sum;
}

/* A bar of so many eighths of a cell; at least a mark where there is something. */
static void draw_bar(struct mt_app *app, int row, int column, int width, uint64_t part,
	uint64_t all)
{
	const char *full = mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_BLOCK);
	int cells = all ? (int)((double)part * width / (double)all + 0.5) : 0;

	if (part && !cells)
		cells = 1;
	for (int i = 0; i < cells && i < width; i++)
		mt_draw(app->screen, row, column + i, 1, MT_ROLE_GRAPH, full);
}

static int draw_bars(struct mt_app *app, struct mt_rect r)
{
	struct mt_triage_ui *t = app->triage;
	uint64_t all = all_bytes(t);
	char bytes[16], count[16];
	int row = r.row;

	for (int i = 0; i < STATES; i++) {
		int state = order[i];

		if (state == MT_TRIAGE_CAME_BACK && !t->groups[state])
			continue;
		mt_data_format(bytes, t->bytes[state], MT_UNIT_BYTES);
		mt_data_format(count, t->groups[state], MT_UNIT_COUNT);
		mt_drawf(app->screen, row, r.column, 16,
			state == MT_TRIAGE_CAME_BACK ? MT_ROLE_ERROR : MT_ROLE_TEXT, " %c %s",
			state_letter(state), state_words(state));
		mt_draw_right(app->screen, row, r.column + 16, 6, MT_ROLE_NUMBER, count);
		mt_draw_right(app->screen, row, r.column + 22, 8, MT_ROLE_NUMBER, bytes);
		draw_bar(app, row++, r.column + 32, r.columns - 33, t->bytes[state], all);
	}
	return row - r.row;
}

/* All states in one line. */
static int draw_sums(struct mt_app *app, struct mt_rect r)
{
	struct mt_triage_ui *t = app->triage;
	char bytes[16], text[256];
	int used = 0;

	for (int i = 0; i < STATES; i++)
		if (t->groups[order[i]] || order[i] == MT_TRIAGE_NEW)
			used += snprintf(text + used, sizeof text - (size_t)used, " %c %u %s ",
				state_letter(order[i]), t->groups[order[i]],
				mt_data_format(bytes, t->bytes[order[i]], MT_UNIT_BYTES));
	mt_draw(app->screen, r.row, r.column, r.columns, MT_ROLE_TEXT, text);
	return 1;
}

static void draw_line(struct mt_app *app, const struct mt_line *line, void *none)
{
	(void)none;
	struct mt_data *d = &app->data;
	uint32_t group = app->triage->leaks[line->index];
	const struct mt_group *g = &d->profile.groups[group];
	const struct mt_rect r = line->r;
	enum mt_role role = line->role;
	const struct mt_judgement *j = mt_triage_of(app, group);
	int note = j && *j->note && r.columns >= 70 ? (r.columns - 22) * 2 / 5 : 0;
	int where = r.column + 4 + BYTES + BLOCKS + 1;
	struct mt_backtrace stack = {0};
	char text[32];

	mt_triage_draw_mark(app, r.row, r.column, role, group);
	mt_draw_right(app->screen, r.row, r.column + 4, BYTES, role,
		mt_data_metric(text, d, g, MT_METRIC_LEAKED_SIZE));
	mt_draw_right(app->screen, r.row, r.column + 4 + BYTES, BLOCKS, role,
		mt_data_metric(text, d, g, MT_METRIC_LEAKED_COUNT));
	mt_backtrace_get(&stack, &d->profile, d->symbols, group);
	mt_frame_where(app, r.row, where + 1, r.column + r.columns - where - 1 - note,
		line->selected, line->focus, mt_backtrace_own(&stack));
	if (note)
		mt_draw(app->screen, r.row, r.column + r.columns - note + 1, note - 1,
			line->selected ? role : MT_ROLE_PROMPT, j->note);
	mt_backtrace_free(&stack);
}

/* Why no leak is listed of what is shown. */
static const char *why_empty(const struct mt_data *d)
{
	bool known = mt_info_knows_leaks(&d->whole->info);

	if (!d->whole->info.leaked_count)
		return d->live  ? "nothing is live now"
			: known ? mt_blind_any(d->whole)
				? "every recorded block was freed; not all were recorded"
				: "nothing leaks: every block was freed"
				: "nothing was live when the recording ended";
	if (d->hidden)
		return known ? "no other leak: {show-hidden} shows suppressed ones"
			     : "nothing else is live: {show-hidden} shows suppressed groups";
	return known ? "no leak matches the filter: {filter} changes it"
		     : "no live block matches the filter: {filter} changes it";
}

static void draw_empty(struct mt_app *app, struct mt_rect r)
{
	char text[120];

	if (!app->data.selection.count && !app->data.hidden)
		mt_guidance_empty(app, r);
	else
		mt_draw(app->screen, r.row, r.column + 2, r.columns - 2, MT_ROLE_DIM,
			mt_keymap_words(text, sizeof text, why_empty(&app->data)));
}

static void draw_heading(struct mt_app *app, struct mt_rect r)
{
	struct mt_triage_ui *t = app->triage;
	uint32_t queued = t->groups[MT_TRIAGE_NEW] + t->groups[MT_TRIAGE_CAME_BACK];
	char text[160], keys[128];

	if (!t->leak_count)
		snprintf(text, sizeof text, "nothing to judge");
	else if (!queued)
		mt_keymap_words(text, sizeof text,
			"every leak is judged; {copy-report} copies the report, "
			"{write-report} writes it");
	else if (r.columns < 60)
		snprintf(text, sizeof text,
			mt_keymap_words(keys, sizeof keys, "%u to judge: {judge}"), queued);
	else
		snprintf(text, sizeof text,
			mt_keymap_words(keys, sizeof keys,
				"%u to judge, largest first: {open} opens, {judge} judges%s"),
			queued,
			t->elsewhere && r.columns >= 90
				? "; other judged leaks are not in this trace"
				: "");
	mt_draw_rule(app->screen, r.row, r.column, r.columns, MT_ROLE_RULE_FOCUS, text);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	int used = r.rows >= 14 && r.columns >= 50 ? draw_bars(app, r) : draw_sums(app, r);

	r.row += used;
	r.rows -= used;
	draw_heading(app, r);
	r.row++;
	r.rows--;
	if (!l->count)
		draw_empty(app, r);
	mt_frame_list(app, MT_VIEW_TRIAGE, r, l, focus, draw_line, NULL);
}

/* ---- actions ---- */

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);

	if (what == MT_ACTION_OPEN && l->count) {
		l->held = true;
		mt_app_open_group(app, app->triage->leaks[l->selected]);
		return true;
	}
	if (!mt_list_move(l, what))
		return false;
	remember(app->triage);
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
	remember(app->triage);
}

static void pick(struct mt_app *app, struct mt_pick *out)
{
	struct mt_list *l = list(app);

	if (l->count)
		out->group = app->triage->leaks[l->selected];
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	list(app);
	const struct mt_judgement *j = mt_triage_of(app, app->triage->leaks[index]);
	struct mt_backtrace stack = {0};
	const struct mt_backtrace_frame *frame;
	char source[256] = "";

	mt_backtrace_get(&stack, &app->data.profile, app->data.symbols, app->triage->leaks[index]);
	frame = mt_backtrace_own(&stack);
	if (frame)
		mt_frame_source(source, sizeof source, frame, true);
	snprintf(out, len, "%s %s %s", frame ? frame->function : "", source, j ? j->note : "");
	mt_backtrace_free(&stack);
}

const struct mt_view mt_view_triage = {
	.name = "Triage",
	.scopes = 1u << MT_SCOPE_TRIAGE | 1u << MT_SCOPE_QUEUE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.pick = pick,
};
