/* The segment: the memory that the tracer inside the program shares with the recorder.
 *
 * The recorder creates it as a sealed memfd of its final, sparse size; the tracer maps it and opens
 * its ranges stepwise. Everything here is little-endian and of fixed width. The tracer is the only
 * writer of all that is marked T, the recorder of all that is marked R. The recorder trusts no word
 * of it.
 *
 * Terms (doc/architecture.md has those of the other parts):
 *   image       what one process runs between two execs; it has one segment
 *   range       an array in the segment: modules, threads, pcs, nodes, rings, ring data
 *   entry       an element of a range; it counts as published below the range's counter
 *   id          the index of an entry, valid in its segment alone
 *   function    the allocator function that was called: malloc, new[], mmap ...
 *   marker      a pc id below MT_PC_FIRST: a function, or the sign of a cut stack. In memtui.h: a
 *               moment that the program names
 *   node        a place in the call tree: a parent node and a pc. A stack is its leaf node, whose
 *               pc is the function
 *   cut         of a stack: it could not be followed to its outermost frame
 *   ring        the records of one thread: written by the tracer, read by the recorder
 *   record      16 bytes in a ring: an event, or in EXTEND records a part of the next one
 *   mark        a record of a rare event: mapping, mallopt, marker, pause, gap, new thread
 *   position    of a record: the number of records before it in its ring
 *   head, tail  positions: below head all is readable, below tail all is consumed
 *   gap         an interval in which a ring lost events
 *   pause       an interval in which new blocks are not recorded, on request
 *   tick        changes as long as the recorder works: a waiting tracer looks at it
 *   doorbell    futex by which the tracer wakes the recorder; by room the recorder wakes threads
 *               that wait for room in their ring
 *   sealed      of a program: it has a system-call filter, so the tracer makes no system call. Of a
 *               memfd: its size is fixed
 *   usable size what malloc_usable_size returns for a block; slack: usable less requested size
 *   pool        memory that the program distributes itself and reports by memtui.h
 *   stand-alone without a recorder: the segment is a file, and a ring is a chain of chunks
 *   epoch       number of dlcloses seen */
#ifndef MT_WIRE_H
#define MT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define MT_WIRE_MAGIC 0x31676573746d656dull /* "memtseg1" */
#define MT_WIRE_VERSION 5
#define MT_WIRE_PAGE 4096u

/* ---- domains and allocator functions (doc/domains.md) ----------------------------------------
 * What an address belongs to. Each domain has addresses of its own. Numbers stand in traces.
 * X(id, name, address bits, flags); bits between the address and bit 63 are a hash of the pool. */
#define MT_POOL_ADDRESS_BITS 47
#define MT_DOMAINS(X) \
	X(HEAP, "heap", 64, MT_DOMAIN_USABLE) \
	X(POOL, "pool", MT_POOL_ADDRESS_BITS, 0) /* memtui.h */ \
	X(MAPPING, "mapping", 64, 0)
#define MT_DOMAIN_USABLE 1u /* usable sizes follow from the size by header.usable_rule */
enum mt_domain_id {
#define X(id, name, bits, flags) MT_DOMAIN_##id,
	MT_DOMAINS(X) MT_DOMAIN_COUNT,
#undef X
};

enum mt_call {
	MT_CALL_UNKNOWN, /* not known */
	MT_CALL_ALLOCATE,
	MT_CALL_REALLOCATE, /* begins a block, and may end one */
	MT_CALL_FREE,
	MT_CALL_MAP,     /* of these and the next only marks tell */
	MT_CALL_CONTROL, /* changes no block */
	MT_CALLS,
};
/* Which functions may free a block, within its domain. */
enum mt_allocator_family { MT_FAMILY_ANY, MT_FAMILY_C, MT_FAMILY_NEW, MT_FAMILY_NEW_ARRAY };

/* What a program calls. The one list of predefined functions: X(id, name, domain, role, family).
 * Numbers stand in traces: new ones go to the end. */
