/* Rings that the program writes over while they are read: the recorder neither hangs nor reads
 * beyond what is published, and what it holds for live is what it finds. */
#include "core/capture/ring.h"
#include "tests/unit/capture_fixture.h"

#include <fcntl.h>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEEDS 150
#define ROUNDS 100
#define HANGS_AFTER 240 /* seconds: ends the test, which fails by that */

static struct mt_wire_record plain(unsigned type, uint32_t delta, uint64_t pointer)
{
	bool end = type == MT_RECORD_FREE || type == MT_RECORD_RELEASE;

	return mt_wire_record_pack(type, delta, end ? MT_FUNCTION_FREE : MALLOC_NODE, pointer >> 3,
		end ? 0 : 8);
}

static void put_plain(struct fixture *f, uint32_t ring, unsigned type, uint32_t delta,
	uint64_t pointer)
{
	put(f, ring, plain(type, delta, pointer));
	publish(f, ring);
}

static void poll_until(struct fixture *f, const uint64_t heads[RINGS], uint64_t time)
{
	const struct mt_merge_bounds bounds = {.heads = heads, .horizon = f->clock.start + time};

	f->merge.bounds = &bounds;
	alarm(HANGS_AFTER);
	mt_merge_poll(&f->merge);
	alarm(0);
	f->merge.bounds = NULL;
	for (uint32_t i = 0; i < RINGS; i++)
		assert_true(f->merge.rings[i].consumed <= f->head[i]);
}

static const uint64_t all[RINGS] = {~0ull, ~0ull, ~0ull, ~0ull};

/* ---- one at a time ---- */

/* An event is decoded and waits for its time; the head then says that it was never published. */
static void a_head_goes_back(void **state)
{
	struct fixture *f = *state;

	drain(f);
	event(f, 1, MT_RECORD_ALLOC, 101, 0x4000, 8);
	poll_until(f, all, 50);
	assert_true(f->merge.rings[1].ready);
	ring_at(f, 1)->head = f->merge.rings[1].decoded - 1;
	event(f, 0, MT_RECORD_FREE, 100, 0x2000, 0);
	poll_until(f, all, 1000);
	mt_merge_counters(&f->merge);
	assert_true(f->profile.info.invalid_records > 0);
}

/* A block at 0x1000 lives, another at 0x2000 is open; what comes next is written over the free that
 * was seen behind it. */
static void open_and_lose_end(struct fixture *f)
{
	drain(f);
	event(f, 0, MT_RECORD_ALLOC, 10, 0x1000, 8);
	put_plain(f, 0, MT_RECORD_ALLOC, 10, 0x2000);
	put_plain(f, 0, MT_RECORD_FREE, 100, 0x2000);
	poll_until(f, all, 50);
	assert_non_null(f->merge.rings[0].open);
	f->head[0]--;
}

/* The free that was seen behind an allocation is another's when its turn comes. */
static void a_foreseen_end_changes(void **state)
{
	struct fixture *f = *state;

	open_and_lose_end(f);
	put_plain(f, 0, MT_RECORD_FREE, 100, 0x1000);
	put_plain(f, 0, MT_RECORD_FREE, 100, 0x2000);
	poll_until(f, all, 1000);
	assert_int_equal(f->profile.info.unknown_frees, 0);
	assert_int_equal(f->model.live_count, 0);
	assert_int_equal(f->merge.live.open_taken, 0);
}

/* It is another allocation, whose end is seen behind it. */
static void a_foreseen_end_begins(void **state)
{
	struct fixture *f = *state;

	open_and_lose_end(f);
	put_plain(f, 0, MT_RECORD_ALLOC, 10, 0x3000);
	put_plain(f, 0, MT_RECORD_FREE, 100, 0x3000);
	poll_until(f, all, 50);
	assert_int_equal(__builtin_popcount(f->merge.live.open_taken), 1);
	put_plain(f, 0, MT_RECORD_FREE, 100, 0x2000);
	poll_until(f, all, 1000);
	assert_int_equal(f->profile.info.unknown_frees, 0);
	assert_int_equal(f->model.live_count, 1);
}

