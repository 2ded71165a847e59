/* What a checkpoint says of a live block beyond what its end needs: kept beside the cells of the
 * match, and only where checkpoints are written. And the live blocks in the order of their
 * numbers. */
#ifndef MT_CAPTURE_BIRTHS_H
#define MT_CAPTURE_BIRTHS_H

#include "core/model/checkpoint.h"

struct mt_merge;
struct mt_release;

struct mt_birth {
	uint64_t time_ns, sequence; /* allocations by its thread up to it */
	uint32_t chain;             /* index + 1; 0: it is the first of its chain */
};

/* One for each chain with a second block. */
struct mt_birth_chain {
	uint64_t number, size, time_ns; /* of its first block */
	uint32_t position;              /* of its last */
};

struct mt_births {
	struct mt_birth **chunks; /* as those of the match */
	uint32_t chunk_count, chunk_capacity;
	struct mt_birth_chain *chains;
	uint32_t chain_count, chain_capacity;
	uint32_t chains_kept; /* when the dead were last left out */
	/* What lives, while a checkpoint is made. */
	struct mt_births_item {
		uint64_t number;
		uint32_t cell; /* or with bit 31: index into released */
	} * items;
	const struct mt_release **released;
	uint32_t released_count, released_capacity;
	uint64_t item_count;
};

/* From the first event on, births are noted. */
void mt_births_init(struct mt_merge *);
void mt_births_free(struct mt_births *);
/* A block of the match's cell `id` was allocated now. previous: what it continues, or NULL. */
void mt_births_note(struct mt_merge *, uint32_t id, const struct mt_release *previous);
struct mt_birth *mt_births_at(struct mt_births *, uint32_t id);
/* Whether many chains have ended: then collect, which leaves them out, is due. */
bool mt_births_are_many(const struct mt_births *);
/* Puts the live and released blocks into the order of their numbers; returns how many there are.
 * Between two events. */
uint64_t mt_births_collect(struct mt_merge *);
/* The i-th of them. */
void mt_births_block(const struct mt_merge *, uint64_t i, struct mt_checkpoint_block *);
void mt_births_done(struct mt_births *);

#endif
