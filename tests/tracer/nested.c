/* Proves that allocations in signal handlers lose nothing and tear nothing, wherever they interrupt
 * the tracer, and that a handler which leaves the tracer by siglongjmp does no lasting harm. Runs
 * on nested_bump.c. With an argument the handlers jump. Prints the truth of its own allocations. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t can_jump, jumping;
static volatile long in_handler, in_main;
static void *volatile keep;

static void handler(int number)
{
	(void)number;
	for (int i = 0; i < 3; i++) {
		keep = malloc(100 + (size_t)i);
		in_handler++;
		free(keep);
	}
	if (jumping && can_jump && in_handler % 9 == 0) {
		can_jump = 0;
		siglongjmp(back, 1);
	}
}

__attribute__((noinline)) static void work(int depth, long n)
{
	if (depth > 0) {
		work(depth - 1, n);
		__asm__ volatile("" ::: "memory");
		return;
	}
	for (long i = 0; i < n; i++) {
		keep = malloc(32);
		in_main++;
		free(keep);
	}
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {.sa_handler = handler};
	struct itimerspec every = {{0, 50000}, {0, 50000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;
	char text[128];
	int len;

	(void)argv;
	jumping = argc > 1;
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return 1;
	timer_settime(timer, 0, &every, NULL);
	for (volatile int round = 0; round < 300; round++) {
		if (round == 150 && !jumping) { /* half on the alternate stack */
			action.sa_flags = SA_ONSTACK;
			sigaction(SIGUSR1, &action, NULL);
		}
		if (sigsetjmp(back, 1) == 0) {
			can_jump = 1;
			work(round % 20, 3000);
			can_jump = 0;
		}
		work(1, 10);
	}
	timer_delete(timer);
	len = snprintf(text, sizeof text, "TRUTH allocs=%ld main=%ld handler=%ld\n",
		in_main + in_handler, in_main, in_handler);
	return write(2, text, (size_t)len) != len;
}
