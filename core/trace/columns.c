#include "core/trace/columns.h"
#include "core/trace/block.h"
#include "core/trace/varint.h"

#include <errno.h>
#include <stdlib.h>

/* Head byte: type, then what has an entry in its stream because the prediction failed. */
#define HEAD_TYPE 0x07u
#define HEAD_THREAD 0x08u
#define HEAD_TIME 0x10u
#define HEAD_GROUP 0x20u   /* allocations */
#define HEAD_SIZE 0x40u
#define HEAD_ADDRESS 0x80u
#define HEAD_MODE_SHIFT 5  /* frees: enum mode in two bits */
#define HEAD_MODE 0x60u
#define HEAD_KIND 0x80u
#define HEAD_NOTE 0x20u    /* notes: enum mt_event_note */

/* How a free names its block. */
enum mode {
	MODE_DISTANCE, /* allocations since, in its stream */
	MODE_SAME,     /* as many allocations ago as for the free before */
	MODE_NEXT,     /* the block after the one freed before */
	MODE_BEFORE,   /* the block before that */
};

#define CONTEXTS 64
#define GROUPS 4096
#define SIZES 2048
#define CLASSES 1024
#define RECENT 4096
#define NOT_RECENT RECENT /* index of an entry that never matches */

struct recent {
	uint64_t address;
	uint32_t class;
	uint32_t below; /* the block of this class freed before this one */
};

struct class {
	uint64_t last_address;
	uint32_t top; /* recent block of this class freed last: malloc hands it out next */
	uint32_t reserved;
};

/* What encoder and decoder both know before each event. */
struct predictor {
	uint64_t time_us, next_number, first_number;
	uint64_t last_number, last_distance, last_released;
	uint64_t unknown_address;
	uint64_t note[MT_NOTES];         /* value of the last */
	uint32_t thread, free_group, released;
	uint8_t free_kind;
	uint16_t context[CONTEXTS];      /* by thread: hash of the groups of its last allocations */
	uint32_t group[GROUPS];          /* by context */
	uint64_t size[SIZES];            /* by group */
	struct class class[CLASSES];     /* by size */
	struct recent recent[RECENT + 1]; /* by number */
};

struct mt_columns {
	struct predictor predictor;
	bool started;
	uint64_t first_number, first_us, last_us, base_us;
	uint64_t time_ns; /* of the last event */
	uint8_t *at[MT_COLUMNS], *start[MT_COLUMNS];
};

static const uint8_t column_max[MT_COLUMNS] = { /* bytes per event */
	[MT_COLUMN_HEAD] = 1,      [MT_COLUMN_TIME] = 10,    [MT_COLUMN_THREAD] = 5,
	[MT_COLUMN_GROUP] = 5,     [MT_COLUMN_SIZE] = 10,    [MT_COLUMN_ADDRESS] = 11,
	[MT_COLUMN_DISTANCE] = 10, [MT_COLUMN_PREVIOUS] = 10, [MT_COLUMN_KIND] = 6,
	[MT_COLUMN_NOTE] = 10,
};

static void predictor_init(struct predictor *p, uint64_t first_number, uint64_t base_us)
{
	memset(p, 0, sizeof *p);
	for (unsigned i = 0; i < CLASSES; i++)
		p->class[i].top = NOT_RECENT;
	p->recent[NOT_RECENT].below = NOT_RECENT;
	p->recent[NOT_RECENT].address = ~0ull;
	p->released = NOT_RECENT;
	p->next_number = p->first_number = first_number;
	p->time_us = base_us;
}

/* glibc's chunks: 8 bytes of header, multiples of 16. */
static inline uint32_t size_class(uint64_t size)
{
	return (uint32_t)((size + 23) >> 4) & (CLASSES - 1);
}

static inline void context_next(uint16_t *context, uint32_t group)
{
	*context = (uint16_t)((uint32_t)*context << 6 ^ group * 0x9e3779b1u) & (GROUPS - 1);
}

/* Place in recent of a block that this event block itself allocated not long ago. */
static inline uint32_t recent_slot(const struct predictor *p, uint64_t number)
{
	bool known = p->next_number - 1 - number < RECENT && number >= p->first_number;

	return known ? (uint32_t)number & (RECENT - 1) : NOT_RECENT;
}

static inline void push_freed(struct predictor *p, uint32_t slot)
{
	struct recent *r = &p->recent[slot];

	if (slot == NOT_RECENT)
		return;
	r->below = p->class[r->class].top;
	p->class[r->class].top = slot;
}

