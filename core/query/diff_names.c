/* Names that one side of a difference knows and the other does not: of modules, and of an entry. */
#include "core/base/buffer.h"
#include "core/query/diff.h"
#include "core/query/frame.h"

#include <stdlib.h>
#include <string.h>

#define MOST 10 /* frames with a name to one without, where names are known; fewer: they lack */
#define NO_MODULE 0xffffffffu

struct known {
	const char *module; /* its name without directories */
	uint32_t named[2], nameless[2];
};
struct table {
	struct known *items;
	uint32_t count, capacity;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct known *find(struct table *t, const char *module)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (!strcmp(t->items[i].module, module))
			return &t->items[i];
	MT_GROW(t->items, t->count, t->capacity);
	t->items[t->count] = (struct known){.module = module};
	return &t->items[t->count++];
}

static bool has_build(const struct mt_profile *p, const struct mt_module *build)
{
	for (uint32_t i = 0; i < p->module_count; i++)
		if (build->build_id_len && p->modules[i].build_id_len == build->build_id_len
			&& !memcmp(p->modules[i].build_id, build->build_id, build->build_id_len))
			return true;
	return false;
}

/* Of modules of the same build, names are known by their places (diff_places.h). */
static void add_side(struct table *t, const struct mt_diff_side *side,
	const struct mt_profile *other, int which)
{
	const struct mt_profile *p = side->profile;
	uint32_t *at = mt_alloc(((size_t)p->module_count + 1) * sizeof *at);

	for (uint32_t i = 0; i < p->module_count; i++) {
		const char *path = mt_strings_get(&p->strings, p->modules[i].path);

		at[i] = has_build(other, &p->modules[i])
			? NO_MODULE
			: (uint32_t)(find(t, base_name(path)) - t->items);
	}
	for (uint32_t pc = MT_PC_FIRST; pc < p->pc_count; pc++) {
		const struct mt_symbols *s = side->symbols;
		uint32_t first, count = mt_pc_frames(s, pc, &first);

		if (!count || p->pcs[pc].module >= p->module_count
			|| at[p->pcs[pc].module] == NO_MODULE)
			continue;
		const char *name = mt_strings_get(&s->strings, s->frames[first].function);
		struct known *k = &t->items[at[p->pcs[pc].module]];

		(mt_frame_is_place(name) ? k->nameless : k->named)[which]++;
	}
	free(at);
}

static bool knows(const struct known *k, int which)
{
	return k->named[which] >= MOST * k->nameless[which] && k->named[which];
}

static bool lacks(const struct known *k, int which)
{
	return k->nameless[which] * MOST >= k->named[which] && k->nameless[which];
}

char *mt_diff_nameless(const struct mt_diff_side *a, const struct mt_diff_side *b, int *which)
{
	struct table t = {0};
	struct mt_buffer text = {0};
	uint32_t count = 0;

	add_side(&t, a, b->profile, 0);
	add_side(&t, b, a->profile, 1);
	*which = -1;
	for (uint32_t i = 0; i < t.count; i++) {
		const struct known *k = &t.items[i];
		int here = knows(k, 0) && lacks(k, 1) ? 1 : knows(k, 1) && lacks(k, 0) ? 0 : -1;

		if (here < 0 || (*which >= 0 && here != *which))
			continue;
		*which = here;
		if (!count++)
			mt_buffer_printf(&text, "%s", *k->module ? k->module : "the program");
	}
	if (count > 1)
		mt_buffer_printf(&text, " and %u other module%s", count - 1, count > 2 ? "s" : "");
	free(t.items);
	if (!count)
		return NULL;
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}

static uint32_t nameless_in(const struct mt_backtrace *backtrace)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < backtrace->count; i++)
		count += !*backtrace->frames[i].function
			|| mt_frame_is_place(backtrace->frames[i].function);
	return count;
}

void mt_diff_backtrace(struct mt_backtrace *out, const struct mt_diff_side *a,
	const struct mt_diff_side *b, const struct mt_diff_entry *entry)
{
	struct mt_backtrace earlier = {0};

	if (entry->group_b == MT_NO_GROUP) {
		mt_backtrace_get(out, a->profile, a->symbols, entry->group_a);
		return;
	}
	mt_backtrace_get(out, b->profile, b->symbols, entry->group_b);
	if (entry->group_a == MT_NO_GROUP || !nameless_in(out))
		return;
	mt_backtrace_get(&earlier, a->profile, a->symbols, entry->group_a);
	if (nameless_in(&earlier) < nameless_in(out)) {
		struct mt_backtrace later = *out;

		*out = earlier;
		earlier = later;
	}
	mt_backtrace_free(&earlier);
}
