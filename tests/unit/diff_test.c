#include "tests/unit/query_fixture.h"

#include "core/query/diff.h"

#include <errno.h>

/* Two recordings of a program: the second is of a later build. */
struct sides {
	struct fixture a, b;
	struct mt_selection select_a, select_b;
	struct mt_diff diff;
};

static void compare(struct sides *s, enum mt_metric metric, enum mt_diff_normalise normalise)
{
	struct mt_diff_side a = {&s->a.profile, &s->a.symbols, &s->select_a};
	struct mt_diff_side b = {&s->b.profile, &s->b.symbols, &s->select_b};

	s->select_a = s->select_b = (struct mt_selection){0};
	s->diff = (struct mt_diff){0};
	mt_select(&s->select_a, a.profile, a.symbols, NULL, metric, false, NULL);
	mt_select(&s->select_b, b.profile, b.symbols, NULL, metric, false, NULL);
	mt_diff_get(&s->diff, &a, &b, metric, normalise, false);
}

static void sides_free(struct sides *s)
{
	mt_diff_free(&s->diff);
	mt_selection_free(&s->select_a);
	mt_selection_free(&s->select_b);
	fixture_free(&s->a);
	fixture_free(&s->b);
}

static void assert_entry(const struct sides *s, uint32_t i, enum mt_diff_state state,
	int64_t change, uint64_t a, uint64_t b)
{
	assert_true(i < s->diff.count);
	const struct mt_diff_entry *e = &s->diff.entries[i];

	assert_string_equal(mt_diff_state_name(state), mt_diff_state_name(e->state));
	assert_int_equal(change, e->change);
	assert_int_equal(a, e->a.live_bytes);
	assert_int_equal(b, e->b.live_bytes);
}

/* Lines move, the program is loaded elsewhere, strings and ids come in another order. */
static void test_states(void **state)
{
	struct sides s = {0};

	(void)state;
	fixture_init(&s.a);
	fixture_init(&s.b);
	uint32_t module = fixture_module(&s.a, "/usr/bin/prog", 0x1000);
	uint32_t main_pc = fixture_pc(&s.a, module, "main", "src/main.c", 10);
	uint32_t parse = fixture_pc(&s.a, module, "parse", "p.c", 3);
	uint32_t draw = fixture_pc(&s.a, module, "draw", "d.c", 5);
	uint32_t old = fixture_pc(&s.a, module, "old", "o.c", 7);

	fixture_group(&s.a, STACK(main_pc, parse), 4, 10, 1); /* 10 */
	fixture_group(&s.a, STACK(main_pc, draw), 4, 10, 4);  /* 40 */
	fixture_group(&s.a, STACK(main_pc, old), 1, 7, 1);    /* 7 */
	fixture_group(&s.a, STACK(main_pc), 2, 5, 2);         /* 10 */

	module = fixture_module(&s.b, "/opt/prog", 0x900000);
	draw = fixture_pc(&s.b, module, "draw", "d.c", 55);
	parse = fixture_pc(&s.b, module, "parse", "p.c", 33);
	uint32_t parse_too = fixture_pc(&s.b, module, "parse", "p.c", 34);
	uint32_t other = fixture_pc(&s.b, module, "parse", "q.c", 3);

	main_pc = fixture_pc(&s.b, module, "main", "src/main.c", 11);
	fixture_group(&s.b, STACK(main_pc), 2, 5, 2);         /* 10: the same */
	fixture_group(&s.b, STACK(main_pc, draw), 4, 10, 1);  /* 10 */
	fixture_group(&s.b, STACK(main_pc, parse), 4, 10, 2); /* 20, and by another line 30 more */
	fixture_group(&s.b, STACK(main_pc, parse_too), 3, 10, 3);
	fixture_group(&s.b, STACK(main_pc, other), 1, 99, 1); /* another file's parse */

	compare(&s, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED);
	assert_int_equal(5, s.diff.count);
	assert_entry(&s, 0, MT_DIFF_NEW, 99, 0, 99);
	assert_entry(&s, 1, MT_DIFF_GREW, 40, 10, 50);
	assert_entry(&s, 2, MT_DIFF_SHRANK, -30, 40, 10); /* the largest first there, too */
	assert_entry(&s, 3, MT_DIFF_GONE, -7, 7, 0);
	assert_entry(&s, 4, MT_DIFF_SAME, 0, 10, 10);
	assert_int_equal(67, s.diff.a.live_bytes);
	assert_int_equal(169, s.diff.b.live_bytes);
	sides_free(&s);
}

