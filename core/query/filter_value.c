/* The values of filter fields that are no regexes: numbers with their units, percentages, choices;
 * and the ranges that two of them make. */
#include "core/query/filter_internal.h"

#include "core/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FRACTION_DIGITS 9u

struct unit {
	const char *name;
	uint64_t factor;
};
static const struct unit times[] = {
	{"", 1000000000u},
	{"s", 1000000000u},
	{"ms", 1000000u},
	{"us", 1000u},
	{"ns", 1u},
	{"m", 60000000000u},
	{"h", 3600000000000u},
	{NULL, 0},
};
static const struct unit sizes[] = {
	{"", 1u},
	{"b", 1u},
	{"k", 1u << 10},
	{"kb", 1u << 10},
	{"kib", 1u << 10},
	{"m", 1u << 20},
	{"mb", 1u << 20},
	{"mib", 1u << 20},
	{"g", 1u << 30},
	{"gb", 1u << 30},
	{"gib", 1u << 30},
	{"t", 1ull << 40},
	{"tb", 1ull << 40},
	{"tib", 1ull << 40},
	{NULL, 0},
};
static const struct unit counts[] = {{"", 1u}, {NULL, 0}};

/* ---- numbers ---- */

/* Digits, and behind a point up to nine more; in billionths, so that 1.5k is exact. text: moved
 * behind them. */
static int read_decimal(unsigned __int128 *billionths, const char **text)
{
	unsigned __int128 value = 0;
	unsigned fraction = 0;
	const char *c = *text;

	if (!isdigit((unsigned char)*c))
		return -EINVAL;
	for (; isdigit((unsigned char)*c); c++) {
		value = value * 10 + (unsigned)(*c - '0');
		if (value > UINT64_MAX)
			return -EINVAL;
	}
	if (*c == '.' && isdigit((unsigned char)c[1]))
		for (c++; isdigit((unsigned char)*c) && fraction < FRACTION_DIGITS; c++, fraction++)
			value = value * 10 + (unsigned)(*c - '0');
	for (; fraction < FRACTION_DIGITS; fraction++)
		value *= 10;
	*billionths = value;
	*text = c;
	return 0;
}

static int read_number(uint64_t *number, const char *text, const struct unit *all)
{
	const struct unit *units = all;
	unsigned __int128 value;

	if (read_decimal(&value, &text) < 0)
		return -EINVAL;
	/* A second is no S, but a kilobyte a K as well. */
	while (units->name
		&& (all == sizes ? strcasecmp(units->name, text) : strcmp(units->name, text)))
		units++;
	if (!units->name || value > (unsigned __int128)UINT64_MAX * 1000000000u / units->factor)
		return -EINVAL;
	if (units->factor == 1 && value % 1000000000u)
		return -EINVAL;
	value = value * units->factor / 1000000000u;
	*number = (uint64_t)value;
	return 0;
}

static int read_percent(uint64_t *percent, const char *text)
{
	unsigned __int128 value;

	if (read_decimal(&value, &text) < 0 || strcmp(text, "%") || value > MT_FILTER_WHOLE)
		return -EINVAL;
	*percent = (uint64_t)value;
	return 0;
}

static int read_address(uint64_t *address, const char *text)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (!isxdigit((unsigned char)text[hex ? 2 : 0]))
		return -EINVAL;
	errno = 0;
	*address = strtoull(text, &end, hex ? 16 : 10);
	return errno || *end ? -EINVAL : 0;
}

/* ---- choices ---- */

const char *mt_filter_choice(char out[64], const char *choices, int i)
{
	for (; i && choices; i--) {
		choices = strchr(choices, '|');
		choices += choices != NULL;
	}
	if (!choices)
		return NULL;
	size_t len = strcspn(choices, "|");

	memcpy(out, choices, len);
	out[len] = 0;
	return out;
}

struct choices {
	const char *choices;
	char (*names)[64];
};

static const char *choice_at(const void *context, int i)
{
	const struct choices *all = context;

	return mt_filter_choice(all->names[i], all->choices, i);
}

/* What the values of a kind are called, and examples. */
struct kind_words {
	const char *noun, *examples;
	const char *expected; /* both in one */
};
#define WORDS(article, noun, examples) \
	{ \
		noun, examples, article " " noun " such as " examples \
	}

