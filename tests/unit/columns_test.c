/* Columns that a profile brings along: one for each fold rule, as lists, orders, filters, folds and
 * reports show them. */
#include "core/base/text.h"
#include "core/export/report.h"
#include "core/query/callers.h"
#include "core/query/fold.h"
#include "tests/unit/query_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 4, TOYS = 5 };
static const struct {
	const char *name;
	enum mt_fold fold;
	enum mt_unit unit;
	bool has_error;
	uint64_t values[GROUPS];
} toys[TOYS] = {
	{"toy_sum", MT_FOLD_SUM, MT_UNIT_BYTES, true, {10, 20, 30, 2048}},
	{"toy_max", MT_FOLD_MAX, MT_UNIT_COUNT, true, {7, 3, 9, 1}},
	{"toy_min", MT_FOLD_MIN, MT_UNIT_TIME, false, {4000, 2000, 9000, 5000}},
	{"toy_histogram", MT_FOLD_HISTOGRAM, MT_UNIT_TIME, false, {0}},
	{"toy_none", MT_FOLD_NONE, MT_UNIT_COUNT, false, {11, 12, 13, 14}},
};
#define BUCKETS 5
/* How often the value was 0, 1, 2 to 3, 4 to 7, 8 to 15. */
static const uint64_t histograms[GROUPS][BUCKETS] = {{0, 3, 0, 0, 0}, {0, 300, 0, 1, 0},
	{1, 0, 0, 0, 2}, {0, 0, 5, 0, 0}};
static const double variances[GROUPS] = {9, 16, 144, 1};

struct program {
	struct fixture f;
	uint32_t groups[GROUPS];
	enum mt_metric toy[TOYS];
};

static void add_toys(struct mt_profile *p)
{
	for (int i = 0; i < TOYS; i++) {
		bool histogram = toys[i].fold == MT_FOLD_HISTOGRAM;
		uint32_t width = histogram ? BUCKETS : 1;
		struct mt_group_column column = {.name = toys[i].name,
			.heading = toys[i].name + 4,
			.words = "a toy",
			.unit = toys[i].unit,
			.fold = toys[i].fold,
			.as_of_ns = i == 0 ? 2500000000u : 0,
			.values = mt_alloc(GROUPS * width * sizeof(uint64_t)),
			.variances = toys[i].has_error ? mt_alloc(sizeof variances) : NULL,
			.count = GROUPS,
			.width = width};

		memcpy(column.values, histogram ? &histograms[0][0] : toys[i].values,
			GROUPS * width * sizeof(uint64_t));
		if (column.variances)
			memcpy(column.variances, variances, sizeof variances);
		assert_null(mt_metric_add(p, &column));
	}
}

