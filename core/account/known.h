/* What a recording knows of the memory of its process: the blocks that live, and what the program
 * has mapped itself. */
#ifndef MT_ACCOUNT_KNOWN_H
#define MT_ACCOUNT_KNOWN_H

#include "core/capture/maps.h"
#include "core/query/scan.h"

struct mt_known_block {
	uint64_t address, size; /* as asked for */
	uint32_t slack;         /* usable bytes behind it */
	uint32_t group;
};

struct mt_known {
	/* by address; of two that overlap since a free was lost, the first one is cut */
	struct mt_known_block *blocks;
	uint64_t count, capacity;
	uint32_t group_count; /* of the profile */
	struct mt_maps maps;
	bool is_glibc;      /* malloc is glibc's, whose mapped chunks have pages of their own */
	bool is_sampled;    /* most blocks are not known */
	bool begins_within; /* blocks lived before the recording began, which are not known */
	bool is_gated;      /* only blocks of some sizes are recorded */
};

/* known is zeroed. The end of what the source knows is the moment that counts. */
int mt_known_of(struct mt_known *, const struct mt_source *, struct mt_err *);
void mt_known_free(struct mt_known *);

#endif
