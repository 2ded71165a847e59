/* ends HOW [FIFO]: 1000 blocks that stay, allocated by keep(), then the process ends by HOW:
 * return, exit, _exit, quick_exit, abort, segv, kill; or wait: says "ready", allocates on until a
 * byte comes on standard input, exits with 7. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void *volatile kept[1000];

static __attribute__((noinline)) void keep(int i)
{
	kept[i] = malloc(100 + (size_t)i);
}

static __attribute__((noinline)) void churn(void)
{
	void *p = malloc(64);

	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	for (int i = 0; i < 1000; i++)
		keep(i);
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "_exit"))
		_exit(4);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "wait")) {
		if (write(STDOUT_FILENO, "ready\n", 6) < 0)
			return 9;
		while (poll(&(struct pollfd){STDIN_FILENO, POLLIN, 0}, 1, 1) == 0)
			for (int i = 0; i < 1000; i++)
				churn();
		return 7;
	}
	return 0;
}
