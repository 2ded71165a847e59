// Every form of operator new and delete a thousand times, and bad_alloc from those that cannot.
#include <cstdlib>
#include <new>

#include "truth.h"

static volatile std::size_t most = PTRDIFF_MAX, all = SIZE_MAX;
static int handled;

struct Thing { long x = 1; virtual ~Thing() { x = 0; } };
struct alignas(128) Wide { char c[128]; };

template <class Delete> static void drop(void *p, std::size_t size, Delete with)
{
	with(p);
	gone(size);
}

CASE case_new(std::size_t i)
{
	void *p = got(::operator new(i), i ? i : 1);

	if (i % 3)
		drop(p, i ? i : 1, [](void *q) { ::operator delete(q); });
}

CASE case_new_nothrow(std::size_t i)
{
	void *p = got(::operator new(i + 1, std::nothrow), i + 1);

	if (i % 3)
		drop(p, i + 1, [](void *q) { ::operator delete(q, std::nothrow); });
}

CASE case_new_array(std::size_t i)
{
	void *p = got(::operator new[](i + 1), i + 1);

	if (i % 3)
		drop(p, i + 1, [](void *q) { ::operator delete[](q); });
}

CASE case_new_array_nothrow(std::size_t i)
{
	void *p = got(::operator new[](i + 1, std::nothrow), i + 1);

	if (i % 3)
		drop(p, i + 1, [](void *q) { ::operator delete[](q, std::nothrow); });
}

CASE case_sized(std::size_t i)
{
	drop(got(::operator new(i + 1), i + 1), i + 1, [i](void *q) { ::operator delete(q, i + 1); });
	drop(got(::operator new[](i + 1), i + 1), i + 1, [i](void *q) { ::operator delete[](q, i + 1); });
}

/* The library asks malloc for a multiple of the alignment: the size that it was asked for counts. */
CASE case_aligned(std::size_t i)
{
	auto to = std::align_val_t(64);
	std::size_t size = 64 * (i % 9) + i % 64 + 1;
	void *p = got(::operator new(size, to), size);

	if (reinterpret_cast<uintptr_t>(p) % 64)
		std::abort();
	if (i % 3)
		drop(p, size, [=](void *q) { ::operator delete(q, to); });
	drop(got(::operator new[](size, to), size), size, [=](void *q) { ::operator delete[](q, to); });
	drop(got(::operator new(size, to, std::nothrow), size), size, [=](void *q) { ::operator delete(q, to, std::nothrow); });
	drop(got(::operator new[](size, to, std::nothrow), size), size, [=](void *q) { ::operator delete[](q, to, std::nothrow); });
	drop(got(::operator new(size, to), size), size, [=](void *q) { ::operator delete(q, size, to); });
	drop(got(::operator new[](size, to), size), size, [=](void *q) { ::operator delete[](q, size, to); });
}

CASE case_expressions(std::size_t i)
{
	Thing *volatile one = new Thing;
	Wide *volatile wide = new Wide;
	Thing *volatile many = new Thing[i % 5 + 1];
	std::size_t bytes = sizeof(Thing) * (i % 5 + 1) + sizeof(std::size_t);

	got(one, sizeof(Thing)), got(wide, sizeof(Wide)), got(many, bytes);
	delete wide;
	gone(sizeof(Wide));
	delete[] many;
	gone(bytes);
	if (i % 2) {
		delete one;
		gone(sizeof(Thing));
	}
	delete static_cast<Thing *>(nullptr);
}

/* The exceptions are allocated, too, by the library, and by malloc: what fails is not to be taken for them. */
CASE case_throws_new(std::size_t i)
{
	try {
		see(::operator new(most - i) != nullptr);
	} catch (const std::bad_alloc &) {
		see(2);
	}
	try {
		see(::operator new[](all - i) != nullptr);
	} catch (const std::bad_alloc &) {
		see(3);
	}
	try {
		see(::operator new(most - i, std::align_val_t(64)) != nullptr);
	} catch (const std::bad_alloc &) {
		see(4);
	}
	see(::operator new(most - i, std::nothrow) != nullptr);
	see(::operator new[](most - i, std::align_val_t(32), std::nothrow) != nullptr);
	errno = 77;
}

static void handler()
{
	handled++;
	std::set_new_handler(nullptr);
}

CASE case_throws_handler(std::size_t i)
{
	std::set_new_handler(handler);
	see(::operator new(most - i, std::nothrow) != nullptr);
	see(handled);
	errno = 77;
}

#define RUN(name, kinds) run_case(#name, kinds, case_##name)
int main()
{
	heap = reinterpret_cast<uint64_t>(std::malloc(1));
	std::free(reinterpret_cast<void *>(heap));
	frees++;
	RUN(new, "new");
	RUN(new_nothrow, "new");
	RUN(new_array, "new[]");
	RUN(new_array_nothrow, "new[]");
	RUN(sized, "new,new[]");
	RUN(aligned, "new,new[]");
	RUN(expressions, "new,new[]");
	say_total();
	RUN(throws_new, "malloc");
	RUN(throws_handler, "malloc");
	return 0;
}
