/* Fewer bytes, the same picture. */
#include "tui/terminal/squeeze.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *bytes, const char *wanted)
{
	/* Not ended by a NUL: nothing behind it may be read. */
	size_t len = strlen(bytes);
	char *exact = test_malloc(len ? len : 1);
	struct mt_buffer out = {0};

	memcpy(exact, bytes, len);
	mt_squeeze(&out, exact, len);
	mt_buffer_add(&out, "", 1);
	assert_string_equal(wanted, (const char *)out.data);
	mt_buffer_free(&out);
	test_free(exact);
}

static void test_styles(void **state)
{
	(void)state;
	check("", "");
	check("plain \xe2\x96\xb6 text", "plain \xe2\x96\xb6 text");
	/* two become one */
	check("\033[38;5;252m\033[48;5;24mx\033[39;49m\033(B\033[m",
		"\033[38;5;252;48;5;24mx\033[m");
	check("\033[31mx\033[m", "\033[31mx\033[m");
	/* what holds already */
	check("\033[31mx\033[31my\033[m", "\033[31mxy\033[m");
	/* the ground stays */
	check("\033[31;44mx\033[32;44my\033[m", "\033[31;44mx\033[32my\033[m");
	/* nothing was drawn in it */
	check("\033[31m\033[m", "");
	check("\033[1;31mx\033(B\033[0;31my\033[m", "\033[1;31mx\033[0;31my\033[m");
	check("\033[4mx\033[24my", "\033[4mx\033[my");
	check("\033[1mx\033[22;3my\033[23m", "\033[1mx\033[0;3my\033[m");
	check("\033[31mx\033[39my", "\033[31mx\033[my");
	check("\033[38;2;1;2;3mx\033[m", "\033[38;2;1;2;3mx\033[m");
	check("\033[97;107mx\033[m", "\033[97;107mx\033[m");
}

static void test_moves(void **state)
{
	(void)state;
	/* the cursor takes no notice */
	check("\033[31ma\033[m\033[5;6H\033[31mb\033[m", "\033[31ma\033[5;6Hb\033[m");
	check("\033[31ma\033[m\r\033[31mb\033[m", "\033[31ma\rb\033[m");
	/* what is wiped has a colour */
	check("\033[41ma\033[m\033[K\033[41mb\033[m", "\033[41ma\033[m\033[K\033[41mb\033[m");
	/* and so has a new line */
	check("\033[41ma\033[m\n", "\033[41ma\033[m\n");
	check("\033[41ma\033[m\033[?25h", "\033[41ma\033[m\033[?25h");
}

static void test_unknown(void **state)
{
	(void)state;
	check("\033[38:5:1mx", "\033[38:5:1mx");
	check("\033[31m\033[38;9;1mx\033[m", "\033[31m\033[38;9;1mx\033[m");
	check("\033", "\033");
	check("x\033[", "x\033[");
	check("\033[31", "\033[31");
	check("\033]0;title\a", "\033]0;title\a");
	check("\033(0q", "\033(0q");
	check("\033[99999999999999999999mx", "\033[99999999999999999999mx");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
