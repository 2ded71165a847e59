/* Frames of every shape that a compiler makes: alloca, arrays of variable length, realigned stacks,
 * many arguments, tail calls, large frames, with frame pointer or without as the compiler was told.
 * A random walk through them, with allocations on the way in and on the way out, so that stacks
 * differ from the last in every place. */
#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BARRIER __asm__ volatile("" ::: "memory")

static unsigned long seed = 88172645463325252ul;
static void *slots[64];

static unsigned rnd(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (unsigned)(seed >> 33);
}

NOINLINE static void touch(void)
{
	unsigned i = rnd() % 64;

	free(slots[i]);
	slots[i] = malloc(rnd() % 300);
}

NOINLINE static void walk(int depth);

NOINLINE static void by_alloca(int depth)
{
	char *p = alloca(rnd() % 2000 + 1);

	memset(p, depth, 1);
	touch();
	walk(depth - 1);
	touch();
	BARRIER;
}

NOINLINE static int by_vla(int depth)
{
	int n = (int)(rnd() % 500) + 1;
	volatile int array[n];

	array[n - 1] = depth;
	touch();
	if (depth & 1) {
		volatile char inner[array[n - 1] * 3 + 1];

		inner[0] = 1;
		walk(depth - 1);
		touch();
	}
	touch();
	return array[n - 1];
}

NOINLINE static void by_realign(int depth)
{
	_Alignas(128) volatile char space[128];

	space[0] = 1;
	touch();
	walk(depth - 1);
	space[1] = space[0];
	touch();
}

/* Realigned and of variable size: the frame is found through a register that is saved. */
NOINLINE static void by_realign_and_alloca(int depth, long a, long b, long c, long d, long e,
	long f, long g)
{
	_Alignas(64) volatile long space[8];
	volatile char *p = alloca(rnd() % 200 + 1);

	p[0] = (char)depth;
	space[depth & 7] = a + b + c + d + e + f + g;
	touch();
	walk(depth - 1);
	space[1] += g;
	touch();
}

NOINLINE static long by_arguments(int depth, long a, long b, long c, long d, long e, long f, long g,
	long h)
{
	touch();
	by_realign_and_alloca(depth - 1, b, c, d, e, f, g, h);
	touch();
	return a + h;
}

NOINLINE static long by_varargs(int depth, ...)
{
	va_list list;
	long sum = 0;

	va_start(list, depth);
	for (int i = 0; i < 4; i++)
		sum += (long)va_arg(list, double) + va_arg(list, int);
	va_end(list);
	touch();
	walk(depth - 1);
	touch();
	return sum;
}

NOINLINE static void by_large(int depth)
{
	volatile char space[20000];

	space[rnd() % sizeof space] = 1;
	touch();
	walk(depth - 1);
	space[1] = 1;
	touch();
}

NOINLINE static void by_tail_call(int depth)
{
	touch();
	walk(depth - 1);
}

__attribute__((noreturn)) static void leave(void)
{
	touch();
	exit(0);
}

NOINLINE static void by_cold(int depth)
{
	touch();
	if (__builtin_expect(depth > 1000, 0))
		leave();
	walk(depth - 1);
	BARRIER;
}

static int compare(const void *a, const void *b)
{
	touch();
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void by_callback(int depth)
{
	int numbers[6] = {3, 1, 2, 5, 4, depth};

	qsort(numbers, 6, sizeof *numbers, compare);
	touch();
	walk(depth - 1);
	BARRIER;
}

NOINLINE static void walk(int depth)
{
	touch();
	if (depth <= 0)
		return;
	for (int i = 0; i < 1 + (rnd() % 3 == 0); i++)
		switch (rnd() % 10) {
		case 0: by_alloca(depth); break;
		case 1: by_vla(depth); break;
		case 2: by_realign(depth); break;
		case 3: by_realign_and_alloca(depth, 1, 2, 3, 4, 5, 6, 7); break;
		case 4: by_arguments(depth, 1, 2, 3, 4, 5, 6, 7, 8); break;
		case 5: by_varargs(depth, 1.0, 2, 3.0, 4, 5.0, 6, 7.0, 8); break;
		case 6: by_large(depth); break;
		case 7: by_tail_call(depth); break;
		case 8: by_cold(depth); break;
		case 9: by_callback(depth); break;
		}
	BARRIER;
}

int main(void)
{
	for (int i = 0; i < 350; i++)
		walk(12);
	for (int i = 0; i < 64; i++)
		free(slots[i]);
	puts("done");
	return 0;
}
