/* What only events tell of how groups grew and what they are made of. Each goes over the events of
 * a trace once. */
#ifndef MT_QUERY_SITE_HISTORY_H
#define MT_QUERY_SITE_HISTORY_H

#include "core/query/rank.h"
#include "core/query/scan.h"

/* What every group held live at MT_RANK_POINTS instants, spread evenly over the history that there
 * is, the last one at the end of the recording: MT_RANK_POINTS points of each group, which the
 * caller gives; and how many blocks of each group that lived at mt_rank_then() live at the end. */
int mt_site_history_series(struct mt_rank_point *points, uint32_t *old,
	uint64_t time_ns[MT_RANK_POINTS], const struct mt_source *, struct mt_err *);

/* Upper bounds of classes in nanoseconds, the last without: X(name, ns) */
#define MT_SITE_HISTORY_AGES(X) \
	X("<10ms", 10000000ull) \
	X("<100ms", 100000000ull) \
	X("<1s", 1000000000ull) \
	X("<10s", 10000000000ull) \
	X("<1m", 60000000000ull) \
	X("<10m", 600000000000ull) \
	X("older", UINT64_MAX)
enum {
#define X(name, ns) +1
	MT_SITE_HISTORY_AGE_COUNT = 0 MT_SITE_HISTORY_AGES(X),
#undef X
	MT_SITE_HISTORY_SIZE_COUNT = 65,
};
const char *mt_site_history_age_name(unsigned age);
unsigned mt_site_history_age(uint64_t ns); /* the class */

struct mt_site_history_thread {
	uint32_t thread; /* index in the profile */
	uint64_t count, live_count, live_bytes;
};
struct mt_site_history {
	uint32_t group;
	uint64_t
		live_ages[MT_SITE_HISTORY_AGE_COUNT]; /* live blocks, by how long they have lived */
	uint64_t lifetimes[MT_SITE_HISTORY_AGE_COUNT]; /* ended ones, by how long they lived */
	/* all blocks: [0] of no bytes, [n] of 2^(n-1) to 2^n - 1 */
	uint64_t sizes[MT_SITE_HISTORY_SIZE_COUNT];
	/* ended_ns: lifetimes of the ended ones together */
	uint64_t count, live_count, ended_ns;
	uint64_t usual_ns;                      /* their mean */
	uint64_t outlived;                      /* live blocks of more than ten times that */
	struct mt_site_history_thread *threads; /* those that allocated here, by live bytes */
	uint32_t thread_count;
};
int mt_site_history_group(struct mt_site_history *, const struct mt_source *, uint32_t group,
	struct mt_err *);
void mt_site_history_free(struct mt_site_history *);

#endif
