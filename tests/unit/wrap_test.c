/* Lines that are wider than a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/wrap.h"

static void line_is(const char *line, uint32_t columns, uint32_t indent, const char *wanted)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	mt_wrap_line(out, line, columns, indent);
	fclose(out);
	assert_string_equal(wanted, text);
	free(text);
}

static void test_line(void **state)
{
	(void)state;
	line_is("as it is", 0, 2, "as it is\n");
	line_is("", 10, 2, "\n");
	line_is("0123456789", 10, 2, "0123456789\n");
	line_is("one two three", 10, 2, "one two\n  three\n");
	line_is("one two t", 7, 2, "one two\n  t\n");
	line_is("  one two three four", 12, 4, "  one two\n    three\n    four\n");
	line_is("gaps   go  where lines end", 10, 0, "gaps   go\nwhere\nlines end\n");
	line_is("a_word_of_more_columns x", 10, 2, "a_word_of_more_columns\n  x\n");
	line_is("x a_word_of_more_columns", 10, 2, "x\n  a_word_of_more_columns\n");
	line_is("blanks at the end     ", 18, 2, "blanks at the end     \n");
	line_is("\xe2\x80\xa6\xe2\x80\xa6\xe2\x80\xa6 \xe2\x80\xa6\xe2\x80\xa6 x", 6, 0,
		"\xe2\x80\xa6\xe2\x80\xa6\xe2\x80\xa6 \xe2\x80\xa6\xe2\x80\xa6\nx\n");
	line_is("an indent of too much room", 8, 40,
		"an\n    indent\n    of\n    too\n    much\n    room\n");
}

static void test_stream(void **state)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len), *lines = mt_wrap_open(out, 24);

	(void)state;
	fputs("peak       12.5M at 71.6 ms of it\n  a sentence of ", lines);
	fflush(lines);
	fputs("several words\n\nshort\n", lines);
	fputs("words and a gap that is  far to the right\nno newline", lines);
	fclose(lines);
	fclose(out);
	assert_string_equal("peak       12.5M at 71.6\n           ms of it\n"
			    "  a sentence of several\n    words\n\nshort\n"
			    "words and a gap that is\n  far to the right\nno newline",
		text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_line),
		cmocka_unit_test(test_stream)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
