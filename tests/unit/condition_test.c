/* Conditions on which a snapshot is taken: their words, and that each crossing counts once. */
#include "core/session/condition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SECOND 1000000000ull

static struct mt_condition parsed(const char *text)
{
	struct mt_condition c;
	struct mt_err err = {0};

	assert_int_equal(mt_condition_parse(&c, text, &err), 0);
	return c;
}

static void parses(void **unused)
{
	(void)unused;
	struct mt_condition c = parsed("rss>2G");

	assert_int_equal(c.quantity, MT_QUANTITY_RSS);
	assert_true(c.amount == 2.0 * (1ull << 30) && !c.percent);
	assert_string_equal(c.label, "rss-over-2G");
	c = parsed(" heap > 1.5 M ");
	assert_int_equal(c.quantity, MT_QUANTITY_LIVE);
	assert_true(c.amount == 1.5 * (1 << 20));
	assert_string_equal(c.text, "heap>1.5M");
	c = parsed("live>90%");
	assert_true(c.percent && c.amount == 90);
	assert_string_equal(c.label, "live-over-90-percent");
	c = parsed("growth>10M/s");
	assert_int_equal(c.quantity, MT_QUANTITY_GROWTH);
	assert_string_equal(c.label, "growth-over-10M-per-s");
}

static void refuses(void **unused)
{
	static const char *const wrong[] = {"", ">", "rss", "rss>", "rss>0", "rss>-1", "rss>1e400",
		"rss>2Gx", "rss>2G/s", "rss>>2G", "live>0%", "live>101%", "live>9%%", "growth>1",
		"growth>1%", "growth>1/m", "Rss>1", "rss>nan", "rss>0x10",
		"rss>111111111111111111111111111111111111111111111111111111111111111111"};
	struct mt_condition c;

	(void)unused;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct mt_err err = {0};

		assert_true(mt_condition_parse(&c, wrong[i], &err) < 0);
		assert_non_null(strstr(err.text, "expected"));
	}
}

/* Whether it crosses at each of the values, as 0 and 1. */
static void crosses(const char *text, const uint64_t *values, const char *expected)
{
	struct mt_condition c = parsed(text);
	struct mt_condition_state s = {0};

	for (size_t i = 0; expected[i]; i++) {
		struct mt_condition_values v = {.rss_bytes = values[i],
			.live_bytes = values[i],
			.limit_bytes = 1000};

		assert_int_equal(mt_condition_crossed(&s, &c, 3, &v), expected[i] == '1');
	}
}

static void counts_each_crossing_once(void **unused)
{
	static const uint64_t values[] = {0, 100, 101, 99, 101, 91, 200, 90, 101, 89, 100, 101};

	(void)unused;
	crosses("live>100", values, "001000000001");
	crosses("rss>100", values, "001000000001");
	crosses("live>10%", values, "001000000001");
}

static void never_without_a_limit(void **unused)
{
	struct mt_condition c = parsed("live>10%");
	struct mt_condition_state s = {0};
	struct mt_condition_values v = {.live_bytes = 1ull << 40};

	(void)unused;
	assert_false(mt_condition_crossed(&s, &c, 0, &v));
}

/* 10 a second, then 30 a second: more than 20 on average of 5 s after 2.5 s or more of it. */
static void measures_growth(void **unused)
{
	struct mt_condition c = parsed("growth>20/s");
	struct mt_condition_state s = {0};
	struct mt_condition_values v = {0};
	uint64_t crossed = 0;

	(void)unused;
	for (uint64_t tenth = 0; tenth < 200; tenth++) {
		uint64_t bytes = tenth < 100 ? tenth : 100 + (tenth - 100) * 3;

		mt_condition_sample(&s, tenth * SECOND / 10, bytes);
		if (mt_condition_crossed(&s, &c, 0, &v)) {
			assert_int_equal(crossed, 0);
			crossed = tenth;
		}
	}
	assert_in_range(crossed, 126, 135);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses),
		cmocka_unit_test(refuses),
		cmocka_unit_test(counts_each_crossing_once),
		cmocka_unit_test(never_without_a_limit),
		cmocka_unit_test(measures_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
