/* Private to core/trace: the payload of an event block. Each field goes into a stream of its own
 * and only where a simple prediction failed; a head byte per event says which did, but for times.
 * The ids are those in the file. doc/trace-format.md. */
#ifndef MT_TRACE_COLUMNS_H
#define MT_TRACE_COLUMNS_H

#include "core/trace/trace.h"

enum mt_column {
	MT_COLUMN_HEAD,
	MT_COLUMN_TIME,
	MT_COLUMN_THREAD,
	MT_COLUMN_GROUP,
	MT_COLUMN_SIZE,
	MT_COLUMN_ADDRESS,
	MT_COLUMN_DISTANCE,
	MT_COLUMN_PREVIOUS,
	MT_COLUMN_FUNCTION,
	MT_COLUMN_NOTE,
	MT_COLUMN_ORDER, /* from here on: what older traces lack */
	MT_COLUMN_PACE,
	MT_COLUMN_PERIOD,
	MT_COLUMNS,
};
#define MT_COLUMNS_POSITIONAL MT_COLUMN_PERIOD /* before version 8, streams had places, not ids */
#define MT_STREAMS_MAX 64u                     /* of a payload, with those that are not known */
#define MT_STREAM_NEEDED 1u                    /* with id << 1: a reader must know the stream */

struct mt_columns; /* an encoder */

struct mt_columns *mt_columns_new(void);
void mt_columns_free(struct mt_columns *);
/* Adds events, MT_BLOCK_EVENTS_MAX at most in all, up to an allocation whose number does not
 * follow; returns how many were added. */
uint32_t mt_columns_add(struct mt_columns *, const struct mt_event *, uint32_t count);
/* Where no event was added yet: the block begins with this allocation. */
void mt_columns_begin(struct mt_columns *, uint64_t number, uint64_t time_ns);
/* From the next event on: mt_trace_writer_period. */
void mt_columns_period(struct mt_columns *, uint32_t period);
uint32_t mt_columns_count(const struct mt_columns *);    /* events so far */
uint64_t mt_columns_first_ns(const struct mt_columns *); /* the smallest time */
uint64_t mt_columns_last_ns(const struct mt_columns *);  /* the largest */
/* Replaces out by the fields of the header's extension; before finish. sums: NULL: not known. */
void mt_columns_facts(struct mt_columns *, const struct mt_trace_sums *, struct mt_buffer *out);
/* Replaces out by the payload and starts the next block. */
void mt_columns_finish(struct mt_columns *, struct mt_buffer *out);

/* ---- decoding ---- */
struct mt_decoder;

struct mt_decoder *mt_decoder_new(void);
/* Of a decoder that was started for MT_TRACE_TIMES, in place of mt_decoder_next: fills in the time
 * of each item, by rising numbers, and whether it comes from a realloc. Returns the first one that
 * is not there, or end. */
struct mt_trace_origin *mt_decoder_times(struct mt_decoder *, struct mt_trace_origin *at,
	const struct mt_trace_origin *end, const char **reason);
void mt_decoder_free(struct mt_decoder *);
/* Begins with a payload of a file of this version (borrowed until the last event). wants: enum
 * mt_trace_wants. NULL, or what is wrong with it. */
const char *mt_decoder_start(struct mt_decoder *, unsigned version, const uint8_t *payload,
	size_t len, uint32_t event_count, unsigned wants);
/* The next events, `room` at most; 0: there are no more, or *reason (else NULL) says why the
 * payload makes no sense. What comes before such a fault is given first. */
uint32_t mt_decoder_next(struct mt_decoder *, struct mt_event *out, uint32_t room,
	const char **reason);

#endif
