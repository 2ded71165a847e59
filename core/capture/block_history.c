#include "core/capture/block_history.h"
#include "core/capture/merge.h"
#include "core/capture/ring.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 64u /* of the log, for each mark */
#define CHAINS_LEAST 1024u

void mt_block_history_init(struct mt_merge *m)
{
	m->history = mt_alloc(sizeof *m->history);
	m->history->time_ns = UINT64_MAX; /* the first allocation has an entry, with a mark */
	m->history->since_mark = ENTRIES;
}

void mt_block_history_free(struct mt_block_history *h)
{
	if (!h)
		return;
	free(h->log);
	free(h->marks);
	free(h->survivors);
	free(h->chains);
	free(h);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* An entry of the log: differences to the entry before of the number (12 bits), of the time in ns
 * (20 bits), and of the surplus + SURPLUS_ZERO (32 bits). What does not fit gets a mark. */
#define NUMBER_BITS 12
#define TIME_BITS 20
#define SURPLUS_SHIFT 32
#define SURPLUS_ZERO (1ull << 31)
#define LOW(bits) ((1ull << (bits)) - 1)

static void add_mark(struct mt_block_history *h, const struct mt_block_history_entry *e)
{
	MT_GROW(h->marks, h->mark_count, h->mark_capacity);
	h->marks[h->mark_count++] = (struct mt_block_history_mark){*e, h->log_count};
	h->since_mark = 0;
}

void mt_block_history_add(struct mt_block_history *h, uint64_t number, uint64_t time_ns,
	uint64_t surplus)
{
	const struct mt_block_history_entry e = {number, time_ns, surplus};
	uint64_t numbers = number - h->last.number, time = time_ns - h->last.time_ns;
	uint64_t more = surplus - h->last.surplus + SURPLUS_ZERO;

	if (__builtin_expect(h->since_mark == ENTRIES || numbers >> NUMBER_BITS || time >> TIME_BITS
			    || more >> 32,
		    0)) {
		add_mark(h, &e);
	} else {
		MT_GROW(h->log, h->log_count, h->log_capacity);
		h->log[h->log_count++] = numbers | time << NUMBER_BITS | more << SURPLUS_SHIFT;
		h->since_mark++;
	}
	h->last = e;
	h->time_ns = time_ns;
	h->surplus = surplus;
}

/* Reads the entry behind the cursor's. Its number is UINT64_MAX if there is none. */
static void read_next(const struct mt_block_history *h, struct mt_block_history_cursor *c)
{
	bool last = c->mark + 1 == h->mark_count;
	uint64_t end = last ? h->log_count : h->marks[c->mark + 1].at, packed;

	c->at_mark = c->next_at == end;
	if (c->at_mark) {
		c->next = last ? (struct mt_block_history_entry){.number = UINT64_MAX}
			       : h->marks[c->mark + 1].entry;
		return;
	}
	packed = h->log[c->next_at++];
	c->next = (struct mt_block_history_entry){
		.number = c->entry.number + (packed & LOW(NUMBER_BITS)),
		.time_ns = c->entry.time_ns + (packed >> NUMBER_BITS & LOW(TIME_BITS)),
		.surplus = c->entry.surplus + (packed >> SURPLUS_SHIFT) - SURPLUS_ZERO,
	};
}

static void begin_at(const struct mt_block_history *h, struct mt_block_history_cursor *c,
	uint32_t mark)
{
	c->mark = mark;
	c->entry = h->marks[mark].entry;
	c->next_at = h->marks[mark].at;
	read_next(h, c);
}

static void move_on(const struct mt_block_history *h, struct mt_block_history_cursor *c)
{
	if (c->at_mark) {
		begin_at(h, c, c->mark + 1);
		return;
	}
	c->entry = c->next;
	read_next(h, c);
}

static bool is_survivor(const struct mt_block_history *h, uint64_t number)
{
	return !h->mark_count || number < h->marks->entry.number;
}

void mt_block_history_at(const struct mt_block_history *h, struct mt_block_history_cursor *c,
	uint64_t number, struct mt_block_history_survivor *out)
{
	if (is_survivor(h, number)) {
		while (c->survivor < h->survivor_count && h->survivors[c->survivor].number < number)
			c->survivor++;
		*out = (struct mt_block_history_survivor){number, 0, 1};
		mt_assert(c->survivor < h->survivor_count
			&& h->survivors[c->survivor].number == number);
		if (c->survivor < h->survivor_count)
			*out = h->survivors[c->survivor];
		return;
	}
	if (!c->next.number)
		begin_at(h, c, 0);
	while (c->next.number <= number)
		move_on(h, c);
	*out = (struct mt_block_history_survivor){number, c->entry.time_ns,
		number - c->entry.surplus};
}

void mt_block_history_split(struct mt_block_history *h)
{
	h->kept_marks = h->mark_count;
	h->since_mark = ENTRIES;
	h->time_ns = UINT64_MAX; /* the next allocation has an entry, with a mark */
}

void mt_block_history_survive(struct mt_block_history *h,
	struct mt_block_history_survivor *survivors, uint64_t count)
{
	uint64_t from = h->kept_marks < h->mark_count ? h->marks[h->kept_marks].at : h->log_count;

	free(h->survivors);
	h->survivors = survivors;
	h->survivor_count = count;
	h->mark_count -= h->kept_marks;
	if (h->mark_count)
		memmove(h->marks, h->marks + h->kept_marks, h->mark_count * sizeof *h->marks);
	for (uint32_t i = 0; i < h->mark_count; i++)
		h->marks[i].at -= from;
	h->log_count -= from;
	if (h->log_count)
		memmove(h->log, h->log + from, h->log_count * sizeof *h->log);
	h->kept_marks = 0;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Finds a block out of order. */
static uint64_t start_of(const struct mt_block_history *h, uint64_t number)
{
	struct mt_block_history_cursor c = {0};
	struct mt_block_history_survivor found;
	bool survivor = is_survivor(h, number);
	uint64_t low = 0, high = survivor ? h->survivor_count : h->mark_count;

	while (low + 1 < high) { /* the last one that is not behind the number */
		uint64_t middle = low + (high - low) / 2;
		uint64_t there =
			survivor ? h->survivors[middle].number : h->marks[middle].entry.number;

		*(there <= number ? &low : &high) = middle;
	}
	if (survivor)
		c.survivor = low;
	else
		begin_at(h, &c, (uint32_t)low);
	mt_block_history_at(h, &c, number, &found);
	return found.time_ns;
}

/* The block's entry, or an empty one. Another thread may have taken the address of a released
 * block, so entries are found by number. */
static struct mt_block_history_chain *place_of(const struct mt_block_history *h, uint64_t number)
{
	uint32_t at = (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 32) & h->chain_mask;

	while (h->chains[at].position && h->chains[at].number != number)
		at = (at + 1) & h->chain_mask;
	return &h->chains[at];
}

const struct mt_block_history_chain *mt_block_history_chain(const struct mt_block_history *h,
	uint64_t number)
{
	const struct mt_block_history_chain *c = h->chains ? place_of(h, number) : NULL;

	return c && c->position ? c : NULL;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The numbers of all released blocks; the caller frees them. */
static uint64_t *list_released(const struct mt_merge *m, uint32_t *count)
{
	uint64_t *numbers = NULL;
	uint32_t capacity = 0;

	*count = 0;
	for (uint32_t i = 0; i < m->ring_count; i++)
		for (uint32_t at = 0; at < m->rings[i].release_count; at++) {
			if (!m->rings[i].releases[at].known)
				continue;
			MT_GROW(numbers, *count, capacity);
			numbers[(*count)++] = m->rings[i].releases[at].cell.number;
		}
	if (*count)
		qsort(numbers, *count, sizeof *numbers, by_number);
	return numbers;
}

/* Leaves out the chains of blocks that are gone. */
static void make_room(struct mt_merge *m)
{
	struct mt_block_history *h = m->history;
	struct mt_block_history_chain *old = h->chains;
	uint32_t old_mask = h->chain_mask, released_count, size = CHAINS_LEAST, live = 0;
	uint64_t *released = list_released(m, &released_count);

	for (uint64_t i = 0; old && i <= old_mask; i++) {
		struct mt_block_history_chain *c = &old[i];

		struct mt_live_table *of = mt_merge_blocks(m, c->domain);

		if (c->position && !(of && mt_live_table_is(of, c->address, c->number))
			&& (!released_count
				|| !bsearch(&c->number, released, released_count, sizeof *released,
					by_number)))
			c->position = 0;
		live += c->position != 0;
		mt_segment_tick_at(m->segment, i);
	}
	while (size < live * 4)
		size *= 2;
	h->chains = mt_alloc((size_t)size * sizeof *h->chains);
	h->chain_mask = size - 1;
	h->chains_used = live;
	for (uint64_t i = 0; old && i <= old_mask; i++) {
		if (old[i].position)
			*place_of(h, old[i].number) = old[i];
		mt_segment_tick_at(m->segment, i);
	}
	free(old);
	free(released);
}

void mt_block_history_continue(struct mt_merge *m, unsigned domain,
	const struct mt_pool_cell *block, const struct mt_release *previous)
{
	struct mt_block_history *h = m->history;
	const struct mt_pool_cell *old = &previous->cell;
	const struct mt_block_history_chain *before = mt_block_history_chain(h, old->number);
	struct mt_block_history_chain chain = before
		? *before
		: (struct mt_block_history_chain){
			.first = old->number,
			.first_size = old->size,
			.start_ns = start_of(h, old->number),
			.position = 1,
		};
	struct mt_block_history_chain *place;

	chain.address = block->address;
	chain.number = block->number;
	chain.domain = domain;
	chain.position += chain.position < UINT32_MAX;
	if (!h->chains || h->chains_used > h->chain_mask / 2)
		make_room(m);
	place = place_of(h, block->number);
	h->chains_used += !place->position;
	*place = chain;
}
