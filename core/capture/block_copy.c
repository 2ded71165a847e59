#include "core/capture/block_copy.h"
#include "core/capture/merge.h"
#include "core/capture/ring.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)
#define CELLS 512u /* of the live table at once, on a stack that may be small */

struct mt_copied_block {
	uint64_t number, address, size;
	uint32_t group, thread;
	uint32_t extra; /* index + 1 into extras, 0: none */
	bool released, temporary;
};

/* Of few blocks: those with a noted usable size or a chain. Both may be gone when it is asked
 * for. */
struct mt_copied_extra {
	uint64_t usable, first, first_size, start_ns;
	uint32_t position;
};

/* ---- copying --------------------------------------------------------------------------------- */

static uint32_t add_extra(struct mt_merge *m, const struct mt_pool_cell *cell, bool released)
{
	struct mt_block_copy *c = m->copy;
	const struct mt_block_history_chain *chain =
		mt_block_history_chain(m->history, cell->number);
	uint64_t usable = released ? 0 : mt_slack_usable(&m->slack, cell);

	if (!chain && !usable)
		return 0;
	MT_GROW(c->extras, c->extra_count, c->extra_capacity);
	c->extras[c->extra_count] = (struct mt_copied_extra){.usable = usable};
	if (chain) {
		c->extras[c->extra_count].position = chain->position;
		c->extras[c->extra_count].first = chain->first;
		c->extras[c->extra_count].first_size = chain->first_size;
		c->extras[c->extra_count].start_ns = chain->start_ns;
	}
	return ++c->extra_count;
}

static void add_to(struct mt_merge *m, struct mt_copied_run *run, const struct mt_pool_cell *cell,
	const struct mt_release *release)
{
	run->blocks[run->count++] = (struct mt_copied_block){
		.number = cell->number,
		.address = cell->address,
		.size = cell->size,
		.group = cell->group,
		.thread = cell->thread,
		.extra = add_extra(m, cell, release != NULL),
		.released = release != NULL,
		.temporary = release && release->temporary,
	};
}

/* One pass of a radix sort. */
static void sort_by_digit(const struct mt_copied_block *from, struct mt_copied_block *to,
	uint32_t count, unsigned shift)
{
	uint32_t places[DIGITS] = {0}, place = 0;

	for (uint32_t i = 0; i < count; i++)
		places[from[i].number >> shift & (DIGITS - 1)]++;
	for (uint32_t i = 0; i < DIGITS; i++) {
		uint32_t here = places[i];

		places[i] = place;
		place += here;
	}
	for (uint32_t i = 0; i < count; i++)
		to[places[from[i].number >> shift & (DIGITS - 1)]++] = from[i];
}

/* By number. The order of equal numbers stays. */
static void sort(struct mt_block_copy *c, struct mt_copied_run *run)
{
	uint64_t differ = 0;

	for (uint32_t i = 1; i < run->count; i++)
		differ |= run->blocks[i].number ^ run->blocks[0].number;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		struct mt_copied_block *sorted = c->spare;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		sort_by_digit(run->blocks, sorted, run->count, shift);
		c->spare = run->blocks;
		run->blocks = sorted;
	}
}

static struct mt_copied_run new_run(void)
{
	return (struct mt_copied_run){
		.blocks = mt_alloc(MT_COPY_SLICE * sizeof(struct mt_copied_block))};
}

static void close_run(struct mt_block_copy *c, struct mt_copied_run *run)
{
	if (!run->count) {
		free(run->blocks);
		return;
	}
	sort(c, run);
	if (run->count < MT_COPY_SLICE)
		run->blocks = mt_resize(run->blocks, run->count * sizeof *run->blocks);
	MT_GROW(c->runs, c->run_count, c->run_capacity);
	c->runs[c->run_count++] = *run;
	c->copied += run->count;
}

static void keep(struct mt_merge *m, const struct mt_pool_cell *cell,
	const struct mt_release *release)
{
	struct mt_block_copy *c = m->copy;

	if (c->open.count == MT_COPY_SLICE) {
		close_run(c, &c->open);
		c->open = new_run();
	}
	add_to(m, &c->open, cell, release);
}

void mt_block_copy_keep(struct mt_merge *m, const struct mt_pool_cell *cell)
{
	keep(m, cell, NULL);
}

void mt_block_copy_begin(struct mt_merge *m)
{
	struct mt_block_copy *c = m->copy = mt_alloc(sizeof *c);

	mt_assert(m->history && !m->copied_before);
	c->before = m->copied_before = m->next_number;
	c->spare = mt_alloc(MT_COPY_SLICE * sizeof *c->spare);
	c->open = new_run();
	mt_block_history_split(m->history);
	for (uint32_t i = 0; i < m->ring_count; i++)
		for (uint32_t at = 0; at < m->rings[i].release_count; at++)
			if (m->rings[i].releases[at].known)
				keep(m, &m->rings[i].releases[at].cell, &m->rings[i].releases[at]);
	mt_merge_slice(m, &c->walk, NULL, 0); /* deferred blocks enter the table */
}

