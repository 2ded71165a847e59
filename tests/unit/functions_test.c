/* Allocator functions and domains: the predefined ones, and a toy domain with two functions of its
 * own beside them. */
#include "tests/unit/query_fixture.h"

#include "core/query/fingerprint.h"
#include "core/query/frame.h"
#include "core/query/suppress_rules.h"

struct toy {
	uint32_t domain, take, give, group, heap_group;
};

static uint32_t add(struct mt_profile *p, const char *name, uint32_t domain, enum mt_call role)
{
	const struct mt_allocator_function f = {mt_strings_add(&p->strings, name), (uint16_t)domain,
		(uint8_t)role, MT_FAMILY_ANY};

	return mt_profile_add_function(p, &f);
}

static struct toy make_toy(struct fixture *f)
{
	struct mt_profile *p = &f->profile;
	const struct mt_domain domain = {mt_strings_add(&p->strings, "gpu"), 48, 0};
	struct toy toy = {.domain = mt_profile_add_domain(p, &domain)};
	uint32_t module = fixture_module(f, "/bin/prog", 0);
	uint32_t pc = fixture_pc(f, module, "draw", "draw.c", 7);

	toy.take = add(p, "gpu_take", toy.domain, MT_CALL_ALLOCATE);
	toy.give = add(p, "gpu_give", toy.domain, MT_CALL_FREE);
	toy.heap_group = fixture_group(f, STACK(pc), 1, 10, 1);
	toy.group = mt_profile_add_group(p,
		mt_profile_add_node(p, fixture_node(f, 0, pc),
			mt_profile_function_pc(p, toy.take)));
	return toy;
}

/* Ids are in traces: each stays what it is. */
static void test_predefined(void **state)
{
	static const char *const names[] = {"unknown", "malloc", "calloc", "realloc",
		"reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
		"new", "new[]", "free", "delete", "delete[]", "pool", "pool free", "mmap", "munmap",
		"mremap", "brk", "mallopt", "malloc_trim", "marker", "pause", "resume", "?"};
	struct mt_profile p;

	(void)state;
	mt_profile_init(&p);
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_string_equal(mt_profile_function_name(&p, i), names[i]);
	assert_string_equal(mt_profile_function_name(&p, MT_PC_TABLE_FULL), "?");
	assert_string_equal(mt_profile_function_name(&p, UINT32_MAX), "?");
	assert_int_equal(p.function_count, MT_FUNCTION_FIRST);
	assert_int_equal(p.strings.count, 1); /* names of predefined ones are no strings */
	assert_string_equal(mt_profile_domain_name(&p, MT_DOMAIN_HEAP), "heap");
	assert_string_equal(mt_profile_domain_name(&p, MT_DOMAIN_POOL), "pool");
	assert_string_equal(mt_profile_domain_name(&p, MT_DOMAIN_MAPPING), "mapping");
	assert_string_equal(mt_profile_domain_name(&p, 3), "?");
	mt_profile_free(&p);
}

static void test_further(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	const struct toy toy = make_toy(&f);
	const struct mt_profile *p = &f.profile;

	assert_int_equal(toy.take, MT_FUNCTION_FIRST);
	assert_int_equal(mt_profile_group_function(p, toy.group), toy.take);
	assert_string_equal(mt_profile_function_name(p, toy.take), "gpu_take");
	assert_int_equal(mt_profile_group_domain(p, toy.group), toy.domain);
	assert_string_equal(mt_profile_domain_name(p, toy.domain), "gpu");
	assert_false(mt_profile_has_usable(p, toy.group));
	assert_true(mt_profile_has_usable(p, toy.heap_group));
	/* a function has one pc, which is no address */
	uint32_t pc = p->nodes[p->groups[toy.group].node].pc;

	assert_int_equal(mt_profile_function_pc(&f.profile, toy.take), pc);
	assert_int_equal(mt_profile_function_pc(&f.profile, MT_FUNCTION_FREE), MT_FUNCTION_FREE);
	assert_true(mt_profile_is_marker(p, pc));
	assert_true(mt_profile_is_marker(p, MT_PC_CUT));
	assert_false(mt_profile_is_marker(p, pc - 1));
	fixture_free(&f);
}

static void test_agree(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	const struct toy toy = make_toy(&f);
	const struct mt_profile *p = &f.profile;
	const struct mt_allocator_function *take = mt_profile_function(p, toy.take);

	assert_true(mt_functions_agree(take, mt_profile_function(p, toy.give)));
	assert_true(mt_functions_agree(take, mt_profile_function(p, MT_FUNCTION_NONE)));
	assert_true(mt_functions_agree(take, mt_profile_function(p, 255)));
	assert_false(mt_functions_agree(take, mt_profile_function(p, MT_FUNCTION_FREE)));
	assert_false(mt_functions_agree(take, mt_profile_function(p, MT_FUNCTION_POOL_FREE)));
	assert_false(mt_functions_agree(mt_profile_function(p, MT_FUNCTION_MALLOC),
		mt_profile_function(p, toy.give)));
	fixture_free(&f);
}

/* The leaf is shown as the function, whatever names say of its pc. */
static void test_words(void **state)
{
	struct mt_backtrace_frame frame;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	const struct toy toy = make_toy(&f);
	uint32_t pc = f.profile.nodes[f.profile.groups[toy.group].node].pc;

	mt_frame_describe(&frame, &f.profile, &f.symbols, pc, MT_NO_FRAME);
	assert_string_equal(frame.function, "gpu_take");
	assert_string_equal(frame.module, "");
	assert_string_equal(mt_suppress_allocator(&f.profile, toy.take, 0), "gpu_take");
	assert_null(mt_suppress_allocator(&f.profile, toy.take, 1));
	fixture_free(&f);
}

/* A fingerprint survives another recording, in which the function has another pc. */
static void test_fingerprints(void **state)
{
	struct mt_fingerprints prints[2] = {0};
	uint64_t seen[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct fixture f;

		fixture_init(&f);
		if (i)
			fixture_pc(&f, fixture_module(&f, "/lib/other.so", 0), "other", "", 0);
		const struct toy toy = make_toy(&f);

		mt_fingerprints_update(&prints[i], &f.profile, &f.symbols);
		seen[i] = prints[i].nodes[f.profile.groups[toy.group].node];
		assert_true(seen[i] != prints[i].nodes[f.profile.groups[toy.heap_group].node]);
		mt_fingerprints_free(&prints[i]);
		fixture_free(&f);
	}
	assert_true(seen[0] == seen[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_predefined),
		cmocka_unit_test(test_further),
		cmocka_unit_test(test_agree),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_fingerprints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
