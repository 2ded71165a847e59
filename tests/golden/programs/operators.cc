// operators: blocks of C++'s operators and containers, inlined callers, mismatched calls and frees of freed blocks.
// Run with GLIBC_TUNABLES=glibc.malloc.tcache_count=0, so that glibc lets a block be freed twice.
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#define SITE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline))
#define BARRIER __asm__ volatile("" ::: "memory") // keeps the call site on the stack

struct alignas(64) Wide { char bytes[192]; };

template <class T> struct Keeper {
	std::vector<T> all;
	SITE void add(T value) { all.push_back(std::move(value)); BARRIER; }
};

INLINE char *inner(size_t n) { char *p = new char[n]; BARRIER; return p; }
INLINE char *outer(size_t n) { char *p = inner(n * 2); BARRIER; return p; }

SITE static void containers()
{
	static Keeper<std::string> &names = *new Keeper<std::string>; // not destroyed at the exit
	std::map<int, std::string> map;

	for (int i = 0; i < 20; i++) {
		map[i * 7 % 20] = std::string(size_t(10 + i), 'x');
		if (i % 3 == 0)
			names.add(std::string(size_t(40 + i), 'y'));
	}
	for (int i = 0; i < 10; i++)
		map.erase(i);
	BARRIER;
}

SITE static void operators()
{
	static char *kept[4];
	Wide *volatile wide = new Wide;
	int *volatile one = new (std::nothrow) int(3);
	Wide *volatile many = new Wide[3];

	for (size_t i = 0; i < 4; i++)
		kept[i] = outer(16 << i);
	delete[] kept[1];
	delete wide;
	delete one;
	delete[] many;
	auto shared = std::make_shared<std::string>(100, 'z');
	std::unique_ptr<std::string> unique(new std::string(*shared + "more"));
	BARRIER;
}

SITE static void thrown(int i)
{
	try {
		throw std::runtime_error("thrown " + std::string(size_t(i), '!'));
	} catch (const std::exception &) {
	}
	BARRIER;
}

SITE static void mismatched()
{
	void *volatile p = operator new(24);
	free(p);
	p = malloc(48);
	operator delete(p);
	p = operator new[](72);
	operator delete(p);
	BARRIER;
}

SITE static void free_first(void *p) { free(p); BARRIER; }
SITE static void free_again(void *p) { free(p); BARRIER; }
SITE static void twice()
{
	void *volatile p = malloc(104), *volatile q = malloc(104);

	free_first(p);
	free_first(q);
	free_again(p);
	BARRIER;
}

int main(int argc, char **) // an argument: no block is freed twice
{
	containers();
	operators();
	for (int i = 0; i < 3; i++)
		thrown(i * 20);
	mismatched();
	if (argc == 1)
		twice();
}
