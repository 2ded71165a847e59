#include "core/base/glibc_heap.h"

#include <sys/uio.h>

/* Whether what was read at a place where a heap may begin is the header of one. */
static bool is_heap(const struct mt_glibc_heap *heap, uint64_t address, uint64_t end)
{
	uint64_t home = heap->arena & ~(MT_GLIBC_HEAP_ALIGN - 1);

	return heap->size >= 4096 && heap->size % 4096 == 0 && heap->size <= MT_GLIBC_HEAP_ALIGN
		&& heap->size <= end - address && heap->arena % 16 == 0
		&& heap->arena - home >= sizeof *heap && heap->arena - home < 256
		&& (home == address) == (heap->previous == 0)
		&& heap->previous % MT_GLIBC_HEAP_ALIGN == 0;
}

bool mt_glibc_heap_read(pid_t pid, uint64_t address, uint64_t end, struct mt_glibc_heap *heap)
{
	struct iovec to = {heap, sizeof *heap}, from = {(void *)(uintptr_t)address, sizeof *heap};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof *heap
		&& is_heap(heap, address, end);
}
