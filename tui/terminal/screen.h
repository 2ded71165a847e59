/* The terminal: set up, drawn on, and restored on every way out. */
#ifndef MT_TUI_SCREEN_H
#define MT_TUI_SCREEN_H

#include "core/base/err.h"
#include "tui/terminal/glyphs.h"
#include "tui/terminal/theme.h"
#include "tui/terminal/width.h"

#include <stddef.h>
#include <stdint.h>

struct mt_rect {
	int row, column, rows, columns;
};

/* What graphs are made of, where the terminal has UTF-8. X(id, name) */
#define MT_GRAPHS(X) X(BRAILLE, "braille") X(BLOCK, "blocks") X(ASCII, "ascii")
enum mt_graphs {
#define X(id, name) MT_GRAPHS_##id,
	MT_GRAPHS(X) MT_GRAPHS_COUNT,
#undef X
};
const char *mt_graphs_name(enum mt_graphs);
enum mt_graphs mt_graphs_find(const char *name); /* braille, where there is none of that name */

struct mt_screen;
struct mt_theme;
/* ascii: "auto", "always" or "never" (NULL: auto). Says in err why there is no screen; draws
 * nothing then. */
struct mt_screen *mt_screen_open(const struct mt_theme *, const char *ascii, struct mt_err *err);
/* Whether there could be one; nothing is changed. */
int mt_screen_check(struct mt_err *err);
/* of the terminal, before it is opened */
void mt_screen_size(unsigned short *rows, unsigned short *columns);
/* Gives the terminal back as it was. */
void mt_screen_close(struct mt_screen *);
/* Until resume, the terminal is as it was before. */
void mt_screen_suspend(struct mt_screen *);
void mt_screen_resume(struct mt_screen *);
/* After a stop that nobody announced: sets everything anew. */
void mt_screen_continue(struct mt_screen *);
/* Asks the kernel for the size. Returns whether it changed. */
bool mt_screen_resize(struct mt_screen *);
int mt_screen_rows(const struct mt_screen *);
int mt_screen_columns(const struct mt_screen *);
int mt_screen_fd(const struct mt_screen *); /* to read keys from */
bool mt_screen_utf8(const struct mt_screen *);
enum mt_graphs mt_screen_graphs(const struct mt_screen *); /* ASCII without UTF-8 */
void mt_screen_set_graphs(struct mt_screen *, enum mt_graphs);
int mt_screen_theme(struct mt_screen *, const char *name, struct mt_err *err);

void mt_screen_mouse(struct mt_screen *, bool on);          /* where the terminal has one */
bool mt_screen_has_clipboard(const struct mt_screen *);     /* it knows OSC 52, or ignores it */
void mt_screen_ascii(struct mt_screen *, const char *when); /* as for open */

void mt_screen_begin(struct mt_screen *); /* a new, empty frame */
/* sends what differs from the frame before; returns how many bytes that took */
size_t mt_screen_end(struct mt_screen *);
void mt_screen_redraw(struct mt_screen *); /* the next frame is sent whole */
/* Sends bytes to the terminal that draw nothing. */
void mt_screen_send(struct mt_screen *, const char *bytes, size_t len);
void mt_screen_cursor(struct mt_screen *, int row, int column); /* shown there in this frame */
/* Its shape in this frame, as DECSCUSR numbers them; where the terminal has no shapes nothing is
 * sent. */
void mt_screen_cursor_style(struct mt_screen *, int style);
/* what is pasted comes between MT_KEY_PASTE_BEGIN and _END */
void mt_screen_paste(struct mt_screen *, bool bracketed);

/* Text from column on, at most width columns. What does not fit ends in an ellipsis; control
 * characters, broken UTF-8 and what the terminal cannot show become '?' ; returns columns used. */
int mt_draw(struct mt_screen *, int row, int column, int width, enum mt_role, const char *text);
int mt_drawf(struct mt_screen *, int row, int column, int width, enum mt_role, const char *format,
	...) __attribute__((format(printf, 6, 7)));
/* Into the rows of the rectangle, wrapped between words; the last one ends in an ellipsis where
 * there is more. Returns the rows that the whole text needs. */
int mt_draw_wrapped(struct mt_screen *, struct mt_rect, enum mt_role, const char *text);
/* Ends before column + width. */
void mt_draw_right(struct mt_screen *, int row, int column, int width, enum mt_role,
	const char *text);
void mt_draw_fill(struct mt_screen *, int row, int column, int width, enum mt_role);
/* A rule with words in it. */
void mt_draw_rule(struct mt_screen *, int row, int column, int width, enum mt_role,
	const char *words);
/* Whether layers are told apart by colours here; else by digits. */
bool mt_draw_shows_layers(const struct mt_screen *);
/* One cell of two layers, in the colours of their roles: the lower one fills so many eighths.
 * upper: MT_ROLE_TEXT where nothing is above. */
void mt_draw_layers(struct mt_screen *, int row, int column, int level, enum mt_role lower,
	enum mt_role upper);
/* The mark of a layer in a line of this role: its colour, or its digit. layer: from 0, behind the
 * last group's that of all others; -1: none. */
void mt_draw_swatch(struct mt_screen *, int row, int column, int layer, enum mt_role);
/* One cell with colours of its own (a program's output): 0xrrggbb or MT_COLOUR_DEFAULT. */
void mt_draw_cell(struct mt_screen *, int row, int column, const uint32_t *code,
	const struct mt_style *);

#endif
