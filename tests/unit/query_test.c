#include "tests/unit/query_fixture.h"

#include "core/query/sort.h"

#include <stdio.h>
#include <time.h>

/* main -> parse -> (inline) add -> malloc ; main -> draw -> malloc ; main -> fact -> fact -> fact
 * -> malloc and one stack that was cut, whose pc has no symbols. */
struct program {
	struct fixture f;
	uint32_t main_pc, main_pc2, parse, add, draw, fact, unknown;
	uint32_t g_add, g_draw, g_fact, g_cut;
};

static void program_init(struct program *p)
{
	struct fixture *f = &p->f;

	fixture_init(f);
	uint32_t program = fixture_module(f, "/usr/bin/prog", 0x1000);
	uint32_t library = fixture_module(f, "/usr/lib/libdraw.so", 0x2000);

	p->main_pc = fixture_pc(f, program, "main", "src/main.c", 10);
	p->main_pc2 = fixture_pc(f, program, "main", "src/main.c", 20);
	p->parse = fixture_pc(f, program, "Parse::run", "src/parse.cc", 30);
	p->add = fixture_bare_pc(f, program, 0x1500);
	fixture_frame(f, p->add, "push", "src/vector.h", 5, true);
	fixture_frame(f, p->add, "add", "src/parse.cc", 40, false);
	p->draw = fixture_pc(f, library, "draw", "lib/draw.c", 50);
	p->fact = fixture_pc(f, program, "fact", "src/fact.c", 60);
	p->unknown = fixture_bare_pc(f, library, 0x2abc);
	p->g_add = fixture_group(f, STACK(p->main_pc, p->parse, p->add), 10, 8, 5);
	p->g_draw = fixture_group(f, STACK(p->main_pc2, p->draw), 4, 100, 4);
	p->g_fact = fixture_group(f, STACK(p->main_pc, p->fact, p->fact, p->fact), 6, 16, 1);
	p->g_cut = fixture_group(f, STACK(MT_PC_CUT, p->unknown), 3, 4, 3);
}

