/* A C program that asks for functions of C++ and of allocators that it does not have, finds the
 * tracer's, and calls them. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "truth.h"

void *je_malloc(size_t) __attribute__((weak));
void je_free(void *) __attribute__((weak));

int main(void)
{
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
	void *(*new_aligned)(size_t, size_t) =
		(void *(*)(size_t, size_t))dlsym(RTLD_DEFAULT, "_ZnwmSt11align_val_t");
	void (*release)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdlPv");
	char *volatile p;

	must(allocate && new_aligned && release && je_malloc && je_free);
	for (int i = 0; i < 10; i++) {
		p = allocate(0);
		must(p);
		release(p);
		p = new_aligned(77, 256);
		must(p && (uintptr_t)p % 256 == 0);
		release(memset(p, 1, 77));
		must(!allocate(SIZE_MAX / 4));
		p = je_malloc(77);
		must(p);
		je_free(p);
	}
	must(!dlerror());
	return 0;
}
