/* Chunks that double in size; a block is preceded by its length. */
#include "preload/hooks/bootstrap.h"

#include <string.h>

#include "preload/base/sys.h"

#define FIRST_CHUNK 65536ull
#define HEADER 16

/* Takes room from a chunk; NULL when it is full. */
static void *take(struct mt_bootstrap_chunk *chunk, size_t size, size_t alignment)
{
	uint64_t used = mt_load_acquire(&chunk->used);

	for (;;) {
		uint64_t start = (uint64_t)chunk->base + used + HEADER;

		start = (start + alignment - 1) & ~(alignment - 1);
		if (start + size > (uint64_t)chunk->base + chunk->size)
			return NULL;
		if (mt_swap_if(&chunk->used, &used, start + size - (uint64_t)chunk->base)) {
			((uint64_t *)start)[-1] = size;
			return (void *)start;
		}
	}
}

static bool add_chunk(uint32_t index, size_t needed)
{
	struct mt_bootstrap_chunk *chunk = &mt_tracer.bootstrap[index];
	uint64_t size = FIRST_CHUNK << index;
	uint8_t *none = NULL, *base;

	while (size < needed)
		size *= 2;
	base = mt_sys_map_for_program(size);
	if (!base)
		return false;
	mt_store(&chunk->size, size);
	if (!mt_swap_if(&chunk->base, &none, base))
		mt_sys_unmap(base, size);
	else
		mt_count_private(size);
	index++;
	mt_publish_count(&mt_tracer.bootstrap_count, index);
	return true;
}

void *mt_bootstrap_allocate(size_t size, size_t alignment)
{
	if (alignment < HEADER)
		alignment = HEADER;
	if (size > 1ull << 40 || alignment > 1ull << 30)
		return NULL;
	mt_add(&mt_tracer.bootstrap_allocations, 1);
	for (;;) {
		uint32_t count = mt_load_acquire(&mt_tracer.bootstrap_count);
		void *p = count ? take(&mt_tracer.bootstrap[count - 1], size, alignment) : NULL;

		if (p)
			return p;
		if (count == MT_BOOTSTRAP_CHUNKS || !add_chunk(count, size + alignment + HEADER))
			return NULL;
	}
}

bool mt_bootstrap_contains(const void *p)
{
	for (uint32_t i = 0, n = mt_load_acquire(&mt_tracer.bootstrap_count); i < n; i++)
		if ((uint64_t)p - (uint64_t)mt_tracer.bootstrap[i].base
			< mt_tracer.bootstrap[i].size)
			return true;
	return false;
}

size_t mt_bootstrap_size(const void *p)
{
	return ((const uint64_t *)p)[-1];
}

void *mt_bootstrap_move(void *p, size_t size)
{
	size_t old = mt_bootstrap_size(p);
	void *moved;

	if (size == 0)
		return NULL;
	moved = mt_tracer.real.malloc(size);
	if (moved)
		memcpy(moved, p, old < size ? old : size);
	return moved;
}