static void assert_selected(struct program *p, struct mt_filter *filter, enum mt_metric sort,
	bool ascending, const uint32_t *expected, uint32_t count)
{
	struct mt_selection selection = {0};

	assert_int_equal(0,
		mt_select(&selection, &p->f.profile, &p->f.symbols, filter, sort, ascending, NULL));
	assert_int_equal(count, selection.count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(expected[i], selection.groups[i]);
	mt_selection_free(&selection);
}
#define SELECTS(p, filter, ...) \
	assert_selected(p, filter, MT_METRIC_LEAKED_SIZE, true, (const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void test_sort(void **state)
{
	struct program p;

	(void)state;
	program_init(&p);
	/* leaked bytes: 40, 400, 16, 12 */
	SELECTS(&p, NULL, p.g_cut, p.g_fact, p.g_add, p.g_draw);
	assert_selected(&p, NULL, MT_METRIC_LEAKED_SIZE, false,
		(const uint32_t[]){p.g_draw, p.g_add, p.g_fact, p.g_cut}, 4);
	assert_selected(&p, NULL, MT_METRIC_ALLOCATED_COUNT, false,
		(const uint32_t[]){p.g_add, p.g_fact, p.g_draw, p.g_cut}, 4);
	/* all equal: by id, in both orders */
	assert_selected(&p, NULL, MT_METRIC_TEMPORARY_COUNT, false,
		(const uint32_t[]){p.g_add, p.g_draw, p.g_fact, p.g_cut}, 4);
	assert_selected(&p, NULL, MT_METRIC_TEMPORARY_COUNT, true,
		(const uint32_t[]){p.g_add, p.g_draw, p.g_fact, p.g_cut}, 4);
	/* equal scores: more bytes first */
	uint8_t scores[] = {20, 50, 50, 50};

	p.f.profile.scores = scores;
	p.f.profile.score_count = 4;
	assert_selected(&p, NULL, MT_METRIC_SUSPECT, false,
		(const uint32_t[]){p.g_draw, p.g_fact, p.g_cut, p.g_add}, 4);
	p.f.profile.scores = NULL;
	fixture_free(&p.f);
}

static void test_sum(void **state)
{
	struct program p;
	struct mt_selection selection = {0};

	(void)state;
	program_init(&p);
	p.f.profile.info.wall_ns = 9000;
	mt_select(&selection, &p.f.profile, &p.f.symbols, NULL, MT_METRIC_SIZE, false, NULL);
	assert_int_equal(23, selection.sum.allocated_count);
	assert_int_equal(80 + 400 + 96 + 12, selection.sum.allocated_bytes);
	assert_int_equal(13, selection.sum.live_count);
	assert_int_equal(468, selection.sum.live_bytes);
	assert_int_equal(4, selection.sum.min_size);
	assert_int_equal(100, selection.sum.max_size);
	assert_int_equal(1000, selection.sum.first_ns);
	assert_int_equal(5000, selection.sum.last_ns);
	assert_int_equal(8000, mt_metric_value(&p.f.profile, &selection.sum, MT_METRIC_AGE));
	assert_int_equal(4000, mt_metric_value(&p.f.profile, &selection.sum, MT_METRIC_INTERVAL));
	mt_selection_free(&selection);
	fixture_free(&p.f);
}

static void filter_is(struct mt_filter *filter, const char *text)
{
	struct mt_err err = {0};

	if (mt_filter_parse(filter, text, &err))
		fail_msg("%s: %s", text, err.text);
}

static void test_filter(void **state)
{
	struct program p;
	struct mt_filter *filter = mt_filter_new();

	(void)state;
	program_init(&p);
	filter_is(filter, "^main$");
	SELECTS(&p, filter, p.g_fact, p.g_add, p.g_draw);
	filter_is(filter, "push"); /* an inline frame */
	SELECTS(&p, filter, p.g_add);
	filter_is(filter, "parse::RUN"); /* a capital: case matters */
	assert_selected(&p, filter, MT_METRIC_SIZE, true, NULL, 0);
	filter_is(filter, "parse::run"); /* none: it does not */
	SELECTS(&p, filter, p.g_add);
	filter_is(filter, "Parse::\\w+");
	SELECTS(&p, filter, p.g_add);
	filter_is(filter, "parse::\\W*run"); /* the capital of an escape is none */
	SELECTS(&p, filter, p.g_add);
	filter_is(filter, "-fact");
	SELECTS(&p, filter, p.g_cut, p.g_add, p.g_draw);
	filter_is(filter, "main !function:fact|draw");
	SELECTS(&p, filter, p.g_add);
	filter_is(filter, "main !function=fact|draw");
	SELECTS(&p, filter, p.g_add);
	filter_is(filter, "function<void"); /* a template's name, not a comparison */
	assert_selected(&p, filter, MT_METRIC_SIZE, true, NULL, 0);
	filter_is(filter, "source:\\.h$");
	SELECTS(&p, filter, p.g_add);
	filter_is(filter, "!source:parse");
	SELECTS(&p, filter, p.g_cut, p.g_fact, p.g_draw);
	filter_is(filter, "module:libdraw");
	SELECTS(&p, filter, p.g_cut, p.g_draw);
	filter_is(filter, "!module_regex:libdraw function:main");
	SELECTS(&p, filter, p.g_fact, p.g_add);
	filter_is(filter, "");
	assert_false(mt_filter_active(filter));
	mt_filter_free(filter);
	fixture_free(&p.f);
}

/* Symbols that come later are seen, and do not need the filter to be set again. */
static void test_filter_generation(void **state)
{
	struct program p;
	struct mt_filter *filter = mt_filter_new();

	(void)state;
	program_init(&p);
	filter_is(filter, "late");
	assert_selected(&p, filter, MT_METRIC_SIZE, true, NULL, 0);
	fixture_frame(&p.f, p.unknown, "come_late", "x.c", 1, false);
	SELECTS(&p, filter, p.g_cut);
	mt_filter_free(filter);
	fixture_free(&p.f);
}

static void rejects(const char *text, const char *position, const char *expected)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_err err = {0};

	mt_filter_parse(filter, "kept", NULL);
	assert_true(mt_filter_parse(filter, text, &err) < 0);
	if (!strstr(err.text, position) || !strstr(err.text, expected))
		fail_msg("'%s' gave: %s", text, err.text);
	assert_string_equal("kept", mt_filter_get(filter, MT_FILTER_FUNCTION_REGEX));
	assert_null(strchr(err.text, '\n'));
	mt_filter_free(filter);
}

static void test_filter_errors(void **state)
{
	(void)state;
	rejects("(abc", "character 5", "')'");
	rejects("a[bc", "character 5", "']'");
	rejects("*a", "character 1", "repeat");
	rejects("a{3,2}", "character", "smaller");
	rejects("fucntion:a", "'fucntion' at character 1", "function:");
	rejects("a source:", "character 3", "regular expression");
	rejects("a 'b c", "character 3", "quote");
	rejects("'a'b", "character 1", "blank");
	rejects("!negative_source_regex:x", "character 1", "!source:");
	rejects("source:a (?<x>b", "character 7", "')'");
}

static void round_trip(const char *text, const char *again)
{
	struct mt_filter *filter = mt_filter_new();

	filter_is(filter, text);
	char *shown = mt_filter_text(filter);

	assert_string_equal(again, shown);
	filter_is(filter, shown);
	free(shown);
	shown = mt_filter_text(filter);
	assert_string_equal(again, shown);
	free(shown);
	mt_filter_free(filter);
}

static void test_filter_text(void **state)
{
	(void)state;
	round_trip("", "");
	round_trip("  std::vector  ", "std::vector");
	round_trip("function:a !b source:c !module:d", "a source:c -b !module:d");
	round_trip("'operator new'", "\"operator new\"");
	round_trip("'say \"a b\" ''c'''", "'say \"a b\" ''c'''");
	round_trip("function:-x -!y", "function:-x -!y");
	round_trip("'a:b'", "function:a:b");
}

/* Patterns that would need ages end with an error, soon. */
static void test_filter_catastrophe(void **state)
{
	static const char *const patterns[] = {"^(a+)+$", "(a|aa)+$", "^(a|a?)+$",
		"(.*)*(.*)*(.*)*x$", "((a*)*)*b", "^((a|a)*)*\\1$"};
	struct fixture f;
	char name[5001] = {0};

	(void)state;
	fixture_init(&f);
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 2] = '!';
	uint32_t pc = fixture_pc(&f, fixture_module(&f, "m", 0), name, "", 0);

	fixture_group(&f, STACK(pc), 1, 1, 1);
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		struct mt_filter *filter = mt_filter_new();
		struct mt_selection selection = {0};
		struct mt_err err = {0};
		clock_t start = clock();

		assert_int_equal(0,
			mt_filter_set(filter, MT_FILTER_FUNCTION_REGEX, patterns[i], &err));
		int status = mt_select(&selection, &f.profile, &f.symbols, filter, MT_METRIC_SIZE,
			false, &err);

		if (clock() - start > CLOCKS_PER_SEC)
			fail_msg("%s took too long", patterns[i]);
		assert_true(status == 0 || (status < 0 && strstr(err.text, "pattern")));
		if (i == 0)
			assert_true(status < 0);
		mt_selection_free(&selection);
		mt_filter_free(filter);
	}
	fixture_free(&f);
}