/* A realloc most often stays where the block was; a plain allocation takes what was freed last. */
static inline uint32_t address_slot(const struct predictor *p, unsigned type, const struct class *c)
{
	return type == MT_EVENT_REALLOCATE && p->released != NOT_RECENT ? p->released : c->top;
}

static inline void address_learn(struct predictor *p, unsigned type, uint32_t class, uint64_t address, bool hit)
{
	struct class *c = &p->class[class];
	struct recent *r = &p->recent[p->next_number & (RECENT - 1)];

	if (type == MT_EVENT_REALLOCATE) {
		if (!hit)
			push_freed(p, p->released);
		p->released = NOT_RECENT;
	} else if (hit) {
		c->top = p->recent[c->top].below;
	}
	c->last_address = address;
	r->address = address;
	r->class = class;
	r->below = NOT_RECENT;
	p->next_number++;
}

/* After a free, release, restore or implied free of the block. */
static inline void free_learn(struct predictor *p, unsigned type, uint64_t number)
{
	uint32_t slot = recent_slot(p, number);

	p->last_distance = p->next_number - 1 - number;
	p->last_number = number;
	if (type == MT_EVENT_RELEASE) {
		p->last_released = number;
		p->released = slot;
	} else if (type == MT_EVENT_RESTORE) {
		p->released = NOT_RECENT;
	} else {
		push_freed(p, slot);
	}
}

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
		c->at[MT_COLUMN_ADDRESS] =
			address_put(c->at[MT_COLUMN_ADDRESS], e->address - p->class[class].last_address);
	}
	if (e->type == MT_EVENT_REALLOCATE)
		c->at[MT_COLUMN_PREVIOUS] =
			mt_varint_put(c->at[MT_COLUMN_PREVIOUS], mt_zigzag(p->last_released - e->previous));
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
		c->at[MT_COLUMN_ADDRESS] = address_put(c->at[MT_COLUMN_ADDRESS], e->address - p->unknown_address);
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

