#include "core/query/allocations.h"
#include "core/model/sampling.h"

#include "core/query/filter_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The best so far, as a heap whose root is the worst of them. */
struct collector {
	const struct mt_profile *whole;
	enum mt_allocation_order order;
	bool ascending, again; /* again: by the events alone */
	uint32_t group;        /* MT_NO_GROUP: all */
	uint64_t room;
	struct kept {
		uint64_t key;
		struct mt_allocation allocation;
	} * heap;
	uint64_t count, capacity;
	uint64_t matched, matched_bytes;
	bool overflow;
};

static uint64_t from_to(uint64_t start, uint64_t end, const struct mt_profile *whole)
{
	if (end == MT_LIVE)
		end = whole->info.wall_ns;
	return end > start ? end - start : 0;
}

uint64_t mt_allocation_lifetime(const struct mt_allocation *a, const struct mt_profile *whole)
{
	return from_to(a->time_ns, a->end_ns, whole);
}

uint64_t mt_chain_lifetime(const struct mt_allocation *a, const struct mt_profile *whole)
{
	return from_to(a->chain_start_ns, a->chain_end_ns, whole);
}

/* No block is so large: the key of one that lives. */
#define LIVE_BIT (1ull << 63)

static uint64_t key_of(const struct collector *c, const struct mt_allocation *a)
{
	switch (c->order) {
	case MT_ORDER_ADDRESS: return a->address;
	case MT_ORDER_SIZE: return a->size;
	case MT_ORDER_LIVE: return a->end_ns == MT_LIVE ? a->size | LIVE_BIT : a->size & ~LIVE_BIT;
	case MT_ORDER_LIFETIME: return mt_allocation_lifetime(a, c->whole);
	case MT_ORDER_LENGTH: return a->chain_length;
	case MT_ORDER_LAST_SIZE: return a->last_size;
	case MT_ORDER_FIRST_SIZE: return a->first_size;
	case MT_ORDER_CHAIN_LIFETIME: return mt_chain_lifetime(a, c->whole);
	case MT_ORDER_CHAIN_START: return a->chain_start_ns;
	/* the order of times */
	default: return a->untimed ? a->number : a->time_ns;
	}
}

static bool comes_before(const struct kept *a, const struct kept *b)
{
	return a->key != b->key ? a->key < b->key : a->allocation.number < b->allocation.number;
}

/* Moves the entry at i down to where everything below comes before it. */
static void sink(struct collector *c, uint64_t i)
{
	struct kept moved = c->heap[i];

	for (uint64_t child; (child = 2 * i + 1) < c->count; i = child) {
		if (child + 1 < c->count && comes_before(&c->heap[child], &c->heap[child + 1]))
			child++;
		if (!comes_before(&moved, &c->heap[child]))
			break;
		c->heap[i] = c->heap[child];
	}
	c->heap[i] = moved;
}

static void rise(struct collector *c, uint64_t i)
{
	struct kept moved = c->heap[i];

	for (uint64_t parent; i && comes_before(&c->heap[parent = (i - 1) / 2], &moved); i = parent)
		c->heap[i] = c->heap[parent];
	c->heap[i] = moved;
}

static int collect(void *context, const struct mt_allocation *a)
{
	struct collector *c = context;
	bool chains = c->order >= MT_ORDER_LENGTH;

	if (c->group != MT_NO_GROUP && a->group != c->group)
		return 0;
	if (chains && (a->chain_length < 2 || a->position != a->chain_length))
		return 0;
	uint64_t key = key_of(c, a);
	struct kept entry = {c->ascending ? key : ~key, *a};

	c->matched++;
	c->matched_bytes += a->size;
	if (c->count < c->room) {
		MT_GROW(c->heap, c->count, c->capacity);
		c->heap[c->count++] = entry;
		rise(c, c->count - 1);
	} else if (c->room && comes_before(&entry, c->heap)) {
		c->heap[0] = entry;
		sink(c, 0);
	}
	return 0;
}

