#include "core/account/known.h"
#include "core/base/buffer.h"
#include "core/leakcheck/mapped.h"
#include "core/model/model.h"

#include <stdlib.h>

struct gathering {
	struct mt_known *known;
	const struct mt_profile *profile;
};

static int add_block(void *context, const struct mt_allocation *a)
{
	struct gathering *g = context;
	struct mt_known *k = g->known;
	uint64_t slack;

	if (a->domain != MT_DOMAIN_HEAP || a->group >= g->profile->group_count
		|| a->size > UINT64_MAX - a->address)
		return 0; /* a pool's memory lies in blocks of the heap, or is mapped */
	slack = mt_model_slack(g->profile, a->group, a->size, a->usable);
	if (slack > UINT64_MAX - a->address - a->size)
		slack = 0;
	MT_GROW(k->blocks, k->count, k->capacity);
	k->blocks[k->count++] = (struct mt_known_block){a->address, a->size,
		slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX, a->group};
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct mt_known_block *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* So that no byte is in two. */
static void separate(struct mt_known *k)
{
	for (uint64_t i = 0; i + 1 < k->count; i++) {
		struct mt_known_block *b = &k->blocks[i];
		uint64_t room = k->blocks[i + 1].address - b->address;

		if (b->size > room)
			b->size = room;
		if (b->slack > room - b->size)
			b->slack = (uint32_t)(room - b->size);
	}
}

int mt_known_of(struct mt_known *k, const struct mt_source *source, struct mt_err *err)
{
	struct gathering g = {k, source->profile};
	struct mt_filter *live = mt_filter_new();
	int status = mt_filter_set(live, MT_FILTER_LIFETIME, "only_leaked", err);

	if (status >= 0)
		status = mt_scan_allocations(source, live, MT_SCAN_ADDRESSES | MT_SCAN_TIMELESS,
			add_block, &g, err);
	mt_filter_free(live);
	if (status < 0)
		return status;
	if (k->count)
		qsort(k->blocks, k->count, sizeof *k->blocks, by_address);
	separate(k);
	mt_mapped_by_program(&k->maps, source->profile);
	k->group_count = source->profile->group_count;
	k->is_glibc = source->profile->info.usable_rule == MT_USABLE_GLIBC;
	k->is_sampled = mt_info_is_sampled(&source->profile->info);
	k->is_gated = mt_info_is_gated(&source->profile->info);
	k->begins_within = mt_info_begins_within(&source->profile->info);
	return 0;
}

void mt_known_free(struct mt_known *k)
{
	free(k->blocks);
	mt_maps_free(&k->maps);
	*k = (struct mt_known){0};
}
