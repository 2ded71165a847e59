/* What the headers of event blocks say is what their events say; with names of traces, of these. */
#include "core/model/live.h"
#include "core/trace/facts.h"
#include "tests/unit/trace_files.h"

/* A full pass, which knows what each block must say. */
struct checker {
	struct mt_trace_reader *reader;
	struct mt_live live;
	struct mt_trace_facts *facts;
	uint32_t block;
	bool has_facts, first_event;
	uint64_t next_number, level, high, frees;
	uint64_t allocations[MT_TRACE_THREADS];
	uint32_t blocks, spans, named;
};

static bool is_named(const struct mt_trace_facts *f, uint64_t number)
{
	for (uint32_t i = 0; i < f->span_count; i++)
		if (number >= f->earlier[i].first && number <= f->earlier[i].last)
			return true;
	return false;
}

static void check_named(struct checker *c, uint64_t number)
{
	if (!c->has_facts || number >= c->facts->first_number)
		return;
	c->named++;
	if (c->facts->knows_earlier)
		assert_true(is_named(c->facts, number));
}

static int on_change(void *of, const struct mt_event *e, struct mt_live_cell *cell,
	enum mt_block_change change)
{
	struct checker *c = of;

	(void)e;
	if (change != MT_BLOCK_CONTINUE)
		c->level += change == MT_BLOCK_RESTORE ? cell->size : -cell->size;
	return 0;
}

static void check_event(struct checker *c, const struct mt_event *e)
{
	static const struct mt_live_reader changing = {.act = on_change};

	if (c->first_event && c->has_facts)
		assert_int_equal(c->facts->continued, e->type == MT_EVENT_NOTE);
	c->first_event = false;
	if (e->type == MT_EVENT_NOTE || e->type == MT_EVENT_UNKNOWN_FREE)
		return;
	if (e->type > MT_EVENT_REALLOCATE) {
		check_named(c, e->number);
		mt_live_change(&c->live, e->number, mt_block_change_of(e), &changing, c, e);
	} else {
		if (e->type == MT_EVENT_REALLOCATE) {
			check_named(c, e->previous);
			mt_live_change(&c->live, e->previous, MT_BLOCK_CONTINUE, &changing, c, e);
		}
		assert_int_equal(e->number, c->next_number);
		c->next_number++;
		mt_live_insert(&c->live, e->number)->size = e->size;
		c->level += e->size;
		c->allocations[e->thread % MT_TRACE_THREADS]++;
	}
	c->high = c->level > c->high ? c->level : c->high;
}

static int check_events(void *context, uint32_t index, const struct mt_event *events,
	uint32_t count)
{
	(void)index;
	for (uint32_t i = 0; i < count; i++)
		check_event(context, &events[i]);
	return 0;
}

static void end_block(struct checker *c)
{
	const struct mt_trace_facts *f = c->facts;

	if (!c->has_facts)
		return;
	assert_true(f->exact && f->knows_earlier);
	assert_int_equal(f->high_bytes, c->high);
	assert_int_equal(mt_trace_reader_block(c->reader, c->block)->running.live_bytes, c->level);
	if (!f->knows_threads)
		return;
	for (uint32_t i = 0; i < f->thread_count; i++) {
		assert_int_equal(f->threads[i].allocations,
			c->allocations[f->threads[i].thread % MT_TRACE_THREADS]);
		c->allocations[f->threads[i].thread % MT_TRACE_THREADS] = 0;
	}
	for (uint32_t i = 0; i < MT_TRACE_THREADS; i++)
		assert_int_equal(c->allocations[i], 0);
}

static int begin_block(void *context, uint32_t index)
{
	struct checker *c = context;

	if (mt_trace_reader_block(c->reader, index)->type != MT_BLOCK_EVENTS)
		return 0;
	end_block(c);
	c->has_facts = mt_trace_reader_facts(c->reader, index, c->facts);
	if (!c->has_facts)
		return 0;
	if (!c->blocks++)
		c->next_number = c->facts->first_number;
	assert_int_equal(c->facts->first_number, c->next_number);
	c->spans += c->facts->span_count;
	c->high = c->level;
	c->first_event = true;
	c->block = index;
	memset(c->allocations, 0, sizeof c->allocations);
	return 0;
}

