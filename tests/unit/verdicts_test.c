/* What a leak check has found, on its way into a trace and back; and bytes that are none. */
#include "core/model/verdicts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GROUPS 9u

static const struct mt_verdict_way ways[] = {
	{0, MT_HOLDER_NONE, 0},
	{1, MT_HOLDER_ROOT | 0, 12},
	{7, 0, 3},
	{500, 4, UINT32_MAX},
	{999999, MT_HOLDER_ROOT | 1, 1},
};

static void fill(struct mt_verdicts *v)
{
	static const struct mt_verdict_group groups[] = {
		{0, 0, MT_VERDICT_LOST, {3, 300}},
		{0, 0, MT_VERDICT_REACHABLE, {1ull << 40, 1ull << 50}},
		{4, 0, MT_VERDICT_INDIRECT, {2, 64}},
		{4, 8, MT_VERDICT_INDIRECT, {1, 0}},
		{8, 8, MT_VERDICT_POSSIBLE, {1, 7}},
	};

	*v = (struct mt_verdicts){.moment_ns = 5000,
		.next_number = 1000000,
		.image = 2,
		.at_end = true,
		.listed = true};
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		mt_verdicts_add_group(v, &groups[i]);
	mt_verdicts_add_block(v, 0, MT_VERDICT_LOST);
	mt_verdicts_add_block(v, 7, MT_VERDICT_INDIRECT);
	mt_verdicts_add_block(v, 999999, MT_VERDICT_POSSIBLE);
	v->ways = mt_alloc(sizeof ways);
	memcpy(v->ways, ways, sizeof ways);
	v->way_count = v->way_capacity = sizeof ways / sizeof *ways;
	mt_verdicts_add_root(v, 3, "variable list, data of /bin/x");
	mt_verdicts_add_root(v, 5, "");
}

static void the_ways_are_read(void **state)
{
	struct mt_verdicts v, back = {0};
	struct mt_buffer payload = {0};

	(void)state;
	fill(&v);
	mt_verdicts_encode(&v, &payload);
	assert_null(mt_verdicts_decode(&back, &payload, GROUPS));
	assert_int_equal(back.way_count, v.way_count);
	for (uint32_t i = 0; i < v.way_count; i++) {
		assert_int_equal(back.ways[i].number, v.ways[i].number);
		assert_int_equal(back.ways[i].holder, v.ways[i].holder);
		assert_int_equal(back.ways[i].word, v.ways[i].word);
	}
	assert_int_equal(back.root_count, 2);
	assert_int_equal(back.roots[0].kind, 3);
	assert_string_equal(back.roots[0].words, "variable list, data of /bin/x");
	assert_string_equal(back.roots[1].words, "");
	mt_verdicts_free(&v);
	mt_verdicts_free(&back);
	mt_buffer_free(&payload);
}

static void what_is_written_is_read(void **state)
{
	struct mt_verdicts v, back = {0};
	struct mt_buffer payload = {0};

	(void)state;
	fill(&v);
	mt_verdicts_encode(&v, &payload);
	assert_null(mt_verdicts_decode(&back, &payload, GROUPS));
	assert_int_equal(back.moment_ns, 5000);
	assert_int_equal(back.next_number, 1000000);
	assert_int_equal(back.image, 2);
	assert_true(back.at_end && back.listed);
	assert_int_equal(back.group_count, v.group_count);
	for (uint32_t i = 0; i < v.group_count; i++) {
		assert_int_equal(back.groups[i].group, v.groups[i].group);
		assert_int_equal(back.groups[i].leader, v.groups[i].leader);
		assert_int_equal(back.groups[i].verdict, v.groups[i].verdict);
		assert_true(back.groups[i].sum.count == v.groups[i].sum.count);
		assert_true(back.groups[i].sum.bytes == v.groups[i].sum.bytes);
	}
	assert_int_equal(back.sums[MT_VERDICT_INDIRECT].count, 3);
	assert_int_equal(back.sums[MT_VERDICT_INDIRECT].bytes, 64);
	assert_int_equal(mt_verdicts_find(&back, 0), MT_VERDICT_LOST);
	assert_int_equal(mt_verdicts_find(&back, 6), MT_VERDICT_REACHABLE);
	assert_int_equal(mt_verdicts_find(&back, 7), MT_VERDICT_INDIRECT);
	assert_int_equal(mt_verdicts_find(&back, 999999), MT_VERDICT_POSSIBLE);
	assert_int_equal(mt_verdicts_find(&back, 1000000), MT_VERDICT_NONE);
	mt_verdicts_free(&v);
	mt_verdicts_free(&back);
	mt_buffer_free(&payload);
}

/* Each beginning, one byte too many, and each byte changed: refused, or of the same form. */
static void what_is_damaged_is_refused(void **state)
{
	unsigned older = 0;
	struct mt_verdicts v, back = {0};
	struct mt_buffer payload = {0};

	(void)state;
	fill(&v);
	mt_verdicts_encode(&v, &payload);
	assert_non_null(mt_verdicts_decode(&back, &payload, GROUPS - 1));
	for (size_t len = 0; len < payload.len; len++) {
		struct mt_buffer cut = {.data = payload.data, .len = len};

		if (mt_verdicts_decode(&back, &cut, GROUPS)) {
			assert_null(back.groups);
			continue;
		}
		older++; /* that of a trace that has no ways yet */
		assert_int_equal(back.way_count + back.root_count, 0);
	}
	assert_int_equal(older, 1);
	for (size_t at = 0; at < payload.len; at++)
		for (unsigned value = 0; value < 256; value++) {
			uint8_t was = payload.data[at];

			payload.data[at] = (uint8_t)value;
			if (!mt_verdicts_decode(&back, &payload, GROUPS))
				for (uint32_t i = 0; i < back.group_count; i++)
					assert_true(back.groups[i].group < GROUPS
						&& back.groups[i].leader < GROUPS);
			for (uint32_t i = 0; i < back.way_count; i++)
				assert_true(back.ways[i].holder == MT_HOLDER_NONE
					|| (back.ways[i].holder & ~MT_HOLDER_ROOT)
						< (back.ways[i].holder & MT_HOLDER_ROOT
								? back.root_count
								: back.way_count));
			payload.data[at] = was;
		}
	mt_buffer_add(&payload, "", 1);
	assert_non_null(mt_verdicts_decode(&back, &payload, GROUPS));
	mt_verdicts_free(&v);
	mt_verdicts_free(&back);
	mt_buffer_free(&payload);
}

static void too_many_are_summed_alone(void **state)
{
	struct mt_verdicts v = {.next_number = UINT64_MAX >> 3, .listed = true};

	(void)state;
	for (uint32_t i = 0; i <= MT_VERDICT_BLOCKS_MOST; i++)
		mt_verdicts_add_block(&v, i, MT_VERDICT_LOST);
	assert_false(v.listed);
	assert_int_equal(mt_verdicts_find(&v, 5), MT_VERDICT_NONE);
	struct mt_buffer payload = {0};

	mt_verdicts_encode(&v, &payload);
	assert_true(payload.len < 64);
	mt_buffer_free(&payload);
	mt_verdicts_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(the_ways_are_read),
		cmocka_unit_test(what_is_damaged_is_refused),
		cmocka_unit_test(too_many_are_summed_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
