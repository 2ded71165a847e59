/* A profile's views as text, JSON and CSV. The names of JSON fields are a contract: only ever added
 * to. */
#ifndef MT_EXPORT_REPORT_H
#define MT_EXPORT_REPORT_H

#include "core/query/allocations.h"
#include "core/query/diff.h"
#include "core/query/outstanding.h"
#include "core/query/query.h"
#include "core/query/rows.h"
#include "core/query/scan.h"
#include "core/query/suppress.h"
#include "core/recording/recording.h"
#include "core/set/set.h"

#include <stdio.h>

#define MT_FORMATS "text|json|csv|junit" /* in this order */
enum mt_format { MT_FORMAT_TEXT, MT_FORMAT_JSON, MT_FORMAT_CSV, MT_FORMAT_JUNIT };

struct mt_check;
struct mt_check_images;

/* What to report on, and how; all borrowed. */
struct mt_report {
	FILE *out;          /* look at ferror when done */
	const char *output; /* name of the file that it is; NULL: none */
	enum mt_format format;
	bool exact;                       /* text: numbers in full */
	const struct mt_profile *profile; /* what is shown: what matched */
	const struct mt_profile *whole;   /* of the whole recording; NULL: profile */
	const struct mt_symbols *symbols;
	/* what is still to be asked of the profile's groups; NULL: nothing */
	struct mt_filter *filter;
	const struct mt_matched *matched; /* what the profile is; NULL: it is the whole one */
	/* for what goes over single allocations or events, by asked; may be NULL */
	const struct mt_source *source;
	/* what the profile was filtered by; may be NULL, or ask nothing */
	struct mt_filter *asked;
	enum mt_metric sort;
	bool sort_matched; /* by what matched, not by the whole groups */
	bool ascending;
	uint64_t skip, count;  /* rows; count 0: all */
	struct mt_facts facts; /* on the recording; source NULL: none are known */
	bool inverted;         /* tree */
	uint32_t levels;       /* tree: at most; 0: all */
	const char *what;      /* json and csv as exports: the view; NULL: the default */
	enum mt_rows_by by;    /* groups: rows; stacked: series */
	uint32_t top;          /* stacked: series at most */
	bool by_count;         /* stacked: blocks, not bytes */
	const char *function;  /* callers: whose */
	enum mt_allocation_order allocation_order; /* allocations, chains */
	enum mt_histogram_of histogram;
	const char *words; /* diff: what the metric stands for; NULL: its own words */
	bool short_names;  /* text: template arguments as <…> */
	uint32_t width;    /* text: of the terminal that shows it, which cuts names; 0: none does */
	const char *path;  /* of the trace, where it is said what to run; may be NULL */
	/* and what they did, which profile is without; or both NULL */
	const struct mt_suppressions *suppressions;
	const struct mt_suppressed *suppressed; /* of a set: sums, and nothing by group */
	const struct mt_set *set;     /* several recordings are shown as one; NULL: one is */
	uint32_t unread;              /* of them could not be read */
	const struct mt_check *check; /* limits */
	/* check: leaks that it has too are no leaks; may be NULL */
	const struct mt_report *baseline;
	/* check: what the process ran before is judged with it; NULL: this one is judged alone */
	const struct mt_check_images *images;
	/* massif: percent of a snapshot, below which nodes are put together */
	double threshold;
	double min_percent; /* tree: functions with a smaller share of the total are left out */
	uint32_t columns;   /* timeline: steps; 0: as recorded (JSON, CSV) or 40 (text) */
};

/* All return 0 or a negative errno; err says which pattern failed. */
int mt_report_info(const struct mt_report *, struct mt_err *);
/* Of several traces: a heading, and then a line each, which ends with the report's path and its
 * command. As text or CSV. width: of a terminal, where no line wraps; 0: any. */
void mt_report_info_heading(FILE *out, enum mt_format, uint32_t width);
int mt_report_info_line(const struct mt_report *, struct mt_err *);
int mt_report_groups(const struct mt_report *, struct mt_err *);
/* Groups put together, as mt_report_groups calls it. */
void mt_report_rows(const struct mt_report *, const struct mt_rows *);
int mt_report_callers(const struct mt_report *, struct mt_err *);
/* What changed from a to b: a says how to show it. */
int mt_report_diff(const struct mt_report *a, const struct mt_report *b, enum mt_diff_normalise,
	struct mt_err *);
/* Single blocks; chains of reallocs; how many blocks have which size or lifetime. source is
 * needed. */
int mt_report_allocations(const struct mt_report *, struct mt_err *);
int mt_report_chains(const struct mt_report *, struct mt_err *);
int mt_report_histogram(const struct mt_report *, struct mt_err *);
/* Double frees, mismatched calls and frees of unknown addresses, with the stacks of all calls.
 * source is needed. */
int mt_report_errors(const struct mt_report *, struct mt_err *);
int mt_report_tree(const struct mt_report *, struct mt_err *);
int mt_report_timeline(const struct mt_report *, struct mt_err *);
/* The timeline, by who holds what lives. source is needed. */
int mt_report_stacked(const struct mt_report *, struct mt_err *);
/* Maps and unmaps; calls of mallopt and malloc_trim: in the order in which they came. */
int mt_report_mmaps(const struct mt_report *, struct mt_err *);
int mt_report_mallopts(const struct mt_report *, struct mt_err *);
/* Text only: what is live by stack, the largest first, and what the system had given; nothing when
 * all was freed. */
int mt_report_exit(const struct mt_report *, struct mt_err *);
/* Text only, as bcc's memleak: what is outstanding at a moment, whose time of day it says; top: as
 * the heading says it. */
void mt_report_outstanding(const struct mt_report *, const struct mt_outstanding *,
	uint64_t unix_ns);
/* Text only: totals, losses in words, the first groups with their backtraces. */
int mt_report_summary(const struct mt_report *, struct mt_err *);

#endif