/* Twice as long, twice as much: nothing has changed a second. */
static void test_normalised(void **state)
{
	struct sides s = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture *f = i ? &s.b : &s.a;

		fixture_init(f);
		uint32_t module = fixture_module(f, "/usr/bin/prog", 0x1000);
		uint32_t main_pc = fixture_pc(f, module, "main", "m.c", 1);
		uint32_t parse = fixture_pc(f, module, "parse", "p.c", 3);

		fixture_group(f, STACK(main_pc), i ? 20 : 10, 8, i ? 10 : 5);
		fixture_group(f, STACK(main_pc, parse), 3, 1, 3);
		f->profile.info.wall_ns = i ? 4000 : 2000;
		f->profile.info.allocations = i ? 23 : 13;
	}
	compare(&s, MT_METRIC_LEAKED_SIZE, MT_DIFF_PER_TIME);
	assert_entry(&s, 0, MT_DIFF_SHRANK, -2, 3, 3); /* 1.5 - 3, away from zero */
	assert_entry(&s, 1, MT_DIFF_SAME, 0, 40, 80);
	sides_free(&s);
}

/* Without names: the same place of the same build, or doubtful. */
static void test_nameless(void **state)
{
	for (int build_ids = 0; build_ids < 2; build_ids++) {
		struct sides s = {0};

		(void)state;
		for (int i = 0; i < 2; i++) {
			struct fixture *f = i ? &s.b : &s.a;

			fixture_init(f);
			uint32_t module =
				fixture_module(f, "/usr/lib/libx.so", i ? 0x50000 : 0x1000);
			struct mt_module *at = &f->profile.modules[module];

			at->build_id_len = build_ids ? 2 : 0;
			memcpy(at->build_id, "\x12\x34", 2);
			uint32_t one = fixture_bare_pc(f, module, at->bias + 0x10);
			uint32_t two = fixture_bare_pc(f, module, at->bias + 0x20);

			fixture_group(f, STACK(one), 1, 10, 1);
			if (i)
				fixture_group(f, STACK(two), 1, 100, 1);
		}
		compare(&s, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED);
		if (build_ids) {
			assert_int_equal(2, s.diff.count);
			assert_entry(&s, 0, MT_DIFF_NEW, 100, 0, 100);
			assert_entry(&s, 1, MT_DIFF_SAME, 0, 10, 10);
			assert_false(s.diff.entries[0].doubtful);
		} else {
			assert_int_equal(1, s.diff.count);
			assert_entry(&s, 0, MT_DIFF_GREW, 100, 10, 110);
			assert_true(s.diff.entries[0].doubtful);
		}
		sides_free(&s);
	}
}

/* Another build of a library without symbols: places say nothing, its frames are all one. */
static void test_other_build(void **state)
{
	struct sides s = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture *f = i ? &s.b : &s.a;

		fixture_init(f);
		uint32_t module =
			fixture_module(f, i ? "/opt/libx.so" : "/usr/lib/libx.so", 0x1000);
		uint32_t program = fixture_module(f, "/usr/bin/prog", 0x90000);

		f->profile.modules[module].build_id_len = f->profile.modules[program].build_id_len =
			2;
		memcpy(f->profile.modules[module].build_id, i ? "\x12\x35" : "\x12\x34", 2);
		fixture_group(f, STACK(fixture_bare_pc(f, module, 0x1010 + 8u * (unsigned)i)), 1,
			10, 1);
		fixture_group(f, STACK(fixture_bare_pc(f, program, 0x90010)), 1, 20, 1);
	}
	compare(&s, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED);
	assert_int_equal(2, s.diff.count);
	assert_entry(&s, 0, MT_DIFF_SAME, 0, 20, 20);
	assert_false(s.diff.entries[0].doubtful);
	assert_entry(&s, 1, MT_DIFF_SAME, 0, 10, 10);
	assert_true(s.diff.entries[1].doubtful);
	sides_free(&s);
}

