/* Questions to a profile: which groups, in which order, as which tree, over which time.
 * Everything here works alike on a finished trace and on a live snapshot. */
#ifndef MT_QUERY_QUERY_H
#define MT_QUERY_QUERY_H

#include "core/base/err.h"
#include "core/model/profile.h"
#include "core/symbol/symbol.h"

/* ---- columns of groups: one registry for lists, orders, filters, folds, reports and help ----
 * The built-in ones: X(id, JSON name, heading, words, unit, fold rule, value, what makes it an
 * estimate, whether JSON has it, the column beside it or -1). JSON has what does not depend on the
 * present time. A profile can have more (core/model/group_column.h): their numbers follow. */
#define MT_METRICS(X) \
	X(LEAKED_SIZE, "leaked_size", "LEAKED", "bytes not freed", BYTES, SUM, \
		COUNTER(live_bytes), LIVE, true, MT_METRIC_LEAKED_COUNT) \
	X(LEAKED_COUNT, "leaked_count", "BLOCKS", "blocks not freed", COUNT, SUM, \
		COUNTER(live_count), LIVE, true, MT_METRIC_LEAKED_SIZE) \
	X(SIZE, "size", "ALLOCATED", "total bytes allocated", BYTES, SUM, \
		COUNTER(allocated_bytes), NONE, true, MT_METRIC_ALLOCATED_COUNT) \
	X(ALLOCATED_COUNT, "allocated_count", "ALLOCS", "total allocations", COUNT, SUM, \
		COUNTER(allocated_count), NONE, true, MT_METRIC_SIZE) \
	X(AT_PEAK_SIZE, "at_peak_size", "AT PEAK", "bytes live at the peak of the heap", BYTES, \
		SUM, COUNTER(at_peak_bytes), PEAK, true, MT_METRIC_AT_PEAK_COUNT) \
	X(AT_PEAK_COUNT, "at_peak_count", "PK BLKS", "blocks live at the peak of the heap", COUNT, \
		SUM, COUNTER(at_peak_count), PEAK, true, MT_METRIC_AT_PEAK_SIZE) \
	X(OWN_PEAK_SIZE, "own_peak_size", "OWN PEAK", "largest number of live bytes of the group", \
		BYTES, SUM, COUNTER(own_peak_bytes), OWN_PEAK, true, MT_METRIC_OWN_PEAK_COUNT) \
	X(OWN_PEAK_COUNT, "own_peak_count", "OWN BLKS", \
		"largest number of live blocks of the group", COUNT, SUM, COUNTER(own_peak_count), \
		OWN_PEAK, true, MT_METRIC_OWN_PEAK_SIZE) \
	X(TEMPORARY_COUNT, "temporary_count", "TEMP", "freed before the thread's next allocation", \
		COUNT, SUM, COUNTER(temporary_count), NONE, true, MT_METRIC_SIZE) \
	X(MIN_SIZE, "min_size", "MIN", "smallest block", BYTES, MIN, COUNTER(min_size), NONE, \
		true, -1) \
	X(MAX_SIZE, "max_size", "MAX", "largest block", BYTES, MAX, COUNTER(max_size), NONE, true, \
		-1) \
	X(MIN_TIMESTAMP, "min_timestamp", "FIRST", "time of the first allocation", TIME, MIN, \
		COUNTER(first_ns), TIMES, true, -1) \
	X(MAX_TIMESTAMP, "max_timestamp", "LAST", "time of the last allocation", TIME, MAX, \
		COUNTER(last_ns), TIMES, true, -1) \
	X(INTERVAL, "interval", "SPAN", "from first to last allocation", TIME, COMPUTED, \
		COMPUTED(interval), TIMES, false, -1) \
	X(AGE, "age", "AGE", "since the first allocation", TIME, COMPUTED, COMPUTED(age), TIMES, \
		false, -1) \
	X(GROWTH, "growth", "GROWTH", "bytes leaked per second since the first allocation", BYTES, \
		COMPUTED, COMPUTED(growth), LIVE, false, -1) \
	X(SUSPECT, "suspect", "SUSPECT", "leak score, 0 to 100", COUNT, MAX, COMPUTED(suspect), \
		SCORE, false, -1) \
	X(RANGE_LIVE_SIZE, "range_live_size", "LIVE@TO", \
		"bytes live at the end of the time range", BYTES, SUM, COMPUTED(range_live_size), \
		LIVE, true, -1) \
	X(RANGE_LIVE_COUNT, "range_live_count", "BLKS@TO", \
		"blocks live at the end of the time range", COUNT, SUM, \
		COMPUTED(range_live_count), LIVE, true, -1) \
	X(RANGE_FREED_SIZE, "range_freed_size", "FREED", "bytes freed within the time range", \
		BYTES, SUM, COMPUTED(range_freed_size), LIVE, true, -1) \
	X(RANGE_FREED_COUNT, "range_freed_count", "FREES", "blocks freed within the time range", \
		COUNT, SUM, COMPUTED(range_freed_count), LIVE, true, -1)

