/* Questions to a profile: which groups, in which order, as which tree, over which time.
 * Everything here works alike on a finished trace and on a live snapshot. */
#ifndef MT_QUERY_QUERY_H
#define MT_QUERY_QUERY_H

#include "core/base/err.h"
#include "core/model/profile.h"
#include "core/symbol/symbol.h"

/* ---- metrics: one list for columns, sort menus, --sort and JSON ----
 * X(id, json name, short heading, words, unit) ; unit: COUNT BYTES TIME */
#define MT_METRICS(X) \
	X(LEAKED_SIZE, "leaked_size", "LEAKED", "bytes not freed", BYTES) \
	X(LEAKED_COUNT, "leaked_count", "BLOCKS", "blocks not freed", COUNT) \
	X(SIZE, "size", "ALLOCATED", "bytes allocated in all", BYTES) \
	X(ALLOCATED_COUNT, "allocated_count", "ALLOCS", "allocations in all", COUNT) \
	X(AT_PEAK_SIZE, "at_peak_size", "AT PEAK", "bytes live at the peak of the heap", BYTES) \
	X(AT_PEAK_COUNT, "at_peak_count", "PK BLKS", "blocks live at the peak of the heap", COUNT) \
	X(OWN_PEAK_SIZE, "own_peak_size", "OWN PEAK", "largest number of live bytes of the group", BYTES) \
	X(OWN_PEAK_COUNT, "own_peak_count", "OWN BLKS", "largest number of live blocks of the group", COUNT) \
	X(TEMPORARY_COUNT, "temporary_count", "TEMP", "freed before the thread's next allocation", COUNT) \
	X(MIN_SIZE, "min_size", "MIN", "smallest block", BYTES) \
	X(MAX_SIZE, "max_size", "MAX", "largest block", BYTES) \
	X(MIN_TIMESTAMP, "min_timestamp", "FIRST", "time of the first allocation", TIME) \
	X(MAX_TIMESTAMP, "max_timestamp", "LAST", "time of the last allocation", TIME) \
	X(INTERVAL, "interval", "SPAN", "from first to last allocation", TIME) \
	X(AGE, "age", "AGE", "since the first allocation", TIME)

enum mt_metric {
#define X(id, name, heading, words, unit) MT_METRIC_##id,
	MT_METRICS(X)
#undef X
	MT_METRIC_COUNT,
};
enum mt_unit { MT_UNIT_COUNT, MT_UNIT_BYTES, MT_UNIT_TIME };
struct mt_metric_info {
	const char *name, *heading, *words;
	enum mt_unit unit;
	bool sums; /* whether the metric of a tree node is the sum of its groups' (else min or max) */
};
const struct mt_metric_info *mt_metric_info(enum mt_metric);
int mt_metric_find(const char *name); /* metric, or -1 */
uint64_t mt_metric_value(const struct mt_profile *, const struct mt_group *, enum mt_metric);

/* In the flags of a sum of groups: one of them has blocks that may be free, since frees were lost. */
#define MT_GROUP_ESTIMATED 0x100u
/* Whether the value is an estimate, to be shown with a '~'; group: of the profile, or a sum. */
bool mt_metric_is_estimated(const struct mt_profile *, const struct mt_group *, enum mt_metric);

/* ---- filter: one list of fields for CLI options, the prompt and the manual ----
 * X(id, name, kind, words) */
#define MT_FILTER_FIELDS(X) \
	X(FUNCTION_REGEX, "function_regex", REGEX, "some frame's function matches") \
	X(SOURCE_REGEX, "source_regex", REGEX, "some frame's source file matches") \
	X(MODULE_REGEX, "module_regex", REGEX, "some frame's module path matches") \
	X(NEGATIVE_FUNCTION_REGEX, "negative_function_regex", REGEX, "no frame's function matches") \
	X(NEGATIVE_SOURCE_REGEX, "negative_source_regex", REGEX, "no frame's source file matches") \
	X(NEGATIVE_MODULE_REGEX, "negative_module_regex", REGEX, "no frame's module path matches")
enum mt_filter_field {
#define X(id, name, kind, words) MT_FILTER_##id,
	MT_FILTER_FIELDS(X)
#undef X
	MT_FILTER_COUNT,
};
struct mt_filter_info { const char *name, *words; };
const struct mt_filter_info *mt_filter_info(enum mt_filter_field);
int mt_filter_find(const char *name); /* accepts dashes for underscores; field or -1 */