/* Nothing is damaged here: the end comes before its turn, for another ring's sake. */
static void an_end_comes_early(void **state)
{
	struct fixture *f = *state;

	drain(f);
	event(f, 0, MT_RECORD_ALLOC, 10, 0x1000, 8);
	event(f, 1, MT_RECORD_ALLOC, 11, 0x3000, 8);
	put_plain(f, 0, MT_RECORD_ALLOC, 90, 0x2000);
	put_plain(f, 0, MT_RECORD_FREE, 100, 0x2000);
	put_plain(f, 1, MT_RECORD_ALLOC, 179, 0x2000);
	poll_until(f, all, 100000);
	assert_int_equal(f->profile.info.implied_frees, 0);
	assert_int_equal(f->model.live_count, 3);
	assert_int_equal(f->merge.live.open_taken, 0);
}

/* With a trace, there are runs. */
static void write_nowhere(struct fixture *f)
{
	struct mt_err err;

	f->merge.writer = mt_trace_writer_new(open("/dev/null", O_WRONLY | O_CLOEXEC), &err);
	assert_non_null(f->merge.writer);
}

/* What is written over the foreseen end was decoded before its turn; the end comes behind it. */
static void a_decoded_event_comes_first(void **state)
{
	struct fixture *f = *state;

	write_nowhere(f);
	open_and_lose_end(f);
	event(f, 1, MT_RECORD_ALLOC, 60, 0x4000, 8);
	event(f, 0, MT_RECORD_ALLOC, 400, 0x3000, 1u << 20); /* of three records */
	put_plain(f, 0, MT_RECORD_FREE, 0, 0x2000);
	poll_until(f, all, 100);
	assert_true(f->merge.rings[0].ready);
	put_plain(f, 1, MT_RECORD_FREE, 90, 0x4000);
	put_plain(f, 1, MT_RECORD_ALLOC, 50, 0x4000);
	put_plain(f, 1, MT_RECORD_FREE, 900, 0x4000);
	poll_until(f, all, 5000);
	assert_false(f->merge.rings[0].ready);
	assert_int_equal(f->profile.info.unknown_frees, 0);
	assert_int_equal(f->model.live_count, 2);
	mt_trace_writer_free(f->merge.writer);
}

/* ---- an event that is found, and gone when it is to be consumed ---- */

static struct {
	struct fixture *f;
	uint64_t target; /* position in ring 1 */
} gone;

/* The first read of ring 2, which comes between. */
static void on_read(int number)
{
	struct mt_wire_record *data = data_of(gone.f, 1);

	(void)number;
	mprotect(data_of(gone.f, 2), MT_WIRE_PAGE, PROT_READ | PROT_WRITE);
	data[gone.target] = (struct mt_wire_record){0, 0};
	for (uint64_t i = gone.target + 1; i < capacity_of(gone.f, 1); i++)
		data[i] = plain(MT_RECORD_FREE, 0, 0x6000);
}

static void a_predecessor_vanishes(void **state)
{
	uint64_t heads[RINGS] = {~0ull, ~0ull, 1,
		1}; /* ring 2 is looked at for predecessors alone */
	struct sigaction reads = {.sa_handler = on_read}, before;
	struct fixture *f = *state;

	drain(f);
	event(f, 1, MT_RECORD_ALLOC, 50, 0x9000, 8);
	poll_until(f, all, 60);
	event(f, 0, MT_RECORD_FREE, 100, 0x2000, 0);
	put_plain(f, 1, MT_RECORD_ALLOC, 51, 0x4000);
	for (int i = 0; i < 3000; i++) /* more than one move of the tail */
		put(f, 1, (struct mt_wire_record){0, 0});
	gone.f = f;
	gone.target = f->head[1];
	put_plain(f, 1, MT_RECORD_ALLOC, 1, 0x2000);
	for (int i = 0; i < 20; i++)
		put_plain(f, 1, MT_RECORD_FREE, 0, 0x6000);
	event(f, 2, MT_RECORD_FREE, 103, 0x8000, 0);
	sigaction(SIGSEGV, &reads, &before);
	mprotect(data_of(f, 2), MT_WIRE_PAGE, PROT_NONE);
	poll_until(f, heads, 100000);
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(data_of(f, 1)[gone.target].word1, 0);
}

