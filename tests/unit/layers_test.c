/* Which groups have a colour, for how long, and how large their layers are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/query/query.h"
#include "tui/data/layers.h"

#define SECOND 1000000000ull
#define GROUPS 12

struct world {
	struct mt_profile profile;
	struct mt_group groups[GROUPS];
	struct mt_ranking ranking;
	struct mt_layers layers;
};

/* Live bytes of the groups at that second, as a screen sees them. */
static void at(struct world *w, uint64_t second, const uint64_t bytes[GROUPS])
{
	w->profile.groups = w->groups;
	w->profile.group_count = GROUPS;
	w->profile.info.wall_ns = second * SECOND;
	w->profile.info.leaked_bytes = 0;
	for (int i = 0; i < GROUPS; i++) {
		w->groups[i].live_bytes = bytes[i];
		w->groups[i].live_count = bytes[i] > 0;
		w->profile.info.leaked_bytes += bytes[i];
	}
	mt_ranking_add(&w->ranking, &w->profile);
	mt_layers_update(&w->layers, &w->profile, &w->ranking, true);
}

static void end(struct world *w)
{
	mt_ranking_free(&w->ranking);
	free(w);
}

static void test_largest_first(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)state;
	assert_int_equal(mt_layers_of(&w->layers, 0), -1); /* nothing is known yet */
	at(w, 1, (const uint64_t[GROUPS]){10, 900, 30, 800, 50, 700, 70, 600, 90, 500, 0, 1});
	assert_int_equal(mt_layers_of(&w->layers, 1), 0);
	assert_int_equal(mt_layers_of(&w->layers, 3), 1);
	assert_int_equal(mt_layers_of(&w->layers, 5), 2);
	assert_int_equal(mt_layers_of(&w->layers, 7), 3);
	assert_int_equal(mt_layers_of(&w->layers, 9), 4);
	assert_int_equal(mt_layers_of(&w->layers, 8), -1);
	end(w);
}

static void test_nothing_small(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)state;
	at(w, 1, (const uint64_t[GROUPS]){10000, 99, 101});
	assert_int_equal(mt_layers_of(&w->layers, 0), 0);
	assert_int_equal(mt_layers_of(&w->layers, 1), -1); /* less than a hundredth is not seen */
	assert_int_equal(mt_layers_of(&w->layers, 2), -1);
	assert_int_equal(mt_layers_of(&w->layers, MT_NO_GROUP), -1); /* others are free */
	end(w);
}

/* A group keeps its colour while it is among the eight largest; then the largest without one takes
 * it, and one colour a second changes. */
static void test_stable(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)state;
	at(w, 10, (const uint64_t[GROUPS]){500, 400, 300, 200, 100});
	at(w, 20, (const uint64_t[GROUPS]){100, 200, 300, 400, 500, 600, 700, 800});
	for (int i = 0; i < 5; i++)
		assert_int_equal(mt_layers_of(&w->layers, (uint32_t)i), i);
	/* 0 and 1 are the ninth and the tenth now */
	at(w, 30, (const uint64_t[GROUPS]){100, 110, 300, 400, 500, 600, 700, 800, 900, 950});
	assert_int_equal(mt_layers_of(&w->layers, 0), -1);
	assert_int_equal(mt_layers_of(&w->layers, 9), 0);
	assert_int_equal(mt_layers_of(&w->layers, 1), 1);
	w->profile.info.wall_ns += SECOND / 2;
	mt_layers_update(&w->layers, &w->profile, &w->ranking, true);
	assert_int_equal(mt_layers_of(&w->layers, 1), 1);
	w->profile.info.wall_ns += SECOND;
	mt_layers_update(&w->layers, &w->profile, &w->ranking, true);
	assert_int_equal(mt_layers_of(&w->layers, 1), -1);
	assert_int_equal(mt_layers_of(&w->layers, 8), 1);
	end(w);
}

/* Through what was sampled, on straight lines between, and from nothing at the beginning. */
static void test_sizes(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)state;
	at(w, 10, (const uint64_t[GROUPS]){1000});
	at(w, 20, (const uint64_t[GROUPS]){3000});
	at(w, 30, (const uint64_t[GROUPS]){4000});
	assert_int_equal(mt_layers_at(&w->layers, 0, 0), 0);
	assert_int_equal(mt_layers_at(&w->layers, 0, 5 * SECOND), 500);
	assert_int_equal(mt_layers_at(&w->layers, 0, 10 * SECOND), 1000);
	assert_int_equal(mt_layers_at(&w->layers, 0, 15 * SECOND), 2000);
	assert_int_equal(mt_layers_at(&w->layers, 0, 20 * SECOND), 3000);
	end(w);
}

/* However long it is watched: points are thinned out, the first and the newest stay right. */
static void test_long(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)state;
	for (uint64_t i = 1; i <= 5000; i++)
		at(w, i, (const uint64_t[GROUPS]){i * 1000});
	for (uint64_t i = 0; i <= 5000; i += 250) {
		uint64_t bytes = mt_layers_at(&w->layers, 0, i * SECOND);

		assert_true(bytes >= i * 1000 - i && bytes <= i * 1000 + i);
	}
	assert_true(w->layers.layer[0].count <= MT_LAYER_POINTS);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_largest_first),
		cmocka_unit_test(test_nothing_small),
		cmocka_unit_test(test_stable),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