#define MT_FUNCTIONS(X) \
	X(NONE, "unknown", HEAP, UNKNOWN, ANY) \
	X(MALLOC, "malloc", HEAP, ALLOCATE, C) \
	X(CALLOC, "calloc", HEAP, ALLOCATE, C) \
	X(REALLOC, "realloc", HEAP, REALLOCATE, C) \
	X(REALLOCARRAY, "reallocarray", HEAP, REALLOCATE, C) \
	X(POSIX_MEMALIGN, "posix_memalign", HEAP, ALLOCATE, C) \
	X(ALIGNED_ALLOC, "aligned_alloc", HEAP, ALLOCATE, C) \
	X(MEMALIGN, "memalign", HEAP, ALLOCATE, C) \
	X(VALLOC, "valloc", HEAP, ALLOCATE, C) \
	X(PVALLOC, "pvalloc", HEAP, ALLOCATE, C) \
	X(NEW, "new", HEAP, ALLOCATE, NEW) \
	X(NEW_ARRAY, "new[]", HEAP, ALLOCATE, NEW_ARRAY) \
	X(FREE, "free", HEAP, FREE, C) \
	X(DELETE, "delete", HEAP, FREE, NEW) \
	X(DELETE_ARRAY, "delete[]", HEAP, FREE, NEW_ARRAY) \
	X(POOL, "pool", POOL, REALLOCATE, ANY) /* memtui.h */ \
	X(POOL_FREE, "pool free", POOL, FREE, ANY) \
	X(MMAP, "mmap", MAPPING, MAP, ANY) \
	X(MUNMAP, "munmap", MAPPING, MAP, ANY) \
	X(MREMAP, "mremap", MAPPING, MAP, ANY) \
	X(BRK, "brk", MAPPING, MAP, ANY) /* brk and sbrk */ \
	X(MALLOPT, "mallopt", HEAP, CONTROL, ANY) \
	X(MALLOC_TRIM, "malloc_trim", HEAP, CONTROL, ANY) \
	X(MARKER, "marker", HEAP, CONTROL, ANY) /* memtui.h */ \
	X(PAUSE, "pause", HEAP, CONTROL, ANY) \
	X(RESUME, "resume", HEAP, CONTROL, ANY)

/* ---- ids -------------------------------------------------------------------------------------
 * A pc id below MT_PC_FIRST is no address but a marker: the function of the call, which is the key
 * of the leaf of a stack, or the mark of a cut stack, which is the key of its outermost node. */
enum mt_function_id {
#define X(id, name, domain, role, family) MT_FUNCTION_##id,
	MT_FUNCTIONS(X) MT_FUNCTION_COUNT,
#undef X
};
#define MT_PC_CUT 30u        /* the unwinder could not go on here */
#define MT_PC_TABLE_FULL 31u /* the call tree is full: all further new stacks share one node */
#define MT_PC_FIRST 32u
_Static_assert(MT_FUNCTION_COUNT <= MT_PC_CUT, "functions are no marks of cut stacks");

/* Nodes below MT_NODE_FIRST are fixed: node 0 is the root, node k (0 < k < 32) is the child of the
 * root with key k. A free without a stack has the node of its function. */
#define MT_NODE_ROOT 0u
#define MT_NODE_FIRST 32u

/* One call-tree node. T. Complete before any record that names it or a descendant is published.
 * A node is (parent, pc); the same pair may stand in two nodes after a lost race: readers merge
 * them. */
struct mt_wire_node {
	uint32_t parent;   /* < own id */
	uint32_t pc;       /* pc id, or a marker */
	uint64_t child[3]; /* the tracer's own links to children; of no meaning to the recorder */
};

/* One program address. T. The same address may have several ids (lost race, or a module
 * reloaded). */
struct mt_wire_pc {
	/* to look up: return address - 1, or the exact pc of a signal frame's caller */
	uint64_t address;
	uint32_t module; /* index into modules, or MT_NO_MODULE */
	uint32_t flags;  /* MT_PC_FLAG_* */
};
#define MT_NO_MODULE 0xffffffffu
#define MT_PC_FLAG_EXACT 1u  /* interrupted by a signal: address is the pc itself */
#define MT_PC_FLAG_NO_CFI 2u /* walked by frame pointer */
/* Only in profiles and traces: a function that is not predefined; address is its id, and there is
 * no module */
#define MT_PC_FLAG_FUNCTION 4u

