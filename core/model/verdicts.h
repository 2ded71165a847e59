/* What a leak check has found, as the recording keeps it: sums by group, and the blocks that are
 * not reachable. doc/leak-check.md, "In the trace". */
#ifndef MT_MODEL_VERDICTS_H
#define MT_MODEL_VERDICTS_H

#include "core/base/buffer.h"

#include <stdbool.h>

/* X(id, short name, words), the worst first. As valgrind has them. */
#define MT_VERDICTS(X) \
	X(LOST, "lost", "definitely lost") \
	X(INDIRECT, "indirect", "indirectly lost") \
	X(POSSIBLE, "possible", "possibly lost") \
	X(REACHABLE, "reachable", "still reachable")

enum mt_verdict {
#define X(id, name, words) MT_VERDICT_##id,
	MT_VERDICTS(X) MT_VERDICT_COUNT,
#undef X
	MT_VERDICT_NONE = MT_VERDICT_COUNT, /* not judged */
};

const char *mt_verdict_words(enum mt_verdict); /* "definitely lost" */
const char *mt_verdict_name(enum mt_verdict);  /* "lost"; of NONE "" */

struct mt_verdict_sum {
	uint64_t count, bytes;
};
/* Blocks of one group with one verdict. */
struct mt_verdict_group {
	uint32_t group;
	/* of indirectly lost blocks: the group of the definitely lost block with which they are
	 * lost; else the group itself */
	uint32_t leader;
	enum mt_verdict verdict;
	struct mt_verdict_sum sum;
};

/* What reached a block first: a root, or another block. */
#define MT_HOLDER_NONE UINT32_MAX
#define MT_HOLDER_ROOT 0x80000000u /* with the number of a root; else it is a block's */

/* Of a block that lived. */
struct mt_verdict_way {
	uint64_t number;
	uint32_t holder; /* a root's number in the list of roots, or a block's in this list */
	uint32_t word;   /* which of the block's words it is */
};
/* A root, or a word of one, as it is called. */
struct mt_verdict_root {
	uint32_t kind; /* core/leakcheck/roots.h */
	char *words;
};

struct mt_verdicts {
	uint64_t moment_ns;   /* since the recording began */
	uint64_t next_number; /* of the first allocation that was not judged */
	uint32_t image;       /* how many recorded programs the process ran before this one */
	bool at_end;          /* behind all destructors */
	bool listed;          /* blocks are listed; not if there were too many */
	struct mt_verdict_sum sums[MT_VERDICT_COUNT];
	struct mt_verdict_group *groups; /* by rising group, verdict and leader */
	uint32_t group_count, group_capacity;
	/* number << 2 | verdict of each block that is not reachable, by rising number */
	uint64_t *blocks;
	uint32_t block_count, block_capacity;
	/* what holds each block, by rising number; none if there were too many, or the program ran
	 * on */
	struct mt_verdict_way *ways;
	uint32_t way_count, way_capacity;
	struct mt_verdict_root *roots;
	uint32_t root_count, root_capacity;
};

#define MT_VERDICT_BLOCKS_MOST (1u << 22) /* that are listed */
#define MT_VERDICT_WAYS_MOST (1u << 20)
#define MT_VERDICT_ROOTS_MOST 4096u
#define MT_VERDICT_WORDS_MOST 1000u /* bytes of what a root is called */

/* Adds to both lists. Groups come in their order, blocks by rising number; beyond the most, no
 * block is listed. */
void mt_verdicts_add_group(struct mt_verdicts *, const struct mt_verdict_group *);
void mt_verdicts_add_block(struct mt_verdicts *, uint64_t number, enum mt_verdict);
/* Returns the number of the root. Words are copied. There must be room. */
uint32_t mt_verdicts_add_root(struct mt_verdicts *, uint32_t kind, const char *words);
void mt_verdicts_encode(const struct mt_verdicts *, struct mt_buffer *payload);
/* Replaces what is there. Returns NULL, or what is wrong with the payload: then nothing is. */
const char *mt_verdicts_decode(struct mt_verdicts *, const struct mt_buffer *payload,
	uint32_t group_count);
/* The verdict on a block of the heap that lives at the end of the recording. */
enum mt_verdict mt_verdicts_find(const struct mt_verdicts *, uint64_t number);
void mt_verdicts_free(struct mt_verdicts *);

struct mt_profile;
/* Takes the verdicts, and makes columns of their sums. */
void mt_profile_take_verdicts(struct mt_profile *, struct mt_verdicts *);

#endif
