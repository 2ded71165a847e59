/* The list of what lives at the end: what is written is read again, and a list whose checksums are
 * right and whose content is not is refused, or keeps within what was defined. */
#include "core/model/live_list.h"
#include "core/trace/varint.h"
#include "tests/unit/trace_files.h"

#define MANY 150000u /* many parts */

/* Blocks in an order that is not that of their numbers. */
struct given {
	struct mt_live_list_block *blocks;
	uint32_t count, told;
};

static uint32_t next_given(void *context, struct mt_live_list_block *blocks, uint32_t most)
{
	struct given *g = context;
	uint32_t count = g->count - g->told < most ? g->count - g->told : most;

	if (count > 1000)
		count = 1000; /* fewer than there is room for */
	for (uint32_t i = 0; i < count; i++)
		blocks[i] = g->blocks[(g->told + i) * 7919ull % g->count];
	g->told += count;
	return count;
}

static void give(struct given *g, uint32_t count, struct mt_trace_sums *sums)
{
	uint64_t random = count;

	*g = (struct given){.blocks = mt_alloc((count + 1) * sizeof *g->blocks), .count = count};
	*sums = (struct mt_trace_sums){.running.live_count = count};
	for (uint32_t i = 0; i < count; i++) {
		struct mt_live_list_block *b = &g->blocks[i];

		b->number = i ? b[-1].number + 1 + random_below(&random, 5) : 3;
		b->size = random_below(&random, 4) ? random_below(&random, 4096)
						   : random_next(&random);
		b->key = random_below(&random, 4) ? 16 * random_next(&random)
						  : ~16 * (uint64_t)random_next(&random);
		b->usable = random_below(&random, 4) ? 0 : b->size + 1;
		b->group = random_below(&random, 3);
		sums->running.live_bytes += b->size;
	}
	sums->running.peak_bytes = sums->high_bytes = sums->running.live_bytes;
}

/* list: written behind the events; NULL: `payload` is. */
static void write_file(struct simulation *s, const struct mt_trace_sums *sums,
	const struct mt_live_list_source *list, const struct mt_buffer *payload)
{
	struct mt_err err;

	simulation_start(s, 1, create("list"));
	simulation_flush(s);
	simulation_allocate(s, NULL);
	assert_int_equal(mt_trace_writer_flush_exact(s->writer, sums, &err), 0);
	if (list)
		assert_int_equal(mt_live_list_write(list, s->writer, &err), 0);
	else
		assert_int_equal(mt_trace_writer_block(s->writer, MT_BLOCK_LIVE_BLOCKS,
					 payload->data, payload->len, &err),
			0);
	assert_int_equal(mt_trace_writer_finish(s->writer, &err), 0);
}

static bool every_second(void *context, const struct mt_live_list_block *b)
{
	(void)context;
	return b->number & 1;
}

static void compare(uint32_t count)
{
	const struct mt_live_list_restore restores[] = {
		{.number = 3,
			.released_at = 4,
			.released_ns = 5000,
			.restored_at = 4,
			.restored_ns = 7000},
		{.number = 2, .released_at = 9, .released_ns = 0, .restored_at = 12},
	};
	struct given g;
	struct simulation s;
	struct mt_trace_sums sums;
	struct mt_live_list l;
	struct mt_err err;

	give(&g, count, &sums);
	const struct mt_live_list_source source = {
		.next = next_given,
		.context = &g,
		.next_number = 1u << 20,
		.restores = restores,
		.restore_count = 2,
	};

	write_file(&s, &sums, &source, NULL);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("list"), &err);

	assert_int_equal(mt_live_list_read(&l, r, &s.profile, NULL, NULL), 0);
	assert_int_equal(l.count, count);
	assert_int_equal(l.next_number, 1u << 20);
	if (count)
		assert_memory_equal(l.blocks, g.blocks, count * sizeof *g.blocks);
	assert_int_equal(l.restore_count, count ? 1 : 0); /* of a block that it has */
	if (count)
		assert_memory_equal(l.restores, restores, sizeof *restores);
	mt_live_list_free(&l);
	assert_int_equal(mt_live_list_read(&l, r, &s.profile, every_second, NULL), 0);
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; i++)
		if (g.blocks[i].number & 1)
			assert_int_equal(l.blocks[at++].number, g.blocks[i].number);
	assert_int_equal(l.count, at);
	mt_live_list_free(&l);
	mt_trace_reader_free(r);
	simulation_free(&s);
	free(g.blocks);
}

static void test_round_trip(void **state)
{
	(void)state;
	compare(0);
	compare(1);
	compare(1000);
	compare(MT_LIVE_LIST_PART);
	compare(MT_LIVE_LIST_PART + 1);
	compare(MANY);
}

/* Whether a payload is believed, with what it gives within its bounds. */
static bool is_believed(const struct mt_trace_sums *sums, const struct mt_buffer *payload)
{
	struct simulation s;
	struct mt_live_list l;
	struct mt_err err;

	write_file(&s, sums, NULL, payload);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("list"), &err);
	bool believed = !mt_live_list_read(&l, r, &s.profile, NULL, NULL);
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < l.count; i++) {
		assert_true(!i || l.blocks[i].number > l.blocks[i - 1].number);
		assert_true(l.blocks[i].number < l.next_number);
		assert_true(l.blocks[i].group < s.profile.group_count);
		assert_true(l.blocks[i].thread < s.profile.thread_count);
		bytes += l.blocks[i].size;
	}
	for (uint32_t i = 0; i < l.restore_count; i++) {
		assert_true(l.restores[i].released_at <= l.restores[i].restored_at);
		assert_true(l.restores[i].restored_at <= l.next_number);
	}
	assert_true(!believed
		|| (l.count == sums->running.live_count && bytes == sums->running.live_bytes));
	assert_true(believed || (!l.blocks && !l.count && !l.restores));
	mt_live_list_free(&l);
	mt_trace_reader_free(r);
	simulation_free(&s);
	return believed;
}

