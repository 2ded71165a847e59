#include "core/query/icicle.h"
#include "core/query/frame.h"

#include <stdlib.h>
#include <string.h>

/* A run of callees side by side of which each is too narrow. */
struct run {
	uint32_t first, count;
	uint64_t from, value;
};

struct layout {
	struct mt_icicle *icicle;
	const struct mt_profile *profile;
	struct mt_tree *tree;
	uint32_t above; /* the cell whose callees are placed */
	uint32_t runs;  /* merged there so far */
};

/* ---- keys ---- */

static uint64_t mix(uint64_t key, const char *text)
{
	for (; *text; text++)
		key = (key ^ (uint8_t)*text) * 1099511628211u;
	return key ^ key >> 29;
}

uint64_t mt_icicle_key(const struct mt_tree *tree, uint64_t parent_key, uint32_t node)
{
	struct mt_backtrace_frame frame;

	mt_tree_label(tree, node, &frame);
	uint64_t key = mix(mix(parent_key ^ 14695981039346656037u, frame.function), frame.module);

	if (!*frame.function)
		key = (key ^ frame.offset) * 0x9e3779b97f4a7c15u;
	return key ? key : 1;
}

uint32_t mt_icicle_callee(struct mt_tree *tree, uint32_t node, uint64_t node_key, uint64_t key)
{
	uint32_t child;

	mt_tree_expand(tree, node);
	for (child = mt_tree_get(tree, node)->first_child; child != MT_NO_NODE;
		child = mt_tree_get(tree, child)->next_sibling)
		if (mt_icicle_key(tree, node_key, child) == key)
			break;
	return child;
}

/* ---- layout ---- */

/* The column at which what begins at this value begins: rounded once, the same for all that meet
 * there. */
static uint32_t column_of(const struct mt_icicle *icicle, uint64_t from)
{
	return (uint32_t)(((unsigned __int128)from * icicle->columns * 2 + icicle->total)
		/ ((unsigned __int128)icicle->total * 2));
}

static bool is_narrow(const struct mt_icicle *icicle, uint64_t value)
{
	return (unsigned __int128)value * icicle->columns
		< (unsigned __int128)icicle->total * MT_ICICLE_COLUMNS;
}

static uint64_t value_of(const struct layout *l, uint32_t node)
{
	return mt_metric_value(l->profile, &mt_tree_get(l->tree, node)->total, l->icicle->metric);
}

static void add_cell(struct layout *l, uint32_t node, uint32_t merged, uint64_t from,
	uint64_t value)
{
	struct mt_icicle *icicle = l->icicle;
	const struct mt_icicle_cell *above = &icicle->cells[l->above];
	uint64_t end = above->from + above->value, key;

	/* Sums that saturate or are estimates stay within their caller all the same. */
	if (from > end)
		from = end;
	if (value > end - from)
		value = end - from;
	uint32_t column = column_of(icicle, from), behind = column_of(icicle, from + value);

	if (behind == column)
		return;
	key = merged ? ~above->key - l->runs++ : mt_icicle_key(l->tree, above->key, node);
	MT_GROW(icicle->cells, icicle->count, icicle->capacity);
	icicle->cells[icicle->count++] = (struct mt_icicle_cell){
		.node = node,
		.merged = merged,
		.above = l->above,
		.row = icicle->row_count,
		.column = column,
		.columns = behind - column,
		.from = from,
		.value = value,
		.key = key,
	};
}

static void end_run(struct layout *l, struct run *run)
{
	if (run->count == 1)
		add_cell(l, run->first, 0, run->from, run->value);
	else if (run->count)
		add_cell(l, l->icicle->cells[l->above].node, run->count, run->from, run->value);
	run->count = 0;
}

/* The callee behind so many. */
static uint32_t behind(const struct mt_tree *tree, uint32_t node, uint32_t skip)
{
	uint32_t child = mt_tree_get(tree, node)->first_child;

	while (skip-- > 0 && child != MT_NO_NODE)
		child = mt_tree_get(tree, child)->next_sibling;
	return child;
}

static void place_callees(struct layout *l)
{
	uint32_t node = l->icicle->cells[l->above].node, placed = l->above ? 0 : l->icicle->skip;
	uint64_t from = l->icicle->cells[l->above].from, end = from;
	bool descending = mt_tree_metric(l->tree) == l->icicle->metric;
	struct run run = {0};

	/* zooming into such a bar shows what leads on to malloc */
	if (l->above && mt_tree_ends_here(l->tree, node))
		return;
	l->runs = 0;
	mt_tree_expand(l->tree, node);
	end += placed ? l->icicle->total : mt_tree_get(l->tree, node)->children_value;
	for (uint32_t child = behind(l->tree, node, placed); child != MT_NO_NODE;
		child = mt_tree_get(l->tree, child)->next_sibling) {
		uint64_t value = value_of(l, child);

		if (!value)
			continue;
		if (!is_narrow(l->icicle, value)) {
			end_run(l, &run);
			add_cell(l, child, 0, from, value);
		} else if (descending) { /* so are all that come: they need not be visited */
			run = (struct run){child, mt_tree_get(l->tree, node)->child_count - placed,
				from, end - from};
			break;
		} else {
			run = run.count ? (struct run){run.first, run.count + 1, run.from,
				      run.value + value}
					: (struct run){child, 1, from, value};
		}
		placed++;
		from += value;
	}
	end_run(l, &run);
}

