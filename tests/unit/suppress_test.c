/* Suppressions: both syntaxes, their wildcards, hostile texts, verdicts, and rules made from
 * groups. */
#include "tests/unit/query_fixture.h"

#include "core/query/suppress.h"

#include <stdio.h>

static int parse(struct mt_suppressions *s, const char *text, struct mt_err *err)
{
	*err = (struct mt_err){0};
	return mt_suppressions_parse(s, text, strlen(text), "file", err);
}

/* ---- patterns ---- */

static void test_lsan_patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{"foo", "foo", true},
		{"foo", "a_foo_b", true},
		{"foo", "fo", false},
		{"Foo", "foo", false},
		{"^foo", "foobar", true},
		{"^foo", "a_foo", false},
		{"foo$", "a_foo", true},
		{"foo$", "foobar", false},
		{"^foo$", "foo", true},
		{"^foo$", "foofoo", false},
		{"f*o", "f123o", true},
		{"f*o", "fo", true},
		{"^f*o$", "f12o", true},
		{"a*b*c", "xaybzc", true},
		{"a*b*c", "acb", false},
		{"*", "x", true},
		{"*foo", "a_foo", true},
		{"^*foo", "a_foo", true},
		{"foo*$", "foobar", true},
		{"foo*", "foo", true},
		/* nothing matches the empty text, not even '*' */
		{"*", "", false},
		{"foo", "", false},
		{"^$", "", false},
		/* the first place is taken, without a second try: as LeakSanitizer does */
		{"foo$", "foofoo", false},
		{"*foo$", "foofoo", false},
		{"a?c", "abc", false},
		{"a?c", "a?c", true},
		{"a.c", "abc", false},
		/* nothing behind '$' counts */
		{"^", "x", true},
		{"$", "x", false},
		{"x$y", "x", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (mt_suppress_match_lsan(cases[i].pattern, cases[i].text) != cases[i].matches)
			fail_msg("'%s' on '%s' is not %d", cases[i].pattern, cases[i].text,
				cases[i].matches);
}

