/* Batches of events that are stored run by run: they are read in the order in which they
 * happened, with the numbers that they then had; and payloads that cannot be are refused behind
 * what makes sense. */
#include "core/trace/block.h"
#include "core/trace/encoder.h"
#include "tests/unit/same_event.h"

#include <stdlib.h>

#define BATCH 400
#define EVENTS 6000

struct state {
	uint64_t random;
	struct mt_columns *columns;
	struct mt_event *events; /* as they happened */
	uint32_t count;
	uint64_t now_ns, number, live[64];
	uint32_t live_count;
};

static uint32_t below(struct state *s, uint32_t limit)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s->random >> 33) % limit;
}

static struct mt_event *next_event(struct state *s, uint8_t type, uint32_t thread)
{
	struct mt_event *e = &s->events[s->count++];

	s->now_ns += below(s, 3) ? 0 : 1000 * below(s, 300);
	*e = (struct mt_event){.type = type, .thread = thread, .time_ns = s->now_ns};
	if (type == MT_EVENT_ALLOCATE) {
		e->number = s->number++;
		e->group = below(s, 9);
		e->size = below(s, 3) ? 16 * e->group : below(s, 100000);
		e->address = 0x10000 * (thread + 1ull) + 16 * below(s, 50);
	} else {
		e->function = (uint8_t)(5 + below(s, 20) / 19);
	}
	return e;
}

static void encode(struct state *s, const struct mt_event *e)
{
	mt_columns_encode(s->columns, e);
}

/* What happens to one block or another, alone. */
static void put_single(struct state *s)
{
	bool ends = s->live_count == 64 || (s->live_count && below(s, 2));
	struct mt_event *e = next_event(s, ends ? MT_EVENT_FREE : MT_EVENT_ALLOCATE, below(s, 3));
	uint32_t at = below(s, s->live_count + !ends);

	if (ends) {
		e->number = s->live[at];
		s->live[at] = s->live[--s->live_count];
	} else {
		s->live[s->live_count++] = e->number;
	}
	encode(s, e);
}

/* The same events run by run, and numbered so. */
static void encode_runs(struct state *s, const struct mt_event *batch, const uint8_t *choices,
	uint32_t count, uint32_t runs, uint64_t first)
{
	uint64_t stored[BATCH], next = first;

	for (uint32_t run = 0; run < runs; run++)
		for (uint32_t i = 0; i < count; i++)
			if (choices[i] == run && batch[i].type == MT_EVENT_ALLOCATE)
				stored[batch[i].number - first] = next++;
	mt_columns_thread_runs(s->columns, choices, count, runs);
	for (uint32_t run = 0; run < runs; run++)
		for (uint32_t i = 0; i < count; i++) {
			struct mt_event e = batch[i];

			if (choices[i] != run)
				continue;
			if (e.number >= first)
				e.number = stored[e.number - first];
			encode(s, &e);
		}
}

static void put_batch(struct state *s)
{
	const struct mt_event *batch = &s->events[s->count];
	uint32_t runs = 2 + below(s, MT_THREAD_RUNS_MAX - 1), count = 2 + below(s, BATCH - 1);
	uint64_t first = s->number, open[MT_THREAD_RUNS_MAX];
	uint8_t choices[BATCH];

	for (uint32_t i = 0; i < runs; i++) /* some begin with the end of a block from before */
		open[i] = s->live_count && below(s, 2) ? s->live[--s->live_count] : UINT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t run = below(s, runs);
		bool ends = open[run] != UINT64_MAX;
		struct mt_event *e = next_event(s, ends ? MT_EVENT_FREE : MT_EVENT_ALLOCATE, run);

		choices[i] = (uint8_t)run;
		if (ends)
			e->number = open[run];
		open[run] = ends ? UINT64_MAX : e->number;
	}
	for (uint32_t i = 0; i < runs; i++)
		if (open[i] != UINT64_MAX && s->live_count < 64)
			s->live[s->live_count++] = open[i];
	encode_runs(s, batch, choices, count, runs, first);
}

