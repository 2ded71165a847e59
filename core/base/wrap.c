#include "core/base/wrap.h"

#include "core/base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define COLUMN_MOST 24 /* a first column that is wider is none */

uint32_t mt_wrap_columns(int fd)
{
	struct winsize size;
	int before = errno; /* of a write whose failure is yet to be said */
	bool is_terminal = ioctl(fd, TIOCGWINSZ, &size) == 0;

	errno = before;
	return is_terminal ? size.ws_col : 0;
}

/* How much of the text is written: all that fits, up to the last blank; at least a word. */
static size_t part(const char *text, uint32_t room)
{
	const char *at = text + strspn(text, " ");
	size_t best = 0;

	for (uint32_t columns = (uint32_t)(at - text);; columns++) {
		const char *here = at;
		uint32_t code = mt_text_next(&at);

		if ((!code || code == ' ') && (columns <= room || !best))
			best = (size_t)(here - text);
		if (!code || (columns > room && best))
			return best;
	}
}

void mt_wrap_line(FILE *out, const char *line, uint32_t columns, uint32_t indent)
{
	if (indent > columns / 2)
		indent = columns / 2;
	for (uint32_t room = columns; columns && mt_text_columns(line) > room;
		room = columns - indent) {
		size_t len = part(line, room), next = len + strspn(line + len, " ");

		if (!line[next])
			break;
		while (len && line[len - 1] == ' ')
			len--;
		fprintf(out, "%.*s\n%*s", (int)len, line, (int)indent, "");
		line += next;
	}
	fprintf(out, "%s\n", line);
}

static uint32_t indent_of(const char *line)
{
	size_t before = strspn(line, " ");
	const char *gap = strstr(line + before, "  ");
	size_t column = gap ? (size_t)(gap - line) + strspn(gap, " ") : 0;

	return (uint32_t)(column && column <= COLUMN_MOST ? column : before + 2);
}

struct stream {
	FILE *out;
	uint32_t columns;
	struct mt_buffer line; /* what has no newline yet */
};

static ssize_t take(void *cookie, const char *bytes, size_t len)
{
	struct stream *s = cookie;
	const char *end = bytes + len, *newline;

	for (; (newline = memchr(bytes, '\n', (size_t)(end - bytes))); bytes = newline + 1) {
		mt_buffer_add(&s->line, bytes, (size_t)(newline - bytes));
		mt_buffer_add(&s->line, "", 1);
		mt_wrap_line(s->out, (char *)s->line.data, s->columns,
			indent_of((char *)s->line.data));
		s->line.len = 0;
	}
	mt_buffer_add(&s->line, bytes, (size_t)(end - bytes));
	return ferror(s->out) ? 0 : (ssize_t)len;
}

static int finish(void *cookie)
{
	struct stream *s = cookie;
	bool failed = fwrite(s->line.data, 1, s->line.len, s->out) < s->line.len;

	mt_buffer_free(&s->line);
	free(s);
	return failed ? -1 : 0;
}

FILE *mt_wrap_open(FILE *out, uint32_t columns)
{
	struct stream *s = mt_alloc(sizeof *s);

	*s = (struct stream){.out = out, .columns = columns};
	FILE *stream = fopencookie(s, "w", (cookie_io_functions_t){.write = take, .close = finish});

	if (stream)
		setvbuf(stream, NULL, _IOLBF, 0);
	else
		free(s);
	return stream;
}