#define MT_BUILD_ID_MAX 32
#define MT_MODULE_PATH_MAX 400
/* One load of a module. T. A module that is loaded again stands here again, with a later epoch. */
struct mt_wire_module {
	uint64_t start, end; /* mapped range, end exclusive */
	uint64_t bias;       /* address - bias = address in the file's own terms (ELF vaddr) */
	uint32_t epoch;      /* how many dlcloses had been seen when it was first met */
	uint32_t build_id_len;
	uint8_t build_id[MT_BUILD_ID_MAX];
	char path[MT_MODULE_PATH_MAX]; /* NUL-terminated; "" is the program itself */
	uint8_t reserved[512 - 32 - MT_BUILD_ID_MAX - MT_MODULE_PATH_MAX];
};

/* One thread. T. Index = order in which threads first allocated. */
struct mt_wire_thread {
	uint32_t tid;
	uint32_t ring;
	char name[16]; /* at the time of the first event; the recorder refreshes it from /proc */
	uint64_t reserved;
};

/* ---- records ---------------------------------------------------------------------------------
 * 16 bytes, in per-thread single-producer rings; published by a release store of the ring's head.
 *   word0 = time delta (32) | node (32) << 32
 *   word1 = type (3) | size (16) << 3 | pointer >> 3 (45) << 19
 * The delta is in clock units since the previous timed record of the ring. What does not fit comes
 * in MT_RECORD_EXTEND records directly before the record they extend, published with it. */
enum mt_record_type {
	MT_RECORD_VOID,    /* nothing; skipped */
	MT_RECORD_ALLOC,   /* pointer, size; node = stack of the call with its function as leaf */
	MT_RECORD_FREE,    /* pointer; node = its function, or the stack of the free */
	MT_RECORD_RELEASE, /* first half of a realloc: pointer is released (as FREE) */
	/* second half: as ALLOC; ends the ring's innermost open RELEASE, which a forked child's
	 * first may lack: the fork came between */
	MT_RECORD_REALLOC,
	MT_RECORD_RESTORE, /* second half of a failed realloc: the released block lives on */
	MT_RECORD_EXTEND,  /* word0 = 64-bit value, size field = enum mt_extend */
	MT_RECORD_MARK,    /* size field = enum mt_mark */
};
enum mt_extend {
	MT_EXTEND_TIME, /* absolute time; the extended record's delta is 0 */
	MT_EXTEND_SIZE, /* size; the extended record's size field is MT_SIZE_EXTENDED */
	/* pointer; the extended record's pointer field is MT_POINTER_EXTENDED. This record's own
	 * pointer field is the function that was called, whose domain the pointer belongs to. 0:
	 * one of the heap, which the node names */
	MT_EXTEND_POINTER,
	MT_EXTEND_VALUE, /* a further value for a MARK, in the order given there */
	/* usable size of the block, where it does not follow from mt_wire_usable; a pool's block
	 * has no slack and none of these */
	MT_EXTEND_USABLE,
	/* the extended REALLOC, or MAP of function MREMAP, was made during a pause: it stands for
	 * nothing when what it continues was not recorded. Value 0 */
	MT_EXTEND_PAUSED,
};
/* The pointer of a block of a pool is its key: its address, with a hash of the pool in the bits
 * from MT_POOL_ADDRESS_BITS to 62, since a pool may hand out the address of another pool's
 * block. */
static inline uint64_t mt_wire_pool_key(uint64_t pool, uint64_t address)
{
	const uint64_t hashed = (1ull << 63) - (1ull << MT_POOL_ADDRESS_BITS);

	return (address & ~hashed) | (pool * 0x9e3779b97f4a7c15ull >> 1 & hashed);
}
enum mt_mark {
	/* node field = thread index: this and what follows is by that thread. The first record of a
	 * ring; again when a ring is handed to a new thread */
	MT_MARK_THREAD,
	/* values: time when the gap began, allocations lost, frees lost; ends now */
	MT_MARK_GAP,
	/* The node of these is a stack whose leaf is the function that was called. The pointer
	 * field holds the function too, since a full call tree has one node for all functions. */

