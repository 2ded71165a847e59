/* A process whose first thread has ended while another goes on: the kernel shows neither its memory
 * nor its mappings by the process's number. */
#include "core/base/proc.h"
#include "core/capture/clock.h"
#include "core/session/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define TOUCHED (32u << 20)

static int ready[2], go[2];

static void *goes_on(void *unused)
{
	struct mt_proc_stat s;
	char *block, byte = 0;

	while (mt_proc_stat(getpid(), &s) && s.state != 'Z')
		;
	block = malloc(TOUCHED);
	memset(block, 1, TOUCHED);
	if (write(ready[1], block, 1) == 1)
		while (read(go[0], &byte, 1) < 0)
			;
	_exit(byte);
	return unused;
}

static pid_t start_leaderless(void)
{
	pthread_t thread;
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		if (pthread_create(&thread, NULL, goes_on, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	return pid;
}

static void finish(pid_t pid)
{
	struct mt_proc_stat s;
	int status;

	assert_int_equal(write(go[1], "\7", 1), 1);
	while (mt_proc_stat(pid, &s) && !mt_proc_has_ended(&s))
		;
	assert_int_equal(mt_proc_thread(pid), pid);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_false(mt_proc_stat(pid, &s));
	assert_int_equal(s.wait_status, MT_STATUS_UNKNOWN);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

static void another_thread_shows(void **state)
{
	struct mt_proc_stat s;
	pid_t pid, thread;

	(void)state;
	assert_true(mt_proc_stat(getpid(), &s));
	assert_int_equal(s.parent, getppid());
	assert_int_equal(mt_proc_thread(getpid()), getpid());
	pid = start_leaderless();
	assert_true(mt_proc_stat(pid, &s));
	assert_int_equal(s.state, 'Z');
	assert_false(mt_proc_has_ended(&s));
	thread = mt_proc_thread(pid);
	assert_int_not_equal(thread, pid);
	assert_true(mt_proc_stat(thread, &s));
	assert_int_not_equal(s.state, 'Z');
	finish(pid);
}

static void memory_is_seen(void **state)
{
	struct mt_memory_sampler sampler = {.arenas = 0}, seen;
	char *path, *heap = sbrk(4096); /* a sanitizer's malloc has none */
	pid_t pid;

	(void)state;
	assert_ptr_not_equal(heap, (void *)-1);
	*heap = 1;
	pid = start_leaderless();
	assert_true(mt_memory_sample(&sampler, pid, mt_clock_monotonic_ns()));
	mt_memory_own(&sampler, 0, 0);
	assert_true(mt_memory_is_due(&sampler, mt_clock_monotonic_ns()));
	assert_false(mt_memory_is_due(&sampler, mt_clock_monotonic_ns()));
	seen = sampler;
	mt_memory_look(&seen);
	mt_memory_take(&sampler, &seen);
	assert_true(sampler.memory.rss_bytes >= TOUCHED);
	assert_true(sampler.memory.pss_bytes >= TOUCHED);
	assert_true(sampler.vss_bytes >= sampler.memory.rss_bytes);
	assert_true(sampler.memory.arena_bytes > 0);
	path = mt_memory_module(pid, (uint64_t)(uintptr_t)memory_is_seen);
	assert_non_null(path);
	assert_non_null(strstr(path, "proc_test"));
	free(path);
	finish(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_thread_shows),
		cmocka_unit_test(memory_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
