/* What sources of events promise, and what reports make of it. */
#include "tests/unit/query_fixture.h"

#include "core/capture/merge.h"
#include "core/export/check.h"
#include "core/model/load.h"

#include <stdio.h>

static void lacks_are(unsigned lacks, const char *expected)
{
	struct mt_buffer text = {0};

	mt_source_lacks_text(&text, &(struct mt_source_facts){.lacks = lacks});
	mt_buffer_add(&text, "", 1);
	assert_string_equal(expected, (char *)text.data);
	mt_buffer_free(&text);
}

static void test_lacks(void **state)
{
	(void)state;
	lacks_are(0, "");
	lacks_are(MT_SOURCE_LACKS_TIMES, "times");
	lacks_are(MT_SOURCE_LACKS_STACKS | MT_SOURCE_LACKS_TIMES, "stacks and times");
	lacks_are(MT_SOURCE_LACKS_THREADS | MT_SOURCE_LACKS_ADDRESSES | MT_SOURCE_LACKS_REALLOCS,
		"threads, addresses and reallocs");
}

/* A report on a program without leaks; ask returns its status. */
static char *said(int (*ask)(const struct mt_report *, struct mt_err *), int status,
	const struct mt_source_facts *source)
{
	struct fixture f;
	struct mt_check check = {0};
	struct mt_report report = {.check = &check, .facts.source = source};
	struct mt_err err = {0};
	char *text;
	size_t len;

	fixture_init(&f);
	f.profile.info.ended = 1;
	uint32_t pc = fixture_pc(&f, fixture_module(&f, "m", 0), "main", "a.c", 1);

	fixture_group(&f, STACK(pc), 10, 1, 0);
	f.profile.info.allocations = f.profile.info.frees = 1;
	report.profile = &f.profile;
	report.symbols = &f.symbols;
	report.out = open_memstream(&text, &len);
	assert_int_equal(ask(&report, &err), status);
	fclose(report.out);
	fixture_free(&f);
	return text;
}

/* Only a source that counts what it loses can say that it lost nothing, and pass a check. */
static void test_loss(void **state)
{
	static const struct mt_source_facts untold = {.loss = MT_SOURCE_LOSS_UNTOLD};
	const struct {
		const struct mt_source_facts *source;
		const char *info, *check;
		int status;
	} cases[] = {
		{NULL, "nothing was lost", "PASS", 0},
		{&mt_trace_facts, "nothing was lost", "PASS", 0},
		{&mt_segment_facts, "nothing was lost", "PASS", 0},
		{&untold, "does not say whether events were lost", "UNKNOWN", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *info = said(mt_report_info, 0, cases[i].source);
		char *check = said(mt_report_check, cases[i].status, cases[i].source);

		if (!strstr(info, cases[i].info))
			fail_msg("info %zu: no '%s' in: %s", i, cases[i].info, info);
		if (!strstr(check, cases[i].check))
			fail_msg("check %zu: no '%s' in: %s", i, cases[i].check, check);
		free(info);
		free(check);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lacks),
		cmocka_unit_test(test_loss),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
