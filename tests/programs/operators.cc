// Operators of the program's own: OWNED & 1 new, OWNED & 2 delete. Those for arrays are the library's. Nothing is wrong here.
#include <cstdlib>
#include <new>

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

int main()
{
	for (int i = 0; i < 10; i++) {
		int *one = new int, *many;

		sink = one;
		delete one;
		sink = many = new int[5];
		delete[] many;
	}
	return 0;
}
