/* The flight recorder: keeps one image's trace below a size. Now and then a checkpoint goes into
 * the trace; when the file has reached half of the size, a new one takes its place that begins with
 * the last checkpoint but this. */
#ifndef MT_SESSION_FLIGHT_H
#define MT_SESSION_FLIGHT_H

#include "core/capture/merge.h"
#include "core/model/load.h"

struct mt_flight {
	/* All borrowed. */
	struct mt_trace_writer *writer;
	struct mt_profile *profile;
	struct mt_model *model;
	struct mt_merge *merge;
	struct mt_definitions *definitions;
	const char *path; /* of the trace; NULL: not known yet */

	uint64_t cap;   /* as asked for; 0: there is none */
	uint64_t limit; /* the same, or more: what is necessary does not fit */
	bool stop;      /* rather than exceed it */
	uint64_t span;  /* bytes of events between two checkpoints */
	/* bytes of the file behind the last one, or behind the last try */
	uint64_t since;
	/* block of the file with which it begins, or MT_NO_CHECKPOINT */
	uint32_t last;
	uint64_t last_ns; /* its time */
	bool said_exceeded, said_failed;
	struct mt_buffer final; /* the checkpoint of the end, as it would stand in the file */
	uint64_t final_ns;
	uint32_t exchanges, checkpoints;
};

/* Nothing is written yet, nor polled. */
void mt_flight_init(struct mt_flight *, uint64_t cap, bool stop);
void mt_flight_free(struct mt_flight *);
/* After each flush: how many events the block held, and the bytes that it took. A block takes some
 * 200 bytes beside its events, so blocks that compress well get more events. */
void mt_flight_has_flushed(struct mt_flight *, uint32_t events, uint64_t bytes);
/* Looks at the size after each flush. */
bool mt_flight_is_due(const struct mt_flight *);
/* Between two events, all of which are flushed: a checkpoint, into the same file or a new one. 1:
 * the recording must stop here. Negative: the trace cannot be written on. */
int mt_flight_turn(struct mt_flight *, struct mt_err *err);
/* The same at the end, while what lives is still known: kept until complete, which may need it. */
void mt_flight_end(struct mt_flight *);
/* Writes what stands behind all events: symbols, info, totals, and makes room for them. */
int mt_flight_complete(struct mt_flight *, const struct mt_buffer *symbols, struct mt_err *err);

#endif
