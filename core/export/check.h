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
	X(ALLOCATIONS, "max_allocations", COUNT, "allocations", "total allocations") \
	X(ALLOCATED, "max_allocated", BYTES, "allocated", "total bytes allocated") \
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
	bool leak_check;       /* only what a leak check has found to be lost has leaked */
	bool this_image;       /* what the process ran before is not judged with it */
	bool allow_incomplete; /* what cannot be said is judged by what is there */
};

/* What was measured, and between what it really lies. */
struct mt_check_value {
	uint64_t seen, least, most;
};

/* A program that the process ran before the one of the trace: it is judged with it. What it had not
 * freed at its end went with its memory, and has not leaked. */
struct mt_check_image {
	char *path; /* of its trace */
	char *why;  /* it could not be judged; NULL: it was */
	struct mt_check_value values[MT_CHECK_COUNT];
	uint64_t left_bytes, left_blocks; /* live when the next program took its place */
	bool allocates, blind, incomplete;
	char *said; /* text: why values are uncertain, by lines; JSON: its blind spots */
};
struct mt_check_images {
	struct mt_check_image *items;
	uint32_t count, capacity;
	uint32_t missing; /* further ones whose traces are not there */
	char *first_missing;
};
/* Adds one, the first program first. report: of its trace. */
int mt_check_images_add(struct mt_check_images *, const struct mt_report *, struct mt_err *);
/* Adds one that cannot be judged. */
void mt_check_images_add_unread(struct mt_check_images *, const char *path, const char *why);
void mt_check_images_free(struct mt_check_images *);

/* Text or JSON of report->check. 0: all limits hold, 1: not so, or it cannot be said. */
int mt_report_check(const struct mt_report *, struct mt_err *);
/* Suppressions for the groups that leak, in the syntax that report->what names: valgrind (the
 * default) or lsan. */
int mt_report_suppressions(const struct mt_report *, struct mt_err *);

#endif