static void test_glob_patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{"foo", "foo", true},
		{"foo", "foobar", false},
		{"foo", "a_foo", false},
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "abc", true},
		{"f*", "foo", true},
		{"*o", "foo", true},
		{"f*o", "fxoyo", true},
		{"f?o", "fxo", true},
		{"f?o", "fo", false},
		{"???", "???", true},
		{"???", "ab", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"a**b", "ab", true},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\?", "a?", true},
		{"a\\?", "ab", false},
		{"a\\", "a\\", true},
		{"^foo$", "foo", false},
		{"*x", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaay", false},
		{"*a*a*a*a*a*a*a*a*a*a*b",
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (mt_suppress_match_glob(cases[i].pattern, cases[i].text) != cases[i].matches)
			fail_msg("'%s' on '%s' is not %d", cases[i].pattern, cases[i].text,
				cases[i].matches);
}

/* ---- files ---- */

static void test_files(void **state)
{
	struct mt_suppressions *s = mt_suppressions_new();
	struct mt_err err;

	(void)state;
	assert_int_equal(parse(s, "", &err), 0);
	assert_int_equal(parse(s, "# nothing\n\n   \n", &err), 0);
	assert_int_equal(mt_suppressions_count(s), 0);
	assert_int_equal(parse(s, "# two\r\n  leak:a b \t\r\n\nleak:^c", &err), 0);
	assert_int_equal(mt_suppressions_count(s), 2);
	assert_string_equal(mt_suppressions_at(s, 0)->text, "leak:a b");
	assert_int_equal(mt_suppressions_at(s, 0)->line, 2);
	assert_int_equal(mt_suppressions_at(s, 1)->line, 4);
	/* what is of other tools and of other kinds is left out */
	assert_int_equal(
		parse(s,
			"# valgrind's\n{\n name one\n Memcheck:Leak\n match-leak-kinds: definite,"
			"possible\n fun:malloc\n ...\n obj:*/lib*\n}\n"
			"{\n two\n Memcheck:Param\n write(buf)\n fun:x\n}\n{\n three\n "
			"Helgrind:Race\n fun:y\n}\n"
			"{\n four\n Addrcheck,Memcheck:Leak\n # inside\n\n src:a.c:12\n}\n{\nfive\n"
			"Memcheck:Leak\nfun:*\n}",
			&err),
		0);
	assert_int_equal(mt_suppressions_count(s), 5);
	assert_string_equal(mt_suppressions_at(s, 2)->text, "name one");
	assert_string_equal(mt_suppressions_at(s, 3)->text, "four");
	assert_int_equal(mt_suppressions_at(s, 3)->line, 22);
	mt_suppressions_free(s);
}

static void test_bad_files(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"  nonsense\n", "file:1:3:"},
		{"leak:\n", "file:1:6:"},
		{"leak", "'leak:'"},
		{"{\n", "file:2:1: the file ends"},
		{"{\n}\n", "a name for the rule"},
		{"{\nname\n", "'Memcheck:Leak'"},
		{"{\nname\nMemcheck\n", "file:3:1:"},
		{"{\nname\nMemcheck:Leak\n}\n", "file:4:1:"},
		{"{\nname\nMemcheck:Leak\n...\n}\n", "alone matches everything"},
		{"{\nname\nMemcheck:Leak\nfun:a\n", "the file ends"},
		{"{\nname\nMemcheck:Leak\nfunc:a\n}\n", "file:4:1: invalid rule 'func:a'"},
		{"{\nname\nMemcheck:Leak\n{\n", "file:4:1:"},
		{"{\nname\nMemcheck:Leak\n match-leak-kinds: definite,sure\nfun:a\n}\n",
			"file:4:29:"},
		{"{\nname\nMemcheck:Leak\nmatch-leak-kinds:\nfun:a\n}\n", "definite, possible"},
		{"{\nname\nHelgrind:Race\nfun:a\n", "the file ends"},
	};
	struct mt_suppressions *s = mt_suppressions_new();
	struct mt_err err;

	(void)state;
	assert_int_equal(parse(s, "leak:before", &err), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(parse(s, cases[i].text, &err) < 0);
		if (!strstr(err.text, cases[i].says) || !strstr(err.text, "expected"))
			fail_msg("'%s' says %s", cases[i].text, err.text);
		assert_int_equal(mt_suppressions_count(s), 1); /* nothing of it stays */
		assert_int_equal(mt_suppressions_fault_count(s), 0);
	}
	assert_true(mt_suppressions_parse(s, "leak:a\0b\n", 9, "file", &err) < 0);
	assert_non_null(strstr(err.text, "file:1:7:"));
	assert_true(mt_suppressions_read(s, "/nowhere/at/all", &err) < 0);
	assert_true(mt_suppressions_read(s, "/", &err) < 0);
	assert_int_equal(mt_suppressions_count(s), 1);
	mt_suppressions_free(s);
}

/* What is no rule is skipped, as heaptrack does: the others hold. */
static void test_skipped_lines(void **state)
{
	static const struct {
		const char *text, *rules, *faults[4];
	} cases[] = {
		{"leak:a\nrace:b\nleak:c", "leak:a leak:c", {"file:2:1: invalid rule 'race:b'"}},
		{"leak:a\n{\n", "leak:a", {"file:3:1: the file ends"}},
		{"nonsense\nleak:\nleak:a\n}\n", "leak:a", {"file:1:1:", "file:2:6:", "file:4:1:"}},
		{"{\none\nMemcheck:Leak\nfun:a\n}\nleak:b\n", "one leak:b", {NULL}},
		/* of a block with a fault nothing is left; the next one is whole */
		{"{\none\nMemcheck:Leak\nfunc:a\nfun:b\n}\n{\ntwo\nMemcheck:Leak\nfun:c\n}\n",
			"two", {"file:4:1: invalid rule 'func:a'"}},
		{"{\none\nMemcheck:Leak\nfun:a\n{\ntwo\nMemcheck:Leak\nfun:c\n}\n", "two",
			{"file:5:1: invalid rule '{'"}},
		{"leak:a\n{\none\nMemcheck:Leak\n}\nleak:b\n", "leak:a leak:b",
			{"file:5:1: invalid rule '}'"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mt_suppressions *s = mt_suppressions_new();
		struct mt_err err = {0};
		char rules[100] = "";
		uint32_t faults = 0;

		assert_int_equal(parse(s, cases[i].text, &err), 0);
		for (uint32_t k = 0; k < mt_suppressions_count(s); k++)
			snprintf(rules + strlen(rules), sizeof rules - strlen(rules), "%s%s",
				k ? " " : "", mt_suppressions_at(s, k)->text);
		assert_string_equal(rules, cases[i].rules);
		for (; cases[i].faults[faults]; faults++)
			assert_non_null(
				strstr(mt_suppressions_fault(s, faults), cases[i].faults[faults]));
		assert_int_equal(mt_suppressions_fault_count(s), faults);
		mt_suppressions_free(s);
	}
}

/* Whatever the bytes are, there are rules or a sentence. */
static void test_random_files(void **state)
{
	static const char *const words[] = {"{", "}", "\n", "leak:", "fun:", "obj:", "src:", "...",
		"Memcheck:Leak", "match-leak-kinds:", "*", "?", "^", "$", "#", " ", "\\", "all",
		"none", "a", ":", "\t", "@", "12"};
	struct mt_err err;
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct mt_suppressions *s = mt_suppressions_new();
		char text[512];
		size_t len = 0;

		for (int i = rand_r(&seed) % 40; i > 0; i--) {
			const char *word =
				words[(unsigned)rand_r(&seed) % (sizeof words / sizeof *words)];

			len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", word,
				rand_r(&seed) % 2 ? "\n" : "");
		}
		err = (struct mt_err){0};
		if (mt_suppressions_parse(s, text, len, "file", &err) < 0) {
			assert_int_equal(mt_suppressions_count(s), 0);
			assert_non_null(strstr(err.text, "expected"));
		}
		for (uint32_t i = 0; i < mt_suppressions_count(s); i++)
			assert_true(*mt_suppressions_at(s, i)->text);
		mt_suppressions_free(s);
	}
}

