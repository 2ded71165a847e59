/* Calls that end what is not theirs to end: blocks freed twice, freed by another family than the
 * one that allocated them, and frees of addresses at which nothing was ever allocated. All go over
 * the events of a trace. */
#ifndef MT_QUERY_ERRORS_H
#define MT_QUERY_ERRORS_H

#include "core/query/scan.h"

/* X(id, name, words): in the order in which they are listed. */
#define MT_ERROR_TYPES(X) \
	X(DOUBLE_FREE, "double_free", "freed again") \
	X(MISMATCH, "mismatch", "freed by the wrong call") \
	X(UNKNOWN_FREE, "unknown_free", "freed, but never allocated")
enum mt_error_type {
#define X(id, name, words) MT_ERROR_##id,
	MT_ERROR_TYPES(X) MT_ERROR_TYPE_COUNT,
#undef X
};

/* Why it may be none. X(id, name, words) */
#define MT_ERROR_DOUBTS(X) \
	X(NONE, "", "") \
	X(UNRECORDED, "unrecorded", \
		"events are missing or recording was paused, so another block may have had " \
		"this address") \
	X(ORDER, "order", \
		"the next block at this address was never freed, so this free may belong to " \
		"it") \
	X(REALLOC, "realloc", "a realloc of the block was under way") \
	X(HISTORY, "history", \
		"the first events of the program were dropped (--max-size), and its " \
		"allocation may be among them") \
	X(OPERATORS, "operators", \
		"the program defines operators new and delete itself, and may have called " \
		"one of them")
enum mt_error_doubt {
#define X(id, name, words) MT_ERROR_DOUBT_##id,
	MT_ERROR_DOUBTS(X) MT_ERROR_DOUBT_COUNT,
#undef X
};
const char *mt_error_type_name(enum mt_error_type);
const char *mt_error_type_words(enum mt_error_type);
const char *mt_error_doubt_name(enum mt_error_doubt);
const char *mt_error_doubt_words(enum mt_error_doubt);

struct mt_error_call {
	uint64_t time_ns;
	uint32_t thread, function;
	uint32_t node; /* its stack; 0: it was not recorded */
};

/* All that agree in everything by which they can be told apart: group, functions and stacks of the
 * calls. */
struct mt_error {
	enum mt_error_type type;
	enum mt_error_doubt doubt;
	/* a mismatch that ended no block: the free was in the wrong domain, where none was */
	bool elsewhere;
	/* of the blocks; of a free of an unknown address: of the one that has it inside; or
	 * MT_NO_GROUP */
	uint32_t group;
	uint64_t count, bytes; /* of the blocks */
	uint64_t last_ns;
	/* The first of them: */
	uint64_t address; /* of a mismatch 0, unless elsewhere: not asked for */
	uint64_t number, size, allocated_ns;
	uint32_t allocated_thread;
	/* of a free of an unknown address: so far behind the beginning of the block, which lives */
	uint64_t offset;
	/* of a double free: what had ended the block; else function is MT_FUNCTION_NONE */
	struct mt_error_call before;
	struct mt_error_call call; /* the wrong one */
};

struct mt_errors {
	struct mt_error *items; /* by type, sure ones first, then by falling count */
	uint32_t count, capacity;
	/* calls: all; those of them with a doubt */
	uint64_t sum[MT_ERROR_TYPE_COUNT], unsure[MT_ERROR_TYPE_COUNT];
	/* frees of blocks from before the fork, or before a recorder came: no errors */
	uint64_t inherited;
	/* frees of unknown addresses that are no block's, so that a filter cannot ask of it */
	uint64_t left_out;
	uint64_t untold;   /* frees of unknown addresses beyond what can be looked into */
	bool lacks_stacks; /* a wrong call has none */
};

/* filter (may be NULL) asks of the blocks; the source's symbols tell operators of the program's
 * own. errors: zeroed; to be freed after an error too. */
int mt_errors_find(struct mt_errors *, const struct mt_source *, struct mt_filter *,
	struct mt_err *);
void mt_errors_free(struct mt_errors *);

#endif
