/* Private to core/model: feeds a trace's events to the model again, without believing them. */
#ifndef MT_MODEL_REPLAY_H
#define MT_MODEL_REPLAY_H

#include "core/model/model.h"
#include "core/trace/trace.h"

#define MT_REPLAY_TIME_MAX (1ull << 62)

struct mt_replay {
	struct mt_model model;
	struct mt_replay_chunk **chunks; /* by number, in equal parts; NULL: all of its blocks are gone */
	uint64_t chunk_count, chunk_capacity;
	uint64_t next_number;
	uint64_t events, implied_frees, unknown_frees;
	enum { MT_REPLAY_NOTHING, MT_REPLAY_ALLOCATED, MT_REPLAY_FREED } last; /* what a note would be about */
	uint32_t last_group;  /* of the block freed */
	const char *fault; /* what was wrong with an event */
};

void mt_replay_init(struct mt_replay *, struct mt_profile *borrowed);
void mt_replay_free(struct mt_replay *);
/* Bytes of the live blocks beyond what was asked for, by the rule that info names. */
uint64_t mt_replay_slack(const struct mt_replay *);
/* For mt_trace_reader_events; context is the replay. Non-zero: see fault. */
int mt_replay_event(void *context, const struct mt_event *);

#endif
