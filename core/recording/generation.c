#include "core/recording/generation.h"

#include "core/base/assert.h"
#include "core/base/buffer.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A part begins with what a generation points to. */
struct profile_part {
	struct mt_profile profile;
	atomic_uint holders;
};
struct symbols_part {
	struct mt_symbols symbols;
	atomic_uint holders;
};

static struct profile_part *profile_part(const struct mt_generation *g)
{
	return (struct profile_part *)g->profile;
}

static struct symbols_part *symbols_part(const struct mt_generation *g)
{
	return (struct symbols_part *)g->symbols;
}

static void hold(atomic_uint *holders)
{
	unsigned before = atomic_fetch_add_explicit(holders, 1, memory_order_relaxed);

	mt_assert(before);
	(void)before;
}

/* Whether it was the last one. */
static bool let_go(atomic_uint *holders)
{
	unsigned before = atomic_fetch_sub_explicit(holders, 1, memory_order_acq_rel);

	mt_assert(before);
	return before == 1;
}

/* Only the thread that changes parts takes holds, so that none is added behind this. */
static bool is_held_by_others(atomic_uint *holders)
{
	return atomic_load_explicit(holders, memory_order_acquire) > 1;
}

static void release_profile(const struct mt_generation *g)
{
	struct profile_part *part = profile_part(g);

	if (!part || !let_go(&part->holders))
		return;
	mt_profile_free(&part->profile);
	free(part);
}

static void release_symbols(const struct mt_generation *g)
{
	struct symbols_part *part = symbols_part(g);

	if (!part || !let_go(&part->holders))
		return;
	mt_symbols_free(&part->symbols);
	free(part);
}

static const struct mt_profile *new_profile(const struct mt_profile *content)
{
	struct profile_part *part = mt_alloc(sizeof *part);

	atomic_init(&part->holders, 1);
	part->profile = *content;
	return &part->profile;
}

static const struct mt_symbols *new_symbols(void)
{
	struct symbols_part *part = mt_alloc(sizeof *part);

	atomic_init(&part->holders, 1);
	mt_symbols_init(&part->symbols);
	return &part->symbols;
}

void mt_generation_init(struct mt_generation *g)
{
	struct mt_profile empty;

	mt_profile_init(&empty);
	*g = (struct mt_generation){.profile = new_profile(&empty), .symbols = new_symbols()};
}

struct mt_generation mt_generation_hold(const struct mt_generation *g, bool names)
{
	hold(&profile_part(g)->holders);
	if (names)
		hold(&symbols_part(g)->holders);
	return (struct mt_generation){g->profile, names ? g->symbols : NULL,
		mt_trace_reader_hold(g->reader)};
}

struct mt_generation mt_generation_hold_names(const struct mt_generation *g)
{
	hold(&symbols_part(g)->holders);
	return (struct mt_generation){.symbols = g->symbols};
}

void mt_generation_release(struct mt_generation *g)
{
	release_profile(g);
	release_symbols(g);
	mt_trace_reader_free(g->reader);
	*g = (struct mt_generation){0};
}

struct mt_profile *mt_generation_change_profile(struct mt_generation *g)
{
	struct profile_part *part = profile_part(g);

	return is_held_by_others(&part->holders) ? NULL : &part->profile;
}

struct mt_symbols *mt_generation_change_symbols(struct mt_generation *g)
{
	struct symbols_part *part = symbols_part(g);

	return is_held_by_others(&part->holders) ? NULL : &part->symbols;
}

void mt_generation_forget_symbols(struct mt_generation *g)
{
	uint64_t generation = g->symbols->generation;

	release_symbols(g);
	g->symbols = new_symbols();
	symbols_part(g)->symbols.generation = generation + 1;
}

void mt_generation_put(struct mt_generation *g, struct mt_profile *profile,
	struct mt_trace_reader *reader)
{
	release_profile(g);
	g->profile = new_profile(profile);
	*profile = (struct mt_profile){0};
	mt_trace_reader_free(g->reader);
	g->reader = reader;
}

void mt_generation_share_totals(struct mt_generation *g, const struct mt_generation *with)
{
	hold(&profile_part(with)->holders);
	release_profile(g);
	g->profile = with->profile;
	mt_trace_reader_free(g->reader);
	g->reader = mt_trace_reader_hold(with->reader);
}
