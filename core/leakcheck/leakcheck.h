/* The leak check: which live blocks a process has lost. doc/leak-check.md is the picture. */
#ifndef MT_LEAKCHECK_LEAKCHECK_H
#define MT_LEAKCHECK_LEAKCHECK_H

#include "core/leakcheck/mapped.h"
#include "core/leakcheck/mark.h"
#include "core/query/scan.h"

/* The blocks of a group: they have one backtrace. */
struct mt_leakcheck_group {
	uint32_t group;
	uint32_t first[MT_VERDICT_COUNT]; /* a block with this verdict, or MT_BLOCK_NONE */
	struct mt_verdict_sum sums[MT_VERDICT_COUNT];
};

struct mt_leakcheck {
	struct mt_held_blocks blocks;
	struct mt_roots roots;
	struct mt_still still;
	bool taken; /* still is to be released */
	struct mt_verdict_sum sums[MT_VERDICT_COUNT];
	/* lost, but a rule says that this is known, or it is lost with a block of which one says
	 * so; in no other sum */
	struct mt_verdict_sum suppressed;
	struct mt_leakcheck_group *groups; /* those that lose most come first */
	uint32_t group_count;
	uint64_t check_ns; /* how long the walk took */
	/* those of a recording: sums, or what holds blocks; NULL: the check was made here.
	 * Borrowed. */
	const struct mt_verdicts *recorded;
};

/* Adds what lives, and is mapped, at the end of what the source knows. -ENOTSUP: it has no
 * addresses. */
int mt_leakcheck_add_live(struct mt_leakcheck *, const struct mt_source *, struct mt_err *);
/* Gives each block its verdict; c->still stands still. begins_within: blocks lived before the
 * recording began. */
void mt_leakcheck_run(struct mt_leakcheck *, bool begins_within);
/* What a recording keeps of a leak check: sums and groups, without blocks. is_known: see below. */
void mt_leakcheck_of_recording(struct mt_leakcheck *, const struct mt_verdicts *,
	const bool *is_known, uint32_t group_count);
/* Takes what rules match out of the sums, and makes the list of groups. is_known: by group id, or
 * NULL. */
void mt_leakcheck_sum_up(struct mt_leakcheck *, const bool *is_known, uint32_t group_count);
/* What the recording is to keep of it: v is zeroed. The source is that of mt_leakcheck_add_live;
 * the moment is the caller's to set. */
int mt_leakcheck_verdicts(const struct mt_leakcheck *, const struct mt_source *,
	struct mt_verdicts *v, struct mt_err *);
/* The same of what holds each block, which v is to have, too: roots are called as describe.h has
 * it, while the process stands still. The source is that of mt_leakcheck_add_live. */
int mt_leakcheck_ways(const struct mt_leakcheck *, const struct mt_source *, struct mt_verdicts *v,
	struct mt_err *err);
/* The inverse: blocks that live at the end of the recording, with what held them. c is zeroed. */
int mt_leakcheck_of_ways(struct mt_leakcheck *, const struct mt_source *,
	const struct mt_verdicts *, struct mt_err *err);
/* All but c->still, which is released by itself. */
void mt_leakcheck_free(struct mt_leakcheck *);

/* ---- what holds a block ---- */

/* A step on the way from a root to a block: the word that leads on. */
struct mt_holder_step {
	uint32_t holder;  /* a root or a block */
	uint32_t index;   /* which of its words */
	uint64_t address; /* of the word; in registers 0 */
	uint64_t word;
	bool found; /* false: the word is not there any more, since the process runs */
};
/* The way to a block, the block's own holder first and the root last. Returns the number of steps,
 * of which at most `most` are filled in; 0: nothing holds it. */
uint32_t mt_leakcheck_way(const struct mt_leakcheck *, uint32_t block, struct mt_holder_step *,
	uint32_t most);
/* What the roots do not reach any more without the blocks of a group (or, if that is MT_NO_GROUP,
 * without one block): these, and what only they lead to. Lost blocks are in no such sum. */
struct mt_verdict_sum mt_leakcheck_retained(const struct mt_leakcheck *, uint32_t group,
	uint32_t block);
/* What a root is, for people: "stack of thread 12", "data of /usr/lib/libx.so"; caller frees. */
char *mt_leakcheck_root_words(const struct mt_leakcheck *, uint32_t root);

#endif