/* ---- verdicts ---- */

enum { KEEP, DEEP, LIBRARY, BARE, FREED, GROUPS };

/* keep: main < load < keep; deep: main < load < inner, outer (inlined); library: a plug-in's; bare:
 * no name; freed: no leak. */
static void heap(struct fixture *f, uint32_t groups[GROUPS])
{
	fixture_init(f);
	uint32_t program = fixture_module(f, "/usr/bin/program", 0);
	uint32_t library = fixture_module(f, "/usr/lib/libplug.so.1", 0);
	uint32_t start = fixture_pc(f, program, "_start", "", 0);
	uint32_t main_pc = fixture_pc(f, program, "main", "src/main.c", 10);
	uint32_t load = fixture_pc(f, program, "load(char const*)", "src/load.cc", 20);
	uint32_t keep = fixture_pc(f, program, "keep", "src/keep.c", 30);
	uint32_t inlined = fixture_bare_pc(f, program, 0x9000);
	uint32_t plug = fixture_pc(f, library, "plug_init@@PLUG_1.0", "plug.c", 5);
	uint32_t bare = fixture_pc(f, library, "libplug.so.1+0x1234", "", 0);

	fixture_frame(f, inlined, "inner", "src/inner.h", 7, true);
	fixture_frame(f, inlined, "outer", "src/outer.c", 8, false);
	groups[KEEP] = fixture_group(f, STACK(start, main_pc, load, keep), 10, 100, 3);
	groups[DEEP] = fixture_group(f, STACK(start, main_pc, load, inlined), 10, 10, 2);
	groups[LIBRARY] = fixture_group(f, STACK(start, main_pc, plug), 5, 1000, 1);
	groups[BARE] = fixture_group(f, STACK(start, main_pc, bare), 4, 1, 4);
	groups[FREED] = fixture_group(f, STACK(start, main_pc, keep), 7, 7, 0);
	f->profile.info.leaked_count = 10;
	f->profile.info.leaked_bytes = 1324;
}

/* As bits: which groups the rules suppress. */
static unsigned verdicts(struct fixture *f, const uint32_t groups[GROUPS], const char *text,
	struct mt_suppressed *out)
{
	struct mt_suppressions *s = mt_suppressions_new();
	struct mt_suppressed own, *done = out ? out : &own;
	struct mt_err err = {0};
	unsigned bits = 0;

	if (parse(s, text, &err) < 0)
		fail_msg("%s", err.text);
	mt_suppress(done, s, &f->profile, &f->symbols);
	for (unsigned i = 0; i < GROUPS; i++)
		bits |= (unsigned)(done->blocks[groups[i]] > 0) << i;
	if (!out)
		mt_suppressed_free(&own);
	mt_suppressions_free(s);
	return bits;
}

#define V(frames) "{\nname\nMemcheck:Leak\n" frames "\n}\n"

