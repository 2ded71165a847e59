/* Icicles: bars without gaps, within their callers, that add up; over trees by hand and by
 * chance. */
#include "core/query/icicle.h"
#include "query_fixture.h"

#include <stdio.h>

struct scene {
	struct fixture f;
	struct mt_selection selection;
	struct mt_tree *tree;
	struct mt_icicle icicle;
};

static void scene_open(struct scene *s, bool inverted, enum mt_metric sort)
{
	assert_int_equal(0,
		mt_select(&s->selection, &s->f.profile, &s->f.symbols, NULL, sort, false, NULL));
	s->tree = mt_tree_new(&s->f.profile, &s->f.symbols, &s->selection, inverted, sort);
	s->icicle = (struct mt_icicle){0};
}

static void scene_close(struct scene *s)
{
	mt_icicle_free(&s->icicle);
	mt_tree_free(s->tree);
	mt_selection_free(&s->selection);
}

static void lay_out(struct scene *s, uint32_t columns, uint32_t rows)
{
	mt_icicle_begin(&s->icicle, &s->f.profile, s->tree, mt_tree_root(s->tree), MT_ICICLE_ROOT,
		0, columns);
	mt_icicle_extend(&s->icicle, &s->f.profile, s->tree, rows);
}

static uint32_t first_callee(struct scene *s, uint32_t node)
{
	mt_tree_expand(s->tree, node);
	return mt_tree_get(s->tree, node)->first_child;
}

/* Rows as text: |name...| with a letter a column, '.' for merged ones, blank for nothing. */
static const char *picture(struct scene *s, char out[4096])
{
	size_t at = 0;

	for (uint32_t row = 0; row < s->icicle.row_count; row++) {
		for (uint32_t column = 0; column < s->icicle.columns; column++) {
			uint32_t i = mt_icicle_at(&s->icicle, row, column);
			struct mt_backtrace_frame frame = {.function = " "};

			if (i != MT_NO_CELL)
				mt_tree_label(s->tree, s->icicle.cells[i].node, &frame);
			out[at++] = i == MT_NO_CELL         ? ' '
				: s->icicle.cells[i].merged ? '.'
							    : *frame.function;
		}
		out[at++] = '\n';
	}
	out[at] = '\0';
	return out;
}

/* main: a 50 %, b 25 %, c to f 2.5 % each, and 15 % of its own; a: all in g. */
static void small_scene(struct scene *s)
{
	fixture_init(&s->f);
	uint32_t m = fixture_module(&s->f, "/bin/p", 0), pc[8];
	static const char *const names[] = {"main", "a", "b", "c", "d", "e", "f", "g"};

	for (int i = 0; i < 8; i++)
		pc[i] = fixture_pc(&s->f, m, names[i], "x.c", 1 + (uint32_t)i);
	fixture_group(&s->f, STACK(pc[0], pc[1], pc[7]), 20, 10, 20);
	fixture_group(&s->f, STACK(pc[0], pc[2]), 10, 10, 10);
	for (int i = 3; i < 7; i++)
		fixture_group(&s->f, STACK(pc[0], pc[i]), 1, 10, 1);
	fixture_group(&s->f, STACK(pc[0]), 6, 10, 6);
	fixture_group(&s->f, STACK(pc[0], pc[2], pc[7]), 1, 10, 0);
}

