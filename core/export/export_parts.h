/* Parts that several ways out share. */
#ifndef MT_EXPORT_EXPORT_PARTS_H
#define MT_EXPORT_EXPORT_PARTS_H

#include "core/export/export.h"
#include "core/export/report_parts.h"

/* What a stack without any frame is called. */
#define MT_EXPORT_NO_STACK "[no stack]"

/* A way through a call tree that does not recurse: stacks of the program can be deeper than our
 * own. */
struct mt_tree_walk {
	const struct mt_tree *tree;
	uint32_t node;
	bool down; /* whether the node was entered, not left */
};
/* The next step, while there is one: each node but the root is entered, then its children, then it
 * is left. */
static inline bool mt_tree_walk_next(struct mt_tree_walk *walk)
{
	const struct mt_tree_node *at = mt_tree_get(walk->tree, walk->node);
	uint32_t next = walk->down ? at->first_child : at->next_sibling;

	if (walk->down && next == MT_NO_NODE) {
		walk->down = false; /* a leaf is left where it was entered */
		return walk->node != mt_tree_root(walk->tree);
	}
	walk->down = next != MT_NO_NODE;
	walk->node = next != MT_NO_NODE ? next : at->parent;
	return walk->node != mt_tree_root(walk->tree);
}
static inline struct mt_tree_walk mt_tree_walk_begin(const struct mt_tree *tree)
{
	return (struct mt_tree_walk){tree, mt_tree_root(tree), true};
}

/* A node's function, or module+0xoffset; caller frees. */
char *mt_export_node_name(const struct mt_tree *, uint32_t node);
/* The tree of what the report's filter selects, by its metric; sum (may be NULL): over all. NULL on
 * error. */
struct mt_tree *mt_export_tree(const struct mt_report *, struct mt_group *sum, struct mt_err *);
/* Name of the program: of the first argument, without folders. Borrowed. */
const char *mt_export_program(const struct mt_profile *);
const char *mt_export_base_name(const char *path);

#endif
