/* Who holds what lives, step by step: random recordings through real files against what the
 * recorder in small held at the end of each step, which is noted while it records. */
#include "tests/unit/trace_files.h"

#include "core/query/stacked.h"

#define MS 1000000ull
#define STEPS 1000
#define GROUPS 24
#define THREADS 8

struct held {
	struct mt_block blocks[256];
	uint32_t count;
};

struct noted {
	struct held ends[STEPS], peak, count_peak;
	uint64_t most_of_group[STEPS][GROUPS], most_of_thread[STEPS][THREADS];
	uint64_t peak_bytes;
	uint32_t peak_blocks, step;
};

struct opened {
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_trace_reader *reader;
	struct mt_source source;
};

static void open_trace(struct opened *o, const char *name)
{
	struct mt_err err = {0};

	memset(o, 0, sizeof *o);
	o->reader = mt_trace_reader_open(path_of(name), &err);
	if (!o->reader || mt_profile_load(&o->profile, o->reader, NULL, NULL, &err))
		fail_msg("%s", err.text);
	mt_symbols_init(&o->symbols);
	o->source = (struct mt_source){
		.profile = &o->profile,
		.symbols = &o->symbols,
		.reader = o->reader,
		.workers = 1,
	};
}

static void close_trace(struct opened *o)
{
	mt_trace_reader_free(o->reader);
	mt_profile_free(&o->profile);
	mt_symbols_free(&o->symbols);
}

/* ---- noting ---- */

static void hold(struct held *h, const struct simulation *s)
{
	memcpy(h->blocks, s->live, s->live_count * sizeof *s->live);
	h->count = s->live_count;
}

static void note_most(struct noted *n, const struct simulation *s)
{
	uint64_t groups[GROUPS] = {0}, threads[THREADS] = {0}, bytes = 0;

	for (uint32_t i = 0; i < s->live_count; i++) {
		groups[s->live[i].group] += s->live[i].size;
		threads[s->live[i].thread] += s->live[i].size;
		bytes += s->live[i].size;
	}
	for (uint32_t i = 0; i < GROUPS; i++)
		if (groups[i] > n->most_of_group[n->step][i])
			n->most_of_group[n->step][i] = groups[i];
	for (uint32_t i = 0; i < THREADS; i++)
		if (threads[i] > n->most_of_thread[n->step][i])
			n->most_of_thread[n->step][i] = threads[i];
	if (bytes > n->peak_bytes) {
		n->peak_bytes = bytes;
		hold(&n->peak, s);
	}
	if (s->live_count > n->peak_blocks) {
		n->peak_blocks = s->live_count;
		hold(&n->count_peak, s);
	}
}

/* The steps that have ended did so before what has just happened. */
static void note(struct noted *n, const struct simulation *s, const struct held *before)
{
	struct simulation was = {.live_count = before->count};

	assert_true(s->profile.sample_count <= STEPS);
	assert_true(s->profile.group_count <= GROUPS && s->profile.thread_count <= THREADS);
	memcpy(was.live, before->blocks, sizeof was.live);
	while (n->step + 1 < s->profile.sample_count) {
		n->ends[n->step++] = *before;
		note_most(n, &was);
	}
	note_most(n, s);
}

/* late: the recorder is behind now and then, and has gone on to later steps when events of earlier
 * ones come. */
static void record_noted(struct simulation *s, struct noted *n, uint64_t seed, bool late)
{
	struct held before;

	memset(n, 0, sizeof *n);
	simulation_start(s, seed, create("t.dat"));
	for (unsigned i = 0; i < 4000; i++) {
		hold(&before, s);
		if (late && !random_below(&s->random, 40))
			mt_model_advance(&s->model, s->now_ns + random_below(&s->random, 30 * MS),
				0);
		simulation_step(s);
		note(n, s, &before);
		if (i % 500 == 250)
			simulation_flush(s);
		if (i % 1500 == 700)
			simulation_define(s);
	}
	n->ends[s->profile.sample_count - 1] = before;
	hold(&n->ends[s->profile.sample_count - 1], s);
	simulation_finish(s, true);
}

/* ---- comparing ---- */

static uint64_t held_by(const struct opened *o, const struct held *h, const struct mt_stacked *of,
	uint32_t series, enum mt_rows_by by, bool by_count)
{
	const struct mt_stacked_series *wanted = &of->series[series];
	const struct mt_profile *p = &o->profile;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < h->count; i++) {
		const struct mt_block *b = &h->blocks[i];
		struct mt_buffer name = {0};

		if (by == MT_ROWS_BY_THREAD)
			mt_buffer_printf(&name, "%u %s", p->threads[b->thread].tid,
				mt_strings_get(&p->strings, p->threads[b->thread].name));
		else if (by == MT_ROWS_BY_KIND)
			mt_buffer_printf(&name, "%s",
				mt_profile_function_name(p,
					mt_profile_group_function(p, b->group)));
		bool mine = by == MT_ROWS_BY_BACKTRACE
			? wanted->group == b->group
			: !strcmp((const char *)name.data,
				mt_strings_get(&of->names, wanted->name));

		sum += !mine ? 0 : by_count ? 1 : b->size;
		mt_buffer_free(&name);
	}
	return sum;
}