static void test_small(void **state)
{
	struct scene s = {0};
	char text[4096];

	(void)state;
	small_scene(&s);
	scene_open(&s, false, MT_METRIC_LEAKED_SIZE);
	lay_out(&s, 40, 10);
	assert_string_equal(picture(&s, text),
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n"
		"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm\n"
		"aaaaaaaaaaaaaaaaaaaabbbbbbbbbb....      \n"
		"gggggggggggggggggggg                    \n");
	uint32_t merged = mt_icicle_at(&s.icicle, 2, 31);

	assert_int_equal(4, s.icicle.cells[merged].merged);
	assert_int_equal(40, s.icicle.cells[merged].value);
	assert_int_equal(1, s.icicle.cells[merged].above);
	assert_int_equal(MT_NO_CELL, mt_icicle_below(&s.icicle, merged));
	assert_int_equal(MT_NO_CELL, mt_icicle_at(&s.icicle, 2, 36));
	assert_int_equal(MT_NO_CELL, mt_icicle_at(&s.icicle, 9, 0));
	/* Wide enough, each has a bar of its own; rows come as they are asked for. */
	lay_out(&s, 200, 3);
	assert_int_equal(3, s.icicle.row_count);
	assert_int_equal(0, s.icicle.cells[mt_icicle_at(&s.icicle, 2, 155)].merged);
	scene_close(&s);
	/* Zoomed: a alone over all columns; its key is found from the root. */
	scene_open(&s, false, MT_METRIC_LEAKED_SIZE);
	uint32_t root = mt_tree_root(s.tree), main_node = first_callee(&s, root);
	uint32_t a = first_callee(&s, main_node);
	uint64_t main_key = mt_icicle_key(s.tree, MT_ICICLE_ROOT, main_node);
	uint64_t a_key = mt_icicle_key(s.tree, main_key, a);

	assert_int_equal(main_node, mt_icicle_callee(s.tree, root, MT_ICICLE_ROOT, main_key));
	assert_int_equal(a, mt_icicle_callee(s.tree, main_node, main_key, a_key));
	assert_int_equal(MT_NO_NODE, mt_icicle_callee(s.tree, main_node, main_key, 12345));
	mt_icicle_begin(&s.icicle, &s.f.profile, s.tree, a, a_key, 0, 8);
	mt_icicle_extend(&s.icicle, &s.f.profile, s.tree, 10);
	assert_string_equal(picture(&s, text), "aaaaaaaa\ngggggggg\n");
	assert_int_equal(0, mt_icicle_find(&s.icicle, a_key));
	assert_int_equal(MT_NO_CELL, mt_icicle_find(&s.icicle, main_key));
	/* main without its two largest: what was too narrow has all columns, and main itself
	 * none. */
	mt_icicle_begin(&s.icicle, &s.f.profile, s.tree, main_node, main_key, 2, 16);
	mt_icicle_extend(&s.icicle, &s.f.profile, s.tree, 10);
	assert_string_equal(picture(&s, text), "mmmmmmmmmmmmmmmm\nccccddddeeeeffff\n");
	assert_int_equal(40, s.icicle.total);
	scene_close(&s);
	fixture_free(&s.f);
}

/* What has no value has no bar; a metric that does not add up gives way to bytes. */
static void test_metrics(void **state)
{
	struct scene s = {0};
	char text[4096];

	(void)state;
	small_scene(&s);
	scene_open(&s, false, MT_METRIC_MAX_SIZE);
	lay_out(&s, 41, 10);
	assert_int_equal(MT_METRIC_SIZE, s.icicle.metric);
	assert_int_equal(410, s.icicle.total);
	picture(&s, text);
	assert_non_null(strstr(text, "aaaaaaaaaaaaaaaaaaaa"));
	assert_non_null(strstr(text, "...."));
	scene_close(&s);
	scene_open(&s, false, MT_METRIC_TEMPORARY_COUNT);
	lay_out(&s, 40, 10);
	assert_int_equal(0, s.icicle.count);
	assert_int_equal(0, s.icicle.row_count);
	assert_int_equal(MT_NO_CELL, mt_icicle_at(&s.icicle, 0, 0));
	scene_close(&s);
	fixture_free(&s.f);
}

static void test_matches(void **state)
{
	struct scene s = {0};
	struct mt_icicle_matches found;
	struct mt_pattern *pattern = mt_pattern_new("^(a|g|f|main)$", "search", NULL);

	(void)state;
	small_scene(&s);
	scene_open(&s, false, MT_METRIC_LEAKED_SIZE);
	uint32_t root = mt_tree_root(s.tree), main_node = first_callee(&s, root);

	mt_icicle_match(&found, &s.f.profile, &s.f.symbols, s.tree, root, 0, pattern);
	assert_int_equal(7, found.groups); /* b's g has no bytes */
	assert_int_equal(400, found.value);
	mt_pattern_free(pattern);
	pattern = mt_pattern_new("^(a|g|f)$", "search", NULL);
	mt_icicle_match(&found, &s.f.profile, &s.f.symbols, s.tree, main_node, 0, pattern);
	assert_int_equal(2, found.groups);
	assert_int_equal(210, found.value); /* g below a counts once */
	mt_icicle_match(&found, &s.f.profile, &s.f.symbols, s.tree, first_callee(&s, main_node), 0,
		pattern);
	assert_int_equal(1, found.groups);
	assert_int_equal(200, found.value);
	mt_icicle_match(&found, &s.f.profile, &s.f.symbols, s.tree, main_node, 2, pattern);
	assert_int_equal(1, found.groups); /* f: a is left out, with what is below it */
	assert_int_equal(10, found.value);
	scene_close(&s);
	scene_open(&s, true, MT_METRIC_LEAKED_SIZE);
	mt_icicle_match(&found, &s.f.profile, &s.f.symbols, s.tree, mt_tree_root(s.tree), 0,
		pattern);
	assert_int_equal(2, found.groups);
	assert_int_equal(210, found.value);
	scene_close(&s);
	mt_pattern_free(pattern);
	fixture_free(&s.f);
}