	/* after the call. Values: address, length, protection | flags << 32, file offset. Whatever
	 * was mapped in the range is so no more. Kind MREMAP: address, length, old address, length
	 * of the old range if it is given up, the same if it stays (0 may be left out). What the
	 * ring's UNMAP of the old range found, or what stays there, is mapped as it was, as far
	 * from the new address as it was from the old; where there was nothing, what is mapped
	 * stays. Both 0: no UNMAP, what is at the old address is mapped a second time. A length
	 * beyond the old one lengthens the last share */
	MT_MARK_MAP,
	/* before the call: address, length. A signal handler's may come before its end */
	MT_MARK_UNMAP,
	MT_MARK_UNMAP_FAILED, /* the ring's UNMAP of these did not happen: address, length */
	MT_MARK_CALL,         /* mallopt: parameter, value, result; malloc_trim: pad, 0, result */
	/* marker, pause, resume: values hold the text, 8 bytes each, padded with zeroes; none: no
	 * text */
	MT_MARK_USER,
};
#define MT_MARK_VALUES 8 /* of one mark, so a text has at most 64 bytes */
#define MT_SIZE_EXTENDED 0xffffu
#define MT_POINTER_EXTENDED ((1ull << 45) - 1)

struct mt_wire_record {
	uint64_t word0, word1;
};

static inline struct mt_wire_record mt_wire_record_pack(unsigned type, uint32_t delta,
	uint32_t node, uint64_t pointer_field, uint32_t size_field)
{
	return (struct mt_wire_record){delta | (uint64_t)node << 32,
		type | (uint64_t)size_field << 3 | pointer_field << 19};
}
static inline unsigned mt_wire_record_type(const struct mt_wire_record *r)
{
	return r->word1 & 7;
}
static inline uint32_t mt_wire_record_size(const struct mt_wire_record *r)
{
	return r->word1 >> 3 & 0xffff;
}
static inline uint64_t mt_wire_record_pointer(const struct mt_wire_record *r)
{
	return r->word1 >> 19;
}
static inline uint32_t mt_wire_record_delta(const struct mt_wire_record *r)
{
	return (uint32_t)r->word0;
}
static inline uint32_t mt_wire_record_node(const struct mt_wire_record *r)
{
	return r->word0 >> 32;
}

/* What malloc_usable_size says of most blocks of this size, where header.usable_rule says GLIBC:
 * then only other blocks carry MT_EXTEND_USABLE; with rule NONE no block's usable size is known. */
enum mt_usable_rule {
	MT_USABLE_NONE,
	MT_USABLE_GLIBC,
	MT_USABLE_ALWAYS /* each block carries its own */
};
static inline uint64_t mt_wire_usable(uint64_t size)
{
	return size <= 24 ? 24 : ((size + 8 + 15) & ~15ull) - 8;
}

/* Ring positions count records and only grow; a record's slot is position & (capacity - 1).
 * Stand-alone there is no reader: a ring is a chain of chunks of sizes.records each. A full one is
 * followed by a new one, whose place in ring_data is its index in the table of chunks; tail is
 * where the present one begins. What is left of the old one are zeroes, which read as VOID; no
 * event's records lie in two chunks. */
struct mt_wire_ring {
	uint64_t head; /* T: all below it is readable */
	/* T: nothing is written at or beyond it before it is raised. 0: the recorder gives no pages
	 * of the ring back */
	uint64_t claimed;
	/* T: allocations of sizes that are not recorded, and their bytes */
	uint64_t left_out, left_out_bytes;
	uint64_t reserved0[4];
	uint64_t tail; /* R: all below it is consumed */
	/* R: while it gives pages back, the first position that lies in them; else 0. T claims and
	 * then looks here, R sets this and then looks at what is claimed, so one sees the other */
	uint64_t returned;
	uint64_t reserved1[6];
};
/* The first rings are large; where many threads live at once, the later ones are small. */
struct mt_wire_sizes {
	uint32_t records; /* of each of the first full rings, a power of two */
	/* rings up to number half hold half as many, the rest a MT_WIRE_SMALLth */
	uint32_t full, half;
};
#define MT_WIRE_SMALL 16u
static inline uint32_t mt_wire_ring_capacity(const struct mt_wire_sizes *s, uint32_t ring)
{
	return ring < s->full    ? s->records
		: ring < s->half ? s->records / 2
				 : s->records / MT_WIRE_SMALL;
}
/* In records from the beginning of ring_data; of the number of all rings: what they take. */
static inline uint64_t mt_wire_ring_place(const struct mt_wire_sizes *s, uint32_t ring)
{
	uint64_t full = ring < s->full ? ring : s->full;
	uint64_t half = ring < s->half ? ring : s->half;

	half -= half < full ? half : full;
	return full * s->records + half * (s->records / 2)
		+ (ring - full - half) * (s->records / MT_WIRE_SMALL);
}
/* Who waits for room in a ring waits for this bit of the word, so that others' room does not wake
 * it. */
