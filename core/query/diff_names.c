/* Modules of which one side of a difference knows the functions' names and the other does not. */
#include "core/base/buffer.h"
#include "core/query/diff.h"
#include "core/query/frame.h"

#include <stdlib.h>
#include <string.h>

#define MOST 10 /* frames with a name to one without, and the other way round */

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

static void add_side(struct table *t, const struct mt_diff_side *side, int which)
{
	const struct mt_profile *p = side->profile;
	uint32_t *at = mt_alloc(((size_t)p->module_count + 1) * sizeof *at);

	for (uint32_t i = 0; i < p->module_count; i++) {
		const char *path = mt_strings_get(&p->strings, p->modules[i].path);

		at[i] = (uint32_t)(find(t, base_name(path)) - t->items);
	}
	for (uint32_t pc = MT_PC_FIRST; pc < p->pc_count; pc++) {
		const struct mt_symbols *s = side->symbols;
		uint32_t first, count = mt_pc_frames(s, pc, &first);

		if (!count || p->pcs[pc].module >= p->module_count)
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
	return k->nameless[which] >= MOST * k->named[which] && k->nameless[which];
}

char *mt_diff_nameless(const struct mt_diff_side *a, const struct mt_diff_side *b, int *which)
{
	struct table t = {0};
	struct mt_buffer text = {0};
	uint32_t count = 0;

	add_side(&t, a, 0);
	add_side(&t, b, 1);
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
