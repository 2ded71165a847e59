/* The tracer's sampler, run as the tracer runs it, against what it is to be an estimate of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/model/model.h"
#include "core/sampler.h"

#define EVERY 20
#define INTERVAL (64u << 10)
#define ROUNDS 10000u
#define GROUPS 6u
#define MIXED 1u /* the group of blocks whose sizes differ a hundredfold */

/* As mt_event_passes and mt_samples_draws do it. */
static bool keeps(struct mt_sampler *s, uint64_t size)
{
	return !mt_sampler_passes(s, size) && mt_sampler_keeps(s, size);
}

/* ---- what the tracer draws ---- */

static void test_chance(void **state)
{
	static const uint64_t sizes[] = {0, 1, 16, 1000, 40000, 65536, 150000, 290000, 301804};
	struct mt_sampler s;

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		double size = (double)(sizes[i] ? sizes[i] : 1);
		double truth = -expm1(-size / INTERVAL), chance, kept = 0;
		/* as many as give the frequency to a thousandth of itself, but not too many */
		double runs = 2e6 / truth < 2e7 ? 2e6 / truth : 2e7;

		chance = mt_sampling_chance(INTERVAL, sizes[i]);
		assert_true(fabs(chance - truth) < truth * 1e-14);
		mt_sampler_begin(&s, INTERVAL, i);
		for (double n = 0; n < runs; n++)
			kept += keeps(&s, sizes[i]);
		/* five standard deviations */
		assert_true(fabs(kept - runs * truth) < 5 * sqrt(runs * truth * (1 - truth)) + 1);
	}
	/* 1 - exp(-s/T) reaches 0.99 */
	assert_int_equal(mt_sampler_always(INTERVAL), 301805);
	for (int n = 0; n < 1000; n++) {
		assert_true(keeps(&s, 301805));
		assert_true(keeps(&s, UINT64_MAX - (uint64_t)n));
	}
	assert_true(mt_sampling_chance(INTERVAL, 301805) == 1);
}

/* Blocks of other sizes between do not change a block's chance, nor do those that are always
 * kept. */
static void test_independence(void **state)
{
	struct mt_sampler s;
	double kept[3] = {0}, runs = 1e6;
	static const uint64_t sizes[3] = {3000, 400000, 20};

	(void)state;
	mt_sampler_begin(&s, INTERVAL, 7);
	for (double n = 0; n < runs; n++)
		for (int i = 0; i < 3; i++)
			kept[i] += keeps(&s, sizes[i]);
	assert_true(kept[1] == runs);
	for (int i = 0; i < 3; i += 2) {
		double p = -expm1(-(double)sizes[i] / INTERVAL);

		assert_true(fabs(kept[i] - runs * p) < 5 * sqrt(runs * p));
	}
}

/* The largest and the smallest distances that 64 bits give, and the largest interval. */
static void test_extremes(void **state)
{
	struct mt_sampler s;

	(void)state;
	assert_int_equal(mt_sampler_distance(UINT64_MAX, MT_SAMPLER_MOST), 1);
	assert_true(fabs((double)mt_sampler_distance(0, MT_SAMPLER_MOST)
			    - 64 * log(2) * (double)MT_SAMPLER_MOST)
		< 10);
	for (uint64_t bits = 1; bits; bits <<= 1)
		assert_true(fabs((double)mt_sampler_distance(bits, 1000000)
				    - -log((double)(bits | 1) * 0x1p-64) * 1e6)
			<= 1.001);
	mt_sampler_begin(&s, MT_SAMPLER_MOST, 1);
	assert_true(s.left <= s.always && s.left);
}

/* ---- what becomes of it ---- */

static void test_weights(void **state)
{
	static const uint64_t sizes[] = {1, 20, 5000, 65536, 100000, 300000};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		double p = -expm1(-(double)sizes[i] / INTERVAL), blocks = 0;
		struct mt_weight w, again;

		for (uint64_t number = 0; number < 100000; number++) {
			w = mt_sampling_weigh(INTERVAL, number, sizes[i]);
			again = mt_sampling_weigh(INTERVAL, number, sizes[i]);
			assert_memory_equal(&w, &again, sizeof w);
			assert_true(fabs((double)w.blocks - 1 / p) < 1);
			assert_true(fabs((double)w.bytes - (double)sizes[i] / p) <= 0.5001);
			blocks += (double)w.blocks;
		}
		/* rounded up as often as to make up for what was rounded down */
		assert_true(fabs(blocks / 100000 - 1 / p) < 0.01);
	}
	assert_int_equal(mt_sampling_weigh(INTERVAL, 5, 301805).blocks, 1);
	assert_int_equal(mt_sampling_weigh(INTERVAL, 5, 301805).bytes, 301805);
}

