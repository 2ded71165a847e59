/* From columns back to events. Without addresses neither their stream nor what predicts them is
 * looked at. Where single allocations are looked up, only what numbers and times follow from is. */
#include "core/trace/columns.h"
#include "core/trace/predictor.h"
#include "core/trace/unravel.h"
#include "core/trace/varint.h"
#include "core/wire.h"

#include <endian.h>
#include <stdlib.h>

struct mt_decoder {
	struct predictor predictor;
	const uint8_t *at[MT_COLUMNS], *end[MT_COLUMNS];
	const uint8_t *heads_end;
	unsigned wants;
	bool bad;         /* a column has ended too early, or holds no number */
	uint32_t ordered; /* events that come before the next batch of runs */
	bool paced;       /* a column says which events have a new time, not their heads */
	bool narrow;      /* a free names its function by a byte */
	uint32_t same;    /* events before the next that has one */
	uint32_t period;  /* of the next event */
	uint32_t sampled; /* events before the next entry for it */
	struct mt_unravel unravel;
};

/* ---- numbers of a column ---- */

static __attribute__((noinline)) uint64_t get_long(struct mt_decoder *d, enum mt_column column)
{
	struct mt_cursor c = {d->at[column], d->end[column], false};
	uint64_t value = mt_cursor_varint(&c);

	d->at[column] = c.at;
	d->bad |= c.bad;
	return value;
}

static inline uint64_t get(struct mt_decoder *d, enum mt_column column)
{
	const uint8_t *at = d->at[column];

	if (__builtin_expect(d->end[column] - at < 2, 0))
		return get_long(d, column);
	unsigned first = at[0], second = at[1], two = first >> 7;

	if (__builtin_expect(two & second >> 7, 0))
		return get_long(d, column);
	d->at[column] = at + 1 + two;
	return (first & 0x7f) | (second << 7 & -two);
}

