/* Ways out: a profile in the words of other programs. One list of kinds feeds parser, help, manual
 * and completion. */
#ifndef MT_EXPORT_EXPORT_H
#define MT_EXPORT_EXPORT_H

#include "core/export/report.h"

/* Which metrics a kind can be asked for. */
enum mt_export_metrics {
	MT_EXPORT_NO_METRIC,  /* it has a fixed set of its own */
	MT_EXPORT_SUMS,       /* those that add up over stacks */
	MT_EXPORT_ANY_METRIC, /* what rows are sorted by */
};

/* What a kind is made of, beyond totals. */
enum mt_export_needs {
	MT_EXPORT_NEEDS_TOTALS,
	MT_EXPORT_NEEDS_HISTORY, /* samples of what matched */
	MT_EXPORT_NEEDS_EVENTS,  /* report->source with a reader */
};

/* Functions take report->sort for the metric, report->what for the view, and honour report->filter.
 * X(name, suffix of file names, metrics, whether it takes --what, whether it is binary,
 * what it is made of, words) */
#define MT_EXPORTS(X) \
	X(flamegraph, "svg", SUMS, false, false, TOTALS, \
		"interactive SVG for a browser: search, zoom by click, details") \
	X(collapsed, "folded", SUMS, false, false, TOTALS, \
		"one line per backtrace, 'outermost;...;innermost NUMBER', for " \
		"flamegraph.pl, inferno and speedscope") \
	X(speedscope, "speedscope.json", SUMS, false, false, TOTALS, \
		"for www.speedscope.app: leaked, at the peak, allocated, and counts; " \
		"--metric is shown first") \
	X(pprof, "pb.gz", NO_METRIC, false, true, TOTALS, \
		"for 'go tool pprof': inuse_space, inuse_objects, alloc_space, alloc_objects") \
	X(heaptrack, "heaptrack.zst", NO_METRIC, false, false, EVENTS, \
		"for heaptrack_print and heaptrack_gui; FILE.zst and FILE.gz are compressed") \
	X(massif, "massif.out", NO_METRIC, false, false, HISTORY, \
		"for ms_print and massif-visualizer: the heap over time, with call trees at " \
		"the peak and at the end") \
	X(dhat, "dhat.json", NO_METRIC, false, false, EVENTS, "for valgrind's dh_view.html") \
	X(json, "json", ANY_METRIC, true, false, TOTALS, "a view as JSON; --what selects it") \
	X(csv, "csv", ANY_METRIC, true, false, TOTALS, \
		"a view as rows for spreadsheets; --what selects it")

#define X(name, ...) int mt_export_##name(const struct mt_report *, struct mt_err *);
MT_EXPORTS(X)
#undef X

/* "collapsed|json|…" */
#define MT_EXPORT_CHOICE(name, ...) "|" #name
#define MT_EXPORT_CHOICES (&(MT_EXPORTS(MT_EXPORT_CHOICE))[1])

struct mt_export_kind {
	const char *name, *suffix, *words;
	enum mt_export_metrics metrics;
	bool views, binary;
	enum mt_export_needs needs;
	int (*run)(const struct mt_report *, struct mt_err *);
};
const struct mt_export_kind *mt_export_kind_at(int i);              /* NULL after the last */
const struct mt_export_kind *mt_export_kind_find(const char *name); /* NULL: none */

/* What --what can name: X(name, report). The first is the default. */
#define MT_EXPORT_VIEWS(X) \
	X(groups, mt_report_groups) \
	X(tree, mt_report_tree) \
	X(timeline, mt_report_timeline) \
	X(allocations, mt_report_allocations) \
	X(info, mt_report_info) \
	X(mmaps, mt_report_mmaps) \
	X(mallopts, mt_report_mallopts)
#define MT_EXPORT_VIEW_CHOICE(name, report) "|" #name
#define MT_EXPORT_VIEW_WORD(name, report) " " #name
#define MT_EXPORT_VIEW_CHOICES (&(MT_EXPORT_VIEWS(MT_EXPORT_VIEW_CHOICE))[1])

#endif