/* ---- all of it, again and again ---- */

/* The allocations of a program: each round samples the same ones. */
struct program {
	uint32_t count, *sizes;
	uint8_t *groups;
	double blocks[GROUPS + 1], bytes[GROUPS + 1]; /* the truth; the last: of all */
	double expected[GROUPS + 1];                  /* samples */
	uint64_t every; /* one of so many allocations is drawn; 0: bytes are */
};

static void add(struct program *p, uint32_t group, uint32_t size)
{
	double chance = p->every ? 1 / (double)p->every : mt_sampling_chance(INTERVAL, size);

	p->sizes[p->count] = size;
	p->groups[p->count++] = (uint8_t)group;
	for (uint32_t i = group;; i = GROUPS) {
		p->blocks[i]++;
		p->bytes[i] += size;
		p->expected[i] += chance;
		if (i == GROUPS)
			return;
	}
}

/* Small blocks, blocks about as large as the interval, some that are always kept, and a group that
 * is too small for an error. */
static void make(struct program *p, uint64_t every)
{
	uint64_t random = 42;

	*p = (struct program){.sizes = mt_alloc(40000 * sizeof(uint32_t)),
		.groups = mt_alloc(40000),
		.every = every};
	for (int i = 0; i < 8000; i++) {
		uint64_t r = mt_sampler_random(&random);

		add(p, 0, 300 + r % 600);
		add(p, 1, (uint32_t)(16 + (r >> 16) % 2000));
		if (i % 40 == 0)
			add(p, 2, (uint32_t)(60000 + (r >> 32) % 60000));
		if (i % 20 == 0)
			add(p, 3, (uint32_t)(40000 + (r >> 32) % 360000));
		if (i % 100 == 0)
			add(p, 4, 50000);
		if (i % 1000 == 0)
			add(p, 5, 100);
	}
}

struct coverage {
	uint32_t blocks, bytes;
	double sum_blocks, sum_bytes;
};

static bool covers(double estimate, double variance, double truth)
{
	return fabs(estimate - truth) <= 1.959964 * sqrt(variance);
}

/* One run of the program, through the sampler and the model. */
static void run(const struct program *p, struct mt_sampler *s, struct coverage *c, uint64_t *number)
{
	struct mt_profile profile;
	struct mt_model model;

	mt_profile_init(&profile);
	profile.info.sample_every = p->every;
	profile.info.sample_bytes = p->every ? 0 : INTERVAL;
	mt_profile_add_thread(&profile, &(struct mt_thread){0});
	for (uint32_t i = 0; i < GROUPS; i++)
		mt_profile_add_group(&profile,
			mt_profile_add_node(&profile, 0, MT_FUNCTION_MALLOC));
	mt_model_init(&model, &profile);
	for (uint32_t i = 0; i < p->count; i++)
		if (keeps(s, p->every ? MT_SAMPLER_CALL : p->sizes[i])) {
			struct mt_block b = {.size = p->sizes[i],
				.number = (*number)++,
				.group = p->groups[i]};

			mt_model_allocate(&model, &b, false);
		}
	struct mt_estimate all = {0};

	for (uint32_t i = 0; i <= GROUPS; i++) {
		const struct mt_estimate *e = i == GROUPS ? &all
			: i < profile.estimate_count      ? &profile.estimates[i].allocated
							  : &(struct mt_estimate){0};
		double blocks = (double)(i == GROUPS ? profile.info.allocations
						     : profile.groups[i].allocated_count);
		double bytes = (double)(i == GROUPS ? profile.info.allocated_bytes
						    : profile.groups[i].allocated_bytes);

		c[i].sum_blocks += blocks;
		c[i].sum_bytes += bytes;
		c[i].blocks += covers(blocks, e->blocks, p->blocks[i]);
		c[i].bytes += covers(bytes, e->bytes, p->bytes[i]);
		if (i < GROUPS)
			mt_estimate_fold(&all, e);
	}
	mt_model_free_memory(&model);
	mt_profile_free(&profile);
}

