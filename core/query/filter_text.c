/* The filter prompt's language: words separated by blanks, each field:value, !field:value, a bare
 * regex on functions, or -regex, !regex for functions that must not occur; size>=1k, size<4k,
 * size:1k..4k where there is a smallest and a largest. A value in ' or " may hold blanks; the quote
 * itself is written twice in it. */
#include "core/query/filter_names.h"

#include "core/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
	size_t at;        /* character in the text, from 1 */
	int field, upper; /* upper: of a range, -1: none */
	char *value, *upper_value;
	const struct mt_profile *columns_of;
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

/* ---- names ---- */

/* A regex field by its short or full name, negated when asked for; -1 another, -2 negated twice. */
static int find_regex(const char *name, bool negative)
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

int mt_filter_find_range(const char *name)
{
	char lower[80];

	snprintf(lower, sizeof lower, "%.60s_min", name);
	return strcmp(name, "time") ? mt_filter_find(lower) : MT_FILTER_FROM;
}

bool mt_filter_range_name(char out[64], enum mt_filter_field field)
{
	const char *name = mt_filter_info(field)->name;
	size_t len = strlen(name);

	if (field == MT_FILTER_FROM || field == MT_FILTER_TO) {
		strcpy(out, "time");
		return true;
	}
	if (len < 5 || (strcmp(name + len - 4, "_min") != 0 && strcmp(name + len - 4, "_max") != 0))
		return false;
	memcpy(out, name, len - 4);
	out[len - 4] = 0;
	return true;
}

const char *mt_filter_prompt_name(enum mt_filter_field field)
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

size_t mt_filter_name_len(const char *text)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) || text[len] == '_' || (len && text[len] == '-'))
		len++;
	return len;
}

bool mt_filter_names(const char *name)
{
	return find_regex(name, false) != -1 || mt_filter_find(name) >= 0
		|| mt_filter_find_range(name) >= 0;
}

