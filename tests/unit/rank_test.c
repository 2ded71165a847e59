/* The ranking of groups as leaks, over made series: steady, sawtooth, slow leak, warm-up, growth of
 * a cache, burst. */
#include "core/export/rank_words.h"
#include "core/query/rank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POINTS MT_RANK_POINTS
#define SECOND 1000000000ull

struct series {
	struct mt_rank_point points[POINTS];
	uint64_t time_ns[POINTS];
	struct mt_group group;
};

/* count blocks of size, and so many that were freed by then; 2.5 seconds a point. */
static void put(struct series *s, uint32_t i, uint64_t size, uint32_t count, uint32_t freed)
{
	s->points[i] = (struct mt_rank_point){size * count, count, freed};
	s->time_ns[i] = SECOND + i * 5 * SECOND / 2;
	s->group.live_count = count;
	s->group.live_bytes = size * count;
	s->group.allocated_count = (uint64_t)count + freed;
}

static struct mt_rank rank(const struct series *s, double others)
{
	struct mt_rank r;

	mt_rank_series(&r, s->points, s->time_ns, POINTS, &s->group, MT_RANK_UNKNOWN);
	mt_rank_finish(&r, mt_rank_weight(&r) + others);
	assert_int_equal(r.score, r.steady + r.share + r.survivors + r.whole);
	assert_true(r.score <= 100);
	return r;
}

static uint32_t noise(uint32_t *seed, uint32_t most)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed / 65536 % most;
}

static void test_slow_leak(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 100, 10 + 30 * i, 0);
	struct mt_rank r = rank(&s, 0);

	assert_int_equal(r.score, 100);
	assert_int_equal(r.windows, 6);
	assert_int_equal(r.rising, 6);
	assert_true(r.slope > 1199 && r.slope < 1201); /* 3000 bytes each 2.5 s */
	assert_int_equal(r.then_count, 10 + 30 * 12);
	assert_int_equal(r.old_count, r.then_count);
	assert_int_equal(r.freed, 0);
	assert_false(r.estimated);
}

static void test_steady(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct series s = {0};
		uint32_t random = seed * 7919;

		for (uint32_t i = 0; i < POINTS; i++)
			put(&s, i, 512, 400 + noise(&random, 100), 1000 * i);
		assert_in_range(rank(&s, 1000).score, 0, 25);
	}
}

static void test_never_changing(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 1 << 20, 16, 0);
	assert_int_equal(rank(&s, 0).score, 0);
}

static void test_sawtooth(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++) /* a buffer that is emptied now and then */
		put(&s, i, 1000, 5 + 100 * (i % 5), i / 5 * 500);
	assert_in_range(rank(&s, 1000).score, 0, 15);
}

static void test_sawtooth_with_leak(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 1000, 5 + 20 * (i % 3) + 20 * i, i / 3 * 60);
	assert_in_range(rank(&s, 1000).score, 50, 100);
}

static void test_warm_up(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 4096, i < 4 ? 200 * (i + 1) : 800, i < 4 ? 0 : 10 * i);
	assert_in_range(rank(&s, 1000).score, 0, 15);
}

static void test_cache(void **state)
{
	struct series s = {0};
	uint32_t random = 5;

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++) /* grows with what comes, and lets a little go */
		put(&s, i, 200, 1000 + 50 * i + noise(&random, 30), 3 * i);
	struct mt_rank r = rank(&s, 1000);

	assert_in_range(r.score, 70, 100);
	assert_int_equal(r.whole, 0);
	assert_true(r.survivors > 0);
}

static void test_burst(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 1 << 16, i == 18 ? 900 : 3, i > 18 ? 897 : 0);
	assert_in_range(rank(&s, 1000).score, 0, 10);
}

/* A large leak of which most blocks are freed stands above a tiny one of which none is. */
static void test_size_matters(void **state)
{
	struct series large = {0}, tiny = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++) {
		put(&large, i, 10000, 100 * i + 7, 5000 * i);
		put(&tiny, i, 8, i, 0);
	}
	struct mt_rank a = rank(&large, 10), b = rank(&tiny, 400000);

	assert_true(a.score > b.score);
	assert_int_equal(a.survivors, 0);
	assert_int_equal(b.whole, MT_RANK_WHOLE);
}