/* Empties the heap into the list, the worst last. */
static void take_out(struct collector *c, struct mt_allocation_list *list, uint64_t skip)
{
	list->count = c->count > skip ? c->count - skip : 0;
	list->items = mt_resize(NULL, (list->count + 1) * sizeof *list->items);
	while (c->count > skip) {
		list->items[c->count - 1 - skip] = c->heap[0].allocation;
		c->heap[0] = c->heap[--c->count];
		if (c->count)
			sink(c, 0);
	}
}

/* Whether rows can be chosen before the times of their blocks are known. Blocks of the same time
 * come by their numbers, so if the latest come first, times matter. */
static bool is_timeless(const struct collector *c)
{
	return c->order == MT_ORDER_ADDRESS || c->order == MT_ORDER_SIZE
		|| c->order == MT_ORDER_LIVE || (c->order == MT_ORDER_TIMESTAMP && c->ascending);
}

static int scan(struct collector *c, struct mt_allocation_list *list,
	const struct mt_source *source, struct mt_filter *filter, unsigned wants,
	struct mt_err *err)
{
	int status = mt_scan_allocations(source, filter, wants, collect, c, err);

	list->matched = c->matched;
	list->matched_bytes = c->matched_bytes;
	return status;
}

/* Collects what matches, and takes out what comes from `skip` on. bounded: there may be more
 * matches than rows. */
static int list_matches(struct collector *c, struct mt_allocation_list *list,
	const struct mt_source *source, struct mt_filter *filter, unsigned wants, uint64_t skip,
	bool bounded, struct mt_err *err)
{
	int status = scan(c, list, source, filter,
		wants
			| (c->again                      ? MT_SCAN_EVENTS
					: is_timeless(c) ? MT_SCAN_LATE
							 : 0),
		err);

	if (status >= 0 && !bounded && c->matched > c->room)
		status = mt_fail(err, -E2BIG,
			"%llu allocations match, too many for one list; show at most %u with "
			"--count "
			"(and --skip), or filter more narrowly",
			(unsigned long long)c->matched, MT_ALLOCATIONS_MAX);
	if (status >= 0)
		take_out(c, list, skip);
	return status;
}

void mt_allocations_free(struct mt_allocation_list *list)
{
	free(list->items);
	*list = (struct mt_allocation_list){0};
}

static int get(const struct collector *with, struct mt_allocation_list *list,
	const struct mt_source *source, struct mt_filter *filter, unsigned wants, uint64_t skip,
	bool bounded, struct mt_err *err)
{
	struct collector c = *with;
	int status = list_matches(&c, list, source, filter, wants, skip, bounded, err);

	free(c.heap);
	if (status >= 0)
		status = mt_scan_complete(source, list->items, list->count, wants, err);
	if (!status)
		return 0;
	mt_allocations_free(list);
	if (status < 0)
		return status;
	/* the events contradict the list of live blocks: they alone are asked */
	c = *with;
	c.again = true;
	status = list_matches(&c, list, source, filter, wants, skip, bounded, err);
	free(c.heap);
	return status < 0 ? status : 0;
}

int mt_allocations_of(struct mt_allocation_list *list, const struct mt_source *source,
	struct mt_filter *filter, uint32_t group, enum mt_allocation_order order, bool ascending,
	uint64_t count, struct mt_err *err)
{
	const struct collector c = {
		.whole = source->profile,
		.order = order,
		.ascending = ascending,
		.group = group,
		.room = count < MT_ALLOCATIONS_MAX ? count : MT_ALLOCATIONS_MAX,
	};

	return get(&c, list, source, filter, MT_SCAN_ADDRESSES, 0, true, err);
}

int mt_allocations_get(struct mt_allocation_list *list, const struct mt_source *source,
	struct mt_filter *filter, enum mt_allocation_order order, bool ascending, bool chains,
	uint64_t skip, uint64_t count, struct mt_err *err)
{
	bool bounded = count && count <= MT_ALLOCATIONS_MAX && skip <= MT_ALLOCATIONS_MAX - count;
	const struct collector c = {
		.whole = source->profile,
		.order = order,
		.ascending = ascending,
		.group = MT_NO_GROUP,
		.room = bounded ? skip + count : MT_ALLOCATIONS_MAX,
	};
	unsigned wants = MT_SCAN_ADDRESSES | (chains ? MT_SCAN_CHAINS : 0)
		| (order >= MT_ORDER_LENGTH ? MT_SCAN_CHAINS | MT_SCAN_FIRSTS : 0);

	if (count && !bounded)
		return mt_fail(err, -E2BIG,
			"--skip and --count reach to row %llu, but a list has at most %u rows; "
			"filter more narrowly, or reverse the order",
			(unsigned long long)(skip > UINT64_MAX - count ? UINT64_MAX : skip + count),
			MT_ALLOCATIONS_MAX);
	return get(&c, list, source, filter, wants, skip, bounded, err);
}

