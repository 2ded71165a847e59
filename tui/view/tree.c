/* The call tree: who called, down to who allocated; or inverted. */
#include "core/base/buffer.h"
#include "tui/data/triage.h"
#include "tui/terminal/fit.h"
#include "tui/view/guidance.h"
#include "tui/view/tree_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN 10
#define WHERE_LEAST 26 /* columns that a name and its source have before the percentage */
#define WHERE_USUAL 34 /* and before the other numbers beside the metric */

static struct mt_list *list(struct mt_app *app)
{
	if (app->tree.generation != app->data.generation || !app->data.tree)
		mt_tree_rows_make(app, 0, 0);
	return &app->tree.list;
}

struct layout {
	bool percent, self, blocks;
	int where_column;
};

/* sums: what adds up has shares. */
static struct layout lay_out(int width, bool sums)
{
	struct layout l = {0};
	int room = width - 2 - COLUMN - WHERE_LEAST;

	l.percent = sums && room >= 6;
	room -= WHERE_USUAL - WHERE_LEAST + (sums ? 6 : 0);
	l.self = room >= COLUMN;
	room -= COLUMN;
	l.blocks = room >= COLUMN;
	l.where_column =
		2 + COLUMN + (l.percent ? 6 : 0) + (l.self ? COLUMN : 0) + (l.blocks ? COLUMN : 0);
	return l;
}

enum mt_metric mt_tree_companion(enum mt_metric metric)
{
	int beside = mt_metric_beside(metric);

	return beside < 0 ? MT_METRIC_ALLOCATED_COUNT : (enum mt_metric)beside;
}

static void draw_heading(struct mt_app *app, struct mt_rect r, const struct layout *l)
{
	bool leaks_known = mt_info_knows_leaks(&app->data.whole->info);
	struct mt_screen *s = app->screen;
	int column = r.column + 2;

	mt_draw_fill(s, r.row, r.column, r.columns, MT_ROLE_HEADING);
	mt_draw_right(s, r.row, column, COLUMN - 1, MT_ROLE_SORTED,
		mt_metric_heading(&app->data.profile, app->data.sort, leaks_known));
	column += COLUMN;
	if (l->percent) {
		mt_draw_right(s, r.row, column - 1, 6, MT_ROLE_HEADING, "%");
		column += 6;
	}
	if (l->self) {
		mt_draw_right(s, r.row, column, COLUMN - 1, MT_ROLE_HEADING, "SELF");
		column += COLUMN;
	}
	if (l->blocks)
		mt_draw_right(s, r.row, column, COLUMN - 1, MT_ROLE_HEADING,
			mt_metric_heading(&app->data.profile, mt_tree_companion(app->data.sort),
				leaks_known));
	mt_draw(s, r.row, r.column + l->where_column, r.columns - l->where_column, MT_ROLE_HEADING,
		app->data.inverted ? "CALLERS OF ALLOCATING FUNCTIONS" : "CALL TREE");
}

#define UNLIMITED 100000
#define CHAIN_HEAD 3 /* of the columns, what the end of a chain farther from malloc has at most */
#define CHAIN_HEAD_LEAST 8 /* with less of it the name says nothing */

/* The end of a row's chain that is nearer to malloc: its place is the row's. */
static uint32_t near_end(const struct mt_app *app, const struct mt_tree_row *row)
{
	return app->data.inverted ? row->node : row->last;
}

