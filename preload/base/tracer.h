/* The tracer's state: what the whole process shares, what each thread owns, and the small helpers
 * that every part uses. */
#ifndef MT_TRACER_H
#define MT_TRACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <threads.h>

#include "core/sampler.h"
#include "core/wire.h"
#include "preload/arch/x86_64/arch.h"
#include "preload/base/assert.h"
#include "preload/base/libc.h"

/* Two words written one by one and copied as one vector right after make the copy wait for the
 * cache. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#define MT_EXPORT __attribute__((visibility("default")))
#define MT_INLINE inline __attribute__((always_inline))
#define MT_COLD __attribute__((noinline, cold))
#define mt_likely(x) __builtin_expect(!!(x), 1)
#define mt_unlikely(x) __builtin_expect(!!(x), 0)

#define mt_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define mt_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define mt_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define mt_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define mt_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define mt_swap(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define mt_swap_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define mt_swap_or(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define mt_swap_if(p, expected, v) \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
/* Orders this thread's stores as its own signal handlers see them. */
#define mt_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* The real functions. Until they are known each points to a stand-in that looks them up. */
struct mt_real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*thrd_create)(thrd_t *, thrd_start_t, void *);
	int (*dlclose)(void *);
	int (*prctl)(int, ...);
	/* NULL until they are known, or where there is none */
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	void *(*mmap64)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	int (*mallopt)(int, int);
	int (*malloc_trim)(size_t);
	pid_t (*_Fork)(void);
	void (*_exit)(int);
};

enum mt_operator {
#define MT_OPERATORS(X) \
	X(NEW, _Znwm, NEW) \
	X(NEW_NOTHROW, _ZnwmRKSt9nothrow_t, NEW) \
	X(NEW_ALIGNED, _ZnwmSt11align_val_t, NEW) \
	X(NEW_ALIGNED_NOTHROW, _ZnwmSt11align_val_tRKSt9nothrow_t, NEW) \
	X(NEW_ARRAY, _Znam, NEW_ARRAY) \
	X(NEW_ARRAY_NOTHROW, _ZnamRKSt9nothrow_t, NEW_ARRAY) \
	X(NEW_ARRAY_ALIGNED, _ZnamSt11align_val_t, NEW_ARRAY) \
	X(NEW_ARRAY_ALIGNED_NOTHROW, _ZnamSt11align_val_tRKSt9nothrow_t, NEW_ARRAY)
#define MT_DELETE_OPERATORS(X) \
	X(DELETE, _ZdlPv, DELETE) \
	X(DELETE_SIZED, _ZdlPvm, DELETE) \
	X(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t, DELETE) \
	X(DELETE_ALIGNED, _ZdlPvSt11align_val_t, DELETE) \
	X(DELETE_SIZED_ALIGNED, _ZdlPvmSt11align_val_t, DELETE) \
	X(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t, DELETE) \
	X(DELETE_ARRAY, _ZdaPv, DELETE_ARRAY) \
	X(DELETE_ARRAY_SIZED, _ZdaPvm, DELETE_ARRAY) \
	X(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t, DELETE_ARRAY) \
	X(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t, DELETE_ARRAY) \
	X(DELETE_ARRAY_SIZED_ALIGNED, _ZdaPvmSt11align_val_t, DELETE_ARRAY) \
	X(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t, DELETE_ARRAY)
#define X(id, symbol, function) MT_OPERATOR_##id,
	MT_OPERATORS(X) MT_DELETE_OPERATORS(X) MT_OPERATOR_COUNT,
#undef X
};

/* One growing array in the segment. Entries below open can be touched. */
struct mt_segment_array {
	uint8_t *base;
	uint32_t capacity, entry;
	uint64_t open;  /* bytes that can be read and written */
	uint64_t limit; /* bytes that are mapped: it can grow so far; lowered by mt_segment_trim */
	uint64_t present; /* stand-alone: bytes that the file has room for */
	uint32_t openers;
};

struct mt_allocator {
	uint64_t address;    /* of the malloc that our hook calls */
	uint64_t start, end; /* of its library */
	uint64_t own;        /* of a malloc that the program calls in place of our hook; 0: none */
	uint32_t rule;       /* enum mt_usable_rule that holds of its blocks */
};

