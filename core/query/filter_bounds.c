/* A verdict per allocation: the fields beyond the groups', looked up in one profile and then
 * compared with numbers. */
#include "core/query/filter_internal.h"
#include "core/query/scan.h"

#include "core/base/nearest.h"
#include "core/model/verdicts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	AT_TIME = 1,
	AT_SIZE = 2,
	AT_ADDRESS = 4,
	AT_THREAD = 8,
	AT_MARKER = 16,
	AT_MMAPPED = 32,
	AT_ARENA = 64,
	AT_VERDICT = 128,
};
enum {
	END_LIFETIME = 1, /* one of a list */
	END_SPAN = 2,
	END_ALIVE = 4,
	END_DEAD = 8,
	END_FIRST_SIZE = 16,
	END_LAST_SIZE = 32,
	END_CHAIN_SPAN = 64,
	END_LENGTH = 128,
	END_POSITION = 256,
};

static bool in_range(const struct mt_filter_range *range, uint64_t value)
{
	return value >= range->min && value <= range->max;
}

/* A chunk's size is a multiple of 16; what a chunk among others can hold is that less 8, a mapped
 * one that less 16. */
static bool is_mmapped(const struct mt_allocation *a)
{
	return a->domain == MT_DOMAIN_HEAP && a->usable && a->usable % 16 == 0;
}

static bool has_marker(const struct mt_filter_bounds *b, uint32_t marker)
{
	for (uint32_t i = 0; i < b->marker_count; i++)
		if (b->markers[i] == marker)
			return true;
	return false;
}

static bool arena_matches(const struct mt_filter_bounds *b, const struct mt_allocation *a)
{
	if (a->domain != MT_DOMAIN_HEAP || is_mmapped(a))
		return false;
	return in_range(&b->main_heap, a->address) == b->main_arena;
}

bool mt_filter_allocation_matches(const struct mt_filter_bounds *b, const struct mt_allocation *a)
{
	unsigned asked = b->at_allocation;

	if (!asked)
		return true;
	if (asked & AT_TIME && (a->time_ns < b->from_ns || a->time_ns > b->to_ns))
		return false;
	if (asked & AT_SIZE && !in_range(&b->size, a->size))
		return false;
	if (asked & AT_THREAD
		&& (a->thread >= b->thread_count
			|| !(b->threads[a->thread / 64] >> (a->thread & 63) & 1)))
		return false;
	if (asked & AT_MARKER && !has_marker(b, a->marker))
		return false;
	/* a block of a pool lies in one of the heap, which is asked */
	if (asked & AT_ADDRESS
		&& (a->domain == MT_DOMAIN_POOL || !in_range(&b->address, a->address)))
		return false;
	if (asked & AT_MMAPPED && is_mmapped(a) != b->mmapped)
		return false;
	if (asked & AT_VERDICT
		&& (a->domain != MT_DOMAIN_HEAP
			|| mt_verdicts_find(b->verdicts, a->number) != b->verdict))
		return false;
	return !(asked & AT_ARENA) || arena_matches(b, a);
}

