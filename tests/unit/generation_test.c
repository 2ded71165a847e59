/* Parts that several hold: nobody changes what somebody else holds, and the last one frees it. */
#include "core/recording/recording.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_held_parts_stay(void **state)
{
	struct mt_generation now, held;

	(void)state;
	mt_generation_init(&now);
	assert_non_null(mt_generation_change_profile(&now));
	assert_non_null(mt_generation_change_symbols(&now));
	held = mt_generation_hold(&now, true);
	assert_null(mt_generation_change_profile(&now));
	assert_null(mt_generation_change_symbols(&now));
	mt_generation_release(&held);
	assert_ptr_equal(mt_generation_change_profile(&now), now.profile);
	held = mt_generation_hold(&now, false); /* names may come meanwhile */
	assert_null(held.symbols);
	assert_null(mt_generation_change_profile(&now));
	assert_ptr_equal(mt_generation_change_symbols(&now), now.symbols);
	mt_generation_release(&held);
	mt_generation_release(&now);
	mt_generation_release(&now); /* zeroed: nothing */
}

/* Who holds them keeps names and totals that others have taken the place of. */
static void test_replaced_parts_live_on(void **state)
{
	struct mt_generation now, held;
	struct mt_profile other;

	(void)state;
	mt_generation_init(&now);
	mt_strings_add(&mt_generation_change_symbols(&now)->strings, "before");
	mt_strings_add(&mt_generation_change_profile(&now)->strings, "before");
	held = mt_generation_hold(&now, true);
	uint64_t profile = now.profile->lineage, symbols = now.symbols->lineage,
		 generation = now.symbols->generation;

	mt_generation_forget_symbols(&now);
	mt_profile_init(&other);
	mt_generation_put(&now, &other, NULL);
	assert_int_not_equal(now.profile->lineage, profile);
	assert_int_not_equal(now.symbols->lineage, symbols);
	assert_int_equal(now.symbols->generation, generation + 1);
	assert_int_equal(now.symbols->strings.count, 1);
	assert_string_equal(mt_strings_get(&held.symbols->strings, 1), "before");
	assert_string_equal(mt_strings_get(&held.profile->strings, 1), "before");
	assert_non_null(mt_generation_change_profile(&now));
	mt_generation_release(&now);
	assert_string_equal(mt_strings_get(&held.symbols->strings, 1), "before");
	mt_generation_release(&held);
}

struct reading {
	struct mt_generation of;
	uint32_t length;
};

static void *read_and_release(void *context)
{
	struct reading *r = context;

	for (int i = 0; i < 1000; i++)
		r->length += r->of.symbols->strings.count;
	mt_generation_release(&r->of);
	return NULL;
}

/* A thread reads the names while its caller would like to add some, again and again. Under
 * ThreadSanitizer a change of what is read is seen. */
static void test_threads_read_what_stays(void **state)
{
	struct mt_generation now;
	uint32_t added = 0;
	char name[32];

	(void)state;
	mt_generation_init(&now);
	while (added < 200) {
		struct reading reading = {.of = mt_generation_hold(&now, true)};
		uint32_t count = now.symbols->strings.count;
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, read_and_release, &reading), 0);
		struct mt_symbols *symbols;

		while (!(symbols = mt_generation_change_symbols(&now)))
			sched_yield();
		snprintf(name, sizeof name, "name %u", added++);
		mt_strings_add(&symbols->strings, name);
		pthread_join(thread, NULL);
		assert_int_equal(reading.length, 1000 * count);
	}
	mt_generation_release(&now);
}

/* What is no recording is refused with a sentence, and a trace is not taken for another one's. */
static void test_refusals(void **state)
{
	struct mt_open_options options = {0};
	struct mt_err err = {0};

	(void)state;
	assert_null(mt_recording_open("/nowhere/at/all", &options, &err));
	assert_true(err.code < 0);
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
	err = (struct mt_err){0};
	assert_null(mt_recording_open("/dev/null", &options, &err));
	assert_true(err.code < 0 && err.text[0]);
	err = (struct mt_err){0};
	assert_null(mt_recording_attach("memtui-no-such-session", 0, &err));
	assert_true(err.code < 0 && err.text[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_parts_stay),
		cmocka_unit_test(test_replaced_parts_live_on),
		cmocka_unit_test(test_threads_read_what_stays),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
