/* Questions that totals cannot answer: they go over the events of a trace. A scan joins each
 * allocation with its end and asks the filter; what matches can be visited one by one, or becomes a
 * profile of its own, which takes the same path through every view as the profile of the whole
 * recording. */
#ifndef MT_QUERY_SCAN_H
#define MT_QUERY_SCAN_H

#include "core/query/query.h"
#include "core/trace/trace.h"

#define MT_LIVE UINT64_MAX /* the end of a block that was not freed */

/* What questions are put to; all borrowed. */
struct mt_source {
	const struct mt_profile *profile; /* of the whole recording */
	const struct mt_symbols *symbols;
	struct mt_trace_reader *reader; /* its events; NULL: there are totals alone */
	uint32_t workers;               /* threads that decode; 0: one per processor */
	/* non-zero: cancel (-ECANCELED); may be NULL */
	int (*progress)(void *context, double fraction);
	void *context;
};

/* One block from its allocation to its end. */
struct mt_allocation {
	uint64_t number; /* counted from 0, in the order of events */
	uint64_t address, size;
	uint64_t key;             /* by which its domain knows it (doc/domains.md) */
	uint64_t usable;          /* 0: not known */
	uint64_t time_ns, end_ns; /* end_ns: MT_LIVE, or when it was freed or reallocated */
	uint32_t group, domain;
	uint32_t thread, end_thread;
	/* the function that ended it; MT_FUNCTION_NONE: live, or that was lost */
	uint32_t end_function;
	uint32_t end_node; /* the stack of the free, where it was recorded; else 0 */
	uint32_t marker;   /* string id of the last marker set before it; 0: none */
	/* live at the peak of the whole heap, by the order of events; where the filter asks for
	 * it */
	bool at_peak;
	/* With MT_SCAN_LATE: time_ns and what follows from it, and the chain are still to be set by
	 * mt_scan_complete. */
	bool untimed;
	/* allocations by the same thread until it was freed; 0: temporary */
	uint64_t between;
	/* The chain: a block and what realloc made of it, one after another. Filled in where
	 * MT_SCAN_CHAINS is wanted; first_size and chain_start_ns where MT_SCAN_FIRSTS is, too. */
	uint64_t chain;                  /* number of its first block */
	uint32_t position, chain_length; /* position from 1 */
	uint64_t first_size, last_size;
	uint64_t chain_start_ns, chain_end_ns; /* MT_LIVE: its last block is live */
};

/* Sets the times and chains of untimed allocations. 0: there are none, or it is done; 1: only a
 * scan with MT_SCAN_EVENTS can tell. wants: as of the scan. */
int mt_scan_complete(const struct mt_source *, struct mt_allocation *, uint64_t count,
	unsigned wants, struct mt_err *);

enum mt_scan_wants {
	MT_SCAN_ADDRESSES = 1, /* else 0: they cost time to decode */
	MT_SCAN_CHAINS = 2,    /* blocks are then visited when their chain has ended */
	MT_SCAN_STACKS = 4,    /* end_node */
	MT_SCAN_FIRSTS = 8,    /* with CHAINS: first_size and chain_start_ns */
	MT_SCAN_LATE = 16,     /* allocations may be untimed */
	MT_SCAN_EVENTS = 32,   /* by the events, not by the list of live blocks */
	/* nobody asks for times but the filter: time_ns may be any one that it takes */
	MT_SCAN_TIMELESS = 64,
};

/* Visits every allocation that matches (filter may be NULL), each when its end is known, live ones
 * last by number. What the filter itself needs is added to wants. visit: non-zero ends the scan and
 * is returned. */
int mt_scan_allocations(const struct mt_source *, struct mt_filter *, unsigned wants,
	int (*visit)(void *context, const struct mt_allocation *), void *context, struct mt_err *);

/* The events of matching allocations in their order, for exports that tell a history: allocations,
 * reallocations, frees, releases and restores; numbers are those of the trace. Of a realloc of
 * which one block alone matches, half is visited: a MT_EVENT_ALLOCATE where the old block does not
 * match; where the new one does not, the RELEASE is followed by a MT_EVENT_FREE of the same number,
 * in place of the reallocation. previous is UINT64_MAX where the trace knows of none. */
int mt_scan_events(const struct mt_source *, struct mt_filter *,
	int (*visit)(void *context, const struct mt_event *), void *context, struct mt_err *);

enum mt_match_wants {
	/* samples and the set's own peak: a pass over the events in any case */
	MT_MATCH_HISTORY = 1,
};

/* What matched, as a profile: definitions (strings, modules, threads, pcs, nodes, log) are borrowed
 * from the source's; groups have the same ids and hold the matching blocks alone; so do info's
 * allocations … temporary_count and slack_bytes, free sites and samples. live_* are live at the end
 * of the recording, whatever the range; mt_profile_range_live_*: of these blocks, live at the end
 * of the range. at_peak_* are shares of the whole heap's peak within the range. Without history
 * (the filter asks of groups alone): there are no samples, info's peak is 0, reallocs count among
 * info's allocations and frees, and its slack is 0. */
struct mt_matched {
	struct mt_profile profile;
	bool own;                /* false: everything matched, profile is the source's */
	bool history;            /* samples, and info as of the whole recording */
	uint64_t from_ns, to_ns; /* the range that was asked for, clipped to the recording */
	/* of the whole heap within the range, matching or not */
	uint64_t heap_peak_bytes, heap_peak_ns;
	/* != 0: the history before this moment is gone; blocks that ended by then are not in */
	uint64_t unanswered_ns;
};
/* Takes no pass over events where the filter asks of groups alone (two at most else). filter may be
 * NULL. out: zeroed, or of an earlier call. */
int mt_match(struct mt_matched *, const struct mt_source *, struct mt_filter *, unsigned wants,
	struct mt_err *);
/* The same by several filters: as many passes as by the one that takes most. After an error all are
 * empty. */
#define MT_MATCHES_MOST 2u
int mt_match_several(struct mt_matched *const *, const struct mt_source *,
	struct mt_filter *const *, unsigned count, unsigned wants, struct mt_err *);
void mt_matched_free(struct mt_matched *);

#endif