enum mt_phase { MT_PHASE_NEW, MT_PHASE_CONNECTING, MT_PHASE_ATTACHED, MT_PHASE_OFF };

/* Sealed and frozen count who is about to make it so; this is set when somebody has. */
#define MT_FOR_GOOD 0x8000u

#define MT_BOOTSTRAP_CHUNKS 24
struct mt_bootstrap_chunk {
	uint8_t *base;
	uint64_t used, size;
};

struct mt_tracer {
	/* Read by every event, written rarely. */

	/* in a page wiped on fork: 0 in a forked child, or when tracing has ended; the word after
	 * it is 1 once this process itself has begun to connect; others: segment.c, sys.c */
	const uint32_t *running;
	struct mt_wire_header *header;
	struct mt_wire_node *nodes;
	struct mt_rules *rules;
	uint64_t generation; /* dlcloses that unloaded something; + MT_CLOSING for each under way */
	union {
		struct {
			uint8_t free_stacks, sampled;
			uint16_t check, monotonic;
			/* the clock may not be read any more: the time stands still */
			uint16_t frozen;
		};
		uint64_t unusual; /* not 0: one of them is set */
	};
	uint32_t depth_limit;
	uint32_t bootstrap_count; /* chunks in use */
	uint32_t usable_rule;     /* enum mt_usable_rule under which usable sizes are recorded */
	uint64_t loader_start, loader_end; /* the dynamic linker's code */
	struct mt_real real;
	struct mt_samples *samples; /* of a sampled recording (process/samples.h) */

	_Alignas(64) uint32_t phase; /* enum mt_phase */
	uint64_t segment_size;
	struct mt_wire_sizes sizes;
	uint32_t drop_when_full, wait_when_full, no_follow, judge_end;
	uint32_t sealed; /* the program has a system-call filter: no system call any more */
	uint64_t frozen_at;
	bool standalone; /* the segment is a file of our own: file.c */
	struct mt_segment_array modules, threads, pcs, node_range, rings, ring_data, chunks;
	struct mt_loaded_module *module_info;
	uint32_t module_capacity;    /* of module_info */
	uint64_t own_start, own_end; /* the tracer's own code: its frames are not shown */
	struct mt_thread_state *all_threads;
	struct mt_start_page *start_pages;
	struct mt_bootstrap_chunk bootstrap[MT_BOOTSTRAP_CHUNKS];
	uint32_t bootstrap_allocations;
	struct mt_allocator allocator;
	uint64_t patched; /* functions inside the program whose entries lead to hooks */
	/* of the tracer's own memory beside the segment, as far as it is likely to be touched */
	uint64_t private_bytes;
	uint64_t sample_bytes, sample_seed; /* as in the segment's header */
	uint64_t sample_call;               /* what each call counts as; 0: its size */
	uint64_t gate_least, gate_span;     /* sizes that are recorded: least to least + span */
	int (*backtrace)(void **, int);     /* in check mode; NULL: there is none */
	uint64_t other_start, other_end;    /* the module of the unwinder that it uses */

	/* Written when something new is met. */
	_Alignas(64) struct mt_index *index;
	uint32_t next_node, next_pc, next_module, next_thread, next_ring;
	uint32_t growing;      /* MT_GROWING_*: a table that some thread is copying */
	uint32_t homeless_pcs; /* 1: there are pcs that lie in no module */
	uint32_t missed;       /* events before this process has a segment of its own */
	/* openings, in this process or before its forks, of libraries that are not bound to us */
	uint32_t unseen_libraries;
	bool found_for_good; /* the real functions: looked up again they would be ours */
	/* what the program itself said last of pauses, an enum mt_begin, and at which of the
	 * header's turns: a forked child goes by it */
	uint32_t said, said_at;
	uint32_t forked; /* this process has been forked by a traced one */
	bool scrapped;   /* in a forked child: what is mapped is private memory */
};
extern struct mt_tracer mt_tracer;

static MT_INLINE bool mt_is_own(uint64_t pc)
{
	return pc - mt_tracer.own_start < mt_tracer.own_end - mt_tracer.own_start;
}

static MT_INLINE bool mt_is_loader(uint64_t pc)
{
	return pc - mt_tracer.loader_start < mt_tracer.loader_end - mt_tracer.loader_start;
}

