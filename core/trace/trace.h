/* The trace file: self-delimiting blocks; every prefix can be read. doc/trace-format.md describes
 * it. This folder knows bytes, blocks and events; what they mean together is the model's. */
#ifndef MT_TRACE_TRACE_H
#define MT_TRACE_TRACE_H

#include "core/base/buffer.h"
#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum mt_event_type {
	MT_EVENT_ALLOCATE,     /* number = own, counted from 0; address, size, group */
	MT_EVENT_REALLOCATE,   /* as ALLOCATE; previous = number of the block it continues */
	MT_EVENT_FREE,         /* number = the block's */
	MT_EVENT_RELEASE,      /* first half of a realloc: number = the block's */
	MT_EVENT_RESTORE,      /* the realloc failed: number = the block's */
	MT_EVENT_UNKNOWN_FREE, /* address of a block never seen */
	MT_EVENT_IMPLIED_FREE, /* number = a block whose free must have been lost */
	/* more about the event before: note = enum mt_event_note, size = its value */
	MT_EVENT_NOTE,
	MT_EVENT_TYPES,
};

enum mt_event_note {
	/* usable size of the block just allocated, where it does not follow from the size */
	MT_NOTE_USABLE,
	MT_NOTE_FREE_STACK, /* call-tree node of the free */
	MT_NOTES,
};

struct mt_event {
	uint8_t type;
	/* of a free: its function; of an allocation 0: its group says it; of a note */
	union {
		uint16_t function; /* enum mt_function_id, or one of the profile */
		uint16_t note;     /* of MT_EVENT_NOTE */
	};
	uint32_t thread; /* index */
	uint32_t group;  /* of an allocation; elsewhere of no meaning, and 0 from a reader */
	/* of an allocation, from a reader: one was recorded in so many bytes; 0 and 1: all were */
	uint32_t period;
	uint64_t time_ns; /* as written to the microsecond */
	uint64_t number, previous, size, address;
};

/* Running totals in an event block's header. */
struct mt_trace_running {
	uint64_t live_bytes, live_count, allocations, frees, peak_bytes;
};

struct mt_trace_thread {
	uint32_t thread; /* index */
	uint32_t allocations;
};

/* All that a model has to say of the events of one block. */
struct mt_trace_sums {
	struct mt_trace_running running;
	uint64_t high_bytes;                   /* most bytes live within the block */
	const struct mt_trace_thread *threads; /* by rising index */
	uint32_t thread_count;
};

#define MT_TRACE_SPANS 64u
#define MT_TRACE_THREADS 256u
struct mt_trace_span {
	uint64_t first, last; /* numbers of allocations */
};

/* What the header of an event block says of its events. */
struct mt_trace_facts {
	uint64_t first_number; /* of the first allocation in it or behind it */
	bool continued;        /* it begins with a note about the event before it */
	bool exact;            /* high_bytes is known, and running is exact */
	uint64_t high_bytes;
	bool knows_threads, knows_earlier; /* else these are not there */
	uint32_t thread_count, span_count;
	struct mt_trace_thread threads[MT_TRACE_THREADS];
	/* the earlier numbers that its events name, and others */
	struct mt_trace_span earlier[MT_TRACE_SPANS];
};

