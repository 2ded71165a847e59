/* The call tree by function, made only as far as it is looked at: each node keeps what passes
 * through it as items with a cursor, and expanding it moves them on, inverted outwards to the
 * callers, else inwards to the callees. A group takes one path from the root in both, so recursion
 * never counts it twice in a node. */
#include "core/query/fold.h"
#include "core/query/frame.h"
#include "core/query/tree_parts.h"

#include <stdlib.h>
#include <string.h>

#define FOLDED_MAX 64  /* wrappers that call each other */
#define FEW_CHILDREN 8 /* are looked through; those of a node with more are found by slots */

/* ---- nodes ---- */

/* Frames of one function in one module are one node; what has no name is one by its pc. */
static uint64_t merge_key(const struct mt_tree *tree, uint32_t pc, uint32_t frame)
{
	if (frame == MT_NO_FRAME)
		return 1ull << 63 | pc;
	uint32_t module =
		pc < tree->profile->pc_count ? tree->profile->pcs[pc].module : MT_NO_MODULE;
	uint32_t path =
		module < tree->profile->module_count ? tree->profile->modules[module].path : 0;

	return (uint64_t)path << 32 | tree->symbols->frames[frame].function;
}

static uint32_t hash_of(uint32_t parent, uint64_t key)
{
	return (uint32_t)((key ^ (uint64_t)parent * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull
		>> 32);
}

static uint32_t slot_of(const struct mt_tree *tree, uint32_t hash, uint32_t parent, uint64_t key)
{
	uint32_t at = hash & (tree->slot_count - 1);

	for (; tree->slots[at].node; at = (at + 1) & (tree->slot_count - 1)) {
		if (tree->slots[at].hash != hash)
			continue;
		const struct merged *merged = &tree->merged[tree->slots[at].node - 1];

		if (merged->parent == parent && merged->key == key)
			break;
	}
	return at;
}

/* For so many nodes. */
static void reserve_slots(struct mt_tree *tree, uint32_t nodes)
{
	struct slot *old = tree->slots;
	uint32_t count = tree->slot_count;

	if (nodes < count / 2)
		return;
	tree->slot_count = count ? count : 256;
	while (nodes >= tree->slot_count / 2)
		tree->slot_count *= 2;
	tree->slots = mt_alloc(tree->slot_count * sizeof *tree->slots);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = old[i].hash & (tree->slot_count - 1);

		if (!old[i].node)
			continue;
		while (tree->slots[at].node)
			at = (at + 1) & (tree->slot_count - 1);
		tree->slots[at] = old[i];
	}
	free(old);
}

static void reserve_nodes(struct mt_tree *tree, uint32_t nodes)
{
	if (nodes <= tree->capacity)
		return;
	tree->capacity = nodes > tree->capacity * 2 ? nodes : tree->capacity * 2;
	tree->nodes = mt_resize(tree->nodes, tree->capacity * sizeof *tree->nodes);
	tree->merged = mt_resize(tree->merged, tree->capacity * sizeof *tree->merged);
	tree->first_item = mt_resize(tree->first_item, tree->capacity * sizeof *tree->first_item);
}

uint32_t mt_tree_add_node(struct mt_tree *tree, uint32_t parent, uint64_t key)
{
	reserve_nodes(tree, tree->count + 1);
	uint32_t node = tree->count++;

	tree->nodes[node] = (struct mt_tree_node){
		.parent = parent,
		.first_child = MT_NO_NODE,
		.next_sibling = MT_NO_NODE,
		.frame = MT_NO_NODE,
		.group = MT_NO_GROUP,
		.depth = parent == MT_NO_NODE ? 0 : tree->nodes[parent].depth + 1,
	};
	tree->merged[node] = (struct merged){
		.key = key,
		.parent = parent,
		.first = MT_NO_NODE,
		.next = MT_NO_NODE,
	};
	tree->first_item[node] = MT_NO_NODE;
	return node;
}

