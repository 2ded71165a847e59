#include "core/symbol/guard.h"

#include "core/base/buffer.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_BYTES 65536 /* of the handler, where the thread's own is what has overflowed */

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
#define FAULTS (sizeof faults / sizeof *faults)

/* A handler can reach nothing but static storage. */
static struct sigaction before[FAULTS];
static _Thread_local sigjmp_buf *volatile way_out;

/* Of a thread without a guard: what was to be done before, as the fault comes again. */
static void pass_on(int number, const siginfo_t *info)
{
	for (size_t i = 0; i < FAULTS; i++)
		if (faults[i] == number)
			sigaction(number, &before[i], NULL);
	if (info->si_code <= 0) /* it was sent */
		raise(number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	sigjmp_buf *out = way_out;

	(void)context;
	if (!out) {
		pass_on(number, info);
		return;
	}
	way_out = NULL;
	siglongjmp(*out, number);
}

/* The screen's own handlers may have come later: these come before them again. */
static void install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction present;

	sigemptyset(&action.sa_mask);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < FAULTS; i++) {
		if (sigaction(faults[i], NULL, &present) < 0
			|| (present.sa_flags & SA_SIGINFO && present.sa_sigaction == on_fault))
			continue;
		before[i] = present;
		sigaction(faults[i], &action, NULL);
	}
	pthread_mutex_unlock(&lock);
}

/* A signal that is blocked ends the process when it comes of a fault. */
static void let_through(sigset_t *mask)
{
	sigset_t these;

	sigemptyset(&these);
	for (size_t i = 0; i < FAULTS; i++)
		sigaddset(&these, faults[i]);
	pthread_sigmask(SIG_UNBLOCK, &these, mask);
}

int mt_guard(void (*work)(void *), void *context)
{
	void *stack = mt_alloc(STACK_BYTES);
	stack_t old_stack;
	sigjmp_buf out;
	sigset_t mask;
	int number;

	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, &old_stack);
	install();
	let_through(&mask);
	number = sigsetjmp(out, 1);
	if (!number) {
		way_out = &out;
		work(context);
		way_out = NULL;
	}
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (number)
		return number;
	sigaltstack(&old_stack, NULL);
	free(stack);
	return 0;
}

void mt_guard_park(void)
{
	for (;;)
		pause();
}
