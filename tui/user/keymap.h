/* Which key means which action: the list's own keys, changed by the lines of the user's file
 *   bind SCOPE KEY ACTION
 *   unbind SCOPE KEY
 * with the names of the list in small letters, '-' between words. # begins a comment. */
#ifndef MT_TUI_KEYMAP_H
#define MT_TUI_KEYMAP_H

#include "tui/terminal/keys.h"
#include "tui/user/user_files.h"

#include <stdio.h>

struct mt_binding {
	enum mt_scope scope;
	uint32_t code;
	enum mt_action action;
	uint32_t line; /* of the user's file; 0: of the list */
};

/* NULL behind the last; an action's first key first */
const struct mt_binding *mt_keymap_at(uint32_t index);
/* Back to the list's keys. */
void mt_keymap_reset(void);
/* Takes the lines over that are right, and adds a fault for each other one. */
void mt_keymap_read(const char *file_name, char *text, struct mt_faults *);
/* Reads a file; path NULL: the user's own, which need not be there. Negative: err says why it could
 * not be read. */
int mt_keymap_load(const char *path, struct mt_faults *, struct mt_err *err);
/* A line for each key that means two actions where both scopes are valid: which, where, and which
 * of them wins. Returns how many. That the keys of a view come before those of all views is no
 * conflict, unless a line of the user's has made it so. */
uint32_t mt_keymap_conflicts(struct mt_buffer *out);
/* All keys of an action, separated by blanks. */
const char *mt_keymap_keys(enum mt_action, char out[64]);
/* Words with the keys of actions in them: for {action} its first key, or its name where it has
 * none; a % in a key is doubled, for printf. Returns out. */
const char *mt_keymap_words(char *out, size_t len, const char *words);
/* All of it, for people or as JSON. (command_keys.c) */
void mt_keymap_print(FILE *out, bool json);

#endif
