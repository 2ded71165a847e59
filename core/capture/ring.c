#include "core/capture/ring.h"
#include "core/base/assert.h"

#include <stdlib.h>

void mt_ring_init(struct mt_ring *r, const struct mt_segment *s, uint32_t id)
{
	*r = (struct mt_ring){.mask = mt_wire_ring_capacity(&s->sizes, id) - 1};
	r->shared = (struct mt_wire_ring *)mt_segment_entry(s, rings, id);
	r->data = (const struct mt_wire_record *)mt_segment_entry(s, ring_data,
		mt_wire_ring_place(&s->sizes, id));
}

void mt_ring_free(struct mt_ring *r)
{
	for (int i = 0; i < MT_RING_UNMAPS; i++)
		free(r->unmaps[i].removed.items);
}

uint64_t mt_ring_head(struct mt_ring *r)
{
	uint64_t head = __atomic_load_n(&r->shared->head, __ATOMIC_ACQUIRE);

	if (head - r->consumed <= r->mask + 1 && head - r->consumed >= r->decoded - r->consumed)
		return head;
	r->damaged = true;
	return r->decoded;
}

static void extend(struct mt_extensions *x, const struct mt_wire_record *record)
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
		x->function = mt_wire_record_pointer(record);
		x->has_pointer = true;
		break;
	case MT_EXTEND_VALUE:
		if (x->value_count < MT_MARK_VALUES)
			x->values[x->value_count++] = record->word0;
		break;
	case MT_EXTEND_USABLE:
		x->usable = record->word0;
		x->has_usable = true;
		break;
	case MT_EXTEND_PAUSED: x->paused = true; break;
	}
}

static void decode_mark(struct mt_decoded *d, const struct mt_wire_record *record,
	const struct mt_extensions *x)
{
	static const struct {
		uint8_t type, values; /* at least */
	} marks[] = {
		[MT_MARK_THREAD] = {MT_DECODED_THREAD, 0},
		[MT_MARK_GAP] = {MT_DECODED_GAP, 3},
		[MT_MARK_MAP] = {MT_DECODED_MAP, 4},
		[MT_MARK_UNMAP] = {MT_DECODED_UNMAP, 2},
		[MT_MARK_UNMAP_FAILED] = {MT_DECODED_UNMAP_FAILED, 2},
		[MT_MARK_CALL] = {MT_DECODED_CALL, 3},
		[MT_MARK_USER] = {MT_DECODED_USER, 0},
	};
	uint32_t mark = mt_wire_record_size(record);

	d->type = MT_DECODED_INVALID;
	d->pointer = mt_wire_record_pointer(record);
	if (mark < sizeof marks / sizeof *marks && x->value_count >= marks[mark].values)
		d->type = marks[mark].type;
}

static const struct {
	uint8_t domain, role;
} functions[MT_FUNCTION_COUNT] = {
#define X(id, name, domain, role, family) [MT_FUNCTION_##id] = {MT_DOMAIN_##domain, MT_CALL_##role},
	MT_FUNCTIONS(X)
#undef X
};

uint8_t mt_ring_domain(unsigned function)
{
	mt_assert(function < MT_FUNCTION_COUNT);
	return functions[function].domain;
}

/* The type of a record whose function belongs to another domain than the heap. */
static unsigned domain_type(unsigned type, unsigned role)
{
	bool begins = role == MT_CALL_ALLOCATE || role == MT_CALL_REALLOCATE;
	bool ends = role == MT_CALL_FREE || role == MT_CALL_REALLOCATE;

	switch (type) {
	case MT_RECORD_ALLOC: return begins ? MT_DECODED_DOMAIN_ALLOC : MT_DECODED_INVALID;
	case MT_RECORD_REALLOC: return begins ? MT_DECODED_DOMAIN_REALLOC : MT_DECODED_INVALID;
	case MT_RECORD_FREE: return ends ? MT_DECODED_DOMAIN_FREE : MT_DECODED_INVALID;
	case MT_RECORD_RELEASE: return ends ? MT_DECODED_DOMAIN_RELEASE : MT_DECODED_INVALID;
	}
	return type; /* a restore: of the block that was released, wherever it was */
}

static void decode_function(struct mt_decoded *d, uint64_t function)
{
	if (d->type == MT_DECODED_INVALID)
		return;
	if (function >= MT_FUNCTION_COUNT) {
		d->type = MT_DECODED_INVALID;
		return;
	}
	if (functions[function].domain == MT_DOMAIN_HEAP)
		return;
	d->function = (uint16_t)function;
	d->type = (uint16_t)domain_type(d->type, functions[function].role);
}

static void decode_plain(struct mt_decoded *d, const struct mt_wire_record *record,
	const struct mt_extensions *x)
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
	if (pointer == MT_POINTER_EXTENDED)
		decode_function(d, x->function);
	if (d->type == MT_RECORD_ALLOC && x->has_usable)
		d->type = MT_DECODED_ALLOC;
	if (d->type == MT_RECORD_REALLOC && (x->has_usable || x->paused))
		d->type = MT_DECODED_REALLOC;
}

/* Extensions, marks and voids. */
static bool decode_slow(const struct mt_ring *r, uint64_t *position, uint64_t limit, uint64_t *time,
	struct mt_decoded *d)
{
	struct mt_extensions x = {0};

	while (*position != limit) {
		struct mt_wire_record record = mt_ring_read(r, (*position)++);
		unsigned type = mt_wire_record_type(&record);

		if (type == MT_RECORD_EXTEND) {
			extend(&x, &record);
			continue;
		}
		if (type == MT_RECORD_VOID) {
			x = (struct mt_extensions){0};
			continue;
		}
		*time = x.has_time ? x.time : *time + mt_wire_record_delta(&record);
		d->time = *time;
		d->type = (uint16_t)type;
		d->function = MT_FUNCTION_NONE;
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
	*d = (struct mt_decoded){
		.time = *time,
		.end = ++*position,
		.pointer = mt_wire_record_pointer(&record) << 3,
		.size = mt_wire_record_size(&record),
		.node = mt_wire_record_node(&record),
		.type = (uint16_t)mt_wire_record_type(&record),
	};
	return true;
}

void mt_ring_extensions(const struct mt_ring *r, uint64_t from, uint64_t end,
	struct mt_extensions *x)
{
	*x = (struct mt_extensions){0};
	for (uint64_t at = from; at + 1 < end; at++) {
		struct mt_wire_record record = mt_ring_read(r, at);

		if (mt_wire_record_type(&record) == MT_RECORD_EXTEND)
			extend(x, &record);
		else
			*x = (struct mt_extensions){0};
	}
}

void mt_ring_limit(struct mt_ring *r)
{
	uint64_t step = r->published_tail + MT_RING_STEP;

	r->limit = r->first_head < step ? r->first_head : step;
}

void mt_ring_advance(struct mt_ring *r)
{
	mt_assert(r->published_tail <= r->consumed && r->consumed <= r->decoded);
	if (r->published_tail == r->consumed)
		return;
	r->published_tail = r->consumed;
	mt_ring_limit(r);
	__atomic_store_n(&r->shared->tail, r->consumed, __ATOMIC_RELEASE);
}
