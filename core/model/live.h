/* The blocks that live at the same time, by number: what a reader of events keeps to join a free
 * with its allocation. Most blocks die young: the last ones lie in a ring by their number; what is
 * still live when its place is needed again moves into a pool that is found by hash. So memory is
 * bounded by what lives at once. */
#ifndef MT_MODEL_LIVE_H
#define MT_MODEL_LIVE_H

#include "core/base/assert.h"
#include "core/model/block_machine.h"

#define MT_LIVE_THREADS (1u << 27) /* thread indices are below */

struct mt_live_cell { /* one cache line */
	uint64_t number, size, time_ns;
	uint64_t thread_sequence; /* as the model counts */
	uint64_t address, usable;
	uint32_t group;
	uint32_t thread : 27;
	uint32_t state : 2;            /* enum mt_block_state */
	uint32_t temporary : 1;        /* while it is released: it counted as temporary */
	uint32_t chosen : 1, late : 1; /* these and the next: the owner's */
	uint32_t chain, aside;
};
_Static_assert(sizeof(struct mt_live_cell) == 64, "one cache line");

#ifndef MT_LIVE_RING /* the fuzzer's is small, so that short inputs leave it */
#define MT_LIVE_RING 32768u
#endif
#ifndef MT_LIVE_CHUNK /* cells of the pool that are allocated together; the fuzzer's are few too */
#define MT_LIVE_CHUNK 16384u
#endif

struct mt_live_slot {
	uint32_t cell, tag;
}; /* cell: index into the pool + 1 */

struct mt_live {
	struct mt_live_cell *ring;
	struct mt_live_cell **chunks;
	uint32_t chunk_count, chunk_capacity;
	uint32_t used, free; /* cells of the pool ever used; first free one + 1 */
	struct mt_live_slot *slots;
	uint32_t mask, pooled;
	uint64_t count; /* cells in all */
};

void mt_live_init(struct mt_live *);
void mt_live_free(struct mt_live *);

/* The rare half of what follows. */
struct mt_live_cell *mt_live_find_old(const struct mt_live *, uint64_t number);
void mt_live_retire(struct mt_live *, struct mt_live_cell *of_ring);
void mt_live_remove_old(struct mt_live *, struct mt_live_cell *);

static inline struct mt_live_cell *mt_live_place(const struct mt_live *l, uint64_t number)
{
	return &l->ring[number & (MT_LIVE_RING - 1)];
}

/* NULL: not there. Good until the next insertion. */
static inline struct mt_live_cell *mt_live_find(const struct mt_live *l, uint64_t number)
{
	struct mt_live_cell *c = mt_live_place(l, number);

	if (__builtin_expect(c->state && c->number == number, 1))
		return c;
	return l->pooled ? mt_live_find_old(l, number) : NULL;
}

/* A cell for a number that is not there: number and state are set, the rest is the caller's to fill
 * in. */
static inline struct mt_live_cell *mt_live_insert(struct mt_live *l, uint64_t number)
{
	struct mt_live_cell *c = mt_live_place(l, number);

	mt_assert(!mt_live_find(l, number));
	if (c->state)
		mt_live_retire(l, c);
	c->number = number;
	c->state = MT_BLOCK_LIVE;
	l->count++;
	return c;
}

static inline void mt_live_remove(struct mt_live *l, struct mt_live_cell *c)
{
	mt_assert(c->state && l->count);
	l->count--;
	if (c >= l->ring && c < l->ring + MT_LIVE_RING)
		c->state = MT_BLOCK_NONE;
	else
		mt_live_remove_old(l, c);
}

static inline uint64_t mt_live_hash(uint64_t number)
{
	return number * 0x9e3779b97f4a7c15ull;
}

/* Asks for what a find of this number will read; the second time for the cell itself. What they
 * read may be stale. */
static inline __attribute__((always_inline)) void mt_live_prefetch(const struct mt_live *l,
	uint64_t number)
{
	__builtin_prefetch(mt_live_place(l, number), 1);
	if (l->pooled)
		__builtin_prefetch(&l->slots[mt_live_hash(number) >> 32 & l->mask]);
}
const struct mt_live_cell *mt_live_guess_old(const struct mt_live *, uint64_t number);
/* May be NULL, or another's. */
static inline const struct mt_live_cell *mt_live_guess(const struct mt_live *l, uint64_t number)
{
	const struct mt_live_cell *c = mt_live_place(l, number);

	return c->number == number || !l->pooled ? c : mt_live_guess_old(l, number);
}

/* ---- the life of these blocks ---- */

/* What a reader of events does when a block changes. Each gets the reader and the event. */
struct mt_live_reader {
	int (*act)(void *reader, const struct mt_event *, struct mt_live_cell *,
		enum mt_block_change);
	/* NULL: an event of a block that is not there, or not in the right state, does nothing. */
	int (*refuse)(void *reader, const struct mt_event *, const struct mt_live_cell *there,
		enum mt_block_change);
};

/* The owner of a table by number, for one event. */
struct mt_live_event {
	struct mt_live *live;
	const struct mt_live_reader *does;
	void *reader;
	const struct mt_event *event;
	struct mt_live_cell *there;
};

MT_BLOCK_INLINE void *mt_live_in_state(void *of, enum mt_block_state state)
{
	const struct mt_live_event *o = of;

	return o->there && o->there->state == state ? o->there : NULL;
}

MT_BLOCK_INLINE int mt_live_refuse(void *of, enum mt_block_change change)
{
	const struct mt_live_event *o = of;

	return o->does->refuse ? o->does->refuse(o->reader, o->event, o->there, change) : 0;
}

MT_BLOCK_INLINE int mt_live_act(void *of, void *block, enum mt_block_change change)
{
	const struct mt_live_event *o = of;

	mt_assert(((const struct mt_live_cell *)block)->state == mt_block_before(change));
	return o->does->act(o->reader, o->event, block, change);
}

MT_BLOCK_INLINE void mt_live_move(void *of, void *block, enum mt_block_state state)
{
	if (state == MT_BLOCK_NONE)
		mt_live_remove(((const struct mt_live_event *)of)->live, block);
	else
		((struct mt_live_cell *)block)->state = state;
}

/* Changes the block of a number. does: constant. */
MT_BLOCK_INLINE int mt_live_change(struct mt_live *l, uint64_t number, enum mt_block_change change,
	const struct mt_live_reader *does, void *reader, const struct mt_event *e)
{
	static const struct mt_block_table by_number = {
		.find = mt_live_in_state,
		.refuse = mt_live_refuse,
		.act = mt_live_act,
		.move = mt_live_move,
	};
	struct mt_live_event owner = {l, does, reader, e, mt_live_find(l, number)};

	return mt_block_change(&by_number, &owner, change);
}

/* Every cell, in no order. Zero-initialise *at. NULL: no more. */
struct mt_live_cell *mt_live_next(const struct mt_live *, uint64_t *at);

#endif
