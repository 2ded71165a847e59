/* Stacks that differ in nothing but a frame pointer: the same pc and sp inside, a frame of variable
 * size, and other callers beyond, while the memory between still holds the words of the stack
 * before. In check mode this catches a memo that ignores the frame pointer, or the slots where it
 * is saved. */
#include <alloca.h>
#include <stdint.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BARRIER __asm__ volatile("" ::: "memory")
static void *volatile keep;
static uintptr_t frames[2];
static void (*volatile leaf)(void);

NOINLINE static void inner(void)
{
	keep = malloc(10);
	free(keep);
	BARRIER;
}

__attribute__((noinline, noclone, optimize("no-omit-frame-pointer"))) static void saving(void)
{
	keep = malloc(20);
	free(keep);
	BARRIER;
}

NOINLINE static void variable(int depth, size_t size)
{
	(void)depth;
	keep = alloca(size);
	leaf();
	BARRIER;
}

NOINLINE static void pad(int depth, size_t size)
{
	void (*volatile next)(int, size_t);

	if (depth < 2 && size == 0)
		frames[depth] = (uintptr_t)__builtin_dwarf_cfa();
	/* one call site, so that the return addresses are equal */
	next = depth > 0 ? pad : variable;
	next(depth - 1, size);
	BARRIER;
}

int main(void)
{
	size_t frame;

	leaf = inner;
	pad(1, 0);
	frame = frames[1] - frames[0];
	for (int round = 0; round < 2000; round++) {
		int depth = (int)((unsigned)round * 7919u % 31);

		/* the same event time after time: the memo's last */
		leaf = round < 1000 ? inner : saving;
		pad(depth, (size_t)(64 - depth) * frame);
	}
	return 0;
}
