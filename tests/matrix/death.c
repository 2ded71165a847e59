/* death HOW: 1,000 live blocks, then the process ends in that way. What it prints before is what
 * must be counted. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "death.h"

#define BLOCKS 1000
#define THREADS 8
#define CASE(name) \
	__attribute__((noinline)) static void *case_##name(size_t i) \
	{ \
		void *p = malloc(100 + i); \
		return p ? p : NULL; \
	}

extern char **environ;
static void *volatile kept[BLOCKS];
static char *self;
static volatile int stop;
static sem_t alive;
static pthread_key_t key;

CASE(keep)
CASE(tls)
CASE(atexit)
CASE(library)
CASE(late)
CASE(thread)

static void say(const char *text)
{
	size_t len = strlen(text);

	if (write(STDOUT_FILENO, text, len) != (ssize_t)len)
		_exit(99);
}

/* The truth of a case of n blocks, of which all stay or none. */
static void truth(const char *name, size_t n, int stay)
{
	size_t bytes = n * 100 + n * (n - 1) / 2;
	char text[128];

	snprintf(text, sizeof text,
		"CASE case_%s count=%zu bytes=%zu leaked=%zu leaked_bytes=%zu\n", name, n, bytes,
		stay ? n : 0, stay ? bytes : 0);
	say(text);
}

static void *churn(void *unused)
{
	(void)unused;
	sem_post(&alive);
	while (!stop)
		for (size_t i = 0; i < 100; i++) {
			void *volatile p = malloc(64 + i);

			free(p);
		}
	return NULL;
}

static void start_churning(void)
{
	pthread_t thread;

	say("ANY ambiguous leaked_count allocated_bytes\n");
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, churn, NULL);
	for (int i = 0; i < 3; i++)
		sem_wait(&alive);
}

/* ---- by what ---- */

static volatile int deepest = 1 << 30;

static __attribute__((noinline)) int overflow(int depth)
{
	volatile char frame[512];

	memset((char *)frame, depth, sizeof frame);
	free(malloc((size_t)(depth & 127)));
	return depth < deepest ? overflow(depth + 1) + frame[depth & 511] : 0;
}

static void on_overflow(int signal)
{
	(void)signal;
	say("overflow\n");
	_exit(9);
}

static void handle_overflow(void)
{
	static char stack[65536];

	say("ANY cut_stacks\n");
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
	sigaction(SIGSEGV, &(struct sigaction){.sa_handler = on_overflow, .sa_flags = SA_ONSTACK},
		NULL);
	overflow(0);
}

static void become(char *how)
{
	execve(self, (char *[]){self, how, NULL}, environ);
}

static void *exit_from_thread(void *unused)
{
	(void)unused;
	exit(8);
}

static void *go_on(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	for (size_t i = 0; i < BLOCKS; i++)
		kept[i] = case_late(i);
	return NULL;
}

static void exit_main(void)
{
	static pthread_t me, thread;

	me = pthread_self();
	truth("late", BLOCKS, 1);
	pthread_create(&thread, NULL, go_on, &me);
	pthread_exit(NULL);
}

static void wait_for(pid_t pid)
{
	int status = -1;
	char text[64];

	if (pid > 0)
		waitpid(pid, &status, 0);
	snprintf(text, sizeof text, "child %x\n", status);
	say(text);
}

static void children(const char *how)
{
	char *leaf[] = {self, "child", NULL};
	pid_t pid = 0;

	if (!strcmp(how, "fork")) {
		for (int i = 0; i < 4; i++) {
			if ((pid = fork()) == 0) {
				free(malloc(10));
				free(kept[5]);
				if (i == 0)
					abort();
				raise(i == 1 ? SIGKILL : i == 2 ? SIGSEGV : SIGTERM);
				_exit(1);
			}
			wait_for(pid);
		}
		return;
	}
	if (!strcmp(how, "posix_spawn")) {
		if (posix_spawn(&pid, self, NULL, NULL, leaf, environ) != 0)
			pid = -1;
	} else if ((pid = vfork()) == 0) {
		if (!strcmp(how, "vfork_exec"))
			execve(self, leaf, environ);
		_exit(12);
	}
	wait_for(pid);
}

