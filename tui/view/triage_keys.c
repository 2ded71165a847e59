/* Saying what groups are: marks, the keys after t, notes. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/data/triage.h"
#include "tui/user/keymap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what is meant ---- */

struct targets {
	uint32_t *groups;
	uint32_t count, capacity;
};

static void add_target(struct targets *out, uint32_t group)
{
	MT_GROW(out->groups, out->count, out->capacity);
	out->groups[out->count++] = group;
}

static void add_visited(void *out, uint32_t group, uint32_t node, uint32_t frame)
{
	(void)node, (void)frame;
	add_target(out, group);
}

/* What a key was meant for stays selected until it is said, whatever a running program brings to
 * the top meanwhile. */
static void hold(struct mt_app *app)
{
	const struct mt_view *view = mt_app_focus(app);

	if (view->list)
		view->list(app)->held = true;
}

/* What is selected: a group, or all groups below a branch of the call tree. */
static bool selected(struct mt_app *app, struct targets *out)
{
	struct mt_pick pick;

	if (!mt_app_pick(app, &pick))
		return false;
	if (pick.node != MT_NO_NODE)
		mt_tree_visit(app->data.tree, pick.node, add_visited, out);
	else if (pick.group != MT_NO_GROUP)
		add_target(out, pick.group);
	if (!out->count)
		mt_app_say(app, "no group is selected");
	return out->count > 0;
}

/* The marked groups, or else what is selected. */
static bool meant(struct mt_app *app, struct targets *out)
{
	struct mt_triage_ui *t = app->triage;

	if (!t->marked_count)
		return selected(app, out);
	for (uint32_t g = 0; g < t->marked_capacity; g++)
		if (t->marked[g] && g < app->data.whole->group_count)
			add_target(out, g);
	return out->count > 0;
}

static void unmark(struct mt_triage_ui *t)
{
	if (t->marked_count)
		memset(t->marked, 0, t->marked_capacity);
	t->marked_count = 0;
}

/* Marks what is selected; where all of it is marked, takes these marks away. */
static void mark(struct mt_app *app)
{
	struct mt_triage_ui *t = app->triage;
	struct targets groups = {0};
	uint32_t all = app->data.whole->group_count, already = 0;

	if (t->marked_capacity < all) {
		t->marked = mt_resize(t->marked, all);
		memset(t->marked + t->marked_capacity, 0, all - t->marked_capacity);
		t->marked_capacity = all;
	}
	if (!selected(app, &groups))
		return;
	for (uint32_t i = 0; i < groups.count; i++)
		already += t->marked[groups.groups[i]];
	for (uint32_t i = 0; i < groups.count; i++)
		t->marked[groups.groups[i]] = already < groups.count;
	t->marked_count = already < groups.count
		? t->marked_count - already + groups.count
		: t->marked_count - groups.count;
	free(groups.groups);
	mt_app_say(app,
		"%u marked; {judge} judges, {note} notes, "
		"{copy-report} copies them, {unmark} unmarks",
		t->marked_count);
	/* in the icicle down is the callee */
	if (app->view != MT_VIEW_DETAIL && app->view != MT_VIEW_ICICLE)
		mt_app_act(app, MT_ACTION_DOWN);
}

/* ---- judging ---- */

/* Fingerprints of groups, each once, with what is known of them. */
struct change {
	struct mt_judgement *items;
	uint32_t count;
	uint32_t groups;  /* that are meant */
	uint32_t others;  /* that leak by the same functions */
	uint32_t waiting; /* whose names are still looked up */
	struct targets targets;
};

static int by_fingerprint(const void *a, const void *b)
{
	uint64_t x = ((const struct mt_judgement *)a)->fingerprint;
	uint64_t y = ((const struct mt_judgement *)b)->fingerprint;

	return x < y ? -1 : x > y;
}

