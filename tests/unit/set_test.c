/* Several recordings as one: what is the same is put together, counts add up, extremes stay, and
 * what is not known of all is left out. */
#include "tests/unit/query_fixture.h"

#include "core/set/set.h"

#define SECOND 1000000000u

static const struct mt_set_options options = {.begin_unix_ns = 100 * (uint64_t)SECOND,
	.end_unix_ns = 120 * (uint64_t)SECOND};

/* A process of prog at its own addresses, with one library below main. */
static void process(struct fixture *f, uint32_t pid, uint64_t bias, uint64_t start_s)
{
	fixture_init(f);
	uint32_t program = fixture_module(f, "/usr/bin/prog", bias);
	uint32_t main_pc = fixture_pc(f, program, "main", "main.c", 10);
	uint32_t parse = fixture_pc(f, program, "parse", "parse.c", 3);

	/* the same places in each process, wherever it was loaded */
	f->profile.pcs[main_pc].address = bias + 0x100;
	f->profile.pcs[parse].address = bias + 0x200;
	f->profile.modules[program].start = bias;
	f->profile.modules[program].end = bias + 0x1000;
	fixture_group(f, STACK(main_pc, parse), 4, 10, 1);
	fixture_group(f, STACK(main_pc), 2, 5, 2);
	f->profile.arguments = mt_alloc(sizeof *f->profile.arguments);
	f->profile.arguments[0] = mt_strings_add(&f->profile.strings, "/usr/bin/prog");
	f->profile.argument_count = f->profile.argument_capacity = 1;
	f->profile.info.pid = pid;
	f->profile.info.start_unix_ns = start_s * SECOND;
	f->profile.info.wall_ns = 5 * (uint64_t)SECOND;
	f->profile.info.ended = 1;
	f->profile.info.leaked_bytes = 20;
	f->profile.info.allocations = 6;
	f->profile.info.peak_bytes = 50;
}

static void add(struct mt_set *set, const struct fixture *f, const char *path)
{
	mt_set_add(set, &(struct mt_set_part){path, &f->profile, &f->profile, &f->symbols});
}

static void test_sums(void **state)
{
	struct fixture a, b;
	struct mt_set *set = mt_set_new(&options);
	const struct mt_profile *p = mt_set_whole(set);

	(void)state;
	process(&a, 1, 0x10000, 100);
	process(&b, 2, 0x990000, 110);
	a.profile.groups[0].first_ns = 1 * SECOND;
	a.profile.groups[0].last_ns = 2 * SECOND;
	b.profile.groups[0].first_ns = 1 * SECOND;
	b.profile.groups[0].last_ns = 3 * (uint64_t)SECOND;
	b.profile.groups[0].min_size = 1;
	add(set, &a, "a.dat");
	add(set, &b, "b.dat");
	mt_set_finish(set);
	assert_int_equal(1, p->module_count);
	assert_int_equal(2, p->group_count);
	assert_int_equal(8, p->groups[0].allocated_count);
	assert_int_equal(2 * a.profile.groups[0].live_bytes, p->groups[0].live_bytes);
	assert_int_equal(1 * SECOND, p->groups[0].first_ns);
	assert_int_equal(13 * (uint64_t)SECOND, p->groups[0].last_ns); /* it began 10 s later */
	assert_int_equal(1, p->groups[0].min_size);
	assert_int_equal(40, p->info.leaked_bytes);
	assert_int_equal(12, p->info.allocations);
	assert_int_equal(20 * (uint64_t)SECOND, p->info.wall_ns);
	assert_true(p->info.peak_unsure);
	assert_int_equal(50, mt_set_peak_least(set));
	assert_string_equal("parse",
		mt_strings_get(&mt_set_symbols(set)->strings,
			mt_set_symbols(set)
				->frames[mt_set_symbols(set)
						 ->pcs[p->nodes[p->nodes[p->groups[0].node].parent]
								 .pc]
						 .first]
				.function));
	assert_int_equal(2, mt_set_count(set));
	assert_string_equal("prog", mt_set_member(set, 1)->name);
	mt_set_free(set);
	fixture_free(&a);
	fixture_free(&b);
}

/* Another build of a module is another one; so is code that belongs to none. */
static void test_not_the_same(void **state)
{
	struct fixture a, b;
	struct mt_set *set = mt_set_new(&options);

	(void)state;
	process(&a, 1, 0x10000, 100);
	process(&b, 2, 0x10000, 100);
	b.profile.modules[0].build_id_len = 1;
	b.profile.modules[0].build_id[0] = 7;
	add(set, &a, "a.dat");
	add(set, &b, "b.dat");
	for (uint32_t i = MT_PC_FIRST; i < a.profile.pc_count; i++)
		a.profile.pcs[i].module = b.profile.pcs[i].module = MT_NO_MODULE;
	add(set, &a, "a.dat");
	add(set, &b, "b.dat");
	mt_set_finish(set);
	assert_int_equal(2, mt_set_whole(set)->module_count);
	assert_int_equal(4 * 2, mt_set_whole(set)->group_count);
	const struct mt_module *m = mt_set_whole(set)->modules;

	assert_true(m[0].end <= m[1].start || m[1].end <= m[0].start);
	mt_set_free(set);
	fixture_free(&a);
	fixture_free(&b);
}

