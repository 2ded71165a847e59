/* The profile: everything that views are made of, but single events. Plain arrays of fixed-width
 * entries that only grow (groups' totals change in place), so that the recorder can keep one, a
 * trace file can hold one, a snapshot can publish one, and every query takes the same path over all
 * three. All times are nanoseconds since the start of the recording; all sizes are bytes as asked
 * for. */
#ifndef MT_MODEL_PROFILE_H
#define MT_MODEL_PROFILE_H

#include "core/base/buffer.h"
#include "core/model/group_column.h"
#include "core/wire.h"

#include <stdbool.h>

struct mt_module {
	uint64_t start, end, bias; /* as in wire.h */
	uint32_t path;             /* string id; absolute as the program sees it */
	uint32_t epoch;
	uint32_t build_id_len;
	uint8_t build_id[MT_BUILD_ID_MAX];
	uint32_t reserved;
};

struct mt_thread {
	uint32_t tid;
	uint32_t name; /* string id */
};

struct mt_pc {
	uint64_t address; /* as in wire.h */
	uint32_t module;
	uint32_t flags;
};

/* What an address belongs to, and what a program calls (doc/domains.md). The predefined ones of
 * wire.h come first. */
struct mt_domain {
	uint32_t name; /* string id; of a predefined one 0 */
	uint16_t address_bits;
	uint16_t flags; /* MT_DOMAIN_USABLE */
};
struct mt_allocator_function {
	uint32_t name; /* string id; of a predefined one 0 */
	uint16_t domain;
	uint8_t role;   /* enum mt_call */
	uint8_t family; /* 0: any, else only functions of the same family free its blocks */
};
#define MT_FUNCTION_FIRST MT_PC_FIRST /* id of the first function that is not predefined */
#define MT_DOMAIN_FIRST 16u           /* the same of a domain */
#define MT_FUNCTIONS_MAX 4096u
#define MT_DOMAINS_MAX 4096u
#define MT_FUNCTION_NAME_MAX 128u

/* Call-tree node; node 0 is the root. (parent, pc) is unique in a profile. Its pc may be a
 * marker. */
struct mt_node {
	uint32_t parent; /* < own id */
	uint32_t pc;
};

#define MT_NO_GROUP 0xffffffffu

struct mt_fold_values; /* core/query/fold.h */

/* The counters of all allocations with one identical backtrace and allocator function: one event
 * changes almost all of them, so they lie side by side. Everything else that is known of a group
 * is a column. A realloc counts as one allocation plus one free here. The sum of several groups
 * is such a struct, too. */
struct mt_group {
	uint32_t node;  /* leaf: its pc is the allocator function */
	uint32_t flags; /* the model's, or those of a sum */
	uint64_t allocated_count, allocated_bytes;
	uint64_t live_count, live_bytes; /* "leaked" once the trace has ended */
	uint64_t temporary_count;        /* freed before the same thread's next allocation */
	uint64_t own_peak_count, own_peak_bytes;
	uint64_t at_peak_count, at_peak_bytes; /* share of the peak of the whole heap */
	union {
		uint64_t peak_epoch; /* of a group: which peak the two above belong to */
		/* of a sum: what its groups' columns add up to; NULL: they have none. Borrowed. */
		struct mt_fold_values *folded;
	};
	uint64_t first_ns, last_ns; /* first and last allocation */
	uint64_t min_size, max_size;
};
_Static_assert(sizeof(struct mt_group) == 120, "an event touches all of it");

/* Of a group's blocks, those that do not count as live but lived at the end of the time range that
 * was asked for: they were freed later, or are suppressed. */
struct mt_late {
	uint64_t count, bytes;
};

/* Of a sum in a sampled recording: how many recorded blocks it is made of, and the variances of its
 * blocks and bytes. */
struct mt_estimate {
	uint64_t samples;
	double blocks, bytes;
};
/* Of a group, in the order of its counters: all that was allocated, what is live, its share of the
 * peak. */
struct mt_estimates {
	struct mt_estimate allocated, live, at_peak;
};

/* What the system has given the process; 0: not known. */
struct mt_memory {
	uint64_t rss_bytes, pss_bytes, swap_bytes;
	uint64_t arena_bytes; /* of glibc's heaps */
};
#define MT_MEMORY(X) X(rss_bytes) X(pss_bytes) X(swap_bytes) X(arena_bytes)