static void fill_items(struct mt_app *app, struct change *c)
{
	struct mt_triage_ui *t = app->triage;
	const struct mt_profile *p = app->data.whole;
	bool busy = mt_data_busy(&app->data);
	uint32_t kept = 0;

	c->items = mt_alloc(((size_t)c->targets.count + 1) * sizeof *c->items);
	for (uint32_t i = 0; i < c->targets.count; i++) {
		uint32_t group = c->targets.groups[i];

		if (busy && mt_fingerprints_open(&t->prints, p, group))
			c->waiting++;
		else
			c->items[c->count++].fingerprint =
				mt_fingerprints_get(&t->prints, p, group);
	}
	c->groups = c->count;
	if (c->count)
		qsort(c->items, c->count, sizeof *c->items, by_fingerprint);
	for (uint32_t i = 0; i < c->count; i++)
		if (!kept || c->items[kept - 1].fingerprint != c->items[i].fingerprint)
			c->items[kept++] = c->items[i];
	c->count = kept;
}

/* Sums over all groups of each fingerprint; where they lie; what was said before. */
static void fill_words(struct mt_app *app, struct change *c)
{
	struct mt_triage_ui *t = app->triage;
	const struct mt_profile *p = app->data.whole;
	struct mt_backtrace stack = {0};
	uint32_t groups = 0;

	for (uint32_t g = 0; g < p->group_count; g++) {
		struct mt_judgement key = {.fingerprint = mt_fingerprints_get(&t->prints, p, g)};
		struct mt_judgement *j = c->count
			? bsearch(&key, c->items, c->count, sizeof key, by_fingerprint)
			: NULL;

		if (!j)
			continue;
		j->leaked_bytes += p->groups[g].live_bytes;
		groups += p->groups[g].live_count > 0;
		if (j->where)
			continue;
		mt_backtrace_get(&stack, p, app->data.symbols, g);
		const struct mt_backtrace_frame *own = mt_backtrace_own(&stack);

		j->where = own ? own->function : "";
	}
	for (uint32_t i = 0; i < c->targets.count; i++)
		groups -= groups && p->groups[c->targets.groups[i]].live_count;
	c->others = groups;
	for (uint32_t i = 0; i < c->count; i++) {
		const struct mt_judgement *known =
			mt_triage_find(t->store, c->items[i].fingerprint);

		c->items[i].where = mt_strdup(c->items[i].where ? c->items[i].where : "");
		c->items[i].note = mt_strdup(known ? known->note : "");
		c->items[i].state = known ? known->state : MT_TRIAGE_NEW;
		c->items[i].time = known ? known->time : 0;
	}
	mt_backtrace_free(&stack);
}

/* Takes the groups. False, with a message: there is nothing to be said. */
static bool begin(struct mt_app *app, struct change *c)
{
	if (!app->triage->store) {
		mt_app_say(app, "the program's name is not known yet; try again in a moment");
		return false;
	}
	fill_items(app, c);
	fill_words(app, c);
	if (!c->count)
		mt_app_say(app, "names are still being looked up; try again in a moment");
	return c->count > 0;
}

static void end(struct change *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		free((char *)c->items[i].where);
		free((char *)c->items[i].note);
	}
	free(c->items);
	free(c->targets.groups);
}

/* Says it, to the store and to the person. */
static void say(struct mt_app *app, struct change *c, const char *what)
{
	struct mt_err err = {0};
	int result = mt_triage_change(app->triage->store, c->items, c->count, &err);
	char others[96] = "", waiting[64] = "", groups[96];

	if (c->groups == 1 && *c->items[0].where)
		snprintf(groups, sizeof groups, "%s", c->items[0].where);
	else
		mt_number_of(groups, c->groups, "group");
	unmark(app->triage);
	mt_data_select(&app->data);
	if (c->others)
		snprintf(others, sizeof others, " (and %u more by the same functions)", c->others);
	if (c->waiting)
		snprintf(waiting, sizeof waiting, "; %u not: names are still being looked up",
			c->waiting);
	if (result < 0)
		mt_app_say(app, "not saved: %.200s", err.text);
	else
		mt_app_say(app, "%s%s: %s%s; {judge} {judge-undo} undoes", groups, others, what,
			waiting);
}

static void judge(struct mt_app *app, enum mt_triage_state state)
{
	struct change c = {0};
	char hidden[64];
	/* single blocks are what the filter says */
	const char *what = state == MT_TRIAGE_SUPPRESSED && !app->triage->show_hidden
			&& app->view != MT_VIEW_BLOCKS
		? mt_keymap_words(hidden, sizeof hidden, "suppressed, hidden until {show-hidden}")
		: mt_triage_state_name(state);

	if (meant(app, &c.targets) && begin(app, &c)) {
		for (uint32_t i = 0; i < c.count; i++) {
			c.items[i].state = state;
			c.items[i].time = (uint64_t)time(NULL);
		}
		say(app, &c, what);
	}
	end(&c);
}

