/* What is outstanding at a moment: blocks that live then and are old enough, summed by group. A
 * group's blocks have one backtrace. doc/analysis.md, "Outstanding blocks". */
#ifndef MT_QUERY_OUTSTANDING_H
#define MT_QUERY_OUTSTANDING_H

#include "core/query/scan.h"

#define MT_OUTSTANDING_NOW UINT64_MAX

struct mt_outstanding_wants {
	/* the moment; NOW: the end of what the source knows, which its list of live blocks tells */
	uint64_t at_ns;
	uint64_t end_ns;   /* of what the source knows: the moment of NOW */
	uint64_t older_ns; /* since their allocation, at the least */
	uint32_t top;      /* the groups with the most bytes */
	bool blocks;       /* the blocks themselves, too */
};

struct mt_outstanding_group {
	uint32_t group;
	uint64_t count, bytes;
	/* recorded blocks: count, unless these stand for others; index of the first in blocks,
	 * where these are wanted */
	uint64_t recorded, first_block;
	struct mt_estimate error; /* of a sampled recording */
};

struct mt_outstanding_block {
	uint32_t group;
	uint64_t number, address, size;
};

struct mt_outstanding {
	struct mt_outstanding_group *groups; /* by rising bytes: the largest is the last */
	uint32_t count;
	struct mt_outstanding_block *blocks; /* a group's by rising number */
	uint64_t block_count, block_capacity;
};

/* filter: what else the blocks are to be like; its time, lifetime and alive_at are replaced. out:
 * zeroed, or of an earlier call. */
int mt_outstanding_get(struct mt_outstanding *, const struct mt_source *, struct mt_filter *filter,
	const struct mt_outstanding_wants *, struct mt_err *);
void mt_outstanding_free(struct mt_outstanding *);

#endif
