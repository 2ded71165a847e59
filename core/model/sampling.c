#include "core/model/sampling.h"

#include "core/sampler.h"

#include <math.h>
#include <string.h>

#define TERMS 12 /* of the series, for an argument below 1/8: more than a double holds */

/* 1 - exp(-x), by operations that are exact to the last bit of a double on every machine. */
static double one_less_exp(double x)
{
	double sum = 0, y = x;
	int halvings = 0;

	for (; y > 0.125; y /= 2)
		halvings++;
	for (int i = TERMS; i > 0; i--)
		sum = y / i * (1 - sum);
	for (; halvings; halvings--)
		sum *= 2 - sum; /* 1 - e^-2y = (1 - e^-y)(2 - (1 - e^-y)) */
	return sum;
}

double mt_sampling_chance(uint64_t interval, uint64_t size)
{
	size += size == 0;
	return size >= mt_sampler_always(interval)
		? 1
		: one_less_exp((double)size / (double)interval);
}

/* A call is drawn with 1 - exp(-c/T), where c is what it counts: 1/every. */
uint64_t mt_sampling_of_calls(uint64_t every)
{
	return (uint64_t)(MT_SAMPLER_CALL / -log1p(-1.0 / (double)every) + 0.5);
}

struct mt_weight mt_sampling_weigh(uint64_t interval, uint64_t number, uint64_t size)
{
	double chance = mt_sampling_chance(interval, size), blocks;
	uint64_t whole, random;

	if (chance == 1)
		return (struct mt_weight){1, size};
	blocks = 1 / chance;
	whole = (uint64_t)blocks;
	random = mt_sampler_mix(number + 1) >> 11; /* 53 bits */
	whole += (double)random < (blocks - (double)whole) * 0x1p53;
	return (struct mt_weight){whole, (uint64_t)((double)size / chance + 0.5)};
}

/* A block that was kept with probability p adds w, the mean of p w is 1, and so the mean of p w^2
 * - 1 is the variance, and that of p (w^2 - w), too. The same of its bytes, where w is s/p. */
static double variance(uint64_t weight, uint64_t of)
{
	return (double)weight * ((double)weight - (double)of);
}

void mt_estimate_add(struct mt_estimate *e, const struct mt_weight *w, uint64_t size)
{
	e->samples++;
	e->blocks += variance(w->blocks, 1);
	e->bytes += variance(w->bytes, size);
}

void mt_estimate_subtract(struct mt_estimate *e, const struct mt_weight *w, uint64_t size)
{
	e->samples--;
	e->blocks -= variance(w->blocks, 1);
	e->bytes -= variance(w->bytes, size);
	if (!e->samples) /* nothing is left of what was rounded */
		*e = (struct mt_estimate){0};
}

void mt_estimate_fold(struct mt_estimate *to, const struct mt_estimate *from)
{
	to->samples += from->samples;
	to->blocks += from->blocks;
	to->bytes += from->bytes;
}

void mt_estimates_fold(struct mt_estimates *to, const struct mt_estimates *from)
{
	mt_estimate_fold(&to->allocated, &from->allocated);
	mt_estimate_fold(&to->live, &from->live);
	mt_estimate_fold(&to->at_peak, &from->at_peak);
}

struct mt_estimates *mt_estimates_copy(const struct mt_profile *p)
{
	struct mt_estimates *copy = NULL;

	if (p->estimate_count) {
		copy = mt_resize(NULL, p->estimate_count * sizeof *copy);
		memcpy(copy, p->estimates, p->estimate_count * sizeof *copy);
	}
	return copy;
}
