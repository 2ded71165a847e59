#include "tui/terminal/blanks.h"
#include "core/base/buffer.h"

#include <stdlib.h>

#define SEEN (A_REVERSE | A_UNDERLINE | A_STANDOUT) /* attributes that show on a blank */

void mt_blanks_begin(struct mt_blanks *b, int rows, int columns, int ground)
{
	if (b->rows != rows || b->columns != columns || !b->cells) {
		free(b->cells);
		b->cells = mt_alloc((size_t)rows * (size_t)columns * sizeof *b->cells + 1);
		b->rows = rows;
		b->columns = columns;
	}
	for (int i = 0; i < rows * columns; i++)
		b->cells[i] = (struct mt_blanks_cell){0, 0, ground, true};
}

void mt_blanks_note(struct mt_blanks *b, int row, int column, int width,
	const struct mt_blanks_cell *cell)
{
	for (int i = 0; i < width && row < b->rows && column + i < b->columns; i++)
		b->cells[row * b->columns + column + i] = *cell;
}

/* A blank in the style of the cell beside it. */
static void follow(struct mt_blanks_cell *cell, const struct mt_blanks_cell *beside, int row,
	int column, void (*put)(int row, int column, attr_t, int pair))
{
	if (!cell->blank || cell->ground != beside->ground
		|| (cell->attributes | beside->attributes) & SEEN
		|| (cell->pair == beside->pair && cell->attributes == beside->attributes))
		return;
	cell->attributes = beside->attributes;
	cell->pair = beside->pair;
	put(row, column, cell->attributes, cell->pair);
}

void mt_blanks_settle(struct mt_blanks *b, void (*put)(int row, int column, attr_t, int pair))
{
	for (int row = 0; row < b->rows; row++) {
		struct mt_blanks_cell *cells = b->cells + row * b->columns;
		int first = 0, end = b->columns;

		/* behind the last word the rest of the line is wiped at once */
		while (end > 0 && cells[end - 1].blank)
			end--;
		while (first < end && cells[first].blank)
			first++;
		for (int i = first - 1; i >= 0 && first < end; i--)
			follow(&cells[i], &cells[i + 1], row, i, put);
		for (int i = first + 1; i < end; i++)
			follow(&cells[i], &cells[i - 1], row, i, put);
	}
}

void mt_blanks_free(struct mt_blanks *b)
{
	free(b->cells);
	*b = (struct mt_blanks){0};
}