static void test_backtrace(void **state)
{
	struct program p;
	struct mt_backtrace b = {0};

	(void)state;
	program_init(&p);
	mt_backtrace_get(&b, &p.f.profile, &p.f.symbols, p.g_add);
	assert_int_equal(4, b.count);
	assert_string_equal("push", b.frames[0].function);
	assert_true(b.frames[0].inlined);
	assert_int_equal(5, b.frames[0].line);
	assert_string_equal("add", b.frames[1].function);
	assert_false(b.frames[1].inlined);
	assert_string_equal("Parse::run", b.frames[2].function);
	assert_string_equal("main", b.frames[3].function);
	assert_string_equal("/usr/bin/prog", b.frames[3].module);
	assert_int_equal(0x500, b.frames[0].offset);
	mt_backtrace_get(&b, &p.f.profile, &p.f.symbols, p.g_cut);
	assert_int_equal(2, b.count);
	assert_string_equal("", b.frames[0].function);
	assert_int_equal(0xabc, b.frames[0].offset);
	assert_int_equal(MT_PC_CUT, b.frames[1].pc);
	assert_string_equal("[stack cut here]", b.frames[1].function);
	mt_backtrace_free(&b);
	fixture_free(&p.f);
}

/* The tree as one line: function(total leaked/self leaked){children} */
static void write_tree(struct mt_buffer *out, struct mt_tree *tree, uint32_t node)
{
	struct mt_backtrace_frame frame;

	mt_tree_expand(tree, node);
	const struct mt_tree_node *at = mt_tree_get(tree, node);

	mt_tree_label(tree, node, &frame);
	mt_buffer_printf(out, "%s(%d/%d)", *frame.function ? frame.function : "?",
		(int)at->total.live_bytes, (int)at->self.live_bytes);
	if (at->first_child == MT_NO_NODE)
		return;
	mt_buffer_printf(out, "{");
	for (uint32_t child = at->first_child; child != MT_NO_NODE;
		child = mt_tree_get(tree, child)->next_sibling) {
		if (out->data[out->len - 1] != '{')
			mt_buffer_printf(out, " ");
		write_tree(out, tree, child);
	}
	mt_buffer_printf(out, "}");
}

static char *tree_text(struct fixture *f, struct mt_filter *filter, bool inverted)
{
	struct mt_selection selection = {0};
	struct mt_buffer out = {0};

	assert_int_equal(0,
		mt_select(&selection, &f->profile, &f->symbols, filter, MT_METRIC_SIZE, false,
			NULL));
	struct mt_tree *tree =
		mt_tree_new(&f->profile, &f->symbols, &selection, inverted, MT_METRIC_LEAKED_SIZE);

	write_tree(&out, tree, mt_tree_root(tree));
	mt_buffer_add(&out, "", 1);
	/* Nothing is left of the tree whose memory another takes. */
	for (int i = 0; i < 2; i++) {
		struct mt_buffer again = {0};

		tree = mt_tree_again(tree, &f->profile, &f->symbols, &selection, inverted != !i,
			MT_METRIC_LEAKED_SIZE);
		write_tree(&again, tree, mt_tree_root(tree));
		mt_buffer_add(&again, "", 1);
		assert_int_equal(i, !strcmp((char *)out.data, (char *)again.data));
		mt_buffer_free(&again);
	}
	mt_tree_free(tree);
	mt_selection_free(&selection);
	return (char *)out.data;
}

static void test_tree(void **state)
{
	struct program p;

	(void)state;
	program_init(&p);
	char *text = tree_text(&p.f, NULL, false);

	assert_string_equal(
		"[all](468/0){main(456/0){draw(400/400) Parse::run(40/0){add(40/0){push(40/40)}} "
		"fact(16/0){fact(16/0){fact(16/16)}}} [stack cut here](12/0){?(12/12)}}",
		text);
	free(text);
	struct mt_filter *filter = mt_filter_new();

	filter_is(filter, "fact");
	text = tree_text(&p.f, filter, false);
	assert_string_equal("[all](16/0){main(16/0){fact(16/0){fact(16/0){fact(16/16)}}}}", text);
	free(text);
	mt_filter_free(filter);
	fixture_free(&p.f);
}

static void test_tree_inverted(void **state)
{
	struct program p;

	(void)state;
	program_init(&p);
	char *text = tree_text(&p.f, NULL, true);

	assert_string_equal(
		"[all](468/0){draw(400/400){main(400/0)} push(40/40){add(40/0){Parse::run(40/0)"
		"{main(40/0)}}} fact(16/16){fact(16/0){fact(16/0){main(16/0)}}} "
		"?(12/12){[stack cut here](12/0)}}",
		text);
	free(text);
	fixture_free(&p.f);
}

