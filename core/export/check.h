/* A gate: limits on what a run may leak, hold and allocate, and whether they hold. */
#ifndef MT_EXPORT_CHECK_H
#define MT_EXPORT_CHECK_H

#include "core/export/report.h"

/* X(id, name, unit, heading, words) */
#define MT_CHECK_LIMITS(X) \
	X(LEAKED, "max_leaked", BYTES, "leaked", \
		"bytes that were not freed and are not suppressed") \
	X(LEAKED_COUNT, "max_leaked_count", COUNT, "leaked blocks", \
		"blocks that were not freed and are not suppressed") \
	X(PEAK, "max_peak", BYTES, "peak", "bytes live at the peak") \
	X(ALLOCATIONS, "max_allocations", COUNT, "allocations", "allocations in all") \
	X(ALLOCATED, "max_allocated", BYTES, "allocated", "bytes allocated in all") \
	X(TEMPORARY, "max_temporary", COUNT, "temporary", \
		"blocks freed before the thread's next allocation")
enum mt_check_limit {
#define X(id, ...) MT_CHECK_##id,
	MT_CHECK_LIMITS(X) MT_CHECK_COUNT,
#undef X
};

struct mt_limit {
	bool given;
	uint64_t value;
};

struct mt_check {
	struct mt_limit limits[MT_CHECK_COUNT]; /* none given: nothing may leak */
	/* shell patterns with commas between: paths, names or reasons of blind spots that make no
	 * limit UNKNOWN; NULL: none */
	const char *allow_unseen;
	bool allow_incomplete; /* what cannot be said is judged by what is there */
};

/* Text or JSON of report->check. 0: all limits hold, 1: not so, or it cannot be said. */
int mt_report_check(const struct mt_report *, struct mt_err *);
/* Suppressions for the groups that leak, in the syntax that report->what names: valgrind (the
 * default) or lsan. */
int mt_report_suppressions(const struct mt_report *, struct mt_err *);

#endif