static inline uint32_t get32(struct mt_decoder *d, enum mt_column column)
{
	uint64_t value = get(d, column);

	d->bad |= value > UINT32_MAX;
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static inline uint8_t get_byte(struct mt_decoder *d, enum mt_column column)
{
	if (d->at[column] == d->end[column]) {
		d->bad = true;
		return 0;
	}
	return *d->at[column]++;
}

static __attribute__((noinline)) uint16_t get_function(struct mt_decoder *d)
{
	uint64_t function =
		d->narrow ? get_byte(d, MT_COLUMN_FUNCTION) : get_long(d, MT_COLUMN_FUNCTION);

	d->bad |= function > UINT16_MAX;
	return (uint16_t)function;
}

static uint64_t get_address(struct mt_decoder *d)
{
	uint64_t code = get(d, MT_COLUMN_ADDRESS);
	uint64_t difference = mt_unzigzag(code >> 1) << 4;

	return code & 1 ? difference | (get_byte(d, MT_COLUMN_ADDRESS) & 15) : difference;
}

/* ---- events ---- */

static inline void decode_address(struct mt_decoder *d, unsigned head, struct mt_event *e)
{
	struct predictor *p = &d->predictor;
	uint32_t size_class = size_class_of(e->size);
	const struct size_class *class = &p->class[class_of(size_class, thread_spread(e->thread))];
	uint32_t slot = address_slot(p, e->type, class);
	bool hit = !(head & HEAD_ADDRESS);

	e->address = hit ? p->recent[slot].address : class->last_address + get_address(d);
	address_learn(p, e, size_class, hit);
}

static inline void decode_allocation(struct mt_decoder *d, unsigned head, bool addresses,
	struct mt_event *e)
{
	struct predictor *p = &d->predictor;
	uint16_t *context = &p->context[e->thread & (CONTEXTS - 1)];
	uint32_t *group = &p->group[*context];

	if (head & HEAD_GROUP)
		*group = get32(d, MT_COLUMN_GROUP);
	e->group = *group;
	*context = (uint16_t)context_after(*context, e->group);
	uint64_t *size = &p->size[e->group & (SIZES - 1)];

	if (head & HEAD_SIZE)
		*size = get(d, MT_COLUMN_SIZE);
	e->size = *size;
	e->number = p->next_number;
	if (e->type == MT_EVENT_REALLOCATE)
		e->previous = p->last_released - mt_unzigzag(get(d, MT_COLUMN_PREVIOUS));
	if (addresses)
		decode_address(d, head, e);
	else
		p->next_number++;
}

/* In versions 4 to 7, bit 63 of a key says that it is of a pool. The function does not, where the
 * call tree was full. */
static void name_pool(struct mt_event *e)
{
	if (e->address >> 63 && e->function != MT_FUNCTION_POOL)
		e->function = MT_FUNCTION_POOL_FREE;
}

/* The number of the block that a free names. */
static inline uint64_t decode_number(struct mt_decoder *d, unsigned head)
{
	const struct predictor *p = &d->predictor;
	uint64_t newest = p->next_number - 1;

	switch ((head & HEAD_MODE) >> HEAD_MODE_SHIFT) {
	case MODE_DISTANCE: return newest - get(d, MT_COLUMN_DISTANCE);
	case MODE_SAME: return newest - p->last_distance;
	case MODE_NEXT: return p->last_number + 1;
	default: return p->last_number - 1;
	}
}

static inline void decode_free(struct mt_decoder *d, unsigned head, bool addresses,
	struct mt_event *e)
{
	struct predictor *p = &d->predictor;

	if (head & HEAD_KIND)
		p->free_function = get_function(d);
	e->function = p->free_function;
	if (__builtin_expect(e->type == MT_EVENT_UNKNOWN_FREE, 0)) {
		if (addresses)
			e->address = p->unknown_address += get_address(d);
		if (d->narrow)
			name_pool(e);
		return;
	}
	e->number = decode_number(d, head);
	if (addresses) {
		free_learn(p, e);
		return;
	}
	p->last_distance = p->next_number - 1 - e->number;
	p->last_number = e->number;
	if (e->type == MT_EVENT_RELEASE)
		p->last_released = e->number;
}

static inline void decode_thread(struct mt_decoder *d)
{
	struct predictor *p = &d->predictor;
	uint64_t code = get(d, MT_COLUMN_THREAD);

	d->bad |= code > UINT32_MAX + 1ull;
	thread_learn(p, code ? (uint32_t)(code - 1) : p->thread_before);
}

static void decode_note(struct mt_decoder *d, unsigned head, struct mt_event *e)
{
	uint64_t *last = &d->predictor.note[(head & HEAD_NOTE) != 0];

	*last += mt_unzigzag(get(d, MT_COLUMN_NOTE));
	e->note = (head & HEAD_NOTE) != 0;
	e->size = *last;
}

/* How many events have the block's time, or that of the one that has just been given a new time,
 * which counts. */
static uint32_t get_pace(struct mt_decoder *d)
{
	return d->at[MT_COLUMN_PACE] == d->end[MT_COLUMN_PACE]
		? UINT32_MAX
		: get32(d, MT_COLUMN_PACE);
}

static inline void decode_time(struct mt_decoder *d)
{
	d->predictor.time_us += mt_unzigzag(get(d, MT_COLUMN_TIME));
	d->same = get_pace(d);
	d->bad |= !d->same;
	d->same--;
}

/* links: also what reallocs continue, and what is freed. */
static inline void decode_origin(struct mt_decoder *d, unsigned head, bool links,
	struct mt_event *e)
{
	struct predictor *p = &d->predictor;

	if (allocates(e->type)) {
		e->number = p->next_number++;
		if (links && e->type == MT_EVENT_REALLOCATE)
			e->previous = p->last_released - mt_unzigzag(get(d, MT_COLUMN_PREVIOUS));
	} else if (links && e->type != MT_EVENT_NOTE && e->type != MT_EVENT_UNKNOWN_FREE) {
		e->number = decode_number(d, head);
		p->last_distance = p->next_number - 1 - e->number;
		p->last_number = e->number;
		if (e->type == MT_EVENT_RELEASE)
			p->last_released = e->number;
	}
}

static inline __attribute__((always_inline)) uint32_t decode(struct mt_decoder *d,
	struct mt_event *out, uint32_t count, unsigned wants)
{
	const bool addresses = wants & MT_TRACE_ADDRESSES;
	const bool origins = wants & (MT_TRACE_TIMES | MT_TRACE_LINKS);
	struct predictor *p = &d->predictor;
	const uint8_t *heads = d->at[MT_COLUMN_HEAD];
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct mt_event *e = &out[i];
		unsigned head = heads[i];

		*e = (struct mt_event){.type = head & HEAD_TYPE};
		if (d->paced ? !d->same : head & HEAD_TIME)
			decode_time(d);
		else
			d->same--;
		e->time_ns = p->time_us * 1000;
		if (!origins && head & HEAD_THREAD)
			decode_thread(d);
		e->thread = p->thread;
		if (origins)
			decode_origin(d, head, wants & MT_TRACE_LINKS, e);
		else if (allocates(e->type))
			decode_allocation(d, head, addresses, e);
		else if (__builtin_expect(e->type == MT_EVENT_NOTE, 0))
			decode_note(d, head, e);
		else
			decode_free(d, head, addresses, e);
		if (__builtin_expect(d->bad, 0))
			break;
	}
	d->at[MT_COLUMN_HEAD] = heads + i;
	return i;
}