/* The row's name in so many columns: of a chain, its first function and its last. Caller frees. */
static char *label_text(struct mt_app *app, const struct mt_tree_row *row, int width)
{
	struct mt_tree *tree = app->data.tree;
	bool utf8 = mt_screen_utf8(app->screen);
	const char *arrow = mt_glyph(utf8, MT_GLYPH_ARROW);
	const char *dots = mt_glyph(utf8, MT_GLYPH_ELLIPSIS);
	struct mt_backtrace_frame label;
	struct mt_buffer out = {0};
	char between[64], behind[16] = "", of_head[512], of_tail[512], *first, *last;
	int room;

	mt_tree_label(tree, row->node, &label);
	const char *head = mt_frame_function(of_head, sizeof of_head, &label);

	mt_tree_label(tree, row->last, &label);
	const char *tail = mt_frame_function(of_tail, sizeof of_tail, &label);

	if (!row->chain)
		return mt_fit_name(head, width, utf8, app->whole_names);
	if (row->chain == 1)
		snprintf(between, sizeof between, "%s", arrow);
	else
		snprintf(between, sizeof between, "%s%s%s", arrow, dots, arrow);
	if (row->chain > 1)
		snprintf(behind, sizeof behind, " (+%u)", row->chain);
	room = width - mt_text_width(between) - mt_text_width(behind);
	last = mt_fit_name(tail, app->data.inverted ? room / CHAIN_HEAD : room - room / CHAIN_HEAD,
		utf8, app->whole_names);
	first = mt_fit_name(head, room - mt_text_width(last), utf8, app->whole_names);
	free(last);
	if (mt_text_width(first) < CHAIN_HEAD_LEAST && strcmp(first, head)) {
		free(first);
		first = mt_strdup(dots);
		snprintf(between, sizeof between, "%s", arrow);
	}
	last = mt_fit_name(tail, room - mt_text_width(first), utf8, app->whole_names);
	mt_buffer_add(&out, first, strlen(first));
	mt_buffer_add(&out, between, strlen(between));
	mt_buffer_add(&out, last, strlen(last));
	mt_buffer_add(&out, behind, strlen(behind) + 1);
	free(first);
	free(last);
	return (char *)out.data;
}

static bool is_leaf(const struct mt_tree_row *row)
{
	return !row->more && (!row->branch || (row->folded && !row->open));
}

/* Of a leaf: of what is folded there, the largest group. */
static uint32_t leaf_group(struct mt_app *app, const struct mt_tree_row *row)
{
	struct mt_tree *tree = app->data.tree;
	const struct mt_tree_node *node = mt_tree_get(tree, row->last);

	while (node->group == MT_NO_GROUP && node->first_child != MT_NO_NODE) {
		uint32_t child = node->first_child;

		mt_tree_expand(tree, child);
		node = mt_tree_get(tree, child);
	}
	return node->group;
}

static bool matches(struct mt_app *app, const struct mt_tree_row *row)
{
	struct mt_backtrace_frame head, tail;

	mt_tree_label(app->data.tree, row->node, &head);
	mt_tree_label(app->data.tree, row->last, &tail);
	return mt_prompt_matches(app, head.function) || mt_prompt_matches(app, tail.function);
}

static void draw_where(struct mt_app *app, struct mt_rect r, const struct mt_tree_row *row,
	bool selected, bool focus)
{
	struct mt_screen *s = app->screen;
	enum mt_role role =
		selected ? focus ? MT_ROLE_SELECTED : MT_ROLE_SELECTED_AWAY : MT_ROLE_FUNCTION;
	bool utf8 = mt_screen_utf8(s);
	int indent = (int)row->depth * 2, column, width, mark = 0;
	struct mt_backtrace_frame tail;
	struct mt_frame_place place;
	char source[512], *label;

	if (indent > r.columns / 2) /* deep rows keep their names readable */
		indent = r.columns / 2 + indent % 2;
	for (int i = 0; i < indent; i += 2)
		mt_draw(s, r.row, r.column + i, 1, selected ? role : MT_ROLE_AXIS,
			mt_glyph(utf8, MT_GLYPH_BAR));
	mt_draw(s, r.row, r.column + indent, 1, role,
		row->more ? " "
			  : mt_glyph(utf8,
				  !row->branch        ? MT_GLYPH_LEAF
					  : row->open ? MT_GLYPH_OPENED
						      : MT_GLYPH_CLOSED));
	if (is_leaf(row))
		mt_draw_swatch(s, r.row, r.column + indent,
			mt_layers_of(&app->data.layers, leaf_group(app, row)), role);
	column = r.column + indent + 2;
	width = r.columns - indent - 2;
	if (row->more) {
		mt_drawf(s, r.row, column, width, selected ? role : MT_ROLE_DIM,
			"%s %u more below 0.5 %%", mt_glyph(utf8, MT_GLYPH_ELLIPSIS), row->more);
		return;
	}
	mt_tree_label(app->data.tree, near_end(app, row), &tail);
	mt_frame_source(source, sizeof source, &tail, false);
	if (tail.inlined)
		mark = (int)strlen(MT_FRAME_INLINED);
	label = label_text(app, row, UNLIMITED);
	place = mt_frame_lay_out(width, mt_text_width(label) + mark, source);
	free(label);
	label = label_text(app, row, place.name - mark);
	mt_frame_put(app, r.row, column, &place,
		!selected && matches(app, row) ? MT_ROLE_MATCH : role,
		selected ? role : MT_ROLE_SOURCE, label, tail.inlined, source);
	free(label);
}