/* Two lines of one function are one node, whose line is that of the heavier one. */
static void test_tree_line(void **state)
{
	struct program p;
	struct mt_selection selection = {0};
	struct mt_backtrace_frame frame;

	(void)state;
	program_init(&p);
	mt_select(&selection, &p.f.profile, &p.f.symbols, NULL, MT_METRIC_SIZE, false, NULL);
	struct mt_tree *tree =
		mt_tree_new(&p.f.profile, &p.f.symbols, &selection, false, MT_METRIC_LEAKED_SIZE);

	mt_tree_expand_all(tree);
	uint32_t first = mt_tree_get(tree, mt_tree_root(tree))->first_child;

	mt_tree_label(tree, first, &frame);
	assert_string_equal("main", frame.function);
	assert_int_equal(20, frame.line); /* 400 bytes against 56 */
	assert_int_equal(1, mt_tree_get(tree, first)->depth);
	uint32_t draw = mt_tree_get(tree, first)->first_child;

	assert_int_equal(p.g_draw, mt_tree_get(tree, draw)->group);
	assert_int_equal(MT_NO_GROUP, mt_tree_get(tree, first)->group);
	mt_tree_free(tree);
	tree = mt_tree_new(&p.f.profile, &p.f.symbols, &selection, false,
		MT_METRIC_ALLOCATED_COUNT);
	mt_tree_expand(tree, mt_tree_root(tree));
	mt_tree_label(tree, mt_tree_get(tree, mt_tree_root(tree))->first_child, &frame);
	assert_int_equal(10, frame.line); /* 16 allocations against 4 */
	mt_tree_free(tree);
	mt_selection_free(&selection);
	fixture_free(&p.f);
}

/* Of a tree, the child with this name. */
static uint32_t child_named(struct mt_tree *tree, uint32_t node, const char *name)
{
	struct mt_backtrace_frame frame;
	uint32_t child;

	mt_tree_expand(tree, node);
	for (child = mt_tree_get(tree, node)->first_child; child != MT_NO_NODE;
		child = mt_tree_get(tree, child)->next_sibling) {
		mt_tree_label(tree, child, &frame);
		if (!strcmp(frame.function, name))
			break;
	}
	if (child == MT_NO_NODE)
		fail_msg("there is no %s", name);
	return child;
}

/* A branch ends where only the library leads on to malloc. A callback from the library is the
 * program's own again. */
static void test_tree_ends(void **state)
{
	struct fixture f;
	struct mt_selection selection = {0};

	(void)state;
	fixture_init(&f);
	uint32_t program = fixture_module(&f, "/usr/bin/prog", 0x1000);
	uint32_t start = fixture_pc(&f, program, "_start", "", 0);
	uint32_t main_pc = fixture_pc(&f, program, "main", "main.cc", 10);
	uint32_t fill = fixture_pc(&f, program, "fill", "main.cc", 20);
	uint32_t push = fixture_pc(&f, program, "std::vector<int>::push_back", "", 0);
	uint32_t grow = fixture_pc(&f, program, "std::vector<int>::grow", "", 0);
	uint32_t sort = fixture_pc(&f, program, "std::sort", "", 0);

	fixture_group(&f, STACK(start, main_pc, fill, push, grow), 1, 8, 1);
	fixture_group(&f, STACK(start, main_pc, sort, fill, push), 1, 8, 1);
	fixture_group(&f, STACK(start, main_pc, push, grow), 1, 8, 1);
	mt_select(&selection, &f.profile, &f.symbols, NULL, MT_METRIC_SIZE, false, NULL);
	struct mt_tree *tree =
		mt_tree_new(&f.profile, &f.symbols, &selection, false, MT_METRIC_SIZE);
	uint32_t root = mt_tree_root(tree), begin = child_named(tree, root, "_start");
	uint32_t in_main = child_named(tree, begin, "main");
	uint32_t pushes = child_named(tree, in_main, "std::vector<int>::push_back");
	uint32_t sorts = child_named(tree, in_main, "std::sort");

	assert_false(mt_tree_ends_here(tree, root));
	assert_false(mt_tree_ends_here(tree, begin));
	assert_false(mt_tree_ends_here(tree, in_main));
	assert_true(mt_tree_ends_here(tree, child_named(tree, in_main, "fill")));
	assert_true(mt_tree_ends_here(tree, pushes)); /* called by the program */
	assert_false(mt_tree_ends_here(tree,
		child_named(tree, pushes, "std::vector<int>::grow"))); /* nothing is below */
	assert_false(mt_tree_ends_here(tree, sorts));
	assert_true(mt_tree_ends_here(tree, child_named(tree, sorts, "fill")));
	mt_tree_free(tree);
	tree = mt_tree_new(&f.profile, &f.symbols, &selection, true, MT_METRIC_SIZE);
	assert_false(mt_tree_ends_here(tree,
		child_named(tree, mt_tree_root(tree), "std::vector<int>::push_back")));
	mt_tree_free(tree);
	mt_selection_free(&selection);
	fixture_free(&f);
}

