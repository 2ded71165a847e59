#include "core/export/command_line.h"

#include "core/base/buffer.h"
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

/* No cut within a character. */
static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* An argument in at most about `room` bytes. Caller frees. */
static char *cut_argument(const struct mt_profile *p, uint32_t at, size_t room)
{
	char *text = mt_text_line(mt_strings_get(&p->strings, p->arguments[at]));
	size_t len = strlen(text), head = room * 2 / 3, tail = len - room / 3;

	if (len <= room)
		return text;
	while (head && !begins_character(text[head]))
		head--;
	while (tail < len && !begins_character(text[tail]))
		tail++;
	char *cut = mt_format("%.*s...%s", (int)head, text, text + tail);

	free(text);
	return cut;
}

static size_t argument_len(const struct mt_profile *p, uint32_t at, size_t room)
{
	char *text = cut_argument(p, at, room);
	size_t len = strlen(text) + 1;

	free(text);
	return len;
}

/* The first arguments have two thirds of the room, the last ones a third. */
static void choose(const struct mt_profile *p, size_t room, uint32_t *head, uint32_t *tail)
{
	size_t used = 0, len;

	for (*head = 0; *head < p->argument_count; ++*head, used += len) {
		len = argument_len(p, *head, room / 3);
		if (*head && used + len > room * 2 / 3)
			break;
	}
	used = 0;
	for (*tail = p->argument_count; *tail > *head; --*tail, used += len) {
		len = argument_len(p, *tail - 1, room / 3);
		if (used + len > room / 3)
			break;
	}
}

char *mt_command_line(const struct mt_profile *p, size_t room)
{
	struct mt_buffer text = {0};
	char *whole = mt_profile_command(p);
	uint32_t head, tail;

	if (strlen(whole) <= room)
		return whole;
	free(whole);
	choose(p, room, &head, &tail);
	for (uint32_t i = 0; i < p->argument_count; i++) {
		if (i == head && tail > head) {
			mt_buffer_printf(&text, " ... (%u more argument%s) ...", tail - head,
				tail - head == 1 ? "" : "s");
			i = tail;
		}
		char *argument = i < p->argument_count ? cut_argument(p, i, room / 3) : NULL;

		if (argument)
			mt_buffer_printf(&text, "%s%s", i ? " " : "", argument);
		free(argument);
	}
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}
