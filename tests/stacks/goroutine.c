/* C that is called by goroutines, as far as a tracer sees them: on the thread's stack, from stacks
 * of which only assembly knows (goroutine.S). While C runs such a stack may move, and the old one
 * may be gone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE 65536
#define ROUNDS 6000

struct goroutine {
	uint64_t lo, hi;
};
void goroutine_run(struct goroutine *, void (*)(void));

static struct goroutine all[4], *running;

static void *stack_of(struct goroutine *g)
{
	void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	g->lo = (uint64_t)stack;
	g->hi = g->lo + SIZE;
	return stack;
}

static __attribute__((noinline)) void allocate(size_t size)
{
	void *volatile p = malloc(size);

	free(p);
}

static void plain(void)
{
	allocate(1000);
	allocate(1000);
}

/* As Go does: the frame pointers on the new stack lead up the new stack. */
static void moves(void)
{
	struct goroutine old = *running;

	allocate(2000);
	memcpy(stack_of(running), (void *)old.lo, SIZE);
	for (uint64_t *at = (uint64_t *)running->lo; at < (uint64_t *)running->hi; at++)
		if (*at - old.lo < SIZE)
			*at += running->lo - old.lo;
	munmap((void *)old.lo, SIZE);
	allocate(3000);
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		stack_of(&all[i]);
	for (int i = 0; i < ROUNDS; i++) {
		running = &all[i % 4];
		goroutine_run(running, i % 3 ? plain : moves);
	}
	printf("done\n");
	return 0;
}
