/* A machine with debug symbols and one without call the same place of the same library by different
 * names, or one has none for it. Build-id and address say that it is the same. */
#include "core/query/diff_places.h"

#include "core/base/buffer.h"
#include "core/query/frame.h"

#include <stdio.h>
#include <stdlib.h>

#define NO_BUILD 0xffffffffu

struct places {
	struct mt_strings builds; /* build-ids of modules */
	struct mt_strings texts;  /* of places: build and address */
	uint32_t *pcs;            /* by text: whose it is */
};

bool mt_diff_is_named(const struct mt_symbols *s, uint32_t pc)
{
	uint32_t first, count = mt_pc_frames(s, pc, &first);

	/* the outermost one is the function itself, others are inlined into it */
	return count
		&& !mt_frame_is_place(
			mt_strings_get(&s->strings, s->frames[first + count - 1].function));
}

/* By module: its build, or NO_BUILD. */
static uint32_t *builds_of(struct places *places, const struct mt_profile *p)
{
	uint32_t *builds = mt_alloc(((size_t)p->module_count + 1) * sizeof *builds);
	struct mt_buffer text = {0};

	for (uint32_t i = 0; i < p->module_count; i++) {
		const struct mt_module *module = &p->modules[i];

		text.len = 0;
		for (uint32_t k = 0; k < module->build_id_len; k++)
			mt_buffer_printf(&text, "%02x", module->build_id[k]);
		builds[i] = module->build_id_len
			? mt_strings_add(&places->builds, (const char *)text.data)
			: NO_BUILD;
	}
	mt_buffer_free(&text);
	return builds;
}

/* The number of the place's text, or 0. */
static uint32_t place_of(struct places *places, const struct mt_profile *p, const uint32_t *builds,
	uint32_t pc)
{
	const struct mt_pc *at = &p->pcs[pc];
	char text[40];

	if (at->module >= p->module_count || builds[at->module] == NO_BUILD)
		return 0;
	snprintf(text, sizeof text, "%u+%llx", builds[at->module],
		(unsigned long long)(at->address - p->modules[at->module].bias));
	return mt_strings_add(&places->texts, text);
}

uint32_t *mt_diff_places(const struct mt_diff_side *side, const struct mt_diff_side *other)
{
	const struct mt_profile *ours = side->profile, *theirs = other->profile;
	uint32_t *found = mt_alloc(((size_t)ours->pc_count + 1) * sizeof *found), *builds, known;
	struct places places = {0};

	mt_strings_init(&places.builds);
	mt_strings_init(&places.texts);
	places.pcs = mt_alloc(((size_t)theirs->pc_count + 2) * sizeof *places.pcs);
	builds = builds_of(&places, theirs);
	for (uint32_t pc = MT_PC_FIRST; pc < theirs->pc_count; pc++)
		if (mt_diff_is_named(other->symbols, pc))
			places.pcs[place_of(&places, theirs, builds, pc)] = pc;
	free(builds);
	known = places.texts.count;
	builds = builds_of(&places, ours);
	for (uint32_t pc = MT_PC_FIRST; pc < ours->pc_count; pc++) {
		uint32_t place = place_of(&places, ours, builds, pc);

		if (place && place < known)
			found[pc] = places.pcs[place];
	}
	free(builds);
	free(places.pcs);
	mt_strings_free(&places.texts);
	mt_strings_free(&places.builds);
	return found;
}
