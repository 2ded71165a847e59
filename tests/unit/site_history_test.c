/* What events tell of groups: random recordings through real files against a count block by
 * block. */
#include "tests/unit/trace_files.h"

#include "core/query/site_history.h"

#define GROUPS 4096

struct opened {
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_trace_reader *reader;
	struct mt_source source;
};

static void open_trace(struct opened *o, uint64_t seed)
{
	struct mt_err err = {0};
	struct simulation s;

	record(&s, "trace", seed, 4000, 500, true);
	simulation_free(&s);
	memset(o, 0, sizeof *o);
	o->reader = mt_trace_reader_open(path_of("trace"), &err);
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

struct brute {
	struct mt_rank_point (*points)[MT_RANK_POINTS];
	const uint64_t *time_ns;
	uint64_t sizes[GROUPS], blocks[GROUPS], ended_ns[GROUPS];
	uint32_t old[GROUPS];
};

static int count(void *context, const struct mt_allocation *a)
{
	struct brute *b = context;

	assert_true(a->group < GROUPS);
	b->blocks[a->group]++;
	b->sizes[a->group] += a->size;
	b->old[a->group] +=
		a->end_ns == MT_LIVE && a->time_ns <= b->time_ns[mt_rank_then(MT_RANK_POINTS)];
	b->ended_ns[a->group] +=
		a->end_ns == MT_LIVE || a->end_ns < a->time_ns ? 0 : a->end_ns - a->time_ns;
	for (uint32_t i = 0; i < MT_RANK_POINTS; i++) {
		struct mt_rank_point *point = &b->points[a->group][i];
		uint64_t t = b->time_ns[i];
		bool begun = a->time_ns <= t, ended = a->end_ns != MT_LIVE && a->end_ns <= t;

		point->freed += ended;
		point->count += (uint32_t)begun - ended;
		point->bytes += (uint64_t)begun * a->size - (uint64_t)ended * a->size;
	}
	return 0;
}

static void check_group(const struct opened *o, const struct brute *b, uint32_t group)
{
	const struct mt_group *g = &o->profile.groups[group];
	struct mt_site_history s;
	uint64_t live = 0, ended = 0, all = 0, threads = 0, live_bytes = 0;

	assert_int_equal(mt_site_history_group(&s, &o->source, group, NULL), 0);
	assert_int_equal(s.count, b->blocks[group]);
	assert_int_equal(s.count, g->allocated_count);
	assert_int_equal(s.live_count, g->live_count);
	assert_int_equal(s.ended_ns, b->ended_ns[group]);
	for (unsigned i = 0; i < MT_SITE_HISTORY_AGE_COUNT; i++) {
		live += s.live_ages[i];
		ended += s.lifetimes[i];
	}
	for (unsigned i = 0; i < MT_SITE_HISTORY_SIZE_COUNT; i++)
		all += s.sizes[i];
	for (uint32_t i = 0; i < s.thread_count; i++) {
		threads += s.threads[i].count;
		live_bytes += s.threads[i].live_bytes;
		assert_true(!i || s.threads[i].live_bytes <= s.threads[i - 1].live_bytes);
	}
	assert_int_equal(live, s.live_count);
	assert_int_equal(live + ended, s.count);
	assert_int_equal(all, s.count);
	assert_int_equal(threads, s.count);
	assert_int_equal(live_bytes, g->live_bytes);
	assert_true(s.outlived <= s.live_count);
	mt_site_history_free(&s);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct opened o;
		struct mt_rank_point *points;
		uint64_t time_ns[MT_RANK_POINTS];
		static struct brute b;
		static uint32_t old[GROUPS];

		open_trace(&o, seed);
		assert_in_range(o.profile.group_count, 1, GROUPS);
		points = malloc(o.profile.group_count * MT_RANK_POINTS * sizeof *points);
		assert_int_equal(mt_site_history_series(points, old, time_ns, &o.source, NULL), 0);
		b = (struct brute){.points = calloc(GROUPS, sizeof *b.points), .time_ns = time_ns};
		assert_int_equal(mt_scan_allocations(&o.source, NULL, 0, count, &b, NULL), 0);
		assert_int_equal(time_ns[MT_RANK_POINTS - 1], o.profile.info.wall_ns);
		for (uint32_t g = 0; g < o.profile.group_count; g++) {
			const struct mt_rank_point *mine = points + g * MT_RANK_POINTS;

			for (uint32_t i = 0; i < MT_RANK_POINTS; i++) {
				assert_int_equal(mine[i].bytes, b.points[g][i].bytes);
				assert_int_equal(mine[i].count, b.points[g][i].count);
				assert_int_equal(mine[i].freed, b.points[g][i].freed);
			}
			assert_int_equal(mine[MT_RANK_POINTS - 1].bytes,
				o.profile.groups[g].live_bytes);
			assert_int_equal(old[g], b.old[g]);
			check_group(&o, &b, g);
		}
		free(points);
		free(b.points);
		close_trace(&o);
	}
}

static void test_ages(void **state)
{
	(void)state;
	assert_string_equal(mt_site_history_age_name(mt_site_history_age(0)), "<10ms");
	assert_string_equal(mt_site_history_age_name(mt_site_history_age(10000000)), "<100ms");
	assert_string_equal(mt_site_history_age_name(mt_site_history_age(59999999999)), "<1m");
	assert_string_equal(mt_site_history_age_name(mt_site_history_age(UINT64_MAX)), "older");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_ages),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
