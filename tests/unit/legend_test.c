/* What the legend of the heap's graph calls a group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <locale.h>
#include <cmocka.h>

#include "tui/view/legend.h"

static void is(const struct mt_backtrace_frame *frame, int room, const char *wanted)
{
	char *got = mt_legend_text(frame, room, false);

	assert_string_equal(wanted, got);
	free(got);
}

static struct mt_backtrace_frame named(const char *function, uint32_t line)
{
	return (struct mt_backtrace_frame){.pc = MT_PC_FIRST,
		.function = function,
		.raw_function = function,
		.source = line ? "/src/a.c" : "",
		.module = "/usr/lib/libexample.so.1",
		.line = line,
		.offset = 0x1a2b};
}

static void test_names(void **state)
{
	struct mt_backtrace_frame plain = named("keep", 12),
				  templates = named("a::b<int, long>::keep(int)", 7);

	(void)state;
	is(&plain, 20, "keep:12");
	is(&templates, 40, "a::b<int, long>::keep(int):7");
	is(&templates, 12, "keep:7");
	is(NULL, 20, "(no stack)");
}

/* The first frames of a program that has just begun. */
static void test_not_yet(void **state)
{
	struct mt_backtrace_frame unnamed = named("", 0);

	(void)state;
	is(&unnamed, 30, "libexample.so.1+0x1a2b");
	unnamed.module = "";
	is(&unnamed, 30, "?+0x1a2b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_yet)};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
