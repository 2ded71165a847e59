/* Blanks between words, in the style of the word before where nobody can see the difference: a
 * change of style costs more than the blank. */
#ifndef MT_TUI_BLANKS_H
#define MT_TUI_BLANKS_H

#include <curses.h>
#include <stdbool.h>
#undef columns /* names that term.h takes */
#undef lines

struct mt_blanks {
	struct mt_blanks_cell {
		attr_t attributes;
		/* ground: the colour behind; MT_COLOUR_DEFAULT: the terminal's own */
		int pair, ground;
		bool blank;
	} * cells;
	int rows, columns;
};

/* A new frame, all blank on that ground. */
void mt_blanks_begin(struct mt_blanks *, int rows, int columns, int ground);
/* What was drawn into a cell, or two where it is wide. */
void mt_blanks_note(struct mt_blanks *, int row, int column, int width,
	const struct mt_blanks_cell *);
/* Calls put for each blank that is to be drawn in another style. */
void mt_blanks_settle(struct mt_blanks *, void (*put)(int row, int column, attr_t, int pair));
void mt_blanks_free(struct mt_blanks *);

#endif
