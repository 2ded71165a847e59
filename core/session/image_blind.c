/* Beside the trace of an image: which of its allocations were not seen (doc/blind-spots.md). */
#include "core/model/blind.h"
#include "core/session/image_parts.h"
#include "core/symbol/bundled.h"

#include <string.h>

#define GROWTH_LEAST (8ull << 20)
#define THREAD_BYTES (2ull << 20) /* of a stack that are resident: one huge page */

/* ---- allocators inside the program and its libraries ----------------------------------------- */

/* The program's own functions may lead to hooks: then nothing of it is hidden. */
void mt_image_add_bundled(struct mt_image *i, const struct mt_objects *objects)
{
	bool patched = i->profile.info.patched != 0;

	if (patched != i->patched_told)
		i->objects_told = 0; /* an entry that stands already stays as it is */
	i->patched_told = patched;
	for (; i->objects_told < objects->found_count; i->objects_told++) {
		const struct mt_object_found *found = &objects->found[i->objects_told];
		uint32_t at;

		/* that it calls its own malloc is said otherwise */
		if (found->allocator == mt_bundled_own_malloc
			|| !strcmp(mt_strings_get(&i->profile.strings,
					   i->profile.info.own_allocator),
				found->path))
			continue;
		at = mt_blind_add(&i->profile, MT_BLIND_BUNDLED_ALLOCATOR, i->profile.info.pid,
			found->path, 0, 0);

		i->profile.blind[at].detail = mt_strings_add(&i->profile.strings, found->allocator);
		mt_blind_set(&i->profile, at,
			!(patched && !strcmp(found->path, i->offer->program_path)), 0);
	}
}

void mt_image_look_at_program(struct mt_image *i)
{
	struct mt_objects objects = {0};

	mt_objects_look_at(&objects, i->recorder->objects, i->offer->program_path);
	i->objects_told = 0; /* an entry that stands already stays as it is */
	mt_image_add_bundled(i, &objects);
	mt_objects_free(&objects);
}

/* ---- memory that nobody accounts for --------------------------------------------------------- */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Anonymous memory beyond what malloc has from the system, the live blocks (large ones have
 * mappings of their own), the data of modules, and stacks. All of these are taken as if they were
 * resident, so the estimate is too small rather than too large. What exceeds the heap's peak
 * cannot be its fragmentation. */
void mt_image_weigh_growth(struct mt_image *i, const struct mt_objects *objects)
{
	const struct mt_profile *p = &i->profile;
	const struct mt_memory_sampler *s = &i->sampler;
	uint64_t anonymous = less(s->memory.rss_bytes, s->shared_bytes);
	uint64_t known = s->memory.arena_bytes + i->model.live_bytes + objects->data_bytes
		+ p->thread_count * THREAD_BYTES;
	uint64_t unseen = less(anonymous, known);
	uint32_t at;

	/* what an allocator inside the program has from the system is not known */
	if (p->info.patched || i->pauses || i->paused || !objects->data_bytes
		|| unseen < GROWTH_LEAST || unseen <= p->info.peak_bytes
		|| unseen <= i->unseen_bytes)
		return;
	i->unseen_bytes = unseen;
	at = mt_blind_add(&i->profile, MT_BLIND_GROWTH, p->info.pid, i->offer->program_path, 0, 0);
	mt_blind_set(&i->profile, at, 1, unseen);
}