static void test_timeline(void **state)
{
	struct mt_profile profile;
	struct mt_timeline t = {0};
	struct mt_sample samples[] = {
		{100, 1, 150, 10, 4, {7, 0, 0, 0}},
		{200, 2, 250, 20, 0, {8, 0, 0, 0}},
		{50, 1, 220, 0, 5, {0}},
		{60, 1, 60, 3, 3, {9, 0, 0, 0}},
	};

	(void)state;
	mt_profile_init(&profile);
	profile.step_ns = 1000;
	mt_timeline_get(&t, &profile, 0, 10, 4); /* no samples: zeroes */
	assert_int_equal(4, t.count);
	assert_int_equal(0, t.columns[3].live_bytes);
	profile.samples = mt_alloc(sizeof samples);
	memcpy(profile.samples, samples, sizeof samples);
	profile.sample_count = profile.sample_capacity = 4;
	mt_timeline_get(&t, &profile, 0, 4000, 4); /* as recorded */
	for (int i = 0; i < 4; i++)
		assert_memory_equal(&samples[i], &t.columns[i], sizeof *samples);
	mt_timeline_get(&t, &profile, 0, 4000, 2); /* pairs */
	assert_int_equal(200, t.columns[0].live_bytes);
	assert_int_equal(250, t.columns[0].max_bytes);
	assert_int_equal(30, t.columns[0].allocations);
	assert_int_equal(8, t.columns[1].frees);
	assert_int_equal(220, t.columns[1].max_bytes);
	/* more columns than steps: each step three times, undivided */
	mt_timeline_get(&t, &profile, 0, 4000, 12);
	for (int i = 0; i < 12; i++)
		assert_memory_equal(&samples[i / 3], &t.columns[i], sizeof *samples);
	assert_int_equal(1000, mt_timeline_begin(&t, 4));
	assert_int_equal(2000, mt_timeline_end(&t, 4));
	mt_timeline_get(&t, &profile, 1500, 2500, 1); /* the two whole steps that it touches */
	assert_int_equal(20, t.columns[0].allocations);
	assert_int_equal(5, t.columns[0].frees);
	assert_int_equal(250, t.columns[0].max_bytes);
	assert_int_equal(50, t.columns[0].live_bytes);
	assert_int_equal(1000, mt_timeline_begin(&t, 0));
	assert_int_equal(3000, mt_timeline_end(&t, 0));
	mt_timeline_get(&t, &profile, 5000, 6000, 1); /* after the end: as it was */
	assert_int_equal(60, t.columns[0].live_bytes);
	assert_int_equal(60, t.columns[0].max_bytes);
	assert_int_equal(0, t.columns[0].allocations);
	profile.info.wall_ns = 3100; /* the last step was short: all of it lies before the end */
	mt_timeline_get(&t, &profile, 0, 3100, 1);
	assert_int_equal(33, t.columns[0].allocations);
	assert_int_equal(3100, mt_timeline_end(&t, 0));
	/* columns of 620: the last one holds the ends of two steps */
	mt_timeline_get(&t, &profile, 0, 3100, 5);
	assert_int_equal(10, t.columns[0].allocations);
	assert_int_equal(10, t.columns[1].allocations);
	assert_int_equal(20, t.columns[2].allocations);
	assert_int_equal(20, t.columns[3].allocations);
	assert_int_equal(3, t.columns[4].allocations);
	assert_int_equal(5 + 3, t.columns[4].frees);
	assert_int_equal(220, t.columns[4].max_bytes);
	mt_timeline_get(&t, &profile, 5, 5, 3);
	assert_int_equal(0, t.count);
	mt_timeline_free(&t);
	mt_profile_free(&profile);
}

/* A picture of a run that goes on: what has been drawn stays until the picture is full, for all
 * whole steps there are. */
static void test_timeline_grows(void **state)
{
	static struct mt_sample samples[2048];
	struct mt_profile profile = {.step_ns = 1000, .samples = samples};
	struct mt_timeline before = {0}, now = {0};
	uint32_t changes = 0, seen = 0;
	uint64_t end = 0;

	(void)state;
	for (int i = 0; i < 2048; i++)
		samples[i] = (struct mt_sample){
			.live_bytes = (uint64_t)i,
			.max_bytes = (uint64_t)random() % 1000,
			.allocations = 1,
		};
	for (uint32_t steps = 1; steps <= 2048; steps++) {
		profile.sample_count = steps;
		profile.info.wall_ns = steps * 1000 - (uint64_t)random() % 1000;
		uint64_t to = mt_timeline_growing_end(&profile, 92);

		assert_true(to >= profile.info.wall_ns && to % (92 * 1000) == 0);
		mt_timeline_get(&now, &profile, 0, to, 92);
		assert_int_equal(92, now.count);
		uint32_t shown = mt_timeline_seen(&now, &profile);

		assert_true(shown > 0 && mt_timeline_edge(&now, shown - 1) < profile.info.wall_ns);
		assert_true(shown == 92 || mt_timeline_edge(&now, shown) >= profile.info.wall_ns);
		if (to == end) /* all but the last one, which goes on */
			assert_memory_equal(before.columns, now.columns,
				(seen - 1) * sizeof *now.columns);
		changes += to != end;
		end = to;
		seen = shown;
		mt_timeline_get(&before, &profile, 0, to, 92);
	}
	assert_true(changes <= 10);
	profile.info.wall_ns = 0;
	assert_int_equal(0, mt_timeline_growing_end(&profile, 92));
	assert_int_equal(1, mt_timeline_round(0));
	assert_int_equal(3, mt_timeline_round(3));
	assert_int_equal(6, mt_timeline_round(5));
	assert_int_equal(8, mt_timeline_round(7));
	assert_true(mt_timeline_round(UINT64_MAX) == 1ull << 62);
	mt_timeline_free(&before);
	mt_timeline_free(&now);
}

/* What the screen draws is what the command line prints, wherever there are steps enough; and no
 * column shows anything but whole steps, or leaves one out. */
