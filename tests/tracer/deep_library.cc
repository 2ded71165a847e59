// A library that deep.cc opens. DEPENDENCY: what it needs in turn. OWN: one with functions of its
// own.
#include <cstddef>

#define EXPORT extern "C" __attribute__((visibility("default")))

#if defined DEPENDENCY
#include <cstdlib>

EXPORT void *dependency_leak()
{
	return malloc(7500);
}

#elif defined OPENER
#include <dlfcn.h>

EXPORT void *open_inner(int flags)
{
	void *volatile library = dlopen("libinner.so", flags); // not in the place of this call

	return library;
}

#elif defined OWN
static char memory[1 << 16];
static size_t used;

EXPORT void *malloc(size_t size)
{
	used += (size + 15) / 16 * 16;
	return memory + used - (size + 15) / 16 * 16;
}

EXPORT void free(void *p)
{
	if (p == memory)
		used = 0;
}

EXPORT int own_works()
{
	void *p = malloc(7600);

	if (p != memory)
		return 0;
	free(p);
	return used == 0;
}

#else
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "deep.h"

EXPORT void *dependency_leak();
EXPORT void library_seal()
{
	sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	sock_fprog program = {1, &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

EXPORT void *library_make(int way)
{
	return deep_make(way);
}
EXPORT void library_end(int way, void *p)
{
	deep_end(way, p);
}
EXPORT void library_leak()
{
	*static_cast<char *>(malloc(7400)) = dependency_leak() != nullptr;
}

// before dlopen is back, and after dlclose has begun
static struct early {
	void *block = malloc(7300);
	~early() { free(block); }
} early;
#endif