#define MT_CLOSING (1ull << 32)
/* of a thread that remembers nothing: it last had an event during a dlclose */
#define MT_NO_GENERATION UINT64_MAX
enum { MT_GROWING_RULES = 1, MT_GROWING_INDEX = 2 };

/* One remembered frame, outermost first. */
struct mt_memo {
	uint64_t key, sp, fp, rule;
	uint32_t node;
	uint32_t words_end; /* words[0 .. words_end) prove this frame's caller and all beyond */
	uint8_t fp_live;    /* fp matters to this frame's state */
	uint8_t own;        /* this frame and all beyond lie in order on the thread's own stack */
};

/* A word of the program's stack that a step of the unwinder has read. */
struct mt_word {
	const uint64_t *at;
	uint64_t value;
};

#define MT_FRAME_WORDS 8
/* One newly walked frame, innermost first: the state, its rule, and what the step from it has
 * read. The words lie apart, since few frames have any. */
struct mt_unwind_frame {
	uint64_t key, sp, fp, rule;
	uint64_t word_count;     /* MT_WORDS_IMPLIED: the common case, nothing below is filled */
	struct mt_word saved_fp; /* at NULL: none */
};
struct mt_unwind_frame_words {
	struct mt_word at[MT_FRAME_WORDS];
};
#define MT_WORDS_IMPLIED UINT64_MAX /* they follow from the rule and the caller's state */

#define MT_NESTED_LEVELS 4
/* in thread.busy: of before a fork; it holds nothing of the present segment */
#define MT_BUSY_STALE (1ull << 32)
#define MT_NESTED_DONE 16

/* A thread's state. Its pages belong to it alone. */
/* A block that a call under way frees: our free need not record it, or not as a free of its own. */
struct mt_freeing {
	void *p;
	uint32_t function; /* to record it with should it come to a free; 0: it is recorded */
	struct mt_entry entry;
};

/* Why a stack ends before its outermost frame; not 0 if it does. */
enum mt_cut { MT_CUT_NOT, MT_CUT, MT_CUT_WITHOUT_CFI, MT_CUT_BY_DEPTH };

struct mt_thread_state {
	/* every event */

	/* depth of events: more than one when a signal handler allocates within one */
	uint64_t busy;
	uint64_t reserve; /* next free position of the ring */
	uint64_t limit;   /* positions below need no look at anything: 0 asks for the slow way */
	struct mt_wire_record *data;
	uint64_t mask;
	struct mt_wire_ring *ring;
	struct mt_sampler sampler;
	uint64_t last;    /* time of the last record */
	uint32_t number;  /* the ring's, from 1 */
	uint64_t hook_sp; /* of the outermost event under way */
	uint64_t stack_lo, stack_hi;
	uint64_t generation;   /* under which the memo was made */
	uint64_t memo_version; /* changes with the memo */
	uint32_t memo_count;
	uint16_t memo_cut;       /* the outermost remembered frame is not the last: enum mt_cut */
	uint16_t memo_truncated; /* because there was no room for more frames */
	struct mt_memo *memo;
	const uint64_t **word_at; /* the words that prove the memo, outermost first */
	uint64_t *word_value;
	struct mt_unwind_frame *frames;
	struct mt_branch_set *branches;
	/* of the hash that chooses a set of branches; 0: all are in the first one */
	uint64_t branch_factor;

	/* a call under way that may end in our malloc or free: operator new or delete, another
	 * allocator's function */
	struct mt_entry pending;
	uint32_t pending_function;
	uint64_t pending_size, pending_start, pending_end; /* the code that it has called */
	struct mt_freeing freeing;
	struct mt_entry outer;           /* of another allocator's function */
	uint64_t outer_start, outer_end; /* its code */