/* One step of the timeline; steps have equal lengths, profile.step_ns. */
struct mt_sample {
	uint64_t live_bytes, live_count; /* at the end of the step */
	uint64_t max_bytes;              /* largest within it */
	uint64_t allocations, frees;     /* within it; reallocs count in both */
	struct mt_memory memory;         /* last known at its end */
};
#define MT_SAMPLES_MAX 2048 /* when reached, pairs are merged and step_ns doubles */

/* What is rare: one entry each, in merge order. values by type; node: the stack with the
 * function of call as its leaf, or 0; text: a string id. */
enum mt_log_type {
	/* address, length, protection | flags << 32, file offset; function mmap, mremap (the
	 * first four values of wire.h), brk */
	MT_LOG_MAP,
	MT_LOG_UNMAP,        /* address, length */
	MT_LOG_UNMAP_FAILED, /* address, length: the thread's last UNMAP of these did not happen */
	MT_LOG_CALL,         /* mallopt: parameter, value, result; malloc_trim: pad, 0, result */
	/* text; number of the allocation before which it was set, plus 1 (0: an old trace does not
	 * say) */
	MT_LOG_MARKER,
	MT_LOG_PAUSE, /* by the program (text, node) or a person (neither) */
	MT_LOG_RESUME,
	MT_LOG_GAP, /* beginning in ns, allocations lost, frees lost; time_ns is its end */
	/* of the trace's size: text; size asked for, bytes needed, what became of it */
	MT_LOG_LIMIT,
	MT_LOG_TYPES,
};
#define MT_LOG_MAX (1u << 20) /* entries; what comes later is counted in info.log_dropped */
#define MT_NO_THREAD 0xffffffffu
struct mt_log_entry {
	uint64_t time_ns;
	uint32_t type;
	uint32_t thread; /* or MT_NO_THREAD */
	uint32_t node, text;
	uint64_t values[4];
};

/* Totals and losses of the whole run. One list feeds info, JSON and the trace; words of what is
 * missing have [one|several] where they differ. The first part is that of traces before version 8,
 * which have the numbers in this order and without names: it does not change any more. */
#define MT_INFO_COUNTS_UNNAMED(X) \
	X(allocations, "successful malloc, calloc, memalign, new …") \
	X(frees, "frees of known blocks, reallocs not counted") \
	X(reallocations, "reallocs of a live block") \
	X(allocated_bytes, "bytes asked for, reallocs included") \
	X(leaked_count, "blocks live now, or at the end") \
	X(leaked_bytes, "bytes live now, or at the end") \
	X(peak_bytes, "largest number of live bytes") \
	X(peak_ns, "when it was reached") \
	X(temporary_count, "freed before the same thread's next allocation") \
	X(events, "records consumed") \
	X(lost_events, "[allocation or free|allocations and frees] known to be missing") \
	X(implied_frees, "free[|s] that must have been lost: the address was allocated again") \
	X(unknown_frees, \
		"free[|s] of [an unknown address|unknown addresses]: see 'memtui errors'") \
	X(inherited_frees, "free[|s] of [a block|blocks] from before a fork") \
	X(cut_stacks, "stack[|s] that could not be followed to the end") \
	X(ambiguous, "event[|s] [ties|tie] with another thread's; order unknown") \
	X(invalid_records, \
		"invalid record[|s] or table entr[y|ies]: the shared memory was damaged, so " \
		"the numbers may be wrong") \
	X(forked_children, \
		"[child or executed program that was|children or executed programs that " \
		"were] not recorded") \
	X(wall_ns, "duration of the run so far") \
	X(unrecorded_frees, "free[|s] of [a block|blocks] allocated during a pause or a gap") \
	X(maps, "mappings made: mmap, growth of the break") \
	X(unmaps, "mappings taken away") \
	X(implied_unmaps, "munmap[|s] that must have been lost: the range was mapped again") \
	X(mapped_anonymous_bytes, "bytes mapped now, or at the end, without a file") \
	X(mapped_file_bytes, "bytes of files mapped now, or at the end") \
	X(mapped_peak_bytes, "largest number of mapped bytes") \
	X(slack_bytes, "bytes of live blocks beyond what was asked for") \
	X(lossy_ns, "last moment at which frees may have been lost; 0: none were") \
	X(log_dropped, \
		"[mapping, call or marker|mappings, calls and markers] dropped: the list is " \
		"full") \
	X(arenas, "arenas of glibc's malloc, as last seen")
