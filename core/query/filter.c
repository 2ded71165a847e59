/* Regexes over frames. Every string is matched at most once per pattern; a pc matches when one of its
 * frames does, and a node when its own pc or its parent matches: one pass, because parent < id. */
#include "core/query/filter_match.h"
#include "core/query/frame.h"
#include "core/query/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct field {
	char *text;
	struct mt_pattern *pattern;
	uint64_t *known, *matching; /* bitsets by string id */
	uint32_t words;             /* of each bitset */
	struct mt_err failure;      /* the pattern gave up; it is not tried again */
};

struct mt_filter {
	struct field fields[MT_FILTER_COUNT];
	/* what the bitsets stand for */
	const struct mt_profile *profile;
	const struct mt_symbols *symbols;
	uint64_t generation;
};

const struct mt_filter_info *mt_filter_info(enum mt_filter_field field)
{
	static const struct mt_filter_info infos[] = {
#define X(id, name, kind, words) {name, words},
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
	return mt_alloc(sizeof(struct mt_filter));
}

static void field_forget(struct field *field)
{
	free(field->known);
	free(field->matching);
	field->known = field->matching = NULL;
	field->words = 0;
	field->failure = (struct mt_err){0};
}

static void field_clear(struct field *field)
{
	field_forget(field);
	mt_pattern_free(field->pattern);
	free(field->text);
	*field = (struct field){0};
}

void mt_filter_free(struct mt_filter *filter)
{
	if (!filter)
		return;
	for (unsigned i = 0; i < MT_FILTER_COUNT; i++)
		field_clear(&filter->fields[i]);
	free(filter);
}

int mt_filter_set_as(struct mt_filter *filter, enum mt_filter_field which, const char *called, const char *text,
	struct mt_err *err)
{
	struct field *field = &filter->fields[which];

	if (!text || !*text) {
		field_clear(field);
		return 0;
	}
	if (field->text && !strcmp(field->text, text))
		return 0;
	struct mt_pattern *pattern = mt_pattern_new(text, called, err);

	if (!pattern)
		return -EINVAL;
	char *copy = mt_strdup(text);

	field_clear(field);
	field->pattern = pattern;
	field->text = copy;
	return 0;
}

int mt_filter_set(struct mt_filter *filter, enum mt_filter_field which, const char *text, struct mt_err *err)
{
	static const char *const options[] = {
		[MT_FILTER_FUNCTION_REGEX] = "--function-regex",
		[MT_FILTER_SOURCE_REGEX] = "--source-regex",
		[MT_FILTER_MODULE_REGEX] = "--module-regex",
		[MT_FILTER_NEGATIVE_FUNCTION_REGEX] = "--negative-function-regex",
		[MT_FILTER_NEGATIVE_SOURCE_REGEX] = "--negative-source-regex",
		[MT_FILTER_NEGATIVE_MODULE_REGEX] = "--negative-module-regex",
	};

	return mt_filter_set_as(filter, which, options[which], text, err);
}

const char *mt_filter_get(const struct mt_filter *filter, enum mt_filter_field field)
{
	return filter->fields[field].text;
}

bool mt_filter_active(const struct mt_filter *filter)
{
	for (unsigned i = 0; i < MT_FILTER_COUNT; i++)
		if (filter->fields[i].pattern)
			return true;
	return false;
}

/* ---- strings ---- */

static void field_reserve(struct field *field, uint32_t strings)
{
	uint32_t words = strings / 64 + 1;

	if (words <= field->words)
		return;
	field->known = mt_resize(field->known, words * sizeof *field->known);
	field->matching = mt_resize(field->matching, words * sizeof *field->matching);
	memset(field->known + field->words, 0, (words - field->words) * sizeof *field->known);
	memset(field->matching + field->words, 0, (words - field->words) * sizeof *field->matching);
	field->words = words;
}

/* 1, 0, or a negative errno. */
static int string_matches(struct field *field, const struct mt_strings *strings, uint32_t id)
{
	if (id >= strings->count)
		return 0;
	uint64_t bit = 1ull << (id & 63);

	if (!(field->known[id / 64] & bit)) {
		int status = mt_pattern_match(field->pattern, mt_strings_get(strings, id), &field->failure);

		if (status < 0)
			return status;
		field->known[id / 64] |= bit;
		if (status)
			field->matching[id / 64] |= bit;
	}
	return (field->matching[id / 64] & bit) != 0;
}

static bool matches_modules(unsigned which)
{
	return which == MT_FILTER_MODULE_REGEX || which == MT_FILTER_NEGATIVE_MODULE_REGEX;
}

static bool matches_sources(unsigned which)
{
	return which == MT_FILTER_SOURCE_REGEX || which == MT_FILTER_NEGATIVE_SOURCE_REGEX;
}

static unsigned negative_fields(void)
{
	return 1u << MT_FILTER_NEGATIVE_FUNCTION_REGEX | 1u << MT_FILTER_NEGATIVE_SOURCE_REGEX |
		1u << MT_FILTER_NEGATIVE_MODULE_REGEX;
}

/* ---- pcs ---- */

static int pc_matches(struct field *field, unsigned which, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint32_t pc)
{
	uint32_t first;

	if (matches_modules(which)) {
		uint32_t module = profile->pcs[pc].module;

		return module < profile->module_count
			? string_matches(field, &profile->strings, profile->modules[module].path)
			: 0;
	}
	for (uint32_t i = 0, count = mt_pc_frames(symbols, pc, &first); i < count; i++) {
		const struct mt_frame *frame = &symbols->frames[first + i];
		int status = string_matches(field, &symbols->strings,
			matches_sources(which) ? frame->source : frame->function);

		if (status)
			return status;
	}
	return 0;
}

/* Sets bit `which` of bits[pc] for every pc that matches. */
static int match_pcs(struct field *field, unsigned which, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint8_t *bits)
{
	const struct mt_strings *strings = matches_modules(which) ? &profile->strings : &symbols->strings;

	field_reserve(field, strings->count);
	mt_pattern_begin(field->pattern);
	for (uint32_t pc = MT_PC_FIRST; pc < profile->pc_count; pc++) {
		int status = pc_matches(field, which, profile, symbols, pc);

		if (status < 0)
			return status;
		bits[pc] |= (uint8_t)(status << which);
	}
	return 0;
}

/* ---- groups ---- */

/* String ids keep their meaning while symbols grow; another profile or other symbols begin anew. */
static void check_cache(struct mt_filter *filter, const struct mt_profile *profile,
	const struct mt_symbols *symbols)
{
	if (filter->profile != profile || filter->symbols != symbols ||
		filter->generation > symbols->generation)
		for (unsigned i = 0; i < MT_FILTER_COUNT; i++)
			field_forget(&filter->fields[i]);
	filter->profile = profile;
	filter->symbols = symbols;
	filter->generation = symbols->generation;
}

static void match_groups(const struct mt_profile *profile, const uint8_t *pc_bits, unsigned wanted,
	uint8_t *matches)
{
	uint8_t *node_bits = mt_resize(NULL, profile->node_count);

	for (uint32_t i = 0; i < profile->node_count; i++) {
		const struct mt_node *node = &profile->nodes[i];

		node_bits[i] = node->pc < profile->pc_count ? pc_bits[node->pc] : 0;
		if (i)
			node_bits[i] |= node_bits[node->parent];
	}
	/* All positive fields have to match and no negative one. */
	unsigned expected = wanted & ~negative_fields();

	for (uint32_t i = 0; i < profile->group_count; i++)
		matches[i] = (node_bits[profile->groups[i].node] & wanted) == expected;
	free(node_bits);
}

_Static_assert(MT_FILTER_COUNT <= 8, "one byte of bits per pc and node");

int mt_filter_match(struct mt_filter *filter, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint8_t *matches, struct mt_err *err)
{
	uint8_t *pc_bits = mt_alloc(profile->pc_count);
	unsigned wanted = 0;
	int status = 0;

	check_cache(filter, profile, symbols);
	for (unsigned i = 0; i < MT_FILTER_COUNT && status >= 0; i++) {
		struct field *field = &filter->fields[i];

		if (!field->pattern)
			continue;
		wanted |= 1u << i;
		if (!field->failure.code)
			status = match_pcs(field, i, profile, symbols, pc_bits);
		if (field->failure.code) {
			status = field->failure.code;
			if (err)
				*err = field->failure;
		}
	}
	if (status >= 0)
		match_groups(profile, pc_bits, wanted, matches);
	free(pc_bits);
	return status < 0 ? status : 0;
}
