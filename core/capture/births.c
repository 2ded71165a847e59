#include "core/capture/births.h"
#include "core/capture/merge.h"
#include "core/capture/ring.h"

#include <stdlib.h>

#define LEAST 65536u /* births, before ended ones are looked for */

void mt_births_init(struct mt_merge *m)
{
	m->births = mt_alloc(sizeof *m->births);
}

void mt_births_free(struct mt_births *b)
{
	if (!b)
		return;
	free(b->items);
	free(b->chains);
	free(b->released);
	free(b);
}

void mt_births_done(struct mt_births *b)
{
	b->released_count = 0;
}

static void set_capacity(struct mt_births *b, uint64_t capacity)
{
	b->capacity = capacity;
	b->items = mt_resize(b->items, capacity * sizeof *b->items);
}

/* Whether so many have ended that it is worth looking for them. */
static bool are_many(const struct mt_merge *m)
{
	uint64_t live = m->model->live_count;

	return m->births->count > live + live / 2 + LEAST;
}

void mt_births_grow(struct mt_merge *m)
{
	m->between_due |= m->between && are_many(m);
	set_capacity(m->births, m->births->capacity + m->births->capacity / 2 + LEAST);
}

/* Where the number is, or would be: all that is here begins with a number, and these rise. */
static uint64_t place_of(const void *items, uint64_t count, size_t size, uint64_t number)
{
	uint64_t low = 0, high = count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (*(const uint64_t *)((const char *)items + middle * size) < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* The chain of the block, or NULL: it continues none. */
static const struct mt_birth_chain *find_chain(const struct mt_births *b, uint64_t number)
{
	uint64_t at = place_of(b->chains, b->chain_count, sizeof *b->chains, number);

	return at < b->chain_count && b->chains[at].number == number ? &b->chains[at] : NULL;
}

static uint64_t start_of(const struct mt_births *b, uint64_t number)
{
	uint64_t at = place_of(b->items, b->count, sizeof *b->items, number);

	return at < b->count ? b->items[at].time_ns : 0;
}

void mt_births_continue(struct mt_births *b, uint64_t number, const struct mt_release *previous)
{
	const struct mt_birth_chain *before = find_chain(b, previous->cell.number);
	struct mt_birth_chain chain = before
		? *before
		: (struct mt_birth_chain){
			.first = previous->cell.number,
			.first_size = previous->cell.size,
			.start_ns = start_of(b, previous->cell.number),
			.position = 1,
		};

	mt_assert(!b->chain_count || b->chains[b->chain_count - 1].number < number);
	chain.number = number;
	chain.position++;
	MT_GROW(b->chains, b->chain_count, b->chain_capacity);
	b->chains[b->chain_count++] = chain;
}

static void trim_chains(struct mt_births *b)
{
	const struct mt_birth *birth = b->items, *end = b->items + b->count;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < b->chain_count; i++) {
		while (birth < end && birth->number < b->chains[i].number)
			birth++;
		if (birth < end && birth->number == b->chains[i].number)
			b->chains[kept++] = b->chains[i];
	}
	b->chain_count = kept;
}

/* ---- what lives ------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
	const struct mt_births_released *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void collect_released(struct mt_merge *m)
{
	struct mt_births *b = m->births;

	b->released_count = 0;
	for (uint32_t i = 0; i < m->ring_count; i++)
		for (uint32_t at = 0; at < m->rings[i].release_count; at++) {
			const struct mt_release *open = &m->rings[i].releases[at];

			if (!open->known)
				continue;
			MT_GROW(b->released, b->released_count, b->released_capacity);
			b->released[b->released_count++] =
				(struct mt_births_released){open->cell.number, open};
		}
	if (b->released_count)
		qsort(b->released, b->released_count, sizeof *b->released, by_number);
}

static const struct mt_release *find_released(const struct mt_births *b, uint64_t number)
{
	uint64_t at = place_of(b->released, b->released_count, sizeof *b->released, number);

	return at < b->released_count && b->released[at].number == number
		? b->released[at].release
		: NULL;
}

/* Copies the block, if it lives. */
static bool find_live(struct mt_merge *m, const struct mt_birth *birth, struct mt_pool_cell *block)
{
	struct mt_live_table_place place;
	const struct mt_pool_cell *cell = mt_live_table_look_up(&m->live, birth->address, &place);

	if (!cell || cell->number != birth->number)
		return false;
	*block = *cell;
	return true;
}

/* From a place on. Released blocks are collected. */
static void trim_from(struct mt_merge *m, uint64_t from)
{
	struct mt_births *b = m->births;
	uint64_t kept = from;

	for (uint64_t i = from; i < b->count; i++) {
		const struct mt_birth birth = b->items[i];

		mt_segment_tick_at(m->segment, i);
		if (mt_live_table_is(&m->live, birth.address, birth.number)
			|| (b->released_count && find_released(b, birth.number)))
			b->items[kept++] = birth;
	}
	b->count = b->old = kept;
}

static bool births_rise(const struct mt_births *b)
{
	for (uint64_t i = 1; i < b->count; i++)
		if (b->items[i - 1].number >= b->items[i].number)
			return false;
	return b->old <= b->count;
}

static void trim(struct mt_merge *m, bool all)
{
	struct mt_births *b = m->births;

	mt_assert_expensive(births_rise(b));
	collect_released(m);
	if (!all)
		trim_from(m, b->old);
	if (all || are_many(m))
		trim_from(m, 0);
	trim_chains(b);
	set_capacity(b, b->count + b->count / 2 + LEAST);
}

/* Most blocks die young: those that were there before are looked at when they must be the many that
 * have ended. */
void mt_births_trim(struct mt_merge *m)
{
	trim(m, false);
	mt_births_done(m->births);
}

uint64_t mt_births_collect(struct mt_merge *m)
{
	trim(m, true);
	return m->births->count;
}

void mt_births_block(struct mt_merge *m, uint64_t i, struct mt_checkpoint_block *out)
{
	const struct mt_births *b = m->births;
	const struct mt_birth *birth = &b->items[i];
	const struct mt_birth_chain *chain = find_chain(b, birth->number);
	const struct mt_release *open = NULL;
	struct mt_pool_cell block;

	if (!find_live(m, birth, &block)) {
		open = find_released(b, birth->number);
		mt_assert(open); /* mt_births_collect has left out the others */
		block = open->cell;
	}
	*out = (struct mt_checkpoint_block){
		.number = birth->number,
		.address = birth->address,
		.size = block.size,
		.time_ns = birth->time_ns,
		.sequence = birth->sequence,
		.group = block.group,
		.thread = block.thread,
		.released = open != NULL,
		.temporary = open && open->temporary,
		.usable = open ? 0 : mt_slack_usable(&m->slack, &block),
		.position = chain ? chain->position : 1,
		.chain = chain ? chain->first : birth->number,
		.first_size = chain ? chain->first_size : block.size,
		.chain_start_ns = chain ? chain->start_ns : birth->time_ns,
	};
}