static void assert_adds_up(const struct mt_stacked *of, const struct mt_profile *shown,
	bool by_count)
{
	assert_int_equal(shown->sample_count, of->steps);
	for (uint32_t step = 0; step < of->steps; step++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i <= of->count; i++) {
			sum += of->series[i].live[step];
			assert_true(of->series[i].most[step] >= of->series[i].live[step]);
		}
		assert_int_equal(by_count ? shown->samples[step].live_count
					  : shown->samples[step].live_bytes,
			sum);
	}
}

static void assert_held(const struct opened *o, const struct noted *n, const struct mt_stacked *of,
	enum mt_rows_by by, bool by_count)
{
	for (uint32_t i = 0; i < of->count; i++) {
		const struct mt_stacked_series *series = &of->series[i];

		assert_true(!i || series->at_peak <= series[-1].at_peak);
		assert_int_equal(held_by(o, by_count ? &n->count_peak : &n->peak, of, i, by,
					 by_count),
			series->at_peak);
		for (uint32_t step = 0; step < of->steps; step++) {
			assert_int_equal(held_by(o, &n->ends[step], of, i, by, by_count),
				series->live[step]);
			if (by == MT_ROWS_BY_BACKTRACE && !by_count)
				assert_int_equal(n->most_of_group[step][series->group],
					series->most[step]);
		}
	}
}

/* A thread's name is its id's: tids are 100 and more. */
static void assert_most_of_threads(const struct noted *n, const struct mt_stacked *of)
{
	for (uint32_t i = 0; i < of->count; i++)
		for (uint32_t step = 0; step < of->steps; step++)
			assert_int_equal(n->most_of_thread[step][atoi(mt_strings_get(&of->names,
									 of->series[i].name))
						 - 100],
				of->series[i].most[step]);
}

/* late: where a realloc failed just when a step ended, it is not known in which it did; the sum is
 * right in any case. */
static void compare(struct opened *o, const struct noted *n, enum mt_rows_by by, bool by_count,
	uint32_t top, bool late)
{
	struct mt_stacked of = {0};
	struct mt_err err = {0};

	if (mt_stacked_get(&of, &o->source, NULL, &o->profile, by, by_count, top, &err))
		fail_msg("%s", err.text);
	assert_true(of.count && of.count <= top);
	assert_adds_up(&of, &o->profile, by_count);
	if (!late)
		assert_held(o, n, &of, by, by_count);
	if (!late && by == MT_ROWS_BY_THREAD && !by_count)
		assert_most_of_threads(n, &of);
	mt_stacked_free(&of);
}

static void test_random(void **state)
{
	static struct noted n;
	static struct simulation s;

	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct opened o;

		record_noted(&s, &n, seed, seed & 1);
		open_trace(&o, "t.dat");
		assert_int_equal(s.profile.sample_count, o.profile.sample_count);
		for (int by_count = 0; by_count < 2; by_count++) {
			compare(&o, &n, MT_ROWS_BY_BACKTRACE, by_count, 3, seed & 1);
			compare(&o, &n, MT_ROWS_BY_KIND, by_count, 52, seed & 1);
			compare(&o, &n, MT_ROWS_BY_THREAD, by_count, 2, seed & 1);
		}
		close_trace(&o);
		simulation_free(&s);
	}
}

/* ---- filters ---- */

static struct mt_filter *random_filter(uint64_t *random)
{
	static const char *const texts[] = {"size>=24", "size<5000", "from:20%", "to:60%",
		"from:30% to:70%", "lifetime:only_leaked", "lifetime:only_short_lived",
		"thread:100", "lifetime_min:3ms", "chain_length_min:2", "alive_at:50%",
		"alive_at:peak", "position_in_chain_max:1", "last_size_min:100"};
	struct mt_filter *filter = mt_filter_new();
	struct mt_err err = {0};
	char text[100];

	snprintf(text, sizeof text, "%s",
		texts[random_below(random, sizeof texts / sizeof *texts)]);
	if (mt_filter_parse(filter, text, &err))
		fail_msg("%s: %s", text, err.text);
	return filter;
}

