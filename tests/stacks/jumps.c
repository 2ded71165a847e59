/* Control that leaves frames or stacks otherwise than by return: longjmp over allocating frames,
 * out of signal handlers, and coroutines by ucontext on stacks of which the tracer does not know
 * the bounds: in a page of their own with nothing mapped beyond, and inside a heap block. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

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

NOINLINE static void jumper(jmp_buf *to, int depth)
{
	touch();
	if (depth <= 0)
		longjmp(*to, 1);
	jumper(to, depth - 1);
	BARRIER;
}

NOINLINE static void by_longjmp(int depth)
{
	volatile int again = depth;
	jmp_buf here;

	if (setjmp(here) == 0)
		jumper(&here, (int)(rnd() % 12));
	touch();
	if (again-- > 0) {
		touch();
		jumper(&here, (int)(rnd() % 3));
	}
}

static sigjmp_buf way_out;
static void handler(int number)
{
	touch();
	if (number == SIGUSR2)
		siglongjmp(way_out, 1);
	by_longjmp(1);
}

NOINLINE static void by_signal(int number)
{
	if (sigsetjmp(way_out, 1) == 0) {
		touch();
		raise(number);
	}
	touch();
}

struct coroutine {
	ucontext_t self, caller;
	int yields;
	bool done;
};
static struct coroutine *current;

NOINLINE static void yielding(struct coroutine *c, int depth)
{
	touch();
	if (depth > 0)
		yielding(c, depth - 1);
	else
		swapcontext(&c->self, &c->caller);
	touch();
}

static void coroutine_main(int a, int b, int c, int d, int e, int f, int g)
{
	struct coroutine *self = current;

	touch();
	for (int i = 0; i < self->yields; i++)
		yielding(self, a + b + c + d + e + f + g + i);
	by_longjmp(3);
	self->done = true;
}

#define STACK 65536
#define COROUTINES 8

NOINLINE static void by_coroutine(void *(*get)(size_t), void (*release)(void *, size_t))
{
	static struct coroutine all[COROUTINES];

	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&all[i].self);
		all[i].self.uc_stack.ss_sp = get(STACK);
		all[i].self.uc_stack.ss_size = STACK;
		all[i].self.uc_link = &all[i].caller;
		all[i].yields = i;
		all[i].done = false;
		makecontext(&all[i].self, (void (*)(void))coroutine_main, 7, 0, 0, 1, 0, 1, 0, 1);
	}
	for (int turn = 0; turn < COROUTINES * COROUTINES; turn++) {
		current = &all[turn % COROUTINES];
		if (!current->done)
			swapcontext(&current->caller, &current->self);
		touch();
	}
	for (int i = 0; i < COROUTINES; i++)
		release(all[i].self.uc_stack.ss_sp, STACK);
}

/* Nothing is mapped on either side. */
static void *map(size_t len)
{
	char *p = mmap(NULL, len + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);

	mprotect(p + 4096, len, PROT_READ | PROT_WRITE);
	return p + 4096;
}

static void unmap(void *p, size_t len)
{
	munmap((char *)p - 4096, len + 2 * 4096);
}

static void release(void *p, size_t len)
{
	(void)len;
	free(p);
}

int main(void)
{
	static char stack[32768];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {.sa_handler = handler};

	sigaltstack(&alternate, NULL);
	for (int i = 0; i < 200; i++) {
		action.sa_flags = i & 1 ? SA_ONSTACK : 0;
		sigaction(SIGUSR1, &action, NULL);
		sigaction(SIGUSR2, &action, NULL);
		by_longjmp((int)(rnd() % 5));
		by_signal(SIGUSR1);
		by_signal(SIGUSR2);
		by_coroutine(i & 2 ? map : malloc, i & 2 ? unmap : release);
	}
	for (int i = 0; i < 64; i++)
		free(slots[i]);
	puts("done");
	return 0;
}