_Static_assert(HEAD_TYPE + 1 == MT_EVENT_TYPES, "every type that a head can hold is known");

static uint32_t left(const struct mt_decoder *d)
{
	return (uint32_t)(d->heads_end - d->at[MT_COLUMN_HEAD]);
}

static uint32_t decode_exact(struct mt_decoder *d, struct mt_event *out, uint32_t count)
{
	if (d->bad)
		return 0;
	switch (d->wants) {
	case MT_TRACE_TIMES: return decode(d, out, count, MT_TRACE_TIMES);
	case MT_TRACE_LINKS: return decode(d, out, count, MT_TRACE_LINKS);
	case MT_TRACE_ADDRESSES: return decode(d, out, count, MT_TRACE_ADDRESSES);
	default: return decode(d, out, count, 0);
	}
}

static void find_period(struct mt_decoder *d)
{
	bool none = d->at[MT_COLUMN_PERIOD] == d->end[MT_COLUMN_PERIOD];

	d->sampled = none ? UINT32_MAX : get32(d, MT_COLUMN_PERIOD);
}

/* Events of a recording that was sampled somewhere in this block. */
static __attribute__((noinline)) uint32_t decode_sampled(struct mt_decoder *d, struct mt_event *out,
	uint32_t count)
{
	uint32_t done = 0;

	while (done < count && !d->bad) {
		uint32_t most = count - done;

		if (!d->sampled) {
			d->period = get32(d, MT_COLUMN_PERIOD);
			find_period(d);
			d->bad |= !d->sampled;
			continue;
		}
		most = decode_exact(d, out + done, most < d->sampled ? most : d->sampled);
		for (uint32_t i = done; i < done + most; i++)
			out[i].period = allocates(out[i].type) ? d->period : 0;
		d->sampled -= most;
		done += most;
	}
	return done;
}

/* The next events as they are stored, fewer than that if a column is bad. */
static inline uint32_t decode_stored(struct mt_decoder *d, struct mt_event *out, uint32_t count)
{
	return d->sampled == UINT32_MAX && !d->period
		? decode_exact(d, out, count)
		: decode_sampled(d, out, count);
}

static void find_runs(struct mt_decoder *d)
{
	bool none = d->at[MT_COLUMN_ORDER] == d->end[MT_COLUMN_ORDER];

	d->ordered = none ? UINT32_MAX : get32(d, MT_COLUMN_ORDER);
}

/* All of a batch is decoded before the first of its events is given. */
static void decode_runs(struct mt_decoder *d)
{
	uint32_t count = get32(d, MT_COLUMN_ORDER), runs = get32(d, MT_COLUMN_ORDER);
	const uint8_t *choices = d->at[MT_COLUMN_ORDER];
	uint64_t first = d->predictor.next_number;

	d->bad |= count < 2 || count > MT_THREAD_RUN_EVENTS_MAX || count > left(d) || runs < 2
		|| runs > MT_THREAD_RUNS_MAX
		|| mt_thread_run_bytes(runs, count) > (size_t)(d->end[MT_COLUMN_ORDER] - choices);
	decode_stored(d, d->unravel.stored, count);
	d->bad = d->bad || !mt_unravel_start(&d->unravel, choices, runs, count, first);
	if (d->bad)
		return;
	d->at[MT_COLUMN_ORDER] = choices + mt_thread_run_bytes(runs, count);
	find_runs(d);
}

