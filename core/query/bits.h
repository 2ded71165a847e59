/* A bit for each allocation, by its number. */
#ifndef MT_QUERY_BITS_H
#define MT_QUERY_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers that follow each other closely. */
struct mt_bits_run {
	uint64_t first, end;
	uint64_t word; /* the first's */
};

/* Zero-initialise. Numbers may jump, by what a trace says alone: a jump begins another run, so that
 * memory is bounded by how many numbers there are. */
struct mt_bits {
	uint64_t *words;
	uint64_t word_count, word_capacity;
	struct mt_bits_run *runs; /* by rising numbers */
	uint32_t run_count, run_capacity;
};

/* A number is first set when it is higher than all before it; one that was left out stays so. Later
 * it may change. */
void mt_bits_set(struct mt_bits *, uint64_t number, bool value);
void mt_bits_free(struct mt_bits *);
bool mt_bits_get_earlier(const struct mt_bits *, uint64_t number);

static inline bool mt_bits_get(const struct mt_bits *b, uint64_t number)
{
	if (!b->run_count)
		return false;
	const struct mt_bits_run *last = &b->runs[b->run_count - 1];

	if (number < last->first)
		return mt_bits_get_earlier(b, number);
	return number < last->end
		&& b->words[last->word + (number - last->first) / 64] >> (number & 63) & 1;
}

#endif
