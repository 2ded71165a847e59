// A plug-in that replaces operator new and delete with a pool of its own, and with -DSTRING has libstdc++ call them too.
// Another plug-in with another pool must keep to its own. See bundles.c.
#include <cstdlib>
#include <new>
#include <string>

alignas(16) static char pool[1 << 20];
static size_t used;

static bool owns(const void *p)
{
	return p >= pool && p < pool + sizeof pool;
}

void *operator new(size_t size)
{
	void *p = pool + used;

	used += (size + 15) / 16 * 16;
	return p;
}

void operator delete(void *p) noexcept
{
	if (p && !owns(p))
		std::abort();
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

extern "C" int use()
{
	int *volatile p = new int;
	bool own = owns(p);

	delete p;
#ifdef STRING
	std::string text(100, 'x');
	text.append(text).append(text); // code in libstdc++
	own = own && owns(text.data());
#endif
	return own;
}