static bool is_before(const struct mt_block_copy *c, uint32_t a, uint32_t b)
{
	const struct mt_copied_run *x = &c->runs[a], *y = &c->runs[b];
	const struct mt_copied_block *left = &x->blocks[x->at], *right = &y->blocks[y->at];

	/* A block that was released at the instant may have been restored, and copied after it. */
	return left->number < right->number
		|| (left->number == right->number && left->released > right->released);
}

static void sift(struct mt_block_copy *c, uint32_t at)
{
	uint32_t run = c->heap[at], child;

	while ((child = 2 * at + 1) < c->heap_count) {
		child += child + 1 < c->heap_count
			&& is_before(c, c->heap[child + 1], c->heap[child]);
		if (!is_before(c, c->heap[child], run))
			break;
		c->heap[at] = c->heap[child];
		at = child;
	}
	c->heap[at] = run;
}

/* What was copied is merged from now on. */
static void close_copy(struct mt_merge *m)
{
	struct mt_block_copy *c = m->copy;

	m->copied_before = 0; /* blocks may end */
	close_run(c, &c->open);
	c->open = (struct mt_copied_run){0};
	c->heap = mt_alloc((c->run_count + 1) * sizeof *c->heap);
	for (uint32_t i = 0; i < c->run_count; i++)
		c->heap[c->heap_count++] = i;
	for (uint32_t i = c->heap_count / 2; i-- > 0;)
		sift(c, i);
	c->survivors = mt_alloc((c->copied + 1) * sizeof *c->survivors);
}

bool mt_block_copy_slice(struct mt_merge *m, uint32_t most)
{
	struct mt_block_copy *c = m->copy;
	struct mt_copied_run run = new_run();
	struct mt_pool_cell cells[CELLS];
	uint32_t count = 1;

	for (uint32_t met = 0; count && met < most; met += count) {
		count = mt_merge_slice(m, &c->walk, cells, most - met < CELLS ? most - met : CELLS);
		for (uint32_t i = 0; i < count; i++)
			if (cells[i].number < c->before)
				add_to(m, &run, &cells[i], NULL);
	}
	close_run(c, &run);
	if (count)
		return true;
	close_copy(m);
	return false;
}

/* ---- merging --------------------------------------------------------------------------------- */

static const struct mt_copied_block *take_first(struct mt_block_copy *c)
{
	struct mt_copied_run *run = &c->runs[*c->heap];
	const struct mt_copied_block *block = &run->blocks[run->at++];

	if (run->at == run->count)
		*c->heap = c->heap[--c->heap_count];
	if (c->heap_count)
		sift(c, 0);
	return block;
}

bool mt_block_copy_next(struct mt_merge *m, struct mt_checkpoint_block *out)
{
	struct mt_block_copy *c = m->copy;
	struct mt_block_history_survivor *born = &c->survivors[c->survivor_count];
	const struct mt_copied_block *b;
	const struct mt_copied_extra *extra;

	if (!c->heap_count)
		return false;
	b = take_first(c);
	while (c->heap_count) { /* the same block again: a slice met it before it was kept */
		const struct mt_copied_run *next = &c->runs[*c->heap];

		if (next->blocks[next->at].number != b->number)
			break;
		take_first(c);
	}
	mt_block_history_at(m->history, &c->cursor, b->number, born);
	c->survivor_count++;
	extra = b->extra ? &c->extras[b->extra - 1] : NULL;
	*out = (struct mt_checkpoint_block){
		.number = b->number,
		.address = b->address,
		.size = b->size,
		.time_ns = born->time_ns,
		.sequence = born->sequence,
		.group = b->group,
		.thread = b->thread,
		.released = b->released,
		.temporary = b->temporary,
		.usable = extra ? extra->usable : 0,
		.position = extra && extra->position ? extra->position : 1,
		.chain = extra && extra->position ? extra->first : b->number,
		.first_size = extra && extra->position ? extra->first_size : b->size,
		.chain_start_ns = extra && extra->position ? extra->start_ns : born->time_ns,
	};
	return true;
}

void mt_block_copy_end(struct mt_merge *m, bool taken)
{
	struct mt_block_copy *c = m->copy;

	if (!c)
		return;
	m->copy = NULL;
	m->copied_before = 0;
	if (taken)
		mt_block_history_survive(m->history, c->survivors, c->survivor_count);
	else
		free(c->survivors);
	for (uint32_t i = 0; i < c->run_count; i++)
		free(c->runs[i].blocks);
	free(c->runs);
	free(c->open.blocks);
	free(c->extras);
	free(c->heap);
	free(c->spare);
	free(c);
}