static void test_timeline_agrees(void **state)
{
	static struct mt_sample samples[300];
	struct mt_profile profile = {.step_ns = 1000, .samples = samples};
	struct mt_timeline printed = {0}, drawn = {0};
	uint64_t halves[800];

	(void)state;
	for (int i = 0; i < 300; i++)
		samples[i] = (struct mt_sample){
			.live_bytes = (uint64_t)random() % 1000,
			.max_bytes = (uint64_t)random() % 1000,
			.allocations = (uint64_t)random() % 1000,
			.frees = (uint64_t)random() % 1000,
		};
	for (int round = 0; round < 3000; round++) {
		profile.sample_count = 1 + (uint32_t)random() % 300;
		profile.info.wall_ns = profile.sample_count * 1000 - (uint64_t)random() % 1000;
		uint64_t from = round & 1 ? (uint64_t)random() % profile.info.wall_ns : 0;
		uint64_t to = profile.info.wall_ns;
		uint32_t columns = 1 + (uint32_t)random() % (to - from < 400 ? to - from : 400);
		uint32_t behind = (uint32_t)(from / 1000);
		uint32_t first, last;
		bool enough = profile.sample_count - behind >= columns;

		mt_timeline_of_steps(&printed, &profile, from, UINT64_MAX, columns);
		mt_timeline_get(&drawn, &profile, from, to, columns);
		mt_timeline_halves(&drawn, &profile, halves);
		assert_int_equal(columns, drawn.count);
		assert_int_equal(profile.sample_count - behind, drawn.steps);
		if (enough)
			assert_memory_equal(printed.columns, drawn.columns,
				columns * sizeof *drawn.columns);
		for (uint32_t i = 0; i < columns; i++) {
			mt_timeline_steps(&drawn, i, &first, &last);
			assert_true(first <= behind && behind <= last + 1); /* none is left out */
			assert_true(!enough || first == behind);
			behind = last + 1;
			assert_int_equal(samples[last].live_bytes, drawn.columns[i].live_bytes);
			assert_int_equal(drawn.columns[i].max_bytes,
				halves[2 * i] > halves[2 * i + 1] ? halves[2 * i]
								  : halves[2 * i + 1]);
			uint64_t edge = mt_timeline_edge(&drawn, i);

			assert_true(edge < mt_timeline_edge(&drawn, i + 1));
			assert_int_equal(i, mt_timeline_column(&drawn, edge));
			assert_int_equal(i,
				mt_timeline_column(&drawn, mt_timeline_edge(&drawn, i + 1) - 1));
		}
		assert_int_equal(profile.sample_count, behind);
		assert_int_equal(to, mt_timeline_end(&drawn, columns - 1));
	}
	mt_timeline_free(&printed);
	mt_timeline_free(&drawn);
}

static void test_timeline_of_steps(void **state)
{
	struct mt_timeline t = {0};
	struct mt_sample samples[] = {
		{100, 1, 150, 10, 4, {7, 0, 0, 0}},
		{200, 2, 250, 20, 0, {8, 0, 0, 0}},
		{50, 1, 220, 0, 5, {0}},
		{60, 1, 60, 3, 3, {9, 0, 0, 0}},
	};
	struct mt_profile profile = {
		.step_ns = 1000,
		.samples = samples,
		.sample_count = 4,
		.info.wall_ns = 3100,
	};

	(void)state;
	/* whole steps: 1, 1 and 2, each with its own end */
	mt_timeline_of_steps(&t, &profile, 0, UINT64_MAX, 3);
	assert_int_equal(3, t.count);
	assert_int_equal(1000, mt_timeline_end(&t, 0));
	assert_int_equal(2000, mt_timeline_end(&t, 1));
	assert_int_equal(3100, mt_timeline_end(&t, 2));
	assert_memory_equal(&samples[0], &t.columns[0], sizeof *samples);
	assert_memory_equal(&samples[1], &t.columns[1], sizeof *samples);
	assert_int_equal(60, t.columns[2].live_bytes);
	assert_int_equal(220, t.columns[2].max_bytes); /* not the 250 of the step before */
	assert_int_equal(3, t.columns[2].allocations);
	assert_int_equal(8, t.columns[2].frees);
	mt_timeline_of_steps(&t, &profile, 1500, UINT64_MAX, 40); /* no more columns than steps */
	assert_int_equal(3, t.count);
	assert_memory_equal(&samples[1], &t.columns[0], sizeof *samples);
	mt_timeline_free(&t);
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(MT_METRIC_AT_PEAK_SIZE, mt_metric_find(NULL, "at_peak_size"));
	assert_int_equal(-1, mt_metric_find(NULL, "at_peak"));
	assert_int_equal(MT_FILTER_SOURCE_REGEX, mt_filter_find("source-regex"));
	assert_int_equal(MT_FILTER_NEGATIVE_SOURCE_REGEX, mt_filter_find("negative_source-regex"));
	assert_int_equal(-1, mt_filter_find("source"));
	assert_true(mt_metric_sums(NULL, MT_METRIC_SIZE));
	assert_false(mt_metric_sums(NULL, MT_METRIC_MAX_SIZE));
}

/* ---- the obvious implementation, on random profiles ---- */

#define RANDOM_PCS 40u
#define RANDOM_GROUPS 300u
#define REGEXES (MT_FILTER_NEGATIVE_MODULE_REGEX + 1) /* they come first */

