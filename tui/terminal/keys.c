#include "tui/terminal/keys.h"

#include <stdio.h>
#include <string.h>

static const struct mt_action_info actions[] = {
#define X(id, scope, keys, bar, name, words) {MT_SCOPE_##scope, keys, bar, name, words},
	MT_ACTIONS(X)
#undef X
};

static const char *const scopes_words[] = {
#define X(id, words) words,
	MT_SCOPES(X)
#undef X
};

static const struct {
	const char *name;
	uint32_t code;
} names[] = {
	{"Up", MT_KEY_UP},
	{"Down", MT_KEY_DOWN},
	{"Left", MT_KEY_LEFT},
	{"Right", MT_KEY_RIGHT},
	{"Home", MT_KEY_HOME},
	{"End", MT_KEY_END},
	{"PgUp", MT_KEY_PAGE_UP},
	{"PgDn", MT_KEY_PAGE_DOWN},
	{"Ins", MT_KEY_INSERT},
	{"Del", MT_KEY_DELETE},
	{"S-Tab", MT_KEY_BACK_TAB},
	{"Tab", MT_KEY_TAB},
	{"Enter", MT_KEY_ENTER},
	{"Esc", MT_KEY_ESCAPE},
	{"Backspace", MT_KEY_BACKSPACE},
	{"Space", ' '},
	{"Hash", '#'},
};

const struct mt_action_info *mt_action_info(enum mt_action action)
{
	return &actions[action];
}

/* As names stand in files. */
static const char *in_small(const char *id, char out[32])
{
	snprintf(out, 32, "%s", id);
	for (char *c = out; *c; c++)
		*c = *c == '_' ? '-' : (char)(*c | 0x20);
	return out;
}

const char *mt_action_id(enum mt_action action, char out[32])
{
	static const char *const ids[] = {
#define X(id, scope, keys, bar, name, words) #id,
		MT_ACTIONS(X)
#undef X
	};

	return in_small(ids[action], out);
}

const char *mt_scope_id(enum mt_scope scope, char out[32])
{
	static const char *const ids[] = {
#define X(id, words) #id,
		MT_SCOPES(X)
#undef X
	};

	return in_small(ids[scope], out);
}

const char *mt_scope_words(enum mt_scope scope)
{
	return scopes_words[scope];
}

size_t mt_key_bytes(char out[4], uint32_t code)
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	out[0] = (char)(first[n] | code >> 6 * (n - 1));
	for (size_t i = 1; i < n; i++)
		out[i] = (char)(0x80 | (code >> 6 * (n - 1 - i) & 0x3f));
	return n;
}

uint32_t mt_key_parse(const char *name, size_t len)
{
	struct mt_input input;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].name) == len && !memcmp(names[i].name, name, len))
			return names[i].code;
	if (len >= 2 && len <= 3 && name[0] == 'F' && name[1] >= '1' && name[1] <= '9') {
		int number = name[1] - '0';

		if (len == 3)
			number = name[2] >= '0' && name[2] <= '9' ? number * 10 + name[2] - '0' : 0;
		return number >= 1 && number <= 12 ? (uint32_t)(MT_KEY_F1 + number - 1)
						   : (uint32_t)MT_KEY_UNKNOWN;
	}
	if (len == 2 && name[0] == '^' && name[1] >= '@' && name[1] <= '_')
		return (uint32_t)name[1] & 0x1f;
	if (!len || (uint8_t)name[0] <= ' '
		|| mt_keys_decode((const uint8_t *)name, len, true, &input) != len)
		return MT_KEY_UNKNOWN;
	return input.code;
}

const char *mt_key_name(uint32_t code, char out[16])
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].code == code)
			return strcpy(out, names[i].name);
	if (code >= MT_KEY_F1 && code <= MT_KEY_F12)
		snprintf(out, 16, "F%u", code - MT_KEY_F1 + 1);
	else if (code < ' ')
		snprintf(out, 16, "^%c", (char)(code | 0x40));
	else
		out[mt_key_bytes(out, code)] = '\0';
	return out;
}

static size_t decode_utf8(const uint8_t *b, size_t len, bool final, struct mt_input *out)
{
	size_t need = b[0] < 0xc2 ? 1 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 1;
	uint32_t code = b[0];

	if (need == 1) {
		out->code = code < 0x80 ? code : MT_KEY_UNKNOWN;
		return 1;
	}
	code &= 0xffu >> (need + 1);
	for (size_t i = 1; i < need; i++) {
		if (i >= len) {
			out->code = MT_KEY_UNKNOWN;
			return final ? len : 0;
		}
		if ((b[i] & 0xc0) != 0x80) {
			out->code = MT_KEY_UNKNOWN;
			return i;
		}
		code = code << 6 | (b[i] & 0x3f);
	}
	out->code = code;
	return need;
}