/* ---- all at once ---- */

static uint32_t below(uint64_t *random, uint32_t limit)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*random >> 33) % limit;
}

static void put_some(struct fixture *f, uint64_t *random, uint64_t *clock)
{
	uint32_t ring = below(random, RINGS), what = below(random, 33);
	uint64_t address = (1 + below(random, 12)) * 16;

	if (what < 3)
		extend(f, ring, MT_EXTEND_TIME, f->clock.start + *clock + below(random, 5000));
	if (what < 20) {
		put(f, ring, plain(MT_RECORD_ALLOC, below(random, 300), address));
		put(f, ring, plain(MT_RECORD_FREE, below(random, 300), address));
	} else if (what < 28) {
		put(f, ring, plain(1 + below(random, 5), below(random, 300), address));
	} else if (what == 28) {
		extend(f, ring, (enum mt_extend)below(random, 6), below(random, 100));
	} else if (what > 29) { /* of any function, most often of a pool */
		uint32_t function =
			below(random, 3) ? MT_FUNCTION_POOL + below(random, 2) : below(random, 60);

		extend_pointer(f, ring, address, function);
		put(f, ring,
			mt_wire_record_pack(1 + below(random, 5), below(random, 300), MALLOC_NODE,
				MT_POINTER_EXTENDED, 8));
	} else {
		put(f, ring,
			mt_wire_record_pack(MT_RECORD_MARK, 0, below(random, 6), 0,
				MT_MARK_THREAD));
	}
	publish(f, ring);
	*clock += below(random, 200);
}

/* Writes over something that is published and waits. */
static void write_over(struct fixture *f, uint64_t *random)
{
	uint32_t ring = below(random, RINGS);
	const struct mt_ring *r = &f->merge.rings[ring];
	uint64_t left = f->head[ring] - r->consumed;

	if (left)
		data_of(f, ring)[(r->consumed + below(random, (uint32_t)left))
			& (capacity_of(f, ring) - 1)] = mt_wire_record_pack(below(random, 8),
			below(random, 300), MALLOC_NODE, (1 + below(random, 12)) * 2,
			below(random, 2) ? 0 : 8);
}

/* All that is live is found at its address, and is as much as the model says; what is open belongs
 * to a ring. */
static void compare_live(struct fixture *f)
{
	struct mt_merge_walk walk = {0};
	struct mt_live_table_place place;
	struct mt_pool_cell block;
	uint64_t live = 0;
	int open = 0;

	for (uint32_t i = 0; i < RINGS; i++)
		open += f->merge.rings[i].open != NULL;
	assert_int_equal(__builtin_popcount(f->merge.live.open_taken), open);

	for (; mt_merge_slice(&f->merge, &walk, &block, 1); live++) {
		const struct mt_pool_cell *found;

		found = mt_live_table_look_up(mt_merge_blocks(&f->merge, walk.domain),
			block.address, &place);
		assert_true(found && found->number == block.number && found->size == block.size);
	}
	assert_int_equal(live, f->model.live_count);
}

static void rings_are_written_over(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t random = seed * 77, clock = 1000, heads[RINGS];
		struct fixture *f;
		void *state;

		setup(&state);
		f = state;
		if (seed % 2)
			write_nowhere(f);
		drain(f);
		for (int round = 0; round < ROUNDS; round++) {
			for (uint32_t i = below(&random, 60); i > 0; i--)
				put_some(f, &random, &clock);
			for (uint32_t i = 0; i < RINGS; i++)
				heads[i] = f->head[i] - below(&random, 20);
			for (uint32_t i = below(&random, 10); i > 0; i--)
				write_over(f, &random);
			poll_until(f, heads, clock - below(&random, 1000));
			if (round % 9 == 8)
				compare_live(f);
		}
		mt_trace_writer_free(f->merge.writer);
		teardown(&state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_head_goes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(a_foreseen_end_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_foreseen_end_begins, setup, teardown),
		cmocka_unit_test_setup_teardown(an_end_comes_early, setup, teardown),
		cmocka_unit_test_setup_teardown(a_predecessor_vanishes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_decoded_event_comes_first, setup, teardown),
		cmocka_unit_test(rings_are_written_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