/* main calls parse and draw; each of them allocates, and calls copy, which allocates, too. */
static void program_init(struct program *p)
{
	fixture_init(&p->f);
	uint32_t module = fixture_module(&p->f, "/bin/toy", 0);
	uint32_t main_ = fixture_pc(&p->f, module, "main", "m.c", 1);
	uint32_t parse = fixture_pc(&p->f, module, "parse", "p.c", 2);
	uint32_t draw = fixture_pc(&p->f, module, "draw", "d.c", 3);
	uint32_t copy = fixture_pc(&p->f, module, "copy", "c.c", 4);

	p->f.profile.info.wall_ns = 1000000000;
	p->groups[0] = fixture_group(&p->f, STACK(main_, parse), 4, 100, 1);
	p->groups[1] = fixture_group(&p->f, STACK(main_, draw), 3, 100, 2);
	p->groups[2] = fixture_group(&p->f, STACK(main_, parse, copy), 2, 100, 2);
	p->groups[3] = fixture_group(&p->f, STACK(main_, draw, copy), 1, 100, 1);
	add_toys(&p->f.profile);
	for (int i = 0; i < TOYS; i++)
		p->toy[i] = (enum mt_metric)mt_metric_find(&p->f.profile, toys[i].name);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

/* ---- folds ---- */

/* What the groups whose bits are set have together: worked out the slow way. */
static void assert_folded(struct program *p, const struct mt_group *sum, unsigned groups)
{
	const struct mt_profile *profile = &p->f.profile;
	uint64_t sums = 0, most = 0, least = UINT64_MAX, buckets[BUCKETS] = {0};
	double variance = 0, of_most = 0;
	uint32_t count, members = 0, last = 0;

	for (uint32_t g = 0; g < GROUPS; g++) {
		if (!(groups >> g & 1))
			continue;
		members++;
		sums += toys[0].values[g];
		variance += variances[g];
		of_most = toys[1].values[g] > most ? variances[g] : of_most;
		most = toys[1].values[g] > most ? toys[1].values[g] : most;
		least = toys[2].values[g] < least ? toys[2].values[g] : least;
		for (int b = 0; b < BUCKETS; b++)
			buckets[b] += histograms[g][b];
		last = g;
	}
	assert_int_equal(sums, mt_metric_value(profile, sum, p->toy[0]));
	assert_true(fabs(sqrt(variance) - mt_metric_error(profile, sum, p->toy[0])) < 1e-9);
	assert_int_equal(most, mt_metric_value(profile, sum, p->toy[1]));
	assert_true(fabs(sqrt(of_most) - mt_metric_error(profile, sum, p->toy[1])) < 1e-9);
	assert_int_equal(least, mt_metric_value(profile, sum, p->toy[2]));
	assert_true(mt_metric_error(profile, sum, p->toy[2]) < 0);
	const uint64_t *folded = mt_metric_buckets(profile, sum, p->toy[3], &count);

	assert_true(count > 0 && count <= BUCKETS);
	for (uint32_t b = 0; b < BUCKETS; b++)
		assert_int_equal(buckets[b], b < count ? folded[b] : 0);
	assert_int_equal(members == 1, mt_metric_is_known(profile, sum, p->toy[4]));
	assert_int_equal(members == 1 ? toys[4].values[last] : 0,
		mt_metric_value(profile, sum, p->toy[4]));
}

static void select_all(struct program *p, struct mt_selection *s, enum mt_metric sort)
{
	assert_int_equal(0, mt_select(s, &p->f.profile, &p->f.symbols, NULL, sort, false, NULL));
}

static void test_selection(void **state)
{
	struct program p;
	struct mt_selection s = {0};

	(void)state;
	program_init(&p);
	select_all(&p, &s, p.toy[1]);
	assert_memory_equal(s.groups, ((const uint32_t[]){2, 0, 1, 3}), sizeof(uint32_t[4]));
	assert_folded(&p, &s.sum, 15);
	select_all(&p, &s, p.toy[3]); /* at most 15, 3, 1 and 1 in 99 of 100 */
	assert_memory_equal(s.groups, ((const uint32_t[]){2, 3, 0, 1}), sizeof(uint32_t[4]));
	for (uint32_t g = 0; g < GROUPS; g++)
		assert_folded(&p, &p.f.profile.groups[g], 1u << g);
	mt_selection_free(&s);
	fixture_free(&p.f);
}

struct member {
	unsigned groups;
};

static void add_member(void *context, uint32_t group, uint32_t node, uint32_t frame)
{
	(void)node;
	(void)frame;
	((struct member *)context)->groups |= 1u << group;
}

static void check_tree(struct program *p, bool inverted, enum mt_metric sort)
{
	struct mt_selection s = {0};

	select_all(p, &s, sort);
	struct mt_tree *tree = mt_tree_new(&p->f.profile, &p->f.symbols, &s, inverted, sort);

	mt_selection_free(&s);
	mt_tree_expand_all(tree);
	assert_int_equal(inverted ? 10 : 6, mt_tree_count(tree));
	assert_folded(p, &mt_tree_get(tree, mt_tree_root(tree))->total, 15);
	for (uint32_t node = 1; node < mt_tree_count(tree); node++) {
		struct member m = {0};

		mt_tree_visit(tree, node, add_member, &m);
		assert_folded(p, &mt_tree_get(tree, node)->total, m.groups);
	}
	for (uint32_t node = mt_tree_get(tree, 0)->first_child, last = UINT32_MAX;
		node != MT_NO_NODE; node = mt_tree_get(tree, node)->next_sibling) {
		uint64_t value =
			mt_metric_value(&p->f.profile, &mt_tree_get(tree, node)->total, sort);

		assert_true(value <= last);
		last = (uint32_t)value;
	}
	mt_tree_free(tree);
}

static void test_tree(void **state)
{
	struct program p;

	(void)state;
	program_init(&p);
	for (int i = 0; i < TOYS; i++) {
		check_tree(&p, false, p.toy[i]);
		check_tree(&p, true, p.toy[i]);
	}
	fixture_free(&p.f);
}

static void test_callers(void **state)
{
	struct program p;
	struct mt_selection s = {0};
	struct mt_callers c = {0};

	(void)state;
	program_init(&p);
	select_all(&p, &s, p.toy[0]);
	assert_int_equal(0,
		mt_callers_get(&c, &p.f.profile, &p.f.symbols, &s, "copy", p.toy[0], NULL));
	assert_folded(&p, &c.total, 1u << 2 | 1u << 3);
	assert_int_equal(2, c.callers.count);
	assert_string_equal("draw", mt_strings_get(&c.names, c.callers.items[0].name));
	assert_folded(&p, &c.callers.items[0].sum, 1u << 3);
	assert_folded(&p, &c.callers.items[1].sum, 1u << 2);
	mt_callers_free(&c);
	mt_selection_free(&s);
	fixture_free(&p.f);
}

static void test_rows(void **state)
{
	struct program p;
	struct mt_selection s = {0};
	struct mt_rows rows = {0};

	(void)state;
	program_init(&p);
	select_all(&p, &s, p.toy[0]);
	mt_rows_get(&rows, &p.f.profile, &p.f.profile, &p.f.symbols, &s, MT_ROWS_BY_FUNCTION,
		p.toy[0], false);
	assert_int_equal(3, rows.count);
	assert_string_equal("copy", mt_strings_get(&rows.names, rows.rows[0].name));
	assert_folded(&p, &rows.rows[0].sum, 1u << 2 | 1u << 3);
	assert_folded(&p, &rows.rows[0].all, 1u << 2 | 1u << 3);
	assert_folded(&p, &rows.rows[1].sum, 1u << 1);
	mt_rows_free(&rows);
	mt_selection_free(&s);
	fixture_free(&p.f);
}

/* The other side has its columns at other places, and one of them not at all. */
static void test_diff(void **state)
{
	struct program p, q;
	struct mt_selection a = {0}, b = {0};
	struct mt_diff diff = {0};

	(void)state;
	program_init(&p);
	program_init(&q);
	struct mt_group_column swap = q.f.profile.columns[0];

	q.f.profile.columns[0] = q.f.profile.columns[1];
	q.f.profile.columns[1] = swap;
	q.f.profile.columns[1].values[0] = 500;
	select_all(&p, &a, p.toy[0]);
	select_all(&q, &b, MT_METRIC_SIZE);
	struct mt_diff_side sides[] = {{&p.f.profile, &p.f.symbols, &a},
		{&q.f.profile, &q.f.symbols, &b}};

	mt_diff_get(&diff, &sides[0], &sides[1], p.toy[0], MT_DIFF_AS_RECORDED, false);
	assert_int_equal(4, diff.count);
	assert_int_equal(490, diff.entries[0].change);
	assert_int_equal(0, diff.entries[1].change);
	assert_folded(&p, &diff.entries[0].a, 1u << diff.entries[0].group_a);
	assert_folded(&p, &diff.a, 15);
	assert_int_equal(2098 + 500,
		mt_metric_value(&q.f.profile, &diff.b,
			mt_metric_in(&q.f.profile, &p.f.profile, p.toy[0])));
	mt_diff_free(&diff);
	mt_selection_free(&a);
	mt_selection_free(&b);
	fixture_free(&p.f);
	fixture_free(&q.f);
}

/* ---- filters ---- */

static unsigned matching(struct program *p, const char *text)
{
	struct mt_filter *filter = mt_filter_new_of(&p->f.profile);
	struct mt_selection s = {0};
	struct mt_err err = {0};
	unsigned groups = 0;

	if (mt_filter_parse(filter, text, &err) < 0
		|| mt_select(&s, &p->f.profile, &p->f.symbols, filter, p->toy[0], false, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_true(mt_filter_active(filter));
	for (uint32_t i = 0; i < s.count; i++)
		groups |= 1u << s.groups[i];
	char *again = mt_filter_text(filter);

	assert_string_equal(text, again);
	free(again);
	mt_selection_free(&s);
	mt_filter_free(filter);
	return groups;
}

static void refuses(struct program *p, const char *text, const char *words)
{
	struct mt_filter *filter = mt_filter_new_of(&p->f.profile);
	struct mt_err err = {0};

	assert_true(mt_filter_parse(filter, text, &err) < 0);
	has(err.text, words);
	assert_false(mt_filter_active(filter));
	mt_filter_free(filter);
}

static void test_filter(void **state)
{
	struct program p;

	(void)state;
	program_init(&p);
	assert_int_equal(1u << 0 | 1u << 2, matching(&p, "toy_max>5"));
	assert_int_equal(1u << 2, matching(&p, "toy_max>7"));
	assert_int_equal(1u << 0 | 1u << 2, matching(&p, "toy_max>=7"));
	assert_int_equal(1u << 1 | 1u << 3, matching(&p, "toy_max<7"));
	assert_int_equal(1u << 3, matching(&p, "toy_sum>=2k"));
	assert_int_equal(1u << 0 | 1u << 3, matching(&p, "toy_min:3us..5us"));
	assert_int_equal(1u << 1, matching(&p, "toy_none=12"));
	assert_int_equal(1u << 0, matching(&p, "toy_max>5 toy_none<13"));
	assert_int_equal(1u << 2, matching(&p, "copy toy_max>5"));
	/* built-in columns, too */
	assert_int_equal(1u << 1 | 1u << 2, matching(&p, "leaked_size>100"));
	refuses(&p, "toy_max>many", "toy_max: invalid number 'many' at character 1");
	refuses(&p, "x toy_sum<0", "toy_sum at character 3: no value can match");
	refuses(&p, "toy_max:9..1", "the first limit must not exceed the second");
	refuses(&p, "toy_mox:1", "did you mean toy_max:");
	fixture_free(&p.f);
}

static void test_filter_names(void **state)
{
	struct program p, other;
	struct mt_filter_candidates c = {0};
	struct mt_filter *filter;
	struct mt_selection s = {0};
	struct mt_err err = {0};

	(void)state;
	program_init(&p);
	fixture_init(&other.f);
	mt_filter_complete("toy_n", 5, &p.f.profile, NULL, &c);
	assert_int_equal(1, c.count);
	assert_string_equal("toy_none>=", c.items[0].text);
	mt_filter_candidates_free(&c);
	/* a function, where nobody knows the column */
	filter = mt_filter_new();
	assert_int_equal(0, mt_filter_parse(filter, "toy_max>5", NULL));
	assert_string_equal("toy_max>5", mt_filter_get(filter, MT_FILTER_FUNCTION_REGEX));
	mt_filter_free(filter);
	filter = mt_filter_new_of(&p.f.profile);
	assert_int_equal(0, mt_filter_parse(filter, "toy_max>5", NULL));
	assert_true(mt_select(&s, &other.f.profile, &other.f.symbols, filter, MT_METRIC_SIZE, false,
			    &err)
		< 0);
	assert_non_null(strstr(err.text, "toy_max: the recording has no such column"));
	assert_int_equal(0, mt_filter_parse(filter, "interval<int>", NULL));
	assert_false(mt_filter_pass_over(filter));
	assert_int_equal(0, mt_filter_add_words(filter, "nobody_knows:1 main", NULL));
	assert_true(mt_filter_pass_over(filter));
	assert_int_equal(0, mt_filter_parse(filter, "interval<int>", NULL));
	assert_string_equal("interval<int>", mt_filter_get(filter, MT_FILTER_FUNCTION_REGEX));
	mt_filter_free(filter);
	mt_selection_free(&s);
	fixture_free(&p.f);
	fixture_free(&other.f);
}

/* ---- reports ---- */

static char *report(struct program *p, enum mt_format format,
	int (*make)(const struct mt_report *, struct mt_err *))
{
	char *text = NULL;
	size_t len = 0;
	struct mt_report r = {.out = open_memstream(&text, &len),
		.format = format,
		.profile = &p->f.profile,
		.symbols = &p->f.symbols,
		.sort = p->toy[1]};

	assert_int_equal(0, make(&r, NULL));
	fclose(r.out);
	return text;
}

static uint32_t column_of(const char *text, const char *word)
{
	const char *at = strstr(text, word), *line = at;

	assert_non_null(at);
	while (line > text && line[-1] != '\n')
		line--;
	return mt_text_columns(line) - mt_text_columns(at);
}

/* Whether two words of different lines begin in the same column: ± is one. */
static void aligned(const char *text, const char *one, const char *other)
{
	if (column_of(text, one) != column_of(text, other))
		fail_msg("'%s' is not below '%s' in: %s", other, one, text);
}

static void test_reports(void **state)
{
	struct program p;
	char *text;

	(void)state;
	program_init(&p);
	text = report(&p, MT_FORMAT_TEXT, mt_report_groups);
	has(text, "sum");
	has(text, "9 ±133%");
	has(text, "2.0k ±0.0%");
	has(text, "15ns");
	free(text);
	text = report(&p, MT_FORMAT_JSON, mt_report_groups);
	has(text,
		"\"toy_sum\":10,\"toy_sum_stderr\":3,\"toy_sum_as_of\":2.5,\"toy_max\":7,"
		"\"toy_max_stderr\":3,\"toy_min\":0.000004,\"toy_histogram\":0.000000001,"
		"\"toy_histogram_buckets\":[0,3],\"toy_none\":11}");
	free(text);
	text = report(&p, MT_FORMAT_CSV, mt_report_groups);
	has(text,
		",toy_sum,toy_sum_stderr,toy_max,toy_max_stderr,toy_min,toy_histogram,toy_none,"
		"backtrace\n");
	has(text, ",10,3,7,3,0.000004,0.000000001,11,");
	free(text);
	text = report(&p, MT_FORMAT_JSON, mt_report_tree);
	has(text, "\"toy_sum\":2108,"); /* of all; several groups have no toy_none */
	has(text, "\"toy_histogram_buckets\":[1,303,5,1,2]}");
	free(text);
	text = report(&p, MT_FORMAT_TEXT, mt_report_tree);
	has(text, "9 ±133%");
	aligned(text, "FUNCTION", "[all]");
	free(text);
	fixture_free(&p.f);
}

/* ---- what is refused, and what is not known ---- */

static void test_refused(void **state)
{
	struct program p;
	uint64_t values[2] = {0};
	struct mt_group_column c = {.name = "a",
		.heading = "A",
		.words = "",
		.values = values,
		.count = 1,
		.width = 1};

	(void)state;
	program_init(&p);
#define REFUSED(member, value, words) \
	do { \
		struct mt_group_column bad = c; \
\
		bad.member = value; \
		const char *why = mt_metric_add(&p.f.profile, &bad); \
\
		assert_non_null(why); \
		has(why, words); \
	} while (0)
	REFUSED(name, "A b", "its name");
	REFUSED(name, "", "its name");
	REFUSED(name, "toy_sum", "there is a column of this name");
	REFUSED(name, "leaked_size", "built-in");
	REFUSED(width, 0, "its rule");
	REFUSED(width, 2, "its rule");
	REFUSED(fold, MT_FOLD_COMPUTED, "its rule");
	REFUSED(values, NULL, "its rule");
	assert_int_equal(TOYS, p.f.profile.column_count);
	fixture_free(&p.f);
}

/* Of a part of a group's blocks, and of groups that came later, nothing is known. */
static void test_unknown(void **state)
{
	struct program p;
	char *text;

	(void)state;
	program_init(&p);
	/* no groups at all: 0 where values add, else nothing */
	assert_true(mt_metric_is_known(&p.f.profile, &(struct mt_group){0}, p.toy[0]));
	assert_false(mt_metric_is_known(&p.f.profile, &(struct mt_group){0}, p.toy[1]));
	p.f.profile.columns[1].count = 2;
	assert_true(mt_metric_is_known(&p.f.profile, &p.f.profile.groups[1], p.toy[1]));
	assert_false(mt_metric_is_known(&p.f.profile, &p.f.profile.groups[2], p.toy[1]));
	p.f.profile.columns_unknown = true;
	assert_false(mt_metric_is_known(&p.f.profile, &p.f.profile.groups[1], p.toy[1]));
	assert_int_equal(0, mt_metric_value(&p.f.profile, &p.f.profile.groups[1], p.toy[1]));
	text = report(&p, MT_FORMAT_JSON, mt_report_groups);
	assert_null(strstr(text, "toy_"));
	free(text);
	text = report(&p, MT_FORMAT_CSV, mt_report_groups);
	has(text, ",100,1,,,,,,,,draw;main\n");
	free(text);
	fixture_free(&p.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_filter_names),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
