/* How rules are kept: what the parsers fill in and the matcher reads. */
#ifndef MT_QUERY_SUPPRESS_RULES_H
#define MT_QUERY_SUPPRESS_RULES_H

#include "core/query/suppress.h"

enum mt_suppress_what {
	MT_SUPPRESS_ANY_FRAMES,
	MT_SUPPRESS_FUNCTION,
	MT_SUPPRESS_OBJECT,
	MT_SUPPRESS_SOURCE
};

/* A line of a block of valgrind's. */
struct mt_suppress_frame {
	enum mt_suppress_what what;
	char *pattern;  /* NULL: any frames */
	uint64_t line;  /* SOURCE; 0: any */
	uint8_t *known; /* by string id of what is matched: 0 not asked yet, 1 no, 2 yes */
	uint32_t known_count;
};

struct mt_suppress_rule {
	struct mt_suppression shown; /* its texts are own */
	char *pattern;               /* LeakSanitizer's; NULL: frames are valgrind's */
	bool never;                  /* match-leak-kinds: none */
	struct mt_suppress_frame *frames;
	uint32_t frame_count, frame_capacity;
};

#define MT_SUPPRESS_FAULTS 10u /* sentences that are kept */

struct mt_suppressions {
	struct mt_suppress_rule *rules;
	uint32_t count, capacity;
	char *faults[MT_SUPPRESS_FAULTS];
	uint32_t fault_count; /* all, also those beyond the sentences */
};

void mt_suppress_rule_free(struct mt_suppress_rule *);

/* ---- frames as both syntaxes name them (suppress_frames.c) ---- */
/* The functions that valgrind shows as first frame of an allocator function's call, from 0 on; the
 * first is the usual one. NULL: there are no more. */
const char *mt_suppress_allocator(const struct mt_profile *, uint32_t function, unsigned index);
/* Whether valgrind calls it "(below main)". */
bool mt_suppress_below_main(const char *function);

#endif