static inline uint32_t mt_wire_room_bit(uint32_t ring)
{
	return 1u << (ring & 31);
}

/* Stand-alone: one piece of a ring. T. Both words are stored at once, before the ring's head lies
 * in the chunk. */
struct mt_wire_chunk {
	uint32_t ring;
	/* of the ring's chunks, from 1: holds positions from (number - 1) * sizes.records; 0: none
	 * yet */
	uint32_t number;
};

/* ---- header ---------------------------------------------------------------------------------- */
struct mt_wire_range {
	uint64_t offset;   /* from the segment's start, page-aligned */
	uint32_t capacity; /* entries */
	uint32_t entry;    /* bytes per entry */
};

enum mt_clock { MT_CLOCK_TSC, MT_CLOCK_MONOTONIC };

/* What the tracer counts. One list: names for the trace, words for people, with [one|several] where
 * they differ. */
#define MT_COUNTERS(X) \
	X(CUT_STACKS, cut_stacks, "stack[|s] that could not be unwound to the end") \
	X(LOST_ALLOCATIONS, lost_allocations, \
		"allocation[|s] not recorded because the recorder could not keep up") \
	X(LOST_FREES, lost_frees, "free[|s] not recorded because the recorder could not keep up") \
	X(RING_WAITS, ring_waits, "time[|s] a thread waited for room in its ring") \
	X(FORKED_CHILDREN, forked_children, "child[|ren] that [was|were] not recorded") \
	X(NODES_FULL, nodes_full, \
		"stack[|s] cut because the call tree or the table of addresses was full") \
	X(THREADS_FULL, threads_full, "thread[|s] without a ring, which [was|were] not recorded") \
	X(UNTRACED_EVENTS, untraced_events, "event[|s] of threads without a ring") \
	X(NESTED_EVENTS, nested_events, \
		"event[|s] of signal handlers that interrupted the tracer") \
	X(ABANDONED, abandoned, "tracer call[|s] left by longjmp from a signal handler") \
	X(BOOTSTRAP, bootstrap, "allocation[|s] before the real allocator was known") \
	X(CHECKED_STACKS, checked_stacks, "stack[|s] compared with a full unwind") \
	X(WRONG_STACKS, wrong_stacks, "stack[|s] that differed from the full unwind") \
	X(MAP_FAILURES, map_failures, "failed attempt[|s] to get memory for the tracer") \
	X(SEALED, sealed, \
		"system-call filter[|s] set: since then full rings drop events, and new " \
		"threads and children are not recorded") \
	X(LOST_MARKS, lost_marks, \
		"[mapping, call or marker|mappings, calls and markers] not recorded because " \
		"the recorder could not keep up") \
	X(CHECKED_OTHERWISE, checked_otherwise, "stack[|s] compared with libgcc's unwinder") \
	X(WRONG_OTHERWISE, wrong_otherwise, "stack[|s] that differed from libgcc's unwinder") \
	X(NOT_COMPARABLE, not_comparable, \
		"stack[|s] not or only partly compared with libgcc's unwinder") \
	X(UNSEEN_LIBRARIES, unseen_libraries, \
		"[library|libraries] opened with RTLD_DEEPBIND or dlmopen, whose allocations " \
		"are not seen") \
	X(CUT_WITHOUT_CFI, cut_without_cfi, \
		"stack[|s] cut in code without call frame information: " \
		"compile it with -fasynchronous-unwind-tables") \
	/* the recorder's: the tracer's stays 0 */ \
	X(OVERSIZED_BLOCKS, oversized_blocks, \
		"block[|s] ignored, larger than an address space: the program reported wrong " \
		"sizes of its pools") \
	X(BAD_DEPTH, bad_depth, \
		"invalid value[|s] of MEMTUI_DEPTH (a number from 4 to 65536): the nearest " \
		"depth was used, or the default if it was not a number") \
	/* the recorder's: the tracer's stays 0 */ \
	X(UNTOLD_FREES, untold_frees, \
		"pool block[|s] that the program allocated again without " \
		"reporting a free") \
	X(CUT_BY_DEPTH, cut_by_depth, \
		"stack[|s] deeper than --depth: only the innermost frames are " \
		"kept, without main, so stacks of different callers may become " \
		"one group") \
	/* the reader's of a stand-alone recording: the tracer's stays 0 */ \
	X(UNKNOWN_RATE, unknown_rate, \
		"clock of unknown rate: all times are estimates (~), made with the rate of " \
		"the machine that read the recording") \
	X(UNLISTED_BLOCKS, unlisted_blocks, \
		"recorded block[|s] that the tracer's table had no room for: all frees are " \
		"recorded since")
