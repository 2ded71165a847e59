/* The call tree from where memory is allocated out to the callers. */
#include "core/query/frame.h"
#include "core/query/tree_parts.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- where a group is: as mt_backtrace_own says, without writing its backtrace down ---- */

enum { OF_LIBRARY = 1, IS_WRAPPER = 2, IS_PLACE = 4, IS_CUT = 8, IS_JUDGED = 16 };

/* judged: by frame of the symbols, so that each is looked at once; what has none is not kept. */
static uint8_t judge(const struct mt_tree *tree, uint8_t *judged, const struct item *item)
{
	uint32_t pc = tree->profile->nodes[item->node].pc, first;
	uint32_t frame =
		mt_pc_frames(tree->symbols, pc, &first) ? first + item->frame : MT_NO_FRAME;
	struct mt_backtrace_frame words;
	uint8_t verdict = IS_JUDGED;

	if (frame != MT_NO_FRAME && judged[frame])
		return judged[frame];
	mt_frame_describe(&words, tree->profile, tree->symbols, pc, frame);
	verdict |= mt_frame_is_of_library(&words) ? OF_LIBRARY : 0;
	verdict |= mt_frame_is_wrapper(&words) ? IS_WRAPPER : 0;
	verdict |= mt_frame_is_place(words.function) ? IS_PLACE : 0;
	verdict |= pc == MT_PC_CUT ? IS_CUT : 0;
	if (frame != MT_NO_FRAME)
		judged[frame] = verdict;
	return verdict;
}

static bool same_module(const struct mt_tree *tree, const struct item *a, const struct item *b)
{
	struct mt_backtrace_frame x, y;

	mt_frame_describe(&x, tree->profile, tree->symbols, tree->profile->nodes[a->node].pc,
		MT_NO_FRAME);
	mt_frame_describe(&y, tree->profile, tree->symbols, tree->profile->nodes[b->node].pc,
		MT_NO_FRAME);
	return !strcmp(x.module, y.module);
}

/* From a frame without a name: the next one of its module that has a name, if all between are of
 * that module, too; else itself. */
static struct item next_named(const struct mt_tree *tree, uint8_t *judged, struct item from)
{
	struct item next = from;

	while (judge(tree, judged, &next) & IS_PLACE)
		if (!advance(tree, &next) || !same_module(tree, &from, &next))
			return from;
	return next;
}

/* Moves an item from the innermost frame to where its group is. */
static void move_to_own(const struct mt_tree *tree, uint8_t *judged, struct item *item)
{
	struct item at = *item, next;

	for (;; at = next) {
		while (judge(tree, judged, &at) & OF_LIBRARY)
			if (!advance(tree, &at))
				goto of_libraries;
		next = next_named(tree, judged, at);
		if ((next.node == at.node && next.frame == at.frame)
			|| !(judge(tree, judged, &next) & IS_WRAPPER)) {
			*item = at;
			return;
		}
	}
of_libraries:
	for (next = *item; judge(tree, judged, &next) & (IS_CUT | IS_WRAPPER);) {
		*item = next;
		if (!advance(tree, &next))
			return;
	}
	*item = next;
}

void mt_tree_build_inverted(struct mt_tree *tree, const struct mt_selection *selection)
{
	uint8_t *judged = tree->kind == MT_TREE_FROM_OWN
		? mt_alloc((size_t)tree->symbols->frame_count + 1)
		: NULL;

	mt_tree_add_node(tree, MT_NO_NODE, 0);
	mt_tree_sum_all(tree, selection);
	for (uint32_t i = 0; i < selection->count; i++) {
		uint32_t id = selection->groups[i];
		struct item item = {.group = id,
			.node = tree->profile->nodes[tree->profile->groups[id].node].parent};

		if (item.node == MT_NODE_ROOT) {
			mt_tree_add_self(tree, 0, id);
			continue;
		}
		if (judged)
			move_to_own(tree, judged, &item);
		mt_tree_add_self(tree, place_item(tree, 0, item), id);
	}
	free(judged);
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
