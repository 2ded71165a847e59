// operator new and delete of the program's own: the library's other forms go by way of them. They never come to free, or, with an
// argument, every second block is malloc's. Prints how many of these there are.
#include <cstdio>
#include <cstdlib>
#include <new>

static char pool[1 << 16];
static size_t used;
static int mixed, blocks;

void *operator new(size_t size)
{
	void *p = pool + used;

	if (mixed && blocks % 2 == 0)
		p = malloc(size);
	else
		used += (size + 15) / 16 * 16;
	blocks++;
	return p;
}

void operator delete(void *p) noexcept
{
	if (p < pool || p >= pool + sizeof pool)
		free(p);
}

struct Thing { int x = 7; ~Thing() { x = 0; } };

int main(int argc, char **)
{
	void *volatile p;

	mixed = argc > 1;
	for (int i = 0; i < 11; i++) {
		delete (Thing *)(p = new Thing);
		delete (Thing *)(p = new (std::nothrow) Thing);
		delete[] (Thing *)(p = new Thing[2]);
		delete[] (int *)(p = new (std::nothrow) int[3]);
		operator delete(p = operator new(40), size_t(40));
		operator delete(p = operator new(40), std::nothrow);
		operator delete[](p = operator new[](40), size_t(40));
	}
	std::printf("%d\n", mixed ? (blocks + 1) / 2 : 0);
	return 0;
}