static uint32_t letter_key(uint8_t final)
{
	switch (final) {
	case 'A': return MT_KEY_UP;
	case 'B': return MT_KEY_DOWN;
	case 'C': return MT_KEY_RIGHT;
	case 'D': return MT_KEY_LEFT;
	case 'H': return MT_KEY_HOME;
	case 'F': return MT_KEY_END;
	case 'Z': return MT_KEY_BACK_TAB;
	case 'P':
	case 'Q':
	case 'R':
	case 'S': return MT_KEY_F1 + (final - 'P');
	case 'M': return MT_KEY_ENTER;
	default: return MT_KEY_UNKNOWN;
	}
}

static uint32_t tilde_key(int number)
{
	static const uint8_t gaps[] = {16, 22, 27, 30, 33}; /* numbers that no function key has */
	static const uint32_t low[] = {MT_KEY_UNKNOWN, MT_KEY_HOME, MT_KEY_INSERT, MT_KEY_DELETE,
		MT_KEY_END, MT_KEY_PAGE_UP, MT_KEY_PAGE_DOWN, MT_KEY_HOME, MT_KEY_END};

	if (number >= 0 && number < (int)(sizeof low / sizeof *low))
		return low[number];
	int key = number - 11;

	for (size_t i = 0; i < sizeof gaps; i++)
		key -= number > gaps[i];
	if (number == 200 || number == 201)
		return number == 200 ? MT_KEY_PASTE_BEGIN : MT_KEY_PASTE_END;
	return number >= 11 && key < 12 ? (uint32_t)(MT_KEY_F1 + key) : (uint32_t)MT_KEY_UNKNOWN;
}

static void decode_mouse(const char *parameters, uint8_t final, struct mt_input *out)
{
	int button, column, row;

	out->code = MT_KEY_UNKNOWN;
	if (sscanf(parameters, "<%d;%d;%d", &button, &column, &row) != 3)
		return;
	out->code = MT_KEY_MOUSE;
	out->button = button & ~0x3c; /* without modifiers and motion */
	out->column = column - 1;
	out->row = row - 1;
	out->pressed = final == 'M' && !(button & 32);
	out->dragged = final == 'M' && button & 32;
}

/* ESC [ parameters final */
static size_t decode_csi(const uint8_t *b, size_t len, bool final, struct mt_input *out)
{
	char parameters[32];
	size_t at = 2, count = 0;
	int number = 0;

	out->code = MT_KEY_UNKNOWN;
	if (at < len && b[at] == '[') { /* the Linux console's F1 to F5 */
		if (len < 4)
			return final ? len : 0;
		if (b[3] >= 'A' && b[3] <= 'E')
			out->code = MT_KEY_F1 + (b[3] - 'A');
		return 4;
	}
	for (; at < len && b[at] >= 0x20 && b[at] < 0x40; at++)
		if (count < sizeof parameters - 1)
			parameters[count++] = (char)b[at];
	parameters[count] = '\0';
	if (at >= len)
		return final ? len : 0;
	if (parameters[0] == '<')
		decode_mouse(parameters, b[at], out);
	else if (b[at] == '~' && sscanf(parameters, "%d", &number) == 1)
		out->code = tilde_key(number);
	else if (b[at] != '~')
		out->code = letter_key(b[at]);
	if (parameters[0] != '<' && sscanf(parameters, "%*d;%d", &number) == 1 && number > 1
		&& number <= 8)
		out->modifiers = (unsigned)number - 1;
	return at + 1;
}

size_t mt_keys_decode(const uint8_t *b, size_t len, bool final, struct mt_input *out)
{
	*out = (struct mt_input){0};
	if (!len)
		return 0;
	if (b[0] == 0x1b) {
		if (len == 1) {
			out->code = MT_KEY_ESCAPE;
			return final ? 1 : 0;
		}
		if (b[1] == '[')
			return decode_csi(b, len, final, out);
		if (b[1] == 'O') {
			if (len < 3)
				return final ? len : 0;
			out->code = letter_key(b[2]);
			return 3;
		}
		out->code = MT_KEY_ESCAPE; /* Esc typed quickly before another key */
		return 1;
	}
	size_t used = decode_utf8(b, len, final, out);

	if (out->code == '\n' || out->code == '\b')
		out->byte = (uint8_t)out->code;
	if (out->code == '\n')
		out->code = MT_KEY_ENTER;
	else if (out->code == '\b')
		out->code = MT_KEY_BACKSPACE;
	return used;
}