/* ---- trees by chance ---- */

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16 & 0x7fff;
}

static void random_fixture(struct fixture *f, unsigned *seed)
{
	uint32_t pc[12], stack[10];
	char name[8];

	fixture_init(f);
	uint32_t module = fixture_module(f, "/bin/p", 0);

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof name, "f%d", i);
		pc[i] = fixture_pc(f, module, name, "x.c", 1);
	}
	for (unsigned groups = 1 + next_random(seed) % 120; groups > 0; groups--) {
		unsigned depth = next_random(seed) % 9, scale = next_random(seed) % 20;

		for (unsigned i = 0; i < depth; i++)
			stack[i] = pc[next_random(seed) % (i < 3 ? 4 : 12)];
		stack[depth] = 0;
		fixture_group(f, stack, 1 + next_random(seed) % 50,
			next_random(seed) % 3 ? 1u << scale : 0, next_random(seed) % 2);
	}
}

/* Of one cell's callees, [first, end). */
static void check_callees(struct scene *s, uint32_t cell, uint32_t first, uint32_t end)
{
	const struct mt_icicle_cell *cells = s->icicle.cells, *above = &cells[cell];
	uint32_t node = above->node, count = 0, in_tree = 0;
	uint64_t value = 0, in_cells = 0;

	mt_tree_expand(s->tree, node);
	for (uint32_t child = mt_tree_get(s->tree, node)->first_child; child != MT_NO_NODE;
		child = mt_tree_get(s->tree, child)->next_sibling) {
		uint64_t each = mt_metric_value(&s->f.profile, &mt_tree_get(s->tree, child)->total,
			s->icicle.metric);

		in_tree += each != 0;
		value += each;
	}
	for (uint32_t i = first; i < end; i++) {
		assert_true(cells[i].columns > 0);
		assert_true(cells[i].column >= above->column);
		assert_true(cells[i].column + cells[i].columns <= above->column + above->columns);
		assert_int_equal(cells[i].column,
			i > first ? cells[i - 1].column + cells[i - 1].columns : cells[i].column);
		assert_true(cells[i].merged != 1);
		in_cells += cells[i].value;
		count += cells[i].merged ? cells[i].merged : 1;
	}
	if (first == end)
		return;
	/* No gap at the left, but for what begins with less than half a column. */
	assert_int_equal(above->column, cells[first].column);
	/* What is not there has no column: less than half a column on either side. */
	assert_true(in_cells <= value && count <= in_tree);
	assert_true((value - in_cells) * s->icicle.columns <= s->icicle.total);
	if (in_cells == value) {
		uint32_t behind = cells[end - 1].column + cells[end - 1].columns;
		double exact =
			(double)(above->from + value) * s->icicle.columns / (double)s->icicle.total;

		assert_int_equal(in_tree, count);
		assert_true(behind >= exact - 0.51 && behind <= exact + 0.51);
	}
}

static void check_rows(struct scene *s)
{
	const struct mt_icicle *icicle = &s->icicle;

	for (uint32_t row = 0; row < icicle->row_count; row++) {
		uint32_t used = 0;

		assert_true(icicle->rows[row] < icicle->rows[row + 1]);
		for (uint32_t i = icicle->rows[row]; i < icicle->rows[row + 1]; i++) {
			assert_int_equal(row, icicle->cells[i].row);
			/* no overlap, left to right */
			assert_true(icicle->cells[i].column >= used);
			used = icicle->cells[i].column + icicle->cells[i].columns;
			assert_int_equal(i, mt_icicle_at(icicle, row, used - 1));
			assert_int_equal(i, mt_icicle_find(icicle, icicle->cells[i].key));
		}
		assert_true(used <= icicle->columns);
		for (uint32_t i = icicle->rows[row], next; row && i < icicle->rows[row + 1];
			i = next) {
			for (next = i; next < icicle->rows[row + 1]
				&& icicle->cells[next].above == icicle->cells[i].above;
				next++)
				;
			check_callees(s, icicle->cells[i].above, i, next);
		}
	}
	if (icicle->row_count)
		assert_int_equal(icicle->columns, icicle->cells[0].columns);
}

