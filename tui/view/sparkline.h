/* Graphs made of characters. */
#ifndef MT_TUI_SPARKLINE_H
#define MT_TUI_SPARKLINE_H

#include "tui/terminal/screen.h"

/* One row, one value a column. max 0: the largest value. A value above 0 is always seen. */
void mt_sparkline_draw(struct mt_screen *, int row, int column, int width, enum mt_role,
	const uint64_t *values, uint32_t count, uint64_t max);
/* The same of one group over time. Where all values lie close together the graph begins below the
 * smallest: growth on top of much, as after an attach, is seen. */
void mt_sparkline_trend(struct mt_screen *, int row, int column, int width, enum mt_role,
	const uint64_t *values, uint32_t count, uint64_t max);
/* An area graph that fills the rectangle, two values a column where the terminal can show it, else
 * the larger one. */
void mt_sparkline_area(struct mt_screen *, struct mt_rect, enum mt_role, const uint64_t *values,
	uint32_t count, uint64_t max);
/* An area, two values a column, and above it a line where line is not NULL. */
struct mt_sparkline_graph {
	enum mt_role role, line_role;
	const uint64_t *values, *line;
	uint32_t count, first; /* first: value at the left */
	uint64_t max;
};
void mt_sparkline_lined(struct mt_screen *, struct mt_rect, const struct mt_sparkline_graph *);
/* Layers on top of each other, one value a column: tops[column * layers + i] is where layer i ends,
 * counted from below, so the last one of a column is its whole value. Layer i has the i-th role of
 * groups, the last one that of all others. */
struct mt_sparkline_layers {
	const uint64_t *tops;
	uint32_t columns, layers;
	uint64_t max;
};
void mt_sparkline_layers(struct mt_screen *, struct mt_rect, const struct mt_sparkline_layers *);
/* Labels of the scale at the left, of bytes or of a count; returns the graph's own rectangle. */
struct mt_rect mt_sparkline_scale(struct mt_screen *, struct mt_rect, uint64_t max, bool bytes);

#endif
