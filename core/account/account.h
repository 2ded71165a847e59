/* The account of resident memory: what a process has in memory at a moment, and what for. Each
 * byte that the kernel counts as resident is in one row. doc/memory.md is the picture. */
#ifndef MT_ACCOUNT_ACCOUNT_H
#define MT_ACCOUNT_ACCOUNT_H

#include "core/account/known.h"
#include "core/account/smaps.h"

/* What memory is for. X(id, JSON name, words) */
#define MT_ACCOUNT_KINDS(X) \
	X(BLOCKS, "heap_blocks", "heap blocks, as asked for") \
	X(SLACK, "slack", "slack: usable bytes behind heap blocks") \
	X(CHUNKS, "free_chunks", "free chunks, and what malloc has for itself") \
	X(HEAP, "heap", "heap of malloc, of which the blocks are not known") \
	X(STACK, "stack", "stack of the first thread") \
	X(STACKS, "thread_stacks", "stacks of other threads") \
	X(FILE, "file", "file") \
	X(MAPPED, "mapped", "mapped by") \
	X(NAMED, "named", "memory with the name") \
	X(KERNEL, "kernel", "pages of the kernel") \
	X(UNEXPLAINED, "unexplained", \
		"unexplained: no allocator, stack or recorded mmap is known") \
	X(OWN, "memtui", "memtui's own")
enum mt_account_kind {
#define X(id, name, words) MT_ACCOUNT_##id,
	MT_ACCOUNT_KINDS(X) MT_ACCOUNT_KIND_COUNT,
#undef X
};
const char *mt_account_kind_name(enum mt_account_kind);  /* in JSON */
const char *mt_account_kind_words(enum mt_account_kind); /* for people */

/* In bytes; the parts of what is resident add up to it. */
struct mt_account_sum {
	uint64_t resident;
	uint64_t private_clean, private_dirty, shared_clean, shared_dirty;
	uint64_t swap;
	uint64_t size; /* of the address space */
};

struct mt_account_row {
	enum mt_account_kind kind;
	char *detail;   /* of FILE: rights and path; NAMED: the name; OWN: which part; or "" */
	uint32_t node;  /* of MAPPED: the stack of the call */
	uint64_t count; /* of BLOCKS: blocks; of others: pieces */
	struct mt_account_sum sum;
};

/* The blocks with one backtrace. */
struct mt_account_group {
	uint32_t group;
	uint64_t resident, size, count;
};

struct mt_account {
	pid_t pid;
	struct mt_account_row *rows; /* the largest first, memtui's own last */
	uint32_t count, capacity;
	struct mt_account_sum total; /* resident: as the kernel has it, and the sum of all rows */
	struct mt_account_group *groups; /* of which blocks are known, the most resident first */
	uint32_t group_count;
	uint64_t huge, hugetlb; /* of the total; beside it */
	uint64_t changed;       /* bytes that came or went while it was made */
	bool has_blocks;        /* the blocks of a recording are known */
	bool is_sampled, begins_within, is_gated;
};

/* Makes the account of a process at this moment. known: what a recording knows, or NULL. Errors as
 * of mt_smaps_read. account is zeroed; to be freed after an error too. */
int mt_account_take(struct mt_account *, pid_t, const struct mt_known *known, struct mt_err *);
void mt_account_free(struct mt_account *);
void mt_account_add(struct mt_account_sum *to, const struct mt_account_sum *);
/* The sum of the rows of a kind. */
struct mt_account_sum mt_account_of_kind(const struct mt_account *, enum mt_account_kind);

#endif
