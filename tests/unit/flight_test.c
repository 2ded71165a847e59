/* Checkpoints that the flight recorder makes while events go on: a trace that ends anywhere, or in
 * which the last checkpoint is damaged, has the totals that its events have when all of them are
 * replayed. */
#include "core/capture/ring.h"
#include "core/session/flight.h"
#include "core/trace/block.h"
#include "tests/unit/capture_fixture.h"
#include "tests/unit/same_steps.h"
#include "tests/unit/trace_files.h"

#define LIVE 30000u

struct recording {
	struct fixture *f;
	struct mt_flight flight;
	struct mt_definitions definitions;
	uint64_t random, clock, live[LIVE];
	uint32_t live_count, flushes, turns;
	uint64_t consumed,
		most_consumed; /* records before a turn: in all, and since the one before */
	uint64_t copied, most_copied, made, most_made; /* blocks, of one turn */
	uint64_t next_address;
};

static void flush_events(void *context)
{
	struct recording *r = context;
	const struct mt_info *info = &r->f->profile.info;
	const struct mt_trace_running running = {r->f->model.live_bytes, r->f->model.live_count,
		info->allocations, info->frees, info->peak_bytes};
	struct mt_err err;

	r->f->merge.unflushed = 0;
	assert_int_equal(mt_definitions_write(&r->definitions, r->f->merge.writer, &r->f->profile,
				 &err),
		0);
	assert_int_equal(mt_trace_writer_flush(r->f->merge.writer, &running, &err), 0);
	r->flushes++;
	r->f->merge.between_due = mt_flight_is_making(&r->flight) || r->flushes % 30 == 0;
}

static void note_most(uint64_t now, uint64_t *before, uint64_t *most)
{
	if (now > *before && now - *before > *most)
		*most = now - *before;
	*before = now;
}

static void between(void *context)
{
	struct recording *r = context;
	struct mt_merge *m = &r->f->merge;
	uint64_t consumed = 0;
	struct mt_err err;

	for (uint32_t i = 0; i < m->ring_count; i++)
		consumed += m->rings[i].consumed;
	if (!r->turns)
		r->consumed = consumed;
	note_most(consumed, &r->consumed, &r->most_consumed);
	if (!mt_flight_is_making(&r->flight))
		flush_events(r);
	assert_int_equal(mt_flight_turn(&r->flight, &err), 0);
	note_most(m->copy ? m->copy->copied : 0, &r->copied, &r->most_copied);
	note_most(r->flight.making.maker.head.block_count, &r->made, &r->most_made);
	m->between_due = false;
	r->turns++;
}

static void start(struct recording *r, const char *name, uint64_t seed)
{
	struct mt_err err;
	void *state;

	setup(&state);
	*r = (struct recording){.f = state,
		.random = seed,
		.clock = 1000,
		.next_address = 0x10000000};
	r->f->merge.writer = mt_trace_writer_new(create(name), &err);
	assert_non_null(r->f->merge.writer);
	r->flight = (struct mt_flight){
		.writer = r->f->merge.writer,
		.profile = &r->f->profile,
		.model = &r->f->model,
		.merge = &r->f->merge,
		.definitions = &r->definitions,
	};
	mt_flight_init(&r->flight, 1ull << 40, false);
	r->f->merge.block_events = 400 + (uint32_t)seed % 300;
	r->f->merge.flush = flush_events;
	r->f->merge.between = between;
	r->f->merge.context = r;
	drain(r->f);
}

static void end(struct recording *r)
{
	void *state = r->f;

	mt_flight_free(&r->flight);
	mt_trace_writer_free(r->f->merge.writer);
	teardown(&state);
}

/* One event, or the two halves of a realloc, which another thread's events may divide. */
static void step(struct recording *r)
{
	uint32_t ring = random_below(&r->random, RINGS), what = random_below(&r->random, 10);
	uint32_t size = random_below(&r->random, 1000);
	uint64_t *block = &r->live[random_below(&r->random, r->live_count + 1)];

	r->clock += 1 + random_below(&r->random, 3000);
	if (!r->live_count || (what < 6 && r->live_count < LIVE)) {
		r->live[r->live_count++] = r->next_address += 16 + 16 * random_below(&r->random, 9);
		event(r->f, ring, MT_RECORD_ALLOC, r->clock, r->next_address, size);
		return;
	}
	if (block == &r->live[r->live_count])
		block--;
	if (what < 8) {
		event(r->f, ring, MT_RECORD_FREE, r->clock, *block, 0);
		*block = r->live[--r->live_count];
		return;
	}
	event(r->f, ring, MT_RECORD_RELEASE, r->clock, *block, 0);
	if (random_below(&r->random, 2)) {
		r->clock += 10;
		event(r->f, (ring + 1) % RINGS, MT_RECORD_ALLOC, r->clock, *block, 9);
		r->clock += 10;
		event(r->f, (ring + 1) % RINGS, MT_RECORD_FREE, r->clock, *block, 0);
	}
	if (random_below(&r->random, 9))
		*block = r->next_address += 64;
	r->clock += 1000;
	event(r->f, ring, *block == r->next_address ? MT_RECORD_REALLOC : MT_RECORD_RESTORE,
		r->clock, *block, size);
}

