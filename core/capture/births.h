/* What a checkpoint says of a live block beyond what its end needs: kept only where checkpoints are
 * written. Births stand in the order of their numbers, behind each other, as blocks begin; those of
 * blocks that have ended are left out now and then. So they cost the tables of live blocks
 * nothing, and a checkpoint has nothing to sort. */
#ifndef MT_CAPTURE_BIRTHS_H
#define MT_CAPTURE_BIRTHS_H

#include "core/model/checkpoint.h"

struct mt_merge;
struct mt_release;

struct mt_birth {
	uint64_t number, address, time_ns;
	uint64_t sequence; /* allocations by its thread up to it */
};

/* Of a block that continues another one. */
struct mt_birth_chain {
	uint64_t number;
	uint64_t first, first_size, start_ns; /* of the chain's first block */
	uint32_t position;
};

struct mt_births {
	struct mt_birth *items; /* by rising number; so are the chains */
	uint64_t count, capacity;
	uint64_t old; /* those before had not ended when these were last looked through */
	struct mt_birth_chain *chains;
	uint32_t chain_count, chain_capacity;
	/* All rings' releases, by number, from collect to done. */
	struct mt_births_released {
		uint64_t number;
		const struct mt_release *release;
	} * released;
	uint32_t released_count, released_capacity;
};

/* From the first event on, births are noted. */
void mt_births_init(struct mt_merge *);
void mt_births_free(struct mt_births *);
/* There is no room: makes some. If many blocks have ended, asks for a moment to trim. */
void mt_births_grow(struct mt_merge *);
/* The block of this number continues the other. */
void mt_births_continue(struct mt_births *, uint64_t number, const struct mt_release *previous);
/* Leaves out blocks that have ended. Between two events. */
void mt_births_trim(struct mt_merge *);
/* Leaves out all blocks that have ended; returns how many live or are released. Between two
 * events. */
uint64_t mt_births_collect(struct mt_merge *);
/* The i-th of them. */
void mt_births_block(struct mt_merge *, uint64_t i, struct mt_checkpoint_block *);
void mt_births_done(struct mt_births *);

/* A block has ended: the last one that began is left out at once. */
static inline void mt_births_end(struct mt_births *b, uint64_t number)
{
	if (b->count > b->old && b->items[b->count - 1].number == number)
		b->count--;
}

#endif
