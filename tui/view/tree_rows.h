/* The lines of the call tree: which branches are open, which frames are folded into one line. */
#ifndef MT_TUI_TREE_ROWS_H
#define MT_TUI_TREE_ROWS_H

#include "tui/app.h"

/* Makes the rows anew from the data; force: open (1) or close (-1) all below the row of this
 * identity. */
void mt_tree_rows_make(struct mt_app *, uint64_t force_identity, int force);
void mt_tree_rows_toggle(struct mt_tree_state *, uint64_t identity, bool open);
/* What was opened and closed by hand, as words: +IDENTITY -IDENTITY, hexadecimal; as many as fit in
 * len. And back, in place of what is. */
void mt_tree_rows_text(const struct mt_tree_state *, char *out, size_t len);
void mt_tree_rows_parse(struct mt_tree_state *, const char *text);
void mt_tree_rows_reset(struct mt_tree_state *); /* forgets what was opened by hand */
#define MT_TREE_SMALL 0x5eedu /* xor to a parent's identity: the line of its small children */

#endif
