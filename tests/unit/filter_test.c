/* The filter's fields: values of every kind, the prompt's language with its errors, completion, and
 * the verdicts per group and per allocation against answers by hand. */
#include "tests/unit/query_fixture.h"

#include "core/query/filter_match.h"
#include "core/query/pattern.h"
#include "core/query/scan.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull

/* ---- the language ---- */

static void becomes(const char *text, const char *again)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_err err = {0};

	if (mt_filter_parse(filter, text, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	char *shown = mt_filter_text(filter);

	assert_string_equal(again, shown);
	if (mt_filter_parse(filter, shown, &err) < 0)
		fail_msg("'%s': %s", shown, err.text);
	free(shown);
	shown = mt_filter_text(filter);
	assert_string_equal(again, shown);
	free(shown);
	mt_filter_free(filter);
}

static void test_text(void **state)
{
	(void)state;
	becomes("size>=1k", "size>=1k");
	becomes("size<=4k parse", "parse size<=4k");
	becomes("size>1k size<2K", "size>1k size<2K");
	becomes("size:1k..4k", "size>=1k size<=4k");
	becomes("size:1k..", "size>=1k");
	becomes("size:..4k", "size<=4k");
	becomes("size:64", "size>=64 size<=64");
	becomes("size=64", "size>=64 size<=64");
	becomes("size_min:1k size-max:2k", "size>=1k size<=2k");
	becomes("from:20% to:1.5s", "from:20% to:1.5s");
	becomes("time>=20% time<=30%", "from:20% to:30%");
	becomes("time>1s", "time>1s");
	becomes("time:1s..2s", "from:1s to:2s");
	becomes("lifetime:only_leaked", "lifetime:only_leaked");
	becomes("lifetime>10ms lifetime<1m", "lifetime>10ms lifetime<1m");
	becomes("lifetime:only_temporary lifetime>=1us", "lifetime:only_temporary lifetime>=1us");
	becomes("lifetime:1ms..2ms", "lifetime>=1ms lifetime<=2ms");
	becomes("thread:'Web Content' marker:x", "thread:\"Web Content\" marker:x");
	becomes("thread=77", "thread:77");
	becomes("alive_at:10s alive_at_2:50%", "alive_at:10s alive_at_2:50%");
	becomes("alive_at:peak alive_at_2:100%", "alive_at:peak alive_at_2:100%");
	becomes("address>=0x7f00 address<=0xffff", "address>=0x7f00 address<=0xffff");
	becomes("group_leaked_allocations>50%", "group_leaked_allocations>50%");
	becomes("group-interval>=20% backtrace_depth<5", "backtrace_depth<5 group_interval>=20%");
	becomes("mmapped:yes arena:thread temporary_threshold:3",
		"mmapped:yes arena:thread temporary_threshold:3");
	/* given twice: both must hold; of two limits the narrower one stays */
	becomes("a b", "a b");
	becomes("-a -b a", "a -a -b");
	becomes("a a", "a");
	becomes("module:x module:y !source:z !source:w", "module:x module:y !source:z !source:w");
	becomes("size>=1 size>2 size>=2", "size>2");
	becomes("size>=1k size>=2k size<9k size<8k", "size>=2k size<8k");
	becomes("from:1s from:2s to:5s to:4s", "from:2s to:4s");
	becomes("size:1..9 size:4..20", "size>=4 size<=9");
	/* what looks like it but is a regex */
	becomes("'size>=1k'", "function:size>=1k");
	becomes("vector<size>", "vector<size>");
	becomes("foo>=1", "foo>=1");
	becomes("function<x", "function<x");
	becomes("function=x", "x");
	becomes("!module=x", "!module:x");
}

static void rejects(const char *text, const char *one, const char *other)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_err err = {0};

	mt_filter_parse(filter, "kept size>=3", NULL);
	if (mt_filter_parse(filter, text, &err) >= 0)
		fail_msg("'%s' was accepted", text);
	if (!strstr(err.text, one) || !strstr(err.text, other) || strchr(err.text, '\n'))
		fail_msg("'%s' gave: %s", text, err.text);
	assert_string_equal("kept", mt_filter_get(filter, MT_FILTER_FUNCTION_REGEX));
	assert_string_equal("3", mt_filter_get(filter, MT_FILTER_SIZE_MIN));
	mt_filter_free(filter);
}