enum mt_metric {
#define X(id, ...) MT_METRIC_##id,
	MT_METRICS(X) MT_METRIC_COUNT,
#undef X
	MT_METRIC_NONE = 0x10000 /* a column that the profile does not have */
};
/* What can make a value an estimate: nothing; frees were lost; the peak may lie in lost history;
 * the groups' peaks need not have been at one time; it is made from totals alone; the rate of the
 * clock is not known. */
enum mt_doubt {
	MT_DOUBT_NONE,
	MT_DOUBT_LIVE,
	MT_DOUBT_PEAK,
	MT_DOUBT_OWN_PEAK,
	MT_DOUBT_SCORE,
	MT_DOUBT_TIMES
};
#define MT_METRICS_MAX (MT_METRIC_COUNT + MT_COLUMNS_MAX)
/* Everywhere a profile may be NULL here: then there are the built-in columns alone. */
uint32_t mt_metric_count(const struct mt_profile *);
const struct mt_group_column *mt_metric_info(const struct mt_profile *, enum mt_metric);
/* Registers a column: as mt_profile_add_column, and refuses the names of built-in columns and of
 * fields of a filter. */
const char *mt_metric_add(struct mt_profile *, const struct mt_group_column *);
int mt_metric_find(const struct mt_profile *, const char *name); /* metric, or -1 */
const char *mt_metric_name_at(const void *profile, int i);       /* for mt_nearest */
/* Returns true if the value of several groups is the sum of theirs, so that there are shares. */
bool mt_metric_sums(const struct mt_profile *, enum mt_metric);
bool mt_metric_in_json(enum mt_metric);
/* Blocks beside bytes, bytes beside blocks; -1: none is better than another. */
int mt_metric_beside(enum mt_metric);
/* The same column in another profile, or MT_METRIC_NONE. */
enum mt_metric mt_metric_in(const struct mt_profile *to, const struct mt_profile *from,
	enum mt_metric);
/* Above a column. Of what was not freed that is LIVE, unless it is known to have leaked. */
const char *mt_metric_heading(const struct mt_profile *, enum mt_metric, bool leaks_known);

/* group: of the profile, or a sum of its groups (core/query/fold.h). Of a histogram: what 99 of 100
 * do not exceed. 0 if the value is not known. */
uint64_t mt_metric_value(const struct mt_profile *, const struct mt_group *, enum mt_metric);
/* A histogram's buckets up to the last that is not empty; NULL: it is none. */
const uint64_t *mt_metric_buckets(const struct mt_profile *, const struct mt_group *,
	enum mt_metric, uint32_t *count);
/* The errors of a group's sums, or of a sum's; NULL: each block was recorded, or it is not
 * known. */
