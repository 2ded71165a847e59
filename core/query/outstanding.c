#include "core/query/outstanding.h"
#include "core/model/sampling.h"

#include <stdio.h>
#include <stdlib.h>

struct collector {
	struct mt_outstanding *out;
	struct mt_outstanding_group *sums; /* by group */
	const struct mt_profile *profile;
	bool blocks;
};

static int add(void *context, const struct mt_allocation *a)
{
	struct collector *c = context;
	struct mt_outstanding *out = c->out;
	struct mt_outstanding_group *sum = &c->sums[a->group];

	struct mt_weight w = mt_profile_weigh(c->profile, a->group, a->number, a->size);

	sum->group = a->group;
	sum->recorded++;
	sum->count += w.blocks;
	sum->bytes += w.bytes;
	if (mt_info_is_sampled(&c->profile->info))
		mt_estimate_add(&sum->error, &w, a->size);
	if (!c->blocks)
		return 0;
	MT_GROW(out->blocks, out->block_count, out->block_capacity);
	out->blocks[out->block_count++] =
		(struct mt_outstanding_block){a->group, a->number, a->address, a->size};
	return 0;
}

/* Of groups with the same number of bytes, that with more blocks, and then the one that came
 * first, counts as the larger one. */
static int by_size(const void *a, const void *b)
{
	const struct mt_outstanding_group *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->group > y->group ? -1 : x->group < y->group;
}

static int by_number(const void *a, const void *b)
{
	const struct mt_outstanding_block *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void find_blocks(struct mt_outstanding *out)
{
	struct mt_outstanding_block *b = out->blocks;
	uint64_t low, high;

	if (out->block_count)
		qsort(b, out->block_count, sizeof *b, by_number);
	for (uint32_t i = 0; i < out->count; i++) {
		for (low = 0, high = out->block_count; low < high;) {
			uint64_t middle = low + (high - low) / 2;

			if (b[middle].group < out->groups[i].group)
				low = middle + 1;
			else
				high = middle;
		}
		out->groups[i].first_block = low;
	}
}

/* The sums become the list. */
static void choose(struct mt_outstanding *out, struct mt_outstanding_group *sums, uint32_t count,
	uint32_t top)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (sums[i].count)
			sums[kept++] = sums[i];
	if (kept)
		qsort(sums, kept, sizeof *sums, by_size);
	out->groups = sums;
	out->count = kept < top ? kept : top;
	for (uint32_t i = 0; i < out->count; i++)
		sums[i] = sums[kept - out->count + i];
}

static int set_time(struct mt_filter *filter, enum mt_filter_field field, uint64_t ns,
	struct mt_err *err)
{
	char text[32];

	snprintf(text, sizeof text, "%lluns", (unsigned long long)ns);
	return mt_filter_set(filter, field, text, err);
}

static int ask(struct mt_filter *filter, const struct mt_outstanding_wants *w, uint64_t moment_ns,
	struct mt_err *err)
{
	bool now = w->at_ns == MT_OUTSTANDING_NOW;
	int status = mt_filter_set(filter, MT_FILTER_LIFETIME, now ? "only_leaked" : NULL, err);

	if (status >= 0)
		status = now ? mt_filter_set(filter, MT_FILTER_ALIVE_AT, NULL, err)
			     : set_time(filter, MT_FILTER_ALIVE_AT, moment_ns, err);
	/* what is recorded behind the moment is not asked for either */
	if (status >= 0)
		status = now && !w->older_ns
			? mt_filter_set(filter, MT_FILTER_TO, NULL, err)
			: set_time(filter, MT_FILTER_TO, moment_ns - w->older_ns, err);
	return status;
}

int mt_outstanding_get(struct mt_outstanding *out, const struct mt_source *source,
	struct mt_filter *filter, const struct mt_outstanding_wants *w, struct mt_err *err)
{
	uint64_t moment_ns = w->at_ns == MT_OUTSTANDING_NOW ? w->end_ns : w->at_ns;
	uint32_t groups = source->profile->group_count;
	struct collector c = {.out = out, .profile = source->profile, .blocks = w->blocks};

	mt_outstanding_free(out);
	if (moment_ns < w->older_ns)
		return 0; /* nothing is that old */
	int status = ask(filter, w, moment_ns, err);

	if (status < 0)
		return status;
	c.sums = mt_alloc((groups + 1ull) * sizeof *c.sums);
	status = mt_scan_allocations(source, filter,
		MT_SCAN_TIMELESS | (w->blocks ? MT_SCAN_ADDRESSES : 0), add, &c, err);
	choose(out, c.sums, groups, w->top);
	if (w->blocks)
		find_blocks(out);
	if (status)
		mt_outstanding_free(out);
	return status;
}

void mt_outstanding_free(struct mt_outstanding *out)
{
	free(out->groups);
	free(out->blocks);
	*out = (struct mt_outstanding){0};
}