void mt_tree_add_item(struct mt_tree *tree, uint32_t node, struct item item)
{
	item.next = tree->first_item[node];
	tree->first_item[node] = tree->item_count;
	MT_GROW(tree->items, tree->item_count, tree->item_capacity);
	tree->items[tree->item_count++] = item;
}

static uint32_t find_child(const struct mt_tree *tree, uint32_t parent, uint64_t key)
{
	uint32_t node = tree->merged[parent].first;

	if (tree->merged[parent].children > FEW_CHILDREN)
		return tree->slots[slot_of(tree, hash_of(parent, key), parent, key)].node - 1;
	while (node != MT_NO_NODE && tree->merged[node].key != key)
		node = tree->merged[node].next;
	return node;
}

static void put_in_slots(struct mt_tree *tree, uint32_t node)
{
	uint32_t parent = tree->merged[node].parent, hash = hash_of(parent, tree->merged[node].key);

	reserve_slots(tree, ++tree->in_slots);
	tree->slots[slot_of(tree, hash, parent, tree->merged[node].key)] =
		(struct slot){hash, node + 1};
}

static uint32_t add_child(struct mt_tree *tree, uint32_t parent, uint64_t key)
{
	uint32_t node = mt_tree_add_node(tree, parent, key);
	struct merged *above = &tree->merged[parent];

	tree->merged[node].next = above->first;
	above->first = node;
	above->children++;
	if (above->children > FEW_CHILDREN + 1)
		put_in_slots(tree, node);
	else if (above->children > FEW_CHILDREN)
		for (uint32_t child = node; child != MT_NO_NODE; child = tree->merged[child].next)
			put_in_slots(tree, child);
	return node;
}

uint32_t mt_tree_child(struct mt_tree *tree, uint32_t parent, uint32_t pc, uint32_t frame,
	uint64_t weight)
{
	uint64_t key = merge_key(tree, pc, frame);
	uint32_t node = find_child(tree, parent, key);
	bool is_new = node == MT_NO_NODE;

	if (is_new)
		node = add_child(tree, parent, key);
	if (is_new || weight > tree->merged[node].heaviest) {
		tree->merged[node].heaviest = weight;
		tree->nodes[node].pc = pc;
		tree->nodes[node].frame = frame;
	}
	return node;
}

/* Links the nodes from first on below their parents, the largest first, ties in order of
 * creation. */
static void link_children(struct mt_tree *tree, uint32_t first)
{
	uint32_t count = tree->count - first;
	struct mt_sort_entry *order = mt_resize(NULL, count * sizeof *order);

	for (uint32_t i = 0; i < count; i++)
		order[i] =
			(struct mt_sort_entry){~mt_metric_value(tree->profile,
						       &tree->nodes[first + i].total, tree->sort),
				first + i};
	mt_sort(order, count);
	while (count-- > 0) {
		struct mt_tree_node *node = &tree->nodes[order[count].id], *parent;

		if (node->parent == MT_NO_NODE)
			continue;
		parent = &tree->nodes[node->parent];
		node->next_sibling = parent->first_child;
		parent->first_child = order[count].id;
		parent->child_count += order[count].key != UINT64_MAX;
		parent->children_value += ~order[count].key;
	}
	free(order);
}

uint64_t mt_tree_weight(const struct mt_tree *tree, const struct mt_group *group)
{
	enum mt_metric metric =
		mt_metric_sums(tree->profile, tree->sort) ? tree->sort : MT_METRIC_SIZE;

	return mt_metric_value(tree->profile, group, metric);
}

void mt_tree_sum(struct mt_tree *tree, struct mt_group *sum, const struct mt_group *group)
{
	mt_fold(&tree->folds, sum, tree->profile, group);
}