	/* rare */
	uint64_t claimed_at; /* time of the first of the single claims, or of the last for pages */
	uint32_t singles;    /* records that are yet to be claimed singly */
	uint32_t resync;     /* the next record carries the full time */
	uint32_t newborn;    /* the ring has no mark of this thread yet */
	uint32_t growing;    /* MT_GROWING_* that this thread holds */
	uint32_t index;      /* in the thread table */
	uint32_t word_capacity;
	struct mt_unwind_frame_words *frame_words;
	/* Memory for deeper stacks. A thread with shallow ones uses short arrays on the first
	 * page of its state, so one that sleeps costs that page alone. */
	uint8_t *first_room;
	uint32_t first_frames;
	uint32_t branch_pages;   /* a bit for each page of the branches that is counted */
	uint32_t deepest, pages; /* frames of the deepest stack, and pages counted for it */
	uint32_t capacity;       /* frames: of memo and frames */
	int32_t tid;             /* 0: of no thread of this process, or being taken over */
	uint32_t leaving;        /* the thread's function has returned: it will be gone soon */
	struct {
		uint64_t since, allocations, frees;
		uint64_t marked; /* the last one ends there in the ring, with its event */
		uint32_t active;
	} gap;
	/* finished records of nested events */
	struct {
		uint64_t at;
		uint32_t count;
	} done[MT_NESTED_DONE];
	uint32_t done_count;
	uint32_t *pcs[MT_NESTED_LEVELS]; /* stacks that are walked without the memo */
	void **other_pcs;                /* in check mode: by backtrace */
	uint64_t map_len;                /* of these pages */
	void *room;                      /* of memo, words and frames, once they lie elsewhere */
	uint64_t room_len;
	struct mt_thread_state *next;
};

enum {
	MT_TLS_UNTRACED = 1,
	MT_TLS_LEAVING = 2,
	MT_TLS_RESOLVING = 4,
	MT_TLS_ENTERING = 8,
	MT_TLS_ASKING = 16
};
/* All that is thread-local. */
struct mt_thread_local {
	struct mt_thread_state *self;
	uint32_t flags;
	uint32_t closing;            /* dlcloses under way */
	uint32_t unloading;          /* the same, untraced ones too */
	uint64_t stack_lo, stack_hi; /* 0: not known */
	uint32_t calls;              /* system calls under way: see sys.c */
	uint32_t sealing;            /* while it waits for others: its own in mt_tracer.sealed */
	/* the function of another library that one of ours is about to return from */
	const void *called;
	/* for the environment of a program that is executed (exec_environment.c). user: the process
	 * that uses it, 0: none */
	struct mt_exec_memory {
		uint8_t *base;
		uint64_t size;
		uint32_t user;
	} exec;
};
#ifdef MT_ATTACHED
/* The attached tracer has no thread-local storage: preload/attached/thread_local.c. */
#define MT_TLS_BUCKETS 4096u
struct mt_tls_entry {
	struct mt_thread_local tls;
	struct mt_tls_entry *next; /* of the same bucket */
	uint32_t number;           /* the thread's */
	uint32_t ended;            /* the thread is gone: another may take the entry */
};
extern struct mt_tls_entry *mt_tls_table[MT_TLS_BUCKETS];
/* Where the C library keeps a thread's number, from the thread pointer on. */
extern uint64_t mt_tls_number_at;
struct mt_thread_local *mt_tls_find(uint32_t number);
/* The thread of this number is gone. */
void mt_tls_forget(int32_t number);
/* All of them, with their memory. */
void mt_tls_free(void);

static MT_INLINE struct mt_thread_local *mt_tls_mine(void)
{
	uint32_t number = mt_arch_thread_word(mt_tls_number_at);
	struct mt_tls_entry *entry = mt_load_acquire(&mt_tls_table[number % MT_TLS_BUCKETS]);

	return mt_likely(entry && mt_load(&entry->number) == number)
		? &entry->tls
		: mt_tls_find(number);
}
#define mt_tls (*mt_tls_mine())
#else
extern __thread struct mt_thread_local mt_tls __attribute__((tls_model("initial-exec")));

static MT_INLINE void mt_tls_forget(int32_t number)
{
	(void)number; /* it went with its thread */
}
#endif

/* Adds to a fault counter; nothing when there is no segment. */
static inline void mt_count(enum mt_counter counter, uint64_t n)
{
	if (mt_tracer.header)
		mt_add(&mt_tracer.header->counters[counter], n);
}

/* Memory of the tracer's own has come into use. */
static inline void mt_count_private(uint64_t bytes)
{
	uint64_t total = mt_add(&mt_tracer.private_bytes, bytes) + bytes;

	if (mt_tracer.header)
		mt_store(&mt_tracer.header->private_bytes, total);
}

/* Raises a shared count to at least n. */
static inline void mt_publish_count(uint32_t *count, uint32_t n)
{
	uint32_t old = mt_load(count);

	while (old < n && !mt_swap_if(count, &old, n))
		;
}

#endif
