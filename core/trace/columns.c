#include "core/trace/columns.h"
#include "core/trace/block.h"
#include "core/trace/encoder.h"

#include <stdlib.h>

static const uint8_t column_max[MT_COLUMNS] = {
	/* bytes per event */
	[MT_COLUMN_HEAD] = 1,
	[MT_COLUMN_TIME] = 10,
	[MT_COLUMN_THREAD] = 5,
	[MT_COLUMN_GROUP] = 5,
	[MT_COLUMN_SIZE] = 10,
	[MT_COLUMN_ADDRESS] = 11,
	[MT_COLUMN_DISTANCE] = 10,
	[MT_COLUMN_PREVIOUS] = 10,
	[MT_COLUMN_FUNCTION] = 3,
	[MT_COLUMN_NOTE] = 10,
	[MT_COLUMN_ORDER] = 4, /* a batch has two events at least */
	[MT_COLUMN_PACE] = 3,
	[MT_COLUMN_PERIOD] = 8,
};

/* ---- encoding ---- */

/* Addresses are multiples of 16 but for oddities, which take a further byte. */
static uint8_t *address_put(uint8_t *at, uint64_t difference)
{
	uint8_t low = difference & 15;
	uint64_t code = mt_zigzag((uint64_t)((int64_t)difference >> 4)) << 1;

	at = mt_varint_put(at, code | (low != 0));
	if (low)
		*at++ = low;
	return at;
}

unsigned mt_columns_put_group(struct mt_columns *c, uint32_t *predicted, uint32_t group)
{
	c->at[MT_COLUMN_GROUP] = mt_varint_put(c->at[MT_COLUMN_GROUP], group);
	*predicted = group;
	return HEAD_GROUP;
}

unsigned mt_columns_put_address(struct mt_columns *c, uint64_t difference)
{
	c->at[MT_COLUMN_ADDRESS] = address_put(c->at[MT_COLUMN_ADDRESS], difference);
	return HEAD_ADDRESS;
}

unsigned mt_columns_put_function(struct mt_columns *c, uint16_t function)
{
	c->at[MT_COLUMN_FUNCTION] = mt_varint_put(c->at[MT_COLUMN_FUNCTION], function);
	c->predictor.free_function = function;
	return HEAD_KIND;
}

unsigned mt_columns_put_note(struct mt_columns *c, unsigned kind, uint64_t value)
{
	uint64_t *last = &c->predictor.note[kind & 1];

	c->at[MT_COLUMN_NOTE] = mt_varint_put(c->at[MT_COLUMN_NOTE], mt_zigzag(value - *last));
	*last = value;
	return MT_EVENT_NOTE | (kind & 1 ? HEAD_NOTE : 0);
}

/* The period of the events from here on, in place of an entry that no event has used. */
static void put_period(struct mt_columns *c)
{
	uint8_t *at = c->at[MT_COLUMN_PERIOD];
	uint32_t count = mt_columns_count(c);

	if (at != c->start[MT_COLUMN_PERIOD] && count == c->sampled[0]) {
		at = c->sampled_at;
		c->sampled[0] = c->sampled[1];
	}
	c->sampled_at = at;
	at = mt_varint_put(at, count - c->sampled[0]);
	c->at[MT_COLUMN_PERIOD] = mt_varint_put(at, c->period);
	c->sampled[1] = c->sampled[0];
	c->sampled[0] = count;
}

void mt_columns_begin(struct mt_columns *c, uint64_t number, uint64_t time_ns)
{
	uint64_t us = time_ns / 1000;

	c->first_number = number;
	c->base_us = c->first_us = c->last_us = us;
	c->time_ns = time_ns;
	c->started = true;
	c->ordered = 0;
	c->timed = c->start[MT_COLUMN_HEAD];
	c->sampled[0] = c->sampled[1] = 0;
	if (c->period)
		put_period(c);
	predictor_init(&c->predictor, number, us);
}

void mt_columns_period(struct mt_columns *c, uint32_t period)
{
	if (period == c->period)
		return;
	c->period = period;
	if (c->started)
		put_period(c);
}

/* Times in the trace are microseconds. */
void mt_columns_put_time(struct mt_columns *c, uint64_t time_ns, const uint8_t *head)
{
	struct predictor *p = &c->predictor;
	uint64_t us = time_ns / 1000;

	c->time_ns = time_ns;
	if (us == p->time_us)
		return;
	c->at[MT_COLUMN_TIME] = mt_varint_put(c->at[MT_COLUMN_TIME], mt_zigzag(us - p->time_us));
	c->at[MT_COLUMN_PACE] = mt_varint_put(c->at[MT_COLUMN_PACE], (uint64_t)(head - c->timed));
	c->timed = head;
	p->time_us = us;
	c->last_us = us > c->last_us ? us : c->last_us;
	c->first_us = us < c->first_us ? us : c->first_us;
}

