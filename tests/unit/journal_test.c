#include "tests/unit/query_fixture.h"

#include "core/export/journal.h"
#include "core/export/losses.h"
#include "core/model/blind.h"

static void add_log(struct fixture *f, enum mt_log_type type, uint64_t time_ns, const char *text,
	uint64_t a, uint64_t b, uint64_t c)
{
	struct mt_log_entry e = {
		.time_ns = time_ns,
		.type = type,
		.thread = MT_NO_THREAD,
		.text = mt_strings_add(&f->profile.strings, text),
		.values = {a, b, c},
	};

	mt_profile_add_log(&f->profile, &e);
}

static void expect(const struct mt_journal *j, uint32_t i, const struct fixture *f,
	enum mt_journal_kind kind, uint64_t time_ns, const char *words)
{
	char text[256];

	assert_true(i < j->count);
	assert_string_equal(mt_journal_tag((enum mt_journal_kind)j->lines[i].kind),
		mt_journal_tag(kind));
	assert_int_equal(j->lines[i].time_ns, time_ns);
	mt_journal_text(text, sizeof text, &j->lines[i], &f->profile, &f->symbols, "a bad block");
	if (!strstr(text, words))
		fail_msg("'%s' lacks '%s'", text, words);
}

/* Modules stand where they were first seen, maps are left out, sums and the end stand last. */
static void test_order(void **state)
{
	struct mt_journal j = {0};
	struct fixture f;

	(void)state;
	fixture_init(&f);
	uint32_t prog = fixture_module(&f, "/usr/bin/prog", 0);
	uint32_t late = fixture_module(&f, "/usr/lib/late.so", 0);
	uint32_t main_pc = fixture_pc(&f, prog, "main", "main.c", 3);
	uint32_t call = fixture_pc(&f, late, "call", "", 0);

	fixture_module(&f, "/usr/lib/unused.so", 0);
	uint32_t early = fixture_group(&f, STACK(main_pc), 1, 8, 1);
	uint32_t later = fixture_group(&f, STACK(main_pc, call), 1, 8, 1);

	f.profile.groups[early].first_ns = 5;
	f.profile.groups[later].first_ns = 50;
	f.profile.info.pid = 17;
	add_log(&f, MT_LOG_MAP, 10, "", 0x1000, 0x1000, 0);
	add_log(&f, MT_LOG_MARKER, 20, "half way", 0, 0, 0);
	add_log(&f, MT_LOG_PAUSE, 60, "", 0, 0, 0);
	add_log(&f, MT_LOG_GAP, 70, "", 65, 1200, 34);
	f.profile.info.lost_events = 1234;
	f.profile.info.ambiguous = 52;
	f.profile.info.counters[MT_COUNTER_THREADS_FULL] = 2;
	f.profile.info.wall_ns = 100;
	f.profile.info.ended = 1;
	f.profile.info.exit_status = 9;
	mt_journal_make(&j, &f.profile, NULL);
	assert_int_equal(j.count, 11);
	expect(&j, 0, &f, MT_JOURNAL_BEGIN, 0, "process 17");
	expect(&j, 1, &f, MT_JOURNAL_MODULE, 0, "in no stack /usr/lib/unused.so");
	assert_int_equal(j.lines[1].time, MT_JOURNAL_UNSEEN);
	expect(&j, 2, &f, MT_JOURNAL_MODULE, 5, "with lines  /usr/bin/prog");
	expect(&j, 3, &f, MT_JOURNAL_MARKER, 20, "half way");
	expect(&j, 4, &f, MT_JOURNAL_MODULE, 50, "no lines    /usr/lib/late.so");
	assert_int_equal(j.lines[4].time, MT_JOURNAL_BY_THEN);
	expect(&j, 5, &f, MT_JOURNAL_PAUSE, 60, "recording paused");
	expect(&j, 6, &f, MT_JOURNAL_GAP, 70, "1200 allocations and 34 frees were lost since 65ns");
	expect(&j, 7, &f, MT_JOURNAL_LOSS, 100, "1,234 allocations and frees known to be missing");
	assert_int_equal(j.lines[7].time, MT_JOURNAL_SO_FAR);
	expect(&j, 8, &f, MT_JOURNAL_NOTE, 100, "52 events tie with another thread's");
	expect(&j, 9, &f, MT_JOURNAL_LOSS, 100, "2 threads without a ring");
	expect(&j, 10, &f, MT_JOURNAL_END, 100, "killed by signal 9, SIGKILL");
	f.profile.info.stopped = 1;
	expect(&j, 10, &f, MT_JOURNAL_END, 100, "was stopped before the program ended");
	mt_journal_free(&j);
	fixture_free(&f);
}