/* From one moment to another, or to the end of the recording. */
static uint64_t span(const struct mt_filter_bounds *b, uint64_t start_ns, uint64_t end_ns)
{
	end_ns = end_ns == MT_LIVE ? b->run_ns : end_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

static bool lifetime_matches(const struct mt_filter_bounds *b, const struct mt_allocation *a)
{
	bool freed = a->end_ns != MT_LIVE;
	bool freed_in_range = freed && a->end_ns >= b->from_ns && a->end_ns <= b->to_ns;

	switch (b->lifetime) {
	case MT_LIFETIME_LEAKED: return !freed;
	case MT_LIFETIME_NOT_FREED_IN_RANGE: return !freed_in_range;
	case MT_LIFETIME_FREED_IN_RANGE: return freed_in_range;
	case MT_LIFETIME_FREED: return freed;
	case MT_LIFETIME_SHORT_LIVED: return freed && a->between <= b->temporary_threshold;
	case MT_LIFETIME_CHAIN_LEAKED: return a->chain_end_ns == MT_LIVE;
	default: return true;
	}
}

bool mt_filter_asks_for_leaks(const struct mt_filter_bounds *b)
{
	return b->at_end & END_LIFETIME && b->lifetime == MT_LIFETIME_LEAKED;
}

bool mt_filter_is_for_leaks(const struct mt_filter *filter)
{
	return filter->fields[MT_FILTER_VERDICT].text
		|| (filter->fields[MT_FILTER_LIFETIME].text
			&& filter->fields[MT_FILTER_LIFETIME].value.number == MT_LIFETIME_LEAKED);
}

bool mt_filter_asks_for_times(const struct mt_filter_bounds *b)
{
	return b->at_allocation & AT_TIME || b->at_end & ~(unsigned)END_LIFETIME
		|| (b->at_end & END_LIFETIME && b->lifetime != MT_LIFETIME_LEAKED);
}

bool mt_filter_asks_for_range_alone(const struct mt_filter_bounds *b)
{
	return mt_filter_asks_for_leaks(b) && !(b->at_end & ~(unsigned)END_LIFETIME);
}

static bool alive_at(const struct mt_allocation *a, uint64_t time_ns)
{
	return a->time_ns <= time_ns && a->end_ns > time_ns;
}

static bool chain_matches(const struct mt_filter_bounds *b, const struct mt_allocation *a,
	unsigned asked)
{
	if (asked & END_FIRST_SIZE && !in_range(&b->first_size, a->first_size))
		return false;
	if (asked & END_LAST_SIZE && !in_range(&b->last_size, a->last_size))
		return false;
	if (asked & END_CHAIN_SPAN
		&& !in_range(&b->chain_lifetime_ns, span(b, a->chain_start_ns, a->chain_end_ns)))
		return false;
	if (asked & END_LENGTH && !in_range(&b->chain_length, a->chain_length))
		return false;
	return !(asked & END_POSITION) || in_range(&b->position, a->position);
}

bool mt_filter_end_matches(const struct mt_filter_bounds *b, const struct mt_allocation *a)
{
	unsigned asked = b->at_end;

	if (!asked)
		return true;
	if (asked & END_LIFETIME && !lifetime_matches(b, a))
		return false;
	if (asked & END_SPAN && !in_range(&b->lifetime_ns, span(b, a->time_ns, a->end_ns)))
		return false;
	if (asked & END_ALIVE && !(b->alive_at_peak ? a->at_peak : alive_at(a, b->alive_at_ns)))
		return false;
	if (asked & END_DEAD && (b->dead_at_peak ? a->at_peak : alive_at(a, b->dead_at_ns)))
		return false;
	return chain_matches(b, a, asked);
}

/* ---- looking up ---- */

static const char *thread_name_at(const void *context, int i)
{
	const struct mt_profile *profile = context;

	return (uint32_t)i < profile->thread_count
		? mt_strings_get(&profile->strings, profile->threads[i].name)
		: NULL;
}

static const char *marker_at(const void *context, int i)
{
	const struct mt_profile *profile = context;

	for (uint32_t at = 0; at < profile->log_count; at++)
		if (profile->log[at].type == MT_LOG_MARKER && !i--)
			return mt_strings_get(&profile->strings, profile->log[at].text);
	return NULL;
}

int mt_filter_fail_absent(struct mt_err *err, const struct mt_filter *filter,
	enum mt_filter_field field, const char *name, const char *what,
	const char *(*next)(const void *, int), const struct mt_profile *profile)
{
	const struct mt_filter_entry *entry = &filter->fields[field];

	if (filter->allows_absent)
		return 0;
	const char *nearest = mt_nearest(name, next, profile);

	bool near = nearest;

	if (!near)
		nearest = next(profile, 0);
	if (!nearest || !*nearest)
		return mt_fail(err, -EINVAL,
			"%s: the recording has no %s '%.60s', and no others either", entry->called,
			what, name);
	return mt_fail(err, -EINVAL,
		near ? "%s: the recording has no %s '%.60s'; did you mean '%.60s'?"
		     : "%s: the recording has no %s '%.60s'; it has '%.60s', for example",
		entry->called, what, name, nearest);
}

static int find_threads(struct mt_filter_bounds *b, const struct mt_filter *filter,
	const struct mt_profile *profile, struct mt_err *err)
{
	const struct mt_filter_entry *entry = &filter->fields[MT_FILTER_THREAD];
	bool found = false;

	if (!entry->text)
		return 0;
	size_t digits = strspn(entry->text, "0123456789");
	uint64_t tid =
		digits && !entry->text[digits] ? strtoull(entry->text, NULL, 10) : UINT64_MAX;

	b->at_allocation |= AT_THREAD;
	b->thread_count = profile->thread_count;
	b->threads = mt_alloc((profile->thread_count / 64 + 1) * sizeof *b->threads);
	for (uint32_t i = 0; i < profile->thread_count; i++) {
		const struct mt_thread *thread = &profile->threads[i];

		if (thread->tid != tid
			&& strcmp(mt_strings_get(&profile->strings, thread->name), entry->text)
				!= 0)
			continue;
		b->threads[i / 64] |= 1ull << (i & 63);
		found = true;
	}
	return found ? 0
		     : mt_filter_fail_absent(err, filter, MT_FILTER_THREAD, entry->text, "thread",
			     thread_name_at, profile);
}

static int find_markers(struct mt_filter_bounds *b, const struct mt_filter *filter,
	const struct mt_profile *profile, struct mt_err *err)
{
	const struct mt_filter_entry *entry = &filter->fields[MT_FILTER_MARKER];
	uint32_t capacity = 0;

	if (!entry->text)
		return 0;
	b->at_allocation |= AT_MARKER;
	for (uint32_t i = 0; i < profile->log_count; i++) {
		uint32_t text = profile->log[i].text;

		if (profile->log[i].type != MT_LOG_MARKER || has_marker(b, text)
			|| strcmp(mt_strings_get(&profile->strings, text), entry->text) != 0)
			continue;
		MT_GROW(b->markers, b->marker_count, capacity);
		b->markers[b->marker_count++] = text;
	}
	return b->marker_count ? 0
			       : mt_filter_fail_absent(err, filter, MT_FILTER_MARKER, entry->text,
				       "marker", marker_at, profile);
}

/* The program: the module of that path, since the command's first word may be a name to look up. */
static const struct mt_module *find_program(const struct mt_profile *profile)
{
	const char *command = profile->argument_count
		? mt_strings_get(&profile->strings, profile->arguments[0])
		: "";
	const char *name = strrchr(command, '/') ? strrchr(command, '/') + 1 : command;
	const struct mt_module *lowest = NULL;

	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct mt_module *module = &profile->modules[i];
		const char *path = mt_strings_get(&profile->strings, module->path);
		const char *slash = strrchr(path, '/');

		if (*name && !strcmp(slash ? slash + 1 : path, name))
			return module;
		if (!lowest || module->start < lowest->start)
			lowest = module;
	}
	return lowest;
}

