#include "tui/terminal/squeeze.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLOUR_LEN 20 /* 38;2;255;255;255 */
#define STYLE_LEN (2 * COLOUR_LEN + 32)

struct style {
	unsigned attributes; /* a bit for each of 1 to 9 */
	/* parameters of foreground and background; "": the terminal's own */
	char colour[2][COLOUR_LEN];
};

/* The parameters of one colour, at *at: 38;5;N and the like as a whole. False: none that is
 * known. */
static bool take_colour(struct style *s, long first, const char **at, const char *end)
{
	bool background = (first >= 40 && first < 50) || first >= 100;
	char *out = s->colour[background];
	int more = 0;

	if (first == 39 || first == 49) {
		*out = '\0';
		return true;
	}
	int len = snprintf(out, COLOUR_LEN, "%ld", first);

	if (first == 38 || first == 48)
		more = !strncmp(*at, "5;", 2) ? 2 : !strncmp(*at, "2;", 2) ? 4 : -1;
	for (; more > 0; more--) {
		size_t digits = strcspn(*at, ";m");

		if (*at + digits > end || !digits || len + (int)digits + 2 > COLOUR_LEN)
			return false;
		len += snprintf(out + len, COLOUR_LEN - (size_t)len, ";%.*s", (int)digits, *at);
		*at += digits + (more > 1 || (*at)[digits] == ';');
	}
	return more == 0 && ((first >= 30 && first < 50) || (first >= 90 && first < 108));
}

/* The parameters between CSI and m, which stands at end. False: there is something in them that is
 * not known. */
static bool take_style(struct style *s, const char *at, const char *end)
{
	do {
		char *behind;
		long value = strtol(at, &behind, 10);

		if (behind > end || value < 0)
			return false;
		at = behind + (*behind == ';');
		if (value == 0)
			*s = (struct style){0};
		else if (value < 10)
			s->attributes |= 1u << value;
		else if (value == 22)
			s->attributes &= ~(1u << 1 | 1u << 2);
		else if (value > 22 && value < 30)
			s->attributes &= ~(1u << (value - 20));
		else if (!take_colour(s, value, &at, end))
			return false;
	} while (at < end);
	return at == end;
}

static bool is_same(const struct style *a, const struct style *b)
{
	return a->attributes == b->attributes && !strcmp(a->colour[0], b->colour[0])
		&& !strcmp(a->colour[1], b->colour[1]);
}

/* What makes one style of another; what is switched off is so by switching everything off. */
static size_t change(char *out, const struct style *from, const struct style *to)
{
	struct style plain = {0};
	char *at = out;

	if (is_same(from, to))
		return 0;
	at += sprintf(at, "\033[");
	if (is_same(to, &plain))
		return (size_t)(at - out) + (size_t)sprintf(at, "m");
	if (from->attributes & ~to->attributes) {
		from = &plain;
		at += sprintf(at, "0;");
	}
	for (unsigned i = 1; i < 10; i++)
		if (to->attributes & ~from->attributes & 1u << i)
			at += sprintf(at, "%u;", i);
	for (int i = 0; i < 2; i++)
		if (strcmp(from->colour[i], to->colour[i]))
			at += sprintf(at, "%s;", *to->colour[i] ? to->colour[i] : i ? "49" : "39");
	at[-1] = 'm';
	return (size_t)(at - out);
}

/* Of a sequence at bytes[0] == ESC: its length. */
static size_t sequence(const char *bytes, size_t len)
{
	size_t n = 2;

	if (len < 2 || bytes[1] != '[')
		return len < 3 || bytes[1] != '(' ? len < 2 ? len : 2 : 3;
	while (n < len && (bytes[n] < 0x40 || bytes[n] > 0x7e))
		n++;
	return n < len ? n + 1 : len;
}

/* It moves the cursor, and no more: any style may hold meanwhile. */
static bool only_moves(const char *bytes, size_t len)
{
	return len == 1 ? *bytes == '\r' || *bytes == '\b'
			: len > 2 && bytes[0] == '\033' && bytes[1] == '[' && bytes[2] != '?'
			&& strchr("HdGABCD", bytes[len - 1]);
}

void mt_squeeze(struct mt_buffer *out, const char *bytes, size_t len)
{
	struct style sent = {0}, wanted = {0};
	char style[STYLE_LEN];
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		const char *at = bytes + i;
		struct style next = wanted;

		n = *at == '\033' ? sequence(at, len - i) : 1;
		if (n >= 3 && at[1] == '[' && at[n - 1] == 'm'
			&& take_style(&next, at + 2, at + n - 1)) {
			wanted = next;
			continue;
		}
		/* the character set that holds anyway: nobody here leaves it */
		if (n == 3 && !memcmp(at, "\033(B", 3))
			continue;
		if (!only_moves(at, n)) {
			mt_buffer_add(out, style, change(style, &sent, &wanted));
			sent = wanted;
		}
		mt_buffer_add(out, at, n);
	}
	mt_buffer_add(out, style, change(style, &sent, &wanted));
}