#define MT_INFO_COUNTS(X) \
	MT_INFO_COUNTS_UNNAMED(X) \
	X(freed_before_attach, \
		"free[|s] of [a block|blocks] allocated before memtui was attached") \
	X(left_out, "allocations of sizes that were not to be recorded") \
	X(left_out_bytes, "bytes of these")

enum mt_oom_kind { MT_OOM_NONE, MT_OOM_CERTAINLY, MT_OOM_PROBABLY };
enum mt_origin { MT_ORIGIN_UNKNOWN, MT_ORIGIN_EXECUTED, MT_ORIGIN_FORKED, MT_ORIGIN_ATTACHED };

struct mt_info {
#define X(name, words) uint64_t name;
	MT_INFO_COUNTS(X)
#undef X
	uint64_t counters[32]; /* enum mt_counter of wire.h */
	uint64_t start_unix_ns;
	uint32_t pid;
	uint32_t parent, root;  /* processes: 0 unknown; root: of the session */
	uint32_t origin;        /* enum mt_origin: how this image began */
	uint32_t images_before; /* programs that the process ran before, each with a trace */
	int32_t exit_status;    /* as of waitpid, -1: unknown; meaningful when ended */
	uint32_t ended;         /* 1: the program ended and the recording is complete */
	uint32_t stopped;       /* 1: ended, but the program went on: time or room was over */
	uint32_t recorder_lost; /* 1: the trace has no end: its recorder was killed */
	uint64_t file_bytes;
	/* events before it are gone, of which the totals tell; 0: none are */
	uint64_t history_from_ns;
	/* 1: shares of the peak are estimates, since it may lie in lost history; of what matched
	 * alone */
	uint32_t peak_unsure;
	uint64_t resolution_ns; /* of the times of events */
	uint32_t
		clock; /* that of the program's events: enum mt_clock of wire.h + 1; 0: not known */
	uint32_t usable_rule; /* enum mt_usable_rule of wire.h: whether slack_bytes is known */
	/* mean number of bytes between samples, or of allocations: all sums over blocks of the heap
	 * are estimates; both 0: each block is recorded */
	uint64_t sample_bytes, sample_every;
	/* only heap blocks of these sizes are recorded; 0: no bound */
	uint64_t record_min, record_max;
	/* The machine, as the tracer says in its segment's header; 0: not known. */
	uint32_t page_bytes, pointer_bits;
	uint32_t address_bits; /* the low bits of a pointer; no address has more */
	uint32_t big_endian;
	uint64_t tag_mask; /* bits of a pointer that do not belong to its address */
	uint32_t paused;   /* 1: no new blocks are recorded now */
	/* string id: path of the module that provides malloc; 0: not known */
	uint32_t allocator;
	uint64_t vss_bytes, shared_bytes; /* of the process, as last seen; 0: not known */
	uint64_t arena_resident_bytes;    /* of glibc's heaps */
	uint64_t mapped_reserved_bytes;   /* mapped now, or at the end, that may not be touched */
	/* the highest RSS of all samples, and when that was; 0: not known */
	uint64_t peak_rss_bytes, peak_rss_ns;
	/* enum mt_oom_kind: the kernel has ended it by SIGKILL for want of memory; the limit of its
	 * control group, 0: it had none */
	uint32_t oom_killed;
	uint64_t oom_limit_bytes;
	/* the same of a malloc that the program calls past the tracer; 0: none */
	uint32_t patched;   /* functions inside the program whose entries lead to the tracer */
	uint32_t unpatched; /* string id: why none does although there are some; 0: no reason */
	uint32_t own_allocator;
};

/* Something that was not seen (core/model/blind.h). */
struct mt_blind {
	uint32_t reason; /* enum mt_blind_reason of wire.h */
	uint32_t pid;    /* the first process that it is about; 0: not known */
	uint32_t path;   /* string id: the program, or the module with the allocator */
	uint32_t detail; /* string id: the allocator's name; 0: none */
	uint32_t count;  /* processes, or 1; 0: hidden, it turned out not to be so */
	uint64_t bytes;  /* unseen growth: an estimate; else 0 */
};

