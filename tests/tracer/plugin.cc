// A plug-in with its own operator new calls and, by FRAME, its own frame sizes: see plugins.c.
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" __attribute__((noinline, visibility("default"))) void *plugin_leaf(int n)
{
	volatile char space[FRAME];

	std::memset((void *)space, n, sizeof space);
	return std::malloc(n + space[1]);
}

extern "C" __attribute__((visibility("default"))) long plugin_work(int n)
{
	long sum = 0;
	void *p = plugin_leaf(n);

	sum += p != nullptr;
	std::free(p);
	int *volatile q = new int[16 + FRAME];
	q[1] = n;
	sum += q[1];
	delete[] q;
	return sum;
}
