#include "tests/unit/query_fixture.h"

#include "core/query/callers.h"
#include "core/query/rows.h"

#include <errno.h>
#include <stdio.h>

struct program {
	struct fixture f;
	struct mt_selection selection;
};

/* main -> parse -> (push inlined in add) ; main -> draw ; main -> fact -> fact -> fact ; a stack
 * without names */
static void program_init(struct program *p)
{
	struct fixture *f = &p->f;

	fixture_init(f);
	uint32_t program = fixture_module(f, "/usr/bin/prog", 0x1000);
	uint32_t library = fixture_module(f, "/usr/lib/libdraw.so", 0x2000);
	uint32_t main_pc = fixture_pc(f, program, "main", "src/main.c", 10);
	uint32_t main_pc2 = fixture_pc(f, program, "main", "src/main.c", 20);
	uint32_t parse = fixture_pc(f, program, "Parse::run(int)", "src/parse.cc", 30);
	uint32_t add = fixture_bare_pc(f, program, 0x1500);

	fixture_frame(f, add, "push", "src/vector.h", 5, true);
	fixture_frame(f, add, "add", "src/parse.cc", 40, false);
	uint32_t draw = fixture_pc(f, library, "draw", "lib/draw.c", 50);
	uint32_t push2 = fixture_pc(f, library, "push", "src/vector.h", 6);
	uint32_t fact = fixture_pc(f, program, "fact", "src/fact.c", 60);
	uint32_t unknown = fixture_bare_pc(f, library, 0x2abc);

	fixture_group(f, STACK(main_pc, parse, add), 10, 8, 5);       /* 80 bytes, 40 live */
	fixture_group(f, STACK(main_pc2, draw), 4, 100, 4);           /* 400, 400 */
	fixture_group(f, STACK(main_pc, fact, fact, fact), 6, 16, 1); /* 96, 16 */
	fixture_group(f, STACK(MT_PC_CUT, unknown), 3, 4, 3);         /* 12, 12 */
	fixture_group(f, STACK(main_pc2, draw, push2), 2, 1, 0);      /* 2, 0 */
	p->selection = (struct mt_selection){0};
	assert_int_equal(0,
		mt_select(&p->selection, &f->profile, &f->symbols, NULL, MT_METRIC_SIZE, false,
			NULL));
}

static void program_free(struct program *p)
{
	mt_selection_free(&p->selection);
	fixture_free(&p->f);
}

struct expected {
	const char *name;
	uint64_t size, groups;
};