const struct mt_estimates *mt_metric_estimates(const struct mt_profile *, const struct mt_group *);
/* From how many recorded blocks a value was made; UINT64_MAX: it is no sum of samples. */
uint64_t mt_metric_samples(const struct mt_profile *, const struct mt_group *, enum mt_metric);
/* Whether the column has an error for each group. */
bool mt_metric_has_errors(const struct mt_profile *, enum mt_metric);
#define MT_SAMPLES_FEW 10u /* below it no error is shown: it would itself be a guess */
/* The standard error of an estimate; negative: the column has no errors. */
double mt_metric_error(const struct mt_profile *, const struct mt_group *, enum mt_metric);
bool mt_metric_is_known(const struct mt_profile *, const struct mt_group *, enum mt_metric);
/* Returns true if the value is to be marked as an estimate. */
bool mt_metric_is_estimated(const struct mt_profile *, const struct mt_group *, enum mt_metric);
static inline bool mt_profile_has_group(const struct mt_profile *p, const struct mt_group *group)
{
	return group >= p->groups && group < p->groups + p->group_count;
}

/* What sums have beside their counters is kept here, by whoever owns the sums (core/query/fold.h).
 * Starts zeroed. */
struct mt_folds {
	struct mt_fold_chunk *chunk;
	size_t left;
	bool suspects; /* fold leak scores, too: without samples that takes a while */
};

/* Of several groups, whose own peaks need not have been at one time: the sum of own peaks is an
 * upper bound. */
#define MT_GROUP_SUMMED 0x200u
/* Of blocks that were only counted: what they were at a peak is not known. */
#define MT_GROUP_NO_PEAKS 0x400u
/* Its suspect is set, the highest of its groups'; that is an estimate. */
#define MT_GROUP_SUSPECT 0x800u
#define MT_GROUP_SUSPECT_ESTIMATED 0x1000u

/* ---- filter: one list of fields for CLI options, the prompt, its completion and the manual ----
 * X(id, name, kind, scope, choices, words). min and max are inclusive; all fields combine with and.
 * Kinds: REGEX; TIME a moment, or a percentage of the run; SPAN; BYTES; COUNT; COUNT_OR_PERCENT of
 * the group's allocations; SPAN_OR_PERCENT of the run; CHOICE "a|b|c"; THREAD its id or name;
 * MARKER text; ADDRESS; FUNCTIONS, DOMAINS names with commas between them.
 * Scopes: what must be known to answer, see enum mt_filter_scope. */
#define MT_FILTER_LIFETIMES \
	"all|only_leaked|only_not_deallocated_in_current_range|only_deallocated_in_current_range|" \
	"only_temporary|only_short_lived|only_whole_group_leaked|only_chain_leaked"
