/* The flight recorder: keeps one image's trace below a size. Now and then a checkpoint goes into
 * the trace; when the file has reached half of the size, a new one takes its place that begins with
 * the last checkpoint but this. */
#ifndef MT_SESSION_FLIGHT_H
#define MT_SESSION_FLIGHT_H

#include "core/capture/merge.h"
#include "core/model/checkpoint.h"
#include "core/model/load.h"

/* A checkpoint in the making: of an instant that lies before the events that are written
 * meanwhile. (flight_making.c) */
struct mt_flight_making {
	struct mt_checkpoint_maker maker;
	struct mt_profile totals; /* what the checkpoint says of the profile; a copy */
	bool under_way, copied;   /* blocks are copied; all are */
	uint64_t blocks, done;    /* of which each is copied and written: so far */
	uint32_t first_event;     /* block of the file at the instant */
	uint64_t first_byte;
};

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
	struct mt_checkpoint last_head;
	bool said_exceeded, said_failed;
	struct mt_flight_making making; /* after mt_flight_end: the checkpoint of the end */
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
/* Between two events. Unless a checkpoint is in the making, all events are flushed. Makes a part of
 * a checkpoint; when all parts are made, it goes into the same file or a new one. 1: the recording
 * must stop here. Negative: the trace cannot be written on. */
int mt_flight_turn(struct mt_flight *, struct mt_err *err);
/* A checkpoint is in the making: take a turn after each poll, too. */
static inline bool mt_flight_is_making(const struct mt_flight *f)
{
	return f->making.under_way;
}
/* The same at the end, while what lives is still known: kept until complete, which may need it. */
void mt_flight_end(struct mt_flight *);
/* Writes what stands behind all events: symbols, info, totals, and makes room for them. */
int mt_flight_complete(struct mt_flight *, const struct mt_buffer *symbols, struct mt_err *err);

/* ---- flight_making.c: used by flight.c ---- */

/* The state of this moment is the checkpoint's. */
void mt_flight_making_begin(struct mt_flight *);
/* Copies or writes some blocks: takes less than a millisecond. False: the checkpoint is complete,
 * and the tables know that it was taken. */
bool mt_flight_making_go_on(struct mt_flight *);
void mt_flight_making_free(struct mt_flight *);

#endif