static const char bad_column[] = "a column is too short or has an invalid value";

uint32_t mt_decoder_next(struct mt_decoder *d, struct mt_event *out, uint32_t room,
	const char **reason)
{
	uint32_t done = 0;

	*reason = NULL;
	while (done < room) {
		uint32_t most = room - done;

		done += mt_unravel_next(&d->unravel, out + done, most);
		if (d->bad || done == room || !left(d))
			break;
		if (!d->ordered) {
			decode_runs(d);
			continue;
		}
		most = room - done;
		most = left(d) < most ? left(d) : most;
		most = d->ordered < most ? d->ordered : most;
		most = decode_stored(d, out + done, most);
		d->ordered -= most;
		done += most;
	}
	if (d->bad && !done)
		*reason = bad_column;
	return done;
}

/* ---- times alone ---- */

/* How many of eight heads are those of allocations: their two types are the ones without bits 1
 * and 2. */
static inline uint32_t count_eight(uint64_t heads)
{
	const uint64_t others = 0x0606060606060606, carry = 0x7f7f7f7f7f7f7f7f;
	uint64_t none = ~((heads & others) + carry) & ~carry;

	return (uint32_t)((none >> 7) * 0x0101010101010101 >> 56);
}

/* end: of what can be read. */
static inline uint32_t count_allocations(const uint8_t *heads, uint32_t count, const uint8_t *end)
{
	uint32_t found = 0;
	uint64_t eight;

	for (; count >= 8; heads += 8, count -= 8) {
		memcpy(&eight, heads, sizeof eight);
		found += count_eight(eight);
	}
	if (count && end - heads >= 8) {
		memcpy(&eight, heads, sizeof eight);
		return found + count_eight(htole64(eight) | UINT64_MAX << 8 * count);
	}
	for (; count; count--)
		found += allocates(*heads++ & HEAD_TYPE);
	return found;
}

/* The allocation of a number among events of the same time, the first of which has number first. */
static bool is_realloc(const uint8_t *heads, uint64_t first, uint64_t number)
{
	for (;; heads++)
		if (allocates(*heads & HEAD_TYPE) && first++ == number)
			return (*heads & HEAD_TYPE) == MT_EVENT_REALLOCATE;
}

static struct mt_trace_origin *pass_times(struct mt_decoder *d, uint32_t count,
	struct mt_trace_origin *at, const struct mt_trace_origin *end)
{
	struct predictor *p = &d->predictor;
	const uint8_t *heads = d->at[MT_COLUMN_HEAD], *last = heads + count;

	while (heads < last && at < end && !d->bad) {
		if (!d->same) {
			decode_time(d);
			d->same++;
		}
		uint32_t run =
			(uint32_t)(last - heads) < d->same ? (uint32_t)(last - heads) : d->same;
		uint64_t first = p->next_number;

		p->next_number += count_allocations(heads, run, d->heads_end);
		for (; at < end && at->number < p->next_number; at++) {
			if (at->number < first)
				return at;
			at->time_ns = p->time_us * 1000;
			at->reallocated = is_realloc(heads, first, at->number);
		}
		d->same -= run;
		heads += run;
	}
	d->at[MT_COLUMN_HEAD] = heads;
	return at;
}

static struct mt_trace_origin *take_times(struct mt_decoder *d, struct mt_trace_origin *at,
	const struct mt_trace_origin *end)
{
	struct mt_event e;

	while (mt_unravel_next(&d->unravel, &e, 1)) {
		if (at == end || !allocates(e.type) || e.number != at->number)
			continue;
		at->time_ns = e.time_ns;
		at->reallocated = e.type == MT_EVENT_REALLOCATE;
		at++;
	}
	return at;
}

