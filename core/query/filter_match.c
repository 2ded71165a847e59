/* A verdict per group. Every string is matched at most once per pattern; a pc matches when one of
 * its frames does, and a node when its own pc or its parent matches: one pass, because parent < id.
 * The rest follows from totals. */
#include "core/base/assert.h"
#include "core/query/filter_internal.h"
#include "core/query/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- strings ---- */

static void field_reserve(struct mt_filter_entry *field, uint32_t strings)
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
static int string_matches(struct mt_filter_entry *field, const struct mt_strings *strings,
	uint32_t id)
{
	if (id >= strings->count)
		return 0;
	uint64_t bit = 1ull << (id & 63);

	if (!(field->known[id / 64] & bit)) {
		int status = mt_pattern_match(field->pattern, mt_strings_get(strings, id),
			&field->failure);

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
	return 1u << MT_FILTER_NEGATIVE_FUNCTION_REGEX | 1u << MT_FILTER_NEGATIVE_SOURCE_REGEX
		| 1u << MT_FILTER_NEGATIVE_MODULE_REGEX;
}

/* ---- pcs ---- */

static int pc_matches(struct mt_filter_entry *field, unsigned which,
	const struct mt_profile *profile, const struct mt_symbols *symbols, uint32_t pc)
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
static int match_pcs(struct mt_filter_entry *field, unsigned which,
	const struct mt_profile *profile, const struct mt_symbols *symbols, uint8_t *bits)
{
	const struct mt_strings *strings =
		matches_modules(which) ? &profile->strings : &symbols->strings;

	field_reserve(field, strings->count);
	mt_pattern_begin(field->pattern);
	for (uint32_t pc = MT_PC_FIRST; pc < profile->pc_count; pc++) {
		int status = mt_profile_is_marker(profile, pc)
			? 0
			: pc_matches(field, which, profile, symbols, pc);

		if (status < 0)
			return status;
		bits[pc] |= (uint8_t)(status << which);
	}
	return 0;
}

/* ---- groups ---- */

static void forget(struct mt_filter_entry *field)
{
	free(field->known);
	free(field->matching);
	field->known = field->matching = NULL;
	field->words = 0;
	field->failure = (struct mt_err){0};
}

/* String ids keep their meaning while profile and symbols grow, but not in other ones, which may
 * lie at the same address: after an exec, or when another recording is opened. */
static void check_cache(struct mt_filter *filter, const struct mt_profile *profile,
	const struct mt_symbols *symbols)
{
	if (filter->profile_lineage != profile->lineage
		|| filter->symbols_lineage != symbols->lineage)
		for (unsigned i = 0; i < MT_FILTER_COUNT; i++)
			for (struct mt_filter_entry *e = &filter->fields[i]; e; e = e->also)
				forget(e);
	filter->profile_lineage = profile->lineage;
	filter->symbols_lineage = symbols->lineage;
}

static void match_stacks(const struct mt_profile *profile, const uint8_t *pc_bits, unsigned wanted,
	uint8_t *matches)
{
	uint8_t *node_bits = mt_resize(NULL, profile->node_count);

	for (uint32_t i = 0; i < profile->node_count; i++) {
		const struct mt_node *node = &profile->nodes[i];

		mt_assert(!i || node->parent < i);
		node_bits[i] = node->pc < profile->pc_count ? pc_bits[node->pc] : 0;
		if (i)
			node_bits[i] |= node_bits[node->parent];
	}
	/* All positive fields have to match and no negative one. */
	unsigned expected = wanted & ~negative_fields();

	for (uint32_t i = 0; i < profile->group_count; i++)
		matches[i] &= (node_bits[profile->groups[i].node] & wanted) == expected;
	free(node_bits);
}

_Static_assert(MT_FILTER_NEGATIVE_MODULE_REGEX < 8,
	"one byte of bits per pc and node: regexes come first");

/* The nth regex of a field, of those that must all hold; NULL: it has fewer. */
static struct mt_filter_entry *nth(struct mt_filter_entry *field, unsigned n)
{
	while (n-- && field)
		field = field->also;
	return field && field->pattern ? field : NULL;
}

/* By the nth regex of each field. 1: some have one; 0: none. */
static int match_nth(struct mt_filter *filter, unsigned n, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint8_t *matches, struct mt_err *err)
{
	uint8_t *pc_bits = mt_alloc(profile->pc_count);
	unsigned wanted = 0;
	int status = 0;

	for (unsigned i = 0; i <= MT_FILTER_NEGATIVE_MODULE_REGEX && status >= 0; i++) {
		struct mt_filter_entry *field = nth(&filter->fields[i], n);

		if (!field)
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
	if (status >= 0 && wanted)
		match_stacks(profile, pc_bits, wanted, matches);
	free(pc_bits);
	return status < 0 ? status : wanted != 0;
}

static int match_regexes(struct mt_filter *filter, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint8_t *matches, struct mt_err *err)
{
	int status = 1;

	for (unsigned n = 0; status > 0; n++)
		status = match_nth(filter, n, profile, symbols, matches, err);
	return status;
}

static bool in_range(const struct mt_filter_range *range, uint64_t value)
{
	return value >= range->min && value <= range->max;
}

static bool asks(const struct mt_filter *filter, enum mt_filter_field lower)
{
	return filter->fields[lower].text || filter->fields[mt_filter_upper(lower)].text;
}

/* Frames as they are shown: inlined ones too, but neither the kind of call nor the mark of a cut
 * stack. */
static void match_depths(const struct mt_profile *profile, const struct mt_symbols *symbols,
	const struct mt_filter_range *range, uint8_t *matches)
{
	uint32_t *depths = mt_resize(NULL, profile->node_count * sizeof *depths), first;

	for (uint32_t i = 0; i < profile->node_count; i++) {
		uint32_t pc = profile->nodes[i].pc, frames = 0;

		if (i && !mt_profile_is_marker(profile, pc)) {
			frames = mt_pc_frames(symbols, pc, &first);
			frames += !frames;
		}
		depths[i] = (i ? depths[profile->nodes[i].parent] : 0) + frames;
	}
	for (uint32_t i = 0; i < profile->group_count; i++)
		matches[i] &= in_range(range, depths[profile->groups[i].node]);
	free(depths);
}

/* Whether so many of the group's allocations are on the right side of one limit. */
static bool leaked_matches(const struct mt_filter_entry *limit, const struct mt_group *group,
	bool lower)
{
	unsigned __int128 have = group->live_count, least = limit->value.number;

	if (!limit->text)
		return true;
	if (limit->value.is_percent) {
		have *= MT_FILTER_WHOLE;
		least = (unsigned __int128)group->allocated_count * limit->value.percent;
	}
	if (limit->value.strict)
		return lower ? have > least : have < least;
	return lower ? have >= least : have <= least;
}

static int match_totals(const struct mt_filter *filter, const struct mt_profile *profile,
	uint8_t *matches, struct mt_err *err)
{
	const struct mt_filter_entry *least =
		&filter->fields[MT_FILTER_GROUP_LEAKED_ALLOCATIONS_MIN];
	const struct mt_filter_entry *most = least + 1;
	bool whole = filter->fields[MT_FILTER_LIFETIME].value.number == MT_LIFETIME_GROUP_LEAKED;
	struct mt_filter_range interval, allocations;

	if (mt_filter_range(&interval, filter, MT_FILTER_GROUP_INTERVAL_MIN, profile->info.wall_ns,
		    err) < 0
		|| mt_filter_range(&allocations, filter, MT_FILTER_GROUP_ALLOCATIONS_MIN, 0, err)
			< 0)
		return -EINVAL;
	for (uint32_t i = 0; i < profile->group_count; i++) {
		const struct mt_group *group = &profile->groups[i];

		matches[i] &= in_range(&interval, group->last_ns - group->first_ns)
			&& in_range(&allocations, group->allocated_count)
			&& leaked_matches(least, group, true) && leaked_matches(most, group, false)
			&& (!whole || group->live_count == group->allocated_count);
	}
	return 0;
}

static int match_number(const struct mt_filter *filter, const struct mt_profile *profile,
	uint8_t *matches, struct mt_err *err)
{
	const struct mt_filter_entry *entry = &filter->fields[MT_FILTER_GROUP];
	uint64_t id = entry->value.number;

	if (!entry->text)
		return 0;
	if (id >= profile->group_count && !filter->allows_absent)
		return mt_fail(err, -EINVAL,
			"%s: there is no group %llu in this recording; 'memtui groups' lists them",
			entry->called, (unsigned long long)id);
	for (uint32_t i = 0; i < profile->group_count; i++)
		matches[i] &= i == id;
	return 0;
}

int mt_filter_match_totals(const struct mt_filter *filter, const struct mt_profile *profile,
	uint8_t *matches, struct mt_err *err)
{
	int status = match_number(filter, profile, matches, err);

	if (status >= 0)
		status = match_totals(filter, profile, matches, err);
	if (status >= 0)
		status = mt_filter_match_columns(filter, profile, matches, err);
	return status;
}

bool mt_filter_asks_totals(const struct mt_filter *filter)
{
	static const enum mt_filter_field fields[] = {MT_FILTER_GROUP, MT_FILTER_GROUP_INTERVAL_MIN,
		MT_FILTER_GROUP_INTERVAL_MAX, MT_FILTER_GROUP_ALLOCATIONS_MIN,
		MT_FILTER_GROUP_ALLOCATIONS_MAX, MT_FILTER_GROUP_LEAKED_ALLOCATIONS_MIN,
		MT_FILTER_GROUP_LEAKED_ALLOCATIONS_MAX};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (filter->fields[fields[i]].text)
			return true;
	return filter->terms
		|| filter->fields[MT_FILTER_LIFETIME].value.number == MT_LIFETIME_GROUP_LEAKED;
}

void mt_filter_leave_totals(struct mt_filter *filter)
{
	filter->leaves_totals = true;
}

int mt_filter_match(struct mt_filter *filter, const struct mt_profile *profile,
	const struct mt_symbols *symbols, uint8_t *matches, struct mt_err *err)
{
	struct mt_filter_range depth;
	int status;

	memset(matches, 1, profile->group_count);
	check_cache(filter, profile, symbols);
	status = match_regexes(filter, profile, symbols, matches, err);
	if (status >= 0)
		status = mt_filter_match_calls(filter, profile, matches, err);
	if (status >= 0 && !filter->leaves_totals)
		status = mt_filter_match_totals(filter, profile, matches, err);
	if (status >= 0 && asks(filter, MT_FILTER_BACKTRACE_DEPTH_MIN)) {
		status = mt_filter_range(&depth, filter, MT_FILTER_BACKTRACE_DEPTH_MIN, 0, err);
		if (status >= 0)
			match_depths(profile, symbols, &depth, matches);
	}
	return status;
}
