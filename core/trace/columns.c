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
	[MT_COLUMN_KIND] = 1,
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

static inline unsigned encode_allocation(struct mt_columns *c, const struct mt_event *e)
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
	if (e->type == MT_EVENT_REALLOCATE)
		c->at[MT_COLUMN_PREVIOUS] = mt_varint_put(c->at[MT_COLUMN_PREVIOUS],
			mt_zigzag(p->last_released - e->previous));
	address_learn(p, e, size_class, predicted == e->address);
	return head;
}

unsigned mt_columns_put_kind(struct mt_columns *c, uint8_t kind)
{
	*c->at[MT_COLUMN_KIND]++ = kind;
	c->predictor.free_kind = kind;
	return HEAD_KIND;
}

static inline unsigned encode_free(struct mt_columns *c, const struct mt_event *e)
{
	struct predictor *p = &c->predictor;
	unsigned head = e->type;

	if (e->kind != p->free_kind)
		head |= mt_columns_put_kind(c, e->kind);
	if (__builtin_expect(e->type == MT_EVENT_UNKNOWN_FREE, 0)) {
		c->at[MT_COLUMN_ADDRESS] =
			address_put(c->at[MT_COLUMN_ADDRESS], e->address - p->unknown_address);
		p->unknown_address = e->address;
		return head;
	}
	uint64_t distance = p->next_number - 1 - e->number;
	enum mode mode = choose_mode(p, e->number, distance);

	if (mode == MODE_DISTANCE)
		c->at[MT_COLUMN_DISTANCE] = mt_varint_put(c->at[MT_COLUMN_DISTANCE], distance);
	free_learn(p, e);
	return head | (unsigned)mode << HEAD_MODE_SHIFT;
}

static unsigned encode_note(struct mt_columns *c, const struct mt_event *e)
{
	unsigned kind = e->kind & 1;
	uint64_t *last = &c->predictor.note[kind];

	c->at[MT_COLUMN_NOTE] = mt_varint_put(c->at[MT_COLUMN_NOTE], mt_zigzag(e->size - *last));
	*last = e->size;
	return MT_EVENT_NOTE | (kind ? HEAD_NOTE : 0);
}

void mt_columns_begin(struct mt_columns *c, uint64_t number, uint64_t time_ns)
{
	uint64_t us = time_ns / 1000;

	c->first_number = number;
	c->base_us = c->first_us = c->last_us = us;
	c->time_ns = time_ns;
	c->started = true;
	predictor_init(&c->predictor, number, us);
}

/* Times in the trace are microseconds. */
unsigned mt_columns_put_time(struct mt_columns *c, uint64_t time_ns)
{
	struct predictor *p = &c->predictor;
	uint64_t us = time_ns / 1000;

	if (time_ns == c->time_ns)
		return 0;
	c->time_ns = time_ns;
	if (us == p->time_us)
		return 0;
	c->at[MT_COLUMN_TIME] = mt_varint_put(c->at[MT_COLUMN_TIME], mt_zigzag(us - p->time_us));
	p->time_us = us;
	c->last_us = us > c->last_us ? us : c->last_us;
	c->first_us = us < c->first_us ? us : c->first_us;
	return HEAD_TIME;
}

unsigned mt_columns_put_thread(struct mt_columns *c, uint32_t thread)
{
	struct predictor *p = &c->predictor;

	c->at[MT_COLUMN_THREAD] = mt_varint_put(c->at[MT_COLUMN_THREAD], thread_code(p, thread));
	thread_learn(p, thread);
	return HEAD_THREAD;
}

uint32_t mt_columns_count(const struct mt_columns *c)
{
	return (uint32_t)(c->at[MT_COLUMN_HEAD] - c->start[MT_COLUMN_HEAD]);
}

static inline unsigned encode(struct mt_columns *c, const struct mt_event *e)
{
	unsigned head = e->time_ns == c->time_ns ? 0 : mt_columns_put_time(c, e->time_ns);

	if (e->thread != c->predictor.thread)
		head |= mt_columns_put_thread(c, e->thread);
	if (allocates(e->type))
		return head | encode_allocation(c, e);
	if (__builtin_expect(e->type == MT_EVENT_NOTE, 0))
		return head | encode_note(c, e);
	return head | encode_free(c, e);
}

uint32_t mt_columns_add(struct mt_columns *c, const struct mt_event *events, uint32_t count)
{
	uint8_t *heads = c->at[MT_COLUMN_HEAD];
	uint32_t room = MT_BLOCK_EVENTS_MAX - mt_columns_count(c), i;

	if (!c->started && count)
		mt_columns_begin(c,
			allocates(events->type) ? events->number : c->predictor.next_number,
			events->time_ns);
	for (i = 0; i < count && i < room; i++) {
		const struct mt_event *e = &events[i];

		if (allocates(e->type) && e->number != c->predictor.next_number)
			break;
		heads[i] = (uint8_t)encode(c, e);
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
