/* Beside the trace of an image: which of its allocations were not seen (doc/blind-spots.md). */
#include "core/model/blind.h"
#include "core/session/image_parts.h"
#include "core/symbol/bundled.h"

#include <stdlib.h>
#include <string.h>

#define GROWTH_LEAST (8ull << 20)
/* No sample at all may stand for so many times the mean distance of samples, in 98 of 100 cases. */
#define UNSAMPLED 4u
#define THREAD_BYTES (2ull << 20) /* of a stack that are resident: one huge page */

/* ---- allocators inside the program and its libraries ----------------------------------------- */

static bool is_patched(struct mt_image *i, const char *path)
{
	struct mt_recorder *r = i->recorder;
	const struct mt_carrier *c;
	bool is;

	pthread_mutex_lock(&r->lock);
	c = mt_carriers_find(r, i->offer->segment_id, path);
	is = c && c->patched;
	pthread_mutex_unlock(&r->lock);
	return is;
}

/* The functions of a module may lead to hooks: then nothing of it is hidden. */
static void add_one(struct mt_image *i, const char *path, const char *allocator)
{
	uint32_t at;

	/* that it calls its own malloc is said otherwise */
	if (allocator == mt_bundled_own_malloc
		|| !strcmp(mt_strings_get(&i->profile.strings, i->profile.info.own_allocator),
			path))
		return;
	at = mt_blind_add(&i->profile, MT_BLIND_BUNDLED_ALLOCATOR, i->profile.info.pid, path, 0, 0);
	i->profile.blind[at].detail = mt_strings_add(&i->profile.strings, allocator);
	mt_blind_set(&i->profile, at, !is_patched(i, path), 0);
}

void mt_image_add_bundled(struct mt_image *i, const struct mt_objects *objects)
{
	uint32_t patched = i->profile.info.patched;

	if (patched != i->patched_told)
		i->objects_told = 0; /* an entry that stands already stays as it is */
	i->patched_told = patched;
	for (; i->objects_told < objects->found_count; i->objects_told++)
		add_one(i, objects->found[i->objects_told].path,
			objects->found[i->objects_told].allocator);
}

void mt_image_find_refusal(struct mt_image *i)
{
	struct mt_recorder *r = i->recorder;
	const struct mt_carrier *c;
	uint32_t at = 0;

	if (i->profile.info.unpatched)
		return;
	pthread_mutex_lock(&r->lock);
	while ((c = mt_carriers_next(r, i->offer->segment_id, &at)))
		if (c->why && !c->patched)
			i->profile.info.unpatched = mt_strings_add(&i->profile.strings, c->why);
	pthread_mutex_unlock(&r->lock);
}

/* Of libraries, what the service has seen when they were opened. */
static void add_carriers(struct mt_image *i)
{
	struct mt_recorder *r = i->recorder;
	const struct mt_carrier *c;
	char *path = NULL;
	uint32_t at = 0;

	mt_image_find_refusal(i);
	do {
		const char *allocator = NULL;

		pthread_mutex_lock(&r->lock);
		c = mt_carriers_next(r, i->offer->segment_id, &at);
		if (c && c->allocator) {
			path = mt_strdup(c->path);
			allocator = c->allocator;
		}
		pthread_mutex_unlock(&r->lock);
		if (allocator)
			add_one(i, path, allocator);
		free(path);
		path = NULL;
	} while (c);
}

void mt_image_look_at_program(struct mt_image *i)
{
	struct mt_objects objects = {0};

	mt_objects_look_at(&objects, i->recorder->objects, i->offer->program_path);
	i->objects_told = 0; /* an entry that stands already stays as it is */
	mt_image_add_bundled(i, &objects);
	mt_objects_free(&objects);
	add_carriers(i);
	if (i->recorder->named && i->process == i->recorder->root
		&& !atomic_load(&i->recorder->named_found))
		mt_blind_add(&i->profile, MT_BLIND_NOT_FOUND, i->profile.info.pid,
			i->offer->program_path, 1, 0);
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
	if (p->info.patched || mt_info_is_gated(&p->info) || p->info.sample_every || i->pauses
		|| i->paused || !objects->data_bytes
		|| unseen < GROWTH_LEAST + UNSAMPLED * p->info.sample_bytes
		|| unseen <= p->info.peak_bytes || unseen <= i->unseen_bytes)
		return;
	i->unseen_bytes = unseen;
	at = mt_blind_add(&i->profile, MT_BLIND_GROWTH, p->info.pid, i->offer->program_path, 0, 0);
	mt_blind_set(&i->profile, at, 1, unseen);
}