void mt_tree_sum_all(struct mt_tree *tree, const struct mt_selection *selection)
{
	struct mt_group *sum = &tree->nodes[0].total;

	*sum = selection->sum;
	mt_fold_own(&tree->folds, sum, tree->profile);
	if (!tree->folds.suspects)
		return;
	*sum = (struct mt_group){0}; /* the selection's is without leak scores */
	for (uint32_t i = 0; i < selection->count; i++)
		mt_tree_sum(tree, sum, &tree->profile->groups[selection->groups[i]]);
}

void mt_tree_add_self(struct mt_tree *tree, uint32_t node, uint32_t id)
{
	const struct mt_group *group = &tree->profile->groups[id];
	struct mt_tree_node *at = &tree->nodes[node];

	if (at->group == MT_NO_GROUP
		|| mt_tree_weight(tree, group)
			> mt_tree_weight(tree, &tree->profile->groups[at->group]))
		at->group = id;
	mt_tree_sum(tree, &at->self, group);
}

/* ---- top-down ---- */

/* Each node's end is the number of its groups until they are put side by side. */
static void count_below(struct mt_tree *tree, const struct mt_selection *selection)
{
	const struct mt_profile *profile = tree->profile;
	const struct mt_node *nodes = profile->nodes;
	struct below *below = tree->below;

	for (uint32_t i = 0; i < selection->count; i++)
		below[nodes[profile->groups[selection->groups[i]].node].parent].own++;
	for (uint32_t node = profile->node_count; node-- > 0;) {
		struct below *here = &below[node], *above;

		here->end += here->own;
		if (!node || !here->end)
			continue;
		above = &below[nodes[node].parent];
		above->end += here->end;
		here->next = above->first;
		above->first = node;
	}
}

/* Those of a node in the order of the selection. */
static void order_groups(struct mt_tree *tree, const struct mt_selection *selection)
{
	const struct mt_profile *profile = tree->profile;
	const struct mt_node *nodes = profile->nodes;
	struct below *below = tree->below;

	below[0].end = below[0].own;
	below[0].own = 0;
	/* callers come before their callees */
	for (uint32_t node = 1; node < profile->node_count; node++) {
		struct below *here = &below[node], *above = &below[nodes[node].parent];

		if (!here->end)
			continue;
		here->from = above->end;
		above->end += here->end;
		here->end = here->from + here->own;
		here->own = 0;
	}
	for (uint32_t i = 0; i < selection->count; i++) {
		uint32_t id = selection->groups[i];
		struct below *here = &below[nodes[profile->groups[id].node].parent];

		tree->groups[here->from + here->own++] = id;
	}
	tree->weights[0] = 0;
	for (uint32_t i = 0; i < selection->count; i++)
		tree->weights[i + 1] = tree->weights[i]
			+ mt_tree_weight(tree, &profile->groups[tree->groups[i]]) + 1;
}

/* Adds what an item brings to the node; total: to its total, too. */
static void add_below(struct mt_tree *tree, uint32_t node, const struct item *item, bool total)
{
	const struct mt_profile *profile = tree->profile;
	const struct below *below = &tree->below[item->node];
	const uint32_t *groups = tree->groups + below->from;

	for (uint32_t i = 0; total && i < below->end - below->from; i++)
		mt_tree_sum(tree, &tree->nodes[node].total, &profile->groups[groups[i]]);
	for (uint32_t i = 0; !item->frame && i < below->own; i++)
		mt_tree_add_self(tree, node, groups[i]);
}

static void reserve_down(struct mt_tree *tree, const struct mt_selection *selection)
{
	uint32_t nodes = tree->profile->node_count + 1;

	if (tree->below_capacity < nodes) {
		free(tree->below);
		tree->below = mt_resize(NULL, nodes * sizeof *tree->below);
		tree->below_capacity = nodes;
	}
	memset(tree->below, 0, nodes * sizeof *tree->below);
	if (tree->group_capacity < selection->count + 1) {
		tree->group_capacity = selection->count + 1;
		tree->groups = mt_resize(tree->groups, tree->group_capacity * sizeof *tree->groups);
		tree->weights =
			mt_resize(tree->weights, tree->group_capacity * sizeof *tree->weights);
	}
}