/* The payload of a list of 40 blocks. */
static void get_payload(struct mt_buffer *payload, struct mt_trace_sums *sums)
{
	const struct mt_live_list_restore restore = {.number = 3,
		.released_at = 4,
		.restored_at = 5};
	struct given g;
	struct simulation s;
	struct mt_err err;

	give(&g, 40, sums);
	write_file(&s, sums,
		&(const struct mt_live_list_source){
			.next = next_given,
			.context = &g,
			.next_number = 1000,
			.restores = &restore,
			.restore_count = 1,
		},
		NULL);
	struct mt_trace_reader *r = mt_trace_reader_open(path_of("list"), &err);

	for (uint32_t i = 0; i < mt_trace_reader_count(r); i++)
		if (mt_trace_reader_block(r, i)->type == MT_BLOCK_LIVE_BLOCKS)
			assert_int_equal(mt_trace_reader_payload(r, i, payload, &err), 0);
	mt_trace_reader_free(r);
	simulation_free(&s);
	free(g.blocks);
}

/* Every bit of it, and every length. */
static void test_damaged(void **state)
{
	struct mt_buffer payload = {0};
	struct mt_trace_sums sums;

	(void)state;
	get_payload(&payload, &sums);
	assert_true(is_believed(&sums, &payload));
	for (size_t bit = 0; bit < payload.len * 8; bit++) {
		payload.data[bit / 8] ^= 1 << bit % 8;
		is_believed(&sums, &payload);
		payload.data[bit / 8] ^= 1 << bit % 8;
	}
	while (payload.len--)
		assert_false(is_believed(&sums, &payload));
	payload.len = 0;
	mt_buffer_free(&payload);
}

/* What the last event block says is not what the list has. */
static void test_other_sums(void **state)
{
	struct mt_buffer payload = {0};
	struct mt_trace_sums sums, other;

	(void)state;
	get_payload(&payload, &sums);
	other = sums;
	other.running.live_bytes++;
	assert_false(is_believed(&other, &payload));
	other = sums;
	other.running.live_count--;
	assert_false(is_believed(&other, &payload));
	other.running.live_count += 2;
	assert_false(is_believed(&other, &payload));
	mt_buffer_free(&payload);
}

/* Counts that nothing can hold. */
static void test_huge_counts(void **state)
{
	static const uint64_t counts[] = {1u << 16, (1u << 16) + 1, 1u << 31, 1ull << 32,
		1ull << 60, UINT64_MAX};
	struct mt_trace_sums sums = {.running = {.live_count = UINT64_MAX}};

	(void)state;
	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct mt_buffer payload = {0};

		mt_varint_add(&payload, 0);
		mt_varint_add(&payload, 1);
		mt_varint_add(&payload, counts[i]);
		assert_false(is_believed(&sums, &payload));
		mt_buffer_free(&payload);
	}
}

/* The list of a trace that grows is in a separate file; the trace is read as far as the list tells
 * of it, and no list of its own matters. */
static void test_list_beside(void **state)
{
	struct given g, later;
	struct simulation s;
	struct mt_trace_sums sums, more;
	struct mt_live_list l;
	struct mt_err err;

	(void)state;
	give(&g, 5000, &sums);
	give(&later, 7000, &more);
	simulation_start(&s, 1, create("grows"));
	simulation_flush(&s);
	simulation_allocate(&s, NULL);
	assert_int_equal(mt_trace_writer_flush_exact(s.writer, &sums, &err), 0);
	uint64_t bytes = mt_trace_writer_bytes(s.writer);
	struct mt_trace_writer *w = mt_trace_writer_new(create("beside"), &err);
	const struct mt_live_list_source source = {
		.next = next_given,
		.context = &g,
		.next_number = 1u << 20,
		.events = s.writer,
	};

	assert_int_equal(mt_live_list_write(&source, w, &err), 0);
	mt_trace_writer_free(w);
	simulation_allocate(&s, NULL); /* what is written behind does not matter */
	assert_int_equal(mt_trace_writer_flush_exact(s.writer, &more, &err), 0);
	for (int whole = 0; whole < 2; whole++) {
		struct mt_trace_reader *r =
			mt_trace_reader_open_part(open(path_of("grows"), O_RDONLY | O_CLOEXEC),
				"grows", whole ? mt_trace_writer_bytes(s.writer) : bytes, &err);

		assert_non_null(r);
		assert_int_equal(mt_trace_reader_damage(r, NULL), 0);
		assert_int_equal(mt_live_list_read(&l, r, &s.profile, NULL, NULL), 1);
		mt_trace_reader_set_list(r, mt_trace_reader_open(path_of("beside"), &err));
		assert_int_equal(mt_live_list_read(&l, r, &s.profile, NULL, NULL), whole);
		assert_int_equal(l.count, whole ? 0 : 5000);
		if (!whole)
			assert_memory_equal(l.blocks, g.blocks, 5000 * sizeof *g.blocks);
		mt_live_list_free(&l);
		mt_trace_reader_free(r);
	}
	assert_null(mt_trace_reader_open_part(open(path_of("grows"), O_RDONLY | O_CLOEXEC), "grows",
		mt_trace_writer_bytes(s.writer) + 1, &err));
	assert_int_equal(mt_trace_writer_finish(s.writer, &err), 0);
	simulation_free(&s);
	free(g.blocks);
	free(later.blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_list_beside),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_other_sums),
		cmocka_unit_test(test_huge_counts),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