/* One above the highest address that the program may have. */
static inline uint64_t mt_info_address_end(const struct mt_info *info)
{
	return 1ull << (info->address_bits && info->address_bits < 64 ? info->address_bits : 47);
}

/* The module of the program itself lies below this, libraries above: Linux maps them into the last
 * eighth of the addresses. */
static inline uint64_t mt_info_libraries_begin(const struct mt_info *info)
{
	return mt_info_address_end(info) / 8 * 7;
}

/* Whether blocks are left out by their sizes; and whether some are for any reason, so what came
 * between two events, and what a free that finds no block means, is not known. */
static inline bool mt_info_is_sampled(const struct mt_info *info)
{
	return info->sample_bytes | info->sample_every;
}
static inline bool mt_info_is_gated(const struct mt_info *info)
{
	return info->record_min || info->record_max;
}
static inline bool mt_info_leaves_out(const struct mt_info *info)
{
	return mt_info_is_sampled(info) || mt_info_is_gated(info);
}

/* Blocks that began and blocks that ended, as groups and the timeline count them: a reallocation of
 * a live block ends that block and begins another, so it counts once in each. */
static inline uint64_t mt_info_blocks_begun(const struct mt_info *info)
{
	return info->allocations + info->reallocations;
}
static inline uint64_t mt_info_blocks_ended(const struct mt_info *info)
{
	return info->frees + info->reallocations;
}

/* Whether the recording has its end, and was not broken off. */
static inline bool mt_info_is_whole(const struct mt_info *info)
{
	return info->ended && !info->recorder_lost;
}
/* Whether what is live has leaked: the program's end is in it. Else it was live when the recording
 * ended, or is so far, and may have been freed later. */
static inline bool mt_info_knows_leaks(const struct mt_info *info)
{
	return mt_info_is_whole(info) && !info->stopped;
}

/* Whether blocks lived before the recording began: after a fork, and where a recorder came to a
 * running program. A free that finds no block may then be of one of these, and is no error. */
static inline bool mt_info_begins_within(const struct mt_info *info)
{
	return info->origin == MT_ORIGIN_FORKED || info->origin == MT_ORIGIN_ATTACHED
		|| info->inherited_frees;
}
/* What frees count in that find no block, where no block may be missing for another reason. */
static inline uint64_t *mt_info_unfound(struct mt_info *info)
{
	return info->origin == MT_ORIGIN_ATTACHED ? &info->freed_before_attach
		: mt_info_begins_within(info)     ? &info->inherited_frees
						  : &info->unknown_frees;
}
static inline uint64_t mt_info_unfound_frees(const struct mt_info *info)
{
	return info->unknown_frees + info->inherited_frees + info->freed_before_attach
		+ info->unrecorded_frees;
}

/* Whether all times are estimates, to be shown with a '~'. */
static inline bool mt_info_estimates_times(const struct mt_info *info)
{
	return info->counters[MT_COUNTER_UNKNOWN_RATE] > 0;
}

/* Where blocks of a group were freed, when the stacks of frees are recorded. */
struct mt_free_site {
	uint32_t group;
	uint32_t node; /* leaf: its pc is the function of the free */
	uint64_t count;
};

