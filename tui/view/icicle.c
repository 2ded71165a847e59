/* The call tree as an icicle: bars below bars, each as wide as its share. Zoom and selection are
 * paths of functions, so that they outlive the tree, which is another one with each change of the
 * data. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "tui/data/triage.h"
#include "tui/view/guidance.h"
#include "tui/view/icicle_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LEAST 20  /* columns, before the value has any */
#define PERCENT_ROOM 8 /* of " 100.0%" and a blank */

static struct mt_icicle_state *state_of(struct mt_app *app)
{
	if (!app->icicle)
		app->icicle = mt_alloc(sizeof *app->icicle);
	return app->icicle;
}

void mt_icicle_state_free(struct mt_icicle_state *t)
{
	if (!t)
		return;
	mt_icicle_free(&t->layout);
	free(t->path);
	free(t->zooms);
	free(t->searched);
	free(t);
}

/* ---- layout ---- */

static const struct mt_icicle_cell *selected(const struct mt_icicle_state *t)
{
	return mt_icicle_cell_at(t, t->list.selected);
}

static void remember(struct mt_icicle_state *t)
{
	const struct mt_icicle_cell *cell = selected(t);

	t->list.count = t->layout.count;
	t->list.held = true;
	if (!cell)
		return;
	t->list.identity = cell->key;
	t->depth = t->path_count + cell->row;
}

static void extend(struct mt_app *app, uint32_t rows)
{
	struct mt_icicle_state *t = app->icicle;

	mt_icicle_extend(&t->layout, &app->data.profile, mt_data_tree(&app->data), rows);
	t->list.count = t->layout.count;
}

/* Follows the path in a tree; what is no more there is left out of it. */
static void follow_path(struct mt_app *app)
{
	struct mt_icicle_state *t = app->icicle;
	struct mt_tree *tree = mt_data_tree(&app->data);
	uint64_t key = MT_ICICLE_ROOT;
	uint32_t i;

	t->root = mt_tree_root(tree);
	for (i = 0; i < t->path_count; i++) {
		uint32_t next = mt_icicle_callee(tree, t->root, key, t->path[i]);

		if (next == MT_NO_NODE)
			break;
		t->root = next;
		key = t->path[i];
	}
	t->skip = i < t->path_count ? 0 : t->skip;
	t->path_count = i;
	while (t->zoom_count && t->zooms[t->zoom_count - 1].path_count > t->path_count)
		t->zoom_count--;
}

/* Where the selected path is gone, what stands at its place is selected. */
static void select_again(struct mt_icicle_state *t, uint32_t row, uint32_t column)
{
	uint32_t at = mt_icicle_find(&t->layout, t->list.identity);

	for (row = row < t->layout.row_count ? row : t->layout.row_count;
		at == MT_NO_CELL && row-- > 0;)
		at = mt_icicle_at(&t->layout, row, column);
	t->list.selected = at == MT_NO_CELL ? 0 : at;
}

static struct mt_list *list(struct mt_app *app)
{
	struct mt_icicle_state *t = state_of(app);
	uint32_t columns = (uint32_t)mt_screen_columns(app->screen);
	uint32_t rows = (uint32_t)mt_screen_rows(app->screen);
	struct mt_tree *tree = mt_data_tree(&app->data);
	const struct mt_icicle_cell *cell = selected(t);
	uint32_t row = cell ? cell->row + 1 : 0, column = cell ? cell->column : 0, needed;

	if (t->generation == app->data.generation && t->layout.columns == columns) {
		if (app->prompt.kind == MT_PROMPT_SEARCH)
			extend(app, UINT32_MAX);
		return &t->list;
	}
	follow_path(app);
	mt_icicle_begin(&t->layout, &app->data.profile, tree, t->root,
		t->path_count ? t->path[t->path_count - 1] : MT_ICICLE_ROOT, t->skip, columns);
	needed = t->depth > t->path_count ? t->depth - t->path_count + 1 : 1;
	extend(app, needed > t->top + rows ? needed : t->top + rows);
	t->generation = app->data.generation;
	select_again(t, row, column);
	return &t->list;
}

/* ---- drawing ---- */

