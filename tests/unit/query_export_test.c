#include "tests/unit/query_fixture.h"

#include "core/base/text.h"
#include "core/export/json.h"
#include "core/export/number.h"
#include "core/export/report.h"
#include "core/export/table.h"

#include <stdio.h>

static void size_is(uint64_t bytes, const char *expected)
{
	char text[MT_NUMBER_LEN];

	mt_number_size(text, bytes);
	assert_string_equal(expected, text);
}

static void count_is(uint64_t count, const char *expected)
{
	char text[MT_NUMBER_LEN];

	mt_number_count(text, count);
	assert_string_equal(expected, text);
}

static void time_is(uint64_t ns, const char *expected)
{
	char text[MT_NUMBER_LEN];

	mt_number_time(text, ns);
	assert_string_equal(expected, text);
}

static void test_numbers(void **state)
{
	char text[MT_NUMBER_EXACT_LEN];

	(void)state;
	size_is(0, "0B");
	size_is(1023, "1023B");
	size_is(1024, "1.0k");
	size_is(50463211, "48.1M");
	size_is(102400, "100k");
	size_is(102347, "99.9k");
	size_is(1048575, "1.0M");
	size_is(UINT64_MAX, "16.0E");
	count_is(9999, "9999");
	count_is(10000, "10.0k");
	count_is(999949, "1.0M"); /* 999.9k has no decimals: it rounds up */
	count_is(999499, "999k");
	count_is(1234567, "1.2M");
	count_is(UINT64_MAX, "18.4E");
	time_is(0, "0ns");
	time_is(1500, "1.5us");
	time_is(12345678, "12.3ms");
	time_is(1500000000, "1.50s");
	time_is(125000000000, "2m05s");
	time_is(59999000000, "1m00s");
	time_is(11400000000000, "3h10m");
	time_is(187200000000000, "2d04h");
	time_is(UINT64_MAX, "213503d23h");
	mt_number_exact(text, 1234567);
	assert_string_equal("1,234,567", text);
	mt_number_exact(text, 123);
	assert_string_equal("123", text);
	mt_number_seconds(text, 1500000000);
	assert_string_equal("1.5", text);
	mt_number_seconds(text, 7);
	assert_string_equal("0.000000007", text);
	mt_number_seconds(text, 0);
	assert_string_equal("0.0", text);
}

static void plural_is(const char *number, const char *one, const char *expected)
{
	char text[MT_PLURAL_LEN];

	assert_string_equal(expected, mt_plural(text, number, one));
}

static void test_plurals(void **state)
{
	char text[MT_NUMBER_OF_LEN];

	(void)state;
	plural_is("1", "block", "block");
	plural_is("~1", "block", "block");
	plural_is("0", "block", "blocks");
	plural_is("~12", "block", "blocks");
	plural_is("1.0k", "block", "blocks");
	plural_is("2", "match", "matches");
	plural_is("2", "process", "processes");
	assert_string_equal("1 other process", mt_number_of(text, 1, "other process"));
	assert_string_equal("12.0k events", mt_number_of(text, 12000, "event"));
}

static void test_json(void **state)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct mt_json json = {.out = out};

	(void)state;
	mt_json_open(&json, '{');
	mt_json_key(&json, "a\"b");
	mt_json_string(&json, "\\ \n\t\x01\x7f caf\xc3\xa9 \xff\xc3(\xed\xa0\x80");
	mt_json_key(&json, "n");
	mt_json_open(&json, '[');
	mt_json_number(&json, UINT64_MAX);
	mt_json_seconds(&json, 1);
	mt_json_bool(&json, true);
	mt_json_open(&json, '{');
	mt_json_close(&json, '}');
	mt_json_close(&json, ']');
	mt_json_close(&json, '}');
	fclose(out);
	assert_string_equal(
		"{\"a\\\"b\":\"\\\\ \\n\\t\\u0001\\u007f caf\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd("
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\","
		"\"n\":[18446744073709551615,0.000000001,true,{}]}",
		text);
	free(text);
}

static void test_table(void **state)
{
	static const char *const headings[] = {"N", "NAME"};
	static const bool numbers[] = {true, false};
	struct mt_table *table = mt_table_new(headings, numbers, 2);
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	mt_table_cell(table, "1");
	mt_table_cell(table, "\xc3\xa9\x1b[2J");
	mt_table_cell(table, "234");
	mt_table_cell(table, "b");
	mt_table_print(table, out);
	mt_table_free(table);
	mt_csv_field(out, true, "a,\"b\"");
	mt_csv_field(out, false, "c");
	fclose(out);
	assert_string_equal("  N  NAME\n  1  \xc3\xa9\\x1b[2J\n234  b\n\"a,\"\"b\"\"\",c", text);
	free(text);
}

