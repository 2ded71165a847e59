// Exceptions through frames that allocate, with destructors that allocate while the stack is being unwound, rethrown
// and nested ones, threads that are cancelled, and frames walked by libgcc itself with a callback that allocates.
#include <pthread.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline))
#define BARRIER asm volatile("" ::: "memory")

static thread_local unsigned long seed = 88172645463325252ul;
static thread_local void *slots[64];

static unsigned rnd()
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (unsigned)(seed >> 33);
}

NOINLINE static void touch()
{
	unsigned i = rnd() % 64;

	free(slots[i]);
	slots[i] = malloc(rnd() % 300);
}

struct Guard {
	char *p = new char[rnd() % 100 + 1];
	NOINLINE ~Guard()
	{
		touch();
		delete[] p;
		touch();
	}
};

struct Quiet {
	NOINLINE ~Quiet()
	{
		try {
			touch();
			throw 1;
		} catch (int) {
			touch();
		}
	}
};

NOINLINE static void thrower(int depth)
{
	Guard guard;

	if (depth <= 0) {
		if (rnd() % 2)
			throw std::runtime_error("a text that is long enough to be allocated by the string");
		throw depth;
	}
	volatile char space[40];
	space[0] = (char)depth;
	if (depth % 3 == 0) {
		Quiet quiet;

		thrower(depth - 1);
	}
	thrower(depth - 1);
	space[1] = 1;
}

NOINLINE static void rethrower(int depth)
{
	try {
		Guard guard;

		if (depth > 0)
			rethrower(depth - 1);
		else
			thrower((int)(rnd() % 6));
	} catch (const std::exception &) {
		touch();
		throw;
	} catch (int) {
		Guard another;

		throw std::logic_error("another text that is long enough to be allocated by the string");
	}
	BARRIER;
}

NOINLINE static void catcher(int depth)
{
	try {
		rethrower(depth);
	} catch (const std::exception &e) {
		touch();
		if (depth > 0)
			catcher(depth - 1);
	}
	touch();
}

static _Unwind_Reason_Code frame(_Unwind_Context *, void *count)
{
	touch();
	++*(int *)count;
	return _URC_NO_REASON;
}

NOINLINE static int walked(int depth)
{
	int count = 0;

	if (depth > 0)
		return walked(depth - 1) + 1;
	_Unwind_Backtrace(frame, &count);
	return count;
}

static void *cancelled(void *)
{
	Guard guard;

	catcher(2);
	for (;;) {
		Guard another;

		touch();
		usleep(100);
	}
	return nullptr;
}

static void *leaving(void *)
{
	Guard guard;

	catcher(2);
	pthread_exit(nullptr);
}

int main()
{
	for (int i = 0; i < 150; i++) {
		catcher((int)(rnd() % 4));
		walked(i % 10);
	}
	for (int i = 0; i < 10; i++) {
		pthread_t a, b;

		pthread_create(&a, nullptr, cancelled, nullptr);
		pthread_create(&b, nullptr, leaving, nullptr);
		pthread_cancel(a);
		pthread_join(a, nullptr);
		pthread_join(b, nullptr);
	}
	puts("done");
	return 0;
}
