/* Which group is named as a suspect, and for how long, by a clock that the test moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tui/data/suspect.h"

#define SECOND 1000000000ull
enum { STEADY, LEAKS, LATER, GROUPS };

struct world {
	struct mt_profile profile;
	struct mt_group groups[GROUPS];
	struct mt_ranking ranking;
	struct mt_suspect suspect;
	uint64_t seconds;
};

/* So many seconds, in each of which so much is added. */
static void pass(struct world *w, uint64_t seconds, int64_t leaks, int64_t later)
{
	w->profile.groups = w->groups;
	w->profile.group_count = GROUPS;
	for (; seconds; seconds--) {
		w->profile.info.wall_ns = ++w->seconds * SECOND;
		w->groups[STEADY].live_bytes = 1000000;
		w->groups[LEAKS].live_bytes += (uint64_t)leaks;
		w->groups[LATER].live_bytes += (uint64_t)later;
		for (int i = 0; i < GROUPS; i++) {
			struct mt_group *group = &w->groups[i];

			group->live_count = group->live_bytes / 100;
			if (group->live_count > group->allocated_count)
				group->allocated_count = group->live_count;
		}
		mt_ranking_add(&w->ranking, &w->profile);
		mt_suspect_update(&w->suspect, &w->ranking, &w->profile, true);
	}
}

static void is(const struct world *w, uint32_t group, bool grows)
{
	assert_int_equal(group + 1, w->suspect.group);
	assert_int_equal(grows, w->suspect.grows);
}

static struct world *begin(void)
{
	return calloc(1, sizeof(struct world));
}

static void end(struct world *w)
{
	mt_ranking_free(&w->ranking);
	free(w);
}

static void test_growing(void **state)
{
	struct world *w = begin();

	(void)state;
	pass(w, 15, 5000, 0);
	assert_int_equal(0, w->suspect.group); /* a warm-up looks the same */
	pass(w, 30, 5000, 0);
	is(w, LEAKS, true);
	end(w);
}

/* An hour without growth: the scores have forgotten it, the memory is still held. */
static void test_idle(void **state)
{
	struct world *w = begin();

	(void)state;
	pass(w, 300, 5000, 0);
	pass(w, 50, 0, 0);
	is(w, LEAKS, true);
	pass(w, 20, 0, 0); /* its score is still high */
	is(w, LEAKS, false);
	pass(w, 3530, 0, 0);
	is(w, LEAKS, false);
	assert_int_equal(300 * SECOND, w->suspect.grew_ns);
	pass(w, 300, 5000, 0); /* again */
	is(w, LEAKS, true);
	assert_int_equal(4200 * SECOND, w->suspect.grew_ns);
	end(w);
}

static void test_freed(void **state)
{
	struct world *w = begin();

	(void)state;
	pass(w, 300, 5000, 0);
	pass(w, 600, 0, 0);
	pass(w, 1, -600000, 0); /* it holds more than half */
	is(w, LEAKS, false);
	pass(w, 1, -200000, 0);
	assert_int_equal(0, w->suspect.group);
	end(w);
}

/* What grows is named in place of what did. */
static void test_another(void **state)
{
	struct world *w = begin();

	(void)state;
	pass(w, 300, 5000, 0);
	pass(w, 600, 0, 0);
	pass(w, 300, 0, 3000);
	is(w, LATER, true);
	pass(w, 600, 0, 0);
	is(w, LATER, false);
	assert_int_equal(1200 * SECOND, w->suspect.grew_ns);
	end(w);
}

static void test_another_recording(void **state)
{
	struct world *w = begin();

	(void)state;
	pass(w, 300, 5000, 0);
	w->seconds = 0;
	memset(w->groups, 0, sizeof w->groups);
	pass(w, 1, 1000, 0);
	assert_int_equal(0, w->suspect.group);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_growing),
		cmocka_unit_test(test_idle), cmocka_unit_test(test_freed),
		cmocka_unit_test(test_another), cmocka_unit_test(test_another_recording)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
