/* A call tree as rows of bars: each function as wide as its share of the whole, its callees below
 * it. Widths are rounded by where bars begin and end, not one by one: neighbours touch, and callees
 * stay below their caller. */
#ifndef MT_QUERY_ICICLE_H
#define MT_QUERY_ICICLE_H

#include "core/query/pattern.h"
#include "core/query/query.h"

/* what a bar needs to be told from its neighbours: a separator and three letters */
#define MT_ICICLE_COLUMNS 4u
#define MT_NO_CELL 0xffffffffu

struct mt_icicle_cell {
	uint32_t node; /* of the tree; merged: the caller */
	/* > 0: stands for so many of its callees that are too narrow for bars of their own */
	uint32_t merged;
	uint32_t above; /* the caller's cell, or MT_NO_CELL */
	uint32_t row;
	uint32_t column, columns; /* never 0 */
	uint64_t from, value;     /* in the metric, from the left edge */
	uint64_t key;             /* the same for the same path of functions in another tree */
};
struct mt_icicle {
	struct mt_icicle_cell *cells; /* row by row, left to right */
	uint32_t count, capacity;
	uint32_t *rows; /* where each begins; row_count + 1 of them */
	uint32_t row_count, row_capacity;
	uint32_t columns;
	uint32_t skip;         /* of the root's callees so many are left out, the largest */
	bool complete;         /* nothing is below the last row */
	enum mt_metric metric; /* the tree's, or bytes where that does not add up */
	uint64_t total;
};

#define MT_ICICLE_ROOT 1u /* the key of a tree's root */
uint64_t mt_icicle_key(const struct mt_tree *, uint64_t parent_key, uint32_t node);
/* The callee of node with this key, or MT_NO_NODE. */
uint32_t mt_icicle_callee(struct mt_tree *, uint32_t node, uint64_t node_key, uint64_t key);

/* The first row: node `root` with this key, over all columns; no row where it has no value. skip:
 * it is without its largest so many callees and without itself, where the metric adds up. icicle:
 * zeroed, or of an earlier call. */
void mt_icicle_begin(struct mt_icicle *, const struct mt_profile *, struct mt_tree *, uint32_t root,
	uint64_t root_key, uint32_t skip, uint32_t columns);
/* Lays out rows until there are so many, or nothing is below the last one. Trees are expanded as
 * far as is needed for that; what it takes goes by the number of cells, not of nodes, where the
 * metric adds up. */
void mt_icicle_extend(struct mt_icicle *, const struct mt_profile *, struct mt_tree *,
	uint32_t rows);
void mt_icicle_free(struct mt_icicle *);

/* a cell, or MT_NO_CELL */
uint32_t mt_icicle_at(const struct mt_icicle *, uint32_t row, uint32_t column);
uint32_t mt_icicle_find(const struct mt_icicle *, uint64_t key);
/* its first callee of the rows that there are */
uint32_t mt_icicle_below(const struct mt_icicle *, uint32_t cell);

/* The groups with a function that matches, in root or below it; skip: without its largest so many
 * callees. value: in the metric. */
struct mt_icicle_matches {
	uint64_t groups, value;
};
void mt_icicle_match(struct mt_icicle_matches *, const struct mt_profile *,
	const struct mt_symbols *, struct mt_tree *, uint32_t root, uint32_t skip,
	struct mt_pattern *);

#endif