static void assert_rows(struct program *p, enum mt_rows_by by, const struct expected *expected,
	uint32_t count)
{
	struct mt_rows rows = {0};

	mt_rows_get(&rows, &p->f.profile, &p->f.profile, &p->f.symbols, &p->selection, by,
		MT_METRIC_SIZE, false);
	assert_int_equal(count, rows.count);
	for (uint32_t i = 0; i < count; i++) {
		assert_string_equal(expected[i].name,
			mt_strings_get(&rows.names, rows.rows[i].name));
		assert_int_equal(expected[i].size, rows.rows[i].sum.allocated_bytes);
		assert_int_equal(expected[i].size, rows.rows[i].all.allocated_bytes);
		assert_int_equal(expected[i].groups, rows.rows[i].group_count);
	}
	mt_rows_free(&rows);
}
#define ROWS(p, by, ...) \
	assert_rows(p, by, (const struct expected[]){__VA_ARGS__}, \
		sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void test_rows(void **state)
{
	struct program p;

	(void)state;
	program_init(&p);
	ROWS(&p, MT_ROWS_BY_FUNCTION, {"draw", 400, 1}, {"fact", 96, 1}, {"push", 82, 2},
		{"/usr/lib/libdraw.so+0xabc", 12, 1});
	ROWS(&p, MT_ROWS_BY_LINE, {"lib/draw.c:50", 400, 1}, {"src/fact.c:60", 96, 1},
		{"src/vector.h:5", 80, 1}, {"/usr/lib/libdraw.so+0xabc", 12, 1},
		{"src/vector.h:6", 2, 1});
	ROWS(&p, MT_ROWS_BY_SOURCE, {"lib/draw.c", 400, 1}, {"src/fact.c", 96, 1},
		{"src/vector.h", 82, 2}, {"[source not known]", 12, 1});
	ROWS(&p, MT_ROWS_BY_MODULE, {"/usr/lib/libdraw.so", 414, 3}, {"/usr/bin/prog", 176, 2});
	ROWS(&p, MT_ROWS_BY_KIND, {"malloc", 590, 5});
	program_free(&p);
}

/* Own peaks of groups that are added need not have been at one time. */
static void test_own_peaks_of_sums(void **state)
{
	struct program p;
	struct mt_rows rows = {0};

	(void)state;
	program_init(&p);
	mt_rows_get(&rows, &p.f.profile, &p.f.profile, &p.f.symbols, &p.selection,
		MT_ROWS_BY_FUNCTION, MT_METRIC_SIZE, false);
	assert_false(
		mt_metric_is_estimated(&p.f.profile, &rows.rows[0].sum, MT_METRIC_OWN_PEAK_SIZE));
	assert_true(
		mt_metric_is_estimated(&p.f.profile, &rows.rows[2].sum, MT_METRIC_OWN_PEAK_SIZE));
	assert_false(mt_metric_is_estimated(&p.f.profile, &rows.rows[2].sum, MT_METRIC_SIZE));
	mt_rows_free(&rows);
	program_free(&p);
}

static void assert_relations(const struct mt_callers *callers, const struct mt_relations *relations,
	const struct expected *expected, uint32_t count)
{
	assert_int_equal(count, relations->count);
	for (uint32_t i = 0; i < count; i++) {
		assert_string_equal(expected[i].name,
			mt_strings_get(&callers->names, relations->items[i].name));
		assert_int_equal(expected[i].size, relations->items[i].sum.allocated_bytes);
	}
}
#define RELATIONS(callers, side, ...) \
	assert_relations(&(callers), &(callers).side, (const struct expected[]){__VA_ARGS__}, \
		sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static struct mt_callers callers_of(struct program *p, const char *text)
{
	struct mt_callers callers = {0};
	struct mt_err err = {0};

	if (mt_callers_get(&callers, &p->f.profile, &p->f.symbols, &p->selection, text,
		    MT_METRIC_SIZE, &err))
		fail_msg("%s: %s", text, err.text);
	return callers;
}

static void test_callers(void **state)
{
	struct program p;

	(void)state;
	program_init(&p);
	struct mt_callers callers = callers_of(&p, "main");

	assert_int_equal(4, callers.group_count);
	assert_int_equal(578, callers.total.allocated_bytes);
	assert_int_equal(0, callers.self.allocated_bytes);
	RELATIONS(callers, callers, {"[nobody]", 578, 0});
	RELATIONS(callers, callees, {"draw", 402, 0}, {"fact", 96, 0}, {"Parse::run(int)", 80, 0});
	mt_callers_free(&callers);

	/* Recursion: the stack counts once in each of its neighbours, and once in the total. */
	callers = callers_of(&p, "fact");
	assert_int_equal(96, callers.total.allocated_bytes);
	assert_int_equal(96, callers.self.allocated_bytes);
	RELATIONS(callers, callers, {"fact", 96, 0}, {"main", 96, 0});
	RELATIONS(callers, callees, {"[allocated here]", 96, 0}, {"fact", 96, 0});
	mt_callers_free(&callers);

	/* Without its arguments; an inlined callee; one function in two modules. */
	callers = callers_of(&p, "Parse::run");
	RELATIONS(callers, callees, {"add", 80, 0});
	mt_callers_free(&callers);
	callers = callers_of(&p, "push");
	RELATIONS(callers, callers, {"add", 80, 0}, {"draw", 2, 0});
	mt_callers_free(&callers);

	/* A regular expression only where no function is called so. */
	callers = callers_of(&p, "^(draw|fact)$");
	assert_int_equal(2, callers.functions.count - 1);
	assert_int_equal(498, callers.total.allocated_bytes);
	mt_callers_free(&callers);
	program_free(&p);
}

static void test_callers_of_nothing(void **state)
{
	struct program p;
	struct mt_callers callers = {0};
	struct mt_err err = {0};

	(void)state;
	program_init(&p);
	assert_int_equal(-ENOENT,
		mt_callers_get(&callers, &p.f.profile, &p.f.symbols, &p.selection, "nobody_knows",
			MT_METRIC_SIZE, &err));
	assert_non_null(strstr(err.text, "nobody_knows"));
	mt_callers_free(&callers);
	assert_int_equal(-EINVAL,
		mt_callers_get(&callers, &p.f.profile, &p.f.symbols, &p.selection, "a(",
			MT_METRIC_SIZE, &err));
	mt_callers_free(&callers);
	program_free(&p);
}

static void test_short_names(void **state)
{
	static const char *const names[][2] = {
		{"main", "main"},
		{"std::map<int, std::less<int> >::insert(int)",
			"std::map<\xe2\x80\xa6>::insert(int)"},
		{"operator<(A<int> const&, A<int> const&)",
			"operator<(A<\xe2\x80\xa6> const&, A<\xe2\x80\xa6> const&)"},
		{"operator<< <char>(B<char>&)", "operator<< <\xe2\x80\xa6>(B<\xe2\x80\xa6>&)"},
		{"std::operator<<<char>(B<char>&)",
			"std::operator<<<\xe2\x80\xa6>(B<\xe2\x80\xa6>&)"},
		{"P<int>::operator->() const", "P<\xe2\x80\xa6>::operator->() const"},
		{"A<&(B::operator>(int))>::f()", "A<\xe2\x80\xa6>::f()"},
		{"operator<=>(X, X)", "operator<=>(X, X)"},
		{"<alloc::vec::Vec<T> as core::Drop>::drop",
			"<alloc::vec::Vec<\xe2\x80\xa6> as core::Drop>::drop"},
		{"a<b", "a<b"},
		{"my_operator<int>()", "my_operator<\xe2\x80\xa6>()"},
		{"std::vector<int> make<int>(int)", "make<\xe2\x80\xa6>(int)"},
		{"unsigned long a::b<X>::f<char>(A<B> const&)",
			"a::b<\xe2\x80\xa6>::f<\xe2\x80\xa6>(A<\xe2\x80\xa6> const&)"},
		{"void (anonymous namespace)::f<int>(int)",
			"(anonymous namespace)::f<\xe2\x80\xa6>(int)"},
		{"B<char>& std::operator<< <X>(B<char>&)",
			"std::operator<< <\xe2\x80\xa6>(B<\xe2\x80\xa6>&)"},
		{"main::{lambda(int)#1}::operator()<A<int> >(A<int>) const",
			"main::{lambda(int)#1}::operator()<\xe2\x80\xa6>(A<\xe2\x80\xa6>) const"},
		{"operator new(unsigned long)", "operator new(unsigned long)"},
		{"A<int>::operator unsigned long() const",
			"A<\xe2\x80\xa6>::operator unsigned long() const"},
		{"f(A<int>) [clone .part.0]", "f(A<\xe2\x80\xa6>) [clone .part.0]"},
		{"non-virtual thunk to A<int>::f()", "A<\xe2\x80\xa6>::f()"},
		{"<alloc::vec::Vec<T, A> as core::ops::Drop>::drop",
			"<alloc::vec::Vec<\xe2\x80\xa6> as core::ops::Drop>::drop"},
		{" ", " "},
		{"> <", "> <"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *name = mt_name_shorten(names[i][0]);

		assert_string_equal(names[i][1], name);
		free(name);
	}
}

/* Where there is room for no more. */
static void test_base_names(void **state)
{
	static const char *const names[][2] = {
		{"main", "main"},
		{"a::b::make<~>(~)", "make"},
		{"A<~>::f(~) const", "f"},
		{"(anonymous namespace)::f(~)", "f"},
		{"A<~>::operator()(~) const", "operator()(~) const"},
		{"std::operator<< <~>(~)", "operator<< <~>(~)"},
		{"<~ as core::Drop>::drop", "drop"},
		{"f(int)::{lambda(~)#1}", "f"},
		{"ends::", "ends::"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char base[64];

		snprintf(base, sizeof base, "%.*s", (int)mt_name_base_len(names[i][0]),
			mt_name_base(names[i][0]));
		assert_string_equal(names[i][1], base);
	}
}

static void test_folded_names(void **state)
{
	static const char *const names[][2] = {
		{"main", "main"},
		{"f()", "f()"},
		{"A<int>::f(std::map<int, int> const&, int) const", "A<~>::f(~) const"},
		{"A<int>::operator()(int) const", "A<~>::operator()(~) const"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f(~)"},
		{"(anonymous namespace)::f", "(anonymous namespace)::f"},
		{"ns::(anonymous namespace)::f", "ns::(anonymous namespace)::f"},
		{"f(int)::{lambda(int)#1}::operator()(int) const",
			"f(int)::{lambda(int)#1}::operator()(~) const"},
		{"f(int)::x", "f(int)::x"},
		{"f(void (*)(int)) [clone .part.0]", "f(~) [clone .part.0]"},
		{"f)", "f)"},
		{")(", ")("},
		{"(", "("},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *name = mt_name_fold(names[i][0], "~", true);

		assert_string_equal(names[i][1], name);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_own_peaks_of_sums),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_callers_of_nothing),
		cmocka_unit_test(test_short_names),
		cmocka_unit_test(test_base_names),
		cmocka_unit_test(test_folded_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
