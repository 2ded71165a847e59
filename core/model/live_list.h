/* The blocks that live at the end of a recording, as the LIVE blocks of a trace: a reader finds
 * leaks in them without going over the events. doc/trace-format.md, "Live blocks". */
#ifndef MT_MODEL_LIVE_LIST_H
#define MT_MODEL_LIVE_LIST_H

#include "core/trace/trace.h"

struct mt_profile;

/* Its domain is that of its group's function. */
struct mt_live_list_block {
	uint64_t number, key, size;
	uint64_t usable; /* as it was noted; 0: by the rule that info names */
	uint32_t group, thread;
};

/* A realloc that failed: its block was released for a while. at: number of the next allocation. */
struct mt_live_list_restore {
	uint64_t number, released_at, released_ns, restored_at, restored_ns;
};

#define MT_LIVE_LIST_PART 16384u         /* blocks of a part */
#define MT_LIVE_LIST_RESTORES (1u << 16) /* of a list at most */

/* What is written. The blocks come in any order, from a callback, so no copy of all is made. */
struct mt_live_list_source {
	/* Fills in the next blocks, `most` at the most; returns how many; 0: there are no more. */
	uint32_t (*next)(void *context, struct mt_live_list_block *blocks, uint32_t most);
	void *context;
	uint64_t next_number; /* of the first allocation that would follow */
	/* of the trace whose blocks they are; NULL: the one that is written to */
	const struct mt_trace_writer *events;
	/* of blocks that live at the end, in the order in which they happened */
	const struct mt_live_list_restore *restores;
	uint32_t restore_count;
};
/* Behind all events of the trace, or into a file of its own (mt_trace_reader_set_list). */
int mt_live_list_write(const struct mt_live_list_source *, struct mt_trace_writer *,
	struct mt_err *err);

/* What is read. */
struct mt_live_list {
	struct mt_live_list_block *blocks; /* by rising number */
	uint64_t count, capacity;
	struct mt_live_list_restore *restores; /* in the order in which they happened */
	uint32_t restore_count, restore_capacity;
	uint64_t next_number;
};
/* Reads what the trace ends with, or what is set as its list: 0; 1: there is none that belongs to
 * its events and can be believed. wanted: of the blocks, those to be kept; NULL: all. */
int mt_live_list_read(struct mt_live_list *, struct mt_trace_reader *, const struct mt_profile *,
	bool (*wanted)(void *context, const struct mt_live_list_block *), void *context);
void mt_live_list_free(struct mt_live_list *);

#endif