static void play(struct recording *r, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++) {
		step(r);
		if (i % 1000 == 999)
			drain(r->f);
	}
	drain(r->f);
	flush_events(r);
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* The trace without its checkpoints. */
static size_t strip(uint8_t *out, const uint8_t *bytes, size_t len)
{
	size_t at = sizeof(struct mt_file_header), to = at;
	uint32_t sequence = 0;

	memcpy(out, bytes, at);
	while (at + sizeof(struct mt_block_header) <= len) {
		struct mt_block_header h;
		size_t stored;

		memcpy(&h, bytes + at, sizeof h);
		stored = h.stored_len;
		if (at + h.size + stored > len)
			break;
		if (h.type != MT_BLOCK_CHECKPOINT) {
			h.sequence = sequence++;
			h.check = mt_block_header_check(&h);
			memcpy(out + to, bytes + at, h.size + stored);
			memcpy(out + to, &h, sizeof h);
			to += h.size + stored;
		}
		at += h.size + stored;
	}
	return to;
}

static void assert_same_profile(const struct mt_profile *a, const struct mt_profile *b)
{
#define SAME(name) assert_int_equal(a->info.name, b->info.name)
	SAME(allocations);
	SAME(frees);
	SAME(reallocations);
	SAME(allocated_bytes);
	SAME(temporary_count);
	SAME(peak_bytes);
	SAME(peak_ns);
	SAME(leaked_count);
	SAME(leaked_bytes);
	SAME(events);
	SAME(slack_bytes);
#undef SAME
	assert_int_equal(a->group_count, b->group_count);
	for (uint32_t i = 0; i < a->group_count; i++) {
		const struct mt_group *x = &a->groups[i], *y = &b->groups[i];

#define SAME(name) assert_int_equal(x->name, y->name)
		SAME(allocated_count);
		SAME(allocated_bytes);
		SAME(live_count);
		SAME(live_bytes);
		SAME(temporary_count);
		SAME(own_peak_count);
		SAME(own_peak_bytes);
		SAME(at_peak_count);
		SAME(at_peak_bytes);
		SAME(first_ns);
		SAME(last_ns);
		SAME(min_size);
		SAME(max_size);
#undef SAME
	}
	assert_same_steps(a, b);
	assert_same_steps(b, a);
}

/* Checkpoints of the trace, and those behind events that come after their instant. */
static uint32_t count_checkpoints(const char *name, uint32_t *late)
{
	struct mt_err err;
	struct mt_trace_reader *r = mt_trace_reader_open(path_of(name), &err);
	uint32_t at = mt_trace_reader_count(r), count = 0;
	struct mt_profile p;

	assert_int_equal(load(name, &p, &err), 0);
	while ((at = mt_checkpoint_before(r, at)) != MT_NO_CHECKPOINT) {
		struct mt_checkpoint head;

		if (!mt_checkpoint_read(&head, r, at, &p, NULL, NULL, &err)) {
			count++;
			*late += head.events > 2;
			assert_true(head.resume < head.first || !head.events);
		}
		mt_checkpoint_free(&head);
	}
	mt_profile_free(&p);
	mt_trace_reader_free(r);
	return count;
}

/* No checkpoint is left out because it contradicts itself. */
static void load_by_checkpoint(const char *name, struct mt_profile *p)
{
	struct mt_err err;
	struct mt_trace_reader *r = mt_trace_reader_open(path_of(name), &err);
	const char *reason = NULL;

	assert_non_null(r);
	memset(p, 0, sizeof *p);
	assert_int_equal(mt_profile_load(p, r, NULL, NULL, &err), 0);
	if (mt_trace_reader_damage(r, &reason) && strstr(reason, "checkpoint"))
		fail_msg("%s", reason);
	mt_trace_reader_free(r);
}

