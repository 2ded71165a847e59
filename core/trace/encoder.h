/* Private to core/trace, and to the recorder's loops over pairs: the columns of the open event
 * block as they are filled, and what of that is not worth being inline. */
#ifndef MT_TRACE_ENCODER_H
#define MT_TRACE_ENCODER_H

#include "core/trace/columns.h"
#include "core/trace/facts.h"
#include "core/trace/predictor.h"
#include "core/trace/unravel.h"
#include "core/trace/varint.h"

struct mt_columns {
	struct predictor predictor;
	bool started;
	uint64_t first_number, first_us, last_us, base_us;
	uint64_t time_ns;     /* of the last event */
	uint32_t ordered;     /* events up to the end of the last batch */
	uint32_t period;      /* of the next event */
	uint32_t sampled[2];  /* events before the last entry for it, and before the one before */
	uint8_t *sampled_at;  /* that last entry */
	const uint8_t *timed; /* head of the last event with an entry for its time */
	struct mt_span_set earlier; /* numbers from before this block that its events name */
	uint8_t *at[MT_COLUMNS], *start[MT_COLUMNS];
};

/* An entry for what was not foreseen; each returns its bit of the head byte. */
unsigned mt_columns_put_group(struct mt_columns *, uint32_t *predicted, uint32_t group);
unsigned mt_columns_put_address(struct mt_columns *, uint64_t difference);
unsigned mt_columns_put_function(struct mt_columns *, uint16_t function);
unsigned mt_columns_put_thread(struct mt_columns *, uint32_t thread);
/* Returns the head byte, all of it. */
unsigned mt_columns_put_note(struct mt_columns *, unsigned kind, uint64_t value);
/* Nothing, if it is the same microsecond. head: where the event's head byte is to be. */
void mt_columns_put_time(struct mt_columns *, uint64_t time_ns, const uint8_t *head);

static inline void mt_columns_time(struct mt_columns *c, uint64_t time_ns, const uint8_t *head)
{
	if (time_ns != c->time_ns)
		mt_columns_put_time(c, time_ns, head);
}

/* Where two threads take turns, the entry is always the same. */
static inline unsigned mt_columns_thread(struct mt_columns *c, uint32_t thread)
{
	struct predictor *p = &c->predictor;

	if (thread == p->thread)
		return 0;
	if (__builtin_expect(thread != p->thread_before, 0))
		return mt_columns_put_thread(c, thread);
	*c->at[MT_COLUMN_THREAD]++ = 0;
	thread_learn(p, thread);
	return HEAD_THREAD;
}

/* The next events, count of them, two at least, come run by run; choices: from which of the
 * runs, two at least, comes what happened first, and so on. Limits: unravel.h. */
void mt_columns_thread_runs(struct mt_columns *, const uint8_t *choices, uint32_t count,
	uint32_t runs);

/* The event names a block that this event block may not have allocated. */
static inline void mt_columns_name_earlier(struct mt_columns *c, uint64_t number)
{
	if (number < c->predictor.first_number)
		mt_span_set_add(&c->earlier, number);
}

/* How the next free names its block. */
static inline enum mode choose_mode(const struct predictor *p, uint64_t number, uint64_t distance)
{
	enum mode mode = number == p->last_number - 1 ? MODE_BEFORE : MODE_DISTANCE;

	mode = number == p->last_number + 1 ? MODE_NEXT : mode;
	return distance == p->last_distance ? MODE_SAME : mode;
}

static inline __attribute__((always_inline)) unsigned encode_allocation(struct mt_columns *c,
	const struct mt_event *e)
{
	struct predictor *p = &c->predictor;
	uint16_t *context = &p->context[e->thread & (CONTEXTS - 1)];
	uint32_t *group = &p->group[*context];
	uint64_t *size = &p->size[e->group & (SIZES - 1)];
	uint32_t size_class = size_class_of(e->size);
	const struct size_class *class = &p->class[class_of(size_class, thread_spread(e->thread))];
	uint64_t predicted = p->recent[address_slot(p, e->type, class)].address;
	unsigned head = e->type;

	if (*group != e->group)
		head |= mt_columns_put_group(c, group, e->group);
	*context = (uint16_t)context_after(*context, e->group);
	if (*size != e->size) {
		head |= HEAD_SIZE;
		*size = e->size;
		c->at[MT_COLUMN_SIZE] = mt_varint_put(c->at[MT_COLUMN_SIZE], e->size);
	}
	if (predicted != e->address)
		head |= mt_columns_put_address(c, e->address - class->last_address);
	if (e->type == MT_EVENT_REALLOCATE) {
		c->at[MT_COLUMN_PREVIOUS] = mt_varint_put(c->at[MT_COLUMN_PREVIOUS],
			mt_zigzag(p->last_released - e->previous));
		mt_columns_name_earlier(c, e->previous);
	}
	address_learn(p, e, size_class, predicted == e->address);
	return head;
}

static inline __attribute__((always_inline)) unsigned encode_free(struct mt_columns *c,
	const struct mt_event *e)
{
	struct predictor *p = &c->predictor;
	unsigned head = e->type;

	if (e->function != p->free_function)
		head |= mt_columns_put_function(c, e->function);
	if (__builtin_expect(e->type == MT_EVENT_UNKNOWN_FREE, 0)) {
		mt_columns_put_address(c, e->address - p->unknown_address);
		p->unknown_address = e->address;
		return head;
	}
	uint64_t distance = p->next_number - 1 - e->number;
	enum mode mode = choose_mode(p, e->number, distance);

	if (mode == MODE_DISTANCE)
		c->at[MT_COLUMN_DISTANCE] = mt_varint_put(c->at[MT_COLUMN_DISTANCE], distance);
	if (__builtin_expect(free_learn(p, e) == NOT_RECENT, 0))
		mt_columns_name_earlier(c, e->number);
	return head | (unsigned)mode << HEAD_MODE_SHIFT;
}

/* The columns of the writer's open event block, to encode into before anything else is written.
 * room: for how many events, at least two. The next allocation's number, the next event's time. */
struct mt_columns *mt_trace_writer_columns(struct mt_trace_writer *, uint64_t number,
	uint64_t time_ns, uint32_t *room);

/* Adds an event, for which there is room; an allocation has the next number. */
static inline __attribute__((always_inline)) void mt_columns_encode(struct mt_columns *c,
	const struct mt_event *e)
{
	unsigned head = mt_columns_thread(c, e->thread);

	mt_columns_time(c, e->time_ns, c->at[MT_COLUMN_HEAD]);
	if (allocates(e->type))
		head |= encode_allocation(c, e);
	else if (__builtin_expect(e->type == MT_EVENT_NOTE, 0))
		head |= mt_columns_put_note(c, e->note, e->size);
	else
		head |= encode_free(c, e);
	*c->at[MT_COLUMN_HEAD]++ = (uint8_t)head;
}

#endif