enum mt_block_type {
	MT_BLOCK_START = 1, /* who, when, command line */
	MT_BLOCK_STRINGS,   /* each: payload written and read by core/model/definitions.c */
	MT_BLOCK_MODULES,
	MT_BLOCK_THREADS,
	MT_BLOCK_PCS,
	MT_BLOCK_NODES,
	MT_BLOCK_GROUPS, /* leaf nodes of new groups */
	MT_BLOCK_EVENTS,
	MT_BLOCK_SYMBOLS,
	MT_BLOCK_TOTALS, /* per-group totals, info, timeline at the end */
	MT_BLOCK_INFO,   /* info and counters so far: losses, end */
	MT_BLOCK_INDEX,  /* footer: places of all blocks */
	MT_BLOCK_LOG,    /* maps, calls, markers, pauses, gaps: written like a definition */
	/* totals and live blocks so far, in several parts: core/model/checkpoint.h */
	MT_BLOCK_CHECKPOINT,
	MT_BLOCK_BLIND,   /* what was not seen, all of it so far: the last one holds */
	MT_BLOCK_DOMAINS, /* what is not predefined */
	MT_BLOCK_FUNCTIONS,
	MT_BLOCK_TYPES,
	/* From here on: blocks that a reader may pass over. The other types end far below, so that
	 * both have room. */
	MT_BLOCK_SKIPPABLE_FIRST = 128,
	MT_BLOCK_LIVE_BLOCKS = MT_BLOCK_SKIPPABLE_FIRST, /* at the end: core/model/live_list.h */
	MT_BLOCK_VERDICTS, /* of the last leak check: core/model/verdicts.h */
	MT_BLOCK_MEMBERS,  /* of a set, in its summary alone: core/set/summary.c */
};

/* ---- writing ---- */
struct mt_trace_writer;

/* fd: taken (closed by close). It must be writable; it may be a pipe, unless it is to be switched
 * from. */
struct mt_trace_writer *mt_trace_writer_new(int fd, struct mt_err *err);
/* What is written stays there when a later write fails: errors then say that it can be opened. */
void mt_trace_writer_stays(struct mt_trace_writer *);
/* Adds an event to the open event block, which flush closes; one event more than 64 K closes it
 * too, with the running totals of the last flush. Numbers of allocations follow each other. */
void mt_trace_writer_event(struct mt_trace_writer *, const struct mt_event *);
/* The same without a copy: the event to be filled in before the next call of any of these
 * functions. What events of its type do not use may hold anything. */
static inline struct mt_event *mt_trace_writer_next(struct mt_trace_writer *);
/* From the next event on, one allocation was recorded in so many bytes; at first all are (0). */
void mt_trace_writer_period(struct mt_trace_writer *, uint32_t period);
/* Whether the open event block is full: then write new definitions that its events name, and
 * flush. */
bool mt_trace_writer_full(const struct mt_trace_writer *);
/* Writes one block with this payload at once (compressed when that is smaller). Definitions that
 * events name must be written before the flush of these events. The first error sticks and is
 * returned ever after. */
int mt_trace_writer_block(struct mt_trace_writer *, enum mt_block_type, const void *payload,
	size_t len, struct mt_err *err);
int mt_trace_writer_flush(struct mt_trace_writer *, const struct mt_trace_running *,
	struct mt_err *err);
/* The same, where the sums are those behind the last event. */
int mt_trace_writer_flush_exact(struct mt_trace_writer *, const struct mt_trace_sums *,
	struct mt_err *err);
/* Writes the index and trailer. */
int mt_trace_writer_finish(struct mt_trace_writer *, struct mt_err *err);
uint64_t mt_trace_writer_bytes(const struct mt_trace_writer *);
uint32_t mt_trace_writer_count(const struct mt_trace_writer *); /* blocks so far */
/* A block made ahead of its time: appended to made as it will stand in the file, but for its
 * number. */
void mt_trace_writer_make(struct mt_trace_writer *, enum mt_block_type, uint64_t time_ns,
	const void *payload, size_t len, struct mt_buffer *made);
/* Writes blocks that were made. */
int mt_trace_writer_put(struct mt_trace_writer *, const struct mt_buffer *made, struct mt_err *err);
/* Bytes of the blocks from first on that copy takes over. */
uint64_t mt_trace_writer_copied(const struct mt_trace_writer *, uint32_t first);
/* Goes on in another file: takes fd. The open event block goes there, too, so the definitions that
 * its events name must be written there before it. What was written so far stays until keep, or
 * comes back. */
int mt_trace_writer_switch(struct mt_trace_writer *, int fd, struct mt_err *err);
/* From the file before: the blocks from *next to end that are neither definitions nor log, about
 * `most` bytes of them; moves *next. 1: there are more. */
