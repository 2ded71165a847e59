/* Where a pointer counts from the start, in a process that stands still. doc/leak-check.md,
 * "Roots". */
#ifndef MT_LEAKCHECK_ROOTS_H
#define MT_LEAKCHECK_ROOTS_H

#include "core/capture/maps.h"
#include "core/leakcheck/blocks.h"
#include "core/leakcheck/still.h"

/* In the order in which they are searched. X(id, JSON name, words) */
#define MT_ROOT_KINDS(X) \
	X(REGISTERS, "registers", "registers") \
	X(STACK, "stack", "stack") \
	X(THREAD_LOCAL, "thread_local", "thread-local storage") \
	X(DATA, "data", "data") \
	X(MAPPED, "mapped", "memory that the program has mapped") \
	X(UNRECORDED, "unrecorded", "unrecorded memory")

enum mt_root_kind {
#define X(id, name, words) MT_ROOT_##id,
	MT_ROOT_KINDS(X) MT_ROOT_KIND_COUNT,
#undef X
};

struct mt_root {
	uint64_t low, high; /* registers: 0 */
	enum mt_root_kind kind;
	bool private_only; /* only pages that are not as they stand in a file */
	uint32_t thread;   /* of registers, stacks, thread-local storage: index into the threads */
	uint32_t map;      /* of the others: index into the mappings */
};

struct mt_roots {
	struct mt_root *items;
	uint32_t count, capacity;
	uint32_t unknown_threads; /* whose registers nobody can tell */
	/* what the program has mapped itself, as far as that was recorded: filled by the caller */
	struct mt_maps mapped;
};

/* begins_within: blocks lived before the recording began. */
void mt_roots_find(struct mt_roots *, const struct mt_still *, const struct mt_held_blocks *,
	bool begins_within);
void mt_roots_free(struct mt_roots *);

#endif