/* A stack as deep as they come: no report may recurse. */
static void test_deep(void **state)
{
	struct fixture f;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct mt_err err = {0};

	(void)state;
	fixture_init(&f);
	uint32_t module = fixture_module(&f, "m", 0);
	uint32_t even = fixture_pc(&f, module, "even", "a.c", 1);
	uint32_t odd = fixture_pc(&f, module, "odd", "a.c", 2);
	uint32_t node = 0;

	for (size_t i = 0; i < 20000; i++)
		node = mt_profile_add_node(&f.profile, node, i % 2 ? odd : even);
	uint32_t id = mt_profile_add_group(&f.profile,
		mt_profile_add_node(&f.profile, node, MT_FUNCTION_NEW));

	f.profile.groups[id].allocated_count = 1;
	struct mt_report report = {
		.out = out,
		.format = MT_FORMAT_JSON,
		.profile = &f.profile,
		.symbols = &f.symbols,
		.sort = MT_METRIC_SIZE,
	};

	assert_int_equal(0, mt_report_tree(&report, &err));
	report.inverted = true;
	report.format = MT_FORMAT_TEXT;
	report.levels = 3;
	assert_int_equal(0, mt_report_tree(&report, &err));
	fclose(out);
	assert_non_null(strstr(text, "      odd"));
	free(text);
	fixture_free(&f);
}

static char *report_text(int (*report)(const struct mt_report *, struct mt_err *),
	const struct fixture *f, enum mt_format format, bool inverted)
{
	struct mt_report r = {
		.format = format,
		.profile = &f->profile,
		.symbols = &f->symbols,
		.sort = MT_METRIC_LEAKED_COUNT,
		.inverted = inverted,
	};
	struct mt_err err = {0};
	char *text;
	size_t len;

	r.out = open_memstream(&text, &len);
	assert_int_equal(report(&r, &err), 0);
	fclose(r.out);
	return text;
}

static void holds(char *text, const char *words, bool expected)
{
	if (!strstr(text, words) == expected)
		fail_msg("'%s' is %s in: %s", words, expected ? "missing" : "there", text);
	free(text);
}

/* Three groups: with blocks from before frees were lost, with none of them left, and with later
 * ones alone. */
static void test_estimates(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	f.profile.info.ended = 1;
	uint32_t module = fixture_module(&f, "m", 0);
	uint32_t from = fixture_pc(&f, module, "from", "a.c", 1);
	uint32_t old = fixture_pc(&f, module, "old", "a.c", 2);
	uint32_t gone = fixture_pc(&f, module, "gone", "a.c", 3);
	uint32_t late = fixture_pc(&f, module, "late", "a.c", 4);
	uint32_t fine = fixture_pc(&f, module, "fine", "a.c", 5);

	fixture_group(&f, STACK(from, old), 20, 10, 11);
	fixture_group(&f, STACK(from, gone), 20, 10, 0);
	uint32_t id = fixture_group(&f, STACK(fine, late), 20, 10, 13);

	holds(report_text(mt_report_groups, &f, MT_FORMAT_TEXT, false), "~", false);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "estimates", false);
	f.profile.info.lossy_ns = f.profile.groups[id].first_ns - 1;
	holds(report_text(mt_report_groups, &f, MT_FORMAT_TEXT, false), "~11 ", true);
	holds(report_text(mt_report_groups, &f, MT_FORMAT_TEXT, false), "~110B", true);
	holds(report_text(mt_report_groups, &f, MT_FORMAT_TEXT, false), "~13", false);
	holds(report_text(mt_report_groups, &f, MT_FORMAT_TEXT, false), "~0", false);
	holds(report_text(mt_report_groups, &f, MT_FORMAT_TEXT, false), "~20", false);
	for (int inverted = 0; inverted < 2; inverted++) {
		/* all */
		holds(report_text(mt_report_tree, &f, MT_FORMAT_TEXT, inverted), "~24", true);
		holds(report_text(mt_report_tree, &f, MT_FORMAT_TEXT, inverted), "~11", true);
		holds(report_text(mt_report_tree, &f, MT_FORMAT_TEXT, inverted), "~13", false);
		holds(report_text(mt_report_tree, &f, MT_FORMAT_TEXT, inverted), "~0", false);
	}
	holds(report_text(mt_report_groups, &f, MT_FORMAT_JSON, false), "\"estimated\":true", true);
	holds(report_text(mt_report_summary, &f, MT_FORMAT_TEXT, false),
		"leaks of 1 group are estimates (~)", true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_JSON, false), "\"estimated_groups\":1",
		true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "\nleaked blocks     ~",
		true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "\nleaked            ~",
		true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "\npeak              ~",
		false);
	fixture_free(&f);
}

/* Events of several threads at one time are no loss. */
static void test_equal_times(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	f.profile.info.ended = 1;
	f.profile.info.ambiguous = 52;
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false),
		"losses\n  nothing was lost\n52 events tie with another thread's; order unknown\n",
		true);
	f.profile.info.lost_events = 3;
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "nothing was lost", false);
	fixture_free(&f);
}