static void test_filters(void **state)
{
	uint64_t random = 99;

	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		static struct simulation s;
		struct opened o;

		record(&s, "t.dat", seed, 3000, 400, seed & 1);
		open_trace(&o, "t.dat");
		for (int i = 0; i < 12; i++) {
			struct mt_filter *filter = random_filter(&random);
			struct mt_matched m = {0};
			struct mt_stacked of = {0};
			struct mt_err err = {0};
			bool by_count = i & 1;

			assert_int_equal(0,
				mt_match(&m, &o.source, filter, MT_MATCH_HISTORY, &err));
			assert_int_equal(0,
				mt_stacked_get(&of, &o.source, filter, &m.profile,
					(enum mt_rows_by)random_below(&random, MT_ROWS_BY_COUNT),
					by_count, 1 + random_below(&random, 5), &err));
			assert_adds_up(&of, &m.profile, by_count);
			mt_stacked_free(&of);
			mt_matched_free(&m);
			mt_filter_free(filter);
		}
		close_trace(&o);
		simulation_free(&s);
	}
}

/* What the columns of a range say is what its groups do, whatever the width of steps and
 * columns. */
static void assert_as_groups(const struct mt_matched *m, const struct mt_stacked *of,
	uint32_t columns)
{
	struct mt_timeline t = {0};
	uint64_t allocations = 0, frees = 0, bytes = 0, blocks = 0, allocated = 0, stacked = 0;

	mt_timeline_of_steps(&t, &m->profile, m->from_ns, m->to_ns, columns);
	assert_true(t.count && t.count <= columns);
	assert_int_equal(m->to_ns, mt_timeline_end(&t, t.count - 1));
	for (uint32_t i = 0; i < t.count; i++) {
		allocations += t.columns[i].allocations;
		frees += t.columns[i].frees;
	}
	for (uint32_t i = 0; i < m->profile.group_count; i++) {
		bytes += mt_profile_range_live_bytes(&m->profile, i);
		blocks += mt_profile_range_live_count(&m->profile, i);
		allocated += m->profile.groups[i].allocated_count;
	}
	for (uint32_t i = 0; i <= of->count; i++)
		stacked += of->series[i].live[of->steps - 1];
	assert_int_equal(allocated, allocations);
	assert_int_equal(allocations - blocks, frees);
	assert_int_equal(bytes, t.columns[t.count - 1].live_bytes);
	assert_int_equal(blocks, t.columns[t.count - 1].live_count);
	assert_int_equal(bytes, stacked);
	mt_timeline_free(&t);
}

static void test_ranges(void **state)
{
	static const char *const ranges[] = {"to:13%", "to:50%", "from:31% to:67%",
		"to:50% size>=24"};

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		static struct simulation s;
		struct opened o;

		record(&s, "t.dat", seed, 3000, 400, seed & 1);
		open_trace(&o, "t.dat");
		for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
			struct mt_filter *filter = mt_filter_new();
			struct mt_matched m = {0};
			struct mt_stacked of = {0};
			struct mt_err err = {0};

			assert_int_equal(0, mt_filter_parse(filter, ranges[i], &err));
			assert_int_equal(0,
				mt_match(&m, &o.source, filter, MT_MATCH_HISTORY, &err));
			of.until_ns = m.to_ns;
			assert_int_equal(0,
				mt_stacked_get(&of, &o.source, filter, &m.profile, MT_ROWS_BY_KIND,
					false, 3, &err));
			for (uint32_t columns = 1; columns < 6; columns++)
				assert_as_groups(&m, &of, columns);
			assert_as_groups(&m, &of, UINT32_MAX);
			mt_stacked_free(&of);
			mt_matched_free(&m);
			mt_filter_free(filter);
		}
		close_trace(&o);
		simulation_free(&s);
	}
}

/* ---- by hand ---- */

static void put(struct mt_trace_writer *w, uint64_t tenths, struct mt_event e)
{
	e.time_ns = tenths * MS / 10;
	mt_trace_writer_event(w, &e);
}

/* Groups 0, 1, 2: malloc, calloc and realloc at one place. Steps of 1 ms, times in tenths of it. */
static void write_known(const char *name)
{
	struct simulation s;
	struct mt_trace_running running = {0};
	struct mt_err err = {0};

	simulation_start(&s, 1, create(name));
	mt_profile_add_thread(&s.profile,
		&(struct mt_thread){.tid = 101,
			.name = mt_strings_add(&s.profile.strings, "other")});
	assert_int_equal(mt_definitions_write(&s.definitions, s.writer, &s.profile, &err), 0);
	put(s.writer, 1,
		(struct mt_event){.type = MT_EVENT_ALLOCATE, .number = 0, .size = 100, .group = 0});
	put(s.writer, 2,
		(struct mt_event){
			.type = MT_EVENT_ALLOCATE,
			.number = 1,
			.size = 50,
			.group = 1,
			.thread = 1,
		});
	put(s.writer, 12, (struct mt_event){.type = MT_EVENT_RELEASE, .number = 0});
	put(s.writer, 12,
		(struct mt_event){
			.type = MT_EVENT_REALLOCATE,
			.number = 2,
			.previous = 0,
			.size = 300,
			.group = 2,
		});
	put(s.writer, 13, (struct mt_event){.type = MT_EVENT_RELEASE, .number = 2});
	put(s.writer, 21, (struct mt_event){.type = MT_EVENT_RESTORE, .number = 2});
	put(s.writer, 33, (struct mt_event){.type = MT_EVENT_FREE, .number = 2});
	put(s.writer, 34,
		(struct mt_event){
			.type = MT_EVENT_ALLOCATE,
			.number = 3,
			.size = 7,
			.group = 0,
			.thread = 1,
		});
	assert_int_equal(mt_trace_writer_flush(s.writer, &running, &err), 0);
	assert_int_equal(mt_trace_writer_finish(s.writer, &err), 0);
	simulation_free(&s);
}

