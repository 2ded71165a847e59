/* Drains the rings and puts their events into the order in which they were published; matches frees
 * with allocations, numbers these, and feeds the model and the trace. */
#ifndef MT_CAPTURE_MERGE_H
#define MT_CAPTURE_MERGE_H

#include "core/capture/blind.h"
#include "core/capture/block_copy.h"
#include "core/capture/block_history.h"
#include "core/capture/clock.h"
#include "core/capture/id_map.h"
#include "core/capture/live_table.h"
#include "core/capture/maps.h"
#include "core/capture/order.h"
#include "core/capture/slack.h"
#include "core/model/live_list.h"
#include "core/model/model.h"
#include "core/model/source.h"
#include "core/trace/trace.h"

struct mt_release;
struct mt_ring;
struct mt_thread_runs;

/* For a segment that is fed piece by piece, out of a file. */
struct mt_merge_bounds {
	/* by ring: only events below are consumed; what is beyond is looked at for predecessors */
	const uint64_t *heads;
	/* events with later stamps wait: others that are not here yet may come before them */
	uint64_t horizon;
};

#define MT_RESOLUTION_NS 1000ull /* of the time of an event */
/* What the rings of a segment promise, in shared memory and in the file of a stand-alone recording:
 * each is in order, and they are merged by time. */
extern const struct mt_source_facts mt_segment_facts;

struct mt_merge {
	struct mt_segment *segment; /* all borrowed */
	const struct mt_timebase *clock;
	struct mt_model *model;
	struct mt_trace_writer *writer; /* NULL: none */
	void (*flush)(void *context);   /* called when the open event block is full */
	/* called between two events when one is due, which it takes back */
	void (*between)(void *context);
	bool between_due, halted;
	uint32_t block_events; /* of a full event block */
	/* each block enters the table at once, and no pairs or runs are taken: where blocks are
	 * left out, pairs are not temporary, and may count as more than one; tests compare with
	 * it */
	bool one_by_one;
	/* NULL: no checkpoints will be wanted; else freed with the merge */
	struct mt_block_history *history;
	struct mt_block_copy *copy; /* NULL: none is under way */
	/* The copy keeps a block that ends, if it began before this number. */
	uint64_t copied_before;
	bool slicing; /* between is due whenever slots are given back */
	void *context;
	/* NULL: what is published is all there is, and it is now */
	const struct mt_merge_bounds *bounds;

	struct mt_id_map tables;
	struct mt_live_table live; /* of the heap */
	/* of each other domain; NULL: no event of it has come */
	struct mt_live_table *domains[MT_DOMAIN_COUNT];
	struct mt_ring *rings; /* by ring id */
	uint32_t ring_count, ring_capacity;
	struct mt_order order;       /* of the rings with events of this batch */
	struct mt_thread_runs *runs; /* NULL: not needed yet */
	uint64_t next_number;
	/* time of the last event, whole microseconds: never goes back */
	uint64_t now_ns;
	uint64_t stamp_end;           /* earlier stamps do not move now_ns */
	uint64_t stamps_per_ns;       /* of this poll, rounded down, as a fraction of 2^32 */
	uint64_t limit_ns;            /* time of this poll: no event can be later */
	uint64_t horizon;             /* of this poll: later events wait for the next */
	uint64_t future;              /* of this poll: no event can be later */
	uint64_t window;              /* clock units in which stamps may be out of order */
	uint32_t patience;            /* records that may yet be looked at for predecessors */
	uint32_t unflushed;           /* events in the open block */
	uint64_t gap_lost, gap_frees; /* what gaps say was lost: all, and frees */
	uint64_t lossy_ns;            /* frees may have been lost up to here */
	uint64_t untraced_events;     /* of threads without a ring, as last looked at */
	/* there was a pause or a gap: not every block was recorded */
	bool unrecorded;
	bool begun; /* the log says whether in a pause */
	/* nodes below are no calls of an allocator by the program's own malloc; it makes such */
	uint32_t nodes_looked;
	bool own_forwards;
	struct mt_blind_notes notes;
	uint32_t notes_senseless;
	struct mt_maps maps;
	struct mt_slack slack;
	uint64_t slack_at; /* when it was last added up, on the monotonic clock */
	/* Reallocs that failed, for the list of live blocks at the end: core/capture/live_list.h.
	 * key and domain: of the block's place in the tables. */
	struct mt_merge_restore {
		uint64_t key;
		unsigned domain;
		struct mt_live_list_restore of;
	} * restores;
	uint32_t restore_count, restore_capacity;
	bool many_restores; /* not all of them are in it */
	/* ring_pages: when the rings were last looked at, and the ring that is next */
	uint64_t pages_at;
	uint32_t pages_next;
};

/* stamps of two cores may disagree by this */
#define MT_MERGE_WINDOW_NS 5000
void mt_merge_init(struct mt_merge *, struct mt_segment *, const struct mt_timebase *,
	struct mt_model *);
void mt_merge_free(struct mt_merge *);
/* Consumes what is published now. Returns the number of records. */
uint64_t mt_merge_poll(struct mt_merge *);
/* Wakes the threads that wait for room in rings with these mt_wire_room_bits. */
void mt_merge_wake(struct mt_merge *, uint32_t bits);
/* From between: what comes is thrown away from here on. */
void mt_merge_halt(struct mt_merge *);
/* Whether something is published that was not consumed. */
bool mt_merge_pending(const struct mt_merge *);
/* The live blocks of a domain; NULL: there have been none. */
static inline struct mt_live_table *mt_merge_blocks(struct mt_merge *m, unsigned domain)
{
	return domain == MT_DOMAIN_HEAP ? &m->live : m->domains[domain];
}
/* The same; makes the table. */
struct mt_live_table *mt_merge_make_blocks(struct mt_merge *, unsigned domain);
/* As mt_live_table_slice, over the blocks of all domains. */
uint32_t mt_merge_slice(struct mt_merge *, struct mt_merge_walk *, struct mt_pool_cell *blocks,
	uint32_t most);
/* Until now, at the latest, frees were lost. */
static inline uint64_t mt_merge_lossy_now(const struct mt_merge *m)
{
	return m->now_ns ? m->now_ns : 1;
}
static inline void mt_merge_note_lossy(struct mt_merge *m)
{
	m->lossy_ns = mt_merge_lossy_now(m);
}
/* A person has paused or resumed the recording, so long after its start: what has been consumed is
 * not later. 0: it begins in a pause, or out of one, however late that is known. */
void mt_merge_pause(struct mt_merge *, bool paused, uint64_t time_ns);
/* A person has noted this moment, so long after the start; the same holds. */
void mt_merge_mark(struct mt_merge *, const char *text, uint64_t time_ns);
/* Adds up the slack of all live blocks into info: takes a few ns for each, so only now and then
 * unless it must. */
/* What the tracer has said of its machine by now, for the profile's info. */
void mt_merge_machine(struct mt_merge *);
void mt_merge_slack(struct mt_merge *, bool must);
/* A realloc failed. */
void mt_merge_note_restore(struct mt_merge *, const struct mt_release *);
/* Names the modules of malloc among those that the tracer has met. */
void mt_merge_allocators(struct mt_merge *);
/* Copies the tracer's counters and notes, and what follows from them, into the profile. */
void mt_merge_counters(struct mt_merge *);

#endif