/* The kernel puts the break behind the program and mappings far above (or, by an old layout,
 * below): what lies in the first half of the gap is the main heap. */
static void find_main_heap(struct mt_filter_bounds *b, const struct mt_profile *profile)
{
	const struct mt_module *program = find_program(profile);
	uint64_t above = mt_info_address_end(&profile->info);

	b->main_heap = (struct mt_filter_range){1, 0};
	if (!program)
		return;
	for (uint32_t i = 0; i < profile->module_count; i++)
		if (profile->modules[i].start >= program->end && profile->modules[i].start < above)
			above = profile->modules[i].start;
	b->main_heap =
		(struct mt_filter_range){program->end, program->end + (above - program->end) / 2};
}

static int find_heap(struct mt_filter_bounds *b, const struct mt_filter *filter,
	const struct mt_profile *profile, struct mt_err *err)
{
	const struct mt_filter_entry *mmapped = &filter->fields[MT_FILTER_MMAPPED];
	const struct mt_filter_entry *arena = &filter->fields[MT_FILTER_ARENA];

	if (!mmapped->text && !arena->text)
		return 0;
	if (profile->info.usable_rule != MT_USABLE_GLIBC)
		return mt_fail(err, -EINVAL,
			"%s: works only with glibc's malloc, and this program has another; "
			"leave it "
			"out",
			mmapped->text ? mmapped->called : arena->called);
	b->at_allocation |= (mmapped->text ? AT_MMAPPED : 0u) | (arena->text ? AT_ARENA : 0u);
	b->mmapped = !mmapped->value.number;
	b->main_arena = !arena->value.number;
	if (arena->text)
		find_main_heap(b, profile);
	return 0;
}

/* A verdict is one on a block that lives at the end. */
static int find_verdict(struct mt_filter_bounds *b, const struct mt_filter *filter,
	const struct mt_profile *profile, struct mt_err *err)
{
	const struct mt_filter_entry *entry = &filter->fields[MT_FILTER_VERDICT];

	if (!entry->text)
		return 0;
	if (!profile->verdicts)
		return mt_fail(err, -EINVAL,
			"%s: the recording has no leak check; record the program with "
			"--leak-check",
			entry->called);
	if (!profile->verdicts->listed)
		return mt_fail(err, -EINVAL,
			"%s: so many blocks are lost that the recording keeps their sums only; "
			"sort groups by lost_size instead",
			entry->called);
	if (b->lifetime != MT_LIFETIME_ALL && b->lifetime != MT_LIFETIME_LEAKED
		&& b->lifetime != MT_LIFETIME_GROUP_LEAKED)
		return mt_fail(err, -EINVAL,
			"%s: a leak check judges blocks that live at the end of the recording, "
			"which %s does not select; leave one of the two out",
			entry->called, filter->fields[MT_FILTER_LIFETIME].text);
	b->lifetime = MT_LIFETIME_LEAKED;
	b->at_allocation |= AT_VERDICT;
	b->verdicts = profile->verdicts;
	b->verdict = (unsigned)entry->value.number;
	return 0;
}