unsigned mt_columns_put_thread(struct mt_columns *c, uint32_t thread)
{
	struct predictor *p = &c->predictor;

	c->at[MT_COLUMN_THREAD] = mt_varint_put(c->at[MT_COLUMN_THREAD], thread_code(p, thread));
	thread_learn(p, thread);
	return HEAD_THREAD;
}

void mt_columns_thread_runs(struct mt_columns *c, const uint8_t *choices, uint32_t count,
	uint32_t runs)
{
	unsigned bits = mt_thread_run_bits(runs);
	uint8_t *at = c->at[MT_COLUMN_ORDER];

	at = mt_varint_put(at, mt_columns_count(c) - c->ordered);
	at = mt_varint_put(at, count);
	at = mt_varint_put(at, runs);
	for (uint32_t i = 0; i < count;) {
		unsigned byte = 0;

		for (unsigned shift = 0; shift < 8 && i < count; shift += bits)
			byte |= (unsigned)choices[i++] << shift;
		*at++ = (uint8_t)byte;
	}
	c->at[MT_COLUMN_ORDER] = at;
	c->ordered = mt_columns_count(c) + count;
}

uint32_t mt_columns_count(const struct mt_columns *c)
{
	return (uint32_t)(c->at[MT_COLUMN_HEAD] - c->start[MT_COLUMN_HEAD]);
}

uint32_t mt_columns_add(struct mt_columns *c, const struct mt_event *events, uint32_t count)
{
	uint32_t room = MT_BLOCK_EVENTS_MAX - mt_columns_count(c), i;

	if (!c->started && count)
		mt_columns_begin(c,
			allocates(events->type) ? events->number : c->predictor.next_number,
			events->time_ns);
	for (i = 0; i < count && i < room; i++) {
		const struct mt_event *e = &events[i];

		if (allocates(e->type) && e->number != c->predictor.next_number)
			break;
		mt_columns_encode(c, e);
	}
	return i;
}

struct mt_columns *mt_columns_new(void)
{
	struct mt_columns *c = mt_alloc(sizeof *c);

	for (unsigned i = 0; i < MT_COLUMNS; i++)
		c->at[i] = c->start[i] =
			mt_resize(NULL, (size_t)column_max[i] * MT_BLOCK_EVENTS_MAX);
	return c;
}

void mt_columns_free(struct mt_columns *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < MT_COLUMNS; i++)
		free(c->start[i]);
	mt_span_set_free(&c->earlier);
	free(c);
}

uint64_t mt_columns_first_ns(const struct mt_columns *c)
{
	return c->first_us * 1000;
}

uint64_t mt_columns_last_ns(const struct mt_columns *c)
{
	return c->last_us * 1000;
}

void mt_columns_facts(struct mt_columns *c, const struct mt_trace_sums *sums, struct mt_buffer *out)
{
	struct mt_trace_span spans[MT_TRACE_SPANS];
	uint32_t count = mt_span_set_take(&c->earlier, c->first_number, spans);

	out->len = 0;
	mt_facts_add(out, c->first_number, (*c->start[MT_COLUMN_HEAD] & HEAD_TYPE) == MT_EVENT_NOTE,
		sums, spans, count);
}

void mt_columns_finish(struct mt_columns *c, struct mt_buffer *out)
{
	unsigned streams = 0;

	for (unsigned i = 0; i < MT_COLUMNS; i++)
		streams += c->at[i] != c->start[i];
	out->len = 0;
	mt_varint_add(out, c->first_number);
	mt_varint_add(out, c->base_us);
	mt_varint_add(out, streams);
	for (unsigned i = 0; i < MT_COLUMNS; i++) {
		if (c->at[i] == c->start[i])
			continue;
		mt_varint_add(out, i << 1 | MT_STREAM_NEEDED);
		mt_varint_add(out, (uint64_t)(c->at[i] - c->start[i]));
	}
	for (unsigned i = 0; i < MT_COLUMNS; i++) {
		mt_buffer_add(out, c->start[i], (size_t)(c->at[i] - c->start[i]));
		c->at[i] = c->start[i];
	}
	c->started = false;
}
