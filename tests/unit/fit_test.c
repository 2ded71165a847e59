/* What is left of text that is longer than its columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <locale.h>
#include <cmocka.h>

#include "tui/terminal/fit.h"
#include "tui/terminal/width.h"

static void is(char *got, const char *wanted)
{
	assert_string_equal(got, wanted);
	free(got);
}

static void test_middle(void **state)
{
	(void)state;
	is(mt_fit_middle("abcdefghij", 10, true), "abcdefghij");
	is(mt_fit_middle("abcdefghij", 7, true), "ab…ghij");
	is(mt_fit_middle("abcdefghij", 7, false), "ab~ghij");
	is(mt_fit_middle("abcdefghij", 1, true), "…");
	is(mt_fit_middle("abcdefghij", 0, true), "");
	is(mt_fit_middle("日本語日本語", 6, true),
		"…本語"); /* two columns each, a half has no room */
}

static void test_names(void **state)
{
	static const char name[] = "app::Cache<int, char>::put(std::vector<int> const&)";

	(void)state;
	is(mt_fit_name(name, 60, true, false), name);
	is(mt_fit_name(name, 45, true, false), "app::Cache<…>::put(std::vector<…> const&)");
	is(mt_fit_name(name, 40, true, false), "app::Cache<…>::put(…)");
	is(mt_fit_name(name, 20, true, false), "…Cache<…>::put(…)");
	is(mt_fit_name(name, 15, false, false), "~put(~)");
	is(mt_fit_name(name, 6, true, false), "…ut(…)");
	is(mt_fit_name(name, 5, true, false), "p…(…)");
	is(mt_fit_name("a::b::c::operator()(int) const", 20, true, false), "…operator()(…) const");
	is(mt_fit_name(name, 20, true, true), "app::C…<int> const&)");
	is(mt_fit_name("std::vector<int> app::make<int>(int)", 20, true, false),
		"app::make<…>(int)");
}

static void test_sources(void **state)
{
	(void)state;
	is(mt_fit_source("listobject.c:1234", 17, true), "listobject.c:1234");
	is(mt_fit_source("listobject.c:1234", 14, true), "listob….c:1234");
	is(mt_fit_source("listobject.c:1234", 9, true), "l….c:1234");
	is(mt_fit_source("listobject.c:1234", 8, true), "li…:1234");
	is(mt_fit_source("listobject.c:1234", 6, true), "…:1234");
	is(mt_fit_source("listobject.c:1234", 5, true), "");
	is(mt_fit_source("a_file_without_extension:12", 10, true), "a_file…:12");
	is(mt_fit_source("libsomething.so.6", 10, true), "lib…g.so.6");
	is(mt_fit_source("", 10, true), "");
}

/* Whatever is fitted fits, and a line number is whole or not there. */
static void test_widths(void **state)
{
	static const char *const sources[] = {"x.c:1", "d.tcc:123456", "no_line.c", ":7", "é.c:12"};

	(void)state;
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		for (int width = 0; width < 20; width++) {
			char *text = mt_fit_source(sources[i], width, true);
			const char *line = strrchr(sources[i], ':');

			assert_true(mt_text_width(text) <= width);
			assert_true(!*text || !line || strstr(text, line));
			free(text);
			text = mt_fit_name(sources[i], width, true, false);
			assert_true(mt_text_width(text) <= width);
			free(text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_widths),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
