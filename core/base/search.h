/* Binary search in anything that has an order. */
#ifndef MT_BASE_SEARCH_H
#define MT_BASE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

/* The first place of [low, high) that is behind the key, or high. `behind` holds of no place and
 * then of all; it is compiled into each use. */
static inline __attribute__((always_inline)) uint32_t mt_search(uint32_t low, uint32_t high,
	bool (*behind)(const void *items, uint32_t at, uint64_t key), const void *items,
	uint64_t key)
{
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (behind(items, middle, key))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

#endif