struct mt_trace_origin *mt_decoder_times(struct mt_decoder *d, struct mt_trace_origin *at,
	const struct mt_trace_origin *end, const char **reason)
{
	while (at < end && left(d) && !d->bad) {
		uint32_t most = left(d) < d->ordered ? left(d) : d->ordered;

		if (!d->ordered) {
			decode_runs(d);
			if (!d->bad)
				at = take_times(d, at, end);
			continue;
		}
		at = pass_times(d, most, at, end);
		d->ordered -= d->ordered == UINT32_MAX ? 0 : most;
		if (at < end && at->number < d->predictor.next_number)
			break; /* it is not there */
	}
	*reason = d->bad ? bad_column : NULL;
	return at;
}

/* ---- beginning a block ---- */

/* Where the streams of a payload lie: what its head says. */
struct streams {
	unsigned count;
	struct {
		uint64_t id, len;
	} at[MT_STREAMS_MAX];
};

static const char bad_lengths[] = "the lengths of its columns do not add up";

/* Versions 4 to 7: the first streams, each in its place; older traces lack one or two. */
static const char *read_positional(struct mt_cursor *c, struct streams *s)
{
	uint64_t count = mt_cursor_varint(c);

	if (count != MT_COLUMNS_POSITIONAL && count != MT_COLUMN_PACE && count != MT_COLUMN_ORDER)
		return bad_lengths;
	for (s->count = 0; s->count < count; s->count++) {
		s->at[s->count].id = s->count;
		s->at[s->count].len = mt_cursor_varint(c);
	}
	return NULL;
}

/* Version 8: those that have entries, by rising id. */
static const char *read_named(struct mt_cursor *c, struct streams *s)
{
	uint64_t count = mt_cursor_bounded(c, MT_STREAMS_MAX);

	for (s->count = 0; s->count < count && !c->bad; s->count++) {
		uint64_t code = mt_cursor_varint(c), id = code >> 1;

		if (s->count && id <= s->at[s->count - 1].id)
			return "its columns are not in order";
		if (id >= MT_COLUMNS && code & MT_STREAM_NEEDED)
			return "it has a column that this memtui does not know; use a newer memtui";
		s->at[s->count].id = id;
		s->at[s->count].len = mt_cursor_varint(c);
	}
	return NULL;
}

static const char *find_columns(struct mt_decoder *d, struct mt_cursor *c, const struct streams *s)
{
	for (unsigned i = 0; i < MT_COLUMNS; i++)
		d->at[i] = d->end[i] = c->end;
	for (unsigned i = 0; i < s->count; i++) {
		const uint8_t *at = mt_cursor_bytes(c, s->at[i].len);

		if (!at)
			return bad_lengths;
		if (s->at[i].id >= MT_COLUMNS)
			continue;
		d->at[s->at[i].id] = at;
		d->end[s->at[i].id] = at + s->at[i].len;
	}
	return c->bad || c->at != c->end ? bad_lengths : NULL;
}

const char *mt_decoder_start(struct mt_decoder *d, unsigned version, const uint8_t *payload,
	size_t len, uint32_t event_count, unsigned wants)
{
	struct mt_cursor c = {payload, payload + len, false};
	uint64_t first_number = mt_cursor_varint(&c), base_us = mt_cursor_varint(&c);
	struct streams streams;
	const char *fault = version < 8 ? read_positional(&c, &streams) : read_named(&c, &streams);

	fault = fault ? fault : find_columns(d, &c, &streams);
	if (fault)
		return fault;
	if ((size_t)(d->end[MT_COLUMN_HEAD] - d->at[MT_COLUMN_HEAD]) != event_count)
		return bad_lengths;
	predictor_init(&d->predictor, first_number, base_us);
	d->heads_end = d->end[MT_COLUMN_HEAD];
	d->wants = wants;
	d->bad = false;
	d->unravel.count = d->unravel.given = 0;
	d->paced = version >= 8 || streams.count > MT_COLUMN_PACE;
	d->narrow = version < 8;
	d->same = get_pace(d);
	d->period = 0;
	if (wants & (MT_TRACE_TIMES | MT_TRACE_LINKS))
		d->sampled = UINT32_MAX; /* periods are not looked at */
	else
		find_period(d);
	find_runs(d);
	return NULL;
}

struct mt_decoder *mt_decoder_new(void)
{
	return mt_alloc(sizeof(struct mt_decoder));
}

void mt_decoder_free(struct mt_decoder *d)
{
	free(d);
}