static void test_verdicts(void **state)
{
	static const struct {
		const char *text;
		unsigned bits;
	} cases[] = {
		{"leak:keep", 1 << KEEP},
		{"leak:main", 0xf},
		{"leak:^load(char const", 1 << KEEP | 1 << DEEP},
		{"leak:libplug", 1 << LIBRARY | 1 << BARE},
		{"leak:src/keep.c", 1 << KEEP},
		{"leak:^inner$", 1 << DEEP},
		{"leak:outer.c", 1 << DEEP},
		{"leak:nobody", 0},
		{"leak:/usr/bin/program", 0xf},
		{"leak:^malloc$", 0xf},
		{"leak:0x1234", 0},
		{"leak:nobody\nleak:inner\nleak:keep", 1 << KEEP | 1 << DEEP},
		{V("fun:malloc\nfun:keep"), 1 << KEEP},
		{V("fun:keep"), 0},
		{V("fun:calloc\nfun:keep"), 0},
		{V("...\nfun:keep"), 1 << KEEP},
		{V("fun:*alloc\nfun:k??p"), 1 << KEEP},
		{V("fun:malloc\nfun:keep\nfun:load*\nfun:main\nfun:(below main)"), 1 << KEEP},
		{V("fun:malloc\nfun:keep\nfun:main"), 0},
		{V("fun:malloc\nfun:keep\n...\nfun:main"), 1 << KEEP},
		{V("fun:malloc\n...\nfun:main\n..."), 0xf},
		{V("fun:malloc\nfun:inner\nfun:outer\nfun:load*"), 1 << DEEP},
		{V("fun:malloc\nsrc:inner.h:7"), 1 << DEEP},
		{V("fun:malloc\nsrc:src/inner.h"), 1 << DEEP},
		{V("fun:malloc\nsrc:inner.h:8"), 0},
		{V("fun:malloc\nobj:*/libplug.so*"), 1 << LIBRARY | 1 << BARE},
		{V("fun:malloc\nfun:plug_init"), 1 << LIBRARY},
		{V("fun:malloc\nfun:plug_init@@PLUG_*"), 1 << LIBRARY},
		{V("fun:malloc\nfun:\\?\\?\\?"), 1 << BARE},
		{V("match-leak-kinds: none\nfun:malloc"), 0},
		{V("match-leak-kinds: all\nfun:malloc"), 0xf},
		{V("match-leak-kinds: reachable\nfun:malloc\nfun:keep"), 1 << KEEP},
		{V("fun:malloc\n...\nfun:load*\n...\nfun:keep"), 0},
		{V("fun:malloc\n...\n...\nfun:load*\nfun:main"), 1 << KEEP | 1 << DEEP},
		{V("obj:*vgpreload*\nfun:keep"), 1 << KEEP},
		{V("src:vg_replace_malloc.c\nfun:keep"), 1 << KEEP},
		/* beyond the end */
		{V("fun:malloc\nfun:keep\nfun:load*\nfun:main\nfun:*\nfun:*"), 0},
	};
	uint32_t groups[GROUPS];
	struct fixture f;

	(void)state;
	heap(&f, groups);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		unsigned bits = verdicts(&f, groups, cases[i].text, NULL);

		if (bits != cases[i].bits)
			fail_msg("%s suppresses %x, not %x", cases[i].text, bits, cases[i].bits);
	}
	fixture_free(&f);
}

static void test_sums(void **state)
{
	struct mt_suppressions *s = mt_suppressions_new();
	struct mt_suppressed done;
	uint32_t groups[GROUPS];
	struct mt_err err;
	struct fixture f;

	(void)state;
	heap(&f, groups);
	assert_int_equal(parse(s, "leak:nobody\nleak:^keep$\nleak:load", &err), 0);
	mt_suppress(&done, s, &f.profile, &f.symbols);
	assert_int_equal(done.all_blocks, 5);
	assert_int_equal(done.all_bytes, 320);
	assert_int_equal(done.rules_used, 2);
	assert_int_equal(mt_suppressions_at(s, 0)->groups, 0);
	assert_int_equal(mt_suppressions_at(s, 1)->bytes, 300); /* the first that matches counts */
	assert_int_equal(mt_suppressions_at(s, 2)->bytes, 20);
	assert_int_equal(done.profile.info.leaked_count, 5);
	assert_int_equal(done.profile.info.leaked_bytes, 1004);
	assert_int_equal(done.profile.groups[groups[KEEP]].live_count, 0);
	/* leaks alone are suppressed */
	assert_int_equal(done.profile.groups[groups[KEEP]].allocated_count, 10);
	assert_int_equal(f.profile.groups[groups[KEEP]].live_count, 3);
	/* a frame without a name might be what a rule means; those of libplug leak 4 bytes */
	assert_int_equal(done.undecided_groups, 1);
	assert_int_equal(done.undecided_bytes, 4);
	mt_suppressed_free(&done);
	mt_suppressions_free(s);

	s = mt_suppressions_new();
	mt_suppressions_add_builtin(s);
	assert_true(mt_suppressions_count(s) > 3);
	mt_suppress(&done, s, &f.profile, &f.symbols);
	assert_int_equal(done.all_blocks, 0);
	assert_int_equal(done.undecided_groups, 0);
	mt_suppressed_free(&done);
	mt_suppressions_free(s);
	fixture_free(&f);
}

