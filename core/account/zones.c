#include "core/account/zones.h"
#include "core/base/buffer.h"

#include <stdlib.h>

void mt_zones_add(struct mt_zones *l, uint64_t low, uint64_t high, uint32_t row)
{
	if (low >= high)
		return;
	MT_GROW(l->items, l->count, l->capacity);
	l->items[l->count++] = (struct mt_zone){low, high, row};
}

static int by_address(const void *a, const void *b)
{
	const struct mt_zone *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

void mt_zones_arrange(struct mt_zones *l)
{
	uint32_t kept = 0;

	if (l->count)
		qsort(l->items, l->count, sizeof *l->items, by_address);
	for (uint32_t i = 0; i < l->count; i++) {
		struct mt_zone r = l->items[i];

		if (i + 1 < l->count && r.high > l->items[i + 1].low)
			r.high = l->items[i + 1].low;
		if (r.low < r.high)
			l->items[kept++] = r;
	}
	l->count = kept;
}

uint32_t mt_zones_from(const struct mt_zones *l, uint64_t address)
{
	uint32_t low = 0, high = l->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (l->items[middle].high <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mt_zone *mt_zones_at(const struct mt_zones *l, uint64_t address)
{
	uint32_t i = mt_zones_from(l, address);

	return i < l->count && l->items[i].low <= address ? &l->items[i] : NULL;
}

void mt_zones_free(struct mt_zones *l)
{
	free(l->items);
	*l = (struct mt_zones){0};
}
