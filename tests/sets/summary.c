/* summary [--damaged|--none] CACHE TRACE...: opens a set without a cache, then twice with one, and
 * compares. It prints nothing if all are the same, and the last one came from a summary (--none: it
 * did not; --damaged: the one before it need not). */
#include "core/set/open.h"

#include <stdio.h>
#include <string.h>

static int differ(const char *what, const void *a, const void *b, size_t len)
{
	if (!len || !memcmp(a, b, len))
		return 0;
	printf("%s differ; ", what);
	return 1;
}

static int differ_numbers(const char *what, uint64_t a, uint64_t b)
{
	if (a == b)
		return 0;
	printf("%s: %llu, not %llu; ", what, (unsigned long long)b, (unsigned long long)a);
	return 1;
}

static int compare_profiles(const struct mt_profile *a, const struct mt_profile *b)
{
	if (differ_numbers("groups", a->group_count, b->group_count)
		|| differ_numbers("nodes", a->node_count, b->node_count)
		|| differ_numbers("pcs", a->pc_count, b->pc_count)
		|| differ_numbers("modules", a->module_count, b->module_count)
		|| differ_numbers("samples", a->sample_count, b->sample_count)
		|| differ_numbers("blind spots", a->blind_count, b->blind_count))
		return 1;
	int bad = differ_numbers("a step", a->step_ns, b->step_ns);

#define X(name, words) bad |= differ_numbers(#name, a->info.name, b->info.name);
	MT_INFO_COUNTS(X)
#undef X
	bad |= differ_numbers("start", a->info.start_unix_ns, b->info.start_unix_ns)
		| differ_numbers("the end", a->info.ended, b->info.ended)
		| differ_numbers("the peak's doubt", a->info.peak_unsure, b->info.peak_unsure);
	return bad | differ("groups", a->groups, b->groups, a->group_count * sizeof *a->groups)
		| differ("nodes", a->nodes, b->nodes, a->node_count * sizeof *a->nodes)
		| differ("pcs", a->pcs, b->pcs, a->pc_count * sizeof *a->pcs)
		| differ("modules", a->modules, b->modules, a->module_count * sizeof *a->modules)
		| differ("samples", a->samples, b->samples, a->sample_count * sizeof *a->samples);
}

static int compare(const struct mt_set_opened *a, const struct mt_set_opened *b)
{
	const struct mt_symbols *x = a->recording->now.symbols, *y = b->recording->now.symbols;

	if (differ_numbers("recordings", a->count, b->count)
		|| differ_numbers("processes", a->members.count, b->members.count)
		|| differ_numbers("frames", x->frame_count, y->frame_count))
		return 1;
	return compare_profiles(a->recording->now.profile, b->recording->now.profile)
		| differ("processes", a->members.items, b->members.items,
			a->members.count * sizeof *a->members.items)
		| differ("depths", a->members.depths, b->members.depths,
			a->members.count * sizeof *a->members.depths)
		| differ("names", x->strings.text.data, y->strings.text.data, x->strings.text.len)
		| differ("frames", x->frames, y->frames, x->frame_count * sizeof *x->frames);
}

int main(int argc, char **argv)
{
	const struct mt_open_options quiet = {0};
	bool damaged = !strcmp(argv[1], "--damaged"), none = !strcmp(argv[1], "--none");
	int at = damaged || none ? 2 : 1, bad = 0;
	struct mt_set_opened plain, first, second;
	struct mt_err err = {0};

	char *const *paths = argv + at + 1;
	uint32_t count = (uint32_t)(argc - at - 1);

	if (mt_set_open(&plain, paths, count, MT_SET_STACKS, NULL, &quiet, &err) < 0
		|| mt_set_open(&first, paths, count, MT_SET_STACKS, argv[at], &quiet, &err) < 0
		|| mt_set_open(&second, paths, count, MT_SET_STACKS, argv[at], &quiet, &err) < 0) {
		printf("not opened: %s; ", err.text);
		return 1;
	}
	bad |= compare(&plain, &first) | compare(&plain, &second);
	if (plain.from_summary || second.from_summary == none)
		bad |= printf("%s; ",
			       none ? "it came from a summary" : "it did not come from the summary")
			> 0;
	mt_set_opened_free(&plain);
	mt_set_opened_free(&first);
	mt_set_opened_free(&second);
	return bad;
}