static uint32_t check(const char *path, bool complete)
{
	struct checker c = {.facts = mt_alloc(sizeof *c.facts)};
	struct mt_err err;

	c.reader = mt_trace_reader_open(path, &err);
	assert_non_null(c.reader);
	mt_live_init(&c.live);
	struct mt_trace_scan scan = {
		.end = mt_trace_reader_count(c.reader),
		.block = begin_block,
		.events = check_events,
		.context = &c,
	};

	assert_int_equal(mt_trace_reader_scan(c.reader, &scan, &err), 0);
	if (complete)
		end_block(&c);
	printf("%s: %u blocks, %u spans, %u earlier numbers\n", path, c.blocks, c.spans, c.named);
	mt_live_free(&c.live);
	mt_trace_reader_free(c.reader);
	free(c.facts);
	return c.named;
}

static void recordings(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct simulation s;

		record(&s, "facts", seed, 4000, 20 + 30 * (unsigned)seed, true);
		simulation_free(&s);
		assert_true(check(path_of("facts"), true) > 100);
	}
}

static void spans_hold_all_numbers(void **state)
{
	struct mt_span_set set = {0};
	struct mt_trace_span spans[MT_TRACE_SPANS];
	uint64_t random = 7, numbers[3000];

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct mt_trace_facts f = {0};
		uint32_t count = 1 + random_below(&random, 3000);
		uint64_t end = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t wide = (uint64_t)random_next(&random) << 32 | random_next(&random);

			numbers[i] = wide >> (20 + random_below(&random, 40));
			mt_span_set_add(&set, numbers[i]);
			end = numbers[i] >= end ? numbers[i] + 1 : end;
		}
		f.span_count = mt_span_set_take(&set, end, spans);
		memcpy(f.earlier, spans, sizeof spans);
		assert_true(f.span_count > 0 && f.span_count <= MT_TRACE_SPANS);
		assert_int_equal(spans[f.span_count - 1].last, end - 1);
		for (uint32_t i = 0; i < count; i++)
			assert_true(is_named(&f, numbers[i]));
		assert_int_equal(mt_span_set_take(&set, end, spans), 0);
	}
	/* two far from each other stay two */
	mt_span_set_free(&set);
	mt_span_set_add(&set, 5);
	mt_span_set_add(&set, 1 << 20);
	assert_int_equal(mt_span_set_take(&set, 1 << 21, spans), 2);
	assert_true(spans[0].last < 1 << 19 && spans[1].first >= 1 << 19);
	mt_span_set_free(&set);
}

/* Fields that a later version has, and such as cannot be. */
static void fields_of_others(void **state)
{
	struct mt_trace_thread threads[] = {{3, 50}, {9, 1}};
	struct mt_trace_sums sums = {.high_bytes = 77, .threads = threads, .thread_count = 2};
	struct mt_trace_span span = {100, 199};
	struct mt_trace_facts f;
	struct mt_buffer b = {0};

	(void)state;
	mt_varint_add(&b, 99);
	mt_varint_add(&b, 3);
	mt_buffer_add(&b, "xyz", 3);
	mt_facts_add(&b, 4000, true, &sums, &span, 1);
	assert_true(mt_facts_read(&f, b.data, b.len));
	assert_true(f.first_number == 4000 && f.continued && f.exact && f.high_bytes == 77);
	assert_true(
		f.thread_count == 2 && f.threads[1].thread == 9 && f.threads[1].allocations == 1);
	assert_true(f.span_count == 1 && f.earlier[0].first == 100 && f.earlier[0].last == 199);
	uint64_t random = 3;
	uint32_t refused = 0;

	for (unsigned i = 0; i < 20000; i++) {
		uint8_t copy[200];
		size_t len = random_below(&random, (uint32_t)b.len + 1);

		memcpy(copy, b.data, len);
		if (len)
			copy[random_below(&random, (uint32_t)len)] ^= 1 << random_below(&random, 8);
		refused += !mt_facts_read(&f, copy, len);
		assert_true(f.thread_count <= MT_TRACE_THREADS && f.span_count <= MT_TRACE_SPANS);
	}
	assert_true(refused > 1000);
	mt_buffer_free(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings),
		cmocka_unit_test(spans_hold_all_numbers),
		cmocka_unit_test(fields_of_others),
	};

	for (int i = 1; i < argc; i++)
		check(argv[i], true);
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, make_directory, remove_directory);
}
