/* The segment: finding the recorder, mapping what it gives, opening its ranges step by step. */
#ifndef MT_SEGMENT_H
#define MT_SEGMENT_H

#include "preload/base/tracer.h"

#define MT_SEALED_NODES (1u << 19) /* and pcs: that a sealed program can still add */
#define MT_SEALED_PCS (1u << 15)

/* Asks the recorder for a segment, once. Afterwards the phase is ATTACHED or OFF, or still NEW when
 * the environment is not there yet. */
void mt_segment_attach(void);
/* Whether memory says that a segment is in use, or being asked for, but by a process that this one
 * was forked from. */
bool mt_segment_is_foreign(void);
/* In a forked child, as early as can be: a child of vfork of its own, which shares its memory, is
 * not to ask for the segment in its place. */
void mt_segment_note_child(void);
/* True for one thread of this process alone: from then on the phase speaks of it. */
bool mt_segment_adopt(void);
/* Events that came while a segment was being asked for: what came too late for the one thread the
 * other counts. */
void mt_segment_count_missed(void);
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

/* In a forked child, from one thread: leaves the parent's segment, to which nothing is written any
 * more, and asks for one of its own. False: it goes on untraced. */
bool mt_segment_forked(void);
/* In a forked child that is to return into the middle of an event of t: from now on that writes
 * into private memory. */
void mt_segment_scrap(struct mt_thread_state *t);

/* rendezvous.c: the memfd of a new segment, or a negative errno; -EAGAIN: no environment yet,
 * -ENOENT: no session. forked_from: id of the parent's segment; 0: this is no forked child.
 * *uncounted: in, whether the caller can count this process among the untraced; out, after a
 * failure, whether it has to, because the recorder does not. */
int mt_rendezvous(uint64_t forked_from, bool *uncounted);

#endif
