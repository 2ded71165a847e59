/* Keys: bytes of the terminal to key codes, key codes to actions. */
#ifndef MT_TUI_KEYS_H
#define MT_TUI_KEYS_H

#include "tui/actions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A code is a Unicode character (control characters as themselves) or one of these. */
enum mt_key {
	MT_KEY_SPECIAL = 0x110000,
	MT_KEY_UP,
	MT_KEY_DOWN,
	MT_KEY_LEFT,
	MT_KEY_RIGHT,
	MT_KEY_HOME,
	MT_KEY_END,
	MT_KEY_PAGE_UP,
	MT_KEY_PAGE_DOWN,
	MT_KEY_INSERT,
	MT_KEY_DELETE,
	MT_KEY_BACK_TAB,
	MT_KEY_F1,
	MT_KEY_F12 = MT_KEY_F1 + 11,
	MT_KEY_PASTE_BEGIN,
	MT_KEY_PASTE_END,
	MT_KEY_MOUSE,
	MT_KEY_UNKNOWN,
};
#define MT_KEY_ESCAPE 27u
#define MT_KEY_ENTER 13u
#define MT_KEY_TAB 9u
#define MT_KEY_BACKSPACE 127u

struct mt_input {
	uint32_t code;
	/* mouse: button 0 left, 1 middle, 2 right, 64 wheel up, 65 wheel down */
	int button, row, column;
	unsigned modifiers; /* of keys that are sequences: 1 shift, 2 alt, 4 control */
	/* what was typed where code stands for two keys: ^J is Enter, ^H is Backspace; else 0 */
	uint8_t byte;
	bool pressed, dragged; /* dragged: moved with the button held; neither: let go */
};

/* Decodes one key from bytes. Returns bytes used, 0 when more are needed; final: no more will come
 * (a lone Esc is Esc). The sequences are those of ECMA-48 terminals (xterm, VT220, linux, tmux) in
 * both cursor key modes. */
size_t mt_keys_decode(const uint8_t *bytes, size_t len, bool final, struct mt_input *out);

/* A key as people write it: x ^X F1 PgDn; MT_KEY_UNKNOWN: it is none. And back. */
uint32_t mt_key_parse(const char *name, size_t len);
const char *mt_key_name(uint32_t code, char out[16]);
size_t mt_key_bytes(char out[4], uint32_t code); /* a character as UTF-8; returns how many bytes */
#define MT_KEY_NAMES \
	"Up Down Left Right Home End PgUp PgDn Ins Del Tab S-Tab Enter Esc Backspace Space Hash"

/* What a key means by the keymap (keymap.c). scopes: bit mask of 1 << enum mt_scope that the screen
 * is in. */
enum mt_action mt_keys_action(uint32_t code, uint32_t scopes);

#endif
