/* The icicle's state, and what is said about its cells in words. */
#ifndef MT_TUI_ICICLE_WORDS_H
#define MT_TUI_ICICLE_WORDS_H

#include "core/query/icicle.h"
#include "tui/app.h"

struct mt_icicle_state {
	struct mt_list list; /* of all cells laid out; identity: the selected one's key */
	uint32_t depth;      /* of the selected one, from the tree's root */
	struct mt_icicle layout;
	uint64_t generation; /* of the data when it was laid out */
	uint64_t *path;      /* keys from the tree's root to what has all columns */
	uint32_t path_count, path_capacity;
	/* of its callees so many are left out: zoomed to those that are too narrow beside them */
	uint32_t skip;
	struct {
		uint32_t path_count, skip;
	} * zooms; /* before each zoom */
	uint32_t zoom_count, zoom_capacity;
	uint32_t root;       /* where the path ends */
	uint32_t top;        /* first row seen */
	struct mt_rect area; /* of the cells, as drawn last */
	char *searched;      /* what these were counted for: */
	uint64_t searched_generation;
	uint32_t searched_root, searched_skip;
	struct mt_icicle_matches matches;
};

static inline const struct mt_icicle_cell *mt_icicle_cell_at(const struct mt_icicle_state *t,
	uint32_t index)
{
	return index < t->layout.count ? &t->layout.cells[index] : NULL;
}

/* The root without its largest callees: nothing but its name is that of the node. */
static inline bool mt_icicle_is_rest(const struct mt_icicle_state *t,
	const struct mt_icicle_cell *cell)
{
	return t->layout.skip && !cell->row;
}

/* The function of a node, or where it would stand in its module; one of C++ or Rust folded to so
 * many columns. */
void mt_icicle_name(struct mt_app *, uint32_t node, int columns, char *out, size_t len);
void mt_icicle_value(struct mt_app *, const struct mt_icicle_cell *, char out[17]);
/* Lines below the cells: the selected one; what matches, what is zoomed to, and what else is not
 * the usual. */
void mt_icicle_draw_selected(struct mt_app *, int row, int columns);
void mt_icicle_draw_words(struct mt_app *, int row, int columns);
/* of the search on the screen, in the view; kept until either changes */
void mt_icicle_count_matches(struct mt_app *);

#endif