/* How many bars a merged cell stands for: the longest words that fit. */
static void merged_text(struct mt_app *app, const struct mt_icicle_cell *cell, int room, char *out,
	size_t len)
{
	snprintf(out, len, "%u smaller", cell->merged);
	if (mt_text_width(out) > room)
		snprintf(out, len, "+%u", cell->merged);
	if (mt_text_width(out) > room)
		snprintf(out, len, "%u", cell->merged);
	if (mt_text_width(out) > room)
		snprintf(out, len, "%s", mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_ELLIPSIS));
	if (mt_text_width(out) > room)
		snprintf(out, len, "%s", room > 0 ? "+" : "");
}

/* Function, value and percentage, as far as there is room for them whole; a merged cell counts. */
static void cell_text(struct mt_app *app, const struct mt_icicle_cell *cell, int room, char *out,
	size_t len)
{
	char name[512], value[17], all[640];

	if (cell->merged) {
		merged_text(app, cell, room, out, len);
		return;
	}
	mt_icicle_value(app, cell, value);
	/* long names leave room for the value */
	int rest = room - mt_text_width(value) - PERCENT_ROOM;

	mt_icicle_name(app, cell->node, rest > NAME_LEAST ? rest : NAME_LEAST, name, sizeof name);
	if (mt_icicle_is_rest(app->icicle, cell))
		snprintf(name + strlen(name), sizeof name - strlen(name), " without its largest %u",
			app->icicle->layout.skip);
	const struct mt_tree_node *node = mt_tree_get(app->data.tree, cell->node);
	char letter = node->group == MT_NO_GROUP ? ' ' : mt_triage_letter(app, node->group);
	char judged[3] = {letter, ' ', '\0'};
	bool marked = node->group != MT_NO_GROUP && mt_triage_is_marked(app, node->group);

	snprintf(all, sizeof all, "%s%s%s %s %.1f%%",
		marked ? mt_glyph(mt_screen_utf8(app->screen), MT_GLYPH_MARK) : "",
		letter == ' ' ? marked ? " " : "" : judged, name, value,
		mt_data_percent(&app->data, cell->value, app->icicle->layout.metric));
	if (mt_text_width(all) > room)
		snprintf(all, sizeof all, "%s %s", name, value);
	snprintf(out, len, "%s", mt_text_width(all) > room ? name : all);
}

static void draw_cell(struct mt_app *app, uint32_t index)
{
	const struct mt_icicle_state *t = app->icicle;
	const struct mt_icicle_cell *cell = &t->layout.cells[index];
	struct mt_screen *s = app->screen;
	int row = t->area.row + (int)(cell->row - t->top);
	int column = t->area.column + (int)cell->column;
	int room = (int)cell->columns - 1;
	enum mt_role role = cell->merged ? MT_ROLE_DIM
		: (index - t->layout.rows[cell->row] + cell->row) % 2
		? MT_ROLE_ICICLE_2
		: MT_ROLE_ICICLE_1;
	int layer = cell->merged
		? -1
		: mt_layers_of(&app->data.layers, mt_tree_get(app->data.tree, cell->node)->group);
	char text[640];

	if (layer >= 0)
		role = (enum mt_role)(MT_ROLE_BAR_1 + layer);
	cell_text(app, cell, room, text, sizeof text);
	if (index == t->list.selected)
		role = MT_ROLE_SELECTED;
	else if (!cell->merged && app->prompt.pattern) {
		struct mt_backtrace_frame frame;

		mt_tree_label(app->data.tree, cell->node, &frame);
		role = mt_prompt_matches(app, frame.function) ? MT_ROLE_MATCH : role;
	}
	mt_draw_fill(s, row, column, room + 1, role);
	mt_draw(s, row, column, 1, role, mt_glyph(mt_screen_utf8(s), MT_GLYPH_BAR));
	mt_draw(s, row, column + 1, room, role, text);
	/* What a caller allocates itself is a gap: without colours, too, its callees end
	 * somewhere. */
	uint32_t behind = cell->column + cell->columns;

	if (behind < t->layout.columns
		&& (index + 1 == t->layout.rows[cell->row + 1] || cell[1].column != behind))
		mt_draw(s, row, t->area.column + (int)behind, 1, MT_ROLE_AXIS,
			mt_glyph(mt_screen_utf8(s), MT_GLYPH_BAR));
}