static void test_errors(void **state)
{
	(void)state;
	rejects("size>=1q", "'1q' at character 1", "4096, 64k or 1.5M");
	rejects("a size>=1.5", "'1.5' at character 3", "4096, 64k or 1.5M");
	rejects("size>=99999999999999999999", "character 1", "4096, 64k or 1.5M");
	rejects("size>=17179869184G", "character 1", "4096, 64k or 1.5M");
	rejects("from:x", "'x' at character 1", "20% of the run");
	rejects("from:101%", "'101%'", "20% of the run");
	rejects("from:peak", "'peak' at character 1", "20% of the run");
	rejects("alive_at:paek", "'paek' at character 1", "or peak");
	rejects("lifetime>5%", "'>5%' at character 1", "500ms, 1.5s, 2m or 1h");
	rejects("chain_length>=x", "'x' at character 1", "1, 20 or 1000");
	rejects("chain_length>=1k", "'1k' at character 1", "1, 20 or 1000");
	rejects("group_leaked_allocations>=x%", "character 1", "50% of the group");
	rejects("group_interval>=1x", "character 1", "20% of the run");
	rejects("address>=zz", "'zz' at character 1", "0x");
	rejects("lifetime:only_leeked", "character 1", "did you mean 'only_leaked'");
	rejects("lifetime:leaked", "character 1", "did you mean 'only_leaked'");
	rejects("lifetime:x", "'x' at character 1", "only_short_lived");
	rejects("arena:mian", "character 1", "'main'");
	rejects("mmapped:maybe", "'maybe' at character 1", "yes, no");
	rejects("sise:4", "'sise' at character 1", "size:");
	rejects("a thraed:x", "'thraed' at character 3", "thread:");
	rejects("thread>x", "character 1", "thread:VALUE");
	rejects("!size>=1", "character 1", "negated");
	rejects("size>=", "missing value at character 1", "a size such as");
	rejects("size:..", "character 1", "4096, 64k or 1.5M");
	rejects("json size=>1k", "size=>1k at character 6", "write size>=1k");
	rejects("size=<1k", "size=<1k at character 1", "write size<=1k");
	rejects("size:>1k", "size:>1k at character 1", "write size>1k");
	rejects("size:<=1k", "size:<=1k at character 1", "write size<=1k");
	rejects("size=none", "size: invalid size 'none' at character 1", "try 4096");
	rejects("lifetime<=x", "lifetime: invalid duration 'x' at character 1", "try 500ms");
	rejects("size > 10", "'>' stands alone at character 6", "without blanks");
	rejects("thread:a thread:b", "thread: given twice, as 'a' and 'b'", "one value");
	rejects("alive_at:1s alive_at:2s", "alive_at: given twice, as '1s' and '2s'", "one value");
	rejects("lifetime:only_leaked lifetime:only_temporary", "given twice", "one value");
	rejects("from:1s from:5%", "from: '1s' and '5%' cannot be compared", "percentages");
	rejects("thread:", "character 1", "a thread such as worker");
	/* contradictions */
	rejects("size>=2k size<=1k", "size_min 2k and size_max 1k",
		"size_min must not exceed size_max");
	rejects("size>1 size<2", "no value can match both", "must not exceed");
	rejects("from:3s to:1000ms", "from 3s and to 1000ms", "from must not exceed to");
	rejects("from:30% to:20%", "from 30%", "must not exceed");
	rejects("size<0", "no value can match", "another limit");
	rejects("alive_at_2:1s", "alive_at_2", "needs alive_at too");
}

