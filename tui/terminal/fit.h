/* Text that is longer than the columns it has: what says most is kept. Nothing is cut without an
 * ellipsis, and a line number is never cut. The caller frees what these functions return. */
#ifndef MT_TUI_FIT_H
#define MT_TUI_FIT_H

#include <stdbool.h>

/* The first third and, of the end, what has room. */
char *mt_fit_middle(const char *text, int width, bool utf8);
/* A function's name. Where it is too long, the template arguments are folded, then the parameters,
 * then namespaces and classes go, and then the middle. whole: nothing is folded, only the middle
 * goes. */
char *mt_fit_name(const char *name, int width, bool utf8, bool whole);
/* "file.c:12": the end of the file's name goes, its extension and the line stay. Where not even the
 * line has room: "". */
char *mt_fit_source(const char *source, int width, bool utf8);

#endif
