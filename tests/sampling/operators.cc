/* operators: C++'s ways to allocate, whose numbers are known. Prints lines as program.c does. */
#include <cstdio>
#include <cstdlib>

#define SITE __attribute__((noinline, noclone))
#define N 300000L

struct alignas(64) wide {
	char bytes[128];
};

SITE static char *site_new()
{
	return static_cast<char *>(::operator new(100));
}

SITE static char *site_array()
{
	return new char[300];
}

SITE static wide *site_aligned()
{
	return new wide;
}

int main()
{
	static wide *kept[1000];

	for (long i = 0; i < N; i++) {
		char *volatile a = site_new();
		char *volatile b = site_array();
		wide *volatile c = site_aligned();

		::operator delete(a);
		delete[] b;
		if (i < 1000)
			kept[i] = c;
		else
			delete c;
	}
	printf("site_new %ld %ld 0 0\n", N, N * 100);
	printf("site_array %ld %ld 0 0\n", N, N * 300);
	printf("site_aligned %ld %ld 1000 128000\n", N, N * 128);
	return kept[0] ? 0 : 1;
}
