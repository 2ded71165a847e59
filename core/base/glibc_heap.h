/* Where glibc's malloc has the heaps of its arenas, apart from the one that grows by brk. */
#ifndef MT_BASE_GLIBC_HEAP_H
#define MT_BASE_GLIBC_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MT_GLIBC_HEAP_ALIGN (64ull << 20) /* HEAP_MAX_SIZE of glibc's malloc */

/* The beginning of glibc's struct _heap_info, which has been so since 2.2. */
struct mt_glibc_heap {
	uint64_t arena, previous, size;
};

/* Returns true if a heap begins at the address, a multiple of MT_GLIBC_HEAP_ALIGN. end: of the
 * mapping that the address is in. */
bool mt_glibc_heap_read(pid_t, uint64_t address, uint64_t end, struct mt_glibc_heap *);

#endif
