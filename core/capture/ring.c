#include "core/capture/ring.h"

void mt_ring_init(struct mt_ring *r, const struct mt_segment *s, uint32_t id)
{
	*r = (struct mt_ring){.mask = s->ring_records - 1};
	r->shared = (struct mt_wire_ring *)mt_segment_entry(s, rings, id);
	r->data = (const struct mt_wire_record *)mt_segment_entry(s, ring_data, (uint64_t)id * s->ring_records);
}

uint64_t mt_ring_head(struct mt_ring *r)
{
	uint64_t head = __atomic_load_n(&r->shared->head, __ATOMIC_ACQUIRE);

	if (head - r->consumed <= r->mask + 1)
		return head;
	r->damaged = true;
	return r->consumed;
}

struct extensions {
	uint64_t time, size, pointer, values[3];
	unsigned value_count;
	bool has_time, has_size, has_pointer;
};

static void extend(struct extensions *x, const struct mt_wire_record *record)
{
	switch (mt_wire_record_size(record)) {
	case MT_EXTEND_TIME:
		x->time = record->word0;
		x->has_time = true;
		break;
	case MT_EXTEND_SIZE:
		x->size = record->word0;
		x->has_size = true;
		break;
	case MT_EXTEND_POINTER:
		x->pointer = record->word0;
		x->has_pointer = true;
		break;
	case MT_EXTEND_VALUE:
		if (x->value_count < 3)
			x->values[x->value_count++] = record->word0;
		break;
	}
}

static void decode_mark(struct mt_decoded *d, const struct mt_wire_record *record, const struct extensions *x)
{
	uint32_t mark = mt_wire_record_size(record);

	d->type = MT_DECODED_INVALID;
	if (mark == MT_MARK_THREAD) {
		d->type = MT_DECODED_THREAD;
	} else if (mark == MT_MARK_GAP && x->value_count == 3) {
		d->type = MT_DECODED_GAP;
		d->pointer = x->values[0];
		d->size = x->values[1] + x->values[2];
	}
}

static void decode_plain(struct mt_decoded *d, const struct mt_wire_record *record, const struct extensions *x)
{
	uint64_t pointer = mt_wire_record_pointer(record);

	d->pointer = pointer << 3;
	d->size = mt_wire_record_size(record);
	if (d->size == MT_SIZE_EXTENDED && x->has_size)
		d->size = x->size;
	if (pointer == MT_POINTER_EXTENDED) {
		d->pointer = x->pointer;
		if (!x->has_pointer)
			d->type = MT_DECODED_INVALID;
	}
	if (!d->pointer && d->type != MT_RECORD_RESTORE)
		d->type = MT_DECODED_INVALID;
}

/* Extensions, marks and voids. */
static bool decode_slow(const struct mt_ring *r, uint64_t *position, uint64_t limit, uint64_t *time,
	struct mt_decoded *d)
{
	struct extensions x = {0};

	while (*position != limit) {
		struct mt_wire_record record = mt_ring_read(r, (*position)++);
		unsigned type = mt_wire_record_type(&record);

		if (type == MT_RECORD_EXTEND) {
			extend(&x, &record);
			continue;
		}
		if (type == MT_RECORD_VOID) {
			x = (struct extensions){0};
			continue;
		}
		*time = x.has_time ? x.time : *time + mt_wire_record_delta(&record);
		d->time = *time;
		d->type = type;
		d->node = mt_wire_record_node(&record);
		d->end = *position;
		if (type == MT_RECORD_MARK)
			decode_mark(d, &record, &x);
		else
			decode_plain(d, &record, &x);
		return true;
	}
	return false;
}

bool mt_ring_decode(const struct mt_ring *r, uint64_t *position, uint64_t limit, uint64_t *time,
	struct mt_decoded *d)
{
	if (*position == limit)
		return false;
	struct mt_wire_record record = mt_ring_read(r, *position);

	if (!mt_ring_is_plain(&record))
		return decode_slow(r, position, limit, time, d);
	*time += mt_wire_record_delta(&record);
	*d = (struct mt_decoded){.time = *time, .end = ++*position, .pointer = mt_wire_record_pointer(&record) << 3,
		.size = mt_wire_record_size(&record), .node = mt_wire_record_node(&record),
		.type = mt_wire_record_type(&record)};
	return true;
}

void mt_ring_advance(struct mt_ring *r)
{
	if (r->published_tail == r->consumed)
		return;
	r->published_tail = r->consumed;
	__atomic_store_n(&r->shared->tail, r->consumed, __ATOMIC_RELEASE);
}
