/* What could stand at the cursor in the prompt: names of fields, and the values that are known. */
#include "core/query/filter_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct mt_filter_candidates *out, const char *typed, char *text, const char *words)
{
	bool fits = !strncmp(text, typed, strlen(typed));

	for (uint32_t i = 0; i < out->count && fits; i++)
		fits = strcmp(out->items[i].text, text) != 0;
	if (!fits) {
		free(text);
		return;
	}
	MT_GROW(out->items, out->count, out->capacity);
	out->items[out->count++] = (struct mt_filter_candidate){text, words, 0};
}

/* ---- names ---- */

/* As one would write it: size>= and size<= for a range, the rest with a colon. */
static void add_name(struct mt_filter_candidates *out, const char *typed,
	enum mt_filter_field field)
{
	const struct mt_filter_info *info = mt_filter_info(field);
	char range[64];

	if (field == MT_FILTER_FROM || field == MT_FILTER_TO || !mt_filter_range_name(range, field))
		add(out, typed, mt_format("%s:", mt_filter_prompt_name(field)), info->words);
	else
		add(out, typed,
			mt_format("%s%s", range, mt_filter_upper(field) != field ? ">=" : "<="),
			info->words);
}

static void add_columns(struct mt_filter_candidates *out, const char *typed,
	const struct mt_profile *profile)
{
	for (uint32_t i = 0; i < mt_metric_count(profile); i++) {
		const struct mt_group_column *column = mt_metric_info(profile, (enum mt_metric)i);

		if (!mt_filter_names(column->name))
			add(out, typed, mt_format("%s>=", column->name), column->words);
	}
}

static void add_names(struct mt_filter_candidates *out, const char *typed, char sign)
{
	enum mt_filter_field first = MT_FILTER_FUNCTION_REGEX;
	enum mt_filter_field last = (enum mt_filter_field)(MT_FILTER_COUNT - 1);

	if (sign == '!') {
		for (int i = MT_FILTER_NEGATIVE_FUNCTION_REGEX;
			i <= MT_FILTER_NEGATIVE_MODULE_REGEX; i++)
			add(out, typed,
				mt_format("%s:",
					mt_filter_prompt_name((enum mt_filter_field)i) + 1),
				mt_filter_info((enum mt_filter_field)i)->words);
		return;
	}
	if (sign)
		return;
	for (int i = first; i <= (int)last; i++)
		if (i < MT_FILTER_NEGATIVE_FUNCTION_REGEX || i > MT_FILTER_NEGATIVE_MODULE_REGEX)
			add_name(out, typed, (enum mt_filter_field)i);
	if (out->count)
		return;
	for (int i = first; i <= (int)last; i++)
		add(out, typed, mt_format("%s:", mt_filter_info((enum mt_filter_field)i)->name),
			mt_filter_info((enum mt_filter_field)i)->words);
}

/* ---- values ---- */

static void add_value(struct mt_filter_candidates *out, const char *typed, const char *value,
	const char *words)
{
	struct mt_buffer text = {0};

	if (strncmp(value, typed, strlen(typed)) != 0)
		return;
	mt_filter_add_value(&text, value);
	mt_buffer_add(&text, " ", 2);
	add(out, "", (char *)text.data, words);
}

static void add_threads(struct mt_filter_candidates *out, const char *typed,
	const struct mt_profile *profile)
{
	for (uint32_t i = 0; i < profile->thread_count; i++) {
		const char *name = mt_strings_get(&profile->strings, profile->threads[i].name);

		if (*name)
			add_value(out, typed, name, "");
	}
	for (uint32_t i = 0; i < profile->thread_count && *typed; i++) {
		char tid[16];

		snprintf(tid, sizeof tid, "%u", profile->threads[i].tid);
		add_value(out, typed, tid, "");
	}
}

static void add_markers(struct mt_filter_candidates *out, const char *typed,
	const struct mt_profile *profile)
{
	for (uint32_t i = 0; i < profile->log_count; i++)
		if (profile->log[i].type == MT_LOG_MARKER)
			add_value(out, typed,
				mt_strings_get(&profile->strings, profile->log[i].text), "");
}

static void add_choices(struct mt_filter_candidates *out, const char *typed,
	enum mt_filter_field field)
{
	char choice[64];

	for (int i = 0; mt_filter_choice(choice, mt_filter_info(field)->choices, i); i++)
		add_value(out, typed, choice, "");
}

