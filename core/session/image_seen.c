/* What is seen of an image's process from outside while it runs: names of its threads, modules, its
 * title, its memory. */
#include "core/session/image_parts.h"

#include "core/capture/ring_pages.h"
#include "core/session/watch.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define CALIBRATE_NS (SECOND / 10)
#define MEMORY_EVERY_NS (SECOND / 10)
#define TITLE_FIRST_NS (SECOND / 100)
#define LAST_LOOK_NS (SECOND / 500) /* that an end waits for what is being looked at */
/* that returning pages of rings may take after a poll that found records, and after any other */
#define PAGES_BUSY_NS (SECOND / 10000)
#define PAGES_IDLE_NS (SECOND / 500)
#define OWN_GROWTH (64u << 10) /* bytes, while a sample of the memory is taken */
#define UNSURE_SAMPLES 8
#define ALLOCATOR_LOOKS 8 /* the addresses are set once each, unless the program writes nonsense */

/* ---- what is new ----------------------------------------------------------------------------- */

/* The module of an address of the program, as a string; 0: not known. */
static uint32_t module_of(struct mt_image *i, uint64_t address)
{
	uint32_t id = address ? mt_id_map_module_path(&i->merge.tables, address) : 0;
	char *path = address && !id ? mt_memory_module(i->process->pid, address) : NULL;

	if (path)
		id = mt_strings_add(&i->profile.strings, path);
	free(path);
	return id;
}

/* Whose malloc it is; at once, for the process may be gone soon. */
static void meet_allocators(struct mt_image *i)
{
	const struct mt_wire_header *h = i->segment.header;
	uint64_t allocator = __atomic_load_n(&h->allocator, __ATOMIC_RELAXED);
	uint64_t own = __atomic_load_n(&h->own_allocator, __ATOMIC_RELAXED);

	if ((allocator == i->allocator && own == i->own_allocator)
		|| i->allocator_looks >= ALLOCATOR_LOOKS)
		return;
	i->allocator_looks++;
	i->profile.info.allocator = module_of(i, i->allocator = allocator);
	i->profile.info.own_allocator = module_of(i, i->own_allocator = own);
	mt_merge_allocators(&i->merge);
}

/* Whether the entries of the program's functions lead to hooks, or why not. */
static void meet_patches(struct mt_image *i)
{
	i->profile.info.patched =
		(uint32_t)__atomic_load_n(&i->segment.header->patched, __ATOMIC_RELAXED);
	mt_image_find_refusal(i);
}

void mt_image_meet_new(struct mt_image *i)
{
	meet_allocators(i);
	meet_patches(i);
	for (; i->modules_opened < i->profile.module_count; i->modules_opened++)
		mt_resolver_module(i->resolver, &i->profile, i->modules_opened);
	mt_thread_names_meet(&i->thread_names, &i->profile, i->process->pid);
}

/* ---- now and then ---------------------------------------------------------------------------- */

void mt_image_take_memory(struct mt_image *i)
{
	i->model.memory = i->sampler.memory;
	i->profile.info.arenas = i->sampler.arenas;
	i->profile.info.vss_bytes = i->sampler.vss_bytes;
	i->profile.info.shared_bytes = i->sampler.shared_bytes;
	i->profile.info.arena_resident_bytes = i->sampler.arena_resident_bytes;
	if (i->sampler.memory.rss_bytes > i->profile.info.peak_rss_bytes) {
		i->profile.info.peak_rss_bytes = i->sampler.memory.rss_bytes;
		i->profile.info.peak_rss_ns = i->merge.horizon ? mt_image_taken_up_to(i) : 0;
	}
}

void mt_image_take_counters(struct mt_image *i)
{
	mt_merge_counters(&i->merge);
	mt_untraced_take(i->recorder, i->process, &i->profile);
}

static void tend_second(struct mt_image *i)
{
	mt_thread_names_refresh(&i->thread_names, &i->profile, i->process->pid);
	mt_image_take_counters(i);
	mt_merge_slack(&i->merge, false);
	mt_image_write_out(i);
}

/* Of a forked child, whose command line is its parent's until it says what it is: when its age has
 * doubled, and then every second. */