/* ---- histograms ---- */

#define LIVE_BUCKET (MT_BUCKETS - 1)
#define TIME_UNIT 1000u /* ns: events are kept to the microsecond */

struct counter {
	struct mt_histogram *histogram;
	const struct mt_profile *profile;
	enum mt_histogram_of of;
	uint64_t threshold; /* of what is temporary */
};

/* 0: zero; n: 2^(n-1) … 2^n - 1. */
static uint32_t bucket_of(uint64_t value)
{
	return value ? 64 - (uint32_t)__builtin_clzll(value) : 0;
}

static void count_in(struct mt_bucket *bucket, const struct counter *c,
	const struct mt_allocation *a)
{
	struct mt_weight w = mt_profile_weigh(c->profile, a->group, a->number, a->size);
	bool live = a->end_ns == MT_LIVE;

	bucket->count += w.blocks;
	bucket->bytes += w.bytes;
	bucket->live_count += live ? w.blocks : 0;
	bucket->live_bytes += live ? w.bytes : 0;
	bucket->temporary_count += !live && a->between <= c->threshold;
	if (!mt_info_is_sampled(&c->profile->info))
		return;
	mt_estimate_add(&bucket->error.allocated, &w, a->size);
	if (live)
		mt_estimate_add(&bucket->error.live, &w, a->size);
}

static int count_allocation(void *context, const struct mt_allocation *a)
{
	struct counter *counter = context;
	uint32_t bucket = counter->of == MT_HISTOGRAM_SIZE ? bucket_of(a->size)
		: a->end_ns == MT_LIVE
		? LIVE_BUCKET
		: bucket_of(a->end_ns > a->time_ns ? (a->end_ns - a->time_ns) / TIME_UNIT : 0);

	count_in(&counter->histogram->buckets[bucket], counter, a);
	count_in(&counter->histogram->sum, counter, a);
	return 0;
}

int mt_histogram_get(struct mt_histogram *histogram, const struct mt_source *source,
	struct mt_filter *filter, enum mt_histogram_of of, struct mt_err *err)
{
	struct mt_filter_bounds bounds = {0};
	struct counter counter = {histogram, source->profile, of, 0};
	uint64_t unit = of == MT_HISTOGRAM_LIFETIME ? TIME_UNIT : 1;
	uint32_t end = 0;
	int status = filter ? mt_filter_compile(&bounds, filter, source->profile, err) : 0;

	counter.threshold = bounds.temporary_threshold;
	mt_filter_bounds_free(&bounds);

	*histogram = (struct mt_histogram){0};
	for (uint32_t i = 0; i <= 64; i++) {
		uint64_t next = i < 64 ? 1ull << i : 0; /* the first value beyond, in units */

		histogram->buckets[i].least = i ? (1ull << (i - 1)) * unit : 0;
		histogram->buckets[i].most =
			next && next <= UINT64_MAX / unit ? next * unit - 1 : UINT64_MAX;
	}
	histogram->buckets[LIVE_BUCKET].least = histogram->buckets[LIVE_BUCKET].most = MT_LIVE;
	if (status >= 0)
		status = mt_scan_allocations(source, filter, 0, count_allocation, &counter, err);

	histogram->first = MT_BUCKETS;
	for (uint32_t i = 0; i < MT_BUCKETS - (of == MT_HISTOGRAM_LIFETIME); i++)
		if (histogram->buckets[i].count) {
			histogram->first = histogram->first < i ? histogram->first : i;
			end = i + 1;
		}
	if (histogram->first > end)
		histogram->first = end;
	histogram->count = end - histogram->first;
	return status < 0 ? status : 0;
}
