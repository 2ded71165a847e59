/* Names of threads: of those that live they are looked at again and again, of those that have ended
 * no more. */
#include "core/session/thread_names.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cmocka.h>

#define ENDED 100

static int go[2];

static void *say_number(void *at)
{
	*(uint32_t *)at = (uint32_t)gettid();
	return NULL;
}

static void *say_and_wait(void *at)
{
	char byte;

	prctl(PR_SET_NAME, "young");
	__atomic_store_n((uint32_t *)at, (uint32_t)gettid(), __ATOMIC_RELEASE);
	return read(go[0], &byte, 1) == 1 ? at : NULL;
}

/* A thread is joined a little before its number is free. */
static void await_end(uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
	while (access(path, F_OK) == 0)
		;
}

static void test_threads_that_ended(void **state)
{
	struct mt_thread_names names = {0};
	struct mt_profile p;
	struct mt_thread thread = {0};
	uint32_t tid = 0;
	pthread_t other;

	(void)state;
	mt_profile_init(&p);
	for (int i = 0; i < ENDED; i++) {
		pthread_create(&other, NULL, say_number, &thread.tid);
		pthread_join(other, NULL);
		await_end(thread.tid);
		mt_profile_add_thread(&p, &thread);
	}
	assert_int_equal(pipe(go), 0);
	pthread_create(&other, NULL, say_and_wait, &tid);
	while (!(thread.tid = __atomic_load_n(&tid, __ATOMIC_ACQUIRE)))
		;
	mt_profile_add_thread(&p, &thread);

	mt_thread_names_meet(&names, &p, getpid());
	assert_int_equal(names.met, ENDED + 1);
	assert_int_equal(names.living_count, 1);
	assert_string_equal(mt_strings_get(&p.strings, p.threads[ENDED].name), "young");
	pthread_setname_np(other, "old");
	mt_thread_names_refresh(&names, &p, getpid());
	assert_string_equal(mt_strings_get(&p.strings, p.threads[ENDED].name), "old");

	assert_int_equal(write(go[1], "x", 1), 1);
	pthread_join(other, NULL);
	await_end(tid);
	mt_thread_names_refresh(&names, &p, getpid());
	assert_int_equal(names.living_count, 0);
	assert_string_equal(mt_strings_get(&p.strings, p.threads[ENDED].name), "old");
	mt_thread_names_free(&names);
	mt_profile_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_that_ended)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
