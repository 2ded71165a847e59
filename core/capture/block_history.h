/* Data of live blocks that only a checkpoint needs: when each block began, its place among the
 * allocations of its thread, and its chain of reallocs. Kept only where checkpoints are written.
 * Times and places are kept by number, in a log of the moments at which they do not follow from
 * the allocation before. So an allocation costs two comparisons, and a free costs nothing. */
#ifndef MT_CAPTURE_BLOCK_HISTORY_H
#define MT_CAPTURE_BLOCK_HISTORY_H

#include "core/base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

struct mt_merge;
struct mt_pool_cell;
struct mt_release;

/* A block that was live at the last checkpoint. */
struct mt_block_history_survivor {
	uint64_t number, time_ns;
	uint64_t sequence; /* allocations by its thread up to it */
};

/* An allocation, and those behind it up to the next entry: they have its time and its surplus. */
struct mt_block_history_entry {
	uint64_t number, time_ns;
	uint64_t surplus; /* number less sequence */
};

/* Every few entries one is kept as it is; the log holds differences to it. */
struct mt_block_history_mark {
	struct mt_block_history_entry entry;
	uint64_t at; /* place in the log of the entries that follow */
};

/* A block that continues another one. */
struct mt_block_history_chain {
	uint64_t address, number;
	uint64_t first, first_size, start_ns; /* of the chain's first block */
	uint32_t position;                    /* 0: empty */
	uint32_t domain;
};

struct mt_block_history {
	uint64_t time_ns, surplus; /* of the last entry */
	/* Allocations since the last checkpoint. */
	struct mt_block_history_entry last;
	uint64_t *log; /* see block_history.c */
	uint64_t log_count, log_capacity;
	struct mt_block_history_mark *marks;
	uint32_t mark_count, mark_capacity, since_mark;
	uint32_t kept_marks; /* those before belong to blocks that began before the copy */
	struct mt_block_history_survivor *survivors; /* by number */
	uint64_t survivor_count;
	/* By number. Entries of blocks that are gone stay until room is needed. */
	struct mt_block_history_chain *chains;
	uint32_t chain_mask, chains_used;
};

/* A place in the history, which moves forwards only. */
struct mt_block_history_cursor {
	struct mt_block_history_entry entry, next;
	uint64_t next_at;
	uint32_t mark;
	bool at_mark; /* next has a mark, or there is none */
	uint64_t survivor;
};

/* From the first event on, the history is kept. */
void mt_block_history_init(struct mt_merge *);
void mt_block_history_free(struct mt_block_history *);
/* Bytes of the log of allocations since the last checkpoint. */
static inline uint64_t mt_block_history_bytes(const struct mt_block_history *h)
{
	return h->log_count * sizeof *h->log + (uint64_t)h->mark_count * sizeof *h->marks;
}

/* An allocation whose time or surplus is not that of the one before. */
void mt_block_history_add(struct mt_block_history *, uint64_t number, uint64_t time_ns,
	uint64_t surplus);
static inline void mt_block_history_note(struct mt_block_history *h, uint64_t number,
	uint64_t time_ns, uint64_t sequence)
{
	if (__builtin_expect((h->time_ns ^ time_ns) | (h->surplus ^ (number - sequence)), 0))
		mt_block_history_add(h, number, time_ns, number - sequence);
}
/* The live block continues the released one. */
void mt_block_history_continue(struct mt_merge *, unsigned domain, const struct mt_pool_cell *,
	const struct mt_release *previous);
/* The chain of a block that continues another one, or NULL. */
const struct mt_block_history_chain *mt_block_history_chain(const struct mt_block_history *,
	uint64_t number);

/* A copy of the live blocks begins, or is complete. Its blocks (by number) are taken. */
void mt_block_history_split(struct mt_block_history *);
void mt_block_history_survive(struct mt_block_history *, struct mt_block_history_survivor *,
	uint64_t count);
/* The block of a number that is not below any for which the cursor was asked before. It lived when
 * the log or the survivors begin. */
void mt_block_history_at(const struct mt_block_history *, struct mt_block_history_cursor *,
	uint64_t number, struct mt_block_history_survivor *out);

#endif