/* Any fields at all, written out, are read again as the same. */
static void test_text_property(void **state)
{
	static const char *const values[][3] = {
		[MT_FILTER_KIND_REGEX] = {"abc", "a b", "'x\"-y"},
		[MT_FILTER_KIND_TIME] = {"1s", "20%", "0.5h"},
		[MT_FILTER_KIND_SPAN] = {"1us", "2m", "10"},
		[MT_FILTER_KIND_BYTES] = {"0", "1.5k", "3GiB"},
		[MT_FILTER_KIND_COUNT] = {"1", "2", "3"},
		[MT_FILTER_KIND_COUNT_OR_PERCENT] = {"1", "99.5%", "100%"},
		[MT_FILTER_KIND_SPAN_OR_PERCENT] = {"1s", "0%", "5ns"},
		[MT_FILTER_KIND_THREAD] = {"1", "two words", "x..y"},
		[MT_FILTER_KIND_MARKER] = {">5", "it's", "\"q\" '"},
		[MT_FILTER_KIND_ADDRESS] = {"0", "0xff", "12"},
		[MT_FILTER_KIND_FUNCTIONS] = {"malloc", "new,new[]", "pool free"},
		[MT_FILTER_KIND_DOMAINS] = {"heap", "heap,pool", "gpu"},
	};
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct mt_filter *filter = mt_filter_new(), *again = mt_filter_new();
		struct mt_err err = {0};

		for (int i = 0; i < MT_FILTER_COUNT; i++) {
			const struct mt_filter_info *info = mt_filter_info((enum mt_filter_field)i);
			const char *value = info->choices
				? (info->choices[0] == 'a'                ? "only_leaked"
						: info->choices[0] == 'y' ? "no"
						: info->choices[0] == 'l' ? "lost"
									  : "main")
				: values[info->kind][rand_r(&seed) % 3];

			if (rand_r(&seed) % 8 == 0)
				assert_int_equal(0,
					mt_filter_set(filter, (enum mt_filter_field)i, value,
						&err));
		}
		if (mt_filter_check(filter, NULL) >= 0) {
			char *text = mt_filter_text(filter);

			if (mt_filter_parse(again, text, &err) < 0)
				fail_msg("'%s': %s", text, err.text);
			for (int i = 0; i < MT_FILTER_COUNT; i++) {
				const char *a = mt_filter_get(filter, (enum mt_filter_field)i);
				const char *b = mt_filter_get(again, (enum mt_filter_field)i);

				if (!a != !b || (a && strcmp(a, b) != 0))
					fail_msg("%s in '%s': %s, %s",
						mt_filter_info((enum mt_filter_field)i)->name, text,
						a ? a : "-", b ? b : "-");
			}
			free(text);
		}
		mt_filter_free(filter);
		mt_filter_free(again);
	}
}

/* Whatever is typed: it is refused, or what it became is written as something that is read as the
 * same. At each cursor a completion takes the place of a part of the text. */
static void test_any_text(void **state)
{
	static const char *const pieces[] = {"size", "lifetime", "from", "function", "thread", "x",
		">=", "<", ":", "=", "..", "1k", "20%", "'", "\"", " ", "!", "-", "_min",
		"only_leaked", "10ms", "(", "\\", "\xc3\xa9", "alive_at", "peak"};
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct mt_filter *filter = mt_filter_new(), *again = mt_filter_new();
		struct mt_filter_candidates c = {0};
		struct mt_err err = {0};
		char text[200] = "";

		for (int i = rand_r(&seed) % 9; i >= 0; i--)
			strcat(text,
				pieces[(size_t)rand_r(&seed) % (sizeof pieces / sizeof *pieces)]);
		mt_filter_complete(text, (uint32_t)((size_t)rand_r(&seed) % (strlen(text) + 1)),
			NULL, NULL, &c);
		assert_true(c.from <= c.to && c.to <= strlen(text));
		if (mt_filter_parse(filter, text, &err) >= 0) {
			char *one = mt_filter_text(filter);

			if (mt_filter_parse(again, one, &err) < 0)
				fail_msg("'%s' became '%s': %s", text, one, err.text);
			char *other = mt_filter_text(again);

			assert_string_equal(one, other);
			free(one);
			free(other);
		} else {
			assert_true(err.text[0] && !strchr(err.text, '\n'));
		}
		mt_filter_candidates_free(&c);
		mt_filter_free(filter);
		mt_filter_free(again);
	}
}

/* ---- what patterns remember of names ---- */

static void name_it(struct fixture *f, const char *function)
{
	uint32_t pc = fixture_pc(f, fixture_module(f, "/bin/prog", 0), function, "m.c", 1);

	mt_profile_add_group(&f->profile, fixture_node(f, 0, pc));
}

/* A program executes another one, or another recording takes the place of the first: what is known
 * of string ids is not valid for the names that have the same ids now, in the same place. */
static void test_other_names_at_the_same_place(void **state)
{
	struct mt_filter *filter = mt_filter_new();
	struct fixture f;
	uint8_t matches;

	(void)state;
	assert_int_equal(mt_filter_parse(filter, "wanted", NULL), 0);
	fixture_init(&f);
	name_it(&f, "other");
	assert_int_equal(mt_filter_match(filter, &f.profile, &f.symbols, &matches, NULL), 0);
	assert_int_equal(matches, 0);
	fixture_free(&f);
	fixture_init(&f);
	name_it(&f, "wanted");
	f.symbols.generation += 2; /* as follows on the names before */
	assert_int_equal(mt_filter_match(filter, &f.profile, &f.symbols, &matches, NULL), 0);
	assert_int_equal(matches, 1);
	fixture_free(&f);
	mt_filter_free(filter);
}

/* ---- what is needed ---- */