#define MT_FILTER_FIELDS(X) \
	X(FUNCTION_REGEX, "function_regex", REGEX, GROUP, NULL, \
		"only backtraces in which the name of a function matches") \
	X(SOURCE_REGEX, "source_regex", REGEX, GROUP, NULL, \
		"only backtraces in which the name of a source file matches") \
	X(MODULE_REGEX, "module_regex", REGEX, GROUP, NULL, \
		"only backtraces in which the path of a module matches") \
	X(NEGATIVE_FUNCTION_REGEX, "negative_function_regex", REGEX, GROUP, NULL, \
		"only backtraces in which no function matches") \
	X(NEGATIVE_SOURCE_REGEX, "negative_source_regex", REGEX, GROUP, NULL, \
		"only backtraces in which no source file matches") \
	X(NEGATIVE_MODULE_REGEX, "negative_module_regex", REGEX, GROUP, NULL, \
		"only backtraces in which no module matches") \
	X(GROUP, "group", COUNT, GROUP, NULL, \
		"only this group, by its number in the table of groups") \
	X(ALLOCATED_BY, "allocated_by", FUNCTIONS, GROUP, NULL, \
		"only blocks allocated by this function (the KIND of a group), or by one of " \
		"several with commas between them: malloc,calloc") \
	X(DOMAIN, "domain", DOMAINS, GROUP, NULL, \
		"only blocks of this domain, or of one of several with commas between them: " \
		"heap, pool (blocks reported by memtui.h), or one that the trace defines") \
	X(FROM, "from", TIME, ALLOCATION, NULL, "only allocations made at this time or later") \
	X(TO, "to", TIME, ALLOCATION, NULL, "only allocations made at this time or earlier") \
	X(LIFETIME, "lifetime", CHOICE, END, MT_FILTER_LIFETIMES, \
		"only_leaked: blocks that were not freed; only_deallocated_in_current_range, " \
		"only_not_deallocated_in_current_range: blocks that were, or were not, freed " \
		"between --from and --to; only_temporary: blocks that were freed; " \
		"only_short_lived: blocks freed before the thread's next allocation; " \
		"only_whole_group_leaked: groups that freed no block; only_chain_leaked: chains " \
		"of reallocs whose last block was not freed; all: every block, the default") \
	X(SIZE_MIN, "size_min", BYTES, ALLOCATION, NULL, "only blocks of at least this size") \
	X(SIZE_MAX, "size_max", BYTES, ALLOCATION, NULL, "only blocks of at most this size") \
	X(LIFETIME_MIN, "lifetime_min", SPAN, END, NULL, \
		"only blocks that lived at least this long; " \
		"a block that was not freed lives until the end of the recording") \
	X(LIFETIME_MAX, "lifetime_max", SPAN, END, NULL, \
		"only blocks that lived at most this long") \
	X(THREAD, "thread", THREAD, ALLOCATION, NULL, \
		"only allocations by the threads with this name, or by the thread with this id") \
	X(MARKER, "marker", MARKER, ALLOCATION, NULL, \
		"only allocations made after this marker was set and before the next one") \
	X(ALIVE_AT, "alive_at", TIME, END, NULL, \
		"only blocks that were live at this time; 'peak' is the peak of the heap") \
	X(ALIVE_AT_2, "alive_at_2", TIME, END, NULL, \
		"with --alive-at: only blocks that were not live at this time too") \
	X(ADDRESS_MIN, "address_min", ADDRESS, ALLOCATION, NULL, \
		"only blocks that begin at this address or above") \
	X(ADDRESS_MAX, "address_max", ADDRESS, ALLOCATION, NULL, \
		"only blocks that begin at this address or below") \
	X(FIRST_SIZE_MIN, "first_size_min", BYTES, CHAIN, NULL, \
		"only blocks of chains of reallocs whose first block had at least this size") \
	X(FIRST_SIZE_MAX, "first_size_max", BYTES, CHAIN, NULL, \
		"only blocks of chains whose first block had at most this size") \
	X(LAST_SIZE_MIN, "last_size_min", BYTES, CHAIN, NULL, \
		"only blocks of chains whose last block had at least this size") \
	X(LAST_SIZE_MAX, "last_size_max", BYTES, CHAIN, NULL, \
		"only blocks of chains whose last block had at most this size") \
	X(CHAIN_LIFETIME_MIN, "chain_lifetime_min", SPAN, CHAIN, NULL, \
		"only blocks of chains that lived at least this long, from the first block's " \
		"allocation to the last one's free") \
	X(CHAIN_LIFETIME_MAX, "chain_lifetime_max", SPAN, CHAIN, NULL, \
		"only blocks of chains that lived at most this long") \
	X(CHAIN_LENGTH_MIN, "chain_length_min", COUNT, CHAIN, NULL, \
		"only blocks of chains of at least this many blocks; one that was never " \
		"reallocated is a chain of one") \
	X(CHAIN_LENGTH_MAX, "chain_length_max", COUNT, CHAIN, NULL, \
		"only blocks of chains of at most this many blocks") \
	X(POSITION_IN_CHAIN_MIN, "position_in_chain_min", COUNT, CHAIN, NULL, \
		"only blocks at this place of their chain or behind it; the first is 1") \
	X(POSITION_IN_CHAIN_MAX, "position_in_chain_max", COUNT, CHAIN, NULL, \
		"only blocks at this place of their chain or before it") \
	X(BACKTRACE_DEPTH_MIN, "backtrace_depth_min", COUNT, GROUP, NULL, \
		"only backtraces of at least this many frames, inlined ones included") \
	X(BACKTRACE_DEPTH_MAX, "backtrace_depth_max", COUNT, GROUP, NULL, \
		"only backtraces of at most this many frames") \
	X(GROUP_INTERVAL_MIN, "group_interval_min", SPAN_OR_PERCENT, GROUP, NULL, \
		"only groups with at least this time between the first and the last allocation; " \
		"the --group filters look at whole groups, whatever the other filters select") \
	X(GROUP_INTERVAL_MAX, "group_interval_max", SPAN_OR_PERCENT, GROUP, NULL, \
		"only groups with at most this time between the first and the last allocation") \
	X(GROUP_ALLOCATIONS_MIN, "group_allocations_min", COUNT, GROUP, NULL, \
		"only groups of at least this many allocations") \
	X(GROUP_ALLOCATIONS_MAX, "group_allocations_max", COUNT, GROUP, NULL, \
		"only groups of at most this many allocations") \
	X(GROUP_LEAKED_ALLOCATIONS_MIN, "group_leaked_allocations_min", COUNT_OR_PERCENT, GROUP, \
		NULL, \
		"only groups with at least N allocations, or N% of them, that were not freed") \
	X(GROUP_LEAKED_ALLOCATIONS_MAX, "group_leaked_allocations_max", COUNT_OR_PERCENT, GROUP, \
		NULL, \
		"only groups with at most N allocations, or N% of them, that were not freed") \
	X(MMAPPED, "mmapped", CHOICE, ALLOCATION, "yes|no", \
		"yes: only blocks for which glibc's malloc made a separate mapping; no: only " \
		"other blocks") \
	X(ARENA, "arena", CHOICE, ALLOCATION, "main|thread", \
		"main: only blocks in the main heap of glibc's malloc; thread: only blocks in " \
		"the heaps that it makes for threads") \
	X(VERDICT, "verdict", CHOICE, END, "lost|indirect|possible|reachable", \
		"only blocks that are definitely lost, indirectly lost, possibly lost or still " \
		"reachable, by the leak check of the recording (record --leak-check)") \
	X(TEMPORARY_THRESHOLD, "temporary_threshold", COUNT, ALLOCATION, NULL, \
		"count blocks as temporary that were freed after at most N further allocations " \
		"of their thread; 0 by default")
