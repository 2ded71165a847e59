#ifdef HAVE_LIBVTERM

#include "tui/view/program_repeats.h"

#include <stdlib.h>
#include <string.h>

#define MOST 1000 /* no line is longer */

static bool is_final(char c)
{
	return c >= 0x40 && c <= 0x7e;
}

/* The last character of what was written, unless it is a control or a part of one. */
static void note_last(struct mt_repeats *r, const char *bytes, size_t len)
{
	size_t count = 1;

	while (count < len && count < sizeof r->last && (bytes[len - count] & 0xc0) == 0x80)
		count++;
	const char *last = bytes + len - count;

	r->last_len =
		(unsigned char)*last < 0x20 || *last == 0x7f || (*last & 0xc0) == 0x80 ? 0 : count;
	memcpy(r->last, last, r->last_len);
}

/* Bytes without an escape. */
static void write_plain(struct mt_repeats *r, VTerm *terminal, const char *bytes, size_t len)
{
	size_t rest = 0;

	while (r->sequence && rest < len)
		r->sequence = !is_final(bytes[rest++]);
	vterm_input_write(terminal, bytes, len);
	if (rest < len)
		note_last(r, bytes + rest, len - rest);
}

/* The next byte of an escape. */
static void write_escape(struct mt_repeats *r, VTerm *terminal, char c)
{
	if (r->held_len == 1 ? c == '['
			     : c >= '0' && c <= '9' && r->held_len + 2 < sizeof r->held) {
		r->held[r->held_len++] = c;
		return;
	}
	r->held[r->held_len] = '\0';
	if (c == 'b' && r->held_len > 1 && r->last_len) {
		int count = r->held_len > 2 ? atoi(r->held + 2) : 1;

		for (int i = 0; i < (count ? count : 1) && i < MOST; i++)
			vterm_input_write(terminal, r->last, r->last_len);
		r->held_len = 0;
		return;
	}
	if (c != '\033')
		r->held[r->held_len++] = c;
	vterm_input_write(terminal, r->held, r->held_len);
	r->sequence = r->held_len > 2 && !is_final(c);
	r->last_len = 0;
	r->held_len = c == '\033'; /* which the first byte still is */
}

void mt_repeats_write(struct mt_repeats *r, VTerm *terminal, const char *bytes, size_t len)
{
	while (len) {
		if (r->held_len) {
			write_escape(r, terminal, *bytes++);
			len--;
			continue;
		}
		const char *escape = memchr(bytes, '\033', len);
		size_t plain = escape ? (size_t)(escape - bytes) : len;

		if (plain)
			write_plain(r, terminal, bytes, plain);
		if (escape) {
			r->held[r->held_len++] = '\033';
			plain++;
		}
		bytes += plain;
		len -= plain;
	}
}

#endif