static void build_down(struct mt_tree *tree, const struct mt_selection *selection)
{
	reserve_down(tree, selection);
	count_below(tree, selection);
	order_groups(tree, selection);
	mt_tree_add_node(tree, MT_NO_NODE, 0);
	mt_tree_add_item(tree, 0, (struct item){.node = MT_NODE_ROOT});
	mt_tree_sum_all(tree, selection);
	add_below(tree, 0, &tree->items[0], false);
}

static void add_move(struct mt_tree *tree, uint32_t node, uint32_t frame)
{
	MT_GROW(tree->moves, tree->move_count, tree->move_capacity);
	tree->moves[tree->move_count++] = (struct mt_sort_entry){node, frame};
}

/* Where the items of a node go to, in the order of the profile's nodes. */
static void collect_moves(struct mt_tree *tree, uint32_t node)
{
	uint32_t first;

	tree->move_count = 0;
	for (uint32_t i = tree->first_item[node]; i != MT_NO_NODE; i = tree->items[i].next) {
		const struct item *item = &tree->items[i];

		if (item->frame) {
			add_move(tree, item->node, item->frame - 1);
			continue;
		}
		for (uint32_t callee = tree->below[item->node].first; callee;
			callee = tree->below[callee].next) {
			uint32_t frames = mt_pc_frames(tree->symbols,
				tree->profile->nodes[callee].pc, &first);

			add_move(tree, callee, frames ? frames - 1 : 0);
		}
	}
	mt_sort(tree->moves, tree->move_count);
}

static void expand_down(struct mt_tree *tree, uint32_t parent)
{
	uint32_t before = tree->count;

	collect_moves(tree, parent);
	for (uint32_t i = 0; i < tree->move_count; i++) {
		struct item item = {.node = (uint32_t)tree->moves[i].key,
			.frame = tree->moves[i].id};
		const struct below *below = &tree->below[item.node];
		uint32_t pc = tree->profile->nodes[item.node].pc, first;
		uint32_t frame =
			mt_pc_frames(tree->symbols, pc, &first) ? first + item.frame : MT_NO_FRAME;
		uint64_t weight = tree->weights[below->end] - tree->weights[below->from];

		mt_tree_add_item(tree, mt_tree_child(tree, parent, pc, frame, weight), item);
	}
	/* What has one callee and allocates nothing itself passes its total on. */
	bool passes_on = tree->count == before + 1 && !tree->nodes[parent].self.allocated_count;

	for (uint32_t node = before; node < tree->count; node++) {
		for (uint32_t i = tree->first_item[node]; i != MT_NO_NODE; i = tree->items[i].next)
			add_below(tree, node, &tree->items[i], !passes_on);
		if (passes_on)
			tree->nodes[node].total = tree->nodes[parent].total;
	}
}

/* ---- the tree ---- */

struct mt_tree *mt_tree_again(struct mt_tree *tree, const struct mt_profile *profile,
	const struct mt_symbols *symbols, const struct mt_selection *selection,
	enum mt_tree_kind kind, enum mt_metric sort)
{
	if (!tree)
		tree = mt_alloc(sizeof *tree);
	else if (tree->in_slots)
		memset(tree->slots, 0, tree->slot_count * sizeof *tree->slots);
	tree->count = tree->in_slots = tree->item_count = 0;
	tree->profile = profile;
	tree->symbols = symbols;
	tree->kind = kind;
	tree->sort = sort;
	mt_folds_free(&tree->folds);
	tree->folds.suspects = sort == MT_METRIC_SUSPECT;
	if (kind != MT_TREE_TOP_DOWN)
		mt_tree_build_inverted(tree, selection);
	else
		build_down(tree, selection);
	link_children(tree, 0);
	return tree;
}

