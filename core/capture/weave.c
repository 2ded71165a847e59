#include "core/capture/weave.h"
#include "core/capture/events.h"
#include "core/capture/pairs.h"
#include "core/trace/pair_encoder.h"

#define HOT static inline __attribute__((always_inline))

#define ALONE 32 /* steps of one ring in a row: from here on it is quicker by itself */

/* The event block that is open. */
struct output {
	struct mt_columns *columns; /* NULL: not begun */
	uint32_t end;               /* m->unflushed gets no further */
};

/* Before the first event, its time; number: of the next allocation. */
static __attribute__((noinline)) void begin_output(struct mt_merge *m, struct output *to,
	uint64_t time_ns, uint64_t number)
{
	uint32_t room;

	to->columns = mt_trace_writer_columns(m->writer, number, time_ns, &room);
	if (room < to->end - m->unflushed)
		to->end = m->unflushed + room;
}

/* number: of the next allocation. */
HOT void encode(struct mt_merge *m, struct output *to, const struct mt_ring *r,
	const struct mt_match_cell *b, enum mt_event_type type, uint8_t kind, uint64_t number)
{
	const struct mt_event e = mt_event_of(m, r, b, type, kind, 0);

	if (__builtin_expect(!to->columns, 0))
		begin_output(m, to, m->now_ns, number);
	*to->columns->at[MT_COLUMN_HEAD]++ = (uint8_t)mt_columns_encode(to->columns, &e);
	m->unflushed++;
}

HOT void encode_pair(struct mt_merge *m, struct output *to, const struct mt_ring *r,
	const struct mt_pair *pair, uint64_t begin_ns)
{
	struct mt_pair_encoder encoder;

	if (__builtin_expect(!to->columns, 0))
		begin_output(m, to, begin_ns, m->next_number);
	encoder = mt_pair_encoder_begin(to->columns, r->thread, m->next_number, 1);
	mt_pair_encode_times(&encoder, begin_ns, m->now_ns);
	mt_pair_encode(&encoder, pair->address, pair->size, pair->group, (uint8_t)pair->kind);
	mt_pair_encoder_end(&encoder);
	m->unflushed += 2;
}

/* The pair that comes next in the ring, where it ends before anything else happens. False: it is to
 * be taken as two events. */
HOT bool whole(struct mt_merge *m, struct output *to, struct mt_ring *r, const struct mt_pair *pair)
{
	uint64_t begin_ns;

	if (!mt_match_lacks(&m->match, pair->address) || !mt_pair_pass_time(m, pair, &begin_ns))
		return false;
	mt_ahead_look(m, r, r->decoded);
	mt_model_pair(m->model, &m->model->profile->groups[pair->group], pair->size, begin_ns);
	encode_pair(m, to, r, pair, begin_ns);
	m->next_number++;
	mt_model_pairs(m->model, r->thread, 1, pair->size, m->next_number, m->now_ns);
	m->model->profile->info.events += 2;
	r->decoded += 2;
	r->time = pair->end;
	return true;
}

/* The pair that comes next begins. False: something is at its address. */
HOT bool begin(struct mt_merge *m, struct output *to, struct mt_ring *r, const struct mt_pair *pair,
	uint64_t bound)
{
	struct mt_match_open *open = mt_match_open(&m->match, mt_event_slot(m, r), pair->address);

	if (__builtin_expect(!open, 0))
		return false;
	mt_event_step(m, r, pair->begin, bound);
	open->cell = mt_event_begin(m, r, pair->address, pair->size, pair->group, false);
	encode(m, to, r, &open->cell, MT_EVENT_ALLOCATE, 0, open->cell.number);
	r->open = open;
	return true;
}

/* The ring's open block ends. False: not by what comes next in the ring. */
HOT bool end(struct mt_merge *m, struct output *to, struct mt_ring *r, uint64_t bound)
{
	struct mt_wire_record record = mt_ring_read(r, r->decoded);
	uint64_t time = r->time + mt_wire_record_delta(&record);
	uint64_t address = r->open->cell.address;
	uint32_t kind = mt_wire_record_node(&record);
	struct mt_block block;

	if (!address || kind >= MT_KIND_COUNT || time > bound
		|| record.word1 != mt_wire_record_pack(MT_RECORD_FREE, 0, 0, address >> 3, 0).word1)
		return false;
	mt_event_step(m, r, time, bound);
	block = mt_match_block(mt_match_close(&m->match, r->open, address));
	mt_model_free(m->model, &block, m->now_ns);
	encode(m, to, r, &r->open->cell, MT_EVENT_FREE, (uint8_t)kind, m->next_number);
	r->open = NULL;
	return true;
}

/* The stamp of what comes next in a ring; UINT64_MAX: that is no allocation by itself, or
 * nothing yet. */
HOT uint64_t next_time(const struct mt_ring *r)
{
	struct mt_wire_record record = mt_ring_read(r, r->decoded);

	return r->decoded < r->limit && mt_ring_is_plain(&record)
		? r->time + mt_wire_record_delta(&record)
		: UINT64_MAX;
}

/* A pair, or the beginning of one, is what comes next in the ring. Returns the stamp of what comes
 * behind, UINT64_MAX: nothing is known of that; or 0: nothing has happened. */
HOT uint64_t go_on(struct mt_merge *m, struct output *to, struct mt_ring *r, uint64_t bound)
{
	struct mt_wire_record first = mt_ring_read(r, r->decoded);
	struct mt_wire_record second = mt_ring_read(r, r->decoded + 1);
	struct mt_pair pair;

	if (r->decoded + 2 > r->limit
		|| !mt_pair_read(&first, &second, r->time, mt_pair_groups(m), &pair))
		return 0;
	if (pair.end < bound && whole(m, to, r, &pair))
		return next_time(r);
	return pair.begin <= bound && begin(m, to, r, &pair, bound) ? pair.end : 0;
}

void mt_weave_run(struct mt_merge *m)
{
	struct output to = {.end = m->block_events};
	uint32_t alone = 0, last = UINT32_MAX;

	while (m->unflushed + 2 <= to.end && alone < ALONE) {
		uint32_t id = m->order.entries->ring;
		uint64_t bound = mt_order_second(&m->order, m->horizon), next;
		struct mt_ring *r = &m->rings[id];

		if (r->ready || r->decoded >= r->limit || !r->has_thread)
			break;
		if (r->open)
			next = end(m, &to, r, bound) ? next_time(r) : 0;
		else
			next = go_on(m, &to, r, bound);
		r->consumed = r->decoded;
		if (!next || next > m->horizon)
			break;
		mt_order_delay(&m->order, next);
		alone = id == last ? alone + 1 : 0;
		last = id;
	}
	if (m->unflushed >= m->block_events && m->flush)
		m->flush(m->context);
}