static void draw_cells(struct mt_app *app)
{
	struct mt_icicle_state *t = app->icicle;
	uint32_t rows = (uint32_t)t->area.rows, row = selected(t)->row;

	if (row < t->top)
		t->top = row;
	if (row >= t->top + rows)
		t->top = row - rows + 1;
	extend(app, t->top + rows);
	if (t->top + rows > t->layout.row_count)
		t->top = t->layout.row_count > rows ? t->layout.row_count - rows : 0;
	for (uint32_t r = t->top; r < t->layout.row_count && r < t->top + rows; r++)
		for (uint32_t i = t->layout.rows[r]; i < t->layout.rows[r + 1]; i++)
			draw_cell(app, i);
	mt_frame_hit(app, t->area, MT_HIT_AREA, MT_VIEW_ICICLE, 0);
}

static void draw_empty(struct mt_app *app, struct mt_rect r)
{
	const struct mt_data *d = &app->data;

	if (!d->selection.count) {
		mt_guidance_empty(app, r);
		return;
	}
	mt_draw(app->screen, r.row, r.column + 2, r.columns - 2, MT_ROLE_DIM,
		"this metric is zero here; > and s choose another metric");
	mt_drawf(app->screen, r.row + 1, r.column + 2, r.columns - 2, MT_ROLE_DIM, "metric: %s",
		mt_metric_info(&d->profile, d->sort)->words);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_list *l = list(app);
	struct mt_icicle_state *t = app->icicle;
	int words = r.rows >= 10 ? 2 : 1; /* rows below the cells */

	(void)focus;
	t->area = (struct mt_rect){r.row, r.column, r.rows - words, r.columns};
	l->rows = t->area.rows;
	if (!t->layout.count) {
		draw_empty(app, r);
		return;
	}
	draw_cells(app);
	mt_icicle_draw_selected(app, r.row + r.rows - words, r.columns);
	if (words > 1)
		mt_icicle_draw_words(app, r.row + r.rows - 1, r.columns);
}

/* ---- keys ---- */

static void select_cell(struct mt_app *app, uint32_t index)
{
	if (index == MT_NO_CELL)
		return;
	app->icicle->list.selected = index;
	remember(app->icicle);
}

/* false: nothing is below */
static bool go_down(struct mt_app *app)
{
	struct mt_icicle_state *t = app->icicle;

	extend(app, selected(t)->row + 2);
	uint32_t below = mt_icicle_below(&t->layout, t->list.selected);

	select_cell(app, below);
	return below != MT_NO_CELL;
}

static bool go_up(struct mt_app *app)
{
	uint32_t above = selected(app->icicle)->above;

	select_cell(app, above);
	return above != MT_NO_CELL;
}

static void go_beside(struct mt_app *app, int by)
{
	struct mt_icicle_state *t = app->icicle;
	uint32_t to = t->list.selected + (uint32_t)by;

	if (to < t->layout.count && t->layout.cells[to].row == selected(t)->row)
		select_cell(app, to);
}

static bool move(struct mt_app *app, enum mt_action what)
{
	struct mt_icicle_state *t = app->icicle;
	int page = t->list.rows > 1 ? t->list.rows - 1 : 1, steps = 0;

	switch (what) {
	case MT_ACTION_DOWN: steps = 1; break;
	case MT_ACTION_UP: steps = -1; break;
	case MT_ACTION_HALF_DOWN: steps = (page + 1) / 2; break;
	case MT_ACTION_HALF_UP: steps = -(page + 1) / 2; break;
	case MT_ACTION_PAGE_DOWN: steps = page; break;
	case MT_ACTION_PAGE_UP: steps = -page; break;
	case MT_ACTION_BOTTOM:
	case MT_ACTION_HEAVIEST_CELL: steps = INT32_MAX; break;
	case MT_ACTION_TOP: steps = -INT32_MAX; break;
	case MT_ACTION_CENTRE:
		t->top = selected(t)->row > (uint32_t)t->list.rows / 2
			? selected(t)->row - (uint32_t)t->list.rows / 2
			: 0;
		break;
	case MT_ACTION_CELL_LEFT: go_beside(app, -1); break;
	case MT_ACTION_CELL_RIGHT: go_beside(app, 1); break;
	default: return false;
	}
	for (; steps > 0 && go_down(app); steps--)
		;
	for (; steps < 0 && go_up(app); steps++)
		;
	return true;
}

