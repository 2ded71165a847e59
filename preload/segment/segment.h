/* The segment: mapping what the recorder gives, opening its ranges step by step. */
#ifndef MT_SEGMENT_H
#define MT_SEGMENT_H

#include "preload/base/tracer.h"

#define MT_SEALED_NODES (1u << 19) /* and pcs: that a sealed program can still add */
#define MT_SEALED_PCS (1u << 15)

/* Maps the whole segment, closed but for its first two pages, and sets up the tracer's ranges;
 * *copy is what its header says. NULL: it is none of ours, or cannot be mapped. */
struct mt_wire_header *mt_segment_map(int fd, struct mt_wire_header *copy);
/* Tells of mt_tracer.unseen_libraries, here or when there is a segment. */
void mt_segment_count_unseen(void);
/* Makes entries 0 to count - 1 usable; false when the range is at its end or memory cannot be
 * had. */
bool mt_range_open(struct mt_segment_array *range, uint32_t count);
/* Opens a piece of a range that is used out of order. */
bool mt_range_open_piece(struct mt_segment_array *range, uint64_t offset, uint64_t len);
/* Gives reserved address space back that is not yet used, but for `keep` bytes in all. */
void mt_segment_trim(uint64_t keep);
/* In a child of vfork, which shares the memory: what it does to itself is not to be done to its
 * parent. pid is of the process that asks. */
bool mt_segment_is_borrowed(long pid);
/* Opens what a program may need of the tables once it is sealed. */
void mt_segment_open_ahead(void);
/* Ends the recording for good. */
void mt_segment_leave(void);

static inline bool mt_range_need(struct mt_segment_array *range, uint32_t count)
{
	return mt_likely(mt_load_acquire(&range->open) >= (uint64_t)count * range->entry)
		|| mt_range_open(range, count);
}

/* In a forked child: the parent's header and notes, where a child that goes on untraced is noted.
 * NULL: they cannot be mapped. */
struct mt_wire_header *mt_segment_parents(void);
/* In a forked child: unmaps the parent's segment. Its first two pages stay, as private memory. */
void mt_segment_drop(void);
/* In a forked child that is to return into the middle of an event of t: from now on that writes
 * into private memory. */
void mt_segment_scrap(struct mt_thread_state *t);

#endif