static bool names_functions(const char *name)
{
	return !strcmp(name, "function") || !strcmp(name, "function_regex")
		|| !strcmp(name, "negative_function_regex");
}

static void add_values(struct mt_filter_candidates *out, const char *name, bool compares,
	const char *typed, const struct mt_profile *profile,
	const struct mt_filter_functions *functions)
{
	int field = compares ? -1 : mt_filter_find(name), range = mt_filter_find_range(name);

	if (names_functions(name) && functions) {
		mt_filter_add_functions(out, typed, functions);
		if (out->count)
			return;
	}
	if (field < 0 && range < 0) {
		out->expected =
			mt_filter_names(name) ? mt_filter_expected(MT_FILTER_FUNCTION_REGEX) : NULL;
		return;
	}
	enum mt_filter_field which = (enum mt_filter_field)(field < 0 ? range : field);

	switch (mt_filter_info(which)->kind) {
	case MT_FILTER_KIND_CHOICE: add_choices(out, typed, which); break;
	case MT_FILTER_KIND_THREAD:
		if (profile)
			add_threads(out, typed, profile);
		break;
	case MT_FILTER_KIND_MARKER:
		if (profile)
			add_markers(out, typed, profile);
		break;
	case MT_FILTER_KIND_FUNCTIONS:
	case MT_FILTER_KIND_DOMAINS:
		if (profile)
			mt_filter_add_calls(out, which, typed, profile, add_value);
		break;
	case MT_FILTER_KIND_TIME:
		if (which == MT_FILTER_ALIVE_AT || which == MT_FILTER_ALIVE_AT_2)
			add_value(out, *typed ? typed : "-", "peak", "when the heap was largest");
		break;
	default: break;
	}
	if (!out->count)
		out->expected = mt_filter_expected(which);
}

/* ---- the word at the cursor ---- */

struct place {
	/* where the word begins, behind its sign; value 0: there is no operator yet */
	size_t word, name_len, value;
	char sign;
	bool compares;
};

/* Reads one word from at on, up to the cursor; returns where it ends. */
static size_t read_word(struct place *place, const char *text, size_t at, size_t cursor)
{
	*place = (struct place){.word = at};
	if (text[at] == '!' || text[at] == '-') {
		place->sign = text[at++];
		place->word = at;
	}
	place->name_len = mt_filter_name_len(text + at);
	size_t operator_len = mt_filter_operator_len(text + at, place->name_len);

	if (operator_len) {
		place->compares =
			text[at + place->name_len] != ':' && text[at + place->name_len] != '=';
		at += place->name_len + operator_len;
		place->value = at;
	}
	char quote = text[at] == '"' || text[at] == '\'' ? text[at++] : 0;

	for (; text[at] && at < cursor && (quote || !strchr(" \t\n", text[at])); at++) {
		if (quote && text[at] == quote && text[at + 1] == quote)
			at++;
		else if (quote && text[at] == quote)
			quote = 0;
	}
	return at;
}

void mt_filter_complete(const char *text, uint32_t cursor, const struct mt_profile *profile,
	const struct mt_filter_functions *functions, struct mt_filter_candidates *out)
{
	struct place place = {.word = cursor};
	size_t at = 0;

	mt_filter_candidates_free(out);
	while (at < cursor) {
		if (strchr(" \t\n", text[at])) {
			at++;
			place = (struct place){.word = at};
		} else {
			at = read_word(&place, text, at, cursor);
		}
	}
	size_t from = place.value && place.value <= cursor ? place.value : place.word;
	bool quoted = place.value && (text[from] == '"' || text[from] == '\'') && from < cursor;
	char *typed = mt_format("%.*s", (int)(cursor - from - quoted), text + from + quoted);

	out->from = (uint32_t)from;
	out->to = cursor;
	if (from != place.word || place.value) {
		char *name = mt_format("%.*s", (int)place.name_len, text + place.word);

		add_values(out, name, place.compares, typed, profile, functions);
		free(name);
	} else {
		add_names(out, typed, place.sign);
		if (!out->count && functions)
			mt_filter_add_functions(out, typed, functions);
		if (!out->count && !place.sign)
			add_columns(out, typed, profile);
	}
	free(typed);
}

void mt_filter_candidates_free(struct mt_filter_candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++)
		free(candidates->items[i].text);
	free(candidates->items);
	*candidates = (struct mt_filter_candidates){0};
}
