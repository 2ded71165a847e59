/* What was typed into the prompts, in this and in earlier sessions: a file in the user's state
 * directory. */
#ifndef MT_TUI_HISTORY_H
#define MT_TUI_HISTORY_H

#include <stdint.h>

struct mt_history;

/* The text that was accepted by the prompt of this name so many times ago, from 1; NULL: there are
 * no more. Reads the file when it is first asked; *history: NULL before. */
const char *mt_history_get(struct mt_history **history, const char *prompt, uint32_t back);
/* Adds a text, as the newest one, and keeps it in the file where there is a place for that. */
void mt_history_add(struct mt_history **history, const char *prompt, const char *text);
void mt_history_free(struct mt_history *);

#endif