static void undo(struct mt_app *app)
{
	struct mt_err err = {0};
	uint32_t groups = 0;
	char count[MT_NUMBER_OF_LEN];
	int result = app->triage->store ? mt_triage_undo(app->triage->store, &groups, &err) : 0;

	mt_data_select(&app->data);
	if (result < 0)
		mt_app_say(app, "undone, but not saved: %.200s", err.text);
	else if (groups)
		mt_app_say(app, "undone: %s as before", mt_number_of(count, groups, "group"));
	else
		mt_app_say(app, "nothing to undo: nothing was judged in this session");
}

/* ---- notes ---- */

void mt_triage_prompt_words(struct mt_app *app, enum mt_prompt_kind kind, char *out, size_t len)
{
	const struct mt_triage_ui *t = app->triage;
	struct mt_backtrace stack = {0};
	char count[MT_NUMBER_OF_LEN];

	if (kind == MT_PROMPT_WRITE) {
		snprintf(out, len, "*.supp: rules");
	} else if (t->note_count == 1) {
		mt_backtrace_get(&stack, app->data.whole, app->data.symbols, t->note_groups[0]);
		snprintf(out, len, "%s",
			stack.count ? mt_backtrace_own(&stack)->function : "Enter keeps it");
		mt_backtrace_free(&stack);
	} else {
		snprintf(out, len, "for %s", mt_number_of(count, t->note_count, "group"));
	}
}

void mt_triage_prompt(struct mt_app *app, enum mt_prompt_kind kind, char *out, size_t len)
{
	struct mt_triage_ui *t = app->triage;

	out[0] = '\0';
	if (kind == MT_PROMPT_WRITE) {
		mt_triage_file_name(app, out, len);
	} else if (t->note_count) {
		const struct mt_judgement *j = mt_triage_of(app, t->note_groups[0]);

		snprintf(out, len, "%s", j ? j->note : "");
	}
}

static void ask_note(struct mt_app *app)
{
	struct targets groups = {0};

	if (!meant(app, &groups)) {
		free(groups.groups);
		return;
	}
	free(app->triage->note_groups);
	app->triage->note_groups = groups.groups;
	app->triage->note_count = groups.count;
	mt_prompt_open(app, MT_PROMPT_NOTE);
}

static void accept_note(struct mt_app *app, const char *text)
{
	struct mt_triage_ui *t = app->triage;
	struct change c = {.targets = {t->note_groups, t->note_count, t->note_count}};
	char note[MT_TRIAGE_NOTE_MAX + 1];

	t->note_groups = NULL;
	t->note_count = 0;
	snprintf(note, sizeof note, "%s", text);
	if (begin(app, &c)) {
		for (uint32_t i = 0; i < c.count; i++) {
			free((char *)c.items[i].note);
			c.items[i].note = mt_strdup(note);
			c.items[i].time = c.items[i].time ? c.items[i].time : (uint64_t)time(NULL);
		}
		say(app, &c, *note ? "noted" : "note removed");
	}
	end(&c);
}

int mt_triage_accept(struct mt_app *app, enum mt_prompt_kind kind, const char *text,
	struct mt_err *err)
{
	if (kind == MT_PROMPT_WRITE)
		return *text ? mt_triage_write(app, text, err) : 0;
	accept_note(app, text);
	return 0;
}

/* ---- the keys after t ---- */

static int popup_rows(int columns)
{
	return columns >= 72 ? 2 : columns >= 51 ? 3 : 4;
}