/* What matches below a node, by the whole backtraces of all groups that pass through it. */
static void check_matches(struct scene *s, bool inverted, uint32_t node)
{
	struct mt_pattern *pattern = mt_pattern_new("^f[27]$", "search", NULL);
	uint32_t depth = mt_tree_get(s->tree, node)->depth, groups = 0;
	struct mt_backtrace_frame *path = mt_alloc((depth + 1) * sizeof *path);
	struct mt_icicle_matches found;
	struct mt_backtrace b = {0};
	uint64_t value = 0;

	for (uint32_t at = node, i = depth; i > 0; at = mt_tree_get(s->tree, at)->parent)
		mt_tree_label(s->tree, at, &path[--i]);
	for (uint32_t i = 0; i < s->selection.count; i++) {
		uint64_t bytes = s->f.profile.groups[s->selection.groups[i]].live_bytes;
		bool passes, matches = false;

		mt_backtrace_get(&b, &s->f.profile, &s->f.symbols, s->selection.groups[i]);
		passes = bytes && b.count >= depth;
		for (uint32_t j = 0; passes && j < b.count; j++) {
			const char *function = b.frames[inverted ? j : b.count - 1 - j].function;

			passes = j >= depth || !strcmp(function, path[j].function);
			matches = matches
				|| (j + 1 >= depth
					&& (!strcmp(function, "f2") || !strcmp(function, "f7")));
		}
		groups += passes && matches;
		value += passes && matches ? bytes : 0;
	}
	mt_icicle_match(&found, &s->f.profile, &s->f.symbols, s->tree, node, 0, pattern);
	assert_int_equal(groups, found.groups);
	assert_int_equal(value, found.value);
	mt_backtrace_free(&b);
	mt_pattern_free(pattern);
	free(path);
}

static void test_matches_property(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct scene s = {0};

		random_fixture(&s.f, &seed);
		for (int inverted = 0; inverted < 2; inverted++) {
			scene_open(&s, inverted, MT_METRIC_LEAKED_SIZE);
			mt_tree_expand_all(s.tree);
			for (int i = 0; i < 20; i++)
				check_matches(&s, inverted,
					next_random(&seed) % mt_tree_count(s.tree));
			scene_close(&s);
		}
		fixture_free(&s.f);
	}
}

static void test_property(void **state)
{
	static const enum mt_metric metrics[] = {MT_METRIC_LEAKED_SIZE, MT_METRIC_SIZE,
		MT_METRIC_ALLOCATED_COUNT, MT_METRIC_MAX_SIZE};
	unsigned seed = 20261121;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct scene s = {0};

		random_fixture(&s.f, &seed);
		for (int i = 0; i < 4; i++) {
			scene_open(&s, i & 1, metrics[next_random(&seed) % 4]);
			lay_out(&s, 1 + next_random(&seed) % 220, 1 + next_random(&seed) % 12);
			check_rows(&s);
			/* Row by row comes to the same. */
			struct mt_icicle whole = s.icicle;

			s.icicle = (struct mt_icicle){0};
			lay_out(&s, whole.columns, 1);
			for (uint32_t rows = 2; rows <= whole.row_count; rows++)
				mt_icicle_extend(&s.icicle, &s.f.profile, s.tree, rows);
			assert_int_equal(whole.count, s.icicle.count);
			assert_true(!whole.count
				|| !memcmp(whole.cells, s.icicle.cells,
					whole.count * sizeof *whole.cells));
			mt_icicle_free(&whole);
			scene_close(&s);
		}
		fixture_free(&s.f);
	}
}

/* What leads from the program's own functions to malloc has no bars until it is zoomed into. */
static void test_ends(void **state)
{
	struct scene s;
	char text[4096];

	(void)state;
	fixture_init(&s.f);
	uint32_t m = fixture_module(&s.f, "/bin/p", 0);
	uint32_t main_ = fixture_pc(&s.f, m, "main", "x.c", 1);
	uint32_t parse = fixture_pc(&s.f, m, "parse", "x.c", 2);
	uint32_t string = fixture_pc(&s.f, m, "std::string::_M_create(unsigned long)", "", 0);
	uint32_t new_ = fixture_pc(&s.f, m, "operator new(unsigned long)", "", 0);

	fixture_group(&s.f, STACK(main_, parse, string, new_), 2, 10, 2);
	scene_open(&s, false, MT_METRIC_LEAKED_SIZE);
	lay_out(&s, 4, 10);
	assert_string_equal("[[[[\nmmmm\npppp\n", picture(&s, text));
	uint32_t node = first_callee(&s, first_callee(&s, mt_tree_root(s.tree)));

	mt_icicle_begin(&s.icicle, &s.f.profile, s.tree, node, 7, 0, 4);
	mt_icicle_extend(&s.icicle, &s.f.profile, s.tree, 10);
	assert_string_equal("pppp\nssss\n", picture(&s, text));
	scene_close(&s);
	fixture_free(&s.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_property),
		cmocka_unit_test(test_matches_property),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
