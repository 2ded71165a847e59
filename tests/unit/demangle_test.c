/* Names that are made to keep the demangler busy for ever, or to take all memory. */
#include "core/base/buffer.h"
#include "core/symbol/symbol.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LEVELS 60 /* each doubles the work, or the text */
#define HANG_S 120

static const char *under_way;

static void on_alarm(int number)
{
	static const char words[] = "\nthis name has kept mt_demangle busy for two minutes: ";

	(void)number;
	if (write(2, words, sizeof words - 1) < 0 || write(2, under_way, strlen(under_way)) < 0)
		_exit(2);
	_exit(1);
}

/* A name that would be too long, or would take too long, stays as it is. */
static void expect_as_it_is(struct mt_buffer *raw)
{
	char *name, *brief;

	mt_buffer_add(raw, "", 1);
	under_way = (char *)raw->data;
	alarm(HANG_S);
	name = mt_demangle(under_way);
	assert_string_equal(name, under_way);
	brief = mt_name_shorten(name);
	assert_true(strlen(brief) <= strlen(name));
	alarm(0);
	free(brief);
	free(name);
	mt_buffer_free(raw);
}

static void repeat(struct mt_buffer *out, const char *text, unsigned count)
{
	while (count--)
		mt_buffer_add(out, text, strlen(text));
}

/* pair<pair<…>, pair<…>>, each by two substitutions */
static void test_cplusplus(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct mt_buffer raw = {0};

	(void)state;
	repeat(&raw, "_Z1f1PIiiE", 1);
	for (unsigned i = 0; i < 36; i++)
		mt_buffer_printf(&raw, "S_IS%c_S%c_E", digits[i], digits[i]);
	expect_as_it_is(&raw);
}

/* Tuples whose second half is a back reference to the first. */
static void test_rust(void **state)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct mt_buffer raw = {0};

	(void)state;
	repeat(&raw, "_RMC1a", 1);
	repeat(&raw, "T", LEVELS);
	repeat(&raw, "u", 1);
	for (unsigned start = 4 + LEVELS; start > 4; start--) /* of the half, less the prefix */
		mt_buffer_printf(&raw, "B%c_E", digits[start - 1 < 61 ? start - 1 : 61]);
	expect_as_it_is(&raw);
}

/* Of D: what may be a function is tried as one, and then as a type; maps by back references; types
 * within types that need more stack than there is. */
static void test_d(void **state)
{
	static const char *const tried[] = {"FS1b", "US1b", "MFNaS1b", "YS1bC1c"};
	struct mt_buffer raw = {0};

	(void)state;
	for (unsigned i = 0; i < sizeof tried / sizeof *tried; i++) {
		repeat(&raw, "_D1a", 1);
		repeat(&raw, tried[i], LEVELS);
		expect_as_it_is(&raw);
	}
	repeat(&raw, "_D1aHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHi", 1);
	for (size_t start = 4 + 40, distance; start > 4; start--) {
		distance = raw.len - start;
		if (distance < 26)
			mt_buffer_printf(&raw, "Q%c", (int)('a' + distance));
		else
			mt_buffer_printf(&raw, "Q%c%c", (int)('A' + distance / 26),
				(int)('a' + distance % 26));
	}
	expect_as_it_is(&raw);
	repeat(&raw, "_D1aF", 1);
	repeat(&raw, "P", 65000);
	expect_as_it_is(&raw);
	repeat(&raw, "_D1aF", 1);
	repeat(&raw, "F", 65000);
	expect_as_it_is(&raw);
}

/* Brackets that nothing closes. */
static void test_brackets(void **state)
{
	struct mt_buffer raw = {0};

	(void)state;
	repeat(&raw, "x", 1);
	repeat(&raw, "<", 4 << 20);
	expect_as_it_is(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_d),
		cmocka_unit_test(test_brackets),
	};

	signal(SIGALRM, on_alarm);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