static void begin_row(struct mt_icicle *icicle)
{
	MT_GROW(icicle->rows, icicle->row_count + 1, icicle->row_capacity);
	icicle->rows[icicle->row_count + 1] = icicle->count;
}

void mt_icicle_begin(struct mt_icicle *icicle, const struct mt_profile *profile,
	struct mt_tree *tree, uint32_t root, uint64_t root_key, uint32_t skip, uint32_t columns)
{
	enum mt_metric metric = mt_tree_metric(tree);

	icicle->metric = mt_metric_sums(profile, metric) ? metric : MT_METRIC_SIZE;
	icicle->total = mt_metric_value(profile, &mt_tree_get(tree, root)->total, icicle->metric);
	mt_tree_expand(tree, root);
	icicle->skip = icicle->metric == metric ? skip : 0;
	if (icicle->skip)
		icicle->total = mt_tree_get(tree, root)->children_value;
	for (uint32_t child = mt_tree_get(tree, root)->first_child, i = 0;
		i < icicle->skip && child != MT_NO_NODE;
		child = mt_tree_get(tree, child)->next_sibling, i++)
		icicle->total -= mt_metric_value(profile, &mt_tree_get(tree, child)->total, metric);
	icicle->columns = columns;
	icicle->complete = false;
	icicle->count = icicle->row_count = 0;
	MT_GROW(icicle->rows, 0, icicle->row_capacity);
	icicle->rows[0] = 0;
	if (!icicle->total || !columns)
		return;
	MT_GROW(icicle->cells, icicle->count, icicle->capacity);
	icicle->cells[icicle->count++] = (struct mt_icicle_cell){
		.node = root,
		.above = MT_NO_CELL,
		.columns = columns,
		.value = icicle->total,
		.key = root_key,
	};
	begin_row(icicle);
	icicle->row_count++;
}

void mt_icicle_extend(struct mt_icicle *icicle, const struct mt_profile *profile,
	struct mt_tree *tree, uint32_t rows)
{
	struct layout l = {.icicle = icicle, .profile = profile, .tree = tree};

	while (icicle->row_count && icicle->row_count < rows && !icicle->complete) {
		uint32_t end = icicle->count;

		for (l.above = icicle->rows[icicle->row_count - 1]; l.above < end; l.above++)
			if (!icicle->cells[l.above].merged)
				place_callees(&l);
		icicle->complete = icicle->count == end;
		if (icicle->complete)
			return;
		begin_row(icicle);
		icicle->row_count++;
	}
}

void mt_icicle_free(struct mt_icicle *icicle)
{
	free(icicle->cells);
	free(icicle->rows);
	*icicle = (struct mt_icicle){0};
}

/* ---- finding cells ---- */

/* One past the row's last cell; first: its first one. */
static uint32_t row_end(const struct mt_icicle *icicle, uint32_t row, uint32_t *first)
{
	*first = row < icicle->row_count ? icicle->rows[row] : 0;
	return row < icicle->row_count ? icicle->rows[row + 1] : 0;
}

uint32_t mt_icicle_at(const struct mt_icicle *icicle, uint32_t row, uint32_t column)
{
	uint32_t first, end = row_end(icicle, row, &first);

	for (uint32_t i = first; i < end; i++)
		if (column - icicle->cells[i].column < icicle->cells[i].columns)
			return i;
	return MT_NO_CELL;
}

uint32_t mt_icicle_find(const struct mt_icicle *icicle, uint64_t key)
{
	for (uint32_t i = 0; i < icicle->count; i++)
		if (icicle->cells[i].key == key)
			return i;
	return MT_NO_CELL;
}

uint32_t mt_icicle_below(const struct mt_icicle *icicle, uint32_t cell)
{
	uint32_t first, end = row_end(icicle, icicle->cells[cell].row + 1, &first);

	for (uint32_t i = first; i < end; i++)
		if (icicle->cells[i].above == cell)
			return i;
	return MT_NO_CELL;
}

/* ---- matches ---- */

enum { UNKNOWN, NO, YES };

