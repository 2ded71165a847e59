// Operators of the program's own: OWNED & 1 new, OWNED & 2 delete. Those for arrays are the library's. Nothing is wrong here, on the
// thread's own stack and on a coroutine's.
#include <cstdlib>
#include <new>
#include <ucontext.h>

#define OWN __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")

#if OWNED & 1
OWN void *operator new(std::size_t n)
{
	void *p = malloc(n);

	KEEP;
	if (!p)
		throw std::bad_alloc();
	return p;
}
#endif
#if OWNED & 2
OWN void operator delete(void *p) noexcept { free(p); KEEP; }
OWN void operator delete(void *p, std::size_t) noexcept { free(p); KEEP; }
#endif

static void *volatile sink;

static void use()
{
	for (int i = 0; i < 10; i++) {
		int *one = new int, *many;

		sink = one;
		delete one;
		sink = many = new int[5];
		delete[] many;
	}
}

static ucontext_t inside, outside;
static char stack[65536];

int main()
{
	use();
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof stack;
	inside.uc_link = &outside;
	makecontext(&inside, use, 0);
	swapcontext(&outside, &inside);
	return 0;
}