/* Maps that were lost, or unmaps that nobody saw, make estimates of the totals of maps, and of
 * nothing else. */
static void test_lost_marks(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	f.profile.info.ended = 1;
	f.profile.info.mapped_anonymous_bytes = f.profile.info.mapped_peak_bytes = 8192;
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "\nmapped, anonymous 8.0k",
		true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_JSON, false), "\"mapped_estimated\":false",
		true);
	f.profile.info.counters[MT_COUNTER_LOST_MARKS] = 3;
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "\nmapped, anonymous ~8.0k",
		true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "\nmapped at most    ~8.0k",
		true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false),
		"the sizes of mappings are estimates (~)", true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "leaked            ~", false);
	holds(report_text(mt_report_info, &f, MT_FORMAT_JSON, false), "\"mapped_estimated\":true",
		true);
	f.profile.info.counters[MT_COUNTER_LOST_MARKS] = 0;
	f.profile.info.implied_unmaps = 1;
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "\nmapped, anonymous ~8.0k",
		true);
	holds(report_text(mt_report_info, &f, MT_FORMAT_TEXT, false), "leaked            ~", false);
	fixture_free(&f);
}

static char *terminal_text(int (*report)(const struct mt_report *, struct mt_err *),
	const struct fixture *f, uint32_t width)
{
	struct mt_report r = {
		.format = MT_FORMAT_TEXT,
		.profile = &f->profile,
		.symbols = &f->symbols,
		.sort = MT_METRIC_LEAKED_SIZE,
		.short_names = width > 0,
		.width = width,
		.min_percent = 0.5,
		.path = "t.dat",
	};
	struct mt_err err = {0};
	char *text;
	size_t len;

	r.out = open_memstream(&text, &len);
	assert_int_equal(report(&r, &err), 0);
	fclose(r.out);
	return text;
}

#define LONG_CLASS "Registry<std::map<std::string, int>, std::less<std::string> >"
#define LONG_NAME LONG_CLASS "::insert(std::string const&, std::vector<int> const&)"

/* main calls a function with a long name, through it a deep chain, and in the end the library. */
static void long_names(struct fixture *f, uint64_t kept)
{
	uint32_t stack[33] = {0}, module;

	fixture_init(f);
	f->profile.info.ended = 1;
	f->profile.info.peak_bytes = 400;
	module = fixture_module(f, "/bin/m", 0);
	stack[0] = fixture_pc(f, module, "main", "a/very/long/directory/of/the/source/a.c", 1);
	for (int i = 1; i < 31; i++)
		stack[i] = fixture_pc(f, module, LONG_NAME,
			"a/very/long/directory/of/the/source/b.cc", 1234);
	stack[31] = fixture_pc(f, module, "std::string::_M_create(unsigned long)", "", 0);
	fixture_group(f, stack, 4, 100, kept);
}

/* On a terminal no line is wider than it, and numbers of lines are whole. */
static void test_terminal(void **state)
{
	static int (*const reports[])(const struct mt_report *,
		struct mt_err *) = {mt_report_groups, mt_report_tree, mt_report_summary};
	struct fixture f;

	(void)state;
	long_names(&f, 2);
	for (int i = 0; i < 3; i++) {
		char *text = terminal_text(reports[i], &f, 80);

		for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			if (mt_text_columns(line) > 80)
				fail_msg("wider than 80 columns: %s", line);
			*end = '\n';
		}
		holds(text, i ? "b.cc:1234\n" : "Registry<\xe2\x80\xa6>::insert(\xe2\x80\xa6) <",
			true);
		holds(terminal_text(reports[i], &f, 0), LONG_NAME, true);
	}
	fixture_free(&f);
}

/* What leads to malloc is part of the function of the program's own that begins it. */
static void test_tree_ends(void **state)
{
	struct fixture f;

	(void)state;
	long_names(&f, 2);
	holds(terminal_text(mt_report_tree, &f, 0), "_M_create", false);
	holds(terminal_text(mt_report_tree, &f, 80), "200B        200B  100.0%", true);
	holds(report_text(mt_report_tree, &f, MT_FORMAT_TEXT, false), "_M_create", true);
	holds(report_text(mt_report_tree, &f, MT_FORMAT_JSON, false), "_M_create", true);
	fixture_free(&f);
}

/* A program that frees all at its end has no largest leaks, and had a peak. */
static void test_nothing_leaked(void **state)
{
	struct fixture f;

	(void)state;
	long_names(&f, 0);
	holds(terminal_text(mt_report_summary, &f, 0), "0 of 1 group by leaked_size", true);
	holds(terminal_text(mt_report_summary, &f, 0),
		"\n  memtui report --sort at_peak_size t.dat  shows", true);
	fixture_free(&f);
	long_names(&f, 1);
	holds(terminal_text(mt_report_summary, &f, 0), "next steps", false);
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_plurals),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_estimates),
		cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_lost_marks),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_tree_ends),
		cmocka_unit_test(test_nothing_leaked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