enum mt_filter_field {
#define X(id, name, kind, scope, choices, words) MT_FILTER_##id,
	MT_FILTER_FIELDS(X) MT_FILTER_COUNT,
#undef X
};
enum mt_filter_kind {
	MT_FILTER_KIND_REGEX,
	MT_FILTER_KIND_TIME,
	MT_FILTER_KIND_SPAN,
	MT_FILTER_KIND_BYTES,
	MT_FILTER_KIND_COUNT,
	MT_FILTER_KIND_COUNT_OR_PERCENT,
	MT_FILTER_KIND_SPAN_OR_PERCENT,
	MT_FILTER_KIND_CHOICE,
	MT_FILTER_KIND_THREAD,
	MT_FILTER_KIND_MARKER,
	MT_FILTER_KIND_ADDRESS,
	MT_FILTER_KIND_FUNCTIONS,
	MT_FILTER_KIND_DOMAINS,
};
enum mt_filter_scope {
	MT_FILTER_SCOPE_GROUP,      /* the groups' totals */
	MT_FILTER_SCOPE_ALLOCATION, /* events, but no end */
	MT_FILTER_SCOPE_END,        /* when the block was freed or reallocated */
	MT_FILTER_SCOPE_CHAIN,      /* the end of the chain of reallocs */
};
struct mt_filter_info {
	const char *name, *words;
	enum mt_filter_kind kind;
	enum mt_filter_scope scope;
	const char *choices; /* NULL: any value of its kind */
};
const struct mt_filter_info *mt_filter_info(enum mt_filter_field);
int mt_filter_find(const char *name); /* accepts dashes for underscores; field or -1 */