/* ---- compiling ---- */

struct bound {
	enum mt_filter_field lower;
	size_t place;
	unsigned at_allocation, at_end;
};

static int compile_ranges(struct mt_filter_bounds *b, const struct mt_filter *filter,
	struct mt_err *err)
{
	static const struct bound all[] = {
		{MT_FILTER_SIZE_MIN, offsetof(struct mt_filter_bounds, size), AT_SIZE, 0},
		{MT_FILTER_ADDRESS_MIN, offsetof(struct mt_filter_bounds, address), AT_ADDRESS, 0},
		{MT_FILTER_LIFETIME_MIN, offsetof(struct mt_filter_bounds, lifetime_ns), 0,
			END_SPAN},
		{MT_FILTER_FIRST_SIZE_MIN, offsetof(struct mt_filter_bounds, first_size), 0,
			END_FIRST_SIZE},
		{MT_FILTER_LAST_SIZE_MIN, offsetof(struct mt_filter_bounds, last_size), 0,
			END_LAST_SIZE},
		{MT_FILTER_CHAIN_LIFETIME_MIN, offsetof(struct mt_filter_bounds, chain_lifetime_ns),
			0, END_CHAIN_SPAN},
		{MT_FILTER_CHAIN_LENGTH_MIN, offsetof(struct mt_filter_bounds, chain_length), 0,
			END_LENGTH},
		{MT_FILTER_POSITION_IN_CHAIN_MIN, offsetof(struct mt_filter_bounds, position), 0,
			END_POSITION},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct mt_filter_range *range = (void *)((char *)b + all[i].place);

		if (mt_filter_range(range, filter, all[i].lower, b->run_ns, err) < 0)
			return -EINVAL;
		if (range->min || range->max != UINT64_MAX) {
			b->at_allocation |= all[i].at_allocation;
			b->at_end |= all[i].at_end;
		}
	}
	return 0;
}

static uint64_t moment(const struct mt_filter_entry *entry, uint64_t run_ns)
{
	return entry->value.is_percent ? mt_filter_share(&entry->value, run_ns)
				       : entry->value.number;
}

static int compile_times(struct mt_filter_bounds *b, const struct mt_filter *filter,
	struct mt_err *err)
{
	const struct mt_filter_entry *alive = &filter->fields[MT_FILTER_ALIVE_AT];
	const struct mt_filter_entry *dead = &filter->fields[MT_FILTER_ALIVE_AT_2];
	struct mt_filter_range range;

	if (mt_filter_check(filter, err) < 0
		|| mt_filter_range(&range, filter, MT_FILTER_FROM, b->run_ns, err) < 0)
		return -EINVAL;
	b->from_ns = range.min;
	b->to_ns = range.max;
	if (range.min || range.max != UINT64_MAX)
		b->at_allocation |= AT_TIME;
	b->alive_at_peak = alive->value.is_peak;
	b->dead_at_peak = dead->value.is_peak;
	b->alive_at_ns = moment(alive, b->run_ns);
	b->dead_at_ns = moment(dead, b->run_ns);
	b->at_end |= (alive->text ? END_ALIVE : 0u) | (dead->text ? END_DEAD : 0u);
	return 0;
}

int mt_filter_compile(struct mt_filter_bounds *b, const struct mt_filter *filter,
	const struct mt_profile *profile, struct mt_err *err)
{
	mt_filter_bounds_free(b);
	b->run_ns = profile->info.wall_ns;
	b->needs = mt_filter_needs(filter);
	b->lifetime = (unsigned)filter->fields[MT_FILTER_LIFETIME].value.number;
	b->temporary_threshold = filter->fields[MT_FILTER_TEMPORARY_THRESHOLD].value.number;
	if (find_verdict(b, filter, profile, err) < 0)
		return -EINVAL;
	if (b->lifetime != MT_LIFETIME_ALL && b->lifetime != MT_LIFETIME_GROUP_LEAKED)
		b->at_end |= END_LIFETIME;
	if (compile_times(b, filter, err) < 0 || compile_ranges(b, filter, err) < 0
		|| find_threads(b, filter, profile, err) < 0
		|| find_markers(b, filter, profile, err) < 0
		|| find_heap(b, filter, profile, err) < 0)
		return -EINVAL;
	return 0;
}

void mt_filter_allow_absent(struct mt_filter *filter, bool allowed)
{
	filter->allows_absent = allowed;
}

void mt_filter_bounds_free(struct mt_filter_bounds *b)
{
	free(b->threads);
	free(b->markers);
	*b = (struct mt_filter_bounds){0};
}