enum mt_counter {
#define X(id, name, words) MT_COUNTER_##id,
	MT_COUNTERS(X) MT_COUNTER_COUNT,
#undef X
};

#define MT_SEGMENT_FREE_STACKS 1u /* flags: record the stack of frees too */
#define MT_SEGMENT_CHECK 2u       /* compare every stack with a full unwind */
#define MT_SEGMENT_STANDALONE 4u  /* a file of the tracer's own, without a recorder */
#define MT_SEGMENT_DROP 8u        /* a full ring drops and counts at once instead of waiting */
/* ask another allocator than glibc's for each usable size; else usable_rule is NONE there */
#define MT_SEGMENT_SLACK 16u
#define MT_SEGMENT_NO_FOLLOW 32u   /* what is executed gets the environment that it was given */
#define MT_SEGMENT_WAIT 64u        /* a full ring waits for as long as the recorder lives */
#define MT_SEGMENT_LEAK_CHECK 128u /* the end of the program waits until it was looked at */
#define MT_SEGMENT_CALLS 256u      /* samples are of calls: each counts as MT_SAMPLER_CALL bytes */

/* What the program itself had said of pauses before it was forked, unless a person has said
 * something since: it holds in place of what R says. */
enum mt_begin { MT_BEGIN_ASKED, MT_BEGIN_PAUSED, MT_BEGIN_RECORDING };

/* On what machine the program runs, which is not always the reader's. */
struct mt_wire_machine {
	uint32_t page_bytes;
	uint16_t pointer_bits;
	uint16_t address_bits; /* no program has an address with more */
	uint32_t big_endian;   /* 1: words begin with their high byte */
	uint64_t tag_mask;     /* bits of a pointer that do not belong to the address */
};

/* What the tracer does at a signal, if somebody has asked for that. */
enum mt_signal_use { MT_SIGNAL_REPORT, MT_SIGNAL_REPORT_COUNT, MT_SIGNAL_TOGGLE, MT_SIGNAL_USES };
/* The signals that can be used for it. X(name, number) */
#define MT_SIGNAL_NUMBERS(X) X(USR1, 10) X(USR2, 12) X(HUP, 1) X(WINCH, 28)
#define MT_SIGNAL_CHOICES "USR1|USR2|HUP|WINCH"

struct mt_wire_header {
	/* R, before the tracer sees it */
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint64_t segment_size;
	uint32_t clock; /* enum mt_clock */
	uint32_t flags;
	uint32_t depth_limit;       /* frames */
	struct mt_wire_sizes sizes; /* of the rings */
	struct mt_wire_range modules, threads, pcs, nodes, rings, ring_data;
	/* stand-alone; else empty. text: executable, directory, arguments, each with its NUL */
	struct mt_wire_range chunks, text;
	uint64_t id;            /* of this segment, unique in its session, never 0 */
	uint64_t start_unix_ns; /* stand-alone: of the first anchor */
	/* stand-alone: id of the segment that a forked child inherited; 0: a new image */
	uint64_t forked_from;
	/* stand-alone: inode of the name space in which the process has its number; 0: not known */
	uint64_t pid_space;
	uint32_t signals[MT_SIGNAL_USES]; /* their numbers, by use; 0: none */
	/* R, while it runs: own cache line */

