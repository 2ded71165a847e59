// thrown MODE: news of less than the bad_alloc that they throw, which malloc allocates. own: the program's own operator new throws
// below the library's new[]. full: the library's own, with no memory left but free blocks of the exception's size. Nothing is wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/resource.h>

#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

static void *volatile all[1 << 20];

#ifdef OWNED
static int left;

void *operator new(std::size_t n)
{
	if (!left)
		throw std::bad_alloc();
	left--;
	return malloc(n);
}
void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, std::size_t) noexcept { free(p); }

static void prepare() { left = 2; }
#else
static void prepare()
{
	rlimit limit = {1 << 20, 1 << 20};
	void *free_blocks[64];

	for (auto &p : free_blocks)
		KEEP(p = malloc(136));
	for (auto p : free_blocks)
		free(p);
	setrlimit(RLIMIT_AS, &limit);
	for (int i = 0; (all[i] = malloc(64)); i++)
		;
}
#endif

int main()
{
	int caught = 0;
	prepare();
	for (int i = 0; i < 5; i++)
		try {
			char *p = new char[100];
			KEEP(p);
			delete[] p;
		} catch (const std::bad_alloc &) {
			void *p = malloc(1);
			free(p);
			caught++;
		}
	for (auto p : all)
		free(p);
	printf("%d\n", caught);
	return 0;
}
