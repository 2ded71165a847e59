/* Ways out of hand-made profiles: what no real program leaves reliably. */
#include "tests/unit/query_fixture.h"

#include "core/base/text.h"
#include "core/export/export.h"

#include <stdio.h>
#include <zlib.h>

struct text {
	char *data;
	size_t len;
};

static struct text export(const char *kind, const struct fixture *f, enum mt_metric metric)
{
	struct text text = {0};
	struct mt_report report = {.profile = &f->profile, .symbols = &f->symbols, .sort = metric};
	struct mt_err err = {0};

	report.out = open_memstream(&text.data, &text.len);
	assert_int_equal(mt_export_kind_find(kind)->run(&report, &err), 0);
	assert_int_equal(fclose(report.out), 0);
	return text;
}

static void holds(const char *kind, const struct fixture *f, enum mt_metric metric,
	const char *words)
{
	struct text text = export(kind, f, metric);

	if (!strstr(text.data, words))
		fail_msg("'%s' is not in %s: %.3000s", words, kind, text.data);
	free(text.data);
}

/* Length of what the gzip stream holds; every byte of it is checked by its sum. */
static size_t unpacked(const struct text *text)
{
	static uint8_t room[1 << 20];
	z_stream stream = {
		.next_in = (uint8_t *)text->data,
		.avail_in = (uInt)text->len,
		.next_out = room,
		.avail_out = sizeof room,
	};

	assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	inflateEnd(&stream);
	return sizeof room - stream.avail_out;
}

/* Four groups: without any frame, cut, of an address that nobody could name, and an ordinary
 * one. */
static void make_odd(struct fixture *f)
{
	fixture_init(f);
	uint32_t module = fixture_module(f, "/lib/m.so", 0x1000);
	uint32_t plain = fixture_pc(f, module, "plain", "a.c", 7);
	uint32_t bare = fixture_bare_pc(f, module, 0x1234);
	uint32_t nowhere = fixture_bare_pc(f, MT_NO_MODULE, 0xdead);

	fixture_group(f, STACK(0), 1, 5, 1);
	fixture_group(f, STACK(MT_PC_CUT, plain), 1, 70, 1);
	fixture_group(f, STACK(nowhere, bare), 1, 900, 1);
	fixture_group(f, STACK(plain, plain), 2, 11000, 1);
}

static void test_odd_stacks(void **state)
{
	struct fixture f;

	(void)state;
	make_odd(&f);
	struct text text = export("collapsed", &f, MT_METRIC_LEAKED_SIZE);

	assert_string_equal(text.data,
		"[no stack] 5\nplain;plain 11000\n"
		"?+0xdead;m.so+0x234 900\n[stack cut here];plain 70\n");
	free(text.data);
	holds("flamegraph", &f, MT_METRIC_LEAKED_SIZE, "data-w=\"11975\"");
	holds("flamegraph", &f, MT_METRIC_LEAKED_SIZE, "<title>m.so+0x234\n");
	holds("flamegraph", &f, MT_METRIC_ALLOCATED_COUNT, "data-w=\"5\"");
	holds("speedscope", &f, MT_METRIC_LEAKED_SIZE,
		"\"samples\":[[0],[1,1],[2,3],[4,1]],\"weights\":[5,11000,900,70]");
	holds("dhat", &f, MT_METRIC_LEAKED_SIZE, "\"0x1234: m.so+0x234 (in /lib/m.so)\"");
	holds("dhat", &f, MT_METRIC_LEAKED_SIZE, "\"eb\":5,\"ebk\":1,\"fs\":[1]");
	text = export("pprof", &f, MT_METRIC_LEAKED_SIZE);
	assert_true(unpacked(&text) > 200);
	free(text.data);
	fixture_free(&f);
}

/* A stack as deep as they come: no way out may recurse. */
static void test_deep(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	uint32_t module = fixture_module(&f, "m", 0), node = 0;
	uint32_t even = fixture_pc(&f, module, "even", "a.c", 1);
	uint32_t odd = fixture_pc(&f, module, "odd", "a.c", 2);

	for (size_t i = 0; i < 20000; i++)
		node = mt_profile_add_node(&f.profile, node, i % 2 ? odd : even);
	uint32_t id = mt_profile_add_group(&f.profile,
		mt_profile_add_node(&f.profile, node, MT_FUNCTION_NEW));

	f.profile.groups[id].allocated_count = 3;
	for (int i = 0; mt_export_kind_at(i); i++) {
		if (!strcmp(mt_export_kind_at(i)->name, "heaptrack"))
			continue; /* a history is all that it holds, and here is none */
		struct text text =
			export(mt_export_kind_at(i)->name, &f, MT_METRIC_ALLOCATED_COUNT);

		assert_true(text.len > 20);
		free(text.data);
	}
	holds("collapsed", &f, MT_METRIC_ALLOCATED_COUNT, "even;odd 3\n");
	fixture_free(&f);
}

