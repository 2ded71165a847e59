#include "core/query/sort.h"

#include "core/base/buffer.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 8
#define DIGIT_VALUES (1u << DIGIT_BITS)
#define DIGITS (64 / DIGIT_BITS)
#define INSERTION_MAX 32

static void insertion_sort(struct mt_sort_entry *entries, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct mt_sort_entry moving = entries[i];
		uint32_t at = i;

		for (; at > 0 && entries[at - 1].key > moving.key; at--)
			entries[at] = entries[at - 1];
		entries[at] = moving;
	}
}

static void count_digits(const struct mt_sort_entry *entries, uint32_t count,
	uint32_t histogram[DIGITS][DIGIT_VALUES])
{
	memset(histogram, 0, sizeof(uint32_t) * DIGITS * DIGIT_VALUES);
	for (uint32_t i = 0; i < count; i++)
		for (unsigned digit = 0; digit < DIGITS; digit++)
			histogram[digit]
				 [entries[i].key >> digit * DIGIT_BITS & (DIGIT_VALUES - 1)]++;
}

/* Radix sort from the lowest digit; digits that all keys share cost nothing. */
void mt_sort(struct mt_sort_entry *entries, uint32_t count)
{
	uint32_t histogram[DIGITS][DIGIT_VALUES];

	if (count <= INSERTION_MAX) {
		insertion_sort(entries, count);
		return;
	}
	struct mt_sort_entry *scratch = mt_resize(NULL, count * sizeof *scratch);
	struct mt_sort_entry *from = entries, *to = scratch;

	count_digits(entries, count, histogram);
	for (unsigned digit = 0; digit < DIGITS; digit++) {
		uint32_t *place = histogram[digit], sum = 0;

		if (place[from[0].key >> digit * DIGIT_BITS & (DIGIT_VALUES - 1)] == count)
			continue;
		for (unsigned value = 0; value < DIGIT_VALUES; value++) {
			uint32_t here = place[value];

			place[value] = sum;
			sum += here;
		}
		for (uint32_t i = 0; i < count; i++)
			to[place[from[i].key >> digit * DIGIT_BITS & (DIGIT_VALUES - 1)]++] =
				from[i];
		struct mt_sort_entry *swap = from;

		from = to;
		to = swap;
	}
	if (from != entries)
		memcpy(entries, from, count * sizeof *entries);
	free(scratch);
}