int mt_trace_writer_copy(struct mt_trace_writer *, uint32_t *next, uint32_t end, uint64_t most,
	struct mt_err *err);
/* Event blocks of the file from a block on; and the block with which the last `count` event blocks
 * before another one begin. */
uint32_t mt_trace_writer_events(const struct mt_trace_writer *, uint32_t from);
uint32_t mt_trace_writer_events_back(const struct mt_trace_writer *, uint32_t before,
	uint32_t count);
void mt_trace_writer_keep(struct mt_trace_writer *);
void mt_trace_writer_back(struct mt_trace_writer *);    /* errors since the switch are forgotten */
int mt_trace_writer_fd(const struct mt_trace_writer *); /* borrowed */
void mt_trace_writer_free(struct mt_trace_writer *);

/* What a writer begins with: events that wait to be encoded together. */
#define MT_TRACE_QUEUE 128u
struct mt_trace_queue {
	uint32_t count;
	struct mt_event events[MT_TRACE_QUEUE];
};
void mt_trace_writer_encode(struct mt_trace_writer *); /* empties the queue */

static inline struct mt_event *mt_trace_writer_next(struct mt_trace_writer *w)
{
	struct mt_trace_queue *queue = (struct mt_trace_queue *)w;

	if (__builtin_expect(queue->count == MT_TRACE_QUEUE, 0))
		mt_trace_writer_encode(w);
	return &queue->events[queue->count++];
}

/* ---- reading ---- Several threads may go over one reader's blocks at once, as long as nobody
 * refreshes it. */
struct mt_trace_reader;

struct mt_trace_block {
	enum mt_block_type type; /* or one that a later version knows: it can be passed over */
	uint64_t offset;         /* in the file, for messages */
	uint32_t payload_len;    /* uncompressed */
	uint32_t event_count;    /* of MT_BLOCK_EVENTS */
	uint64_t first_ns, last_ns;
	struct mt_trace_running running;
};

/* Opens path ("-": standard input, spooled into a 0600 temporary file). Finds the blocks by the
 * index, or scans their headers where there is none. A damaged tail is not an error: see
 * truncated. */
struct mt_trace_reader *mt_trace_reader_open(const char *path, struct mt_err *err);
/* The same of a file just written, by its descriptor, which is taken; name: for messages. */
struct mt_trace_reader *mt_trace_reader_open_fd(int fd, const char *name, struct mt_err *err);
/* Standard input as a temporary file, or a negative errno; and a trace in it, which is taken. */
int mt_trace_spool(struct mt_err *err);
struct mt_trace_reader *mt_trace_reader_open_spooled(int fd, struct mt_err *err);
/* The same of a file that grows: its first bytes, which end with a block. */
struct mt_trace_reader *mt_trace_reader_open_part(int fd, const char *name, uint64_t bytes,
	struct mt_err *err);
/* A file with nothing but the list of what lives at the end of these bytes, which is taken. */
void mt_trace_reader_set_list(struct mt_trace_reader *, struct mt_trace_reader *list);
struct mt_trace_reader *mt_trace_reader_list(const struct mt_trace_reader *); /* NULL: none */
/* Another one uses it too; returns it. NULL stays NULL. */
struct mt_trace_reader *mt_trace_reader_hold(struct mt_trace_reader *);
/* The last of those that use it frees it. */
void mt_trace_reader_free(struct mt_trace_reader *);
unsigned mt_trace_reader_version(const struct mt_trace_reader *); /* of the file's format */
uint32_t mt_trace_reader_count(const struct mt_trace_reader *);
const struct mt_trace_block *mt_trace_reader_block(const struct mt_trace_reader *, uint32_t index);
/* False: the block has no events, or the file does not have that. */
bool mt_trace_reader_facts(const struct mt_trace_reader *, uint32_t index, struct mt_trace_facts *);
bool mt_trace_reader_complete(const struct mt_trace_reader *); /* it has an index */
/* Looks for blocks that were appended since (a growing trace); returns how many. */
int mt_trace_reader_refresh(struct mt_trace_reader *, struct mt_err *err);
uint64_t mt_trace_reader_file_bytes(const struct mt_trace_reader *);
/* 0, or the offset at which the file stops making sense, with a reason. */
uint64_t mt_trace_reader_damage(const struct mt_trace_reader *, const char **reason);
/* Returns true if the file merely ends too early, as one does whose recorder was killed. */
bool mt_trace_reader_is_cut(const struct mt_trace_reader *);
/* The loader found the trace senseless from here on (the smallest offset is kept). */
void mt_trace_reader_note_damage(struct mt_trace_reader *, uint64_t offset, const char *reason);
/* All damage so far was in blocks without which nothing is missing; and whether that is so
 * still. */
