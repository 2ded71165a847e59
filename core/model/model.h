/* The model: turns allocations and frees, in their published order, into a profile's totals, peak,
 * temporaries and timeline. The recorder feeds it live; the trace reader feeds it again where a trace
 * has no totals of its own. Matching a free with its allocation is the caller's work. */
#ifndef MT_MODEL_MODEL_H
#define MT_MODEL_MODEL_H

#include "core/model/profile.h"

/* One block, as its matcher keeps it while it lives (by address in the recorder, by number in a reader). */
struct mt_block {
	uint64_t address, size;
	uint64_t number;          /* of the allocation, counted from 0 in merge order */
	uint64_t time_ns;
	uint32_t group;
	uint32_t thread;
	uint64_t thread_sequence; /* set by mt_model_allocate and mt_model_release */
};

struct mt_model {
	struct mt_profile *profile; /* borrowed */
	uint64_t live_bytes, live_count;
	uint64_t peak_epoch, settled_epoch;
	uint64_t *thread_sequence; /* allocations so far, by thread index */
	uint32_t thread_capacity;
	/* timeline under construction: the open step is the profile's last sample */
	uint64_t now_ns, rss_bytes;
	uint64_t step_end_ns, step_max_bytes, step_allocations, step_frees;
	uint32_t *dirty;           /* groups changed since mt_model_clean, each once */
	uint32_t dirty_count, dirty_capacity;
	bool track_dirty;          /* set by the owner when somebody watches */
	/* groups whose share of the peak may not be up to date, each once */
	uint32_t *unsettled;
	uint32_t unsettled_count, unsettled_capacity;
};

/* The peak is the first instant at which live bytes were largest. Each rise above the old peak starts a new
 * epoch. A group notes the epoch in which it last changed: before a change in a later epoch, what it holds live
 * is what it held at that peak, and is saved as such; groups that do not change cost nothing. */

/* borrowed: empty of events. */
/* Asks for the memory that an event of this group will touch. */
static inline void mt_model_prefetch(const struct mt_group *group)
{
	__builtin_prefetch(group, 1);
	__builtin_prefetch((const char *)(group + 1) - 1, 1);
}

void mt_model_init(struct mt_model *, struct mt_profile *borrowed);
void mt_model_free_memory(struct mt_model *);

/* block: all but thread_sequence filled in; group and thread exist in the profile.
 * reallocated: second half of a realloc (counts as reallocation, not as allocation). */
void mt_model_allocate(struct mt_model *, struct mt_block *block, bool reallocated);
/* The block is free, whoever freed it. */
void mt_model_free(struct mt_model *, const struct mt_block *block, uint64_t time_ns);
/* First half of a realloc: as a free, but counted in no info.frees; undone by restore when the realloc failed.
 * The block keeps whether it counted as temporary: give restore the same struct, or a copy made after release. */
void mt_model_release(struct mt_model *, struct mt_block *block, uint64_t time_ns);
void mt_model_restore(struct mt_model *, struct mt_block *block, uint64_t time_ns);
/* Time passes without events; rss_bytes 0: unknown. */
void mt_model_advance(struct mt_model *, uint64_t time_ns, uint64_t rss_bytes);
/* Brings every group's at_peak_* and info up to date, so that the profile can be read. Cheap when little changed. */
void mt_model_settle(struct mt_model *);
void mt_model_clean(struct mt_model *); /* empties the dirty list */

#endif
