/* The filter prompt's language: words separated by blanks, each field:value, !field:value, a bare regex
 * on functions, or -regex, !regex for functions that must not occur. A value in ' or " may hold blanks;
 * the quote itself is written twice in it. */
#include "core/query/filter_match.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct word {
	size_t at; /* character in the text, from 1 */
	int field;
	char *value;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static const struct {
	const char *name;
	enum mt_filter_field field, negative;
} short_names[] = {
	{"function", MT_FILTER_FUNCTION_REGEX, MT_FILTER_NEGATIVE_FUNCTION_REGEX},
	{"source", MT_FILTER_SOURCE_REGEX, MT_FILTER_NEGATIVE_SOURCE_REGEX},
	{"module", MT_FILTER_MODULE_REGEX, MT_FILTER_NEGATIVE_MODULE_REGEX},
};
#define SHORT_NAMES (sizeof short_names / sizeof *short_names)

/* Field by its short or full name, negated when asked for; -1 unknown, -2 negated twice. */
static int find_field(const char *name, bool negative)
{
	int field = mt_filter_find(name);

	for (size_t i = 0; i < SHORT_NAMES; i++) {
		if (!strcmp(name, short_names[i].name) || field == (int)short_names[i].field)
			return (int)(negative ? short_names[i].negative : short_names[i].field);
		if (field == (int)short_names[i].negative)
			return negative ? -2 : field;
	}
	return -1;
}

/* As it is written here. */
static const char *prompt_name(enum mt_filter_field field)
{
	static const char *const negated[] = {"!function", "!source", "!module"};

	for (size_t i = 0; i < SHORT_NAMES; i++) {
		if (field == short_names[i].field)
			return short_names[i].name;
		if (field == short_names[i].negative)
			return negated[i];
	}
	return mt_filter_info(field)->name;
}

/* Length of "name" in "name:value"; 0 when the word is a bare regex, as std::vector is. */
static size_t field_name_len(const char *text)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) || text[len] == '_' || (len && text[len] == '-'))
		len++;
	return text[len] == ':' && text[len + 1] != ':' ? len : 0;
}

/* Reads a value at *cursor, quoted or up to the next blank. NULL: the quote is never closed. */
static char *read_value(const char **cursor)
{
	const char *c = *cursor;
	struct mt_buffer value = {0};
	char quote = *c == '"' || *c == '\'' ? *c++ : 0;

	while (*c && (quote || !blank(*c))) {
		if (quote && *c == quote && *++c != quote) {
			quote = 0;
			break;
		}
		mt_buffer_add(&value, c++, 1);
	}
	mt_buffer_add(&value, "", 1);
	*cursor = c;
	if (!quote)
		return (char *)value.data;
	mt_buffer_free(&value);
	return NULL;
}

static int read_field(struct word *word, const char **cursor, bool negative, struct mt_err *err)
{
	size_t len = field_name_len(*cursor);

	if (!len) {
		word->field = negative ? MT_FILTER_NEGATIVE_FUNCTION_REGEX : MT_FILTER_FUNCTION_REGEX;
		return 0;
	}
	char *name = mt_format("%.*s", (int)len, *cursor);
	int status = 0;

	word->field = find_field(name, negative);
	if (word->field == -2)
		status = mt_fail(err, -EINVAL, "'%.60s' is negated twice at character %zu; expected "
			"!function:, !source: or !module:", name, word->at);
	else if (word->field < 0)
		status = mt_fail(err, -EINVAL, "no field '%.60s' at character %zu; expected function:, "
			"source: or module: (or quotes around a regex with a colon)", name, word->at);
	free(name);
	*cursor += len + 1;
	return status;
}

static int read_word(struct word *word, const char *text, const char **cursor, struct mt_err *err)
{
	bool negative = **cursor == '!' || (**cursor == '-' && (*cursor)[1] && !blank((*cursor)[1]));

	word->at = 1;
	for (const char *c = text; c < *cursor; c++)
		word->at += ((unsigned char)*c & 0xc0) != 0x80;
	*cursor += negative;
	int status = read_field(word, cursor, negative, err);

	if (status < 0)
		return status;
	word->value = read_value(cursor);
	if (!word->value)
		return mt_fail(err, -EINVAL, "the quote at character %zu is not closed; expected the same "
			"quote at the end of the value", word->at);
	if (!*word->value)
		return mt_fail(err, -EINVAL, "nothing to match at character %zu; expected a regular "
			"expression", word->at);
	if (**cursor && !blank(**cursor))
		return mt_fail(err, -EINVAL, "text after the closing quote of the word at character %zu; "
			"expected a blank", word->at);
	return 0;
}

static int set_word(struct mt_filter *filter, const struct word *word, struct mt_err *err)
{
	enum mt_filter_field field = (enum mt_filter_field)word->field;

	if (mt_filter_get(filter, field))
		return mt_fail(err, -EINVAL, "%s is given again at character %zu; expected it once (join "
			"patterns with |)", prompt_name(field), word->at);
	return mt_filter_set_as(filter, field, prompt_name(field), word->value, err);
}

static int parse_into(struct mt_filter *filter, const char *text, struct mt_err *err)
{
	const char *cursor = text;
	int status = 0;

	while (status >= 0) {
		struct word word = {0};

		while (blank(*cursor))
			cursor++;
		if (!*cursor)
			return 0;
		status = read_word(&word, text, &cursor, err);
		if (status >= 0)
			status = set_word(filter, &word, err);
		free(word.value);
	}
	return status;
}

int mt_filter_parse(struct mt_filter *filter, const char *text, struct mt_err *err)
{
	struct mt_filter *parsed = mt_filter_new();
	int status = parse_into(parsed, text ? text : "", err);

	/* What compiled once compiles again; fields that stay the same keep what they know of strings. */
	for (int i = 0; i < MT_FILTER_COUNT && status >= 0; i++)
		status = mt_filter_set_as(filter, (enum mt_filter_field)i, prompt_name((enum mt_filter_field)i),
			mt_filter_get(parsed, (enum mt_filter_field)i), err);
	mt_filter_free(parsed);
	return status;
}

/* ---- text ---- */

static bool needs_quotes(const char *value)
{
	if (*value == '"' || *value == '\'')
		return true;
	for (; *value; value++)
		if (blank(*value))
			return true;
	return false;
}

static void add_value(struct mt_buffer *out, const char *value)
{
	if (!needs_quotes(value)) {
		mt_buffer_printf(out, "%s", value);
		return;
	}
	char quote = strchr(value, '"') ? '\'' : '"';

	mt_buffer_add(out, &quote, 1);
	for (; *value; value++) {
		if (*value == quote)
			mt_buffer_add(out, &quote, 1);
		mt_buffer_add(out, value, 1);
	}
	mt_buffer_add(out, &quote, 1);
}

char *mt_filter_text(const struct mt_filter *filter)
{
	struct mt_buffer out = {0};

	for (size_t i = 0; i < 2 * SHORT_NAMES; i++) {
		bool negative = i >= SHORT_NAMES;
		size_t name = i % SHORT_NAMES;
		const char *value = mt_filter_get(filter,
			negative ? short_names[name].negative : short_names[name].field);

		if (!value)
			continue;
		bool bare = !name && (negative || (*value != '-' && *value != '!')) && !field_name_len(value);

		mt_buffer_printf(&out, "%s%s", out.len ? " " : "", negative ? (name ? "!" : "-") : "");
		if (!bare)
			mt_buffer_printf(&out, "%s:", short_names[name].name);
		add_value(&out, value);
	}
	mt_buffer_add(&out, "", 1);
	return (char *)out.data;
}
