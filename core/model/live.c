#include "core/model/live.h"

#include "core/base/buffer.h"

#include <stdlib.h>

#define FIRST_SLOTS 1024u

void mt_live_init(struct mt_live *l)
{
	*l = (struct mt_live){.ring = mt_alloc(MT_LIVE_RING * sizeof *l->ring)};
}

void mt_live_free(struct mt_live *l)
{
	for (uint32_t i = 0; i < l->chunk_count; i++)
		free(l->chunks[i]);
	free(l->chunks);
	free(l->slots);
	free(l->ring);
	*l = (struct mt_live){0};
}

/* ---- the pool ---- */

static struct mt_live_cell *pool_at(const struct mt_live *l, uint32_t index)
{
	return &l->chunks[index / MT_LIVE_CHUNK][index % MT_LIVE_CHUNK];
}

/* A free cell keeps the next one's index + 1 in its chain. */
static uint32_t pool_take(struct mt_live *l)
{
	if (l->free) {
		uint32_t index = l->free - 1;

		l->free = pool_at(l, index)->chain;
		return index;
	}
	if (l->used == l->chunk_count * MT_LIVE_CHUNK) {
		MT_GROW(l->chunks, l->chunk_count, l->chunk_capacity);
		l->chunks[l->chunk_count++] = mt_resize(NULL, MT_LIVE_CHUNK * sizeof **l->chunks);
	}
	return l->used++;
}

/* ---- slots: linear probing, moved back on removal, so that there are no graves ---- */

static uint32_t home(const struct mt_live *l, uint32_t tag)
{
	return tag & l->mask;
}

static void slot_put(struct mt_live *l, struct mt_live_slot slot)
{
	uint32_t at = home(l, slot.tag);

	while (l->slots[at].cell)
		at = (at + 1) & l->mask;
	l->slots[at] = slot;
}

static void grow(struct mt_live *l)
{
	struct mt_live_slot *old = l->slots;
	uint32_t count = old ? l->mask + 1 : 0;

	l->mask = old ? l->mask * 2 + 1 : FIRST_SLOTS - 1;
	l->slots = mt_alloc(((size_t)l->mask + 1) * sizeof *l->slots);
	for (uint32_t i = 0; i < count; i++)
		if (old[i].cell)
			slot_put(l, old[i]);
	free(old);
}

static uint32_t tag_of(uint64_t number)
{
	return (uint32_t)(mt_live_hash(number) >> 32);
}

/* Where the number's slot is; an empty one when it is not there. */
static uint32_t slot_of(const struct mt_live *l, uint64_t number)
{
	uint32_t tag = tag_of(number), at = home(l, tag);

	while (l->slots[at].cell
		&& (l->slots[at].tag != tag || pool_at(l, l->slots[at].cell - 1)->number != number))
		at = (at + 1) & l->mask;
	return at;
}

struct mt_live_cell *mt_live_find_old(const struct mt_live *l, uint64_t number)
{
	uint32_t cell = l->slots[slot_of(l, number)].cell;

	return cell ? pool_at(l, cell - 1) : NULL;
}

const struct mt_live_cell *mt_live_guess_old(const struct mt_live *l, uint64_t number)
{
	uint32_t tag = tag_of(number), at = home(l, tag);

	while (l->slots[at].cell && l->slots[at].tag != tag)
		at = (at + 1) & l->mask;
	return l->slots[at].cell ? pool_at(l, l->slots[at].cell - 1) : NULL;
}

/* Every cell is counted, and a find comes to it. */
static bool is_sound(const struct mt_live *l)
{
	uint64_t at = 0, count = 0, pooled = 0;

	for (struct mt_live_cell *c; (c = mt_live_next(l, &at)); count++) {
		if (mt_live_find(l, c->number) != c)
			return false;
		pooled += c < l->ring || c >= l->ring + MT_LIVE_RING;
	}
	return count == l->count && pooled == l->pooled;
}

void mt_live_retire(struct mt_live *l, struct mt_live_cell *of_ring)
{
	mt_assert_expensive(l->pooled < l->mask / 4 * 3 || is_sound(l));
	if (l->pooled >= l->mask / 4 * 3)
		grow(l);
	uint32_t index = pool_take(l);

	*pool_at(l, index) = *of_ring;
	of_ring->state = MT_BLOCK_NONE;
	slot_put(l, (struct mt_live_slot){index + 1, tag_of(of_ring->number)});
	l->pooled++;
}

void mt_live_remove_old(struct mt_live *l, struct mt_live_cell *c)
{
	uint32_t hole = slot_of(l, c->number), index = l->slots[hole].cell - 1;

	mt_assert(l->slots[hole].cell && pool_at(l, index) == c);
	for (uint32_t at = (hole + 1) & l->mask; l->slots[at].cell; at = (at + 1) & l->mask)
		if (((at - home(l, l->slots[at].tag)) & l->mask) >= ((at - hole) & l->mask)) {
			l->slots[hole] = l->slots[at];
			hole = at;
		}
	l->slots[hole] = (struct mt_live_slot){0};
	c->state = MT_BLOCK_NONE;
	c->chain = l->free;
	l->free = index + 1;
	l->pooled--;
}

struct mt_live_cell *mt_live_next(const struct mt_live *l, uint64_t *at)
{
	while (*at < MT_LIVE_RING + (uint64_t)l->used) {
		uint64_t i = (*at)++;
		struct mt_live_cell *c =
			i < MT_LIVE_RING ? &l->ring[i] : pool_at(l, (uint32_t)(i - MT_LIVE_RING));

		if (c->state)
			return c;
	}
	return NULL;
}