static void random_profile(struct fixture *f, unsigned *seed)
{
	char name[32], source[32];
	uint32_t modules[3], pcs[RANDOM_PCS];

	fixture_init(f);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "/lib/m%d.so", i);
		modules[i] = fixture_module(f, name, 0);
	}
	for (uint32_t i = 0; i < RANDOM_PCS; i++) {
		pcs[i] = fixture_bare_pc(f, modules[rand_r(seed) % 3], i);
		for (int frames = rand_r(seed) % 4; frames > 0; frames--) {
			snprintf(name, sizeof name, "f%d", rand_r(seed) % 15);
			snprintf(source, sizeof source, "s%d.c", rand_r(seed) % 5);
			fixture_frame(f, pcs[i], name, source, (uint32_t)rand_r(seed) % 90,
				frames > 1);
		}
	}
	for (uint32_t i = 0; i < RANDOM_GROUPS; i++) {
		uint32_t stack[9] = {0};

		for (int j = 0, depth = rand_r(seed) % 8; j < depth; j++)
			stack[j] = pcs[rand_r(seed) % RANDOM_PCS];
		uint64_t count = (uint64_t)rand_r(seed) % 20;

		fixture_group(f, stack, count, (uint64_t)rand_r(seed) % 50,
			count ? (uint64_t)rand_r(seed) % count : 0);
	}
}

/* A backtrace's frame whose function is f<digit>, or whose source or module is so named. */
static bool slow_matches(struct fixture *f, uint32_t group, enum mt_filter_field field,
	const char *word)
{
	struct mt_backtrace b = {0};
	bool found = false;

	mt_backtrace_get(&b, &f->profile, &f->symbols, group);
	for (uint32_t i = 0; i < b.count; i++) {
		const char *text = field == MT_FILTER_FUNCTION_REGEX
				|| field == MT_FILTER_NEGATIVE_FUNCTION_REGEX
			? b.frames[i].function
			: field == MT_FILTER_SOURCE_REGEX
				|| field == MT_FILTER_NEGATIVE_SOURCE_REGEX
			? b.frames[i].source
			: b.frames[i].module;

		found = found || strstr(text, word);
	}
	mt_backtrace_free(&b);
	return found != (field >= MT_FILTER_NEGATIVE_FUNCTION_REGEX);
}

static void check_selection(struct fixture *f, unsigned *seed)
{
	struct mt_filter *filter = mt_filter_new();
	struct mt_selection s = {0};
	bool on[REGEXES] = {0}, ascending = rand_r(seed) % 2;
	char words[REGEXES][16];
	enum mt_metric sort = (enum mt_metric)(rand_r(seed) % MT_METRIC_COUNT);
	uint32_t expected = 0;

	for (int i = 0; i < REGEXES; i++) {
		on[i] = rand_r(seed) % 4 == 0;
		snprintf(words[i], sizeof words[i], "%c%d", "fsmfsm"[i], rand_r(seed) % 6);
		if (on[i])
			assert_int_equal(0,
				mt_filter_set(filter, (enum mt_filter_field)i, words[i], NULL));
	}
	assert_int_equal(0, mt_select(&s, &f->profile, &f->symbols, filter, sort, ascending, NULL));
	for (uint32_t g = 0; g < f->profile.group_count; g++) {
		bool matches = f->profile.groups[g].allocated_count > 0, there = false;

		for (int i = 0; i < REGEXES; i++)
			if (on[i] && !slow_matches(f, g, (enum mt_filter_field)i, words[i]))
				matches = false;
		for (uint32_t i = 0; i < s.count; i++)
			there = there || s.groups[i] == g;
		assert_int_equal(matches, there);
		expected += matches;
	}
	assert_int_equal(expected, s.count);
	for (uint32_t i = 1; i < s.count; i++) {
		uint64_t a =
			mt_metric_value(&f->profile, &f->profile.groups[s.groups[i - 1]], sort);
		uint64_t b = mt_metric_value(&f->profile, &f->profile.groups[s.groups[i]], sort);

		assert_true(ascending ? a <= b : a >= b);
		if (a == b && sort == MT_METRIC_SUSPECT) {
			a = f->profile.groups[s.groups[i - 1]].live_bytes;
			b = f->profile.groups[s.groups[i]].live_bytes;
			assert_true(ascending ? a <= b : a >= b);
		}
		assert_true(a != b || s.groups[i - 1] < s.groups[i]);
	}
	mt_selection_free(&s);
	mt_filter_free(filter);
}

static bool same_frame(const struct mt_backtrace_frame *a, const struct mt_backtrace_frame *b)
{
	return !strcmp(a->function, b->function) && !strcmp(a->module, b->module)
		&& (*a->function || a->pc == b->pc);
}

/* Each node's totals against all groups whose backtrace begins (or ends) with the node's path. */
static void check_node(struct fixture *f, struct mt_tree *tree, const struct mt_selection *s,
	uint32_t node, bool inverted)
{
	uint32_t depth = mt_tree_get(tree, node)->depth;
	struct mt_backtrace_frame *path = mt_alloc((depth + 1) * sizeof *path);
	struct mt_backtrace b = {0};
	uint64_t total = 0, self = 0;

	for (uint32_t at = node, i = depth; i > 0; at = mt_tree_get(tree, at)->parent)
		mt_tree_label(tree, at, &path[--i]);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct mt_group *group = &f->profile.groups[s->groups[i]];
		bool matches;

		mt_backtrace_get(&b, &f->profile, &f->symbols, s->groups[i]);
		matches = b.count >= depth;
		for (uint32_t j = 0; j < depth && matches; j++)
			matches = same_frame(&path[j], &b.frames[inverted ? j : b.count - 1 - j]);
		total += matches ? group->allocated_count : 0;
		if (matches && (inverted ? depth == (b.count > 0) : b.count == depth))
			self += group->allocated_count;
	}
	assert_int_equal(total, mt_tree_get(tree, node)->total.allocated_count);
	assert_int_equal(self, mt_tree_get(tree, node)->self.allocated_count);
	mt_backtrace_free(&b);
	free(path);
}

