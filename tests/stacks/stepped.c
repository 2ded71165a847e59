/* A signal after every single instruction, whose handler allocates: so each place of prologues,
 * epilogues, linkage stubs and library functions is unwound from. Half of the handlers run on a
 * small alternate stack. */
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/trap.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile long traps;
static void *volatile keep;

static void handler(int number)
{
	(void)number;
	traps++;
	keep = malloc(32);
	free(keep);
}

NOINLINE static long leaf(long a)
{
	return a * 3 + 1;
}

NOINLINE static long saving(long a, long b, long c)
{
	long sum = leaf(a);

	sum += leaf(b) * c;
	sum += leaf(c + b) * a;
	return leaf(sum) + b;
}

NOINLINE static long variable(int n)
{
	volatile char *p = alloca((size_t)n * 7 + 1);

	p[n] = (char)n;
	return saving(n, p[n], 3);
}

NOINLINE static long realigned(int n, long a, long b, long c, long d, long e, long f, long g)
{
	_Alignas(64) volatile long space[8];
	/* then it takes a register of its own to find the arguments */
	volatile char *p = alloca((size_t)n + 1);

	p[0] = 1;
	space[n & 7] = saving(a, b, c) + variable(n);
	return space[n & 7] + d + e + f + g;
}

NOINLINE static long tail(long a)
{
	return saving(a, a + 1, a + 2);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NOINLINE static long library(void)
{
	int numbers[5] = {5, 3, 4, 1, 2};
	char text[64];

	memset(text, 'x', sizeof text);
	qsort(numbers, 5, sizeof *numbers, compare);
	snprintf(text, sizeof text, "%d %s %ld", numbers[0], "text", (long)numbers[3]);
	return (long)strlen(text) + strtol(text, NULL, 10);
}

int main(void)
{
	static char stack[8192];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {.sa_handler = handler};
	long sum = 0;

	sigaltstack(&alternate, NULL);
	for (int i = 0; i < 4; i++) {
		action.sa_flags = i & 1 ? SA_ONSTACK : 0;
		sigaction(SIGTRAP, &action, NULL);
		trap_on();
		for (int j = 0; j < 3; j++)
			sum += tail(j) + realigned(j, 1, 2, 3, 4, 5, 6, 7);
		sum += library();
		trap_off();
	}
	printf("%ld %s\n", sum, traps > 5000 ? "done" : "no traps");
	return 0;
}
