/* Private to tui/terminal: what the screen is made of, for the terminal's state and for drawing. */
#ifndef MT_TUI_SCREEN_PARTS_H
#define MT_TUI_SCREEN_PARTS_H

#include "tui/terminal/blanks.h"
#include "tui/terminal/capture.h"
#include "tui/terminal/screen.h"

#include <curses.h>
#include <termios.h>

#define GROUND_UNKNOWN (-3)
#define CELL_PAIRS 1024 /* for colours of a program's output; a power of 2 */

struct mt_screen {
	SCREEN *curses;
	int fd;                    /* of keys */
	struct mt_capture capture; /* of what ncurses writes */
	bool own_fd, utf8, can_utf8, colour, mouse, can_mouse, suspended, cursor_shown, paste;
	int cursor_row, cursor_column;
	enum mt_graphs graphs;
	int cursor_style, style_sent;        /* 0: the terminal's own */
	const char *set_style, *reset_style; /* NULL: it has one alone */
	struct termios saved;                /* how the terminal was */
	struct mt_theme theme;
	attr_t attributes[MT_ROLE_ALL];
	/* the terminal's colours of a role, and behind it; MT_COLOUR_DEFAULT without one */
	int ink[MT_ROLE_ALL], ground[MT_ROLE_ALL];
	struct mt_blanks blanks;
	struct {
		int foreground, background, pair;
	} cell_pair[CELL_PAIRS]; /* pair 0: free */
	int cell_pairs;
	bool cell_pairs_full; /* they begin anew with the next frame */
};

/* The attributes of a theme's style. */
attr_t mt_screen_attributes(unsigned style);
/* One cell of the next frame. */
void mt_screen_put(int row, int column, attr_t attributes, int pair, const wchar_t *text);

#endif