/* A library has debug symbols on one machine alone: the same place of the same build is the same
 * function, whether the other side calls it otherwise or not at all. Of another build it is not. */
static void test_same_place(void **state)
{
	static const struct {
		const char *name; /* of b's; NULL: none */
		bool same;
	} cases[] = {{NULL, true}, {"start", true}, {"start", false}, {NULL, false}};

	(void)state;
	for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
		for (int turned = 0; turned < 2; turned++) {
			struct sides s = {0};

			for (int i = 0; i < 2; i++) {
				struct fixture *f = i ? &s.b : &s.a;
				bool bare = i != turned && !cases[at].name;

				fixture_init(f);
				uint32_t library = fixture_module(f,
					i ? "/opt/libx.so" : "/usr/lib/libx.so", 0x50000u << i);
				uint32_t program = fixture_module(f, "/usr/bin/prog", 0x1000);
				struct mt_module *module = &f->profile.modules[library];
				uint64_t address = module->bias + 0x10;

				module->build_id_len = 2;
				memcpy(module->build_id,
					i && !cases[at].same ? "\x12\x35" : "\x12\x34", 2);
				uint32_t start = bare ? fixture_bare_pc(f, library, address)
					: i == turned
					? fixture_pc(f, library, "start_impl", "start.c", 7)
					: fixture_pc(f, library, cases[at].name, "", 0);

				f->profile.pcs[start].address = address;
				fixture_group(f,
					STACK(start, fixture_pc(f, program, "main", "m.c", 1)), 1,
					10, 1);
			}
			compare(&s, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED);
			assert_int_equal(cases[at].same ? 1 : 2, s.diff.count);
			if (cases[at].same) {
				struct mt_diff_side a = {&s.a.profile, &s.a.symbols, NULL};
				struct mt_diff_side b = {&s.b.profile, &s.b.symbols, NULL};
				struct mt_backtrace backtrace = {0};

				assert_entry(&s, 0, MT_DIFF_SAME, 0, 10, 10);
				assert_false(s.diff.entries[0].doubtful);
				mt_diff_backtrace(&backtrace, &a, &b, &s.diff.entries[0]);
				assert_string_equal(cases[at].name && !turned ? cases[at].name
									      : "start_impl",
					backtrace.frames[1].function);
				mt_backtrace_free(&backtrace);
			}
			sides_free(&s);
		}
}

/* Built in another directory. */
static void test_other_directory(void **state)
{
	struct sides s = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture *f = i ? &s.b : &s.a;

		fixture_init(f);
		uint32_t module = fixture_module(f, "/usr/bin/prog", 0x1000);

		fixture_group(f,
			STACK(fixture_pc(f, module, "main",
				i ? "/builds/2/src/main.c" : "src/main.c", 1)),
			1, 10, 1);
	}
	compare(&s, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED);
	assert_int_equal(1, s.diff.count);
	assert_entry(&s, 0, MT_DIFF_SAME, 0, 10, 10);
	sides_free(&s);
}