static void test_shrinking(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 100, 1000 - 30 * i, 30 * i);
	assert_int_equal(rank(&s, 0).score, 0);
}

static void test_few_points(void **state)
{
	struct series s = {0};
	struct mt_rank r;

	(void)state;
	for (uint32_t i = 0; i < MT_RANK_LEAST; i++)
		put(&s, i, 100, 10 * i + 1, 0);
	mt_rank_series(&r, s.points, s.time_ns, MT_RANK_LEAST, &s.group, MT_RANK_UNKNOWN);
	assert_int_equal(r.windows, 3);
	assert_int_equal(r.rising, 3);
}

static void test_wrapped_frees(void **state)
{
	struct series s = {0};

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 100, 50 + i, UINT32_MAX - 20 + 2 * i);
	assert_int_equal(rank(&s, 0).old_count, 50 + 12 - 22);
}

static struct mt_rank totals(uint64_t allocated, uint64_t live, uint64_t peak, uint64_t first_s,
	uint64_t last_s)
{
	struct mt_profile p = {.info = {.wall_ns = 100 * SECOND, .leaked_bytes = 1000000}};
	struct mt_group g = {
		.allocated_count = allocated,
		.live_count = live,
		.live_bytes = live * 100,
		.own_peak_count = peak,
		.own_peak_bytes = peak * 100,
		.first_ns = first_s * SECOND,
		.last_ns = last_s * SECOND,
	};
	struct mt_rank r;

	mt_rank_totals(&r, &p, &g);
	assert_true(r.estimated);
	assert_int_equal(r.score, r.steady + r.share + r.survivors + r.whole);
	return r;
}

static void test_totals(void **state)
{
	(void)state;
	assert_in_range(totals(9000, 9000, 9000, 0, 100).score, 90, 100); /* never freed */
	assert_in_range(totals(90000, 900, 1200, 0, 100).score, 0, 10);   /* turnover */
	/* at the start, and that was it */
	assert_in_range(totals(900, 900, 900, 0, 1).score, 0, 10);
	assert_in_range(totals(1, 1, 1, 50, 50).score, 0, 5);
	assert_in_range(totals(9000, 0, 9000, 0, 100).score, 0, 0);
	assert_true(totals(9000, 900, 900, 0, 100).score > totals(9000, 90, 900, 0, 100).score);
}

static void test_words(void **state)
{
	struct series s = {0};
	char text[MT_RANK_WORDS];

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 100, 10 + 30 * i, 0);
	struct mt_rank r = rank(&s, 0);

	mt_rank_words(text, &r, s.group.live_count);
	assert_string_equal(text,
		"grows 1.2k/s for 57.50s in all of 6 windows, 100% of all such growth; 52% of its "
		"blocks are older than 27.50s; none was freed");
	for (uint32_t i = 0; i < POINTS; i++)
		put(&s, i, 100, 1000, 5 * i);
	r = rank(&s, 0);
	mt_rank_words(text, &r, s.group.live_count);
	assert_string_equal(text,
		"does not grow: in 0 of 6 windows over 57.50s; at least 94% of its blocks are "
		"older than 27.50s; 115 were freed");
	mt_rank_series(&r, s.points, s.time_ns, POINTS, &s.group, 1000);
	mt_rank_words(text, &r, s.group.live_count);
	assert_string_equal(text,
		"does not grow: in 0 of 6 windows over 57.50s; "
		"all of its blocks are older than 27.50s; 115 were freed");
	r = totals(9000, 9000, 9000, 0, 100);
	mt_rank_words(text, &r, 9000);
	assert_string_equal(text,
		"estimated from totals: 8.8k/s not freed since the first allocation, 90% of all "
		"that is live; none was freed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_leak),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_never_changing),
		cmocka_unit_test(test_sawtooth),
		cmocka_unit_test(test_sawtooth_with_leak),
		cmocka_unit_test(test_warm_up),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_size_matters),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_few_points),
		cmocka_unit_test(test_wrapped_frees),
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