struct mt_tree *mt_tree_new(const struct mt_profile *profile, const struct mt_symbols *symbols,
	const struct mt_selection *selection, enum mt_tree_kind kind, enum mt_metric sort)
{
	return mt_tree_again(NULL, profile, symbols, selection, kind, sort);
}

void mt_tree_expand(struct mt_tree *tree, uint32_t node)
{
	if (node >= tree->count || tree->nodes[node].expanded)
		return;
	uint32_t before = tree->count;

	tree->nodes[node].expanded = true;
	if (mt_tree_inverted(tree))
		mt_tree_expand_inverted(tree, node);
	else
		expand_down(tree, node);
	link_children(tree, before);
}

void mt_tree_expand_all(struct mt_tree *tree)
{
	for (uint32_t node = 0; node < tree->count; node++)
		mt_tree_expand(tree, node);
}

void mt_tree_visit(const struct mt_tree *tree, uint32_t node, mt_tree_visitor *visit, void *context)
{
	for (uint32_t i = tree->first_item[node]; i != MT_NO_NODE; i = tree->items[i].next) {
		const struct item *item = &tree->items[i];
		const struct below *below =
			mt_tree_inverted(tree) ? NULL : &tree->below[item->node];

		if (!below)
			visit(context, item->group, item->node, item->frame);
		for (uint32_t g = below ? below->from : 0; below && g < below->end; g++)
			visit(context, tree->groups[g], item->node, item->frame);
	}
}

static bool is_own(const struct mt_tree *tree, uint32_t node)
{
	struct mt_backtrace_frame frame;

	if (node == MT_NO_NODE || !node)
		return false;
	mt_tree_label(tree, node, &frame);
	return !mt_frame_is_of_library(&frame);
}

/* Whether the program's own functions are below, as far down as anybody looks. */
static bool has_own_below(struct mt_tree *tree, uint32_t node, unsigned depth)
{
	mt_tree_expand(tree, node);
	for (uint32_t child = tree->nodes[node].first_child; child != MT_NO_NODE;
		child = tree->nodes[child].next_sibling)
		if (!depth || is_own(tree, child) || has_own_below(tree, child, depth - 1))
			return true;
	return false;
}

bool mt_tree_ends_here(struct mt_tree *tree, uint32_t node)
{
	if (mt_tree_inverted(tree)
		|| !(is_own(tree, node) || is_own(tree, tree->nodes[node].parent)))
		return false;
	mt_tree_expand(tree, node);
	return tree->nodes[node].first_child != MT_NO_NODE
		&& !has_own_below(tree, node, FOLDED_MAX);
}

bool mt_tree_inverted(const struct mt_tree *tree)
{
	return tree->kind != MT_TREE_TOP_DOWN;
}

uint32_t mt_tree_count(const struct mt_tree *tree)
{
	return tree->count;
}

enum mt_metric mt_tree_metric(const struct mt_tree *tree)
{
	return tree->sort;
}

uint32_t mt_tree_root(const struct mt_tree *tree)
{
	(void)tree;
	return 0;
}

const struct mt_tree_node *mt_tree_get(const struct mt_tree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

void mt_tree_label(const struct mt_tree *tree, uint32_t node, struct mt_backtrace_frame *out)
{
	const struct mt_tree_node *at = &tree->nodes[node];

	if (node) {
		mt_frame_describe(out, tree->profile, tree->symbols, at->pc, at->frame);
		return;
	}
	*out = (struct mt_backtrace_frame){
		.function = "[all]",
		.raw_function = "[all]",
		.source = "",
		.module = "",
	};
}

void mt_tree_free(struct mt_tree *tree)
{
	if (!tree)
		return;
	mt_folds_free(&tree->folds);
	free(tree->nodes);
	free(tree->merged);
	free(tree->slots);
	free(tree->items);
	free(tree->first_item);
	free(tree->below);
	free(tree->groups);
	free(tree->weights);
	free(tree->moves);
	free(tree);
}
