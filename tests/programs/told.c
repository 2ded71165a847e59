/* Keeps a block; then, each time that it is told by SIGUSR1, one from another place. Ends with
 * SIGTERM. */
#include <signal.h>
#include <stdlib.h>

static void *kept[4];
static volatile sig_atomic_t told;

static void tell(int signal)
{
	(void)signal;
	told = 1;
}

__attribute__((noinline)) static void early_block(void)
{
	kept[0] = malloc(1000);
}

static void late_block(int i)
{
	switch (i) {
	case 1: kept[1] = malloc(500); break;
	case 2: kept[2] = malloc(600); break;
	case 3: kept[3] = malloc(700); break;
	}
}

int main(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGUSR1, tell);
	early_block();
	for (int i = 1;; i++) {
		while (!told)
			sigsuspend(&old);
		told = 0;
		late_block(i);
	}
}