	/* advanced as the recorder goes on: who waits for room sees that it does */
	_Alignas(64) uint32_t tick;
	uint32_t asleep; /* 1 while the recorder sleeps; T sets it to 0 and rings the doorbell */
	/* futex; T increments and wakes when asleep was 1 and a ring is 3/8 full */
	uint32_t doorbell;
	/* futex; R increments and wakes after it has drained rings while waiters > 0 */
	uint32_t room;
	uint32_t waiters; /* T: threads that wait for room */
	uint32_t mute;    /* T: not 0 when it rings no doorbell any more, or is about to say so */

	/* what each event looks at, apart from what the recorder writes as often: 1 record, 0
	 * paused: no new blocks; what ends one is recorded all the same. R, T by memtui.h */
	_Alignas(64) uint32_t recording;
	uint32_t turns;                 /* how often a person has paused the session or gone on */
	struct mt_wire_machine machine; /* T: before state; zeroes: an older tracer */
	/* R, before the tracer sees it: mean distance of samples in bytes (doc/sampling.md), 0:
	 * each block is recorded; and what threads' sequences of random numbers begin with */
	uint64_t sample_bytes, sample_seed;
	/* R, before the tracer sees it: only heap blocks of these sizes are recorded
	 * (doc/sampling.md). Both 0: of all sizes; a record_max of 0: no block is too large */
	uint64_t record_min, record_max;
	/* T: own cache lines */
	_Alignas(64) uint32_t state; /* enum mt_segment_state */
	uint32_t pid;
	/* published entries */
	uint32_t module_count, thread_count, pc_count, node_count, ring_count;
	uint32_t epoch;       /* dlcloses seen */
	uint32_t chunk_count; /* stand-alone */
	uint32_t usable_rule; /* enum mt_usable_rule */
	uint32_t begin;       /* enum mt_begin */
	uint64_t allocator;   /* address of the malloc that our hook calls */
	/* address of a malloc that the program calls in place of our hook; 0: none */
	uint64_t own_allocator;
	/* T: functions inside the program whose entries lead to hooks (doc/entry-patches.md) */
	uint64_t patched;
	uint64_t private_bytes; /* of the tracer's own memory beside the segment */
	/* Stand-alone: the same instants in both clocks. [0] is the start; anchor n > 0, the last
	 * of anchor_count, stands at 1 + n % 2, so that the one before is whole while a new one is
	 * written. */
	struct mt_wire_anchor {
		uint64_t ticks, monotonic_ns;
	} anchors[3];
	uint32_t anchor_count;
	/* stand-alone: programs that the process ran before, whose files are FILE.exec0 … */
	uint32_t images_before;
	/* From here on, an older tracer has zeroes. */
	uint32_t own_unlisted;    /* T: pieces of its own memory that its list has no room for */
	uint32_t signals_refused; /* T: by use, a bit: the program handles or ignores it itself */
	/* T, before state: where in the process the list of its own memory (struct mt_wire_own) is,
	 * and of mt_copy; 0: none. Forked children have them at the same addresses. */
	uint64_t own, copy;
	/* T: code of the tracer's that stands on the stacks of threads while it is not at work */
	uint64_t starts_low, starts_high;
	/* T: the program is at its end, and waits; then a leak check, or the recorder when there is
	 * none, sets judged, and it ends */
	uint32_t ending, judged;
	uint32_t reports[2]; /* T: how often one was asked for by a signal: size, count */
	_Alignas(64) uint64_t counters[32]; /* enum mt_counter; added to atomically */
};
_Static_assert(MT_COUNTER_COUNT <= 32, "counters");

/* Memory of the tracer's own beside the segment. The list is in the tracer's data. */
struct mt_wire_own {
	uint64_t address, len; /* a free entry has 0 as its length */
};
#define MT_WIRE_OWN_MOST 16384u

enum mt_segment_state { MT_SEGMENT_NEW, MT_SEGMENT_ATTACHED, MT_SEGMENT_EXITING };

/* The second page of the segment begins with the robust futex word: the recorder's tid while it
 * lives, FUTEX_OWNER_DIED set by the kernel when it died, 0 when it ended in order. R.
 * Stand-alone: 1, and 0 when the recording has ended before the program. The word behind it is then
 * the errno that ended it, stored before, or 0 where that is not known. T. */
#define MT_WIRE_ALIVE_OFFSET MT_WIRE_PAGE
#define MT_WIRE_REASON_OFFSET (MT_WIRE_ALIVE_OFFSET + 4)

