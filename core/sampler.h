/* Which blocks a sampled recording keeps. The tracer draws, the recorder and readers ask for the
 * same numbers, and the tests run this very code. doc/sampling.md has the method.
 *
 * Every byte of an allocation is a trial that succeeds with probability 1 - exp(-1/T), and a block
 * is kept if one of its bytes succeeds: with p = 1 - exp(-s/T). The countdown is the number of
 * bytes up to the next success. Integers alone: floating-point arithmetic would leave its marks in
 * the program's status register, and raise a signal if the program has asked for that. */
#ifndef MT_SAMPLER_H
#define MT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* The mean distance between successes in bytes, T, is between these. */
#define MT_SAMPLER_LEAST 1024u
#define MT_SAMPLER_MOST (1ull << 36)
/* Where one of so many calls is drawn, each counts as so many bytes, whatever its size. */
#define MT_SAMPLER_EVERY_MOST 1000000u
#define MT_SAMPLER_CALL 65536u

struct mt_sampler {
	/* Bytes to the next success, as far as one block may take them: never more than the size
	 * from which on all blocks are kept, so that those come the slow way without a
	 * comparison. */
	uint64_t left;
	uint64_t rest;   /* bytes to the success beyond left */
	uint64_t random; /* state of the sequence of random numbers */
	uint64_t interval;
	uint64_t always; /* 0: nothing has been drawn yet */
};

/* Blocks of at least this size would be kept with more than 0.99: they are kept always. */
static inline uint64_t mt_sampler_always(uint64_t interval)
{
	const uint64_t ln100 = 5063438167381; /* with 40 binary places */

	return (uint64_t)((unsigned __int128)interval * ln100 >> 40) + 1;
}

/* SplitMix64. */
static inline uint64_t mt_sampler_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline uint64_t mt_sampler_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return mt_sampler_mix(*state);
}

/* From 64 random bits, as a fraction u of 1, to ceil(-ln(u) * interval): the trial that succeeds,
 * counted from 1. */
static inline uint64_t mt_sampler_distance(uint64_t bits, uint64_t interval)
{
	enum { PLACES = 40 };
	const uint64_t ln2 = 762123384786; /* with as many binary places */
	uint64_t u = bits | 1, fraction = 0;
	int zeros = __builtin_clzll(u);
	uint64_t m = u << zeros; /* 1 to 2, with 63 binary places */

	/* the binary logarithm of m, a digit for each squaring */
	for (int i = 0; i < PLACES; i++) {
		unsigned __int128 square = (unsigned __int128)m * m >> 63;
		bool digit = square >> 64 != 0;

		fraction = fraction << 1 | digit;
		m = (uint64_t)(square >> digit);
	}
	uint64_t halvings = ((uint64_t)(zeros + 1) << PLACES) - fraction;

	return (uint64_t)((unsigned __int128)halvings * ln2 * interval >> 2 * PLACES) + 1;
}

static inline void mt_sampler_set(struct mt_sampler *s, uint64_t distance)
{
	s->left = distance < s->always ? distance : s->always;
	s->rest = distance - s->left;
}

static inline void mt_sampler_begin(struct mt_sampler *s, uint64_t interval, uint64_t seed)
{
	s->random = seed;
	s->interval = interval;
	s->always = mt_sampler_always(interval);
	mt_sampler_set(s, mt_sampler_distance(mt_sampler_random(&s->random), interval));
}

/* What almost every allocation comes to. True: the block is not kept, and counted down. False:
 * nothing has changed, and mt_sampler_keeps has to look. A block of no bytes counts as one. */
static inline __attribute__((always_inline)) bool mt_sampler_passes(struct mt_sampler *s,
	uint64_t size)
{
	uint64_t left = s->left;

	size += size == 0;
	if (__builtin_expect(left > size, 1)) {
		s->left = left - size;
		return true;
	}
	return false;
}

/* The general way: counts the block down, and says whether it is kept. */
static inline bool mt_sampler_keeps(struct mt_sampler *s, uint64_t size)
{
	uint64_t distance = s->left + s->rest;
	bool crossed;

	size += size == 0;
	crossed = distance <= size;
	mt_sampler_set(s,
		crossed ? mt_sampler_distance(mt_sampler_random(&s->random), s->interval)
			: distance - size);
	return crossed || size >= s->always;
}

#endif