/* ---- frees at the end ---- */

static void free_all(void *at)
{
	void **blocks = at;

	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	free(blocks);
}

static void *use_key(void *unused)
{
	void **blocks = malloc(BLOCKS * sizeof *blocks);

	(void)unused;
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = case_tls(i);
	pthread_setspecific(key, blocks);
	return NULL;
}

static void tls(void)
{
	pthread_t threads[THREADS];
	char text[128];

	pthread_key_create(&key, free_all);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, use_key, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	snprintf(text, sizeof text, "CASE case_tls count=%d bytes=%d leaked=0 leaked_bytes=0\n",
		4 * THREADS * BLOCKS, 4 * THREADS * 599500);
	say("ANY ambiguous\n");
	say(text);
}

static void *at_end[BLOCKS];

static void free_at_end(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		free(at_end[i]);
}

static void exit_with_frees(int (*at)(void (*)(void)))
{
	truth("atexit", BLOCKS, 0);
	for (size_t i = 0; i < BLOCKS; i++)
		at_end[i] = case_atexit(i);
	at(free_at_end);
}

static void fill_library(void)
{
	truth("library", BLOCKS, 0);
	for (size_t i = 0; i < BLOCKS; i++)
		give_to_library(case_library(i));
}

static void *wait_for_cancel(void *blocks)
{
	pthread_cleanup_push(free_all, blocks);
	sem_post(&alive);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel(void)
{
	void **blocks = malloc(BLOCKS * sizeof *blocks);
	pthread_t thread;

	truth("thread", BLOCKS, 0);
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = case_thread(i);
	pthread_create(&thread, NULL, wait_for_cancel, blocks);
	sem_wait(&alive);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static int end(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "_exit"))
		_exit(4);
	if (!strcmp(how, "_Exit"))
		_Exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(6);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*(volatile int *)(uintptr_t)(how == NULL ? 4096 : 8) = 1;
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "assert"))
		assert(how == NULL);
	if (!strcmp(how, "overflow")) {
		say("ANY cut_stacks\n");
		overflow(0);
	}
	if (!strcmp(how, "overflow_handled"))
		handle_overflow();
	if (!strcmp(how, "exec"))
		become("leaf");
	if (!strcmp(how, "exec_fails")) {
		self = "/nowhere/at/all";
		become("leaf");
		exit(errno == ENOENT ? 7 : 8);
	}
	if (!strcmp(how, "main_ends"))
		exit_main();
	if (!strcmp(how, "thread_exits")) {
		pthread_t thread;

		start_churning();
		pthread_create(&thread, NULL, exit_from_thread, NULL);
		pause();
	}
	if (!strcmp(how, "threads_killed")) {
		start_churning();
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(how, "threads_exec")) {
		start_churning();
		become("leaf");
	}
	if (!strcmp(how, "fork") || !strcmp(how, "vfork") || !strcmp(how, "vfork_exec")
		|| !strcmp(how, "posix_spawn"))
		children(how);
	if (!strcmp(how, "tls"))
		tls();
	if (!strcmp(how, "atexit"))
		exit_with_frees(atexit);
	if (!strcmp(how, "at_quick_exit")) {
		exit_with_frees(at_quick_exit);
		quick_exit(10);
	}
	if (!strcmp(how, "library"))
		fill_library();
	if (!strcmp(how, "cancel"))
		cancel();
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	self = argv[0];
	if (!strcmp(how, "leaf") || !strcmp(how, "child")) { /* what was exec'ed: other blocks */
		if (!strcmp(how, "leaf"))
			truth("late", BLOCKS, 1);
		for (size_t i = 0; i < BLOCKS; i++)
			kept[i] = case_late(i);
		return 11;
	}
	sem_init(&alive, 0, 0);
	truth("keep", BLOCKS, 1);
	for (size_t i = 0; i < BLOCKS; i++)
		kept[i] = case_keep(i);
	return end(how);
}
