/* Single blocks in an order, and how often which size and lifetime come. All go over the events of
 * a trace. */
#ifndef MT_QUERY_ALLOCATIONS_H
#define MT_QUERY_ALLOCATIONS_H

#include "core/query/scan.h"

/* X(id, name, words): orders of blocks, then those of chains of reallocs. */
#define MT_ALLOCATION_ORDERS(X) \
	X(TIMESTAMP, "timestamp", "when it was allocated") \
	X(ADDRESS, "address", "where it lies") \
	X(SIZE, "size", "bytes asked for") \
	X(LIFETIME, "lifetime", "until it was freed, or the end of the recording") \
	X(LIVE, "live", "bytes asked for, blocks that still live before those that were freed")
#define MT_CHAIN_ORDERS(X) \
	X(LENGTH, "length", "blocks in the chain") \
	X(LAST_SIZE, "last_size", "bytes of its last block") \
	X(FIRST_SIZE, "first_size", "bytes of its first block") \
	X(CHAIN_LIFETIME, "lifetime", "from its first block's allocation to its last one's end") \
	X(CHAIN_START, "timestamp", "when its first block was allocated")
enum mt_allocation_order {
#define X(id, name, words) MT_ORDER_##id,
	MT_ALLOCATION_ORDERS(X) MT_CHAIN_ORDERS(X) MT_ORDERS,
#undef X
};

/* The time from allocation to end; live: to the end of the recording. */
uint64_t mt_allocation_lifetime(const struct mt_allocation *, const struct mt_profile *whole);
uint64_t mt_chain_lifetime(const struct mt_allocation *, const struct mt_profile *whole);

#define MT_ALLOCATIONS_MAX (1u << 22) /* what is kept in memory at once */
struct mt_allocation_list {
	struct mt_allocation *items; /* in order, behind those skipped */
	uint64_t count;
	uint64_t matched, matched_bytes;
};
/* Keeps those that come at skip … skip + count of the order, ties by number; count 0: all. chains:
 * chain, position and chain_length are wanted; orders of chains have them anyway. Chains:
 * the orders of chains give the last block of each chain of two blocks or more, with the chain's
 * fields. -E2BIG: too many to keep, err says so. list: zeroed. */
int mt_allocations_get(struct mt_allocation_list *, const struct mt_source *, struct mt_filter *,
	enum mt_allocation_order, bool ascending, bool chains, uint64_t skip, uint64_t count,
	struct mt_err *);
/* The same of one group's blocks, MT_NO_GROUP: of all; an order of blocks. Fields of chains are not
 * filled in: it takes less time and memory. */
int mt_allocations_of(struct mt_allocation_list *, const struct mt_source *, struct mt_filter *,
	uint32_t group, enum mt_allocation_order, bool ascending, uint64_t count, struct mt_err *);
void mt_allocations_free(struct mt_allocation_list *);

/* How many blocks lie between two bounds. */
struct mt_bucket {
	uint64_t least, most; /* inclusive; of bytes or nanoseconds */
	uint64_t count, bytes, live_count, live_bytes, temporary_count;
	struct mt_estimates error; /* of a sampled recording */
};
#define MT_BUCKETS 66
struct mt_histogram {
	/* powers of two: 0, 1, 2-3, 4-7 … bytes or microseconds; the last of lifetimes: live at the
	 * end */
	struct mt_bucket buckets[MT_BUCKETS];
	/* what lies between the first and the last that is not empty */
	uint32_t first, count;
	struct mt_bucket sum;
};
enum mt_histogram_of { MT_HISTOGRAM_SIZE, MT_HISTOGRAM_LIFETIME };
int mt_histogram_get(struct mt_histogram *, const struct mt_source *, struct mt_filter *,
	enum mt_histogram_of, struct mt_err *);

#endif