static const struct kind_words *words_of(enum mt_filter_field field)
{
	static const struct kind_words words[] = {
		[MT_FILTER_KIND_REGEX] = WORDS("a", "regular expression", "'^json_'"),
		[MT_FILTER_KIND_TIME] = WORDS("a", "time", "500ms, 1.5s, 2m, or 20% of the run"),
		[MT_FILTER_KIND_SPAN] = WORDS("a", "duration", "500ms, 1.5s, 2m or 1h"),
		[MT_FILTER_KIND_BYTES] = WORDS("a", "size", "4096, 64k or 1.5M"),
		[MT_FILTER_KIND_COUNT] = WORDS("a", "number", "1, 20 or 1000"),
		[MT_FILTER_KIND_COUNT_OR_PERCENT] =
			WORDS("a", "number", "20, or 50% of the group's allocations"),
		[MT_FILTER_KIND_SPAN_OR_PERCENT] =
			WORDS("a", "duration", "500ms, 1.5s, 2m, or 20% of the run"),
		[MT_FILTER_KIND_CHOICE] = {"value", "one of a list", "one of a list"},
		[MT_FILTER_KIND_THREAD] = WORDS("a", "thread", "worker or 4711"),
		[MT_FILTER_KIND_MARKER] = WORDS("a", "marker", "'loaded'"),
		[MT_FILTER_KIND_FUNCTIONS] =
			WORDS("an", "allocator function", "malloc or new,new[]"),
		[MT_FILTER_KIND_DOMAINS] = WORDS("a", "domain", "heap or pool"),
		[MT_FILTER_KIND_ADDRESS] = WORDS("an", "address", "0x7f3a10002f0"),
	};
	static const struct kind_words instant =
		WORDS("a", "time", "500ms, 1.5s, 2m, 20% of the run, or peak");
	static const struct kind_words group = WORDS("a", "group number", "17");

	if (field == MT_FILTER_ALIVE_AT || field == MT_FILTER_ALIVE_AT_2)
		return &instant;
	if (field == MT_FILTER_GROUP)
		return &group;
	return &words[mt_filter_info(field)->kind];
}

const char *mt_filter_expected(enum mt_filter_field field)
{
	return words_of(field)->expected;
}

static int fail_value(struct mt_err *err, const char *called, size_t at, const char *text,
	const char *noun, const char *examples)
{
	if (at)
		return mt_fail(err, -EINVAL, "%s: invalid %s '%.80s' at character %zu (try %s)",
			called, noun, text, at, examples);
	return mt_fail(err, -EINVAL, "%s: invalid %s '%.80s' (try %s)", called, noun, text,
		examples);
}

static int read_choice(uint64_t *number, const char *choices, const char *called, size_t at,
	const char *text, struct mt_err *err)
{
	char names[16][64], expected[400] = "";
	const char *nearest;

	for (int i = 0; mt_filter_choice(names[0], choices, i); i++) {
		if (!strcmp(names[0], text)) {
			*number = (uint64_t)i;
			return 0;
		}
		snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%s",
			i ? ", " : "", names[0]);
	}
	nearest = mt_nearest(text, choice_at, &(struct choices){choices, names});
	for (int i = 0; !nearest && mt_filter_choice(names[0], choices, i); i++)
		if (strlen(text) > 2 && strstr(names[0], text))
			nearest = names[0];
	if (!nearest)
		return fail_value(err, called, at, text, "value", expected);
	snprintf(expected, sizeof expected, "%s", nearest);
	if (at)
		return mt_fail(err, -EINVAL,
			"%s: invalid value '%.60s' at character %zu; did you mean '%s'?", called,
			text, at, expected);
	return mt_fail(err, -EINVAL, "%s: invalid value '%.60s'; did you mean '%s'?", called, text,
		expected);
}

/* ---- values ---- */

static bool takes_percent(enum mt_filter_kind kind)
{
	return kind == MT_FILTER_KIND_TIME || kind == MT_FILTER_KIND_COUNT_OR_PERCENT
		|| kind == MT_FILTER_KIND_SPAN_OR_PERCENT;
}