static void test_warnings(void **state)
{
	struct mt_journal j = {0};
	struct fixture f;

	(void)state;
	fixture_init(&f);
	f.profile.info.recorder_lost = 1;
	f.profile.info.history_from_ns = 3000000000u;
	add_log(&f, MT_LOG_LIMIT, 1, "the trace exceeds --max-size", 0, 0, 0);
	add_log(&f, MT_LOG_CALL, 2, "", (uint64_t)-8, 2, 1);
	mt_journal_make(&j, &f.profile, "a bad block");
	assert_int_equal(j.count, 7);
	expect(&j, 1, &f, MT_JOURNAL_LIMIT, 1, "exceeds --max-size");
	expect(&j, 2, &f, MT_JOURNAL_CALL, 2, "mallopt(M_ARENA_MAX, 2) returned 1");
	expect(&j, 3, &f, MT_JOURNAL_LOSS, 0, "nothing");
	expect(&j, 4, &f, MT_JOURNAL_WARNING, 0, "available from 3.00s on");
	expect(&j, 5, &f, MT_JOURNAL_WARNING, 0, "a bad block");
	expect(&j, 6, &f, MT_JOURNAL_WARNING, 0, "is incomplete");
	mt_journal_free(&j);
	fixture_free(&f);
}

/* Of one and of more, in words that agree with the number. */
/* The tag says that it was not seen, so the text does not begin with it again; one line each. */
static void test_blind(void **state)
{
	struct mt_journal j = {0};
	struct fixture f;
	uint32_t lines = 0;
	char text[256];

	(void)state;
	fixture_init(&f);
	mt_blind_add(&f.profile, MT_BLIND_STATIC, 23, "/usr/bin/tool", 1, 0);
	mt_journal_make(&j, &f.profile, NULL);
	for (uint32_t i = 0; i < j.count; i++) {
		if (j.lines[i].kind != MT_JOURNAL_BLIND)
			continue;
		lines++;
		assert_string_equal(mt_journal_tag(MT_JOURNAL_BLIND), "unseen");
		mt_journal_text(text, sizeof text, &j.lines[i], &f.profile, &f.symbols, NULL);
		assert_int_equal(strncmp(text, "/usr/bin/tool is statically linked", 34), 0);
	}
	assert_int_equal(lines, 1);
	mt_journal_free(&j);
	fixture_free(&f);
}

static void test_losses(void **state)
{
	static const struct {
		uint32_t counter;
		const char *one, *two;
	} counters[] = {
		{MT_COUNTER_SEALED, "1 system-call filter set", "2 system-call filters set"},
		{MT_COUNTER_LOST_MARKS, "1 mapping, call or marker not",
			"2 mappings, calls and markers not"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		for (uint64_t count = 1; count <= 2; count++) {
			struct mt_journal j = {0};
			struct fixture f;

			fixture_init(&f);
			f.profile.info.counters[counters[i].counter] = count;
			f.profile.info.unknown_frees = count;
			mt_journal_make(&j, &f.profile, NULL);
			assert_int_equal(j.count, 3);
			expect(&j, 1, &f, MT_JOURNAL_LOSS, 0,
				count == 1 ? "1 free of an unknown address"
					   : "2 frees of unknown addresses");
			expect(&j, 2, &f, MT_JOURNAL_LOSS, 0,
				count == 1 ? counters[i].one : counters[i].two);
			mt_journal_free(&j);
			fixture_free(&f);
		}
}

/* Whoever reads them sees no mark of the list's, and nothing is cut. */
static void test_loss_words(void **state)
{
	struct mt_info info;
	char text[MT_LOSS_LEN];

	(void)state;
	memset(&info, 0x7f, sizeof info);
	for (int one = 0; one < 2; one++) {
		if (one) {
			memset(&info, 0, sizeof info);
			for (size_t i = 0; i < sizeof info / sizeof(uint64_t); i++)
				((uint64_t *)&info)[i] = 1;
		}
		for (uint32_t i = 0; i < mt_loss_count(); i++) {
			mt_loss_text(text, i, &info);
			assert_true(!one == (*text == '9'));
			assert_null(strpbrk(text, "[|]"));
			assert_true(strlen(text) + 1 < sizeof text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order),
		cmocka_unit_test(test_warnings), cmocka_unit_test(test_blind),
		cmocka_unit_test(test_losses), cmocka_unit_test(test_loss_words)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
