/* The lines of a sidecar file:
 *   fingerprint state time bytes where note
 * separated by tabs; in where and note \t, \n and \\ stand for themselves. */
#include "core/triage/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char heading[] =
	"# memtui triage 1: judgements of the leaks of a program, one per line:\n"
	"# fingerprint, state (new, investigating, leak, fixed, "
	"suppressed), time, leaked bytes, function, note\n";

void mt_triage_lines_free(struct mt_triage_lines *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		mt_judgement_free(&l->items[i].judgement);
		free(l->items[i].text);
	}
	free(l->items);
	*l = (struct mt_triage_lines){0};
}

static struct mt_triage_line *add(struct mt_triage_lines *l)
{
	MT_GROW(l->items, l->count, l->capacity);
	l->items[l->count] = (struct mt_triage_line){0};
	return &l->items[l->count++];
}

static void add_text(struct mt_triage_lines *l, const char *text, size_t len)
{
	struct mt_triage_line *line = add(l);

	line->text = mt_alloc(len + 1);
	memcpy(line->text, text, len);
	line->len = len;
}

void mt_triage_lines_merge(struct mt_triage_lines *l, const struct mt_judgement *items,
	uint32_t count)
{
	struct mt_judgement *known = (struct mt_judgement *)items;
	bool *done = mt_alloc(count + 1);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct mt_triage_line *line = &l->items[i];
		struct mt_judgement *j = line->text
			? NULL
			: mt_judgement_find(known, count, line->judgement.fingerprint);

		if (j) {
			mt_judgement_free(&line->judgement);
			if (done[j - known] || mt_judgement_is_nothing(j))
				continue;
			mt_judgement_copy(&line->judgement, j);
			done[j - known] = true;
		}
		l->items[kept++] = *line;
	}
	l->count = kept;
	for (uint32_t i = 0; i < count; i++)
		if (!done[i] && !mt_judgement_is_nothing(&items[i]))
			mt_judgement_copy(&add(l)->judgement, &items[i]);
	free(done);
}

/* ---- reading ---- */

/* A number of these digits and nothing else; false: it is none. */
static bool number(const char *text, int base, uint64_t *value)
{
	char *end;

	if (!isxdigit((uint8_t)*text) || strlen(text) > 20)
		return false;
	*value = strtoull(text, &end, base);
	return !*end;
}

static bool unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (*text != '\\') {
			*out++ = *text;
			continue;
		}
		text++;
		if (*text != 't' && *text != 'n' && *text != '\\')
			return false;
		*out++ = *text == 't' ? '\t' : *text == 'n' ? '\n' : '\\';
	}
	*out = '\0';
	return true;
}

/* text is written to. */
static bool parse(struct mt_judgement *j, char *text)
{
	char *field[6], *rest = text;
	int state = 0;

	for (int i = 0; i < 6; i++)
		if (!(field[i] = strsep(&rest, "\t")))
			return false;
	if (rest || strlen(field[0]) != 16 || !number(field[0], 16, &j->fingerprint)
		|| !number(field[2], 10, &j->time) || !number(field[3], 10, &j->leaked_bytes)
		|| !unescape(field[4]) || !unescape(field[5]))
		return false;
	while (state < MT_TRIAGE_STATE_COUNT
		&& strcmp(field[1], mt_triage_state_name((enum mt_triage_state)state)))
		state++;
	if (state == MT_TRIAGE_STATE_COUNT)
		return false;
	j->state = (enum mt_triage_state)state;
	j->where = field[4];
	j->note = field[5];
	return true;
}

void mt_triage_lines_parse(struct mt_triage_lines *l, const char *text, size_t len)
{
	for (uint32_t number_of_line = 1; len; number_of_line++) {
		const char *end = memchr(text, '\n', len);
		size_t size = end ? (size_t)(end - text) : len;
		char *copy = mt_alloc(size + 1);
		struct mt_judgement j;

		memcpy(copy, text, size);
		if (!memchr(text, '\0', size) && parse(&j, copy)) {
			mt_judgement_copy(&add(l)->judgement, &j);
		} else {
			add_text(l, text, size);
			if (size && *text != '#' && !l->damaged++)
				l->first_damaged = number_of_line;
		}
		free(copy);
		text += size + (end != NULL);
		len -= size + (end != NULL);
	}
}

/* ---- writing ---- */

static void put_escaped(struct mt_buffer *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\t' || *text == '\n' || *text == '\\')
			mt_buffer_printf(out, "\\%c",
				*text == '\t'           ? 't'
					: *text == '\n' ? 'n'
							: '\\');
		else
			mt_buffer_add(out, text, 1);
	}
}

void mt_triage_lines_write(const struct mt_triage_lines *l, struct mt_buffer *out)
{
	if (!l->count || !l->items[0].text)
		mt_buffer_add(out, heading, sizeof heading - 1);
	for (uint32_t i = 0; i < l->count; i++) {
		const struct mt_triage_line *line = &l->items[i];
		const struct mt_judgement *j = &line->judgement;

		if (line->text) {
			mt_buffer_add(out, line->text, line->len);
		} else {
			mt_buffer_printf(out, "%016llx\t%s\t%llu\t%llu\t",
				(unsigned long long)j->fingerprint, mt_triage_state_name(j->state),
				(unsigned long long)j->time, (unsigned long long)j->leaked_bytes);
			put_escaped(out, j->where);
			mt_buffer_add(out, "\t", 1);
			put_escaped(out, j->note);
		}
		mt_buffer_add(out, "\n", 1);
	}
}