static void start(struct state *s, uint64_t seed)
{
	*s = (struct state){.random = seed, .now_ns = 5000, .number = 100 * seed};
	s->columns = mt_columns_new();
	s->events = mt_alloc((EVENTS + BATCH) * sizeof *s->events);
	mt_columns_begin(s->columns, s->number, s->now_ns);
}

static void end(struct state *s)
{
	mt_columns_free(s->columns);
	free(s->events);
}

/* Of what was put, the first so many are read, a few at a time. */
static void expect_of(struct state *s, struct mt_decoder *d, unsigned version,
	const struct mt_buffer *payload, uint32_t count)
{
	struct mt_event events[BATCH];
	const char *reason;

	assert_null(mt_decoder_start(d, version, payload->data, payload->len, s->count,
		MT_TRACE_ADDRESSES));
	for (uint32_t at = 0; at < count;) {
		uint32_t got = mt_decoder_next(d, events, 1 + below(s, BATCH), &reason);

		assert_true(got > 0 && !reason);
		for (uint32_t i = 0; i < got && at < count; i++)
			assert_same_event(&s->events[at++], &events[i]);
	}
	if (count == s->count)
		assert_int_equal(mt_decoder_next(d, events, BATCH, &reason), 0);
}

static void expect(struct state *s, struct mt_decoder *d, const struct mt_buffer *payload,
	uint32_t count)
{
	expect_of(s, d, MT_FILE_VERSION, payload, count);
}

static void runs_are_unravelled(void **state)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0};
	struct state s;

	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		start(&s, seed);
		while (s.count < EVENTS)
			if (below(&s, 40))
				put_single(&s);
			else
				put_batch(&s);
		mt_columns_finish(s.columns, &payload);
		/* the decoder is left in the middle of a block, and a batch, now and then */
		expect(&s, d, &payload, below(&s, s.count));
		expect(&s, d, &payload, s.count);
		end(&s);
	}
	mt_buffer_free(&payload);
	mt_decoder_free(d);
}

/* The payload as it was before format 7, where head bytes said which events have a new time; up to
 * format 5 without runs, too. */
static void make_older(const struct mt_buffer *payload, uint32_t columns, struct mt_buffer *out)
{
	struct mt_cursor c = {payload->data, payload->data + payload->len, false}, pace;
	uint64_t first = mt_cursor_varint(&c), base_us = mt_cursor_varint(&c),
		 len[MT_COLUMNS] = {0};
	size_t skipped = 0;
	uint8_t *head;

	for (uint64_t streams = mt_cursor_varint(&c); streams; streams--) {
		uint64_t id = mt_cursor_varint(&c) >> 1;

		len[id] = mt_cursor_varint(&c);
	}
	out->len = 0;
	mt_varint_add(out, first);
	mt_varint_add(out, base_us);
	mt_varint_add(out, columns);
	for (uint32_t i = 0; i < MT_COLUMNS; i++) {
		if (i < columns)
			mt_varint_add(out, len[i]);
		else
			skipped += len[i];
	}
	assert_true(skipped == len[MT_COLUMN_PACE] && skipped > 0);
	mt_buffer_add(out, c.at, (size_t)(c.end - c.at) - skipped);
	head = out->data + (out->len - (size_t)(c.end - c.at) + skipped);
	pace = (struct mt_cursor){c.end - skipped, c.end, false};
	while (pace.at < pace.end) {
		head += mt_cursor_varint(&pace);
		*head |= HEAD_TIME;
	}
}

static void older_blocks(void **state)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0}, old = {0};
	struct state s;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		bool runs = seed & 1;

		start(&s, seed);
		while (s.count < EVENTS)
			if (!runs || below(&s, 40))
				put_single(&s);
			else
				put_batch(&s);
		mt_columns_finish(s.columns, &payload);
		make_older(&payload, runs ? MT_COLUMN_PACE : MT_COLUMN_ORDER, &old);
		expect_of(&s, d, 7, &old, s.count);
		expect(&s, d, &payload, s.count);
		end(&s);
	}
	mt_buffer_free(&payload);
	mt_buffer_free(&old);
	mt_decoder_free(d);
}

/* ---- what cannot be ---- */