static void compare(const uint8_t *bytes, size_t len)
{
	uint8_t *stripped = malloc(len);
	struct mt_profile whole, cut;
	struct mt_err err;

	put_file("stripped", stripped, strip(stripped, bytes, len));
	put_file("cut", bytes, len);
	assert_int_equal(load("stripped", &whole, &err), 0);
	load_by_checkpoint("cut", &cut);
	assert_same_profile(&cut, &whole);
	mt_profile_free(&whole);
	mt_profile_free(&cut);
	free(stripped);
}

static size_t last_checkpoint(const uint8_t *bytes, size_t len)
{
	size_t at = sizeof(struct mt_file_header), last = 0;
	struct mt_block_header h;

	for (; at + sizeof h <= len; at += h.size + h.stored_len) {
		memcpy(&h, bytes + at, sizeof h);
		if (h.type == MT_BLOCK_CHECKPOINT)
			last = at;
	}
	return last;
}

static void test_any_end(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct recording *r = mt_alloc(sizeof *r);
		uint32_t late = 0;
		size_t len, last;

		start(r, "trace", seed);
		play(r, 120000);
		assert_true(count_checkpoints("trace", &late) >= 5);
		assert_true(late >= 3);
		uint8_t *bytes = get_file("trace", &len);

		compare(bytes, len);
		for (unsigned i = 0; i < 12; i++)
			compare(bytes, len / 8 + random_below(&r->random, (uint32_t)(len / 8 * 7)));
		last = last_checkpoint(bytes, len);
		bytes[last + sizeof(struct mt_block_header) + 5] ^= 0x40;
		put_file("cut", bytes, len);
		struct mt_profile damaged;
		struct mt_err err;

		assert_int_equal(load("cut", &damaged, &err), 0);
		assert_int_equal(damaged.info.allocations, r->f->profile.info.allocations);
		assert_int_equal(damaged.info.leaked_bytes, r->f->profile.info.leaked_bytes);
		mt_profile_free(&damaged);
		free(bytes);
		end(r);
		free(r);
	}
}

/* A million blocks live and threads allocate: between two slices of a checkpoint the rings get room
 * as often as ever, and a slice is a small part of it. */
static void test_million(void **state)
{
	enum { MANY = 1000000, POLL = 10000 };
	struct recording *r = mt_alloc(sizeof *r);
	struct mt_merge *m;
	uint64_t freed = 0;

	(void)state;
	start(r, "trace", 1);
	m = &r->f->merge;
	r->f->profile.info.events = 0;
	event(r->f, 0, MT_RECORD_ALLOC, r->clock, 0x1000, 10); /* the group */
	drain(r->f);
	for (uint64_t i = 1; i <= MANY; i++) {
		mt_live_table_insert(&m->live,
			&(struct mt_pool_cell){.address = 0x10000000 + i * 32,
				.size = 10,
				.number = i});
		mt_block_history_note(m->history, i, i / 3 * 1000, i + 1);
	}
	m->next_number = MANY + 1;
	r->f->model.threads[0].sequence = MANY + 1;
	r->f->model.live_count = r->f->profile.groups[0].live_count = MANY + 1;
	r->f->model.live_bytes = r->f->profile.groups[0].live_bytes = 10 * (MANY + 1);
	m->block_events = 65536;
	m->between_due = true;
	while (!r->turns || mt_flight_is_making(&r->flight)) {
		for (uint32_t i = 0; i < POLL; i++) {
			uint32_t ring = i % RINGS;
			uint64_t old = random_below(&r->random, 20);

			put(r->f, ring,
				mt_wire_record_pack(MT_RECORD_ALLOC, 0, MALLOC_NODE,
					(0x70000000 + 32 * r->next_address++) >> 3, 20));
			if (!old && freed < MANY)
				put(r->f, ring,
					mt_wire_record_pack(MT_RECORD_FREE, 0, MT_FUNCTION_FREE,
						(0x10000000 + ++freed * 32) >> 3, 0));
		}
		for (uint32_t ring = 0; ring < RINGS; ring++)
			publish(r->f, ring);
		drain(r->f);
	}
	assert_int_equal(r->flight.last_head.block_count, MANY + 1);
	assert_true(freed > 1000);
	assert_in_range(r->most_copied, 1, 2 * MT_COPY_SLICE);
	assert_in_range(r->most_made, 1, 2 * MT_COPY_SLICE);
	assert_true(r->turns > MANY / (4 * MT_COPY_SLICE));
	/* each ring got room before the next slice */
	assert_true(r->most_consumed <= (uint64_t)RINGS * 2048 + POLL);
	end(r);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_million),
		cmocka_unit_test(test_any_end),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