struct mt_profile {
	struct mt_info info;
	struct mt_strings strings; /* paths, names, arguments */
	uint32_t *arguments;       /* string ids of the command line */
	uint32_t argument_count, argument_capacity;
	struct mt_module *modules;
	uint32_t module_count, module_capacity;
	struct mt_thread *threads;
	uint32_t thread_count, thread_capacity;
	struct mt_domain *domains; /* index = id; so are functions */
	uint32_t domain_count, domain_capacity;
	struct mt_allocator_function *functions;
	uint32_t function_count, function_capacity;
	struct mt_pc *pcs; /* index = pc id; the first MT_PC_FIRST are markers, all zero */
	uint32_t pc_count, pc_capacity;
	struct mt_node *nodes;
	uint32_t node_count, node_capacity;
	struct mt_group *groups;
	uint32_t group_count, group_capacity;
	struct mt_sample *samples;
	uint32_t sample_count, sample_capacity;
	uint64_t step_ns;
	struct mt_log_entry *log;
	uint32_t log_count, log_capacity;
	uint32_t log_most;               /* entries, but for those of MT_LOG_LIMIT; 0: MT_LOG_MAX */
	struct mt_free_site *free_sites; /* each pair once, in order of first use */
	uint32_t free_site_count, free_site_capacity;
	struct mt_blind *blind; /* what was not seen */
	uint32_t blind_count, blind_capacity;
	uint64_t blind_changes; /* counts changes of entries: who writes them sees what is new */
	/* By group, for its metric: what somebody who watched found (core/query/rank.h). Borrowed;
	 * NULL: nobody did. */
	const uint8_t *scores;
	uint32_t score_count;
	struct mt_late *late; /* by group; NULL: there are none */
	/* by group, of a sampled recording; groups beyond have no blocks of their own */
	struct mt_estimates *estimates;
	uint32_t estimate_count, estimate_capacity;
	/* Beside the built-in ones, in order of registration. Names and arrays are owned. */
	struct mt_group_column *columns;
	uint32_t column_count, column_capacity;
	/* The groups are parts of those that the columns tell of, so these are not known. */
	bool columns_unknown;
	/* of the last leak check; NULL: there was none. Owned. */
	struct mt_verdicts *verdicts;
	/* live blocks are those that are lost (core/query/lost.h) */
	bool lost_alone;
	/* Its own since mt_profile_init: while it stays the same, ids keep their meaning. */
	uint64_t lineage;
};

/* An empty profile: root node, marker pcs, predefined domains and functions. */
void mt_profile_init(struct mt_profile *);
/* The command line with blanks, line breaks escaped; caller frees. */
char *mt_profile_command(const struct mt_profile *);
void mt_profile_free(struct mt_profile *);

/* Append; return the new index. Callers have checked what they give (parent < node_count …). */
uint32_t mt_profile_add_module(struct mt_profile *, const struct mt_module *);
uint32_t mt_profile_add_thread(struct mt_profile *, const struct mt_thread *);
uint32_t mt_profile_add_pc(struct mt_profile *, const struct mt_pc *);
uint32_t mt_profile_add_node(struct mt_profile *, uint32_t parent, uint32_t pc);
uint32_t mt_profile_add_group(struct mt_profile *, uint32_t node);
/* The errors of a group's sums, to be changed: good until the next group. */
struct mt_estimates *mt_profile_estimates(struct mt_profile *, uint32_t group);
/* What does not fit any more is counted. */
void mt_profile_add_free_site(struct mt_profile *, const struct mt_free_site *);
void mt_profile_add_log(struct mt_profile *, const struct mt_log_entry *);
/* Copies the names and takes the arrays. Returns NULL, or what is wrong with the column: then it
 * takes nothing. */
const char *mt_profile_add_column(struct mt_profile *, const struct mt_group_column *);

void mt_group_column_free(struct mt_group_column *); /* of a profile: what it owns */

/* ---- functions and domains: every reader asks here ---- */

void mt_profile_predefine(struct mt_profile *); /* part of mt_profile_init */
/* Append; return the new id. There must be room (MT_DOMAINS_MAX, MT_FUNCTIONS_MAX). */
uint32_t mt_profile_add_domain(struct mt_profile *, const struct mt_domain *);
uint32_t mt_profile_add_function(struct mt_profile *, const struct mt_allocator_function *);
/* The pc of a function, as the leaf of its stacks has it; adds it if it is new. */
uint32_t mt_profile_function_pc(struct mt_profile *, uint32_t function);
/* "malloc", "new[]", …; "?" for an id that is not defined. */
const char *mt_profile_function_name(const struct mt_profile *, uint32_t function);
const char *mt_profile_domain_name(const struct mt_profile *, uint32_t domain);

/* Tells whether a string can be the name of a function or a domain: views and lists hold it as it
 * is, so it is not empty and has only printable ASCII, but no comma, semicolon or quote. */