static void draw_line(struct mt_app *app, const struct mt_line *line, void *layout)
{
	const struct layout *l = layout;
	const struct mt_tree_row *row = &app->tree.rows[line->index];
	struct mt_data *d = &app->data;
	struct mt_screen *s = app->screen;
	const struct mt_tree_node *node = mt_tree_get(d->tree, near_end(app, row));
	const struct mt_rect r = line->r;
	enum mt_role role = line->role;
	const struct mt_group_column *info = mt_metric_info(&d->profile, d->sort);
	uint64_t value =
		row->more ? row->more_value : mt_metric_value(&d->profile, &node->total, d->sort);
	int column = r.column + 2;
	char text[32];

	mt_draw_right(s, r.row, column, COLUMN - 1, role,
		row->more ? mt_data_format(text, value, info->unit)
			  : mt_data_metric(text, d, &node->total, d->sort));
	column += COLUMN;
	if (l->percent) {
		snprintf(text, sizeof text, "%.1f", mt_data_percent(d, value, d->sort));
		mt_draw_right(s, r.row, column - 1, 6, role, text);
		column += 6;
	}
	if (l->self && !row->more) {
		/* what is folded counts as the function's own */
		const struct mt_group *self =
			row->folded && !row->open ? &node->total : &node->self;

		value = self->allocated_count ? mt_metric_value(&d->profile, self, d->sort) : 0;
		mt_draw_right(s, r.row, column, COLUMN - 1, role,
			value ? mt_data_metric(text, d, self, d->sort)
			      : mt_glyph(mt_screen_utf8(s), MT_GLYPH_DASH));
	}
	column += l->self ? COLUMN : 0;
	if (l->blocks && !row->more)
		mt_draw_right(s, r.row, column, COLUMN - 1, role,
			mt_data_metric(text, d, &node->total, mt_tree_companion(d->sort)));
	if (is_leaf(row) && leaf_group(app, row) != MT_NO_GROUP)
		mt_triage_draw_mark(app, r.row, r.column, role, leaf_group(app, row));
	draw_where(app,
		(struct mt_rect){r.row, r.column + l->where_column, 1, r.columns - l->where_column},
		row, line->selected, line->focus);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	struct layout layout =
		lay_out(r.columns, mt_metric_sums(&app->data.profile, app->data.sort));

	draw_heading(app, r, &layout);
	r.row++;
	r.rows--;
	if (!l->count)
		mt_guidance_empty(app, r);
	mt_frame_list(app, MT_VIEW_TREE, r, l, focus, draw_line, &layout);
}

static void remember(struct mt_tree_state *t)
{
	if (t->row_count)
		t->list.identity = t->rows[t->list.selected].identity;
	t->list.held = true;
}

static void go_to_parent(struct mt_tree_state *t)
{
	uint32_t at = t->list.selected, depth = t->rows[at].depth;

	while (at > 0 && t->rows[at].depth >= depth)
		at--;
	if (depth)
		t->list.selected = at;
	remember(t);
}

uint32_t mt_tree_group(struct mt_app *app, uint32_t node)
{
	while (node != MT_NO_NODE) {
		const struct mt_tree_node *n = mt_tree_get(app->data.tree, node);

		if (n->group != MT_NO_GROUP)
			return n->group;
		node = n->parent;
	}
	return MT_NO_GROUP;
}

struct largest {
	const struct mt_data *data;
	uint32_t group;
	uint64_t value;
};

static void take_larger(void *context, uint32_t group, uint32_t node, uint32_t frame)
{
	struct largest *l = context;
	uint64_t value =
		mt_metric_value(&l->data->profile, &l->data->profile.groups[group], l->data->sort);

	(void)node;
	(void)frame;
	if (l->group == MT_NO_GROUP || value > l->value) {
		l->group = group;
		l->value = value;
	}
}

/* What Enter opens and t judges. Inverted, a caller is in the backtraces of several groups: the
 * largest. */