static bool title_is_due(struct mt_image *i, uint64_t now)
{
	if (!i->offer->forked || now < i->title_at)
		return false;
	i->title_every = !i->title_every  ? TITLE_FIRST_NS
		: i->title_every < SECOND ? 2 * i->title_every
					  : SECOND;
	i->title_at = now + i->title_every;
	return true;
}

static void take_title(struct mt_image *i)
{
	struct mt_process *p = i->process;
	struct mt_offer *o = i->offer;

	mt_buffer_free(&o->arguments);
	o->arguments = i->look->arguments;
	i->look->arguments = (struct mt_buffer){0};
	i->retitled = true;
	mt_process_command(p->pid, &o->arguments, o->command, sizeof o->command);
	pthread_mutex_lock(&i->recorder->lock);
	if (p->header == i->segment.header) /* else it has executed another program since */
		memcpy(p->command, o->command, sizeof p->command);
	pthread_mutex_unlock(&i->recorder->lock);
}

static void take_memory(struct mt_image *i)
{
	mt_model_advance(&i->model, mt_image_taken_up_to(i), 0);
	mt_image_take_memory(i);
}

static void take_look(struct mt_image *i, uint64_t wait_ns)
{
	struct mt_look *l = i->look;

	if (!l || !mt_look_take(i->recorder->onlooker, l, wait_ns))
		return;
	if (l->wants_memory) {
		mt_memory_take(&i->sampler, &l->sampler);
		take_memory(i);
		mt_image_add_bundled(i, &l->objects);
		mt_image_weigh_growth(i, &l->objects);
	}
	if (l->retitled)
		take_title(i);
}

static void begin_look(struct mt_image *i, uint64_t now)
{
	struct mt_look *l = i->look;

	if (l && mt_look_is_under_way(i->recorder->onlooker, l))
		return;
	bool memory = i->sampler.pid && mt_memory_is_due(&i->sampler, now);
	bool title = title_is_due(i, now);

	if (!memory && !title)
		return;
	if (!l)
		l = i->look = mt_look_new(i->process);
	l->sampler = i->sampler;
	l->wants_memory = memory;
	l->wants_title = title;
	mt_buffer_free(&l->arguments);
	mt_buffer_add(&l->arguments, i->offer->arguments.data, i->offer->arguments.len);
	mt_look_begin(i->recorder->onlooker, l);
}

void mt_image_look_no_more(struct mt_image *i)
{
	take_look(i, LAST_LOOK_NS);
	mt_look_free(i->recorder->onlooker, i->look);
	i->look = NULL;
}

/* The rings may grow while the kernel counts the whole. Then the sample is taken again, a few times
 * at most, so that a program's peak is not made of memtui's own memory. */
static void sample_memory(struct mt_image *i, uint64_t now)
{
	uint64_t before, after;

	if (now < i->sampler.rss_at)
		return;
	before = mt_ring_pages_resident(&i->merge);
	if (!mt_memory_sample(&i->sampler, i->process->pid, now))
		return;
	after = mt_ring_pages_resident(&i->merge);
	if (after > before + OWN_GROWTH && i->unsure_samples++ < UNSURE_SAMPLES) {
		i->sampler.rss_at = now;
		return;
	}
	i->unsure_samples = 0;
	mt_memory_own(&i->sampler, after,
		__atomic_load_n(&i->segment.header->private_bytes, __ATOMIC_RELAXED));
	take_memory(i);
	/* many take turns */
	i->sampler.rss_at += MEMORY_EVERY_NS * (atomic_load(&i->recorder->image_count) / 8);
}

void mt_image_tend(struct mt_image *i, uint64_t now, bool idle)
{
	if (mt_flight_is_making(&i->flight))
		mt_image_take_turn(i);
	take_look(i, 0);
	mt_ring_pages_tend(&i->merge, now, idle ? PAGES_IDLE_NS : PAGES_BUSY_NS);
	if (now - i->refined_at >= CALIBRATE_NS) {
		mt_clock_refine(&i->clock);
		i->refined_at = now;
	}
	sample_memory(i, now);
	begin_look(i, now);
	mt_watch_image(i->recorder->watch, i, now);
	mt_watch_signals(i);
	if (now - i->second_at >= SECOND) {
		tend_second(i);
		if (i->merge.between_due)
			mt_image_take_turn(i);
		i->second_at = now;
	}
}