/* The path is another one: what was selected stays it. */
static void zoomed(struct mt_app *app)
{
	app->icicle->layout.columns = 0;
	app->icicle->top = 0;
	list(app);
	remember(app->icicle);
}

static void zoom_to(struct mt_app *app, uint32_t index, uint32_t skip)
{
	struct mt_icicle_state *t = app->icicle;
	const struct mt_icicle_cell *cells = t->layout.cells;
	uint32_t count = t->path_count + cells[index].row;

	MT_GROW(t->zooms, t->zoom_count, t->zoom_capacity);
	t->zooms[t->zoom_count].path_count = t->path_count;
	t->zooms[t->zoom_count++].skip = t->skip;
	while (t->path_capacity < count + 1)
		MT_GROW(t->path, t->path_capacity, t->path_capacity);
	for (uint32_t at = index, i = count; cells[at].row; at = cells[at].above)
		t->path[--i] = cells[at].key;
	t->path_count = count;
	t->skip = skip;
	zoomed(app);
}

/* Back by one zoom, or by all; the cell that was zoomed to is selected. */
static void unzoom(struct mt_app *app, bool all)
{
	struct mt_icicle_state *t = app->icicle;

	if (!t->path_count && !t->skip) {
		mt_app_say(app, "this is the whole tree");
		return;
	}
	t->list.identity = t->path_count ? t->path[t->path_count - 1] : MT_ICICLE_ROOT;
	t->depth = t->path_count;
	t->path_count = t->skip = 0;
	if (!all && t->zoom_count) {
		t->path_count = t->zooms[--t->zoom_count].path_count;
		t->skip = t->zooms[t->zoom_count].skip;
	}
	if (all)
		t->zoom_count = 0;
	zoomed(app);
}

static void say_narrow(struct mt_app *app, uint32_t callees)
{
	char count[MT_NUMBER_OF_LEN];

	mt_app_say(app,
		"%s, each too narrow for a bar: {tree} lists them in the tree, {filter} filters",
		mt_number_of(count, callees, "callee"));
}

/* To the callees that are too narrow beside the largest ones; where all are, nothing comes of
 * it. */
static void zoom_to_narrow(struct mt_app *app, const struct mt_icicle_cell *cell)
{
	struct mt_icicle_state *t = app->icicle;
	uint32_t skip = mt_tree_get(app->data.tree, cell->node)->child_count - cell->merged;
	uint32_t narrow = cell->merged, from = t->skip;
	uint64_t key = cell->key;

	if (t->layout.metric != app->data.sort || (!cell->above && skip == from)) {
		if (cell->above)
			zoom_to(app, cell->above, 0);
		else
			say_narrow(app, narrow);
		return;
	}
	zoom_to(app, cell->above, skip);
	extend(app, 2);
	if (t->layout.row_count > 1 && !t->layout.cells[1].merged) {
		select_cell(app, 1);
		return;
	}
	unzoom(app, false);
	t->list.identity = key;
	zoomed(app);
	say_narrow(app, narrow);
}

static void open_cell(struct mt_app *app)
{
	struct mt_icicle_state *t = app->icicle;
	struct mt_icicle_cell cell = *selected(t);
	uint32_t group;

	if (cell.merged) {
		zoom_to_narrow(app, &cell);
		return;
	}
	mt_tree_expand(app->data.tree, cell.node);
	bool leaf = mt_tree_get(app->data.tree, cell.node)->first_child == MT_NO_NODE;

	if (cell.row && !leaf) {
		zoom_to(app, t->list.selected, 0);
		return;
	}
	group = leaf || mt_tree_get(app->data.tree, cell.node)->group != MT_NO_GROUP
		? mt_tree_group(app, cell.node)
		: MT_NO_GROUP;
	if (group != MT_NO_GROUP)
		mt_app_open_group(app, group);
	else
		mt_app_say(app,
			t->path_count ? "already zoomed in; {unzoom} zooms out"
				      : "it already fills the view");
}

