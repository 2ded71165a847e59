/* Names in the legend of the heap's graph. */
#ifndef MT_TUI_LEGEND_H
#define MT_TUI_LEGEND_H

#include "core/query/query.h"

/* A function and its line in so many columns. While names are looked up, its module and the place
 * in it, as in the list of groups. NULL: a group without a stack. The caller frees. */
char *mt_legend_text(const struct mt_backtrace_frame *, int room, bool utf8);

#endif