/* A frame without a name leaves open only what a rule asks of that frame. */
static void test_unnamed_frames(void **state)
{
	static const struct {
		const char *text;
		bool undecided;
	} cases[] = {
		{V("fun:malloc\nfun:other"), false},
		{V("fun:malloc\nfun:other\n...\nfun:main"), false},
		{V("fun:calloc\nfun:keep\nfun:other"), false},
		{V("fun:malloc\nfun:keep\nobj:*/other"), false},
		{V("fun:malloc\nfun:keep\nfun:other"), true},
		{V("fun:malloc\nfun:keep\nsrc:other.c"), true},
		{V("fun:malloc\n...\nfun:other"), true},
		/* with debug information the frame may turn out to be two, one inlined */
		{V("fun:malloc\nfun:keep\nfun:*\nfun:other\nfun:main"), true},
		{"leak:other", true},
	};
	struct fixture f;

	(void)state;
	fixture_init(&f);
	uint32_t program = fixture_module(&f, "/usr/bin/program", 0);
	uint32_t plug = fixture_module(&f, "/usr/lib/libplug.so.1", 0);
	uint32_t keep = fixture_pc(&f, program, "keep", "src/keep.c", 30);
	uint32_t bare = fixture_pc(&f, plug, "libplug.so.1+0x1234", "", 0);
	uint32_t main_pc = fixture_pc(&f, program, "main", "src/main.c", 10);
	uint32_t group = fixture_group(&f, STACK(main_pc, bare, keep), 2, 8, 2);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mt_suppressions *s = mt_suppressions_new();
		struct mt_suppressed done;
		struct mt_err err;

		if (parse(s, cases[i].text, &err) < 0)
			fail_msg("%s", err.text);
		mt_suppress(&done, s, &f.profile, &f.symbols);
		if (done.verdicts[group] != (cases[i].undecided ? MT_SUPPRESS_UNDECIDED : 0))
			fail_msg("%s leaves the group %s", cases[i].text,
				cases[i].undecided ? "decided" : "undecided");
		mt_suppressed_free(&done);
		mt_suppressions_free(s);
	}
	fixture_free(&f);
}

/* Two lines of one function that allocate make two groups, and one rule. */
static void test_rules_are_written_once(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	uint32_t program = fixture_module(&f, "/usr/bin/program", 0);
	uint32_t main_pc = fixture_pc(&f, program, "main", "a.c", 5);
	uint32_t groups[] = {
		fixture_group(&f, STACK(main_pc, fixture_pc(&f, program, "twice", "a.c", 1)), 2, 8,
			2),
		fixture_group(&f, STACK(main_pc, fixture_pc(&f, program, "other", "a.c", 9)), 2, 8,
			2),
		fixture_group(&f, STACK(main_pc, fixture_pc(&f, program, "twice", "a.c", 2)), 2, 8,
			2),
	};

	for (int syntax = MT_SUPPRESS_LSAN; syntax <= MT_SUPPRESS_VALGRIND; syntax++) {
		struct mt_suppressions *s = mt_suppressions_new();
		struct mt_suppressed done;
		struct mt_buffer text = {0};
		struct mt_err err;

		mt_suppress_write(&text, (enum mt_suppress_syntax)syntax, &f.profile, &f.symbols,
			groups, 3);
		mt_buffer_add(&text, "", 1);
		assert_int_equal(parse(s, (char *)text.data, &err), 0);
		if (mt_suppressions_count(s) != 2)
			fail_msg("%u rules for two functions:\n%s", mt_suppressions_count(s),
				(char *)text.data);
		mt_suppress(&done, s, &f.profile, &f.symbols);
		assert_int_equal(done.all_blocks, 6);
		assert_int_equal(done.rules_used, 2);
		mt_suppressed_free(&done);
		mt_suppressions_free(s);
		mt_buffer_free(&text);
	}
	fixture_free(&f);
}