/* ---- blind spots -----------------------------------------------------------------------------
 * Why a process, or an allocator in it, is not seen (doc/blind-spots.md). One list: the name in
 * JSON and tables, and what a sentence says behind the path. Numbers stand in traces: new ones go
 * to the end. */
#define MT_BLIND_REASONS(X) \
	X(NONE, "", "") \
	X(OWN_ALLOCATOR, "own allocator", \
		"has its own malloc, which bypasses the tracer: its allocations are not seen") \
	X(BUNDLED_ALLOCATOR, "bundled allocator", \
		"which bypasses the tracer: its allocations are not seen") \
	X(STATIC, "static", "is statically linked: no tracer can be loaded") \
	X(PRIVILEGED, "setuid", \
		"runs with other rights (setuid, setgid or file capabilities): the dynamic " \
		"linker loads no tracer") \
	X(OTHER_LIBC, "other libc", "is built for another C library than the tracer") \
	X(WORD_SIZE, "word size", "is built for another processor or word size") \
	X(NO_LIBRARY, "no library in its root", \
		"was started where the tracer's library cannot be opened") \
	X(ENVIRONMENT, "environment cleared", \
		"was started with an environment that does not name the recording") \
	X(UNTRACED, "untraced child", "ran without the tracer") \
	X(GROWTH, "unseen growth", \
		"uses much more memory than its recorded heap: it may bypass the tracer") \
	X(LIBRARY, "library past the tracer", \
		"opened with RTLD_DEEPBIND or dlmopen, bypasses the tracer") \
	X(UNREACHABLE, "recorder out of reach", \
		"was started where the recorder cannot be reached: in another " \
		"network namespace and another user namespace or root directory") \
	X(NOT_FOUND, "functions not found", \
		"and its libraries have none of the functions that --allocator-functions names") \
	X(SIZES, "recorded sizes", "which were not to be recorded")
enum mt_blind_reason {
#define X(id, name, words) MT_BLIND_##id,
	MT_BLIND_REASONS(X) MT_BLIND_COUNT,
#undef X
};

/* A note of the tracer, left before an exec: the program at `path` will not be recorded. T. */
struct mt_wire_blind {
	uint32_t state;  /* enum mt_wire_blind_state */
	uint32_t reason; /* enum mt_blind_reason */
	uint32_t pid;    /* of the first process that it stands for */
	uint32_t count;  /* processes; 0: the exec failed, the note was taken back */
	char path[240];  /* NUL-terminated; a longer one is cut in front */
};
enum mt_wire_blind_state { MT_WIRE_BLIND_FREE, MT_WIRE_BLIND_CLAIMED, MT_WIRE_BLIND_SET };
/* They lie in the second page, behind the words of the recorder. */
#define MT_WIRE_BLIND_OFFSET (MT_WIRE_PAGE + 64)
#define MT_WIRE_BLIND_PLACES 15

_Static_assert(sizeof(struct mt_wire_blind) == 256, "blind spot");
_Static_assert(MT_WIRE_BLIND_OFFSET + MT_WIRE_BLIND_PLACES * sizeof(struct mt_wire_blind)
		<= 2 * MT_WIRE_PAGE,
	"blind spots fit the second page");

_Static_assert(sizeof(struct mt_wire_node) == 32, "node");
_Static_assert(sizeof(struct mt_wire_pc) == 16, "pc");
_Static_assert(sizeof(struct mt_wire_module) == 512, "module");
_Static_assert(sizeof(struct mt_wire_thread) == 32, "thread");
_Static_assert(sizeof(struct mt_wire_record) == 16, "record");
_Static_assert(sizeof(struct mt_wire_ring) == 128, "ring");
_Static_assert(sizeof(struct mt_wire_header) <= MT_WIRE_PAGE, "header fits its page");
_Static_assert(offsetof(struct mt_wire_header, tick) % 64 == 0, "recorder's line");
_Static_assert(offsetof(struct mt_wire_header, state) - offsetof(struct mt_wire_header, tick)
		== 128,
	"tracer's line");
_Static_assert(sizeof(struct mt_wire_chunk) == 8, "chunk");
_Static_assert(offsetof(struct mt_wire_header, state) - offsetof(struct mt_wire_header, recording)
		== 64,
	"the machine fits the line of what each event looks at");

#endif
