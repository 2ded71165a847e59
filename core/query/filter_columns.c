/* The fields of a filter that are columns of groups: leaked_size>=1M, growth>0, or one that the
 * recording brings along. They compare a group's value, and all must hold. */
#include "core/query/filter_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct mt_filter_term {
	char *name, *text; /* text: as the prompt has it */
	struct mt_filter_range range;
	struct mt_filter_term *next;
};

/* Fields whose values are written as those of a column. */
static enum mt_filter_field field_like(const struct mt_group_column *column)
{
	return column->unit == MT_UNIT_BYTES   ? MT_FILTER_SIZE_MIN
		: column->unit == MT_UNIT_TIME ? MT_FILTER_LIFETIME_MIN
					       : MT_FILTER_CHAIN_LENGTH_MIN;
}

static int find(const struct mt_filter *filter, const char *name)
{
	return mt_filter_names(name) ? -1 : mt_metric_find(filter->columns_of, name);
}

/* One bound; sign: '>' or '<' as for the least or the largest, with '=' behind it or alone. */
static int read_bound(struct mt_filter_range *range, enum mt_filter_field least, bool upper,
	bool strict, const char *called, size_t at, const char *text, struct mt_err *err)
{
	struct mt_filter_value value;
	int status = mt_filter_value_parse(&value, least, called, at, text, err);

	if (status < 0)
		return status;
	if (strict && value.number == (upper ? 0 : UINT64_MAX))
		return mt_fail(err, -EINVAL,
			"%s at character %zu: no value can match; give "
			"another limit",
			called, at);
	if (upper)
		range->max = value.number - strict;
	else
		range->min = value.number + strict;
	return 0;
}

static int read_range(struct mt_filter_range *range, enum mt_filter_field least, const char *name,
	const char *sign, size_t at, struct mt_err *err)
{
	bool compares = *sign == '<' || *sign == '>', strict = compares && sign[1] != '=';
	char *value = mt_strdup(sign + 1 + (compares && !strict));
	char *dots = compares ? NULL : strstr(value, "..");
	const char *upper = dots ? dots + 2 : value;
	int status = 0;

	*range = (struct mt_filter_range){0, UINT64_MAX};
	if (dots)
		*dots = 0;
	if (*sign != '<' && (*value || !dots))
		status = read_bound(range, least, false, strict, name, at, value, err);
	if (status >= 0 && *sign != '>' && (*upper || !dots))
		status = read_bound(range, least, true, strict, name, at, upper, err);
	if (status >= 0 && range->min > range->max)
		status = mt_fail(err, -EINVAL,
			"%s at character %zu: no value can match; the first limit must not exceed "
			"the second",
			name, at);
	free(value);
	return status;
}

int mt_filter_add_column(struct mt_filter *filter, const char *word, size_t len, size_t at,
	struct mt_err *err)
{
	size_t name_len = mt_filter_name_len(word);
	char *text = mt_format("%.*s", (int)len, word);
	char *name = mt_format("%.*s", (int)name_len, word);
	const char *sign = text + name_len;
	int metric = *sign && strchr("<>=:", *sign) && sign[1] != ':' ? find(filter, name) : -1;
	struct mt_filter_term *term = NULL, **last = &filter->terms;
	bool pass = metric < 0 && filter->columns_later && name_len && *sign == ':'
		&& sign[1] != ':' && !mt_filter_names(name);
	int status = pass;

	filter->passed_over |= pass;

	/* interval<int> is a function */
	if (metric >= 0 && !(*sign == '<' && text[len - 1] == '>')) {
		term = mt_alloc(sizeof *term);
		status = read_range(&term->range,
			field_like(mt_metric_info(filter->columns_of, (enum mt_metric)metric)),
			name, sign, at, err);
	}
	if (!term || status < 0) {
		free(term);
		free(name);
		free(text);
		return status;
	}
	term->name = name;
	term->text = text;
	while (*last)
		last = &(*last)->next;
	*last = term;
	return 1;
}

void mt_filter_free_columns(struct mt_filter *filter)
{
	for (struct mt_filter_term *term = filter->terms, *next; term; term = next) {
		next = term->next;
		free(term->name);
		free(term->text);
		free(term);
	}
	filter->terms = NULL;
}

void mt_filter_add_columns_text(struct mt_buffer *out, const struct mt_filter *filter)
{
	for (const struct mt_filter_term *term = filter->terms; term; term = term->next)
		mt_buffer_printf(out, "%s%s", out->len ? " " : "", term->text);
}

int mt_filter_match_columns(const struct mt_filter *filter, const struct mt_profile *profile,
	uint8_t *matches, struct mt_err *err)
{
	for (const struct mt_filter_term *term = filter->terms; term; term = term->next) {
		int metric = mt_metric_find(profile, term->name);

		if (metric < 0)
			return mt_fail(err, -EINVAL,
				"%s: the recording has no such column; 'memtui "
				"help metrics' lists those of every recording",
				term->name);
		for (uint32_t i = 0; i < profile->group_count; i++) {
			const struct mt_group *g = &profile->groups[i];
			uint64_t value = mt_metric_value(profile, g, (enum mt_metric)metric);

			matches[i] &= value >= term->range.min && value <= term->range.max
				&& mt_metric_is_known(profile, g, (enum mt_metric)metric);
		}
	}
	return 0;
}
