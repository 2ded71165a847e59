/* Estimates: what a block of a sampled recording stands for (doc/sampling.md). */
#ifndef MT_MODEL_SAMPLING_H
#define MT_MODEL_SAMPLING_H

#include "core/model/profile.h"

/* What one recorded block adds to each total. */
struct mt_weight {
	uint64_t blocks, bytes;
};

/* Of a block that was kept with a mean distance of interval bytes between samples. Blocks: 1/p,
 * rounded up or down at random by the block's number, so that the mean is 1/p. Bytes: size/p, to
 * the nearest. The same arguments give the same weight, on each machine. */
struct mt_weight mt_sampling_weigh(uint64_t interval, uint64_t number, uint64_t size);
/* The interval with which one of so many calls is drawn; each counts as MT_SAMPLER_CALL bytes. */
uint64_t mt_sampling_of_calls(uint64_t every);
/* The probability with which a block of this size is kept. */
double mt_sampling_chance(uint64_t interval, uint64_t size);

/* Of a block of the profile: 1 and its size where each block is recorded. Blocks of other domains
 * than the heap always are. */
static inline struct mt_weight mt_profile_weigh(const struct mt_profile *p, uint32_t group,
	uint64_t number, uint64_t size)
{
	if (__builtin_expect(!mt_info_is_sampled(&p->info), 1) || group >= p->group_count
		|| mt_profile_function(p, mt_profile_group_function(p, group))->domain
			!= MT_DOMAIN_HEAP)
		return (struct mt_weight){1, size};
	if (p->info.sample_every)
		return (struct mt_weight){p->info.sample_every,
			size <= UINT64_MAX / p->info.sample_every ? p->info.sample_every * size
								  : UINT64_MAX};
	return mt_sampling_weigh(p->info.sample_bytes, number, size);
}

/* Adds a block to an estimate, or takes it away. What a kept block adds to the variance of the sum
 * follows from its weight: its expectation is that of the contribution's. */
void mt_estimate_add(struct mt_estimate *, const struct mt_weight *, uint64_t size);
void mt_estimate_subtract(struct mt_estimate *, const struct mt_weight *, uint64_t size);
/* Those of all groups, or NULL where there are none; the caller frees them. */
struct mt_estimates *mt_estimates_copy(const struct mt_profile *);
/* Adds one estimate to another. */
void mt_estimate_fold(struct mt_estimate *, const struct mt_estimate *);
void mt_estimates_fold(struct mt_estimates *, const struct mt_estimates *);

#endif
