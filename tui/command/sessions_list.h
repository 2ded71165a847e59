/* What 'memtui sessions' prints: recordings that run, then those in the cache. */
#ifndef MT_TUI_SESSIONS_LIST_H
#define MT_TUI_SESSIONS_LIST_H

#include "tui/user/saved.h"

/* width: of a terminal, where no line wraps; 0: any. Says on stderr what cannot be read. */
void mt_sessions_print_text(const struct mt_saved_list *, bool exact, uint32_t width);
void mt_sessions_print_json(const struct mt_saved_list *);

#endif