struct mt_filter;
struct mt_filter *mt_filter_new(void);
/* Text may also name the columns of the profile, which is borrowed while text is read. */
struct mt_filter *mt_filter_new_of(const struct mt_profile *);
void mt_filter_name_columns(struct mt_filter *, const struct mt_profile *);
/* Nobody knows the columns yet: words that may be about one are passed over from now on. Returns
 * true if there were any, so that the text is to be read again. */
bool mt_filter_pass_over(struct mt_filter *);
void mt_filter_free(struct mt_filter *);
/* text NULL or "": field off. Regexes: PCRE2 with JIT, a match limit, smart case (no capital in the
 * pattern: caseless). On error the field keeps its old value; err says where in the text and what
 * was expected. */
int mt_filter_set(struct mt_filter *, enum mt_filter_field, const char *text, struct mt_err *err);
/* The same, but a value that the field has already must hold too. Two regexes can match different
 * frames. */
int mt_filter_add(struct mt_filter *, enum mt_filter_field, const char *text, struct mt_err *err);
const char *mt_filter_get(const struct mt_filter *, enum mt_filter_field); /* NULL when off */
bool mt_filter_active(const struct mt_filter *);
/* Whether the fields contradict each other, as far as it can be told without a profile: -EINVAL. To
 * be asked after the last mt_filter_set; mt_filter_parse asks by itself. */
int mt_filter_check(const struct mt_filter *, struct mt_err *err);
/* What a field's value is to be, with an example: for errors. */
const char *mt_filter_expected(enum mt_filter_field);
/* The prompt's language: words separated by blanks, each field:value, !field:value or a bare regex
 * (function); "-word" or "!word" negative function; quotes keep blanks; size>=1k, size<4k,
 * size:1k..4k for what has a min and a max, and for columns of groups. What a field is given twice
 * must hold both times.
 * Replaces all fields; on error nothing changes. */
int mt_filter_parse(struct mt_filter *, const char *text, struct mt_err *err);
/* Adds the words to what the filter asks already; mt_filter_check is to be asked behind the
 * last. */
int mt_filter_add_words(struct mt_filter *, const char *text, struct mt_err *err);
char *mt_filter_text(const struct mt_filter *); /* the same language; caller frees */

/* What could stand at the cursor (bytes) of a text in the prompt's language, in place of
 * text[from..to). */
struct mt_filter_candidate {
	char *text;        /* with the field's operator, or with the blank behind a whole word */
	const char *words; /* static, may be "" */
	uint32_t groups;   /* of a function: that it occurs in; 0: not counted */
};
struct mt_filter_candidates {
	uint32_t from, to;
	struct mt_filter_candidate *items;
	uint32_t count, capacity;
	/* what the value at the cursor should be, where it is none of a list; or NULL. static */
	const char *expected;
};
/* In how many groups each function occurs. */
struct mt_filter_functions {
	const struct mt_symbols *symbols; /* borrowed; they may grow meanwhile */
	uint32_t *groups;                 /* by the name's string */
	uint32_t count;
};
/* f: zeroed, or of an earlier call. */
void mt_filter_functions_make(struct mt_filter_functions *f, const struct mt_profile *,
	const struct mt_symbols *);
void mt_filter_functions_free(struct mt_filter_functions *);
/* profile: names of threads and markers; functions: those that regexes may name; both may be NULL.
 * out: zeroed, or of an earlier call. */
void mt_filter_complete(const char *text, uint32_t cursor, const struct mt_profile *,
	const struct mt_filter_functions *, struct mt_filter_candidates *out);
void mt_filter_candidates_free(struct mt_filter_candidates *);

/* ---- selection: which groups match, in order ---- */
struct mt_selection {
	uint32_t *groups; /* group ids, sorted */
	uint32_t count, capacity;
	struct mt_group sum; /* of all of them, by each column's rule */
	struct mt_folds folds;
};
/* filter may be NULL; one that needs events (filter_match.h) is refused: mt_match (scan.h) answers
 * it, and its profile is selected from without a filter. Results of regexes per string are cached
 * in the filter (by symbols' generation). Ties by group id. */
int mt_select(struct mt_selection *, const struct mt_profile *, const struct mt_symbols *,
	struct mt_filter *, enum mt_metric sort, bool ascending, struct mt_err *err);