static void check_tree(struct fixture *f, bool inverted)
{
	struct mt_selection s = {0};
	uint32_t pending[4096], count = 0, seen = 0;

	mt_select(&s, &f->profile, &f->symbols, NULL, MT_METRIC_SIZE, false, NULL);
	struct mt_tree *tree = mt_tree_new(&f->profile, &f->symbols, &s, inverted, MT_METRIC_SIZE);

	pending[count++] = mt_tree_root(tree);
	while (count && seen++ < 400) {
		uint32_t node = pending[--count];
		uint64_t last = UINT64_MAX;

		check_node(f, tree, &s, node, inverted);
		mt_tree_expand(tree, node);
		for (uint32_t child = mt_tree_get(tree, node)->first_child; child != MT_NO_NODE;
			child = mt_tree_get(tree, child)->next_sibling) {
			assert_true(mt_tree_get(tree, child)->total.allocated_bytes <= last);
			assert_int_equal(node, mt_tree_get(tree, child)->parent);
			last = mt_tree_get(tree, child)->total.allocated_bytes;
			assert_true(count < 4096);
			pending[count++] = child;
		}
	}
	mt_tree_free(tree);
	mt_selection_free(&s);
}

struct worst {
	const struct mt_profile *profile;
	uint64_t score;
};

static void find_worst(void *context, uint32_t group, uint32_t node, uint32_t frame)
{
	struct worst *w = context;
	uint64_t score = mt_metric_value(w->profile, &w->profile->groups[group], MT_METRIC_SUSPECT);

	(void)node;
	(void)frame;
	w->score = score > w->score ? score : w->score;
}

/* A node of the tree is as suspicious as the worst group below it, one of a single group as that:
 * what the list of groups says, the tree says. */
static void check_suspects(struct fixture *f, bool inverted, bool watched)
{
	struct mt_selection s = {0};
	uint32_t some = 0;

	uint8_t *scores = mt_alloc(f->profile.group_count + 1u);

	for (uint32_t i = 0; i < f->profile.group_count; i++)
		scores[i] = (uint8_t)(i * 37 % 101);
	f->profile.scores = watched ? scores : NULL;
	f->profile.score_count = watched ? f->profile.group_count : 0;
	mt_select(&s, &f->profile, &f->symbols, NULL, MT_METRIC_SUSPECT, false, NULL);
	struct mt_tree *tree =
		mt_tree_new(&f->profile, &f->symbols, &s, inverted, MT_METRIC_SUSPECT);

	for (uint32_t node = 0; node < mt_tree_count(tree) && node < 400; node++) {
		struct worst w = {&f->profile, 0};
		const struct mt_group *total;

		mt_tree_expand(tree, node);
		if (node)
			mt_tree_visit(tree, node, find_worst, &w);
		else
			for (uint32_t i = 0; i < s.count; i++)
				find_worst(&w, s.groups[i], 0, 0);
		total = &mt_tree_get(tree, node)->total;
		assert_int_equal(w.score, mt_metric_value(&f->profile, total, MT_METRIC_SUSPECT));
		assert_int_equal(!watched,
			mt_metric_is_estimated(&f->profile, total, MT_METRIC_SUSPECT));
		some += w.score > 0;
	}
	assert_true(some || !watched);
	mt_tree_free(tree);
	mt_selection_free(&s);
	free(scores);
	f->profile.scores = NULL;
}

static void test_property(void **state)
{
	unsigned seed = 20261120;

	(void)state;
	for (int round = 0; round < 12; round++) {
		struct fixture f;

		random_profile(&f, &seed);
		for (int i = 0; i < 8; i++)
			check_selection(&f, &seed);
		check_tree(&f, false);
		check_tree(&f, true);
		for (int i = 0; i < 4; i++)
			check_suspects(&f, i & 1, i & 2);
		fixture_free(&f);
	}
}

static void test_radix(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (uint32_t count = 0; count < 3000; count = count * 2 + 1) {
		struct mt_sort_entry *entries = mt_alloc(count * sizeof *entries);

		for (uint32_t i = 0; i < count; i++) {
			uint64_t key = (uint64_t)rand_r(&seed) % 5;

			entries[i] =
				(struct mt_sort_entry){rand_r(&seed) % 2 ? key << 60 : ~key, i};
		}
		mt_sort(entries, count);
		for (uint32_t i = 1; i < count; i++)
			assert_true(entries[i - 1].key < entries[i].key
				|| (entries[i - 1].key == entries[i].key
					&& entries[i - 1].id < entries[i].id));
		free(entries);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_radix),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_filter_generation),
		cmocka_unit_test(test_filter_errors),
		cmocka_unit_test(test_filter_text),
		cmocka_unit_test(test_filter_catastrophe),
		cmocka_unit_test(test_backtrace),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_inverted),
		cmocka_unit_test(test_tree_line),
		cmocka_unit_test(test_tree_ends),
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_timeline_agrees),
		cmocka_unit_test(test_timeline_grows),
		cmocka_unit_test(test_timeline_of_steps),
		cmocka_unit_test(test_property),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
