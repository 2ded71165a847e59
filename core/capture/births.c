#include "core/capture/births.h"
#include "core/capture/merge.h"
#include "core/capture/ring.h"

#include <stdlib.h>
#include <string.h>

#define RELEASED 0x80000000u
#define CHAINS_LEAST 65536u
#define DIGIT_BITS 11u
#define AHEAD 12u

void mt_births_init(struct mt_merge *m)
{
	m->births = mt_alloc(sizeof *m->births);
	m->match.by_id = true;
}

void mt_births_free(struct mt_births *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->chunk_count; i++)
		free(b->chunks[i]);
	free(b->chunks);
	free(b->chains);
	mt_births_done(b);
	free(b);
}

void mt_births_done(struct mt_births *b)
{
	free(b->items);
	free(b->released);
	b->items = NULL;
	b->released = NULL;
	b->released_count = b->released_capacity = 0;
	b->item_count = 0;
}

struct mt_birth *mt_births_at(struct mt_births *b, uint32_t id)
{
	while (id / MT_POOL_CHUNK >= b->chunk_count) {
		MT_GROW(b->chunks, b->chunk_count, b->chunk_capacity);
		b->chunks[b->chunk_count++] = mt_alloc(MT_POOL_CHUNK * sizeof **b->chunks);
	}
	return &b->chunks[id / MT_POOL_CHUNK][id % MT_POOL_CHUNK];
}

/* The chain that a realloc of this block goes on with. */
static uint32_t next_chain(struct mt_births *b, const struct mt_release *previous)
{
	if (previous->birth.chain) {
		b->chains[previous->birth.chain - 1].position++;
		return previous->birth.chain;
	}
	MT_GROW(b->chains, b->chain_count, b->chain_capacity);
	b->chains[b->chain_count] = (struct mt_birth_chain){
		.number = previous->cell.number,
		.size = previous->cell.size,
		.time_ns = previous->birth.time_ns,
		.position = 2,
	};
	return ++b->chain_count;
}

void mt_births_note(struct mt_merge *m, uint32_t id, const struct mt_release *previous)
{
	uint32_t thread = mt_pool_cell(&m->match.pool, id)->thread;

	*mt_births_at(m->births, id) = (struct mt_birth){
		.time_ns = m->now_ns,
		.sequence = m->model->threads[thread].sequence,
		.chain = previous ? next_chain(m->births, previous) : 0,
	};
}

bool mt_births_are_many(const struct mt_births *b)
{
	return b->chain_count > CHAINS_LEAST && b->chain_count / 2 > b->chains_kept;
}

/* ---- what lives ------------------------------------------------------------------------------ */

static void keep_chain(struct mt_births *b, struct mt_birth_chain *kept, struct mt_birth *birth)
{
	if (!birth->chain)
		return;
	kept[b->chains_kept++] = b->chains[birth->chain - 1];
	birth->chain = b->chains_kept;
}

static void collect_released(struct mt_merge *m, struct mt_birth_chain *kept)
{
	struct mt_births *b = m->births;

	for (uint32_t i = 0; i < m->ring_count; i++)
		for (uint32_t at = 0; at < m->rings[i].release_count; at++) {
			struct mt_release *open = &m->rings[i].releases[at];

			if (!open->known)
				continue;
			keep_chain(b, kept, &open->birth);
			MT_GROW(b->released, b->released_count, b->released_capacity);
			b->released[b->released_count] = open;
			b->items[b->item_count++] = (struct mt_births_item){open->cell.number,
				RELEASED | b->released_count++};
		}
}

/* In the order of the pool, which is that of memory. */
static void collect_live(struct mt_merge *m, struct mt_birth_chain *kept)
{
	struct mt_births *b = m->births;

	for (uint32_t id = 0; id < m->match.pool.cell_count; id++) {
		const struct mt_pool_cell *cell = mt_pool_cell(&m->match.pool, id);

		mt_segment_tick_at(m->segment, id);
		if (!cell->address)
			continue;
		keep_chain(b, kept, mt_births_at(b, id));
		b->items[b->item_count++] = (struct mt_births_item){cell->number, id};
	}
}