struct expected {
	const char *name;
	uint64_t at_peak, live[4], most[4];
};

static void assert_known(struct opened *o, const char *words, enum mt_rows_by by, bool by_count,
	uint32_t top, const struct expected *expected, uint32_t count)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_matched m = {0};
	struct mt_stacked of = {0};
	struct mt_err err = {0};

	assert_int_equal(0, mt_filter_parse(filter, words, &err));
	assert_int_equal(0, mt_match(&m, &o->source, filter, MT_MATCH_HISTORY, &err));
	assert_int_equal(0,
		mt_stacked_get(&of, &o->source, filter, &m.profile, by, by_count, top, &err));
	assert_int_equal(count, of.count + 1);
	assert_int_equal(4, of.steps);
	for (uint32_t i = 0; i < count; i++) {
		assert_string_equal(expected[i].name, mt_strings_get(&of.names, of.series[i].name));
		assert_int_equal(expected[i].at_peak, of.series[i].at_peak);
		for (int step = 0; step < 4; step++) {
			assert_int_equal(expected[i].live[step], of.series[i].live[step]);
			assert_int_equal(expected[i].most[step], of.series[i].most[step]);
		}
	}
	mt_stacked_free(&of);
	mt_matched_free(&m);
	mt_filter_free(filter);
}
#define KNOWN(o, words, by, by_count, top, ...) \
	assert_known(o, words, by, by_count, top, (const struct expected[]){__VA_ARGS__}, \
		sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void test_known(void **state)
{
	struct opened o;

	(void)state;
	write_known("known.dat");
	open_trace(&o, "known.dat");
	assert_int_equal(MS, o.profile.step_ns);
	KNOWN(&o, "", MT_ROWS_BY_KIND, false, 2,
		{"realloc", 300, {0, 0, 300, 0}, {0, 300, 300, 300}},
		{"calloc", 50, {50, 50, 50, 50}, {50, 50, 50, 50}},
		{"", 0, {100, 0, 0, 7}, {100, 100, 0, 7}});
	/* One function alone: what the top leaves out is other. */
	KNOWN(&o, "", MT_ROWS_BY_KIND, false, 1,
		{"realloc", 300, {0, 0, 300, 0}, {0, 300, 300, 300}},
		{"", 50, {150, 50, 50, 57}, {150, 150, 50, 57}});
	/* By blocks the peak is another: two, at first. */
	KNOWN(&o, "", MT_ROWS_BY_KIND, true, 5, {"malloc", 1, {1, 0, 0, 1}, {1, 1, 0, 1}},
		{"calloc", 1, {1, 1, 1, 1}, {1, 1, 1, 1}}, {"", 0, {0, 0, 1, 0}, {0, 1, 1, 1}});
	KNOWN(&o, "", MT_ROWS_BY_THREAD, false, 5,
		{"100 worker 0", 300, {100, 0, 300, 0}, {100, 300, 300, 300}},
		{"101 other", 50, {50, 50, 50, 57}, {50, 50, 50, 57}},
		{"", 0, {0, 0, 0, 0}, {0, 0, 0, 0}});
	/* Of the realloc the first half alone matches: it is gone from 1.2 ms on. */
	KNOWN(&o, "size<=100", MT_ROWS_BY_KIND, false, 5,
		{"malloc", 100, {100, 0, 0, 7}, {100, 100, 0, 7}},
		{"calloc", 50, {50, 50, 50, 50}, {50, 50, 50, 50}},
		{"", 0, {0, 0, 0, 0}, {0, 0, 0, 0}});
	KNOWN(&o, "from:1ms to:2ms", MT_ROWS_BY_KIND, false, 5,
		{"realloc", 300, {0, 0, 300, 0}, {0, 300, 300, 300}},
		{"", 0, {0, 0, 0, 0}, {0, 0, 0, 0}});
	KNOWN(&o, "size>=1000", MT_ROWS_BY_KIND, false, 5, {"", 0, {0, 0, 0, 0}, {0, 0, 0, 0}});
	close_trace(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