/* Nothing comes any more, and it is said why if the payload is refused; the end of the test. */
static void expect_end(struct state *s, struct mt_decoder *d, struct mt_buffer *payload,
	bool refused)
{
	struct mt_event event;
	const char *reason;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(mt_decoder_next(d, &event, 1, &reason), 0);
		assert_int_equal(reason != NULL, refused);
	}
	end(s);
	mt_buffer_free(payload);
	mt_decoder_free(d);
}

/* Ten events, the last eight of them with these bytes in the order column behind the 2: what comes
 * before the batch is given, and not what stands in it. */
static void expect_refused(const uint8_t *order, size_t len)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0};
	struct state s;

	start(&s, 1);
	for (uint32_t i = 0; i < 10; i++)
		encode(&s, next_event(&s, MT_EVENT_ALLOCATE, 0));
	*s.columns->at[MT_COLUMN_ORDER]++ = 2;
	memcpy(s.columns->at[MT_COLUMN_ORDER], order, len);
	s.columns->at[MT_COLUMN_ORDER] += len;
	mt_columns_finish(s.columns, &payload);
	expect(&s, d, &payload, 2);
	expect_end(&s, d, &payload, true);
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct {
		uint8_t len, order[8];
	} cases[] = {
		{0, {0}}, {1, {8}}, {2, {8, 2}},     /* no choices */
		{3, {8, 3, 0}},                      /* half of them */
		{3, {0, 2, 0}},                      /* no events */
		{3, {1, 2, 0}},                      /* one */
		{3, {9, 2, 0}},                      /* more than there are */
		{7, {0xff, 0xff, 0xff, 0x7f, 2, 0}}, /* far more */
		{4, {0x81, 0x20, 2, 0}},             /* more than a batch may have */
		{3, {8, 0, 0}},                      /* no runs */
		{3, {8, 1, 0}},                      /* one */
		{8, {8, 17, 0, 0, 0, 0, 0, 0}},      /* too many */
		{4, {8, 3, 0x03, 0}},                /* of a fourth of three */
		{6, {8, 5, 0, 0x50, 0, 0}},          /* of a sixth of five */
		{3, {0x80, 0x80, 0x80}},             /* no number */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect_refused(cases[i].order, cases[i].len);
}

/* Three threads take turns, each with a block that is allocated, released and reallocated, released
 * again and restored, and freed; with notes, and a free of an address that nobody knows. */
static void any_events_have_an_order(void **state)
{
	static const uint8_t types[] = {MT_EVENT_ALLOCATE, MT_EVENT_NOTE, MT_EVENT_RELEASE,
		MT_EVENT_REALLOCATE, MT_EVENT_RELEASE, MT_EVENT_RESTORE, MT_EVENT_UNKNOWN_FREE,
		MT_EVENT_IMPLIED_FREE};
	enum { STEPS = sizeof types, THREADS = 3, ALL = STEPS * THREADS };
	struct mt_event batch[ALL], stored[ALL];
	uint8_t choices[ALL];
	uint64_t renumbered[2 * THREADS], next = 500, block[THREADS];
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0};
	struct state s;
	const char *reason;

	(void)state;
	start(&s, 5);
	assert_int_equal(s.number, 500);
	for (uint32_t i = 0; i < ALL; i++) {
		uint32_t thread = i % THREADS;
		struct mt_event *e = next_event(&s, types[i / THREADS], thread);

		e->function = 0;
		choices[i] = (uint8_t)thread;
		if (e->type == MT_EVENT_REALLOCATE)
			e->previous = block[thread];
		if (allocates(e->type))
			e->number = block[thread] = e->type ? s.number++ : e->number;
		else if (e->type == MT_EVENT_NOTE)
			e->size = 33 + i;
		else if (e->type == MT_EVENT_UNKNOWN_FREE)
			e->address = 0x7000 + i;
		else
			e->number = block[thread];
		batch[i] = *e;
	}
	for (uint32_t thread = 0, n = 0; thread < THREADS; thread++)
		for (uint32_t i = thread; i < ALL; i += THREADS) {
			if (allocates(batch[i].type))
				renumbered[batch[i].number - 500] = next++;
			stored[n++] = batch[i];
		}
	mt_columns_thread_runs(s.columns, choices, ALL, THREADS);
	for (uint32_t i = 0; i < ALL; i++) {
		if (stored[i].number >= 500)
			stored[i].number = renumbered[stored[i].number - 500];
		if (stored[i].previous >= 500)
			stored[i].previous = renumbered[stored[i].previous - 500];
		encode(&s, &stored[i]);
	}
	mt_columns_finish(s.columns, &payload);
	assert_null(mt_decoder_start(d, MT_FILE_VERSION, payload.data, payload.len, ALL,
		MT_TRACE_ADDRESSES));
	assert_int_equal(mt_decoder_next(d, stored, ALL, &reason), ALL);
	for (uint32_t i = 0; i < ALL; i++)
		assert_same_event(&batch[i], &stored[i]);
	end(&s);
	mt_buffer_free(&payload);
	mt_decoder_free(d);
}

