/* What the parts of 'memtui leaks' share: doc/analysis.md, "Outstanding blocks". */
#ifndef MT_TUI_MEMLEAK_H
#define MT_TUI_MEMLEAK_H

#include "core/model/live.h"
#include "core/query/outstanding.h"
#include "tui/command/commands.h"

/* Reports on one recording after another of the same process. */
struct mt_memleak {
	const struct mt_arguments *arguments;
	struct mt_filter *filter;
	uint64_t interval_ns, most; /* most reports; 0: any number */
	bool interval_given;
	char *functions; /* of another allocator, as --allocator-functions has them; or NULL */
	uint64_t printed;
	struct mt_outstanding found;
	struct mt_memleak_calls {
		struct mt_live live; /* addresses and sizes, by number */
		uint32_t next_block; /* of the trace: what stands before it was printed */
		bool begun;
	} calls;
};

/* ---- reports (memleak_report.c) ---- */
/* Prints what is outstanding: at_ns as of mt_outstanding_wants, end_ns the end of what is known.
 * Names must be there. */
int mt_memleak_report(struct mt_memleak *, const struct mt_generation *, uint64_t at_ns,
	uint64_t end_ns, struct mt_err *);
/* Of a process that has not allocated yet. */
int mt_memleak_report_nothing(struct mt_memleak *, struct mt_err *);
/* With --trace: prints the calls that stand in the trace beyond those that were printed.
 * (memleak_calls.c) */
int mt_memleak_calls(struct mt_memleak *, const struct mt_generation *, struct mt_err *);
/* What comes is another trace's. (memleak_calls.c) */
void mt_memleak_forget_calls(struct mt_memleak *);
/* Whether all that was printed has arrived. */
int mt_memleak_written(struct mt_err *);
/* Of a recording that is not watched: a report of its end, or one for each interval. */
int mt_memleak_of_trace(struct mt_memleak *, const char *path, struct mt_err *);
void mt_memleak_free(struct mt_memleak *);

/* ---- a program that runs (memleak_live.c) ---- */
/* Of a process of a running session (0: its root), until it ends, somebody interrupts, or there
 * were enough reports. *ended: the process has. */
int mt_memleak_watch(struct mt_memleak *, const char *session, pid_t process, bool *ended,
	struct mt_err *);
/* The same of a program that records itself into a file. */
int mt_memleak_watch_file(struct mt_memleak *, const char *path, pid_t process, struct mt_err *);

#endif