static void invert(struct mt_app *app)
{
	struct mt_icicle_state *t = app->icicle;

	mt_data_invert(&app->data);
	app->tree.level = app->data.inverted ? 1 : 3;
	app->tree.generation = 0;
	t->path_count = t->zoom_count = t->top = t->depth = t->skip = 0;
	t->list.identity = MT_ICICLE_ROOT;
	mt_app_say(app,
		app->data.inverted ? "allocating functions first, their callers below"
				   : "main first, its callees below");
}

/* The next cell that matches; rows out of sight are laid out for it. */
static void go_to_match(struct mt_app *app, int by)
{
	struct mt_icicle_state *t = app->icicle;
	struct mt_backtrace_frame frame;

	if (!app->prompt.pattern) {
		mt_app_say(app, "no search yet; / starts one");
		return;
	}
	extend(app, UINT32_MAX);
	for (uint32_t n = 1, i = t->list.selected; n <= t->layout.count; n++) {
		i = (i + (by > 0 ? 1 : t->layout.count - 1)) % t->layout.count;
		mt_tree_label(app->data.tree, t->layout.cells[i].node, &frame);
		if (t->layout.cells[i].merged || !mt_prompt_matches(app, frame.function))
			continue;
		select_cell(app, i);
		return;
	}
	mt_icicle_count_matches(app);
	mt_app_say(app,
		t->matches.groups ? "the matches are too narrow to draw; \\ filters"
				  : "no function of this view matches %s",
		app->prompt.search);
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);

	if (what == MT_ACTION_INVERT_ICICLE) {
		invert(app);
		return true;
	}
	if (what == MT_ACTION_UNZOOM || what == MT_ACTION_PARENT || what == MT_ACTION_UNZOOM_ALL) {
		unzoom(app, what == MT_ACTION_UNZOOM_ALL);
		return true;
	}
	if (!l->count)
		return false;
	switch (what) {
	case MT_ACTION_OPEN:
	case MT_ACTION_ZOOM: open_cell(app); break;
	case MT_ACTION_NEXT_MATCH: go_to_match(app, 1); break;
	case MT_ACTION_PREVIOUS_MATCH: go_to_match(app, -1); break;
	default: return move(app, what);
	}
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	list(app);
	if (mt_icicle_cell_at(app->icicle, index))
		select_cell(app, index);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	struct mt_backtrace_frame frame;
	const struct mt_icicle_cell *cell;

	list(app);
	cell = &app->icicle->layout.cells[index];
	mt_tree_label(app->data.tree, cell->node, &frame);
	snprintf(out, len, "%s", cell->merged ? "" : frame.function);
}

static uint32_t cell_under(struct mt_app *app, int row, int column)
{
	struct mt_icicle_state *t = app->icicle;

	return mt_icicle_at(&t->layout, t->top + (uint32_t)(row - t->area.row),
		(uint32_t)(column - t->area.column));
}

static void pick(struct mt_app *app, struct mt_pick *out)
{
	struct mt_list *l = list(app);
	const struct mt_icicle_cell *cell = l->count ? selected(app->icicle) : NULL;

	if (cell && cell->merged)
		out->why = "this bar merges several narrow ones: zoom into their caller";
	if (!cell || cell->merged)
		return;
	out->group = mt_tree_group(app, cell->node);
	mt_tree_label(app->data.tree, cell->node, &out->branch);
	if (!mt_tree_inverted(app->data.tree) && !mt_icicle_is_rest(app->icicle, cell))
		out->node = cell->node;
}

static void leave(struct mt_app *app)
{
	mt_icicle_state_free(app->icicle);
	app->icicle = NULL;
}

const struct mt_view mt_view_icicle = {
	.name = "Icicle",
	.scopes = 1u << MT_SCOPE_ICICLE | 1u << MT_SCOPE_COLUMNS | 1u << MT_SCOPE_TRIAGE,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.at = cell_under,
	.pick = pick,
	.leave = leave,
};
