/* Bits by the numbers of allocations, which may jump. */
#include "core/query/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool wanted(uint64_t number)
{
	return number % 3 == 0;
}

static void test_close_numbers(void **state)
{
	struct mt_bits b = {0};

	(void)state;
	assert_false(mt_bits_get(&b, 7));
	for (uint64_t n = 1000; n < 60000; n += 1 + n % 200)
		mt_bits_set(&b, n, wanted(n));
	for (uint64_t n = 1000; n < 60000; n += 1 + n % 200)
		assert_int_equal(mt_bits_get(&b, n), wanted(n));
	assert_int_equal(b.run_count, 1);
	assert_false(mt_bits_get(&b, 0));
	assert_false(mt_bits_get(&b, 60300));
	mt_bits_set(&b, 1, true); /* before the first */
	assert_false(mt_bits_get(&b, 1));
	mt_bits_free(&b);
}

/* A trace may claim any number; what that takes depends on how many it has. */
static void test_jumps(void **state)
{
	static const uint64_t starts[] = {5, 1ull << 20, 1ull << 40, 1ull << 63, UINT64_MAX - 200};
	struct mt_bits b = {0};

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		for (uint64_t n = 0; n < 150; n++)
			mt_bits_set(&b, starts[i] + n, wanted(n));
	mt_bits_set(&b, UINT64_MAX, true); /* no block has it */
	assert_int_equal(b.run_count, 5);
	assert_true(b.word_count < 5 * 5);
	for (unsigned i = 0; i < 5; i++) {
		for (uint64_t n = 0; n < 150; n++)
			assert_int_equal(mt_bits_get(&b, starts[i] + n), wanted(n));
		assert_false(mt_bits_get(&b, starts[i] - 1));
		assert_false(mt_bits_get(&b, starts[i] + 150));
	}
	mt_bits_set(&b, starts[1] + 1, true);
	mt_bits_set(&b, starts[1] + 1000, true); /* between two runs */
	assert_true(mt_bits_get(&b, starts[1] + 1));
	mt_bits_set(&b, starts[1] + 1, false);
	assert_false(mt_bits_get(&b, starts[1] + 1));
	assert_false(mt_bits_get(&b, starts[1] + 1000));
	assert_false(mt_bits_get(&b, UINT64_MAX));
	mt_bits_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_numbers),
		cmocka_unit_test(test_jumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
