/* jemalloc's own functions, which it exports without a prefix, beside malloc. With the argument
 * "plain" there is no jemalloc, and the tracer's functions must do the same by malloc. */
#include <stdint.h>
#include <string.h>

#include "core/wire.h"
#include "truth.h"

void *mallocx(size_t, int) __attribute__((weak));
void *rallocx(void *, size_t, int) __attribute__((weak));
void sdallocx(void *, size_t, int) __attribute__((weak));
void dallocx(void *, int) __attribute__((weak));

int main(void)
{
	char *p;

	must(mallocx);
	sdallocx(rallocx(mallocx(1, 0), 2, 0), 2, 0); /* all is looked up */
	dallocx(mallocx(1, 0), 0);
	free(malloc(1)); /* the library makes itself ready */
	truth("ALLOC %d", MT_FUNCTION_MALLOC);
	for (int shift = 0; shift < 12; shift++) {
		p = mallocx(5000, shift | 64);
		must(p && (uintptr_t)p % (1u << shift) == 0 && p[0] == 0 && p[4999] == 0);
		truth("ALLOC %d %lx 5000", MT_FUNCTION_MALLOC, (long)p);
		strcpy(p, "kept");
		truth("RELEASE %d %lx 0", MT_FUNCTION_REALLOC, (long)p);
		p = rallocx(p, 90000, 0);
		must(p && strcmp(p, "kept") == 0);
		truth("REALLOC %d %lx 90000", MT_FUNCTION_REALLOC, (long)p);
		truth("FREE %d %lx 0", MT_FUNCTION_FREE, (long)p);
		if (shift % 2)
			sdallocx(p, 90000, 0);
		else
			dallocx(p, 0);
	}
	truth_write();
	return 0;
}
