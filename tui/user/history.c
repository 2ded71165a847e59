#include "tui/user/history.h"
#include "tui/user/user_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 200
#define BYTES_MAX 60000 /* a file of the user's is read up to 64 KiB */

struct mt_history {
	char **lines; /* "PROMPT TEXT", the newest one last */
	uint32_t count, capacity;
};

static void add_line(struct mt_history *h, const char *line)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < h->count; i++) /* a text that comes again is the newest one */
		if (!strcmp(h->lines[i], line))
			free(h->lines[i]);
		else
			h->lines[kept++] = h->lines[i];
	h->count = kept;
	MT_GROW(h->lines, h->count, h->capacity);
	h->lines[h->count++] = mt_strdup(line);
}

/* Adds the lines of the file, which another memtui may have written meanwhile. */
static void read_file(struct mt_history *h, const char *path)
{
	struct mt_err ignored = {0};
	char *text = NULL, *next;

	if (!path || mt_user_read(path, &text, &ignored) < 0)
		return;
	next = text;
	for (char *line; (line = strsep(&next, "\n"));)
		if (strchr(line, ' '))
			add_line(h, line);
	free(text);
}

static void write_file(const struct mt_history *h, const char *path)
{
	struct mt_buffer text = {0};
	struct mt_err ignored = {0};
	size_t bytes = 0;
	uint32_t from = h->count;

	while (from > 0 && h->count - from < LINES_MAX
		&& bytes + strlen(h->lines[from - 1]) + 1 < BYTES_MAX)
		bytes += strlen(h->lines[--from]) + 1;
	for (; from < h->count; from++)
		mt_buffer_printf(&text, "%s\n", h->lines[from]);
	mt_buffer_add(&text, "", 1);
	mt_user_write(path, (char *)text.data, &ignored);
	mt_buffer_free(&text);
}

static struct mt_history *history_of(struct mt_history **history)
{
	if (!*history) {
		char *path = mt_user_state("history");

		*history = mt_alloc(sizeof **history);
		read_file(*history, path);
		free(path);
	}
	return *history;
}

const char *mt_history_get(struct mt_history **history, const char *prompt, uint32_t back)
{
	struct mt_history *h = history_of(history);
	size_t len = strlen(prompt);

	for (uint32_t i = h->count; i-- > 0;)
		if (!strncmp(h->lines[i], prompt, len) && h->lines[i][len] == ' ' && --back == 0)
			return h->lines[i] + len + 1;
	return NULL;
}

void mt_history_add(struct mt_history **history, const char *prompt, const char *text)
{
	struct mt_history *h = history_of(history);
	char *path = mt_user_state("history"), *line;

	if (!*text || strchr(text, '\n'))
		goto end;
	read_file(h, path);
	line = mt_format("%s %s", prompt, text);
	add_line(h, line);
	free(line);
	if (path)
		write_file(h, path);
end:
	free(path);
}

void mt_history_free(struct mt_history *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->count; i++)
		free(h->lines[i]);
	free(h->lines);
	free(h);
}
