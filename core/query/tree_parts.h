/* Private to the call tree by function: what its two directions share. */
#ifndef MT_QUERY_TREE_PARTS_H
#define MT_QUERY_TREE_PARTS_H

#include "core/query/query.h"
#include "core/query/sort.h"

/* At which profile node, at which frame of its pc (0: the innermost). Inverted it is one group on
 * its way outwards, else all groups below the profile node. */
struct item {
	uint32_t group, node, frame, next;
};

/* The selected groups below a profile node. They stand side by side in tree->groups: those that end
 * at the node, then those of its callees in turn. */
struct below {
	uint32_t from, own, end; /* own: of [from, end), the first so many */
	uint32_t first, next;    /* callees that have such groups, in order; 0: none */
};

/* What tells a node from its siblings, apart from the nodes: these are large, and looking one up
 * would fetch them. */
struct merged {
	uint64_t key;      /* function and module */
	uint64_t heaviest; /* weight of what gave the node its pc, frame and group */
	uint32_t parent;
	uint32_t first, next, children; /* in reverse order of creation */
};

/* Most look-ups find nothing: the hash says so without a look at the node. */
struct slot {
	uint32_t hash, node; /* node + 1; 0: free */
};

struct mt_tree {
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	enum mt_tree_kind kind;
	enum mt_metric sort;
	struct mt_tree_node *nodes;
	struct merged *merged;
	uint32_t count, capacity;
	struct slot *slots; /* open addressing by (parent, key) */
	uint32_t in_slots;
	uint32_t slot_count;
	struct item *items;
	uint32_t item_count, item_capacity;
	uint32_t *first_item;
	/* top-down: */
	struct below *below; /* by profile node */
	uint32_t below_capacity;
	uint32_t *groups;
	uint64_t *weights; /* of the first so many of them */
	uint32_t group_capacity;
	struct mt_sort_entry *moves; /* while a node is expanded */
	uint32_t move_count, move_capacity;
	struct mt_folds folds; /* of the nodes' sums */
};

/* parent: MT_NO_NODE for the root. */
uint32_t mt_tree_add_node(struct mt_tree *, uint32_t parent, uint64_t key);
void mt_tree_add_item(struct mt_tree *, uint32_t node, struct item);
/* A group ends at the node. */
void mt_tree_add_self(struct mt_tree *, uint32_t node, uint32_t group);
/* The child of parent for this frame, made when it is new. The heaviest caller gives pc and
 * line. */
uint32_t mt_tree_child(struct mt_tree *, uint32_t parent, uint32_t pc, uint32_t frame,
	uint64_t weight);
/* Adds a group of the profile to a node's self or total. */
void mt_tree_sum(struct mt_tree *, struct mt_group *sum, const struct mt_group *);
/* The root's total. */
void mt_tree_sum_all(struct mt_tree *, const struct mt_selection *);
/* What decides which of several places gives a node its line: the metric, or bytes where it does
 * not add up. */
uint64_t mt_tree_weight(const struct mt_tree *, const struct mt_group *);

/* ---- inverted (tree_inverted.c) ---- */

void mt_tree_build_inverted(struct mt_tree *, const struct mt_selection *);
void mt_tree_expand_inverted(struct mt_tree *, uint32_t node);

#endif