/* Behind a cut there may be anything, but no module of the program. */
static void test_cut(void **state)
{
	struct mt_suppressions *s = mt_suppressions_new();
	struct mt_suppressed done;
	struct mt_err err;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	fixture_module(&f, "/usr/bin/program", 0);
	uint32_t plug =
		fixture_pc(&f, fixture_module(&f, "/usr/lib/libplug.so.1", 0), "plug", "plug.c", 5);
	uint32_t group = fixture_group(&f, STACK(MT_PC_CUT, plug), 2, 8, 2);

	assert_int_equal(parse(s, "leak:/usr/bin/program", &err), 0);
	assert_int_equal(parse(s, V("fun:malloc\nfun:plug\nobj:/usr/bin/program"), &err), 0);
	mt_suppress(&done, s, &f.profile, &f.symbols);
	assert_int_equal(done.all_blocks, 0);
	assert_int_equal(done.verdicts[group], MT_SUPPRESS_UNDECIDED);
	assert_int_equal(done.undecided_bytes, 16);
	mt_suppressed_free(&done);
	mt_suppressions_free(s);
	fixture_free(&f);
}

/* What is made from a group suppresses it, and it alone. */
static void test_round_trip(void **state)
{
	uint32_t groups[GROUPS];
	struct fixture f;

	(void)state;
	heap(&f, groups);
	for (unsigned set = 1; set < 1 << FREED; set++) {
		for (int syntax = MT_SUPPRESS_LSAN; syntax <= MT_SUPPRESS_VALGRIND; syntax++) {
			struct mt_buffer text = {0};
			uint32_t asked[GROUPS], count = 0;

			for (unsigned i = 0; i < FREED; i++)
				if (set >> i & 1)
					asked[count++] = groups[i];
			mt_suppress_write(&text, (enum mt_suppress_syntax)syntax, &f.profile,
				&f.symbols, asked, count);
			mt_buffer_add(&text, "", 1);
			unsigned bits = verdicts(&f, groups, (char *)text.data, NULL);

			/* the bare frame has a module alone, which is the same for the module's
			 * others */
			if (set >> BARE & 1 ? (bits & set) != set : bits != set)
				fail_msg("%x suppresses %x:\n%s", set, bits, (char *)text.data);
			assert_int_equal(strstr((char *)text.data, "# these rules also suppress")
					!= NULL,
				bits != set);
			mt_buffer_free(&text);
		}
	}
	fixture_free(&f);
}

/* A name out of a trace may hold anything: it ends no line, so that it is no rule of its own. */
static void test_names_of_lines(void **state)
{
	static const char name[] = "evil\nleak:*\n}\n{\nall\nMemcheck:Leak\nfun:*\n}\n";
	struct fixture f;

	(void)state;
	fixture_init(&f);
	uint32_t module = fixture_module(&f, "/usr/bin/program", 0);
	uint32_t evil = fixture_pc(&f, module, name, "a.c", 1);
	uint32_t group =
		fixture_group(&f, STACK(fixture_pc(&f, module, "main", "a.c", 5), evil), 2, 8, 2);
	uint32_t other =
		fixture_group(&f, STACK(fixture_pc(&f, module, "other", "a.c", 9)), 2, 8, 2);

	for (int syntax = MT_SUPPRESS_LSAN; syntax <= MT_SUPPRESS_VALGRIND; syntax++) {
		struct mt_suppressions *s = mt_suppressions_new();
		struct mt_suppressed done;
		struct mt_buffer text = {0};
		struct mt_err err;

		mt_suppress_write(&text, (enum mt_suppress_syntax)syntax, &f.profile, &f.symbols,
			&group, 1);
		mt_buffer_add(&text, "", 1);
		assert_int_equal(parse(s, (char *)text.data, &err), 0);
		assert_int_equal(mt_suppressions_count(s), 1);
		mt_suppress(&done, s, &f.profile, &f.symbols);
		assert_int_not_equal(done.blocks[group], 0);
		assert_int_equal(done.blocks[other], 0);
		mt_suppressed_free(&done);
		mt_suppressions_free(s);
		mt_buffer_free(&text);
	}
	fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lsan_patterns),
		cmocka_unit_test(test_glob_patterns),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_skipped_lines),
		cmocka_unit_test(test_random_files),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_unnamed_frames),
		cmocka_unit_test(test_rules_are_written_once),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_names_of_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