/* ---- streams that some blocks have ---- */

static void periods_hold_until_they_change(void **state)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct state s;

		start(&s, seed);
		for (uint32_t period = 0; s.count < EVENTS;) {
			uint32_t from = s.count;

			if (!below(&s, 20)) {
				mt_columns_period(s.columns, below(&s, 1000)); /* of no event */
				mt_columns_period(s.columns, period = below(&s, 3) << 19);
			}
			if (below(&s, 40))
				put_single(&s);
			else
				put_batch(&s);
			for (; from < s.count; from++)
				s.events[from].period = allocates(s.events[from].type) ? period : 0;
		}
		uint32_t last = s.columns->period;

		mt_columns_finish(s.columns, &payload);
		expect(&s, d, &payload, s.count);
		/* the next block begins with it */
		s.count = 0;
		mt_columns_begin(s.columns, s.number, s.now_ns);
		encode(&s, next_event(&s, MT_EVENT_ALLOCATE, 0));
		s.events[0].period = last;
		mt_columns_finish(s.columns, &payload);
		expect(&s, d, &payload, 1);
		end(&s);
	}
	mt_buffer_free(&payload);
	mt_decoder_free(d);
}

/* The payload with a stream of ten bytes more, with this code in place of an id. */
static void add_stream(const struct mt_buffer *payload, uint64_t code, struct mt_buffer *out)
{
	struct mt_cursor c = {payload->data, payload->data + payload->len, false};

	out->len = 0;
	mt_varint_add(out, mt_cursor_varint(&c));
	mt_varint_add(out, mt_cursor_varint(&c));
	uint64_t count = mt_cursor_varint(&c);

	mt_varint_add(out, count + 1);
	for (; count; count--) {
		mt_varint_add(out, mt_cursor_varint(&c));
		mt_varint_add(out, mt_cursor_varint(&c));
	}
	mt_varint_add(out, code);
	mt_varint_add(out, 10);
	mt_buffer_add(out, c.at, mt_cursor_left(&c));
	mt_buffer_add(out, "0123456789", 10);
}

static void unknown_streams(void **state)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0}, more = {0};
	struct state s;

	(void)state;
	start(&s, 3);
	while (s.count < EVENTS)
		put_single(&s);
	mt_columns_finish(s.columns, &payload);
	add_stream(&payload, 1000 << 1, &more);
	expect(&s, d, &more, s.count);
	add_stream(&payload, 1000 << 1 | MT_STREAM_NEEDED, &more);
	const char *fault = mt_decoder_start(d, MT_FILE_VERSION, more.data, more.len, s.count, 0);

	assert_non_null(fault);
	assert_non_null(strstr(fault, "use a newer memtui"));
	add_stream(&payload, MT_COLUMN_SIZE << 1, &more); /* twice */
	assert_non_null(mt_decoder_start(d, MT_FILE_VERSION, more.data, more.len, s.count, 0));
	end(&s);
	mt_buffer_free(&payload);
	mt_buffer_free(&more);
	mt_decoder_free(d);
}

/* Ten events of one time, and these bytes say when the time changes: by one microsecond each. So
 * many events are given, and then it is refused. */
