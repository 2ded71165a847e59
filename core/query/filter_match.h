/* What a selection asks of a filter: a verdict per group; and a scan: one per allocation. */
#ifndef MT_QUERY_FILTER_MATCH_H
#define MT_QUERY_FILTER_MATCH_H

#include "core/query/query.h"

struct mt_allocation;

/* What must be known to answer a filter, beyond the groups' totals. */
#define MT_FILTER_NEEDS_EVENTS 1u  /* anything at all: no other bit stands without this one */
#define MT_FILTER_NEEDS_END 2u     /* end_ns, between */
#define MT_FILTER_NEEDS_CHAIN 4u   /* chain … chain_end_ns */
#define MT_FILTER_NEEDS_ADDRESS 8u /* address, usable */
unsigned mt_filter_needs(const struct mt_filter *);
/* Tells whether the filter compares times: its answer is an estimate where times are. */
bool mt_filter_compares_times(const struct mt_filter *);

/* Sets matches[group] to 1 or 0 for every group of the profile, by the fields of scope GROUP alone.
 * profile: of the whole recording. */
int mt_filter_match(struct mt_filter *, const struct mt_profile *, const struct mt_symbols *,
	uint8_t *matches, struct mt_err *err);

/* Clears matches[group] where the totals of the group are not as the filter asks: its number,
 * counts and columns. The other fields do not matter. */
int mt_filter_match_totals(const struct mt_filter *, const struct mt_profile *, uint8_t *matches,
	struct mt_err *err);
bool mt_filter_asks_totals(const struct mt_filter *); /* of groups, as above */
/* From now on mt_filter_match leaves these out: whoever puts the groups of several recordings
 * together asks them of the sums. */
void mt_filter_leave_totals(struct mt_filter *);

/* mt_filter_add, where errors call the field other than by its option; called: static. */
int mt_filter_add_as(struct mt_filter *, enum mt_filter_field, const char *called, const char *text,
	struct mt_err *err);

struct mt_filter_range {
	uint64_t min, max; /* inclusive */
};

/* The fields beyond the groups', with every percentage, name and text looked up in one profile. */
struct mt_filter_bounds {
	uint64_t from_ns, to_ns;      /* of the allocation, inclusive; 0 and UINT64_MAX when off */
	uint64_t temporary_threshold; /* at most so many allocations between: temporary */
	unsigned needs;               /* as of mt_filter_needs */
	/* mt_allocation.at_peak is asked for, in place of a time */
	bool alive_at_peak, dead_at_peak;
	/* private to filter_bounds.c */
	unsigned at_allocation, at_end; /* bits of what is asked */
	unsigned lifetime;              /* number among MT_FILTER_LIFETIMES */
	uint64_t run_ns;
	struct mt_filter_range size, address, lifetime_ns, first_size, last_size, chain_lifetime_ns,
		chain_length, position;
	uint64_t alive_at_ns, dead_at_ns;
	uint64_t *threads; /* set of indices */
	uint32_t thread_count;
	uint32_t *markers; /* string ids */
	uint32_t marker_count;
	const struct mt_verdicts *verdicts; /* the profile's */
	unsigned verdict;
	bool mmapped, main_arena;
	struct mt_filter_range main_heap;
};
/* bounds: zeroed, or of an earlier call. -EINVAL: the fields contradict each other, or the profile
 * cannot answer one; err says so. */
int mt_filter_compile(struct mt_filter_bounds *, const struct mt_filter *,
	const struct mt_profile *, struct mt_err *err);
/* Whether a thread or marker that a recording does not have is no mistake there: nothing of it
 * matches. */
void mt_filter_allow_absent(struct mt_filter *, bool allowed);
/* Whether only blocks that live at the end can match. */
bool mt_filter_asks_for_leaks(const struct mt_filter_bounds *);
bool mt_filter_is_for_leaks(const struct mt_filter *); /* the same */
/* The same, and nothing else is asked of their ends. */
bool mt_filter_asks_for_range_alone(const struct mt_filter_bounds *);
/* Whether it needs to be known when a block was allocated, or of which chain it is. */
bool mt_filter_asks_for_times(const struct mt_filter_bounds *);
void mt_filter_bounds_free(struct mt_filter_bounds *);
/* By what is known when the block is allocated (number … usable, group, thread, marker). Group
 * verdicts are not asked. */
bool mt_filter_allocation_matches(const struct mt_filter_bounds *, const struct mt_allocation *);
/* By what is known at its end, and of its chain when that has ended. */
bool mt_filter_end_matches(const struct mt_filter_bounds *, const struct mt_allocation *);

#endif
