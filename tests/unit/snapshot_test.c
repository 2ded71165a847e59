/* What a watcher sees of a profile: the log and the places of frees, and nothing that is not
 * there. */
#include "core/session/snapshot_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
	struct mt_snapshot *snapshot;
	struct mt_snapshot_view *view;
	struct mt_profile profile, seen;
	struct mt_err err;
};

static int setup(void **state)
{
	struct fixture *f = mt_alloc(sizeof *f);

	f->snapshot = mt_snapshot_new(&f->err);
	assert_non_null(f->snapshot);
	f->view = mt_snapshot_view_new(mt_snapshot_fd(f->snapshot), &f->err);
	assert_non_null(f->view);
	mt_profile_init(&f->profile);
	mt_profile_init(&f->seen);
	mt_profile_add_thread(&f->profile, &(struct mt_thread){.tid = 1});
	mt_profile_add_group(&f->profile, mt_profile_add_node(&f->profile, 0, MT_FUNCTION_MALLOC));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	mt_snapshot_view_free(f->view);
	mt_snapshot_free(f->snapshot);
	mt_profile_free(&f->profile);
	mt_profile_free(&f->seen);
	free(f);
	return 0;
}

static void add_marker(struct fixture *f, const char *text)
{
	mt_profile_add_log(&f->profile,
		&(struct mt_log_entry){
			.type = MT_LOG_MARKER,
			.node = 1,
			.text = mt_strings_add(&f->profile.strings, text),
			.values = {1, 2, 3, 4},
		});
}

static void shows_the_log(void **state)
{
	struct fixture *f = *state;

	add_marker(f, "one");
	f->profile.info.paused = 1;
	mt_snapshot_publish(f->snapshot, &f->profile);
	assert_int_equal(mt_snapshot_view_update(f->view, &f->seen, &f->err), 1);
	assert_int_equal(f->seen.log_count, 1);
	assert_int_equal(f->seen.info.paused, 1);
	add_marker(f, "two");
	mt_profile_add_free_site(&f->profile,
		&(struct mt_free_site){.group = 0, .node = 1, .count = 5});
	mt_snapshot_publish(f->snapshot, &f->profile);
	f->profile.free_sites[0].count = 7; /* changes in place */
	mt_snapshot_publish(f->snapshot, &f->profile);
	assert_int_equal(mt_snapshot_view_update(f->view, &f->seen, &f->err), 1);
	assert_int_equal(f->seen.log_count, 2);
	assert_memory_equal(f->seen.log, f->profile.log, 2 * sizeof *f->seen.log);
	assert_string_equal(mt_strings_get(&f->seen.strings, f->seen.log[1].text), "two");
	assert_int_equal(f->seen.free_site_count, 1);
	assert_int_equal(f->seen.free_sites[0].count, 7);
}

/* A recorder of a hostile program is not hostile itself, but the watcher believes it no more. */
static void refuses_what_is_not_there(void **state)
{
	struct fixture *f = *state;
	const struct mt_log_entry bad[] = {{.type = MT_LOG_TYPES}, {.node = 2}, {.thread = 1}};

	add_marker(f, "one");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		f->profile.log[0] = bad[i];
		mt_snapshot_restart(f->snapshot);
		mt_snapshot_publish(f->snapshot, &f->profile);
		assert_true(mt_snapshot_view_update(f->view, &f->seen, &f->err) < 0);
	}
	f->profile.log[0] = (struct mt_log_entry){.thread = MT_NO_THREAD, .text = 99};
	mt_profile_add_free_site(&f->profile,
		&(struct mt_free_site){.group = 1, .node = 1, .count = 1});
	mt_snapshot_restart(f->snapshot);
	mt_snapshot_publish(f->snapshot, &f->profile);
	assert_true(mt_snapshot_view_update(f->view, &f->seen, &f->err) < 0);
	f->profile.free_sites[0].group = 0;
	mt_snapshot_restart(f->snapshot);
	mt_snapshot_publish(f->snapshot, &f->profile);
	assert_int_equal(mt_snapshot_view_update(f->view, &f->seen, &f->err), 1);
	assert_string_equal(mt_strings_get(&f->seen.strings, f->seen.log[0].text), "");
}

/* A domain and a function that come while somebody watches. */
static void shows_functions(void **state)
{
	struct fixture *f = *state;
	struct mt_profile *p = &f->profile;

	mt_snapshot_publish(f->snapshot, p);
	assert_int_equal(mt_snapshot_view_update(f->view, &f->seen, &f->err), 1);
	const struct mt_domain gpu = {mt_strings_add(&p->strings, "gpu"), 48, 0};
	const struct mt_allocator_function take = {mt_strings_add(&p->strings, "gpu_take"),
		(uint16_t)mt_profile_add_domain(p, &gpu), MT_CALL_ALLOCATE, 0};
	uint32_t pc = mt_profile_function_pc(p, mt_profile_add_function(p, &take));
	uint32_t group = mt_profile_add_group(p, mt_profile_add_node(p, 0, pc));

	mt_snapshot_publish(f->snapshot, p);
	assert_int_equal(mt_snapshot_view_update(f->view, &f->seen, &f->err), 1);
	assert_string_equal(mt_profile_function_name(&f->seen,
				    mt_profile_group_function(&f->seen, group)),
		"gpu_take");
	assert_string_equal(mt_profile_domain_name(&f->seen,
				    mt_profile_group_domain(&f->seen, group)),
		"gpu");

	p->functions[MT_FUNCTION_FIRST].domain = MT_DOMAIN_FIRST + 1;
	mt_snapshot_restart(f->snapshot);
	mt_snapshot_publish(f->snapshot, p);
	assert_true(mt_snapshot_view_update(f->view, &f->seen, &f->err) < 0);
	p->functions[MT_FUNCTION_FIRST].domain = MT_DOMAIN_FIRST;
	p->pcs[pc].address++;
	mt_snapshot_restart(f->snapshot);
	mt_snapshot_publish(f->snapshot, p);
	assert_true(mt_snapshot_view_update(f->view, &f->seen, &f->err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(shows_the_log, setup,
						   teardown),
		cmocka_unit_test_setup_teardown(shows_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_what_is_not_there, setup, teardown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
