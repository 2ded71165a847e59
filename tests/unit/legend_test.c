/* What the legend of the heap's graph calls a group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

/* The texts of all entries, with ", " between them; one that is named by another says which. */
static void fits(const struct mt_backtrace_frame **frames, int count, int columns,
	const char *wanted)
{
	struct mt_legend_entry entries[8];
	char got[400] = "";
	int used = 0;

	for (int i = 0; i < count; i++)
		entries[i].frame = frames[i];
	mt_legend_fit(entries, count, columns, false);
	for (int i = 0; i < count; i++) {
		size_t at = strlen(got);

		if (entries[i].text)
			snprintf(got + at, sizeof got - at, "%s%s", at ? ", " : "",
				entries[i].text);
		else if (entries[i].same_as != i)
			snprintf(got + at, sizeof got - at, "%s=%d", at ? ", " : "",
				entries[i].same_as);
		if (entries[i].text || entries[entries[i].same_as].text)
			used += MT_LEGEND_GAP;
		if (entries[i].text)
			used += (int)strlen(entries[i].text) + MT_LEGEND_GAP;
		free(entries[i].text);
	}
	assert_string_equal(wanted, got);
	assert_true(used <= columns);
}

/* Names that need little leave their room to the others. */
static void test_shares(void **state)
{
	struct mt_backtrace_frame a = named("keep", 12), b = named("make_everything_ready", 7);
	const struct mt_backtrace_frame *both[] = {&a, &b};

	(void)state;
	fits(both, 2, 80, "keep:12, make_everything_ready:7");
	fits(both, 2, 32, "keep:12, make_everythin~:7");
	fits(both, 0, 32, "");
}

/* The last ones go, before a name has fewer than twelve columns. */
static void test_left_out(void **state)
{
	struct mt_backtrace_frame a = named("allocate_the_first", 1),
				  b = named("allocate_the_second", 2), c = named("third", 3);
	const struct mt_backtrace_frame *all[] = {&a, &b, &c};

	(void)state;
	fits(all, 3, 43, "allocate_~:1, allocate_~:2, third:3");
	fits(all, 3, 42, "allocate_the_f~:1, allocate_the_s~:2");
	fits(all, 3, 31, "allocate_the_first:1");
	fits(all, 3, 15, "");
}

/* Groups in one line, which differ in their callers alone, have one name. */
static void test_same(void **state)
{
	struct mt_backtrace_frame a = named("keep", 12), b = named("other", 12), c = a,
				  d = named("keep", 13);
	const struct mt_backtrace_frame *all[] = {&a, &b, &c, &d};

	(void)state;
	fits(all, 4, 80, "keep:12, other:12, =0, keep:13");
	fits((const struct mt_backtrace_frame *[]){NULL, NULL}, 2, 80, "(no stack), =0");
}

/* What is cut is not what tells two names apart. */
static void test_told_apart(void **state)
{
	struct mt_backtrace_frame a = named("default_tree_context_first", 0),
				  b = named("default_gimple_context_first", 0),
				  c = named("server::session::make", 5),
				  d = named("client::session::make", 5);
	const struct mt_backtrace_frame *heads[] = {&a, &b}, *classes[] = {&c, &d};

	(void)state;
	fits(heads, 2, 34, "~tre~xt_first, ~gim~xt_first");
	fits(classes, 2, 34, "server::se~:5, client::se~:5");
}

/* A function without a name is known by its caller, if its offset would have to be cut. */
static void test_caller(void **state)
{
	struct mt_backtrace_frame unnamed = named("", 0);

	(void)state;
	unnamed.caller = "read_all_settings";
	is(&unnamed, 30, "libexample.so.1+0x1a2b");
	is(&unnamed, 20, "in read_all_settings");
	is(&unnamed, 15, "in rea~settings");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_yet), cmocka_unit_test(test_shares),
		cmocka_unit_test(test_left_out), cmocka_unit_test(test_same),
		cmocka_unit_test(test_told_apart), cmocka_unit_test(test_caller)};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