/* Two instants: numbers of groups are the same; the first side knows fewer of them. */
static void test_since(void **state)
{
	static const enum mt_diff_state there[] = {MT_DIFF_NEW, MT_DIFF_GREW, MT_DIFF_GONE,
		MT_DIFF_SHRANK, MT_DIFF_SAME};
	static const int64_t changes[] = {9, 5, -7, -2, 0}, shrinking_first[] = {-7, -2, 9, 5, 0};
	struct fixture f;
	struct mt_profile then;
	struct mt_group before[4];
	struct mt_selection all = {0}, earlier = {0};
	struct mt_diff diff = {0};

	(void)state;
	fixture_init(&f);
	uint32_t module = fixture_module(&f, "/usr/bin/prog", 0);
	uint32_t pc = fixture_pc(&f, module, "main", "m.c", 1);

	fixture_group(&f, STACK(pc), 9, 1, 9);
	fixture_group(&f, STACK(pc, pc), 9, 1, 4);
	fixture_group(&f, STACK(pc, pc, pc), 9, 1, 3);
	fixture_group(&f, STACK(pc, pc, pc, pc), 9, 1, 7);
	memcpy(before, f.profile.groups, sizeof before);
	then = f.profile;
	then.groups = before;
	f.profile.groups[0].live_count = f.profile.groups[0].live_bytes = 14;
	f.profile.groups[2].live_count = f.profile.groups[2].live_bytes = 1;
	f.profile.groups[3].live_count = f.profile.groups[3].live_bytes = 0;
	fixture_group(&f, STACK(pc, pc, pc, pc, pc), 9, 1, 9);
	mt_select(&all, &f.profile, &f.symbols, NULL, MT_METRIC_LEAKED_SIZE, false, NULL);
	mt_select(&earlier, &then, &f.symbols, NULL, MT_METRIC_LEAKED_SIZE, false, NULL);
	struct mt_diff_side a = {&then, &f.symbols, &earlier}, b = {&f.profile, &f.symbols, &all};

	mt_diff_since(&diff, &a, &b, MT_METRIC_LEAKED_SIZE, false);
	assert_int_equal(diff.count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_string_equal(mt_diff_state_name(diff.entries[i].state),
			mt_diff_state_name(there[i]));
		assert_int_equal(diff.entries[i].change, changes[i]);
		assert_int_equal(diff.states[i], 1);
	}
	mt_diff_free(&diff);
	mt_diff_since(&diff, &a, &b, MT_METRIC_LEAKED_SIZE, true);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(diff.entries[i].change, shrinking_first[i]);
	mt_diff_free(&diff);
	mt_diff_since(&diff, &b, &a, MT_METRIC_LEAKED_SIZE, false);
	assert_int_equal(diff.entries[2].state, MT_DIFF_GONE);
	assert_int_equal(diff.entries[2].change, -9);
	assert_int_equal(diff.states[MT_DIFF_NEW], 1);
	mt_diff_free(&diff);
	mt_selection_free(&all);
	mt_selection_free(&earlier);
	fixture_free(&f);
}

static int refuse(void *context, double fraction)
{
	(void)context, (void)fraction;
	return 1;
}

/* Pairs are made once, for any selection and metric, and the other way round. */
static void test_pairs(void **state)
{
	struct sides s = {0};
	struct mt_diff_pairs pairs = {0};
	struct mt_diff diff = {0};

	(void)state;
	fixture_init(&s.a);
	fixture_init(&s.b);
	uint32_t module = fixture_module(&s.a, "/usr/bin/prog", 0);
	uint32_t old = fixture_pc(&s.a, module, "old", "o.c", 7);
	uint32_t both = fixture_pc(&s.a, module, "both", "b.c", 9);

	fixture_group(&s.a, STACK(old), 4, 10, 4);
	fixture_group(&s.a, STACK(both), 4, 10, 1);
	module = fixture_module(&s.b, "/usr/bin/prog", 0);
	both = fixture_pc(&s.b, module, "both", "b.c", 12);
	fixture_group(&s.b, STACK(both), 4, 10, 3);
	compare(&s, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED);
	struct mt_diff_side a = {&s.a.profile, &s.a.symbols, &s.select_a};
	struct mt_diff_side b = {&s.b.profile, &s.b.symbols, &s.select_b};

	assert_int_equal(mt_diff_pair(&pairs, &a, &b, refuse, NULL), -ECANCELED);
	assert_null(pairs.a);
	assert_int_equal(mt_diff_pair(&pairs, &a, &b, NULL, NULL), 0);
	mt_diff_pairs_swap(&pairs);
	mt_diff_of_pairs(&diff, &pairs, &b, &a, MT_METRIC_LEAKED_SIZE, MT_DIFF_AS_RECORDED, false);
	assert_int_equal(diff.count, s.diff.count);
	assert_int_equal(diff.entries[0].state, MT_DIFF_NEW);
	assert_int_equal(diff.entries[0].change, 40);
	assert_int_equal(diff.entries[1].change, -20);
	assert_int_equal(s.diff.entries[0].change, 20);
	mt_diff_free(&diff);
	mt_diff_pairs_free(&pairs);
	sides_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_normalised),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_same_place),
		cmocka_unit_test(test_other_build),
		cmocka_unit_test(test_other_directory),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
