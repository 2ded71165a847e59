/* The account of resident memory as text, JSON and CSV (doc/memory.md). */
#ifndef MT_EXPORT_REPORT_ACCOUNT_H
#define MT_EXPORT_REPORT_ACCOUNT_H

#include "core/account/account.h"
#include "core/export/report.h"

/* command: of the process. unknown: why its blocks are not known, a sentence; NULL: they are.
 * report->count: rows at most, 0: all; top: groups of heap blocks beside them, at most; its profile
 * and symbols are NULL if it has no recording. */
void mt_report_account(const struct mt_report *, const struct mt_account *, const char *command,
	const char *unknown);
/* What a recording knows of resident memory: when it was highest, beside the heap at that moment
 * and at the end; what is mapped at the end, by backtrace; and what it does not know. */
int mt_report_memory_of_trace(const struct mt_report *, struct mt_err *);

#endif