static void popup_draw(struct mt_app *app)
{
	int columns = mt_screen_columns(app->screen), rows = popup_rows(columns);
	int width = columns / ((8 + rows - 1) / rows);
	int row = mt_screen_rows(app->screen) - 2 - rows, count = 0;
	uint32_t marked = app->triage->marked_count;
	enum mt_action offered[MT_ACTION_COUNT + 1];
	char head[64], key[16];

	snprintf(head, sizeof head,
		marked ? "t: judge the %u marked groups as" : "t: judge this group as", marked);
	mt_draw_rule(app->screen, row - 1, 0, columns, MT_ROLE_RULE_FOCUS, head);
	for (int i = 0; i < rows; i++)
		mt_draw_fill(app->screen, row + i, 0, columns, MT_ROLE_BOX);
	app->hit_count = 0;
	for (int i = 0; i < MT_ACTION_COUNT; i++)
		if (mt_action_info((enum mt_action)i)->scope == MT_SCOPE_JUDGE)
			offered[count++] = (enum mt_action)i;
	offered[count++] = MT_ACTION_NOTE;
	offered[count++] = MT_ACTION_NONE;
	for (int i = 0; i < count; i++) {
		enum mt_action what = offered[i];
		int at = i / rows * width, line = row + i % rows, used;

		used = mt_draw(app->screen, line, at + 1, width - 1, MT_ROLE_BOX_KEY,
			what == MT_ACTION_NONE ? "Esc" : mt_action_key(what, key));
		mt_draw(app->screen, line, at + used + 2, width - used - 2, MT_ROLE_BOX,
			what == MT_ACTION_NONE           ? "cancel"
				: what == MT_ACTION_NOTE ? "note"
							 : mt_action_info(what)->name);
		mt_frame_hit(app, (struct mt_rect){line, at, 1, width}, MT_HIT_OVERLAY,
			MT_VIEW_MAIN, what);
	}
}

static void popup_click(struct mt_app *app, uint32_t what)
{
	mt_overlay_close(app);
	if (what < MT_ACTION_COUNT)
		mt_triage_action(app, (enum mt_action)what);
}

static void popup_key(struct mt_app *app, const struct mt_input *input)
{
	enum mt_action what = mt_keys_action(input->code, 1u << MT_SCOPE_JUDGE);

	if (what == MT_ACTION_NONE
		&& mt_keys_action(input->code, 1u << MT_SCOPE_TRIAGE) == MT_ACTION_NOTE)
		what = MT_ACTION_NOTE;
	mt_overlay_close(app);
	if (what == MT_ACTION_NONE && !mt_overlay_closes(input))
		mt_app_say(app, "nothing judged: after t, press l, i, f, x, n, a or u");
	mt_triage_action(app, what);
}

const struct mt_overlay mt_overlay_judge = {
	.draw = popup_draw,
	.key = popup_key,
	.click = popup_click,
};

bool mt_triage_action(struct mt_app *app, enum mt_action what)
{
	struct mt_triage_ui *t = app->triage;

	switch (what) {
	case MT_ACTION_MARK: mark(app); break;
	case MT_ACTION_UNMARK:
		mt_app_say(app,
			t->marked_count ? "all marks are cleared"
					: "nothing is marked; {mark} marks");
		unmark(t);
		break;
	case MT_ACTION_JUDGE:
		hold(app);
		mt_overlay_open(app, &mt_overlay_judge, NULL);
		break;
	case MT_ACTION_NOTE: ask_note(app); break;
	case MT_ACTION_SHOW_HIDDEN:
		t->show_hidden = !t->show_hidden;
		mt_data_select(&app->data);
		/* what comes back above the selected line is seen, where both fit */
		mt_view_groups.list(app)->top = 0;
		mt_app_say(app,
			t->show_hidden ? "suppressed groups are shown; {show-hidden} hides them"
				       : "suppressed groups are hidden; {show-hidden} shows them");
		break;
	case MT_ACTION_COPY_REPORT: mt_triage_copy(app); break;
	case MT_ACTION_WRITE_REPORT: mt_prompt_open(app, MT_PROMPT_WRITE); break;
	case MT_ACTION_JUDGE_LEAK: judge(app, MT_TRIAGE_LEAK); break;
	case MT_ACTION_JUDGE_INVESTIGATING: judge(app, MT_TRIAGE_INVESTIGATING); break;
	case MT_ACTION_JUDGE_FIXED: judge(app, MT_TRIAGE_FIXED); break;
	case MT_ACTION_JUDGE_SUPPRESSED: judge(app, MT_TRIAGE_SUPPRESSED); break;
	case MT_ACTION_JUDGE_NEW: judge(app, MT_TRIAGE_NEW); break;
	case MT_ACTION_JUDGE_UNDO: undo(app); break;
	default: return false;
	}
	return true;
}
