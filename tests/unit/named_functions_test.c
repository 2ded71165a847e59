/* The list of an allocator's functions (--allocator-functions). */
#include "core/session/named.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void refuses(const char *text, const char *words)
{
	struct mt_err err = {0};

	assert_null(mt_named_new(text, &err));
	if (!strstr(err.text, words))
		fail_msg("'%s': %s", text, err.text);
}

static void test_refused(void **state)
{
	(void)state;
	refuses("", "names no function for malloc");
	refuses("malloc=a", "names no function for free");
	refuses("free=a", "names no function for malloc");
	refuses("malloc=a free=b fre=c", "'fre=c' is not WORD=NAME");
	refuses("malloc=a free=b c", "'c' is not WORD=NAME");
	refuses("malloc= free=b", "'malloc=' names nothing");
	refuses("malloc=a free=b malloc=c", "malloc is given twice");
	refuses("prefix=", "an empty prefix=");
}

static void test_read(void **state)
{
	struct mt_named_functions *n = mt_named_new("malloc=a,free=b\tusable_size=c", NULL);
	char symbol[MT_NAMED_SYMBOL];

	(void)state;
	assert_non_null(n);
	assert_string_equal(mt_named_symbol(n, "malloc", symbol), "a");
	assert_string_equal(mt_named_symbol(n, "usable_size", symbol), "c");
	assert_string_equal(mt_named_symbol(n, "calloc", symbol), "");
	assert_true(mt_named_is_needed(n, "usable_size"));
	assert_false(mt_named_is_needed(n, "calloc"));
	assert_true(mt_named_is_in(n, "/any"));
	mt_named_free(n);
}

static void test_prefix(void **state)
{
	struct mt_named_functions *n = mt_named_new("prefix=je_ free=put object=foo", NULL);
	char symbol[MT_NAMED_SYMBOL];

	(void)state;
	assert_non_null(n);
	assert_string_equal(mt_named_symbol(n, "malloc", symbol), "je_malloc");
	assert_string_equal(mt_named_symbol(n, "free", symbol), "put");
	assert_string_equal(mt_named_symbol(n, "usable_size", symbol), "je_malloc_usable_size");
	assert_true(mt_named_is_needed(n, "malloc"));
	assert_false(mt_named_is_needed(n, "valloc"));
	assert_true(mt_named_is_in(n, "/usr/lib/libfoo.so.2"));
	assert_true(mt_named_is_in(n, "/usr/bin/foo"));
	assert_false(mt_named_is_in(n, "/usr/lib/libfoobar.so"));
	mt_named_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
