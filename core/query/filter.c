/* The fields of a filter: their list, their values, what they contradict and what they need. */
#include "core/query/filter_internal.h"
#include "core/query/filter_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct mt_filter_info *mt_filter_info(enum mt_filter_field field)
{
	static const struct mt_filter_info infos[] = {
#define X(id, name, kind, scope, choices, words) \
	{name, words, MT_FILTER_KIND_##kind, MT_FILTER_SCOPE_##scope, choices},
		MT_FILTER_FIELDS(X)
#undef X
	};
	return &infos[field];
}

int mt_filter_find(const char *name)
{
	for (int field = 0; field < MT_FILTER_COUNT; field++) {
		const char *known = mt_filter_info((enum mt_filter_field)field)->name;
		size_t i = 0;

		while (known[i] && (name[i] == known[i] || (name[i] == '-' && known[i] == '_')))
			i++;
		if (!known[i] && !name[i])
			return field;
	}
	return -1;
}

struct mt_filter *mt_filter_new(void)
{
	return mt_filter_new_of(NULL);
}

struct mt_filter *mt_filter_new_of(const struct mt_profile *profile)
{
	struct mt_filter *filter = mt_alloc(sizeof *filter);

	filter->columns_of = profile;
	return filter;
}

bool mt_filter_pass_over(struct mt_filter *filter)
{
	filter->columns_later = true;
	return filter->passed_over;
}

void mt_filter_name_columns(struct mt_filter *filter, const struct mt_profile *profile)
{
	filter->columns_of = profile;
}

static void entry_clear(struct mt_filter_entry *entry)
{
	if (entry->also) {
		entry_clear(entry->also);
		free(entry->also);
	}
	free(entry->known);
	free(entry->matching);
	mt_pattern_free(entry->pattern);
	free(entry->text);
	*entry = (struct mt_filter_entry){0};
}

void mt_filter_free(struct mt_filter *filter)
{
	if (!filter)
		return;
	for (unsigned i = 0; i < MT_FILTER_COUNT; i++)
		entry_clear(&filter->fields[i]);
	mt_filter_free_columns(filter);
	free(filter);
}

/* ---- values ---- */

static int entry_parse(struct mt_filter_entry *entry, enum mt_filter_field field,
	const char *called, size_t at, const char *text, struct mt_err *err)
{
	*entry = (struct mt_filter_entry){.called = called};
	if (mt_filter_info(field)->kind == MT_FILTER_KIND_REGEX) {
		entry->pattern = mt_pattern_new(text, called, err);
		if (!entry->pattern)
			return -EINVAL;
	} else if (mt_filter_value_parse(&entry->value, field, called, at, text, err) < 0) {
		return -EINVAL;
	}
	entry->text = mt_strdup(text);
	return 0;
}

int mt_filter_set_at(struct mt_filter *filter, enum mt_filter_field field, const char *called,
	size_t at, const char *text, struct mt_err *err)
{
	struct mt_filter_entry *entry = &filter->fields[field], parsed;

	if (!text || !*text) {
		entry_clear(entry);
		return 0;
	}
	if (entry->text && !entry->also && !strcmp(entry->text, text)) {
		entry->called = called;
		return 0;
	}
	if (entry_parse(&parsed, field, called, at, text, err) < 0)
		return -EINVAL;
	entry_clear(entry);
	*entry = parsed;
	return 0;
}

/* A second value that is no regex. */
static int add_value(struct mt_filter_entry *entry, struct mt_filter_entry *parsed,
	enum mt_filter_field field, struct mt_err *err)
{
	int narrower = mt_filter_is_range(field)
		? mt_filter_is_narrower(field, &entry->value, &parsed->value)
		: -EINVAL;

	if (narrower < 0)
		return mt_fail(err, -EINVAL,
			mt_filter_is_range(field)
				? "%s: '%.80s' and '%.80s' cannot be compared; give both as "
				  "percentages, or neither"
				: "%s: given twice, as '%.80s' and '%.80s'; give one value",
			parsed->called, entry->text, parsed->text);
	if (narrower) {
		entry_clear(entry);
		*entry = *parsed;
		*parsed = (struct mt_filter_entry){0};
	}
	return 0;
}

int mt_filter_add_at(struct mt_filter *filter, enum mt_filter_field field, const char *called,
	size_t at, const char *text, struct mt_err *err)
{
	struct mt_filter_entry *last = &filter->fields[field], parsed;
	int status = 0;

	if (!last->text)
		return mt_filter_set_at(filter, field, called, at, text, err);
	for (struct mt_filter_entry *e = last; e; last = e, e = e->also)
		if (!strcmp(e->text, text))
			return 0;
	if (entry_parse(&parsed, field, called, at, text, err) < 0)
		return -EINVAL;
	if (parsed.pattern) {
		last->also = mt_alloc(sizeof *last->also);
		*last->also = parsed;
		return 0;
	}
	status = add_value(last, &parsed, field, err);
	entry_clear(&parsed);
	return status;
}

int mt_filter_add_as(struct mt_filter *filter, enum mt_filter_field field, const char *called,
	const char *text, struct mt_err *err)
{
	return mt_filter_add_at(filter, field, called, 0, text, err);
}

/* As the command line has it. */
static const char *option_name(enum mt_filter_field field)
{
	static char names[MT_FILTER_COUNT][40];
	char *out = names[field];

	if (!*out) {
		snprintf(out, sizeof names[field], "--%s", mt_filter_info(field)->name);
		for (; *out; out++)
			if (*out == '_')
				*out = '-';
	}
	return names[field];
}

int mt_filter_set(struct mt_filter *filter, enum mt_filter_field field, const char *text,
	struct mt_err *err)
{
	return mt_filter_set_at(filter, field, option_name(field), 0, text, err);
}

int mt_filter_add(struct mt_filter *filter, enum mt_filter_field field, const char *text,
	struct mt_err *err)
{
	return mt_filter_add_at(filter, field, option_name(field), 0, text, err);
}

const char *mt_filter_get(const struct mt_filter *filter, enum mt_filter_field field)
{
	return filter->fields[field].text;
}

bool mt_filter_active(const struct mt_filter *filter)
{
	for (unsigned i = 0; i < MT_FILTER_COUNT; i++)
		if (filter->fields[i].text)
			return true;
	return filter->terms;
}

/* ---- the fields together ---- */

static bool is_percent(const struct mt_filter_entry *entry)
{
	return entry->text && entry->value.is_percent;
}

int mt_filter_check(const struct mt_filter *filter, struct mt_err *err)
{
	const struct mt_filter_entry *a = &filter->fields[MT_FILTER_ALIVE_AT];
	const struct mt_filter_entry *b = &filter->fields[MT_FILTER_ALIVE_AT_2];

	for (int i = 0; i < MT_FILTER_COUNT; i++) {
		enum mt_filter_field upper = mt_filter_upper((enum mt_filter_field)i);
		const struct mt_filter_entry *low = &filter->fields[i];
		const struct mt_filter_entry *high = &filter->fields[upper];
		struct mt_filter_range range;

		if ((int)upper == i
			|| (low->text && high->text && is_percent(low) != is_percent(high)))
			continue;
		if (mt_filter_range(&range, filter, (enum mt_filter_field)i, UINT32_MAX, err) < 0)
			return -EINVAL;
	}
	if (b->text && !a->text)
		return mt_fail(err, -EINVAL,
			"%s: needs %s too: it selects blocks that were live at the one "
			"time and not at the other",
			b->called,
			strncmp(b->called, "--", 2) ? mt_filter_prompt_name(MT_FILTER_ALIVE_AT)
						    : option_name(MT_FILTER_ALIVE_AT));
	return 0;
}

static unsigned lifetime_needs(const struct mt_filter_entry *entry)
{
	switch (entry->value.number) {
	case MT_LIFETIME_ALL:
	case MT_LIFETIME_GROUP_LEAKED: return 0;
	case MT_LIFETIME_CHAIN_LEAKED: return MT_FILTER_NEEDS_EVENTS | MT_FILTER_NEEDS_CHAIN;
	default: return MT_FILTER_NEEDS_EVENTS | MT_FILTER_NEEDS_END;
	}
}

unsigned mt_filter_needs(const struct mt_filter *filter)
{
	static const unsigned by_scope[] = {
		[MT_FILTER_SCOPE_GROUP] = 0,
		[MT_FILTER_SCOPE_ALLOCATION] = MT_FILTER_NEEDS_EVENTS,
		[MT_FILTER_SCOPE_END] = MT_FILTER_NEEDS_EVENTS | MT_FILTER_NEEDS_END,
		[MT_FILTER_SCOPE_CHAIN] = MT_FILTER_NEEDS_EVENTS | MT_FILTER_NEEDS_CHAIN,
	};
	unsigned needs = 0;

	for (int i = 0; i < MT_FILTER_COUNT; i++) {
		const struct mt_filter_entry *entry = &filter->fields[i];

		if (!entry->text)
			continue;
		needs |= i == MT_FILTER_LIFETIME
			? lifetime_needs(entry)
			: by_scope[mt_filter_info((enum mt_filter_field)i)->scope];
		if (i == MT_FILTER_ADDRESS_MIN || i == MT_FILTER_ADDRESS_MAX
			|| i == MT_FILTER_MMAPPED || i == MT_FILTER_ARENA)
			needs |= MT_FILTER_NEEDS_ADDRESS;
	}
	return needs;
}

bool mt_filter_compares_times(const struct mt_filter *filter)
{
	for (int i = 0; i < MT_FILTER_COUNT; i++) {
		enum mt_filter_kind kind = mt_filter_info((enum mt_filter_field)i)->kind;

		if (filter->fields[i].text
			&& (kind == MT_FILTER_KIND_TIME || kind == MT_FILTER_KIND_SPAN
				|| kind == MT_FILTER_KIND_SPAN_OR_PERCENT))
			return true;
	}
	return false;
}
