/* The call tree by function. Top-down it is built at once from the profile's nodes. Inverted, each tree
 * node keeps the stacks that pass through it as items with a cursor; expanding it moves them on to its
 * callers. A group takes one path from the root in both, so recursion never counts it twice in a node. */
#include "core/query/frame.h"
#include "core/query/group_sum.h"
#include "core/query/query.h"
#include "core/query/sort.h"

#include <stdlib.h>
#include <string.h>

/* One group on its way outwards: at which profile node, at which frame of its pc. */
struct item {
	uint32_t group, node, frame, next;
};

/* What tells a node from its siblings, apart from the nodes: these are large, and looking one up would fetch them. */
struct merged {
	uint64_t key;      /* function and module */
	uint64_t heaviest; /* weight of what gave the node its pc, frame and group */
	uint32_t parent;
	uint32_t first, next, children; /* in reverse order of creation */
};

#define FEW_CHILDREN 8 /* are looked through; those of a node with more are found by slots */

/* Most look-ups find nothing: the hash says so without a look at the node. */
struct slot {
	uint32_t hash, node; /* node + 1; 0: free */
};

struct mt_tree {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	bool inverted;
	enum mt_metric sort;
	struct mt_tree_node *nodes;
	struct merged *merged;
	uint32_t count, capacity;
	struct slot *slots; /* open addressing by (parent, key) */
	uint32_t in_slots;
	uint32_t slot_count;
	struct item *items; /* inverted */
	uint32_t *first_item;
};

/* ---- nodes ---- */

/* Frames of one function in one module are one node; what has no name is one by its pc. */
static uint64_t merge_key(const struct mt_tree *tree, uint32_t pc, uint32_t frame)
{
	if (frame == MT_NO_FRAME)
		return 1ull << 63 | pc;
	uint32_t module = pc < tree->profile->pc_count ? tree->profile->pcs[pc].module : MT_NO_MODULE;
	uint32_t path = module < tree->profile->module_count ? tree->profile->modules[module].path : 0;

	return (uint64_t)path << 32 | tree->symbols->frames[frame].function;
}