/* The same, sorted by the metric as it is in another profile with the same groups. */
int mt_select_by(struct mt_selection *, const struct mt_profile *, const struct mt_profile *by,
	const struct mt_symbols *, struct mt_filter *, enum mt_metric sort, bool ascending,
	struct mt_err *err);
void mt_selection_free(struct mt_selection *);

/* ---- backtrace of a group, expanded, innermost first, without the function ---- */
struct mt_backtrace_frame {
	uint32_t pc; /* pc id; MT_PC_CUT: "stack cut here" */
	/* never NULL, "" = unknown; borrowed */
	const char *function, *raw_function, *source, *module;
	uint32_t line;
	uint64_t offset; /* address - bias */
	uint8_t judged;  /* MT_JUDGED_ of its function */
	/* of one without a name: what calls it and is exported by its library; or NULL */
	const char *caller;
	/* bytes behind the beginning of the function, plus 1; 0: not known, or inlined */
	uint32_t into;
	bool inlined;
	/* no call frame information: its caller is where the frame pointer says, frames may be
	 * missing */
	bool by_frame_pointer;
};
struct mt_backtrace {
	struct mt_backtrace_frame *frames;
	uint32_t count, capacity;
};
void mt_backtrace_get(struct mt_backtrace *, const struct mt_profile *, const struct mt_symbols *,
	uint32_t group);
/* Of a node whose pc is a function: an entry of the log, a place of frees. */
void mt_backtrace_of(struct mt_backtrace *, const struct mt_profile *, const struct mt_symbols *,
	uint32_t node);
/* Where it is, as lists say: the innermost frame that is neither a usual library's nor a wrapper of
 * malloc (wrappers.h). Functions without a name that a wrapper calls are parts of it. Of libraries
 * and wrappers alone: the innermost that is no wrapper. NULL: there is no frame. */
const struct mt_backtrace_frame *mt_backtrace_own(const struct mt_backtrace *);
void mt_backtrace_free(struct mt_backtrace *);

/* ---- call tree over a selection, by function ---- */
#define MT_NO_NODE 0xffffffffu
struct mt_tree_node {
	uint32_t parent; /* MT_NO_NODE: none */
	/* MT_NO_NODE: none; children, once expanded, by the tree's metric, descending */
	uint32_t first_child, next_sibling;
	uint32_t pc; /* one pc of it, for module and offset */
	/* index into symbols->frames, or MT_NO_NODE when unresolved; its line is that of the
	 * heaviest caller */
	uint32_t frame;
	uint32_t depth;
	uint32_t group; /* a group whose innermost frame this is, or MT_NO_GROUP */
	bool expanded;  /* children were made */
	/* children with a value of the tree's metric that is not 0: the first ones */
	uint32_t child_count;
	uint64_t children_value; /* what the metric's values of all children add up to */
	struct mt_group total;   /* sums over all groups below and here (node field unused) */
	struct mt_group self;    /* groups that end here: allocated directly in this function */
};
struct mt_tree;
/* Inverted trees have the allocating functions as roots, and their callers as children. The first
 * kind begins at the innermost frames, the second where a group is (mt_backtrace_own): what leads
 * on from there to malloc is part of the root. */
enum mt_tree_kind { MT_TREE_TOP_DOWN, MT_TREE_INVERTED, MT_TREE_FROM_OWN };
/* Children are made on demand: what a tree costs goes by what is looked at of it, with a pass over
 * the profile's nodes. Profile and symbols are borrowed, and must not change. */
struct mt_tree *mt_tree_new(const struct mt_profile *, const struct mt_symbols *,
	const struct mt_selection *, enum mt_tree_kind, enum mt_metric sort);
/* The same in the memory of a tree that is no more wanted (NULL: none): fetching it takes as long
 * as the building. */
struct mt_tree *mt_tree_again(struct mt_tree *, const struct mt_profile *,
	const struct mt_symbols *, const struct mt_selection *, enum mt_tree_kind,
	enum mt_metric sort);