static uint32_t row_group(struct mt_app *app, const struct mt_tree_row *row)
{
	struct largest l = {&app->data, MT_NO_GROUP, 0};

	if (!app->data.inverted)
		return is_leaf(row) ? leaf_group(app, row) : mt_tree_group(app, row->last);
	mt_tree_visit(app->data.tree, row->node, take_larger, &l);
	return l.group;
}

static void open_row(struct mt_app *app)
{
	struct mt_tree_row *row = &app->tree.rows[app->tree.list.selected];

	app->tree.list.held = true;
	if (row->more) {
		mt_tree_rows_toggle(&app->tree, row->identity, true);
		return;
	}
	if (!is_leaf(row)) {
		mt_tree_rows_toggle(&app->tree, row->identity, !row->open);
		return;
	}
	uint32_t group = row_group(app, row);

	if (group != MT_NO_GROUP)
		mt_app_open_group(app, group);
}

static void open_heaviest(struct mt_app *app)
{
	struct mt_tree_state *t = &app->tree;

	for (;;) {
		struct mt_tree_row *row = &t->rows[t->list.selected];

		if (is_leaf(row))
			return;
		if (!row->open) {
			mt_tree_rows_toggle(t, row->identity, true);
			mt_tree_rows_make(app, 0, 0);
		}
		if (t->list.selected + 1 >= t->row_count)
			return;
		t->list.selected++;
		remember(t);
	}
}

static void set_level(struct mt_app *app, int by)
{
	if (by > 0 ? app->tree.level < 100 : app->tree.level > 0)
		app->tree.level += (unsigned)by;
	mt_tree_rows_reset(&app->tree);
	mt_app_say(app, "branches are open to level %u", app->tree.level);
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_tree_state *t = &app->tree;
	struct mt_list *l = list(app);

	if (what == MT_ACTION_INVERT) {
		mt_data_invert(&app->data);
		mt_tree_rows_reset(t);
		t->level = app->data.inverted ? 1 : 3;
		t->list = (struct mt_list){.rows = t->list.rows};
		return true;
	}
	if (mt_list_move(l, what)) {
		bool held = l->held;

		remember(t);
		l->held = held;
		return true;
	}
	if (!l->count)
		return false;
	struct mt_tree_row row = t->rows[l->selected];

	switch (what) {
	case MT_ACTION_OPEN: open_row(app); break;
	case MT_ACTION_FOLD_IN:
		if (row.open)
			mt_tree_rows_toggle(t, row.identity, false);
		else
			go_to_parent(t);
		break;
	case MT_ACTION_FOLD_OUT:
		if ((row.branch && !row.open) || row.more) {
			mt_tree_rows_toggle(t, row.identity, true);
		} else if (row.open && l->selected + 1 < l->count) {
			l->selected++;
			remember(t);
		}
		break;
	case MT_ACTION_PARENT: go_to_parent(t); break;
	case MT_ACTION_MORE: set_level(app, 1); break;
	case MT_ACTION_LESS: set_level(app, -1); break;
	case MT_ACTION_EXPAND: mt_tree_rows_make(app, row.identity, 1); break;
	case MT_ACTION_COLLAPSE: mt_tree_rows_make(app, row.identity, -1); break;
	case MT_ACTION_HEAVIEST: open_heaviest(app); break;
	default: return false;
	}
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
	remember(&app->tree);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	list(app);
	const struct mt_tree_row *row = &app->tree.rows[index];
	char *label = row->more ? NULL : label_text(app, row, UNLIMITED);

	snprintf(out, len, "%s", label ? label : "");
	free(label);
}

void mt_tree_state_free(struct mt_tree_state *t)
{
	mt_tree_rows_reset(t);
	free(t->rows);
}

static void pick(struct mt_app *app, struct mt_pick *out)
{
	struct mt_list *l = list(app);
	const struct mt_tree_row *row = l->count ? &app->tree.rows[l->selected] : NULL;

	if (!row || row->more)
		return;
	out->group = row_group(app, row);
	mt_tree_label(app->data.tree, near_end(app, row), &out->branch);
	if (!mt_tree_inverted(app->data.tree))
		out->node = row->last;
}

const struct mt_view mt_view_tree = {
	.name = "Tree",
	.scopes = 1u << MT_SCOPE_TREE | 1u << MT_SCOPE_COLUMNS | 1u << MT_SCOPE_TRIAGE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.pick = pick,
};
