#include "core/query/bits.h"
#include "core/base/buffer.h"
#include "core/base/search.h"

#include <stdlib.h>
#include <string.h>

#define JUMP 4096 /* from here on another run is smaller than the words between */

static bool begins_behind(const void *runs, uint32_t at, uint64_t number)
{
	return ((const struct mt_bits_run *)runs)[at].first > number;
}

/* The run that has the number, or NULL. */
static struct mt_bits_run *run_of(const struct mt_bits *b, uint64_t number)
{
	uint32_t at = mt_search(0, b->run_count, begins_behind, b->runs, number);

	return at && number < b->runs[at - 1].end ? &b->runs[at - 1] : NULL;
}

static uint64_t word_of(const struct mt_bits_run *run, uint64_t number)
{
	return run->word + (number - run->first) / 64;
}

/* The number is behind all others. */
static struct mt_bits_run *extend(struct mt_bits *b, uint64_t number)
{
	struct mt_bits_run *last = b->run_count ? &b->runs[b->run_count - 1] : NULL;

	if (!last || number - last->end >= JUMP) {
		MT_GROW(b->runs, b->run_count, b->run_capacity);
		last = &b->runs[b->run_count++];
		*last = (struct mt_bits_run){.first = number & ~63ull, .word = b->word_count};
	}
	last->end = number + 1;
	uint64_t wanted = word_of(last, number) + 1;

	if (wanted > b->word_capacity) {
		b->word_capacity = wanted * 2 > 1024 ? wanted * 2 : 1024;
		b->words = mt_resize(b->words, b->word_capacity * sizeof *b->words);
	}
	for (; b->word_count < wanted; b->word_count++)
		b->words[b->word_count] = 0;
	return last;
}

void mt_bits_set(struct mt_bits *b, uint64_t number, bool value)
{
	bool further = !b->run_count || number >= b->runs[b->run_count - 1].end;
	struct mt_bits_run *run = NULL;

	if (!further)
		run = run_of(b, number);
	else if (number != UINT64_MAX)
		run = extend(b, number);
	if (!run)
		return;
	uint64_t *word = &b->words[word_of(run, number)], bit = 1ull << (number & 63);

	*word = value ? *word | bit : *word & ~bit;
}

bool mt_bits_get_earlier(const struct mt_bits *b, uint64_t number)
{
	const struct mt_bits_run *run = run_of(b, number);

	return run && b->words[word_of(run, number)] >> (number & 63) & 1;
}

void mt_bits_free(struct mt_bits *b)
{
	free(b->words);
	free(b->runs);
	*b = (struct mt_bits){0};
}
