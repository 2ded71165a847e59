/* Groups put together by what they have in common: their allocating function, line, file, module or
 * allocator function. */
#ifndef MT_QUERY_ROWS_H
#define MT_QUERY_ROWS_H

#include "core/query/scan.h"

/* X(id, name, words): backtrace stands for the groups themselves; thread needs events. */
#define MT_ROWS_BY(X) \
	X(BACKTRACE, "backtrace", "one row per group") \
	X(FUNCTION, "function", "the innermost function, inlined ones too") \
	X(LINE, "line", "the innermost source line") \
	X(SOURCE, "source", "the innermost function's source file") \
	X(MODULE, "module", "the innermost function's program or library") \
	X(KIND, "kind", "malloc, calloc, new, new[] …") \
	X(THREAD, "thread", "the allocating thread") \
	X(PROCESS, "process", "the process: of several recordings")
#define MT_ROWS_BY_CHOICE(id, name, words) "|" name
#define MT_ROWS_BY_CHOICES (&(MT_ROWS_BY(MT_ROWS_BY_CHOICE))[1]) /* "backtrace|function…" */
enum mt_rows_by {
#define X(id, name, words) MT_ROWS_BY_##id,
	MT_ROWS_BY(X) MT_ROWS_BY_COUNT,
#undef X
};
const char *mt_rows_by_name(enum mt_rows_by);
int mt_rows_by_find(const char *name); /* or -1 */

struct mt_row {
	/* string id in the rows' names; what is not known has a name too */
	uint32_t name;
	uint32_t group_count;
	struct mt_group sum; /* of the selection's profile: what matched */
	struct mt_group all; /* the same groups in the whole profile */
};
struct mt_rows {
	struct mt_strings names;
	struct mt_row *rows;
	uint32_t count, capacity;
	struct mt_folds folds;
};

/* Puts the selection's groups together, in order of the metric (of what matched), ties in order of
 * first sight. whole: the profile of the whole recording; may be the same. by is neither BACKTRACE
 * nor THREAD; for PROCESS the innermost frame must be the process (MT_SET_PROCESSES). rows:
 * zeroed. */
void mt_rows_get(struct mt_rows *, const struct mt_profile *matched, const struct mt_profile *whole,
	const struct mt_symbols *, const struct mt_selection *, enum mt_rows_by,
	enum mt_metric sort, bool ascending);
/* A group's name, into the emptied buffer; by as above. */
void mt_rows_name(struct mt_buffer *, const struct mt_profile *, const struct mt_symbols *,
	uint32_t group, enum mt_rows_by);
void mt_rows_sort(struct mt_rows *, const struct mt_profile *, enum mt_metric, bool ascending);
/* By the allocating thread: goes over the events of the trace. Own peaks and shares of the peak are
 * not known. */
int mt_rows_by_thread(struct mt_rows *, const struct mt_source *, struct mt_filter *,
	enum mt_metric sort, bool ascending, struct mt_err *);
/* The row of this name, made when it is new. */
struct mt_row *mt_rows_at(struct mt_rows *, const char *name);
void mt_rows_free(struct mt_rows *);

#endif
