/* leaps MICROSECONDS: signal handlers leave by siglongjmp what the tracer does for a pool, so soon
 * that most leave the look at how the one before was left. Then 1,000 pairs in peace. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "preload/memtui.h"

static sigjmp_buf back;
static char pool[64];

static void handler(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void pair(void)
{
	memtui_pool_alloc(pool, pool + 16, 24);
	memtui_pool_free(pool, pool + 16);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handler};
	struct itimerval soon = {.it_value = {0, argc > 1 ? atoi(argv[1]) : 10}};

	sigaction(SIGALRM, &action, NULL);
	for (volatile int round = 0; round < 20; round++)
		if (sigsetjmp(back, 1) == 0) {
			setitimer(ITIMER_REAL, &soon, NULL);
			for (;;)
				pair();
		}
	for (volatile int i = 0; i < 1000; i++)
		pair();
	return 0;
}
