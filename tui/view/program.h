/* The terminal of the program under test, between libvterm (program_terminal.c), what has scrolled
 * out of it (program_lines.c) and the view (view_program.c). */
#ifndef MT_TUI_PROGRAM_H
#define MT_TUI_PROGRAM_H

#include "tui/app.h"

#ifdef HAVE_LIBVTERM
#include "tui/view/program_repeats.h"

#define MT_PROGRAM_LINES 10000u      /* that are kept of what has scrolled out */
#define MT_PROGRAM_BYTES (32u << 20) /* and they take no more than this */

struct mt_program_cell {
	uint32_t code, mark; /* a character, 0: blank; and one that combines with it */
	int foreground, background;
	uint8_t attributes, width;
};
struct mt_program_line {
	struct mt_program_cell *cells;
	uint32_t count;
};

struct mt_program_state {
	VTerm *terminal;
	VTermScreen *screen;
	struct mt_repeats repeats;
	struct mt_client *client; /* borrowed */
	uint64_t at, lost;        /* lost: bytes that were overwritten before they were read */
	bool typing, pasting;
	/* what was printed before we came: it must not be answered again */
	bool replay;
	int rows, columns; /* 0: not known before the first frame */
	int cursor_row, cursor_column, cursor_shape;
	bool cursor_hidden, cursor_blinks, alternate;
	int mouse; /* VTERM_PROP_MOUSE_*: what it wants to know */
	char title[128];
	struct mt_program_line *lines; /* a ring of MT_PROGRAM_LINES */
	uint32_t first, count;
	size_t bytes;
	struct mt_program_cell *row; /* of the screen, as asked for last */
	/* of lines: scrolled out, the screen, and how the program ended; held: does not follow */
	struct mt_list list;
	bool found; /* the selected line is what was searched for */
};

/* ---- program_lines.c ---- */
void mt_program_push(struct mt_program_state *, int columns, const VTermScreenCell *);
/* the newest goes back to the screen */
bool mt_program_pop(struct mt_program_state *, int columns, VTermScreenCell *);
void mt_program_clear(struct mt_program_state *);
/* of the screen, up to the last that is not blank */
uint32_t mt_program_rows(const struct mt_program_state *);
/* Cells of a line, scrolled out or of the screen, until the next call; blank ones at its end are
 * left out. */
uint32_t mt_program_cells(struct mt_program_state *, uint32_t line,
	const struct mt_program_cell **);
void mt_program_text(struct mt_program_state *, uint32_t line, char *out, size_t len);

/* ---- program_terminal.c ---- */
void mt_program_fit(struct mt_app *, int rows, int columns); /* the terminal gets this size */
void mt_program_give(struct mt_app *, bool typing);          /* the keyboard, or takes it back */
#endif

#endif