/* Numbers beyond what 53 bits hold, and none at all. */
static void test_extremes(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	holds("flamegraph", &f, MT_METRIC_LEAKED_SIZE,
		"nothing to show: the sum of leaked_size is 0");
	holds("speedscope", &f, MT_METRIC_LEAKED_SIZE, "\"samples\":[],\"weights\":[]");
	holds("dhat", &f, MT_METRIC_LEAKED_SIZE, "\"pps\":[],\"ftbl\":[\"[root]\"]");
	struct text text = export("pprof", &f, MT_METRIC_LEAKED_SIZE);

	assert_true(unpacked(&text) > 50);
	free(text.data);
	uint32_t module = fixture_module(&f, "m", 0);

	fixture_group(&f, STACK(fixture_pc(&f, module, "a", "a.c", 1)), 1, 1ull << 62, 1);
	fixture_group(&f, STACK(fixture_pc(&f, module, "b", "a.c", 1)), 1, (1ull << 62) - 1, 1);
	holds("collapsed", &f, MT_METRIC_LEAKED_SIZE,
		"a 4611686018427387904\nb 4611686018427387903\n");
	holds("flamegraph", &f, MT_METRIC_LEAKED_SIZE, "data-w=\"9223372036854775807\"");
	fixture_free(&f);
}

static void text_is(enum mt_text_form form, const char *text, const char *expected)
{
	struct text written = {0};
	struct mt_buffer added = {0};
	FILE *out = open_memstream(&written.data, &written.len);

	mt_text_put(out, form, text);
	fclose(out);
	assert_string_equal(written.data, expected);
	mt_text_add(&added, form, text);
	mt_buffer_add(&added, "", 1);
	assert_string_equal((char *)added.data, expected);
	mt_buffer_free(&added);
	free(written.data);
}

static void csv_is(const char *text, const char *expected)
{
	struct text written = {0};
	FILE *out = open_memstream(&written.data, &written.len);

	mt_text_put_csv(out, text);
	fclose(out);
	assert_string_equal(written.data, expected);
	free(written.data);
}

#define FISH "caf\xc3\xa9 \xf0\x9f\x90\x9f"
#define CONTROLS "\x01\t\n\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81"
#define NAMED "\\x01\\t\\n\\x1b[2J\\x7f\\u009b\\u202e\\U000e0001"
/* A byte by itself, a character cut short, a surrogate, a long form, the two that are none. */
#define BROKEN "\xff\xc3(\xed\xa0\x80\xc0\xaf\xef\xbf\xbe|\xef\xbf\xbf"
#define BROKEN_NAMED "\\xff\\xc3(\\xed\\xa0\\x80\\xc0\\xaf\\ufffe|\\uffff"
#define R "\xef\xbf\xbd"

static void test_text(void **state)
{
	(void)state;
	for (enum mt_text_form form = 0; form < MT_TEXT_FORMS; form++) {
		text_is(form, FISH " \xef\xbf\xbd", FISH " \xef\xbf\xbd");
		text_is(form, "", "");
		if (form == MT_TEXT_JSON)
			continue;
		text_is(form, CONTROLS,
			form == MT_TEXT_MARKDOWN
				? "\\x01\\t\\n\\x1b\\[2J\\x7f\\u009b\\u202e\\U000e0001"
				: NAMED);
		text_is(form, BROKEN,
			form == MT_TEXT_MARKDOWN
				? "\\xff\\xc3(\\xed\\xa0\\x80\\xc0\\xaf\\ufffe\\|\\uffff"
				: BROKEN_NAMED);
	}
	text_is(MT_TEXT_JSON, CONTROLS "\"\\",
		"\\u0001\\t\\n\\u001b[2J\\u007f\\u009b\\u202e"
		"\\udb40\\udc01\\\"\\\\");
	text_is(MT_TEXT_JSON, BROKEN, R R "(" R R R R R "\\ufffe|\\uffff");
	text_is(MT_TEXT_XML, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&apos;");
	text_is(MT_TEXT_FOLDED, "a;b c", "a:b c");
	text_is(MT_TEXT_MARKDOWN, "a_b*c", "a\\_b\\*c");
}

/* What a spreadsheet would run is text to it. */
static void test_csv(void **state)
{
	(void)state;
	csv_is("a=b", "a=b");
	csv_is("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0");
	csv_is("+1", "'+1");
	csv_is("-[NSObject alloc]", "'-[NSObject alloc]");
	csv_is("  @a,\"b\"", "\"'  @a,\"\"b\"\"\"");
	csv_is("\xef\xbc\x9d"
	       "1",
		"'\xef\xbc\x9d"
		"1");
	csv_is("\t=1", "\\t=1");
}

/* A pattern matches what it was made from, byte by byte. */
static void test_pieces(void **state)
{
	char *wild = mt_text_wildcards("a\x1b\xe2\x80\xae" FISH "\xff", '?');

	(void)state;
	assert_string_equal(wild, "a????" FISH "?");
	free(wild);
	assert_int_equal(mt_text_cut(FISH, 4), 3);
	assert_int_equal(mt_text_cut(FISH, 5), 5);
	assert_int_equal(mt_text_cut(FISH, 9), 6);
	assert_int_equal(mt_text_cut(FISH, 100), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd_stacks),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
