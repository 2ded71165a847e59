/* Pairs, an allocation and then the free of its block, straight into the columns of the open event
 * block: for the recorder, in the loop that finds them. They come to what their events come to one
 * by one. What changes from pair to pair is in a struct whose address nobody takes, so that the
 * compiler keeps it in registers: columns are bytes, and a byte that is stored may be any field of
 * what lies in memory to it. */
#ifndef MT_TRACE_PAIR_ENCODER_H
#define MT_TRACE_PAIR_ENCODER_H

#include "core/trace/encoder.h"

struct mt_pair_encoder {
	struct mt_columns *columns; /* NULL: not begun */
	uint8_t *heads, *sizes;
	uint64_t number; /* of the next allocation */
	uint32_t thread, spread, context;
	/* head bytes of the next two events, but for what depends on the pair */
	unsigned begin, end;
	uint32_t room; /* pairs that the open block can take, at least one */
};

/* Begins a run of pairs of one thread in columns that have room for so many; the first one's
 * number. */
static inline __attribute__((always_inline)) struct mt_pair_encoder
mt_pair_encoder_begin(struct mt_columns *c, uint32_t thread, uint64_t number, uint32_t room)
{
	const struct predictor *p = &c->predictor;
	enum mode mode = choose_mode(p, number, 0);

	if (mode == MODE_DISTANCE)
		*c->at[MT_COLUMN_DISTANCE]++ = 0;
	return (struct mt_pair_encoder){
		.columns = c,
		.heads = c->at[MT_COLUMN_HEAD],
		.sizes = c->at[MT_COLUMN_SIZE],
		.number = number,
		.thread = thread,
		.spread = thread_spread(thread),
		.context = p->context[thread & (CONTEXTS - 1)],
		.begin = MT_EVENT_ALLOCATE | mt_columns_thread(c, thread),
		.end = MT_EVENT_FREE | (unsigned)mode << HEAD_MODE_SHIFT,
		.room = room,
	};
}

/* The same in the writer's open event block; the first one's time. Before mt_pair_encoder_end
 * nothing else may be written. */
struct mt_pair_encoder mt_trace_writer_pairs(struct mt_trace_writer *, uint32_t thread,
	uint64_t number, uint64_t time_ns);

/* When the next pair begins and ends; without it as the last one ended. */
static inline __attribute__((always_inline)) void mt_pair_encode_times(struct mt_pair_encoder *e,
	uint64_t begin_ns, uint64_t end_ns)
{
	mt_columns_time(e->columns, begin_ns, e->heads);
	mt_columns_time(e->columns, end_ns, e->heads + 1);
}

/* function: of the free. */
static inline __attribute__((always_inline)) void mt_pair_encode(struct mt_pair_encoder *e,
	uint64_t address, uint64_t size, uint32_t group, uint16_t function)
{
	struct mt_columns *c = e->columns;
	struct predictor *p = &c->predictor;
	uint32_t size_class = size_class_of(size);
	struct size_class *class = &p->class[class_of(size_class, e->spread)];
	uint32_t top = class->top, slot = (uint32_t)e->number & (RECENT - 1), below = top;

	if (p->group[e->context] != group)
		e->begin |= mt_columns_put_group(c, &p->group[e->context], group);
	e->context = context_after(e->context, group);
	if (p->size[group & (SIZES - 1)] != size) {
		e->begin |= HEAD_SIZE;
		p->size[group & (SIZES - 1)] = size;
		e->sizes = mt_varint_put(e->sizes, size);
	}
	if (p->recent[top].address == address)
		below = p->recent[top].below;
	else
		e->begin |= mt_columns_put_address(c, address - class->last_address);
	class->last_address = address;
	class->top = slot;
	p->recent[slot] = (struct recent){address, size_class, below};
	if (function != p->free_function)
		e->end |= mt_columns_put_function(c, function);
	*e->heads++ = (uint8_t)e->begin;
	*e->heads++ = (uint8_t)e->end;
	e->number++;
	e->begin = MT_EVENT_ALLOCATE;
	e->end = MT_EVENT_FREE | MODE_SAME << HEAD_MODE_SHIFT;
}

static inline __attribute__((always_inline)) void mt_pair_encoder_end(
	const struct mt_pair_encoder *e)
{
	struct mt_columns *c = e->columns;
	struct predictor *p = &c->predictor;

	c->at[MT_COLUMN_HEAD] = e->heads;
	c->at[MT_COLUMN_SIZE] = e->sizes;
	p->context[e->thread & (CONTEXTS - 1)] = (uint16_t)e->context;
	p->last_distance = 0;
	p->last_number = e->number - 1;
	p->next_number = e->number;
}

#endif
