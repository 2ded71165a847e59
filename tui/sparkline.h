/* Graphs made of characters. */
#ifndef MT_TUI_SPARKLINE_H
#define MT_TUI_SPARKLINE_H

#include "tui/screen.h"

/* One row, one value a column. max 0: the largest value. A value above 0 is always seen. */
void mt_sparkline_draw(struct mt_screen *, int row, int column, int width, enum mt_role, const uint64_t *values,
	uint32_t count, uint64_t max);
/* An area graph that fills the rectangle, two values a column where the terminal can show it, else the larger one. */
void mt_sparkline_area(struct mt_screen *, struct mt_rect, enum mt_role, const uint64_t *values, uint32_t count,
	uint64_t max);
/* The same with labels of the scale at the left; returns the graph's own rectangle. */
struct mt_rect mt_sparkline_scale(struct mt_screen *, struct mt_rect, uint64_t max);

#endif
