/* Names in the legend of the heap's graph. */
#ifndef MT_TUI_LEGEND_H
#define MT_TUI_LEGEND_H

#include "core/query/query.h"

#define MT_LEGEND_GAP 2 /* columns between two names, and those of a swatch with its blank */

struct mt_legend_entry {
	const struct mt_backtrace_frame *frame; /* where the group is; NULL: it has no stack */
	/* What was made of it; the caller frees. NULL: left out, or named by an earlier entry. */
	char *text;
	int same_as; /* the entry whose text names this one, too: the first of that name */
};

/* Makes the texts of all entries for so many columns. Those of one function and line get one text.
 * The last entries are left out rather than that names become too short to be told apart. */
void mt_legend_fit(struct mt_legend_entry *, int count, int columns, bool utf8);

/* A function and its line in so many columns. While names are looked up, its module and the place
 * in it, as in the list of groups. NULL: a group without a stack. The caller frees. */
char *mt_legend_text(const struct mt_backtrace_frame *, int room, bool utf8);

#endif