void mt_trace_reader_pass_over(struct mt_trace_reader *);
bool mt_trace_reader_passed_over(const struct mt_trace_reader *);
const char *mt_trace_reader_path(const struct mt_trace_reader *); /* for messages */
/* Reads and checks one block's payload into buffer (replaced). Errors name the offset. */
int mt_trace_reader_payload(struct mt_trace_reader *, uint32_t index, struct mt_buffer *buffer,
	struct mt_err *err);
/* Reads an event block: calls visit for each event in order until it returns non-zero, which is
 * returned. */
int mt_trace_reader_events(struct mt_trace_reader *, uint32_t index,
	int (*visit)(void *context, const struct mt_event *), void *context, struct mt_err *err);

enum mt_trace_wants {
	MT_TRACE_ADDRESSES = 1, /* else they are 0: they cost time */
	/* For origins, not together with others: type, time and number of allocations alone; type,
	 * time, number and previous of all events. */
	MT_TRACE_TIMES = 2,
	MT_TRACE_LINKS = 4,
};

/* Going over many blocks. Threads decode event blocks ahead; the calling thread is given everything
 * in the file's order. A callback that returns non-zero ends it, and that is returned. */
struct mt_trace_scan {
	uint32_t first, end; /* blocks [first, end) */
	unsigned wants;
	uint32_t workers; /* threads; 1: the calling one alone; 0: as the processors are */
	/* Whether an event block is to be left out; asked ahead of time, in order. NULL: none. */
	bool (*skip)(void *context, uint32_t index);
	/* Events of one block, in one call or several; the last one's are gone after it. */
	int (*events)(void *context, uint32_t index, const struct mt_event *, uint32_t count);
	/* Before an event block's first events, and for each block of another type. May be NULL. */
	int (*block)(void *context, uint32_t index);
	void *context;
};
/* Errors as of mt_trace_reader_events, once what stands before the damage was visited. */
int mt_trace_reader_scan(struct mt_trace_reader *, const struct mt_trace_scan *,
	struct mt_err *err);

/* What the event block of an allocation says of it. */
struct mt_trace_origin {
	uint64_t number; /* set before */
	uint64_t time_ns;
	/* With links: how many reallocs it comes from within its event block, and the block that
	 * the first of these continues; itself without one. */
	uint64_t root;
	uint32_t reallocs;
	bool reallocated; /* without links: it comes from a realloc */
	bool earlier;     /* with links: root is in an earlier event block */
};
struct mt_trace_lookup {
	struct mt_trace_origin *items; /* by rising number, each once */
	uint64_t count;
	const uint32_t *blocks; /* event blocks, and the first item of each; all have one */
	const uint64_t *first;
	uint32_t block_count;
	bool links;       /* takes more time, and leaves reallocated alone */
	uint32_t workers; /* as of a scan */
	int (*progress)(void *context, double fraction);
	void *context;
};
/* Fills them in. Errors as of a scan. Without a text in err: -EINVAL, an event block lacks one;
 * -ECANCELED, progress said so. */
int mt_trace_reader_look_up(struct mt_trace_reader *, const struct mt_trace_lookup *,
	struct mt_err *err);

#endif