uint32_t mt_tree_count(const struct mt_tree *); /* nodes made so far */
enum mt_metric mt_tree_metric(const struct mt_tree *);
uint32_t mt_tree_root(const struct mt_tree *); /* a root that stands for the whole selection */
/* valid until the next expand */
const struct mt_tree_node *mt_tree_get(const struct mt_tree *, uint32_t node);
/* makes its children known (no-op where they are) */
void mt_tree_expand(struct mt_tree *, uint32_t node);
void mt_tree_expand_all(struct mt_tree *);
bool mt_tree_inverted(const struct mt_tree *); /* of either kind */
/* Only functions of libraries and wrappers of malloc are below, and this is the program's own
 * function or one that it calls. False for what calls nothing, and in an inverted tree. */
bool mt_tree_ends_here(struct mt_tree *, uint32_t node);
/* Each group that passes through a node other than the root, once; where in its stack that is: at
 * which of the profile's nodes, at which frame of its pc, 0 the innermost. */
typedef void mt_tree_visitor(void *context, uint32_t group, uint32_t profile_node, uint32_t frame);
void mt_tree_visit(const struct mt_tree *, uint32_t node, mt_tree_visitor *, void *context);
void mt_tree_label(const struct mt_tree *, uint32_t node, struct mt_backtrace_frame *out);
void mt_tree_free(struct mt_tree *);

/* ---- timeline: the profile's samples as columns, each of whole steps: nothing is made up between
 * them ---- */
struct mt_timeline {
	uint32_t count;
	uint64_t from_ns, to_ns;
	struct mt_sample *columns; /* live at the end, max within, rates summed */
	uint32_t first_step, steps;
	uint64_t step_ns, end_ns; /* end_ns: of the last column */
};
/* As many columns as asked for or as there are steps, each step in one of them. to_ns before the
 * end of the run: of what was allocated in the range, the last column is what was live at to_ns. */
void mt_timeline_of_steps(struct mt_timeline *, const struct mt_profile *, uint64_t from_ns,
	uint64_t to_ns, uint32_t columns);
/* As many columns as asked for, as a picture wants them; those of mt_timeline_of_steps where there
 * are steps enough, else a step stands in several. */
void mt_timeline_get(struct mt_timeline *, const struct mt_profile *, uint64_t from_ns,
	uint64_t to_ns, uint32_t columns);
/* The same without values: where the columns are. */
void mt_timeline_lay(struct mt_timeline *, const struct mt_profile *, uint64_t from_ns,
	uint64_t to_ns, uint32_t columns);
/* The end of a picture of a run that goes on, in so many columns: at its present end or behind it,
 * so that each column has as many steps as all others, and shows the same until the picture is
 * full. */
uint64_t mt_timeline_growing_end(const struct mt_profile *, uint32_t columns);
/* The columns of a picture that have begun: behind the end of the run nothing is known. */
uint32_t mt_timeline_seen(const struct mt_timeline *, const struct mt_profile *);
/* The next of 1, 2, 3, 4, 6, 8, 12 ..., so that the scale of what grows seldom changes. */
uint64_t mt_timeline_round(uint64_t value);
/* When a picture's column begins, within [from_ns, to_ns]; column may be count. The column of an
 * instant. */
uint64_t mt_timeline_edge(const struct mt_timeline *, uint32_t column);
uint32_t mt_timeline_column(const struct mt_timeline *, uint64_t ns);
/* Two values a column: the most within the first and the second half of its steps. */
void mt_timeline_halves(const struct mt_timeline *, const struct mt_profile *, uint64_t *most);
/* The steps that a column shows, [first, last]; when the first begins, when the last ends. */
void mt_timeline_steps(const struct mt_timeline *, uint32_t column, uint32_t *first,
	uint32_t *last);
uint64_t mt_timeline_begin(const struct mt_timeline *, uint32_t column);
uint64_t mt_timeline_end(const struct mt_timeline *, uint32_t column);
void mt_timeline_free(struct mt_timeline *);

#endif
