/* The call tree from where memory is allocated out to the callers. */
#include "core/query/frame.h"
#include "core/query/tree_parts.h"

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
static uint32_t place_item(struct mt_tree *tree, uint32_t parent, struct item item)
{
	const struct mt_group *group = &tree->profile->groups[item.group];
	uint32_t pc = tree->profile->nodes[item.node].pc, first;
	uint32_t frame = mt_pc_frames(tree->symbols, pc, &first) ? first + item.frame : MT_NO_FRAME;
	uint32_t node = mt_tree_child(tree, parent, pc, frame, mt_tree_weight(tree, group));

	mt_tree_add_item(tree, node, item);
	return node;
}

void mt_tree_build_inverted(struct mt_tree *tree, const struct mt_selection *selection)
{
	mt_tree_add_node(tree, MT_NO_NODE, 0);
	mt_tree_sum_all(tree, selection);
	for (uint32_t i = 0; i < selection->count; i++) {
		uint32_t id = selection->groups[i];
		struct item item = {.group = id,
			.node = tree->profile->nodes[tree->profile->groups[id].node].parent};

		if (item.node == MT_NODE_ROOT)
			mt_tree_add_self(tree, 0, id);
		else
			mt_tree_add_self(tree, place_item(tree, 0, item), id);
	}
	for (uint32_t node = 1; node < tree->count; node++)
		tree->nodes[node].total = tree->nodes[node].self;
	tree->nodes[0].expanded = true;
}

void mt_tree_expand_inverted(struct mt_tree *tree, uint32_t node)
{
	for (uint32_t i = tree->first_item[node]; i != MT_NO_NODE; i = tree->items[i].next) {
		struct item item = tree->items[i];

		if (!advance(tree, &item))
			continue;
		uint32_t caller = place_item(tree, node, item);

		mt_tree_sum(tree, &tree->nodes[caller].total, &tree->profile->groups[item.group]);
	}
}
