/* To libvterm, with repeated characters (REP) written as often as they are meant: it goes to the
 * next line itself when the last of them stands a column before the edge, and loses what comes
 * behind. */
#ifndef MT_TUI_PROGRAM_REPEATS_H
#define MT_TUI_PROGRAM_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <vterm.h>

/* What the bytes so far have left; zero at the beginning. */
struct mt_repeats {
	char last[4], held[16]; /* the character that can be repeated; an escape that may say so */
	size_t last_len, held_len;
	bool sequence; /* within an escape that says something else */
};

void mt_repeats_write(struct mt_repeats *, VTerm *, const char *bytes, size_t len);

#endif