static int read_value(struct mt_filter_value *value, enum mt_filter_kind kind, const char *text)
{
	if (takes_percent(kind) && !read_percent(&value->percent, text)) {
		value->is_percent = true;
		return 0;
	}
	switch (kind) {
	case MT_FILTER_KIND_TIME:
	case MT_FILTER_KIND_SPAN:
	case MT_FILTER_KIND_SPAN_OR_PERCENT: return read_number(&value->number, text, times);
	case MT_FILTER_KIND_BYTES: return read_number(&value->number, text, sizes);
	case MT_FILTER_KIND_ADDRESS: return read_address(&value->number, text);
	case MT_FILTER_KIND_COUNT:
	case MT_FILTER_KIND_COUNT_OR_PERCENT: return read_number(&value->number, text, counts);
	default: return 0;
	}
}

int mt_filter_value_parse(struct mt_filter_value *value, enum mt_filter_field field,
	const char *called, size_t at, const char *text, struct mt_err *err)
{
	const struct mt_filter_info *info = mt_filter_info(field);
	const char *number = text;

	*value = (struct mt_filter_value){0};
	if (info->kind == MT_FILTER_KIND_CHOICE)
		return read_choice(&value->number, info->choices, called, at, text, err);
	if (mt_filter_is_range(field) && *number == (mt_filter_upper(field) != field ? '>' : '<')) {
		value->strict = true;
		number++;
	}
	if ((field == MT_FILTER_ALIVE_AT || field == MT_FILTER_ALIVE_AT_2)
		&& !strcmp(text, "peak")) {
		value->is_peak = true;
		return 0;
	}
	return read_value(value, info->kind, number) < 0
		? fail_value(err, called, at, text, words_of(field)->noun,
			words_of(field)->examples)
		: 0;
}

/* ---- ranges ---- */

enum mt_filter_field mt_filter_upper(enum mt_filter_field field)
{
	const char *name = mt_filter_info(field)->name;
	size_t len = strlen(name);

	if (field == MT_FILTER_FROM || (len > 4 && !strcmp(name + len - 4, "_min")))
		return (enum mt_filter_field)(field + 1);
	return field;
}

static bool is_upper(enum mt_filter_field field)
{
	return field && mt_filter_upper((enum mt_filter_field)(field - 1)) == field;
}

bool mt_filter_is_range(enum mt_filter_field field)
{
	return mt_filter_upper(field) != field || is_upper(field);
}

int mt_filter_is_narrower(enum mt_filter_field field, const struct mt_filter_value *a,
	const struct mt_filter_value *b)
{
	uint64_t before = a->is_percent ? a->percent : a->number;
	uint64_t behind = b->is_percent ? b->percent : b->number;

	if (a->is_percent != b->is_percent)
		return -EINVAL;
	if (before == behind)
		return b->strict && !a->strict;
	return is_upper(field) ? behind < before : behind > before;
}

static uint64_t resolve(const struct mt_filter_value *value, uint64_t whole)
{
	return value->is_percent ? mt_filter_share(value, whole) : value->number;
}

int mt_filter_range(struct mt_filter_range *range, const struct mt_filter *filter,
	enum mt_filter_field lower, uint64_t whole, struct mt_err *err)
{
	const struct mt_filter_entry *low = &filter->fields[lower];
	const struct mt_filter_entry *high = &filter->fields[mt_filter_upper(lower)];
	bool empty = false;

	*range = (struct mt_filter_range){0, UINT64_MAX};
	if (low->text) {
		range->min = resolve(&low->value, whole);
		empty = low->value.strict && range->min == UINT64_MAX;
		range->min += low->value.strict && !empty;
	}
	if (high->text) {
		range->max = resolve(&high->value, whole);
		empty = empty || (high->value.strict && !range->max);
		range->max -= high->value.strict && range->max;
	}
	if (range->min <= range->max && !empty)
		return 0;
	if (!low->text || !high->text) {
		const struct mt_filter_entry *only = low->text ? low : high;

		return mt_fail(err, -EINVAL, "%s %s: no value can match; give another limit",
			only->called, only->text);
	}
	return mt_fail(err, -EINVAL,
		"%s %.80s and %s %.80s: no value can match both; %s must not exceed %s",
		low->called, low->text, high->called, high->text, low->called, high->called);
}
