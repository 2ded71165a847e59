/* Proves that mallopt and malloc_trim are logged with their results, and that free_sized and
 * free_aligned_sized free: by free where no library has them (then the program is linked with the
 * tracer's definitions alone), else by that library, once. */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "core/wire.h"
#include "truth.h"

void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

static void *allocate(size_t size)
{
	void *p = malloc(size);

	must(p);
	truth("ALLOC %d %lx %zu main", MT_FUNCTION_MALLOC, (long)p, size);
	return p;
}

static void *align(size_t alignment, size_t size)
{
	void *p = aligned_alloc(alignment, size);

	must(p);
	truth("ALLOC %d %lx %zu main", MT_FUNCTION_ALIGNED_ALLOC, (long)p, size);
	return p;
}

int main(void)
{
	void *volatile p;
	int result;

	must(free_sized && free_aligned_sized);
	p = allocate(100);
	errno = 77;
	truth("FREE %d %lx 0 -", MT_FUNCTION_FREE, (long)p);
	free_sized(p, 100);
	p = align(256, 512);
	truth("FREE %d %lx 0 -", MT_FUNCTION_FREE, (long)p);
	free_aligned_sized(p, 256, 512);
	free_sized(NULL, 0);
	free_aligned_sized(NULL, 64, 0);
	must(errno == 77);
	must(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
	truth("CALL %d %lx %x 1 main", MT_FUNCTION_MALLOPT, (long)M_MMAP_THRESHOLD, 1 << 20);
	result = mallopt(M_MXFAST, 1 << 20);
	must(result == 0);
	truth("CALL %d 1 %x 0 main", MT_FUNCTION_MALLOPT, 1 << 20);
	p = allocate(200);
	allocate(1000000);
	result = malloc_trim(4096);
	truth("CALL %d 1000 0 %x main", MT_FUNCTION_MALLOC_TRIM, result);
	truth("FREE %d %lx 0 -", MT_FUNCTION_FREE, (long)p);
	free(p);
	truth_write();
	return 0;
}