static void expect_times_refused(const char *pace, size_t len, uint32_t times, uint32_t given)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0};
	struct mt_event events[16];
	const char *reason;
	struct state s;

	start(&s, 1);
	for (uint32_t i = 0; i < 10; i++) {
		struct mt_event *e = next_event(&s, MT_EVENT_ALLOCATE, 0);

		e->time_ns = s.now_ns = 5000;
		encode(&s, e);
	}
	memcpy(s.columns->at[MT_COLUMN_PACE], pace, len);
	s.columns->at[MT_COLUMN_PACE] += len;
	while (times--)
		*s.columns->at[MT_COLUMN_TIME]++ = 2;
	mt_columns_finish(s.columns, &payload);
	assert_null(mt_decoder_start(d, MT_FILE_VERSION, payload.data, payload.len, s.count, 0));
	assert_int_equal(mt_decoder_next(d, events, 16, &reason), given);
	expect_end(&s, d, &payload, given < s.count);
}

static void times_that_cannot_be_are_refused(void **state)
{
	(void)state;
	expect_times_refused("", 0, 0, 10);
	expect_times_refused("\x0a", 1, 0, 10);         /* behind the last event */
	expect_times_refused("\x00\x03\x06", 3, 3, 10); /* the first, fourth and last one */
	expect_times_refused("\x04\x02", 2, 1, 6);      /* no time for the second */
	expect_times_refused("\x04\x00", 2, 2, 4);      /* twice for one event */
	expect_times_refused("\x03\x80\x80", 3, 9, 3);  /* no number */
	expect_times_refused("\xff\xff\xff\xff\x7f", 5, 0, 0);
}

/* One event more than a batch may have, and all of them there. */
static void long_batches_are_refused(void **state)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0};
	struct state s;

	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		uint8_t *choices = mt_alloc(MT_THREAD_RUN_EVENTS_MAX + 1);
		struct mt_event events[2];
		const char *reason;

		start(&s, 1);
		mt_columns_thread_runs(s.columns, choices, MT_THREAD_RUN_EVENTS_MAX + more, 2);
		for (uint32_t i = 0; i <= MT_THREAD_RUN_EVENTS_MAX; i++)
			encode(&s, next_event(&s, MT_EVENT_ALLOCATE, 0));
		mt_columns_finish(s.columns, &payload);
		if (!more)
			expect(&s, d, &payload, s.count);
		assert_null(mt_decoder_start(d, MT_FILE_VERSION, payload.data, payload.len, s.count,
			0));
		assert_int_equal(mt_decoder_next(d, events, 2, &reason), more ? 0 : 2);
		assert_true(!reason == !more);
		end(&s);
		free(choices);
	}
	mt_buffer_free(&payload);
	mt_decoder_free(d);
}

/* Any bytes: never more events than there are, and an end. */
static void random_bytes(void **state)
{
	struct mt_decoder *d = mt_decoder_new();
	struct mt_buffer payload = {0};
	struct state s;
	uint32_t refused = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct mt_event events[BATCH];
		const char *reason;
		uint32_t all = 0, got;

		start(&s, seed);
		for (uint32_t i = 0; i < 5; i++) {
			put_single(&s);
			put_batch(&s);
		}
		mt_columns_finish(s.columns, &payload);
		for (uint32_t n = 1 + below(&s, 3); n; n--)
			payload.data[payload.len - 1 - below(&s, (uint32_t)payload.len / 2)] ^=
				(uint8_t)(1 << below(&s, 8));
		assert_null(mt_decoder_start(d, MT_FILE_VERSION, payload.data, payload.len, s.count,
			0));
		while ((got = mt_decoder_next(d, events, 1 + below(&s, BATCH), &reason)))
			all += got;
		refused += reason != NULL;
		assert_true(reason ? all < s.count : all == s.count);
		end(&s);
	}
	assert_true(refused > 300);
	mt_buffer_free(&payload);
	mt_decoder_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_unravelled),
		cmocka_unit_test(older_blocks),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(any_events_have_an_order),
		cmocka_unit_test(periods_hold_until_they_change),
		cmocka_unit_test(unknown_streams),
		cmocka_unit_test(times_that_cannot_be_are_refused),
		cmocka_unit_test(long_batches_are_refused),
		cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