static void cover(uint64_t every)
{
	struct coverage c[GROUPS + 1] = {{0}};
	struct mt_sampler s;
	struct program p;
	uint64_t number = 0;

	make(&p, every);
	mt_sampler_begin(&s, every ? mt_sampling_of_calls(every) : INTERVAL, 2026);
	for (uint32_t i = 0; i < ROUNDS; i++)
		run(&p, &s, c, &number);
	for (uint32_t i = 0; i <= GROUPS; i++) {
		double blocks = 100.0 * c[i].blocks / ROUNDS, bytes = 100.0 * c[i].bytes / ROUNDS;
		double mean_blocks = c[i].sum_blocks / ROUNDS / p.blocks[i];
		double mean_bytes = c[i].sum_bytes / ROUNDS / p.bytes[i];

		print_message("%s %u: %.0f samples, 95%% intervals cover %.2f%% and %.2f%%, means "
			      "%.4f and %.4f of the truth\n",
			i == GROUPS ? "all" : "group", i, p.expected[i], blocks, bytes, mean_blocks,
			mean_bytes);
		if (p.expected[i] < 30)
			continue;
		/* where allocations are drawn, few of the largest blocks make most of all bytes */
		assert_true(
			every && i == GROUPS ? bytes > 91 && bytes < 96 : fabs(bytes - 95) <= 1);
		/* few samples of the smallest blocks make most of such a count, and its error */
		assert_true(
			!every && i == MIXED ? blocks > 91 && blocks < 96 : fabs(blocks - 95) <= 1);
		assert_true(fabs(mean_blocks - 1) <= 0.005 && fabs(mean_bytes - 1) <= 0.005);
	}
	free(p.sizes);
	free(p.groups);
}

static void test_coverage(void **state)
{
	(void)state;
	cover(0);
}

static void test_coverage_of_calls(void **state)
{
	(void)state;
	cover(EVERY);
}

/* One of 2, and one of the most: as often as asked for, whatever the sizes. */
static void test_calls(void **state)
{
	static const uint64_t all[] = {2, 3, 10, 100, 12345, MT_SAMPLER_EVERY_MOST};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		uint64_t interval = mt_sampling_of_calls(all[i]), kept = 0;
		uint64_t rounds = 40000 * all[i] < 20000000 ? 40000 * all[i] : 20000000;
		double chance = -expm1(-(double)MT_SAMPLER_CALL / (double)interval), mean;
		struct mt_sampler s;

		assert_true(interval <= MT_SAMPLER_MOST);
		assert_true(fabs(chance * (double)all[i] - 1) < 1e-4);
		mt_sampler_begin(&s, interval, 99);
		for (uint64_t n = 0; n < rounds; n++)
			kept += keeps(&s, MT_SAMPLER_CALL);
		mean = (double)rounds / (double)all[i];
		assert_true(fabs((double)kept - mean) < 5 * sqrt(mean) + 1);
	}
}

/* What is freed again leaves nothing: no block, no byte, no error. */
static void test_frees(void **state)
{
	struct mt_profile p;
	struct mt_model m;

	(void)state;
	mt_profile_init(&p);
	p.info.sample_bytes = INTERVAL;
	mt_profile_add_thread(&p, &(struct mt_thread){0});
	for (uint32_t i = 0; i < 2; i++)
		mt_profile_add_group(&p, mt_profile_add_node(&p, 0, MT_FUNCTION_MALLOC + i));
	mt_model_init(&m, &p);
	for (int pass = 0; pass < 2; pass++)
		for (uint64_t i = 0; i < 20000; i++) {
			struct mt_block b = {.size = i * 13 % 400000, .number = i, .group = i % 2};

			if (pass)
				mt_model_free(&m, &b, 0);
			else
				mt_model_allocate(&m, &b, false);
		}
	mt_model_settle(&m);
	assert_int_equal(p.info.leaked_count, 0);
	assert_int_equal(p.info.leaked_bytes, 0);
	assert_int_equal(p.info.frees, p.info.allocations);
	assert_int_equal(p.info.temporary_count, 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(p.groups[i].live_count, 0);
		assert_int_equal(p.estimates[i].live.samples, 0);
		assert_true(p.estimates[i].live.blocks == 0 && p.estimates[i].live.bytes == 0);
		assert_int_equal(p.estimates[i].at_peak.samples, 10000);
		assert_true(p.estimates[i].at_peak.bytes == p.estimates[i].allocated.bytes);
	}
	mt_model_free_memory(&m);
	mt_profile_free(&p);
}

/* Blocks of a pool are recorded each: they stand for themselves. */
static void test_pools(void **state)
{
	struct mt_profile p;
	struct mt_weight w;

	(void)state;
	mt_profile_init(&p);
	p.info.sample_bytes = INTERVAL;
	mt_profile_add_group(&p, mt_profile_add_node(&p, 0, MT_FUNCTION_POOL));
	mt_profile_add_group(&p, mt_profile_add_node(&p, 0, MT_FUNCTION_MALLOC));
	w = mt_profile_weigh(&p, 0, 1, 100);
	assert_true(w.blocks == 1 && w.bytes == 100);
	w = mt_profile_weigh(&p, 1, 1, 100);
	assert_true(w.blocks > 600 && w.bytes > 60000);
	mt_profile_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_independence),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_coverage_of_calls),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_frees),
		cmocka_unit_test(test_pools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
