#include "core/trace/columns.h"
#include "core/trace/block.h"
#include "core/trace/predictor.h"
#include "core/trace/varint.h"

#include <stdlib.h>

struct mt_columns {
	struct predictor predictor;
	bool started;
	uint64_t first_number, first_us, last_us, base_us;
	uint64_t time_ns; /* of the last event */
	uint8_t *at[MT_COLUMNS], *start[MT_COLUMNS];
};

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
	[MT_COLUMN_KIND] = 6,
	[MT_COLUMN_NOTE] = 10,
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

static inline unsigned encode_allocation(struct mt_columns *c, const struct mt_event *e)
{
	struct predictor *p = &c->predictor;
	uint16_t *context = &p->context[e->thread & (CONTEXTS - 1)];
	uint32_t *group = &p->group[*context];
	uint64_t *size = &p->size[e->group & (SIZES - 1)];
	uint32_t class = size_class(e->size);
	uint64_t predicted = p->recent[address_slot(p, e->type, &p->class[class])].address;
	unsigned head = 0;

	if (*group != e->group) {
		head |= HEAD_GROUP;
		c->at[MT_COLUMN_GROUP] = mt_varint_put(c->at[MT_COLUMN_GROUP], e->group);
		*group = e->group;
	}
	context_next(context, e->group);
	if (*size != e->size) {
		head |= HEAD_SIZE;
		c->at[MT_COLUMN_SIZE] = mt_varint_put(c->at[MT_COLUMN_SIZE], e->size);
		*size = e->size;
	}
	if (predicted != e->address) {
		head |= HEAD_ADDRESS;
		c->at[MT_COLUMN_ADDRESS] = address_put(c->at[MT_COLUMN_ADDRESS],
			e->address - p->class[class].last_address);
	}
	if (e->type == MT_EVENT_REALLOCATE)
		c->at[MT_COLUMN_PREVIOUS] = mt_varint_put(c->at[MT_COLUMN_PREVIOUS],
			mt_zigzag(p->last_released - e->previous));
	address_learn(p, e->type, class, e->address, predicted == e->address);
	return head;
}

static inline unsigned encode_free(struct mt_columns *c, const struct mt_event *e)
{
	struct predictor *p = &c->predictor;
	unsigned head = 0;

	if (e->kind != p->free_kind || e->group != p->free_group) {
		uint8_t *at = c->at[MT_COLUMN_KIND];

		head |= HEAD_KIND;
		*at++ = e->kind;
		c->at[MT_COLUMN_KIND] = mt_varint_put(at, e->group);
		p->free_kind = e->kind;
		p->free_group = e->group;
	}
	if (__builtin_expect(e->type == MT_EVENT_UNKNOWN_FREE, 0)) {
		c->at[MT_COLUMN_ADDRESS] =
			address_put(c->at[MT_COLUMN_ADDRESS], e->address - p->unknown_address);
		p->unknown_address = e->address;
		return head;
	}
	uint64_t distance = p->next_number - 1 - e->number;
	unsigned mode = e->number == p->last_number - 1 ? MODE_BEFORE : MODE_DISTANCE;

	mode = e->number == p->last_number + 1 ? MODE_NEXT : mode;
	mode = distance == p->last_distance ? MODE_SAME : mode;
	if (mode == MODE_DISTANCE)
		c->at[MT_COLUMN_DISTANCE] = mt_varint_put(c->at[MT_COLUMN_DISTANCE], distance);
	free_learn(p, e->type, e->number);
	return head | mode << HEAD_MODE_SHIFT;
}

static unsigned encode_note(struct mt_columns *c, const struct mt_event *e)
{
	unsigned kind = e->kind & 1;
	uint64_t *last = &c->predictor.note[kind];

	c->at[MT_COLUMN_NOTE] = mt_varint_put(c->at[MT_COLUMN_NOTE], mt_zigzag(e->size - *last));
	*last = e->size;
	return kind ? HEAD_NOTE : 0;
}

static void columns_begin(struct mt_columns *c, const struct mt_event *e)
{
	uint64_t us = e->time_ns / 1000, next = c->predictor.next_number;

	c->first_number = allocates(e->type) ? e->number : next;
	c->base_us = c->first_us = c->last_us = us;
	c->time_ns = e->time_ns;
	c->started = true;
	predictor_init(&c->predictor, c->first_number, us);
}

/* Times in the trace are microseconds. */
static unsigned encode_time(struct mt_columns *c, uint64_t time_ns)
{
	struct predictor *p = &c->predictor;
	uint64_t us = time_ns / 1000;

	c->time_ns = time_ns;
	if (us == p->time_us)
		return 0;
	c->at[MT_COLUMN_TIME] = mt_varint_put(c->at[MT_COLUMN_TIME], mt_zigzag(us - p->time_us));
	p->time_us = us;
	c->last_us = us > c->last_us ? us : c->last_us;
	c->first_us = us < c->first_us ? us : c->first_us;
	return HEAD_TIME;
}

uint32_t mt_columns_add(struct mt_columns *c, const struct mt_event *events, uint32_t count)
{
	struct predictor *p = &c->predictor;
	uint8_t *heads = c->at[MT_COLUMN_HEAD];
	uint32_t i;

	if (!c->started && count)
		columns_begin(c, events);
	for (i = 0; i < count; i++) {
		const struct mt_event *e = &events[i];
		unsigned head = e->type & HEAD_TYPE;

		if (e->time_ns != c->time_ns)
			head |= encode_time(c, e->time_ns);
		if (e->thread != p->thread) {
			head |= HEAD_THREAD;
			c->at[MT_COLUMN_THREAD] = mt_varint_put(c->at[MT_COLUMN_THREAD], e->thread);
			p->thread = e->thread;
		}
		if (!allocates(e->type))
			head |= __builtin_expect(e->type == MT_EVENT_NOTE, 0)
				? encode_note(c, e)
				: encode_free(c, e);
		else if (e->number == p->next_number)
			head |= encode_allocation(c, e);
		else
			break;
		heads[i] = (uint8_t)head;
	}
	c->at[MT_COLUMN_HEAD] = heads + i;
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

void mt_columns_finish(struct mt_columns *c, struct mt_buffer *out)
{
	out->len = 0;
	mt_varint_add(out, c->first_number);
	mt_varint_add(out, c->base_us);
	mt_varint_add(out, MT_COLUMNS);
	for (unsigned i = 0; i < MT_COLUMNS; i++)
		mt_varint_add(out, (uint64_t)(c->at[i] - c->start[i]));
	for (unsigned i = 0; i < MT_COLUMNS; i++) {
		mt_buffer_add(out, c->start[i], (size_t)(c->at[i] - c->start[i]));
		c->at[i] = c->start[i];
	}
	c->started = false;
}
