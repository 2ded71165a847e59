/* Feeds a trace's events to the model again, without believing them: all of them, or a part that
 * was chosen. */
#ifndef MT_MODEL_REPLAY_H
#define MT_MODEL_REPLAY_H

#include "core/model/checkpoint.h"
#include "core/model/live.h"
#include "core/model/model.h"
#include "core/trace/trace.h"

#define MT_REPLAY_TIME_MAX (1ull << 62)

struct mt_replay {
	struct mt_model model;
	struct mt_live live;
	uint64_t next_number;
	uint64_t events, implied_frees, untold_frees, unknown_frees;
	/* what a note would be about */
	enum {
		MT_REPLAY_NOTHING,
		MT_REPLAY_ALLOCATED,
		MT_REPLAY_FREED,
		MT_REPLAY_FREED_UNKNOWN
	} last;
	bool last_chosen;
	uint32_t last_group; /* of the block freed */
	const char *fault;   /* what was wrong with an event */
	/* A part of the heap: only chosen allocations reach the model; the others tell when the
	 * whole heap is largest. */
	bool choosing;
	uint64_t from_ns, to_ns; /* in this range; what is freed behind it counts in late_* */
	uint64_t chosen_count;   /* chosen blocks that are not gone */
	uint64_t heap_bytes, heap_peak, heap_peak_ns;
	bool in_range; /* the range has begun */
	/* Some events are left out: only chosen blocks are kept, and the owner knows the heap's
	 * peak and which allocation reached it. */
	bool partial;
	uint64_t peak_number;
};

void mt_replay_init(struct mt_replay *, struct mt_profile *borrowed);
/* From a checkpoint on: the profile holds its totals; then its blocks, one by one. */
void mt_replay_resume(struct mt_replay *, struct mt_profile *borrowed,
	const struct mt_checkpoint *);
void mt_replay_add(struct mt_replay *, const struct mt_checkpoint_block *);
void mt_replay_free(struct mt_replay *);
/* Bytes of the live blocks beyond what was asked for, by the rule that info names. */
uint64_t mt_replay_slack(const struct mt_replay *);
/* Where the whole recording is not replayed: a block that lives at the checkpoint with which the
 * events begin; and the rest of that, when all blocks were taken. */
void mt_replay_take(struct mt_replay *, const struct mt_checkpoint_block *, bool chosen,
	uint64_t checkpoint_ns);
void mt_replay_go_on(struct mt_replay *, const struct mt_checkpoint *);
/* Events were left out that allocated so much; the next number. */
void mt_replay_pass_by(struct mt_replay *, const struct mt_trace_facts *, uint64_t next_number);
/* In their order. Non-zero: see fault. chosen: by event, of allocations alone; read where
 * choosing. */
int mt_replay_events(struct mt_replay *, const struct mt_event *, const uint8_t *chosen,
	uint32_t count);

#endif
