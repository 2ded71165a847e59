// Proves that all forms of operator new and delete are seen once and with their own kind, that bad_alloc
// passes through the hooks, and that a new that failed leaves nothing behind that a later malloc could be
// taken for. Prints the truth.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

static void *volatile keep;
static int allocations, frees, arrays, singles;

struct alignas(256) Wide { char c[256]; };
struct Thing { int x = 7; ~Thing() { x = 0; } };

template <class T> static T *one(T *p) { keep = p; allocations++; singles++; return p; }
template <class T> static T *many(T *p) { keep = p; allocations++; arrays++; return p; }

__attribute__((noinline)) static void fail(size_t n)
{
	try {
		keep = ::operator new(n);
		std::abort();
	} catch (const std::bad_alloc &) {
	}
	try {
		keep = ::operator new[](n, std::align_val_t(64));
		std::abort();
	} catch (const std::bad_alloc &) {
	}
	if (::operator new(n, std::nothrow))
		std::abort();
}

static void new_handler_once()
{
	std::set_new_handler(nullptr);
}

int main()
{
	volatile size_t huge = SIZE_MAX / 4;

	// the exception machinery allocates by itself: once, before the counts matter
	fail(huge);
	for (int i = 0; i < 10; i++) {
		delete one(new int);
		delete one(new (std::nothrow) Thing);
		delete[] many(new Thing[10]);
		delete[] many(new (std::nothrow) char[10]);
		delete one(new Wide);
		delete[] many(new Wide[3]);
		::operator delete(one((char *)::operator new(5, std::align_val_t(32), std::nothrow)), std::align_val_t(32), std::nothrow);
		::operator delete(one((char *)::operator new(9)), size_t(9));
		frees += 8;
	}
	std::set_new_handler(new_handler_once);
	fail(huge);
	free(keep = malloc(12345));
	std::fprintf(stderr, "TRUTH new=%d new[]=%d\n", singles, arrays);
	return 0;
}