bool mt_profile_is_name(const struct mt_profile *, uint32_t string);
/* Tells whether a domain is predefined, or defined by whoever made the profile. */
static inline bool mt_profile_has_domain(const struct mt_profile *p, uint32_t domain)
{
	return domain < MT_DOMAIN_COUNT || (domain >= MT_DOMAIN_FIRST && domain < p->domain_count);
}
/* An id that is not defined is an unknown function. */
static inline const struct mt_allocator_function *mt_profile_function(const struct mt_profile *p,
	uint32_t function)
{
	return &p->functions[function < p->function_count ? function : MT_FUNCTION_NONE];
}
/* Tells whether the profile defines the function that a pc with MT_PC_FLAG_FUNCTION names. */
static inline bool mt_profile_has_function(const struct mt_profile *p, const struct mt_pc *pc)
{
	return pc->address >= MT_FUNCTION_FIRST && pc->address < p->function_count;
}
/* Tells whether a pc is no program address: a function, or the mark of a cut stack. */
static inline bool mt_profile_is_marker(const struct mt_profile *p, uint32_t pc)
{
	return pc < MT_PC_FIRST || (pc < p->pc_count && p->pcs[pc].flags & MT_PC_FLAG_FUNCTION);
}
/* Of a marker: the function, or the marker itself if it is none. */
static inline uint32_t mt_profile_marker_function(const struct mt_profile *p, uint32_t pc)
{
	return pc < MT_PC_FIRST ? pc : (uint32_t)p->pcs[pc].address;
}
/* Tells whether the function can begin a block. */
static inline bool mt_profile_allocates(const struct mt_profile *p, uint32_t function)
{
	unsigned role = mt_profile_function(p, function)->role;

	return role == MT_CALL_ALLOCATE || role == MT_CALL_REALLOCATE;
}
/* The function that a node with a marker names. */
static inline uint32_t mt_profile_node_function(const struct mt_profile *p, uint32_t node)
{
	return mt_profile_marker_function(p, p->nodes[node].pc);
}
static inline unsigned mt_profile_group_function(const struct mt_profile *p, uint32_t group)
{
	return mt_profile_node_function(p, p->groups[group].node);
}
static inline uint32_t mt_profile_group_domain(const struct mt_profile *p, uint32_t group)
{
	return mt_profile_function(p, mt_profile_group_function(p, group))->domain;
}
/* The address of a block that the domain knows by this key. */
static inline uint64_t mt_domain_address(const struct mt_domain *d, uint64_t key)
{
	uint64_t above = d->address_bits < 64 ? ~0ull << d->address_bits : 0;

	return key >> 63 ? key | above : key & ~above;
}
/* Tells whether usable sizes of the group's blocks follow from their sizes by info.usable_rule. */
static inline bool mt_profile_has_usable(const struct mt_profile *p, uint32_t group)
{
	return p->domains[mt_profile_group_domain(p, group)].flags & MT_DOMAIN_USABLE;
}
/* Live at the end of the time range; live at the end of the recording if none was asked for. */
static inline uint64_t mt_profile_range_live_count(const struct mt_profile *p, uint32_t group)
{
	return p->groups[group].live_count + (p->late ? p->late[group].count : 0);
}
static inline uint64_t mt_profile_range_live_bytes(const struct mt_profile *p, uint32_t group)
{
	return p->groups[group].live_bytes + (p->late ? p->late[group].bytes : 0);
}
/* The function of a log entry; MT_FUNCTION_NONE where it has no stack. */
static inline unsigned mt_profile_log_function(const struct mt_profile *p,
	const struct mt_log_entry *e)
{
	return e->node ? mt_profile_node_function(p, e->node) : MT_FUNCTION_NONE;
}
/* Tells whether blocks that a may allocate may be freed by b: the rule of mismatched frees. */
static inline bool mt_functions_agree(const struct mt_allocator_function *a,
	const struct mt_allocator_function *b)
{
	if (a->role < MT_CALL_ALLOCATE || a->role > MT_CALL_FREE || b->role < MT_CALL_ALLOCATE
		|| b->role > MT_CALL_FREE)
		return true; /* not known, or neither allocates nor frees */
	return a->domain == b->domain && (!a->family || !b->family || a->family == b->family);
}

/* In the flags of a sum of groups: one of them has blocks that may be free, since frees were
 * lost. */
#define MT_GROUP_ESTIMATED 0x100u
/* Whether blocks of the group that count as live may be free: their frees may have been lost. */
static inline bool mt_profile_is_estimated(const struct mt_profile *p, const struct mt_group *g)
{
	if (g->flags & MT_GROUP_ESTIMATED)
		return true;
	return g->live_count && p->info.lossy_ns && g->first_ns <= p->info.lossy_ns;
}
const char *mt_origin_name(unsigned origin); /* "exec", "fork", "attach", "unknown" */

#endif