static void needs(const char *text, unsigned expected)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_err err = {0};

	if (mt_filter_parse(filter, text, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	if (mt_filter_needs(filter) != expected)
		fail_msg("'%s' needs %u, not %u", text, mt_filter_needs(filter), expected);
	mt_filter_free(filter);
}

static void test_needs(void **state)
{
	unsigned events = MT_FILTER_NEEDS_EVENTS;

	(void)state;
	needs("", 0);
	needs("main -x source:y backtrace_depth>3 group_interval>1s group_allocations>2 "
	      "group_leaked_allocations>50%",
		0);
	needs("lifetime:all", 0);
	needs("lifetime:only_whole_group_leaked", 0);
	needs("size>1", events);
	needs("from:1s", events);
	needs("thread:a", events);
	needs("temporary_threshold:2", events);
	needs("lifetime:only_leaked", events | MT_FILTER_NEEDS_END);
	needs("lifetime>1s", events | MT_FILTER_NEEDS_END);
	needs("alive_at:1s", events | MT_FILTER_NEEDS_END);
	needs("lifetime:only_chain_leaked", events | MT_FILTER_NEEDS_CHAIN);
	needs("first_size>1", events | MT_FILTER_NEEDS_CHAIN);
	needs("address>1", events | MT_FILTER_NEEDS_ADDRESS);
	needs("mmapped:yes", events | MT_FILTER_NEEDS_ADDRESS);
	needs("arena:main lifetime>1s", events | MT_FILTER_NEEDS_ADDRESS | MT_FILTER_NEEDS_END);
}

/* ---- groups ---- */

/* A run of 100 s. Group a: 4 allocations from 10 s to 30 s, 1 leaked, depth 1. b: 10 from 20 s to
 * 20 s, all leaked, depth 3 (one frame inlined). c: 100 from 0 to 100 s, none leaked, depth 2. d: 1
 * at 50 s, leaked, depth 0. */
struct run {
	struct fixture f;
	struct mt_filter_functions functions; /* none: they are not offered */
	uint32_t a, b, c, d;
};

static uint32_t add(struct run *r, uint32_t node, uint64_t count, uint64_t leaked, uint64_t first_s,
	uint64_t last_s)
{
	uint32_t group = mt_profile_add_group(&r->f.profile,
		mt_profile_add_node(&r->f.profile, node, MT_FUNCTION_MALLOC));
	struct mt_group *g = &r->f.profile.groups[group];

	g->allocated_count = count;
	g->live_count = leaked;
	g->first_ns = first_s * SECOND;
	g->last_ns = last_s * SECOND;
	return group;
}

static void run_init(struct run *r)
{
	r->functions = (struct mt_filter_functions){0};
	fixture_init(&r->f);
	r->f.profile.info.wall_ns = 100 * SECOND;
	uint32_t module = fixture_module(&r->f, "/bin/prog", 0);
	uint32_t main_pc = fixture_pc(&r->f, module, "main", "m.c", 1);
	uint32_t two = fixture_bare_pc(&r->f, module, 0x50);

	fixture_frame(&r->f, two, "inner", "t.c", 1, true);
	fixture_frame(&r->f, two, "outer", "t.c", 2, false);
	uint32_t bare = fixture_bare_pc(&r->f, module, 0x60);
	uint32_t outermost = mt_profile_add_node(&r->f.profile, 0, main_pc);

	r->a = add(r, outermost, 4, 1, 10, 30);
	r->b = add(r, mt_profile_add_node(&r->f.profile, outermost, two), 10, 10, 20, 20);
	r->c = add(r, mt_profile_add_node(&r->f.profile, outermost, bare), 100, 0, 0, 100);
	r->d = add(r, mt_profile_add_node(&r->f.profile, 0, MT_PC_CUT), 1, 1, 50, 50);
}

/* expected: letters of the groups that match. */
static void groups_are(struct run *r, const char *text, const char *expected)
{
	struct mt_filter *filter = mt_filter_new();
	uint8_t matches[4];
	char found[5] = "";
	int count = 0;
	struct mt_err err = {0};

	if (mt_filter_parse(filter, text, &err) < 0
		|| mt_filter_match(filter, &r->f.profile, &r->f.symbols, matches, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	for (uint32_t i = 0; i < 4; i++)
		if (matches[i])
			found[count++] = (char)('a' + i);
	if (strcmp(found, expected) != 0)
		fail_msg("'%s' matches %s, not %s", text, found, expected);
	mt_filter_free(filter);
}

static void test_groups(void **state)
{
	struct run r;

	(void)state;
	run_init(&r);
	groups_are(&r, "backtrace_depth>=2", "bc");
	groups_are(&r, "backtrace_depth>=3", "b");
	groups_are(&r, "backtrace_depth<=1", "ad");
	groups_are(&r, "backtrace_depth<1", "d");
	groups_are(&r, "backtrace_depth:2", "c");
	groups_are(&r, "group_interval>=20s", "ac");
	groups_are(&r, "group_interval>20s", "c");
	groups_are(&r, "group_interval>=20%", "ac");
	groups_are(&r, "group_interval<=19.9%", "bd");
	groups_are(&r, "group_interval<20s", "bd");
	groups_are(&r, "group_allocations>=10", "bc");
	groups_are(&r, "group_allocations<=10", "abd");
	groups_are(&r, "group_allocations:2..10", "ab");
	groups_are(&r, "group_leaked_allocations>=1", "abd");
	groups_are(&r, "group_leaked_allocations>1", "b");
	groups_are(&r, "group_leaked_allocations<=0", "c");
	groups_are(&r, "group_leaked_allocations>=25%", "abd");
	groups_are(&r, "group_leaked_allocations>25%", "bd");
	groups_are(&r, "group_leaked_allocations<=25%", "ac");
	groups_are(&r, "group_leaked_allocations>=25.000000001%", "bd");
	groups_are(&r, "group_leaked_allocations<100% group_leaked_allocations>=1", "a");
	groups_are(&r, "lifetime:only_whole_group_leaked", "bd");
	groups_are(&r, "main group_allocations>=10", "bc");
	groups_are(&r, "-inner", "acd");
	/* given twice: both must hold, of any frame each */
	groups_are(&r, "main inner", "b");
	groups_are(&r, "inner main", "b");
	groups_are(&r, "main inner nowhere", "");
	groups_are(&r, "-inner -outer", "acd");
	groups_are(&r, "group_allocations>=2 group_allocations>=10", "bc");
	/* the other fields do not ask the groups */
	groups_are(&r, "size>=1k group_allocations>=10", "bc");
	fixture_free(&r.f);
}

/* A percentage of the run meets a time only when the run is known. */
static void test_groups_contradiction(void **state)
{
	struct run r;
	struct mt_filter *filter = mt_filter_new();
	struct mt_filter_bounds bounds = {0};
	struct mt_err err = {0};
	uint8_t matches[4];

	(void)state;
	run_init(&r);
	assert_int_equal(0, mt_filter_parse(filter, "group_interval:50%..20s", NULL));
	assert_true(mt_filter_match(filter, &r.f.profile, &r.f.symbols, matches, &err) < 0);
	assert_non_null(strstr(err.text, "must not exceed"));
	assert_int_equal(0, mt_filter_parse(filter, "from:50% to:20s", NULL));
	assert_true(mt_filter_compile(&bounds, filter, &r.f.profile, &err) < 0);
	assert_non_null(strstr(err.text, "from 50% and to 20s"));
	assert_int_equal(0, mt_filter_parse(filter, "from:10% to:20s", NULL));
	assert_int_equal(0, mt_filter_compile(&bounds, filter, &r.f.profile, &err));
	assert_int_equal(10 * SECOND, bounds.from_ns);
	assert_int_equal(20 * SECOND, bounds.to_ns);
	mt_filter_bounds_free(&bounds);
	mt_filter_free(filter);
	fixture_free(&r.f);
}

/* ---- allocations ---- */

/* A run of 100 s with two threads, "main" (7) and "worker" (8), and the markers "warm" and "hot";
 * program from 0x1000 to 0x2000, a library at 0x100000. */
static void heap_init(struct run *r)
{
	struct mt_profile *p = &r->f.profile;
	struct mt_module program = {.start = 0x1000, .end = 0x2000};
	struct mt_module library = {.start = 0x100000, .end = 0x110000};

	r->functions = (struct mt_filter_functions){0};
	fixture_init(&r->f);
	program.path = mt_strings_add(&p->strings, "/bin/prog");
	library.path = mt_strings_add(&p->strings, "/lib/libc.so.6");
	p->info.wall_ns = 100 * SECOND;
	p->info.usable_rule = MT_USABLE_GLIBC;
	mt_profile_add_module(p, &library);
	mt_profile_add_module(p, &program);
	mt_profile_add_thread(p, &(struct mt_thread){7, mt_strings_add(&p->strings, "main")});
	mt_profile_add_thread(p, &(struct mt_thread){8, mt_strings_add(&p->strings, "worker")});
	mt_profile_add_log(p,
		&(struct mt_log_entry){.type = MT_LOG_MARKER,
			.text = mt_strings_add(&p->strings, "warm")});
	mt_profile_add_log(p,
		&(struct mt_log_entry){.type = MT_LOG_MARKER,
			.text = mt_strings_add(&p->strings, "hot")});
	MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
	p->arguments[p->argument_count++] = mt_strings_add(&p->strings, "./prog");
}

/* a: 64 bytes in the main heap at 10 s, freed at 20 s, at once. b: 1024 at 20 s in a thread's heap,
 * freed at 80 s after three more, first of the chain b, c. c: 4096, what realloc made of it at 80
 * s, live. d: mapped, 200000 at 50 s, live. e: of a pool, 64 at 100 s, live. */
static void allocations_are(struct run *r, const char *text, const char *expected)
{
	uint32_t warm = mt_strings_add(&r->f.profile.strings, "warm");
	uint32_t hot = mt_strings_add(&r->f.profile.strings, "hot");
	struct mt_allocation all[] = {
		{
			.address = 0x2010,
			.size = 64,
			.usable = 72,
			.time_ns = 10 * SECOND,
			.end_ns = 20 * SECOND,
			.thread = 0,
			.between = 0,
			.position = 1,
			.chain_length = 1,
			.first_size = 64,
			.last_size = 64,
			.chain_start_ns = 10 * SECOND,
			.chain_end_ns = 20 * SECOND,
		},
		{
			.address = 0x90010,
			.size = 1024,
			.usable = 1032,
			.time_ns = 20 * SECOND,
			.end_ns = 80 * SECOND,
			.thread = 1,
			.between = 3,
			.marker = warm,
			.position = 1,
			.chain_length = 2,
			.first_size = 1024,
			.last_size = 4096,
			.chain_start_ns = 20 * SECOND,
			.chain_end_ns = MT_LIVE,
		},
		{
			.address = 0x94010,
			.size = 4096,
			.usable = 4104,
			.time_ns = 80 * SECOND,
			.end_ns = MT_LIVE,
			.thread = 1,
			.between = 9,
			.marker = hot,
			.position = 2,
			.chain_length = 2,
			.first_size = 1024,
			.last_size = 4096,
			.chain_start_ns = 20 * SECOND,
			.chain_end_ns = MT_LIVE,
		},
		{
			.address = 0x50010,
			.size = 200000,
			.usable = 200688,
			.time_ns = 50 * SECOND,
			.end_ns = MT_LIVE,
			.thread = 0,
			.marker = warm,
			.position = 1,
			.chain_length = 1,
			.first_size = 200000,
			.last_size = 200000,
			.chain_start_ns = 50 * SECOND,
			.chain_end_ns = MT_LIVE,
		},
		{
			.domain = MT_DOMAIN_POOL,
			.address = 0x3000,
			.size = 64,
			.usable = 64,
			.time_ns = 100 * SECOND,
			.end_ns = MT_LIVE,
			.thread = 0,
			.marker = hot,
			.position = 1,
			.chain_length = 1,
			.first_size = 64,
			.last_size = 64,
			.chain_start_ns = 100 * SECOND,
			.chain_end_ns = MT_LIVE,
		},
	};
	struct mt_filter *filter = mt_filter_new();
	struct mt_filter_bounds bounds = {0};
	struct mt_err err = {0};
	char found[6] = "";
	int count = 0;

	if (mt_filter_parse(filter, text, &err) < 0
		|| mt_filter_compile(&bounds, filter, &r->f.profile, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	for (int i = 0; i < 5; i++)
		if (mt_filter_allocation_matches(&bounds, &all[i])
			&& mt_filter_end_matches(&bounds, &all[i]))
			found[count++] = (char)('a' + i);
	if (strcmp(found, expected) != 0)
		fail_msg("'%s' matches %s, not %s", text, found, expected);
	mt_filter_bounds_free(&bounds);
	mt_filter_free(filter);
}

static void test_allocations(void **state)
{
	struct run r;

	(void)state;
	heap_init(&r);
	allocations_are(&r, "", "abcde");
	allocations_are(&r, "from:20s", "bcde");
	allocations_are(&r, "to:50%", "abd");
	allocations_are(&r, "time>20s time<100s", "cd");
	allocations_are(&r, "size>=64 size<=1k", "abe");
	allocations_are(&r, "size>64 size<200000", "bc");
	allocations_are(&r, "address>=0x50010 address<=0x90010", "bd");
	allocations_are(&r, "address>0", "abcd");
	allocations_are(&r, "thread:worker", "bc");
	allocations_are(&r, "thread:7", "ade");
	allocations_are(&r, "marker:warm", "bd");
	allocations_are(&r, "marker:hot", "ce");
	allocations_are(&r, "mmapped:yes", "d");
	allocations_are(&r, "mmapped:no", "abce");
	allocations_are(&r, "arena:main", "a");
	allocations_are(&r, "arena:thread", "bc");
	fixture_free(&r.f);
}

static void test_ends(void **state)
{
	struct run r;

	(void)state;
	heap_init(&r);
	allocations_are(&r, "lifetime:all", "abcde");
	allocations_are(&r, "lifetime:only_leaked", "cde");
	allocations_are(&r, "lifetime:only_temporary", "ab");
	allocations_are(&r, "lifetime:only_short_lived", "a");
	allocations_are(&r, "lifetime:only_short_lived temporary_threshold:2", "a");
	allocations_are(&r, "lifetime:only_short_lived temporary_threshold:3", "ab");
	allocations_are(&r, "temporary_threshold:3", "abcde");
	allocations_are(&r, "lifetime:only_chain_leaked", "bcde");
	allocations_are(&r, "lifetime:only_deallocated_in_current_range to:80s", "ab");
	allocations_are(&r, "lifetime:only_deallocated_in_current_range to:79.9s", "a");
	allocations_are(&r, "lifetime:only_not_deallocated_in_current_range to:79.9s", "bd");
	allocations_are(&r, "lifetime:only_not_deallocated_in_current_range from:20s", "cde");
	allocations_are(&r, "lifetime>=50s", "bd");
	allocations_are(&r, "lifetime>50s", "b");
	allocations_are(&r, "lifetime<=10s", "ae");
	allocations_are(&r, "alive_at:20s", "b");
	allocations_are(&r, "alive_at:19.999s", "a");
	allocations_are(&r, "alive_at:50% alive_at_2:90%", "b");
	allocations_are(&r, "alive_at:90% alive_at_2:30s", "cd");
	allocations_are(&r, "alive_at:100%", "cde");
	allocations_are(&r, "first_size>=1k first_size<=1k", "bc");
	allocations_are(&r, "last_size>=4k", "bcd");
	allocations_are(&r, "last_size<4k", "ae");
	allocations_are(&r, "chain_lifetime>=80s", "bc");
	allocations_are(&r, "chain_lifetime<=50s", "ade");
	allocations_are(&r, "chain_length>=2", "bc");
	allocations_are(&r, "chain_length<2", "ade");
	allocations_are(&r, "position_in_chain>=2", "c");
	allocations_are(&r, "position_in_chain:1", "abde");
	allocations_are(&r, "size>=1k lifetime:only_leaked thread:worker", "c");
	fixture_free(&r.f);
}

static void cannot(struct run *r, const char *text, const char *words)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_filter_bounds bounds = {0};
	struct mt_err err = {0};

	assert_int_equal(0, mt_filter_parse(filter, text, &err));
	assert_true(mt_filter_compile(&bounds, filter, &r->f.profile, &err) < 0);
	if (!strstr(err.text, words))
		fail_msg("'%s' gave: %s", text, err.text);
	mt_filter_bounds_free(&bounds);
	mt_filter_free(filter);
}

static void test_cannot(void **state)
{
	struct run r;

	(void)state;
	heap_init(&r);
	cannot(&r, "thread:wroker", "the recording has no thread 'wroker'; did you mean 'worker'?");
	cannot(&r, "marker:hat", "did you mean 'hot'?");
	r.f.profile.info.usable_rule = MT_USABLE_NONE;
	cannot(&r, "mmapped:yes", "only with glibc's malloc");
	cannot(&r, "arena:main", "only with glibc's malloc");
	fixture_free(&r.f);
}

/* ---- completion ---- */

/* expected: the candidates, joined by |; "…" behind it: there are more. */
static void completes(struct run *r, const char *text, uint32_t from, const char *expected)
{
	const char *bar = strchr(text, '|');
	char *typed = bar ? mt_format("%.*s%s", (int)(bar - text), text, bar + 1) : mt_strdup(text);
	struct mt_filter_candidates c = {0};
	char found[2000] = "";

	mt_filter_complete(typed, (uint32_t)(bar ? (size_t)(bar - text) : strlen(text)),
		&r->f.profile, r->functions.count ? &r->functions : NULL, &c);
	for (uint32_t i = 0; i < c.count; i++)
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? "|" : "",
			c.items[i].text);
	if (c.expected)
		snprintf(found, sizeof found, "(%s)", c.expected);
	bool more = strlen(expected) > 3 && !strcmp(expected + strlen(expected) - 3, "...");

	if (more ? strncmp(found, expected, strlen(expected) - 3) != 0
		 : strcmp(found, expected) != 0)
		fail_msg("'%s' completes to %s, not %s", text, found, expected);
	if (c.from != from)
		fail_msg("'%s' completes from %u, not %u", text, c.from, from);
	mt_filter_candidates_free(&c);
	free(typed);
}

static void test_complete(void **state)
{
	struct run r;

	(void)state;
	heap_init(&r);
	completes(&r, "", 0,
		"function:|source:|module:|group:|allocated_by:|domain:|from:|to:|lifetime:|"
		"size>=...");
	completes(&r, "si", 0, "size>=|size<=");
	completes(&r, "parse si", 6, "size>=|size<=");
	completes(&r, "si| parse", 0, "size>=|size<=");
	completes(&r, "size_", 0, "size_min:|size_max:");
	completes(&r, "!", 1, "function:|source:|module:");
	completes(&r, "a !so", 3, "source:");
	completes(&r, "-so", 1, "");
	completes(&r, "xyz", 0, "");
	completes(&r, "lifetime:only_s", 9, "only_short_lived ");
	completes(&r, "lifetime:only_|x", 9,
		"only_leaked |only_not_deallocated_in_current_range ...");
	completes(&r, "arena:", 6, "main |thread ");
	completes(&r, "mmapped=y", 8, "yes ");
	fixture_group(&r.f, STACK(fixture_pc(&r.f, 0, "main", "", 0)), 1, 10, 1);
	completes(&r, "allocated_by:", 13, "malloc ");
	completes(&r, "allocated_by:new,m", 13, "new,malloc ");
	completes(&r, "domain:", 7, "heap ");
	completes(&r, "domain:x", 7, "(a domain such as heap or pool)");
	completes(&r, "thread:w", 7, "worker ");
	completes(&r, "thread:", 7, "main |worker ");
	completes(&r, "thread:8", 7, "8 ");
	completes(&r, "thread:'w", 7, "worker ");
	completes(&r, "thread:'a b' marker:h", 20, "hot ");
	completes(&r, "size>=", 6, "(a size such as 4096, 64k or 1.5M)");
	completes(&r, "lifetime>=", 10, "(a duration such as 500ms, 1.5s, 2m or 1h)");
	completes(&r, "alive_at:p", 9, "peak ");
	completes(&r, "alive_at:", 9, "(a time such as 500ms, 1.5s, 2m, 20% of the run, or peak)");
	completes(&r, "function:x", 9, "(a regular expression such as '^json_')");
	completes(&r, "std::vec", 0, "");
	fixture_free(&r.f);
}

/* Functions by what their names begin with, each with how many groups it occurs in. */
static void test_complete_functions(void **state)
{
	struct mt_filter_candidates c = {0};
	struct run r;

	(void)state;
	run_init(&r);
	mt_filter_functions_make(&r.functions, &r.f.profile, &r.f.symbols);
	completes(&r, "mai", 0, "^main$ ");
	completes(&r, "inner MA", 6, "");
	completes(&r, "!ou", 1, "^outer$ ");
	completes(&r, "function:^i", 9, "^inner$ ");
	completes(&r, "si", 0, "size>=|size<=");
	mt_filter_complete("mai", 3, NULL, &r.functions, &c);
	assert_int_equal(c.items[0].groups, 3);
	mt_filter_complete("in", 2, NULL, &r.functions, &c);
	assert_int_equal(c.items[0].groups, 1);
	mt_filter_candidates_free(&c);
	groups_are(&r, "^main$", "abc");
	groups_are(&r, "main inner", "b");
	mt_filter_functions_free(&r.functions);
	fixture_free(&r.f);
}

/* ---- time ---- */

static uint64_t leapt_ns;

/* In place of libc's: all clocks go on while a virtual machine stands still. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);
	uint64_t ns = (uint64_t)now->tv_nsec + leapt_ns;

	now->tv_sec += (time_t)(ns / SECOND);
	now->tv_nsec = (long)(ns % SECOND);
	return result;
}

/* So many strings, with a leap of the clocks ahead of each: what the last match says. */
static int matches(unsigned count, uint64_t leap_ns)
{
	struct mt_err err;
	struct mt_pattern *pattern = mt_pattern_new("b+c", "function", &err);
	int status = 1;

	for (unsigned i = 0; i < count && status == 1; i++) {
		leapt_ns += leap_ns;
		status = mt_pattern_match(pattern, "abbbc", &err);
	}
	mt_pattern_free(pattern);
	return status;
}

/* A pass has two seconds of work, however long the machine stands still in it. */
static void test_time(void **state)
{
	(void)state;
	assert_int_equal(matches(1000, 0), 1);
	assert_int_equal(matches(70, SECOND), 1);
	assert_int_equal(matches(10000, SECOND / 1000), -ETIME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_text_property),
		cmocka_unit_test(test_any_text),
		cmocka_unit_test(test_other_names_at_the_same_place),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_contradiction),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_cannot),
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_complete_functions),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
