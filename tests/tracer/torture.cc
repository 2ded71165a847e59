// All that makes unwinding and memos go wrong, at once and over and over: exceptions, longjmp, signals on
// the normal and an alternate stack, coroutines, alloca, realigned frames, tail calls, frames without frame
// pointer or with, deep recursion. Run in check mode, where every stack is compared with a full walk.
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))
#define BARRIER asm volatile("" ::: "memory")

static thread_local unsigned long seed = 88172645463325252ul;
static thread_local void *slots[64];

static unsigned rnd()
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed >> 33;
}

NOINLINE static void touch()
{
	unsigned i = rnd() % 64;

	free(slots[i]);
	slots[i] = malloc(rnd() % 300);
}

static void step(int depth);

NOINLINE static void by_alloca(int depth)
{
	char *p = (char *)alloca(rnd() % 2000 + 1);

	memset(p, depth, 1);
	touch();
	step(depth - 1);
	touch();
	BARRIER;
}

struct alignas(64) Vector { double d[8]; };
NOINLINE static void by_realign(int depth)
{
	volatile Vector v{};

	touch();
	step(depth - 1);
	v.d[1] = depth;
	touch();
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void by_frame_pointer(int depth)
{
	volatile char space[40] = {0};

	touch();
	step(depth - 1);
	space[1] = 1;
	touch();
}

NOINLINE static void by_tail_call(int depth)
{
	touch();
	return step(depth - 1);
}

NOINLINE static void thrower(int depth)
{
	touch();
	if (depth <= 0 || rnd() % 4 == 0)
		throw std::runtime_error("an exception with a text that is long enough to be allocated");
	std::string guard(rnd() % 100, 'x');
	thrower(depth - 1);
	BARRIER;
}

NOINLINE static void by_exception(int depth)
{
	try {
		thrower(rnd() % 8);
	} catch (const std::exception &e) {
		touch();
		step(depth - 1);
	}
	touch();
}

NOINLINE static void jumper(jmp_buf &buf, int depth)
{
	touch();
	if (depth <= 0)
		longjmp(buf, 1);
	jumper(buf, depth - 1);
	BARRIER;
}

NOINLINE static void by_longjmp(int depth)
{
	jmp_buf buf;

	if (setjmp(buf) == 0)
		jumper(buf, rnd() % 8);
	touch();
	step(depth - 1);
	BARRIER;
}

static thread_local volatile int signal_depth;
static void handler(int)
{
	int depth = signal_depth;

	touch();
	signal_depth = 0;
	step(depth);
	touch();
}

NOINLINE static void by_signal(int depth)
{
	if (signal_depth)
		return;
	signal_depth = depth > 3 ? 3 : depth;
	raise(rnd() % 2 ? SIGUSR1 : SIGUSR2);
	touch();
	BARRIER;
}

struct Coroutine {
	ucontext_t self, caller;
	int depth;
};
static thread_local Coroutine *current;

static void coroutine_main()
{
	Coroutine *c = current;

	touch();
	swapcontext(&c->self, &c->caller);
	step(c->depth);
	touch();
	swapcontext(&c->self, &c->caller);
	touch();
}

NOINLINE static void by_coroutine(int depth)
{
	const size_t size = 256 << 10;
	void *stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	Coroutine c;

	getcontext(&c.self);
	c.self.uc_stack.ss_sp = stack;
	c.self.uc_stack.ss_size = size;
	c.self.uc_link = &c.caller;
	c.depth = depth > 4 ? 4 : depth - 1;
	makecontext(&c.self, coroutine_main, 0);
	for (int i = 0; i < 3; i++) {
		current = &c;
		swapcontext(&c.caller, &c.self);
		touch();
	}
	munmap(stack, size);
	BARRIER;
}

NOINLINE static void by_library(int depth)
{
	int numbers[5] = {3, 1, 2, 5, 4};
	static thread_local int in;

	in = depth;
	qsort(numbers, 5, sizeof *numbers, [](const void *a, const void *b) {
		touch();
		if (in > 0 && rnd() % 8 == 0) {
			int d = in;

			in = 0;
			step(d - 1);
		}
		return *(const int *)a - *(const int *)b;
	});
	std::map<int, std::string> m;
	for (int i = 0; i < 3; i++)
		m[(int)rnd()] = std::string(40, 'y');
	std::function<void()> f = [depth, m] { touch(); step(depth - 1); };
	f();
}

NOINLINE static int recurse(int n)
{
	if (n <= 0)
		return touch(), 0;
	int r = recurse(n - 1);
	if (n % 100 == 0)
		touch();
	BARRIER;
	return r + 1;
}

static void step(int depth)
{
	static void (*const ways[])(int) = {by_alloca, by_realign, by_frame_pointer, by_tail_call, by_exception,
		by_longjmp, by_signal, by_coroutine, by_library};

	touch();
	if (depth <= 0)
		return;
	ways[rnd() % 9](depth);
	if (rnd() % 3 == 0)
		ways[rnd() % 9](depth - 1);
	BARRIER;
}

static void run(int rounds, unsigned long s)
{
	std::vector<char> stack(128 << 10);
	stack_t alternate{};

	seed += s * 7919;
	alternate.ss_sp = stack.data();
	alternate.ss_size = stack.size();
	sigaltstack(&alternate, nullptr);
	for (int i = 0; i < rounds; i++) {
		step(8);
		if (i % 50 == 0)
			recurse(1500);
	}
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, nullptr);
	for (void *&p : slots) {
		free(p);
		p = nullptr;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 2000, threads = argc > 2 ? atoi(argv[2]) : 3;
	struct sigaction action{};
	std::vector<std::thread> others;

	action.sa_handler = handler;
	sigaction(SIGUSR1, &action, nullptr);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, nullptr);
	run(rounds, 1);
	for (int i = 0; i < threads; i++)
		others.emplace_back(run, rounds / 4, 2 + i);
	for (std::thread &t : others)
		t.join();
	puts("done");
	return 0;
}