struct matcher {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	struct mt_pattern *pattern;
	enum mt_metric metric;
	bool inverted, all; /* all: what is visited is below a match */
	uint8_t *functions; /* by string id of a function, by pc that has none */
	uint8_t *places;
	/* by profile node: a frame of it or of a caller matches, as far as the view goes */
	uint8_t *nodes;
	uint32_t *path; /* room for the deepest one */
	struct mt_icicle_matches *out;
};

static bool match_frame(struct matcher *m, uint32_t pc, uint32_t frame)
{
	uint32_t function = frame == MT_NO_FRAME ? UINT32_MAX : m->symbols->frames[frame].function;
	uint8_t *known = function < m->symbols->strings.count ? &m->functions[function]
		: pc < m->profile->pc_count                   ? &m->places[pc]
							      : NULL;
	uint8_t answer = known ? *known : UNKNOWN;
	struct mt_backtrace_frame label;

	if (answer == UNKNOWN) {
		mt_frame_describe(&label, m->profile, m->symbols, pc, frame);
		answer = mt_pattern_match(m->pattern, label.function, NULL) == 1 ? YES : NO;
	}
	if (known)
		*known = answer;
	return answer == YES;
}

/* Whether one of these frames of a node's pc matches. */
static bool match_frames(struct matcher *m, uint32_t node, uint32_t from, uint32_t to)
{
	uint32_t pc = m->profile->nodes[node].pc, first = 0;
	uint32_t count = mt_pc_frames(m->symbols, pc, &first);

	if (!count)
		return match_frame(m, pc, MT_NO_FRAME);
	for (uint32_t frame = from; frame < count && frame <= to; frame++)
		if (match_frame(m, pc, first + frame))
			return true;
	return false;
}

/* Of a node and its callers up to this one and to this frame of it; each node is looked at once. */
static bool match_path(struct matcher *m, uint32_t node, uint32_t last, uint32_t last_frame)
{
	uint32_t count = 0;
	uint8_t answer;

	while (node != MT_NODE_ROOT && node != last && m->nodes[node] == UNKNOWN) {
		m->path[count++] = node;
		node = m->profile->nodes[node].parent;
	}
	if (m->nodes[node] == UNKNOWN)
		m->nodes[node] =
			node != MT_NODE_ROOT && match_frames(m, node, 0, last_frame) ? YES : NO;
	answer = m->nodes[node];
	while (count-- > 0) {
		if (answer == NO && match_frames(m, m->path[count], 0, UINT32_MAX))
			answer = YES;
		m->nodes[m->path[count]] = answer;
	}
	return answer == YES;
}

static void match_group(void *context, uint32_t id, uint32_t node, uint32_t frame)
{
	struct matcher *m = context;
	const struct mt_group *group = &m->profile->groups[id];
	uint64_t value = mt_metric_value(m->profile, group, m->metric);
	bool matches = m->all;

	if (!value)
		return;
	if (!matches && m->inverted)
		matches = match_frames(m, node, frame, UINT32_MAX)
			|| match_path(m, m->profile->nodes[node].parent, MT_NODE_ROOT, 0);
	else if (!matches)
		matches = match_path(m, m->profile->nodes[group->node].parent, node, frame);
	m->out->groups += matches;
	m->out->value += matches ? value : 0;
}

void mt_icicle_match(struct mt_icicle_matches *out, const struct mt_profile *profile,
	const struct mt_symbols *symbols, struct mt_tree *tree, uint32_t root, uint32_t skip,
	struct mt_pattern *pattern)
{
	enum mt_metric metric = mt_metric_sums(profile, mt_tree_metric(tree))
		? mt_tree_metric(tree)
		: MT_METRIC_SIZE;
	struct matcher m = {
		.profile = profile,
		.symbols = symbols,
		.pattern = pattern,
		.metric = metric,
		.inverted = mt_tree_inverted(tree),
		.out = out,
		.functions = mt_alloc(symbols->strings.count + 1),
		.places = mt_alloc((size_t)profile->pc_count + 1),
		.nodes = mt_alloc((size_t)profile->node_count + 1),
		.path = mt_alloc(((size_t)profile->node_count + 1) * sizeof *m.path),
	};
	bool whole = root == mt_tree_root(tree); /* it stands for no function */
	struct mt_backtrace_frame label;

	*out = (struct mt_icicle_matches){0};
	mt_pattern_begin(pattern);
	mt_tree_expand(tree, root);
	mt_tree_label(tree, root, &label);
	m.all = !whole && mt_pattern_match(pattern, label.function, NULL) == 1;
	if (!whole && !skip)
		mt_tree_visit(tree, root, match_group, &m);
	else
		for (uint32_t child = behind(tree, root, skip); child != MT_NO_NODE;
			child = mt_tree_get(tree, child)->next_sibling)
			mt_tree_visit(tree, child, match_group, &m);
	free(m.functions);
	free(m.places);
	free(m.nodes);
	free(m.path);
}
