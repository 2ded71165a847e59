// Ways to make a block and to end it, compiled into the program and into a library: see deep.cc.
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <string>

struct alignas(64) wide {
	char bytes[7168];
};
enum { WAYS = 11 };

static void *deep_make(int way)
{
	void *p = nullptr;

	switch (way) {
	case 0: return malloc(7000);
	case 1: return calloc(7, 1001);
	case 2: return realloc(malloc(7010), 7011);
	case 3: return posix_memalign(&p, 64, 7020) ? nullptr : p;
	case 4: return aligned_alloc(64, 7040);
	case 5: return memalign(64, 7050);
	case 6: return reallocarray(nullptr, 7, 1009);
	case 7: return operator new(7080);
	case 8: return new char[7090];
	case 9: return new wide;
	default: return new std::string(7100, 'x'); // grows in libstdc++
	}
}

static void deep_end(int way, void *p)
{
	switch (way) {
	case 2: free(realloc(p, 7012)); break;
	case 7: operator delete(p); break;
	case 8: delete[] static_cast<char *>(p); break;
	case 9: delete static_cast<wide *>(p); break;
	case 10: delete static_cast<std::string *>(p); break;
	default: free(p); break;
	}
}