/* By number: stable passes over its digits, the lowest first. */
static void sort(struct mt_births *b, uint64_t most, const struct mt_segment *ticking)
{
	struct mt_births_item *from = b->items;
	struct mt_births_item *to = mt_resize(NULL, (b->item_count + 1) * sizeof *to), *swap;

	for (unsigned shift = 0; shift < 64 && most >> shift; shift += DIGIT_BITS) {
		uint64_t start[1u << DIGIT_BITS] = {0}, sum = 0;

		for (uint64_t i = 0; i < b->item_count; i++)
			start[from[i].number >> shift & ((1u << DIGIT_BITS) - 1)]++;
		for (uint32_t d = 0; d < 1u << DIGIT_BITS; d++) {
			uint64_t count = start[d];

			start[d] = sum;
			sum += count;
		}
		for (uint64_t i = 0; i < b->item_count; i++) {
			to[start[from[i].number >> shift & ((1u << DIGIT_BITS) - 1)]++] = from[i];
			mt_segment_tick_at(ticking, i);
		}
		swap = from;
		from = to;
		to = swap;
	}
	b->items = from;
	free(to);
}

uint64_t mt_births_collect(struct mt_merge *m)
{
	struct mt_births *b = m->births;
	struct mt_birth_chain *kept = mt_resize(NULL, ((size_t)b->chain_count + 1) * sizeof *kept);

	mt_births_done(b);
	b->items = mt_resize(NULL,
		((size_t)m->match.pool.cell_count + (size_t)m->ring_count * MT_RING_RELEASES + 1)
			* sizeof *b->items);
	b->chains_kept = 0;
	collect_live(m, kept);
	collect_released(m, kept);
	free(b->chains);
	b->chains = kept;
	b->chain_capacity = b->chain_count + 1;
	b->chain_count = b->chains_kept;
	sort(b, m->next_number, m->segment);
	return b->item_count;
}

static void fill_in(const struct mt_births *b, const struct mt_pool_cell *cell,
	const struct mt_birth *birth, struct mt_checkpoint_block *out)
{
	*out = (struct mt_checkpoint_block){
		.number = cell->number,
		.address = cell->address,
		.size = cell->size,
		.time_ns = birth->time_ns,
		.sequence = birth->sequence,
		.group = cell->group,
		.thread = cell->thread,
		.position = 1,
		.chain = cell->number,
		.first_size = cell->size,
		.chain_start_ns = birth->time_ns,
	};
	if (birth->chain) {
		const struct mt_birth_chain *chain = &b->chains[birth->chain - 1];

		out->position = chain->position;
		out->chain = chain->number;
		out->first_size = chain->size;
		out->chain_start_ns = chain->time_ns;
	}
}

void mt_births_block(const struct mt_merge *m, uint64_t i, struct mt_checkpoint_block *out)
{
	const struct mt_births *b = m->births;
	uint32_t cell = b->items[i].cell;

	if (i + AHEAD < b->item_count && !(b->items[i + AHEAD].cell & RELEASED)) {
		__builtin_prefetch(mt_pool_cell(&m->match.pool, b->items[i + AHEAD].cell));
		__builtin_prefetch(mt_births_at(m->births, b->items[i + AHEAD].cell));
	}
	if (cell & RELEASED) {
		const struct mt_release *open = b->released[cell & ~RELEASED];

		fill_in(b, &open->cell, &open->birth, out);
		out->released = true;
		out->temporary = open->temporary;
		return;
	}
	fill_in(b, mt_pool_cell(&m->match.pool, cell), mt_births_at(m->births, cell), out);
	out->usable = mt_slack_usable(&m->slack, mt_pool_cell(&m->match.pool, cell));
}