static uint32_t hash_of(uint32_t parent, uint64_t key)
{
	return (uint32_t)((key ^ (uint64_t)parent * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull >> 32);
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

static uint32_t add_node(struct mt_tree *tree, uint32_t parent, uint64_t key)
{
	reserve_nodes(tree, tree->count + 1);
	uint32_t node = tree->count++;

	tree->nodes[node] = (struct mt_tree_node){.parent = parent,
		.first_child = MT_NO_NODE,
		.next_sibling = MT_NO_NODE,
		.frame = MT_NO_NODE,
		.group = MT_NO_GROUP,
		.depth = parent == MT_NO_NODE ? 0 : tree->nodes[parent].depth + 1,
		.expanded = !tree->inverted};
	tree->merged[node] = (struct merged){.key = key, .parent = parent, .first = MT_NO_NODE,
		.next = MT_NO_NODE};
	if (tree->inverted)
		tree->first_item[node] = MT_NO_NODE;
	return node;
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
	tree->slots[slot_of(tree, hash, parent, tree->merged[node].key)] = (struct slot){hash, node + 1};
}

static uint32_t add_child(struct mt_tree *tree, uint32_t parent, uint64_t key)
{
	uint32_t node = add_node(tree, parent, key);
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

/* The child of parent for this frame, made when it is new. The heaviest caller gives pc and line. */
static uint32_t child_of(struct mt_tree *tree, uint32_t parent, uint32_t pc, uint32_t frame, uint64_t weight)
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

/* Links the nodes from first on below their parents, the largest first, ties in order of creation. */
static void link_children(struct mt_tree *tree, uint32_t first)
{
	uint32_t count = tree->count - first;
	struct mt_sort_entry *order = mt_resize(NULL, count * sizeof *order);

	for (uint32_t i = 0; i < count; i++)
		order[i] = (struct mt_sort_entry){
			~mt_metric_value(tree->profile, &tree->nodes[first + i].total, tree->sort), first + i};
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

/* What decides which of several places gives a node its line: the metric, or bytes where it does not add up. */
static uint64_t weight_of(const struct mt_tree *tree, const struct mt_group *group)
{
	enum mt_metric metric = mt_metric_info(tree->sort)->sums ? tree->sort : MT_METRIC_SIZE;

	return mt_metric_value(tree->profile, group, metric);
}

/* ---- top-down ---- */

/* Weight of all selected groups below each profile node, plus one: 0 = no selected group. */
static uint64_t *weigh_nodes(const struct mt_tree *tree, const struct mt_selection *selection)
{
	const struct mt_profile *profile = tree->profile;
	uint64_t *weights = mt_alloc(profile->node_count * sizeof *weights);

	for (uint32_t i = 0; i < selection->count; i++) {
		const struct mt_group *group = &profile->groups[selection->groups[i]];

		weights[profile->nodes[group->node].parent] += weight_of(tree, group) + 1;
	}
	for (uint32_t node = profile->node_count; node-- > 1;)
		weights[profile->nodes[node].parent] += weights[node];
	return weights;
}

/* The tree node below parent that stands for the innermost frame of this pc. */
static uint32_t place_pc(struct mt_tree *tree, uint32_t parent, uint32_t pc, uint64_t weight)
{
	uint32_t first, count = mt_pc_frames(tree->symbols, pc, &first);

	if (!count)
		return child_of(tree, parent, pc, MT_NO_FRAME, weight);
	while (count-- > 0)
		parent = child_of(tree, parent, pc, first + count, weight);
	return parent;
}

static void add_self(struct mt_tree *tree, uint32_t node, uint32_t id)
{
	const struct mt_group *group = &tree->profile->groups[id];
	struct mt_tree_node *at = &tree->nodes[node];

	if (at->group == MT_NO_GROUP ||
		weight_of(tree, group) > weight_of(tree, &tree->profile->groups[at->group]))
		at->group = id;
	mt_group_sum_of(&at->self, tree->profile, group);
}

static void build_down(struct mt_tree *tree, const struct mt_selection *selection)
{
	const struct mt_profile *profile = tree->profile;
	uint64_t *weights = weigh_nodes(tree, selection);
	uint32_t weighed = 1;

	for (uint32_t i = 1; i < profile->node_count; i++)
		weighed += weights[i] != 0;
	reserve_nodes(tree, weighed);
	add_node(tree, MT_NO_NODE, 0);
	uint32_t *place = mt_resize(NULL, profile->node_count * sizeof *place);

	place[0] = 0;
	for (uint32_t i = 1; i < profile->node_count; i++) {
		const struct mt_node *node = &profile->nodes[i];

		if (weights[i])
			place[i] = place_pc(tree, place[node->parent], node->pc, weights[i]);
	}
	for (uint32_t i = 0; i < selection->count; i++) {
		uint32_t leaf = profile->groups[selection->groups[i]].node;

		add_self(tree, place[profile->nodes[leaf].parent], selection->groups[i]);
	}
	for (uint32_t i = tree->count; i-- > 0;) {
		struct mt_tree_node *node = &tree->nodes[i];

		mt_group_sum(&node->total, &node->self);
		if (i)
			mt_group_sum(&tree->nodes[node->parent].total, &node->total);
	}
	free(place);
	free(weights);
}

/* ---- inverted ---- */

/* Moves an item to the next frame outwards; false when the stack has ended. */
static bool advance(const struct mt_tree *tree, struct item *item)
{
	const struct mt_node *node = &tree->profile->nodes[item->node];
	uint32_t first, count = mt_pc_frames(tree->symbols, node->pc, &first);

	if (item->frame + 1 < count) {
		item->frame++;
		return true;
	}
	item->node = node->parent;
	item->frame = 0;
	return item->node != MT_NODE_ROOT;
}

/* Adds an item to the child of parent for the frame at its cursor. */
static uint32_t place_item(struct mt_tree *tree, uint32_t parent, uint32_t index)
{
	struct item *item = &tree->items[index];
	const struct mt_group *group = &tree->profile->groups[item->group];
	uint32_t pc = tree->profile->nodes[item->node].pc, first;
	uint32_t frame = mt_pc_frames(tree->symbols, pc, &first) ? first + item->frame : MT_NO_FRAME;
	uint32_t node = child_of(tree, parent, pc, frame, weight_of(tree, group));

	mt_group_sum_of(&tree->nodes[node].total, tree->profile, group);
	item->next = tree->first_item[node];
	tree->first_item[node] = index;
	return node;
}

static void build_inverted(struct mt_tree *tree, const struct mt_selection *selection)
{
	add_node(tree, MT_NO_NODE, 0);
	tree->items = mt_resize(tree->items, selection->count * sizeof *tree->items);
	for (uint32_t i = 0; i < selection->count; i++) {
		uint32_t id = selection->groups[i];
		const struct mt_group *group = &tree->profile->groups[id];
		uint32_t innermost = tree->profile->nodes[group->node].parent;

		tree->items[i] = (struct item){.group = id, .node = innermost};
		mt_group_sum_of(&tree->nodes[0].total, tree->profile, group);
		if (innermost == MT_NODE_ROOT)
			add_self(tree, 0, id);
		else
			add_self(tree, place_item(tree, 0, i), id);
	}
	tree->nodes[0].expanded = true;
}

void mt_tree_expand(struct mt_tree *tree, uint32_t node)
{
	if (node >= tree->count || tree->nodes[node].expanded)
		return;
	uint32_t before = tree->count;

	tree->nodes[node].expanded = true;
	for (uint32_t item = tree->first_item[node], next; item != MT_NO_NODE; item = next) {
		next = tree->items[item].next;
		if (advance(tree, &tree->items[item]))
			place_item(tree, node, item);
	}
	link_children(tree, before);
}

/* ---- the tree ---- */

struct mt_tree *mt_tree_again(struct mt_tree *tree, const struct mt_profile *profile, const struct mt_symbols *symbols,
	const struct mt_selection *selection, bool inverted, enum mt_metric sort)
{
	if (!tree)
		tree = mt_alloc(sizeof *tree);
	else if (tree->slots)
		memset(tree->slots, 0, tree->slot_count * sizeof *tree->slots);
	tree->count = tree->in_slots = 0;
	tree->profile = profile;
	tree->symbols = symbols;
	tree->inverted = inverted;
	tree->sort = sort;
	if (inverted)
		build_inverted(tree, selection);
	else
		build_down(tree, selection);
	link_children(tree, 0);
	return tree;
}

struct mt_tree *mt_tree_new(const struct mt_profile *profile, const struct mt_symbols *symbols,
	const struct mt_selection *selection, bool inverted, enum mt_metric sort)
{
	return mt_tree_again(NULL, profile, symbols, selection, inverted, sort);
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
		.function = "[all]", .raw_function = "[all]", .source = "", .module = ""};
}

void mt_tree_free(struct mt_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree->merged);
	free(tree->slots);
	free(tree->items);
	free(tree->first_item);
	free(tree);
}
