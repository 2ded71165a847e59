/* The totals of a trace, or of what matched. */
#ifndef MT_EXPORT_REPORT_TOTALS_H
#define MT_EXPORT_REPORT_TOTALS_H

#include "core/export/report_parts.h"

/* The words of what was not freed begin with it; see mt_report_left. */
#define MT_REPORT_LEAKED "leaked"

/* One list of totals for all three formats. Allocations, frees and reallocations are calls;
 * allocated_count and freed_count are blocks, as groups and the timeline count them (see
 * mt_info_blocks_begun). */
struct mt_report_totals {
	uint64_t allocations, frees, reallocations, allocated_count, freed_count, allocated_bytes,
		leaked_count, leaked_bytes, peak_bytes, temporary_count, groups;
	bool estimated; /* what leaked */
	/* of reallocs whose events are gone nobody knows any more that they were: each counts as an
	 * allocation and a free */
	bool calls_estimated;
	/* of a sampled recording, else zeroes */
	struct mt_estimates errors;
	bool sampled;
};
#define MT_REPORT_TOTALS(X) \
	X(allocations, "allocations", MT_UNIT_COUNT) \
	X(frees, "frees", MT_UNIT_COUNT) \
	X(reallocations, "reallocations", MT_UNIT_COUNT) \
	X(allocated_count, "blocks allocated", MT_UNIT_COUNT) \
	X(freed_count, "blocks freed", MT_UNIT_COUNT) \
	X(allocated_bytes, "allocated in total", MT_UNIT_BYTES) \
	X(leaked_count, MT_REPORT_LEAKED " blocks", MT_UNIT_COUNT) \
	X(leaked_bytes, MT_REPORT_LEAKED, MT_UNIT_BYTES) \
	X(peak_bytes, "peak", MT_UNIT_BYTES) \
	X(temporary_count, "temporary", MT_UNIT_COUNT) \
	X(groups, "groups", MT_UNIT_COUNT)

/* With a filter the totals are those of what matched. */
int mt_report_totals(struct mt_report_totals *, const struct mt_report *, struct mt_err *err);
/* The error of a total, and of how many samples it was made; negative: it has none. at: its
 * offset. */
double mt_report_total_error(const struct mt_report_totals *, size_t at, uint64_t *samples);
/* Groups whose numbers are estimates. */
uint64_t mt_report_estimated_groups(const struct mt_profile *);

#endif
