/* Checkpoints in a trace: all totals and the live blocks at a moment between two events. The flight
 * recorder writes them; what comes before one may be gone from the file. doc/trace-format.md
 * describes the layout. */
#ifndef MT_MODEL_CHECKPOINT_H
#define MT_MODEL_CHECKPOINT_H

#include "core/model/model.h"
#include "core/trace/trace.h"

/* A block that is live at a checkpoint, or whose realloc has begun and not ended. */
struct mt_checkpoint_block {
	uint64_t number, address, size, time_ns;
	uint64_t usable;   /* as it was noted; 0: by the rule that info names */
	uint64_t sequence; /* allocations by its thread up to this one, itself included */
	uint32_t group, thread;
	bool released;  /* the first half of a realloc is before the checkpoint */
	bool temporary; /* of a released one: it counted as temporary */
	/* The chain of reallocs: its first block, and the place in it, from 1. */
	uint32_t position;
	uint64_t chain, first_size, chain_start_ns;
};

struct mt_checkpoint_thread {
	uint64_t allocations; /* so far */
	uint64_t last_number; /* of its last allocation, plus 1; 0: none */
};

struct mt_checkpoint {
	uint32_t first, end; /* its blocks of the trace: [first, end) */
	/* Event blocks in front of it whose events come after its instant: they were written while
	 * the live blocks were copied. */
	uint32_t events;
	uint32_t resume; /* when read: the block from which on events come after its instant */
	uint32_t totals_parts, blocks_of_part;
	uint64_t time_ns;
	uint64_t next_number;               /* of the first allocation behind it */
	uint64_t block_count;               /* live and released */
	uint32_t group_count, thread_count; /* that were defined by then */
	struct mt_checkpoint_thread *threads;
};

#define MT_NO_CHECKPOINT UINT32_MAX
/* The block of the trace with which the checkpoint begins that the trace's events begin with: what
 * was before is gone. MT_NO_CHECKPOINT: they begin with the program. */
uint32_t mt_checkpoint_of_start(const struct mt_trace_reader *);
/* The last one that begins before the block `before` and has all its parts, or MT_NO_CHECKPOINT. */
uint32_t mt_checkpoint_before(const struct mt_trace_reader *, uint32_t before);
/* Reads the one that begins at a block of the trace, and visits its blocks by rising number.
 * definitions: of the whole trace, or as far as the checkpoint; borrowed. out: free it by
 * mt_checkpoint_free, whatever was returned. visit may be NULL; what it returns but 0 is returned.
 * -EBADMSG: damaged, as the reader notes. */
int mt_checkpoint_read(struct mt_checkpoint *out, struct mt_trace_reader *, uint32_t index,
	const struct mt_profile *definitions,
	int (*visit)(void *context, const struct mt_checkpoint_block *), void *context,
	struct mt_err *err);
/* The same, and brings a profile that holds the definitions to what its totals were. */
int mt_checkpoint_load(struct mt_checkpoint *out, struct mt_trace_reader *, uint32_t index,
	struct mt_profile *, int (*visit)(void *context, const struct mt_checkpoint_block *),
	void *context, struct mt_err *err);
void mt_checkpoint_free(struct mt_checkpoint *);

/* ---- writing ---- */

/* A checkpoint is made part by part, so that the recorder can poll in between. */
struct mt_checkpoint_maker {
	struct mt_trace_writer *writer;
	/* Settled, and defined in the trace; it stays as it is until all parts are made. */
	const struct mt_profile *profile;
	/* The next live or released block, by rising number; false: there are no more. */
	bool (*next)(void *context, struct mt_checkpoint_block *);
	void *context;
	/* time_ns, next_number, thread_count and threads are filled in; the rest is counted. */
	struct mt_checkpoint head;
	struct mt_buffer made; /* all parts but the head, for mt_trace_writer_put */
	uint32_t next_group, parts;
	bool has_totals;
};
/* Of a head whose parts are made: blocks of the trace that it takes. */
uint32_t mt_checkpoint_parts(const struct mt_checkpoint *);
/* Makes the next part but the head. False: there are no more. */
bool mt_checkpoint_make_part(struct mt_checkpoint_maker *);
/* Then the head, which is written before the other parts. */
void mt_checkpoint_make_head(struct mt_trace_writer *, const struct mt_checkpoint *,
	struct mt_buffer *made);

#endif
