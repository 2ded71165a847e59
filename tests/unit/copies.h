/* Copies of the live blocks that are made while events go on, held against what lived at their
 * instants: all at once by address, and by the events that are read. */
#ifndef MT_TESTS_COPIES_H
#define MT_TESTS_COPIES_H

#include "core/capture/block_copy.h"
#include "core/capture/merge.h"
#include "core/capture/ring.h"

struct copies {
	struct mt_checkpoint_block *blocks; /* of all copies */
	uint32_t count, capacity;
	/* Of the instant of the copy that is under way. */
	struct copies_truth {
		struct mt_pool_cell cell;
		bool released, temporary;
	} * truth;
	uint32_t truth_count, truth_capacity;
	bool merging;
	uint32_t finished, kept; /* copies; those in which a block ended before it was met */
};

static int copies_by_number(const void *a, const void *b)
{
	const struct copies_truth *x = a, *y = b;

	return x->cell.number < y->cell.number ? -1 : x->cell.number > y->cell.number;
}

static void copies_add_truth(struct copies *c, const struct mt_pool_cell *cell,
	const struct mt_release *release)
{
	MT_GROW(c->truth, c->truth_count, c->truth_capacity);
	c->truth[c->truth_count++] =
		(struct copies_truth){*cell, release != NULL, release && release->temporary};
}

static void copies_see_truth(struct copies *c, struct mt_merge *m)
{
	struct mt_merge_walk walk = {0};
	struct mt_pool_cell cell;

	c->truth_count = 0;
	for (uint32_t i = 0; i < m->ring_count; i++)
		for (uint32_t at = 0; at < m->rings[i].release_count; at++)
			if (m->rings[i].releases[at].known)
				copies_add_truth(c, &m->rings[i].releases[at].cell,
					&m->rings[i].releases[at]);
	while (mt_merge_slice(m, &walk, &cell, 1))
		copies_add_truth(c, &cell, NULL);
	if (c->truth_count)
		qsort(c->truth, c->truth_count, sizeof *c->truth, copies_by_number);
}

/* The next step of a copy, or the first one. most: blocks of a slice. */
static void copies_go_on(struct copies *c, struct mt_merge *m, uint32_t most)
{
	struct mt_checkpoint_block b;
	uint32_t count = 0;

	if (!m->copy) {
		copies_see_truth(c, m);
		mt_block_copy_begin(m);
		m->slicing = true;
		c->merging = false;
		return;
	}
	if (!c->merging) {
		c->merging = !mt_block_copy_slice(m, most);
		return;
	}
	c->kept += m->copy->copied > c->truth_count;
	for (; mt_block_copy_next(m, &b); count++) {
		assert_true(count < c->truth_count);
		assert_int_equal(b.number, c->truth[count].cell.number);
		assert_int_equal(b.address, c->truth[count].cell.address);
		assert_int_equal(b.size, c->truth[count].cell.size);
		assert_int_equal(b.group, c->truth[count].cell.group);
		assert_int_equal(b.thread, c->truth[count].cell.thread);
		assert_int_equal(b.released, c->truth[count].released);
		assert_int_equal(b.temporary, c->truth[count].temporary);
		MT_GROW(c->blocks, c->count, c->capacity);
		c->blocks[c->count++] = b;
	}
	assert_int_equal(count, c->truth_count);
	mt_block_copy_end(m, true);
	m->slicing = false;
	c->finished++;
}

/* All that lives now. */
static void copies_finish(struct copies *c, struct mt_merge *m)
{
	uint32_t finished = c->finished;

	while (m->copy || c->finished == finished)
		copies_go_on(c, m, 1000);
	while (c->finished < finished + 2)
		copies_go_on(c, m, 1000);
}

/* Times, places and chains of copied blocks are what the events say. Numbers begin at 0. */
static void copies_compare(const struct copies *c, const struct mt_event *events,
	uint32_t event_count, uint32_t threads)
{
	uint64_t *sequences = mt_alloc(threads * sizeof *sequences), numbers = 0;
	struct told {
		const struct mt_event *event;
		uint64_t sequence, chain;
		uint32_t position;
	} *told = mt_alloc((event_count + 1) * sizeof *told);

	for (uint32_t i = 0; i < event_count; i++) {
		const struct mt_event *e = &events[i];
		struct told *t = &told[numbers];

		if (e->type != MT_EVENT_ALLOCATE && e->type != MT_EVENT_REALLOCATE)
			continue;
		assert_int_equal(e->number, numbers++);
		assert_true(e->thread < threads);
		*t = (struct told){e, ++sequences[e->thread], e->number, 1};
		if (e->type == MT_EVENT_REALLOCATE && e->previous < e->number) {
			t->chain = told[e->previous].chain;
			t->position = told[e->previous].position + 1;
		}
	}
	for (uint32_t i = 0; i < c->count; i++) {
		const struct mt_checkpoint_block *b = &c->blocks[i];
		const struct told *t = &told[b->number];

		assert_true(b->number < numbers);
		assert_int_equal(b->address, t->event->address);
		assert_int_equal(b->time_ns, t->event->time_ns);
		assert_int_equal(b->sequence, t->sequence);
		assert_int_equal(b->position, t->position);
		assert_int_equal(b->chain, t->chain);
		assert_int_equal(b->first_size, told[t->chain].event->size);
		assert_int_equal(b->chain_start_ns, told[t->chain].event->time_ns);
	}
	free(sequences);
	free(told);
}

static void copies_free(struct copies *c)
{
	free(c->blocks);
	free(c->truth);
	*c = (struct copies){0};
}

#endif
