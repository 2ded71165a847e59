/* What a source of events promises about them, whatever it is (doc/contracts.md). Each source
 * declares this once, as a constant. What only one recording tells stands in its profile's info, or
 * in struct mt_facts (core/recording/recording.h). */
#ifndef MT_MODEL_SOURCE_H
#define MT_MODEL_SOURCE_H

#include "core/base/buffer.h"

#include <stdbool.h>

/* What it says of events that are not in it. */
enum mt_source_loss {
	MT_SOURCE_LOSS_UNTOLD, /* nothing: nobody knows whether any is missing */
	MT_SOURCE_LOSS_NONE,   /* it cannot lose any */
	/* info counts them; frees may have been lost up to info.lossy_ns */
	MT_SOURCE_LOSS_COUNTED,
};

/* What it does not know of its events: X(id, words) */
#define MT_SOURCE_LACKS(X) \
	X(STACKS, "stacks") \
	X(THREADS, "threads") \
	X(ADDRESSES, "addresses") \
	X(REALLOCS, "reallocs") \
	X(TIMES, "times") /* then all are 0 */
enum mt_source_lack {
#define X(id, words) MT_SOURCE_LACK_BIT_##id,
	MT_SOURCE_LACKS(X)
#undef X
#define X(id, words) MT_SOURCE_LACKS_##id = 1 << MT_SOURCE_LACK_BIT_##id,
		MT_SOURCE_LACKS(X)
#undef X
};

/* What the addresses of its events belong to: a set. */
enum mt_source_domain {
	MT_SOURCE_HEAP = 1,
	MT_SOURCE_POOLS = 2, /* what the program reports through memtui.h */
	MT_SOURCE_MAPPINGS = 4,
};

struct mt_source_facts {
	/* How much later than a later event an event may come, in ns. 0: never, they are in order.
	 * UINT64_MAX: until its thread publishes it, so whoever needs an order merges by time. */
	uint64_t late_ns;
	/* of its times, which count from its start and never go back; 0: steps of its own */
	uint64_t resolution_ns;
	enum mt_source_loss loss;
	unsigned lacks, domains; /* sets */
	/* The recordings of the other processes of its session lie beside it. */
	bool in_session;
};

/* What it does not know, in words: "threads, addresses and times". */
void mt_source_lacks_text(struct mt_buffer *, const struct mt_source_facts *);

#endif