/* Code of a JIT compiler: places without a module, by the thousand. */
static void test_many_places(void **state)
{
	struct fixture a, b;
	struct mt_set *set = mt_set_new(&options);

	(void)state;
	process(&a, 1, 0x10000, 100);
	process(&b, 2, 0x20000, 100);
	for (uint32_t i = 0; i < 20000; i++)
		fixture_bare_pc(&a, MT_NO_MODULE, 0x700000 + i);
	add(set, &a, "a.dat");
	add(set, &b, "b.dat");
	mt_set_finish(set);
	assert_int_equal(2, mt_set_whole(set)->group_count);
	assert_true(mt_set_whole(set)->pc_count > 20000);
	mt_set_free(set);
	fixture_free(&a);
	fixture_free(&b);
}

static void test_processes(void **state)
{
	struct mt_set_options by = options;
	struct fixture f[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		process(&f[i], 10 + (uint32_t)i, 0x10000u * (i + 1u), 100);
	for (int stacks = MT_SET_BELOW_PROCESSES; stacks <= MT_SET_PROCESSES; stacks++) {
		by.stacks = (enum mt_set_stacks)stacks;
		struct mt_set *set = mt_set_new(&by);

		for (int i = 0; i < 3; i++)
			add(set, &f[i], "t.dat");
		mt_set_finish(set);
		const struct mt_profile *p = mt_set_whole(set);

		assert_int_equal(stacks == MT_SET_PROCESSES ? 3 : 6, p->group_count);
		for (uint32_t i = 0; stacks == MT_SET_PROCESSES && i < 3; i++)
			assert_int_equal(6, p->groups[i].allocated_count);
		mt_set_free(set);
	}
	for (int i = 0; i < 3; i++)
		fixture_free(&f[i]);
}

static void add_column(struct fixture *f, const char *name, enum mt_fold fold, uint64_t first)
{
	struct mt_group_column column = {.name = name,
		.heading = "H",
		.words = "w",
		.fold = fold,
		.count = 2,
		.width = 1,
		.values = mt_alloc(2 * sizeof(uint64_t))};

	column.values[0] = first;
	column.values[1] = 2 * first;
	assert_null(mt_profile_add_column(&f->profile, &column));
}

static void test_columns(void **state)
{
	struct fixture a, b;
	struct mt_set *set = mt_set_new(&options);

	(void)state;
	process(&a, 1, 0x10000, 100);
	process(&b, 2, 0x20000, 100);
	add_column(&a, "sum", MT_FOLD_SUM, 3);
	add_column(&a, "most", MT_FOLD_MAX, 3);
	add_column(&a, "least", MT_FOLD_MIN, 3);
	add_column(&a, "alone", MT_FOLD_SUM, 3);
	add_column(&a, "none", MT_FOLD_NONE, 3);
	add_column(&b, "least", MT_FOLD_MIN, 4);
	add_column(&b, "none", MT_FOLD_NONE, 4);
	add_column(&b, "most", MT_FOLD_MAX, 4);
	add_column(&b, "sum", MT_FOLD_SUM, 4);
	add(set, &a, "a.dat");
	add(set, &b, "b.dat");
	mt_set_finish(set);
	const struct mt_profile *p = mt_set_whole(set);

	assert_int_equal(3, p->column_count);
	assert_int_equal(1, mt_set_columns_dropped(set));
	assert_string_equal("sum", p->columns[0].name);
	assert_int_equal(7, p->columns[0].values[0]);
	assert_int_equal(14, p->columns[0].values[1]);
	assert_int_equal(4, p->columns[1].values[0]);
	assert_int_equal(3, p->columns[2].values[0]);
	mt_set_free(set);
	fixture_free(&a);
	fixture_free(&b);
}

/* Behind its end a recording has nothing live; the most within a step adds
 * up. */
static void test_time(void **state)
{
	struct fixture a, b;
	struct mt_set *set = mt_set_new(&options);
	uint64_t allocations = 0, most = 0;

	(void)state;
	process(&a, 1, 0x10000, 100);
	process(&b, 2, 0x20000, 103);
	b.profile.info.ended = 0;
	for (int i = 0; i < 2; i++) {
		struct mt_profile *p = i ? &b.profile : &a.profile;

		p->step_ns = SECOND;
		p->sample_count = p->sample_capacity = 5;
		p->samples = mt_alloc(5 * sizeof *p->samples);
		for (int step = 0; step < 5; step++)
			p->samples[step] = (struct mt_sample){.live_bytes = 10,
				.max_bytes = 30,
				.allocations = 2};
	}
	add(set, &a, "a.dat");
	add(set, &b, "b.dat");
	mt_set_finish(set);
	const struct mt_profile *p = mt_set_whole(set);

	for (uint32_t i = 0; i < p->sample_count; i++) {
		uint64_t end_s = (i + 1) * p->step_ns / SECOND;

		allocations += p->samples[i].allocations;
		most = p->samples[i].max_bytes > most ? p->samples[i].max_bytes : most;
		if (end_s >= 1 && end_s <= 2)
			assert_int_equal(10, p->samples[i].live_bytes);
		if (end_s == 4)
			assert_int_equal(20, p->samples[i].live_bytes);
		if (end_s == 6 || end_s == 7)
			assert_int_equal(10, p->samples[i].live_bytes);
		if (end_s >= 9)
			assert_int_equal(0, p->samples[i].live_bytes);
	}
	assert_int_equal(20, allocations);
	assert_int_equal(60, most);
	assert_int_equal(60, p->info.peak_bytes);
	mt_set_free(set);
	fixture_free(&a);
	fixture_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_not_the_same),
		cmocka_unit_test(test_many_places),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
