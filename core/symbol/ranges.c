/* Sorted address ranges that may nest or overlap: units, functions, symbols. */
#include "core/symbol/internal.h"

#include <stdlib.h>

/* far beyond any real file; a hostile one can name one list a million times */
#define RANGES_MAX (1u << 23)

void mt_ranges_add(struct mt_ranges *r, uint64_t low, uint64_t high, uint32_t index)
{
	if (low >= high || r->count >= RANGES_MAX)
		return;
	MT_GROW(r->items, r->count, r->capacity);
	r->items[r->count++] = (struct mt_range){low, high, 0, index};
}

/* Wider ones first where they begin together, so that the search from behind meets the narrowest
 * first. */
static int compare(const void *a, const void *b)
{
	const struct mt_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void mt_ranges_sort(struct mt_ranges *r)
{
	uint64_t reach = 0;

	if (r->count)
		qsort(r->items, r->count, sizeof *r->items, compare);
	for (uint32_t i = 0; i < r->count; i++) {
		if (r->items[i].high > reach)
			reach = r->items[i].high;
		r->items[i].reach = reach;
	}
}

static ssize_t last_not_above(const struct mt_ranges *r, uint64_t address)
{
	ssize_t low = 0, high = (ssize_t)r->count;

	while (low < high) {
		ssize_t middle = low + (high - low) / 2;

		if (r->items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

ssize_t mt_ranges_find(const struct mt_ranges *r, uint64_t address, ssize_t before)
{
	ssize_t at = before < 0 ? last_not_above(r, address) : before - 1;

	for (; at >= 0 && r->items[at].reach > address; at--) {
		if (r->items[at].high > address)
			return at;
	}
	return -1;
}

void mt_ranges_free(struct mt_ranges *r)
{
	free(r->items);
	*r = (struct mt_ranges){0};
}