static inline bool allocates(unsigned type)
{
	return type == MT_EVENT_ALLOCATE || type == MT_EVENT_REALLOCATE;
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
			head |= __builtin_expect(e->type == MT_EVENT_NOTE, 0) ? encode_note(c, e) : encode_free(c, e);
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
		c->at[i] = c->start[i] = mt_resize(NULL, (size_t)column_max[i] * MT_BLOCK_EVENTS_MAX);
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

/* ---- decoding ---- */

struct decoder {
	struct predictor predictor;
	struct mt_cursor in[MT_COLUMNS];
};

static uint64_t address_get(struct mt_cursor *c)
{
	uint64_t code = mt_cursor_varint(c);
	uint64_t difference = mt_unzigzag(code >> 1) << 4;

	return code & 1 ? difference | (mt_cursor_byte(c) & 15) : difference;
}

static void decode_allocation(struct decoder *d, unsigned head, struct mt_event *e)
{
	struct predictor *p = &d->predictor;
	uint16_t *context = &p->context[e->thread & (CONTEXTS - 1)];
	uint32_t *group = &p->group[*context];

	if (head & HEAD_GROUP)
		*group = (uint32_t)mt_cursor_bounded(&d->in[MT_COLUMN_GROUP], UINT32_MAX);
	e->group = *group;
	context_next(context, e->group);
	uint64_t *size = &p->size[e->group & (SIZES - 1)];

	if (head & HEAD_SIZE)
		*size = mt_cursor_varint(&d->in[MT_COLUMN_SIZE]);
	e->size = *size;
	uint32_t class = size_class(e->size);
	uint32_t slot = address_slot(p, e->type, &p->class[class]);
	bool hit = !(head & HEAD_ADDRESS);

	e->address = hit ? p->recent[slot].address
	                 : p->class[class].last_address + address_get(&d->in[MT_COLUMN_ADDRESS]);
	if (e->type == MT_EVENT_REALLOCATE)
		e->previous = p->last_released - mt_unzigzag(mt_cursor_varint(&d->in[MT_COLUMN_PREVIOUS]));
	e->number = p->next_number;
	address_learn(p, e->type, class, e->address, hit);
}

static void decode_free(struct decoder *d, unsigned head, struct mt_event *e)
{
	struct predictor *p = &d->predictor;
	struct mt_cursor *kind = &d->in[MT_COLUMN_KIND];

	if (head & HEAD_KIND) {
		p->free_kind = mt_cursor_byte(kind);
		p->free_group = (uint32_t)mt_cursor_bounded(kind, UINT32_MAX);
	}
	e->kind = p->free_kind;
	e->group = p->free_group;
	if (e->type == MT_EVENT_UNKNOWN_FREE) {
		p->unknown_address += address_get(&d->in[MT_COLUMN_ADDRESS]);
		e->address = p->unknown_address;
		return;
	}
	switch ((head & HEAD_MODE) >> HEAD_MODE_SHIFT) {
	case MODE_DISTANCE:
		e->number = p->next_number - 1 - mt_cursor_varint(&d->in[MT_COLUMN_DISTANCE]);
		break;
	case MODE_SAME:
		e->number = p->next_number - 1 - p->last_distance;
		break;
	case MODE_NEXT:
		e->number = p->last_number + 1;
		break;
	default:
		e->number = p->last_number - 1;
	}
	free_learn(p, e->type, e->number);
}

static void decode_note(struct decoder *d, unsigned head, struct mt_event *e)
{
	uint64_t *last = &d->predictor.note[(head & HEAD_NOTE) != 0];

	*last += mt_unzigzag(mt_cursor_varint(&d->in[MT_COLUMN_NOTE]));
	e->kind = (head & HEAD_NOTE) != 0;
	e->size = *last;
}

static void decode_event(struct decoder *d, unsigned head, struct mt_event *e)
{
	struct predictor *p = &d->predictor;

	*e = (struct mt_event){.type = head & HEAD_TYPE};
	if (head & HEAD_TIME)
		p->time_us += mt_unzigzag(mt_cursor_varint(&d->in[MT_COLUMN_TIME]));
	if (head & HEAD_THREAD)
		p->thread = (uint32_t)mt_cursor_bounded(&d->in[MT_COLUMN_THREAD], UINT32_MAX);
	e->time_ns = p->time_us * 1000;
	e->thread = p->thread;
	if (allocates(e->type))
		decode_allocation(d, head, e);
	else if (e->type == MT_EVENT_NOTE)
		decode_note(d, head, e);
	else
		decode_free(d, head, e);
}

/* Finds the streams in the payload; false when its lengths do not add up. */
static bool decode_start(struct decoder *d, const uint8_t *payload, size_t len, uint32_t event_count)
{
	struct mt_cursor c = {payload, payload + len, false};
	uint64_t first_number = mt_cursor_varint(&c), base_us = mt_cursor_varint(&c);
	uint64_t stream_len[MT_COLUMNS];

	if (mt_cursor_varint(&c) != MT_COLUMNS)
		return false;
	for (unsigned i = 0; i < MT_COLUMNS; i++)
		stream_len[i] = mt_cursor_varint(&c);
	for (unsigned i = 0; i < MT_COLUMNS; i++) {
		const uint8_t *bytes = mt_cursor_bytes(&c, stream_len[i]);

		if (!bytes)
			return false;
		d->in[i] = (struct mt_cursor){bytes, bytes + stream_len[i], false};
	}
	predictor_init(&d->predictor, first_number, base_us);
	return !c.bad && c.at == c.end && stream_len[MT_COLUMN_HEAD] == event_count;
}

static bool decode_bad(const struct decoder *d)
{
	bool bad = false;

	for (unsigned i = 1; i < MT_COLUMNS; i++)
		bad |= d->in[i].bad;
	return bad;
}

int mt_columns_decode(const uint8_t *payload, size_t len, uint32_t event_count,
	int (*visit)(void *context, const struct mt_event *), void *context, const char **reason)
{
	struct decoder *d = mt_resize(NULL, sizeof *d);
	struct mt_event e;
	int result = 0;

	*reason = NULL;
	if (!decode_start(d, payload, len, event_count))
		*reason = "its columns have lengths that do not add up";
	for (uint32_t i = 0; i < event_count && !result && !*reason; i++) {
		unsigned head = d->in[MT_COLUMN_HEAD].at[i];

		if ((head & HEAD_TYPE) >= MT_EVENT_TYPES) {
			*reason = "it holds an event of unknown type";
			break;
		}
		decode_event(d, head, &e);
		if (decode_bad(d))
			*reason = "a column ends before the events do";
		else
			result = visit(context, &e);
	}
	free(d);
	return *reason ? -EBADMSG : result;
}