struct mt_filter;
struct mt_filter *mt_filter_new(void);
void mt_filter_free(struct mt_filter *);
/* text NULL or "": field off. PCRE2 with JIT, a match limit, smart case (no capital in the pattern: caseless).
 * On error the field keeps its old value; err says where in the pattern and what was expected. */
int mt_filter_set(struct mt_filter *, enum mt_filter_field, const char *text, struct mt_err *err);
const char *mt_filter_get(const struct mt_filter *, enum mt_filter_field); /* NULL when off */
bool mt_filter_active(const struct mt_filter *);
/* The prompt's language: words separated by blanks, each field:value, !field:value or a bare regex (function);
 * "-word" or "!word" negative function; quotes keep blanks. Replaces all fields; on error nothing changes. */
int mt_filter_parse(struct mt_filter *, const char *text, struct mt_err *err);
char *mt_filter_text(const struct mt_filter *); /* the same language; caller frees */

/* ---- selection: which groups match, in order ---- */
struct mt_selection {
	uint32_t *groups;   /* group ids, sorted */
	uint32_t count, capacity;
	struct mt_group sum; /* totals over them (counts and bytes add; times and sizes min/max) */
};
/* filter may be NULL. Results of regexes per string are cached in the filter (by symbols' generation).
 * Ties by group id. */
int mt_select(struct mt_selection *, const struct mt_profile *, const struct mt_symbols *, struct mt_filter *,
	enum mt_metric sort, bool ascending, struct mt_err *err);
void mt_selection_free(struct mt_selection *);

/* ---- backtrace of a group, expanded, innermost first, without the kind ---- */
struct mt_backtrace_frame {
	uint32_t pc;         /* pc id; MT_PC_CUT: "stack cut here" */
	const char *function, *raw_function, *source, *module; /* never NULL, "" = unknown; borrowed */
	uint32_t line;
	uint64_t offset;     /* address - bias */
	bool inlined;
	bool by_frame_pointer; /* no call frame information: its caller is where the frame pointer says, frames may be missing */
};
struct mt_backtrace {
	struct mt_backtrace_frame *frames;
	uint32_t count, capacity;
};
void mt_backtrace_get(struct mt_backtrace *, const struct mt_profile *, const struct mt_symbols *, uint32_t group);
/* Of a node whose pc is a kind: an entry of the log, a place of frees. */
void mt_backtrace_of(struct mt_backtrace *, const struct mt_profile *, const struct mt_symbols *, uint32_t node);
/* The innermost frame that is neither a usual library's nor a usual wrapper of malloc; else the innermost; NULL: none. */
const struct mt_backtrace_frame *mt_backtrace_own(const struct mt_backtrace *);
void mt_backtrace_free(struct mt_backtrace *);

/* ---- call tree over a selection, by function ---- */
#define MT_NO_NODE 0xffffffffu
struct mt_tree_node {
	uint32_t parent, first_child, next_sibling; /* MT_NO_NODE: none; children sorted by the tree's metric, descending */
	uint32_t pc;         /* one pc of it, for module and offset */
	uint32_t frame;      /* index into symbols->frames, or MT_NO_NODE when unresolved; its line is that of the heaviest caller */
	uint32_t depth;
	uint32_t group;      /* a group whose innermost frame this is, or MT_NO_GROUP */
	bool expanded;       /* inverted: children were computed */
	struct mt_group total; /* sums over all groups below and here (node field unused) */
	struct mt_group self;  /* groups that end here: allocated directly in this function */
};
struct mt_tree;
/* inverted: roots are the allocating functions, children their callers, computed on demand. */
struct mt_tree *mt_tree_new(const struct mt_profile *, const struct mt_symbols *, const struct mt_selection *,
	bool inverted, enum mt_metric sort);
uint32_t mt_tree_root(const struct mt_tree *); /* a root that stands for the whole selection */
const struct mt_tree_node *mt_tree_get(const struct mt_tree *, uint32_t node); /* valid until the next expand */
void mt_tree_expand(struct mt_tree *, uint32_t node); /* makes its children known (no-op where they are) */
void mt_tree_label(const struct mt_tree *, uint32_t node, struct mt_backtrace_frame *out);
void mt_tree_free(struct mt_tree *);

/* ---- timeline: the profile's samples resampled to columns ---- */
struct mt_timeline {
	uint32_t count;
	uint64_t from_ns, to_ns;
	struct mt_sample *columns; /* live at the end, max within, rates summed */
};
void mt_timeline_get(struct mt_timeline *, const struct mt_profile *, uint64_t from_ns, uint64_t to_ns, uint32_t columns);
void mt_timeline_free(struct mt_timeline *);

#endif
