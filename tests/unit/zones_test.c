/* Ranges of addresses, each with a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/account/zones.h"

/* Any ranges, beside an array that has the row of each address. */
static void test_rows(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct mt_zones z = {0};
		int row_at[64], begin_at[64];

		for (int i = 0; i < 64; i++)
			row_at[i] = begin_at[i] = -1;
		for (uint32_t row = 0; row < 8; row++) {
			uint32_t low = (uint32_t)rand_r(&seed) % 60;
			uint32_t high = low + (uint32_t)rand_r(&seed) % 20;
			bool taken = false;

			high = high < 64 ? high : 64;
			for (uint32_t i = 0; i < 64; i++)
				taken |= begin_at[i] == (int)low;
			if (taken) /* which of two that begin together has it is not said */
				continue;
			mt_zones_add(&z, low, high, row);
			for (uint32_t i = low; i < high; i++)
				if (begin_at[i] < (int)low) {
					begin_at[i] = (int)low;
					row_at[i] = (int)row;
				}
		}
		mt_zones_arrange(&z);
		for (uint32_t i = 0; i + 1 < z.count; i++)
			assert_true(z.items[i].high <= z.items[i + 1].low);
		for (uint32_t i = 0; i < 64; i++) {
			const struct mt_zone *at = mt_zones_at(&z, i);

			if (begin_at[i] == (int)i && row_at[i] >= 0)
				assert_non_null(at);
			/* a range inside of another one ends it */
			if (at)
				assert_int_equal((int)at->row, row_at[i]);
		}
		mt_zones_free(&z);
	}
}

static void test_ends(void **state)
{
	struct mt_zones z = {0};

	(void)state;
	mt_zones_arrange(&z);
	assert_null(mt_zones_at(&z, 0));
	mt_zones_add(&z, 5, 5, 1);
	assert_int_equal(z.count, 0);
	mt_zones_add(&z, UINT64_MAX - 1, UINT64_MAX, 3);
	mt_zones_add(&z, 0, 10, 2);
	mt_zones_arrange(&z);
	assert_int_equal(mt_zones_at(&z, 9)->row, 2);
	assert_null(mt_zones_at(&z, 10));
	assert_int_equal(mt_zones_at(&z, UINT64_MAX - 1)->row, 3);
	assert_null(mt_zones_at(&z, UINT64_MAX));
	assert_int_equal(mt_zones_from(&z, 10), 1);
	assert_int_equal(mt_zones_from(&z, UINT64_MAX), 2);
	mt_zones_free(&z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
		cmocka_unit_test(test_ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
