/* The leak check as text and JSON (doc/leak-check.md). */
#ifndef MT_EXPORT_REPORT_LEAKCHECK_H
#define MT_EXPORT_REPORT_LEAKCHECK_H

#include "core/export/report.h"
#include "core/leakcheck/leakcheck.h"

/* report->count: groups at most, 0: all. shown: for each verdict whether groups that have such
 * blocks are shown. The process still stands still, so that what holds a block can be shown. */
void mt_report_leakcheck(const struct mt_report *, const struct mt_leakcheck *,
	const bool shown[MT_VERDICT_COUNT]);

#endif
