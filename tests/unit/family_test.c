#include "core/base/buffer.h"
#include "core/session/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_names(void **state)
{
	static const struct {
		const char *name, *of;
		uint32_t pid;
		bool so;
	} cases[] = {
		{"t.dat.12", "t.dat", 7, true},
		{"t.dat.12.1", "t.dat", 7, true},
		{"t.dat.exec0", "t.dat", 7, true},
		{"t.dat.12.exec3", "t.dat", 7, true},
		{"t.dat.json", "t.dat", 7, false},
		{"u.dat.12", "t.dat", 7, false},
		{"t.dat", "t.dat.12", 12, true},
		{"t.dat.13", "t.dat.12", 12, true},
		{"t.dat", "t.dat.12.1.exec0", 12, true},
		{"t.dat.12", "t.dat.exec1", 7, true},
		{"t.data", "t.dat.12", 12, false},
		{"m_ls_1_13.dat", "m_sh_1_12.dat", 12, true},
		{"m_ls_1_13.dat.exec0", "m_sh_1_12.dat", 12, true},
		{"m_ls_1_13.json", "m_sh_1_12.dat", 12, false},
		{"m_ls_1_.dat", "m_sh_1_12.dat", 12, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (mt_family_is_named_so(cases[i].name, cases[i].of, cases[i].pid) != cases[i].so)
			fail_msg("%s of %s", cases[i].name, cases[i].of);
}

/* Listed in any order: parents come first, then their children by their start; a number that came
 * again makes no circle. */
static void test_tree(void **state)
{
	static const struct mt_session_process listed[] = {
		{.pid = 30, .parent = 20, .start_unix_ns = 3},
		{.pid = 10, .start_unix_ns = 1},
		{.pid = 40, .parent = 10, .start_unix_ns = 5},
		{.pid = 20, .parent = 10, .start_unix_ns = 2},
		{.pid = 20, .parent = 10, .start_unix_ns = 4},
		{.pid = 50, .parent = 51, .start_unix_ns = 6},
		{.pid = 51, .parent = 50, .start_unix_ns = 7},
		{.pid = 60, .parent = 999, .start_unix_ns = 8},
	};
	static const struct {
		pid_t pid;
		uint32_t depth;
	} wanted[] = {{10, 0}, {20, 1}, {20, 1}, {30, 2}, {40, 1}, {60, 0}, {50, 0}, {51, 1}};
	const uint32_t count = sizeof listed / sizeof *listed;
	struct mt_session_process *items = mt_resize(NULL, sizeof listed);
	struct mt_family f = {0};

	(void)state;
	memcpy(items, listed, sizeof listed);
	mt_family_make(&f, items, count);
	assert_int_equal(f.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(f.items[i].pid, wanted[i].pid);
		assert_int_equal(f.depths[i], wanted[i].depth);
	}
	mt_family_free(&f);
	mt_family_make(&f, NULL, 0);
	assert_int_equal(f.count, 0);
	mt_family_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
		cmocka_unit_test(test_tree)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