/* A bare regex: as std::vector, f<int> or function<void> is. */
size_t mt_filter_operator_len(const char *text, size_t name_len)
{
	const char *c = text + name_len;
	char name[64];

	if (!name_len || (*c == ':' && c[1] == ':'))
		return 0;
	if (*c == ':')
		return 1;
	if ((*c != '<' && *c != '>' && *c != '=') || name_len >= sizeof name)
		return 0;
	memcpy(name, text, name_len);
	name[name_len] = 0;
	if ((*c != '=' && find_regex(name, false) != -1) || !mt_filter_names(name))
		return 0;
	return *c != '=' && c[1] == '=' ? 2 : 1;
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

/* ---- words ---- */

/* Names that the language knows, for those that it does not. */
static const char *name_at(const void *columns_of, int i)
{
	static char ranges[MT_FILTER_COUNT][64];

	if (i < (int)SHORT_NAMES)
		return short_names[i].name;
	i -= (int)SHORT_NAMES;
	if (i < MT_FILTER_COUNT && mt_filter_range_name(ranges[i], (enum mt_filter_field)i))
		return ranges[i];
	i -= i < MT_FILTER_COUNT ? 0 : MT_FILTER_COUNT;
	return i < MT_FILTER_COUNT ? mt_filter_info((enum mt_filter_field)i)->name
				   : mt_metric_name_at(columns_of, i - MT_FILTER_COUNT);
}

static int fail_name(struct mt_err *err, const char *name, const struct word *word)
{
	const char *nearest = mt_nearest(name, name_at, word->columns_of);

	if (!nearest)
		return mt_fail(err, -EINVAL,
			"unknown field '%.60s' at character %zu; try function:, size:, from: or "
			"thread: (a pattern with a colon needs quotes)",
			name, word->at);
	return mt_fail(err, -EINVAL,
		"unknown field '%.60s' at character %zu; did you mean %s: (a pattern with a colon "
		"needs quotes)?",
		name, word->at, nearest);
}

/* value: what stands behind the operator; taken over. */
static int set_range(struct word *word, int lower, const char *sign, char *value)
{
	char *dots = *sign == ':' ? strstr(value, "..") : NULL;

	word->field = lower;
	word->value = value;
	if (*sign == '<')
		word->field = (int)mt_filter_upper((enum mt_filter_field)lower);
	if (*sign == '<' || *sign == '>') {
		if (sign[1] != '=') {
			word->value = mt_format("%c%s", *sign, value);
			free(value);
		}
		return 0;
	}
	word->upper = (int)mt_filter_upper((enum mt_filter_field)lower);
	word->upper_value = mt_strdup(dots ? dots + 2 : value);
	if (dots)
		*dots = 0;
	return 0;
}

/* size=>1k, size:>1k: the sign is known that was meant. */
static int fail_sign(struct mt_err *err, const struct word *word, const char *name, char sign,
	const char *value)
{
	bool equal = sign == '=' || value[1] == '=';

	return mt_fail(err, -EINVAL, "%s%c%.60s at character %zu: write %s%c%s%.60s", name, sign,
		value, word->at, name, *value, equal ? "=" : "", value + 1 + (value[1] == '='));
}

/* A word of the form name, operator, value, where the field is no regex. */
static int set_named(struct word *word, const char *name, const char *sign, char *value,
	struct mt_err *err)
{
	int field = mt_filter_find(name), range = mt_filter_find_range(name);
	bool number = isdigit((unsigned char)*value) || *value == '.';
	int status = 0;

	if (range >= 0 && (*sign == ':' || *sign == '=') && (*value == '<' || *value == '>')) {
		word->value = value;
		return fail_sign(err, word, name, *sign, value);
	}
	if (range >= 0 && (field < 0 || *sign == '<' || *sign == '>' || number))
		return set_range(word, range, sign, value);
	if (field < 0)
		status = fail_name(err, name, word);
	else if (*sign == '<' || *sign == '>')
		status = mt_fail(err, -EINVAL,
			"%s at character %zu: cannot be compared; write %s:VALUE", name, word->at,
			name);
	word->field = field;
	word->value = value;
	return status;
}

static int check_value(const struct word *word, const char *value, const char *rest,
	const char *expected, struct mt_err *err)
{
	if (!value)
		return mt_fail(err, -EINVAL,
			"the quote at character %zu is not closed; end the value with "
			"the same quote",
			word->at);
	if (!*value)
		return mt_fail(err, -EINVAL, "missing value at character %zu; expected %s",
			word->at, expected);
	if (*rest && !blank(*rest))
		return mt_fail(err, -EINVAL,
			"text after the closing quote of the word at character %zu; "
			"put a blank between them",
			word->at);
	return 0;
}

static const char *expected_of(const char *name)
{
	int field = mt_filter_find(name), range = mt_filter_find_range(name);

	if (find_regex(name, false) != -1)
		return mt_filter_expected(MT_FILTER_FUNCTION_REGEX);
	return field < 0 && range < 0
		? "a value"
		: mt_filter_expected((enum mt_filter_field)(field < 0 ? range : field));
}

static int read_named(struct word *word, const char *name, size_t sign_len, bool negative,
	const char **cursor, struct mt_err *err)
{
	const char *sign = *cursor;
	int regex = find_regex(name, negative);

	if (regex == -2)
		return mt_fail(err, -EINVAL,
			"'%.60s' at character %zu is negated twice; use !function:, "
			"!source: or !module:",
			name, word->at);
	if (regex == -1 && !mt_filter_names(name))
		return fail_name(err, name, word);
	if (regex == -1 && negative)
		return mt_fail(err, -EINVAL,
			"%s at character %zu: cannot be negated; only !function:, "
			"!source: and !module: can",
			name, word->at);
	*cursor += sign_len;
	char *value = read_value(cursor);
	int status = check_value(word, value, *cursor, expected_of(name), err);

	if (status >= 0 && regex == -1)
		return set_named(word, name, sign, value, err);
	word->field = regex;
	word->value = value;
	return status;
}

/* From 1. */
static size_t character_of(const char *text, const char *cursor)
{
	size_t at = 1;

	for (; text < cursor; text++)
		at += ((unsigned char)*text & 0xc0) != 0x80;
	return at;
}

static int read_word(struct word *word, const char *text, const char **cursor, struct mt_err *err)
{
	bool negative =
		**cursor == '!' || (**cursor == '-' && (*cursor)[1] && !blank((*cursor)[1]));

	word->at = character_of(text, *cursor);
	*cursor += negative;
	size_t len = mt_filter_name_len(*cursor), sign_len = mt_filter_operator_len(*cursor, len);

	if (sign_len) {
		char *name = mt_format("%.*s", (int)len, *cursor);

		*cursor += len;
		int status = read_named(word, name, sign_len, negative, cursor, err);

		free(name);
		return status;
	}
	word->field = negative ? MT_FILTER_NEGATIVE_FUNCTION_REGEX : MT_FILTER_FUNCTION_REGEX;
	word->value = read_value(cursor);
	return check_value(word, word->value, *cursor, mt_filter_expected(MT_FILTER_FUNCTION_REGEX),
		err);
}

static int set_one(struct mt_filter *filter, size_t at, int which, const char *value,
	struct mt_err *err)
{
	enum mt_filter_field field = (enum mt_filter_field)which;
	const char *name = mt_filter_prompt_name(field);
	struct mt_filter_value parsed;
	char range[64];

	if (mt_filter_get(filter, field) && !value[strspn(value, "<>=")])
		return mt_fail(err, -EINVAL,
			"'%s' stands alone at character %zu; write field, operator and "
			"value without blanks, such as size>=1k",
			value, at);
	if (mt_filter_range_name(range, field) && field != MT_FILTER_FROM && field != MT_FILTER_TO
		&& mt_filter_value_parse(&parsed, field, range, at, value, err) < 0)
		return -EINVAL; /* about the name that was typed */
	return mt_filter_add_at(filter, field, name, at, value, err);
}

static int set_word(struct mt_filter *filter, const struct word *word, struct mt_err *err)
{
	bool lower = *word->value, upper = word->upper >= 0 && *word->upper_value;

	if (!lower && !upper)
		return mt_fail(err, -EINVAL,
			"missing value beside '..' at character %zu; expected %s", word->at,
			mt_filter_expected((enum mt_filter_field)word->field));
	int status = lower ? set_one(filter, word->at, word->field, word->value, err) : 0;

	return status >= 0 && upper ? set_one(filter, word->at, word->upper, word->upper_value, err)
				    : status;
}

int mt_filter_add_words(struct mt_filter *filter, const char *text, struct mt_err *err)
{
	const char *cursor = text;
	int status = 0;

	while (status >= 0) {
		struct word word = {.upper = -1, .columns_of = filter->columns_of};

		while (blank(*cursor))
			cursor++;
		if (!*cursor)
			return 0;
		size_t len = strcspn(cursor, " \t\n");

		status = mt_filter_add_column(filter, cursor, len, character_of(text, cursor), err);
		if (status) {
			cursor += len;
			continue;
		}
		status = read_word(&word, text, &cursor, err);
		if (status >= 0)
			status = set_word(filter, &word, err);
		free(word.value);
		free(word.upper_value);
	}
	return status;
}

static bool same_values(const struct mt_filter_entry *a, const struct mt_filter_entry *b)
{
	while (a && b && a->text && b->text && !strcmp(a->text, b->text)) {
		a = a->also;
		b = b->also;
	}
	return !a && !b;
}

/* What compiled once compiles again; a field that stays the same keeps what it knows of strings. */
static void copy_field(struct mt_filter *to, const struct mt_filter *from,
	enum mt_filter_field field)
{
	const struct mt_filter_entry *entry = &from->fields[field];
	const char *name = mt_filter_prompt_name(field);

	if (same_values(&to->fields[field], entry))
		return;
	mt_filter_set_at(to, field, name, 0, NULL, NULL);
	for (; entry && entry->text; entry = entry->also)
		mt_filter_add_as(to, field, name, entry->text, NULL);
}

int mt_filter_parse(struct mt_filter *filter, const char *text, struct mt_err *err)
{
	struct mt_filter *parsed = mt_filter_new_of(filter->columns_of);
	int status = mt_filter_add_words(parsed, text ? text : "", err);

	if (status >= 0)
		status = mt_filter_check(parsed, err);
	for (int i = 0; i < MT_FILTER_COUNT && status >= 0; i++)
		copy_field(filter, parsed, (enum mt_filter_field)i);
	if (status >= 0) {
		mt_filter_free_columns(filter);
		filter->terms = parsed->terms;
		parsed->terms = NULL;
	}
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

void mt_filter_add_value(struct mt_buffer *out, const char *value)
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

static void add_regex(struct mt_buffer *out, size_t name, bool negative, const char *value)
{
	bool bare = !name && (negative || (*value != '-' && *value != '!'))
		&& !mt_filter_operator_len(value, mt_filter_name_len(value));

	mt_buffer_printf(out, "%s%s", out->len ? " " : "", negative ? (name ? "!" : "-") : "");
	if (!bare)
		mt_buffer_printf(out, "%s:", short_names[name].name);
	mt_filter_add_value(out, value);
}

static void add_regexes(struct mt_buffer *out, const struct mt_filter *filter)
{
	for (size_t i = 0; i < 2 * SHORT_NAMES; i++) {
		bool negative = i >= SHORT_NAMES;
		size_t name = i % SHORT_NAMES;
		const struct mt_filter_entry *entry =
			&filter->fields[negative ? short_names[name].negative
						 : short_names[name].field];

		for (; entry && entry->text; entry = entry->also)
			add_regex(out, name, negative, entry->text);
	}
}

static void add_field(struct mt_buffer *out, enum mt_filter_field field,
	const struct mt_filter_entry *entry)
{
	bool least = mt_filter_upper(field) != field, strict = entry->value.strict;
	char name[64];

	mt_buffer_printf(out, "%s", out->len ? " " : "");
	if (!mt_filter_range_name(name, field)
		|| (!strict && (field == MT_FILTER_FROM || field == MT_FILTER_TO)))
		mt_buffer_printf(out, "%s:", mt_filter_info(field)->name);
	else
		mt_buffer_printf(out, "%s%s", name, strict ? "" : least ? ">=" : "<=");
	mt_filter_add_value(out, entry->text);
}

char *mt_filter_text(const struct mt_filter *filter)
{
	struct mt_buffer out = {0};

	add_regexes(&out, filter);
	for (int i = MT_FILTER_NEGATIVE_MODULE_REGEX + 1; i < MT_FILTER_COUNT; i++)
		if (filter->fields[i].text)
			add_field(&out, (enum mt_filter_field)i, &filter->fields[i]);
	mt_filter_add_columns_text(&out, filter);
	mt_buffer_add(&out, "", 1);
	return (char *)out.data;
}
