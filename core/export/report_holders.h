/* What holds blocks, as text and JSON (doc/leak-check.md, "What holds a block"). */
#ifndef MT_EXPORT_REPORT_HOLDERS_H
#define MT_EXPORT_REPORT_HOLDERS_H

#include "core/export/report.h"
#include "core/leakcheck/leakcheck.h"

/* What is asked: one block, or those of a group. */
struct mt_holders_question {
	uint32_t group;   /* of the block, or what was asked for */
	uint32_t block;   /* MT_BLOCK_NONE: the group is meant */
	uint64_t address; /* that was asked for, in the block */
};

/* report->count: how many of a group's blocks are shown, the largest first; 0: one. The process
 * still stands still. */
void mt_report_holders(const struct mt_report *, const struct mt_leakcheck *,
	const struct mt_holders_question *);

#endif
