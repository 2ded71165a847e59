/* Parts that several reports share. */
#ifndef MT_EXPORT_REPORT_PARTS_H
#define MT_EXPORT_REPORT_PARTS_H

#include "core/base/text.h"
#include "core/export/json.h"
#include "core/export/number.h"
#include "core/export/report.h"

#include <time.h>

/* Of the whole recording. */
static inline const struct mt_profile *mt_report_whole(const struct mt_report *report)
{
	return report->whole ? report->whole : report->profile;
}
/* Of the whole heap, within the range that is shown: at_peak_* are shares of it. */
static inline uint64_t mt_report_heap_peak(const struct mt_report *report)
{
	return report->matched ? report->matched->heap_peak_bytes
			       : mt_report_whole(report)->info.peak_bytes;
}
static inline uint64_t mt_report_heap_peak_ns(const struct mt_report *report)
{
	return report->matched ? report->matched->heap_peak_ns
			       : mt_report_whole(report)->info.peak_ns;
}
/* Whether events that are missing were counted. */
bool mt_report_counts_losses(const struct mt_report *);
/* Whether the recording was read to its end, and has one. */
bool mt_report_is_whole(const struct mt_report *);
/* Whether what was not freed has leaked; see mt_info_knows_leaks. */
bool mt_report_knows_leaks(const struct mt_report *);
const char *mt_report_left(const struct mt_report *); /* "leaked", or else "live" */
/* How many of the groups' allocations can have been reallocs: totals do not tell. */
uint64_t mt_report_reallocs_most(const struct mt_profile *, const struct mt_selection *groups);
/* Whether a part of it is shown. */
bool mt_report_is_filtered(const struct mt_report *);
/* The groups to show, in the report's order. */
int mt_report_select(struct mt_selection *, const struct mt_report *, struct mt_err *);
/* The profile by whose groups they are sorted. */
const struct mt_profile *mt_report_sorted_by(const struct mt_report *);
/* A number in the report's way: short, or in full. */
void mt_report_number(char out[MT_NUMBER_EXACT_LEN], const struct mt_report *, enum mt_unit,
	uint64_t value);
/* A metric of a group or a sum, with '~' before an estimate, or its error behind it. */
#define MT_METRIC_LEN 48
/* Behind an estimate: " ±3.1%", or that there are too few samples to tell. At most 16 bytes. */
void mt_report_error(char *out, uint64_t value, uint64_t samples, double error);
/* The same of a number: estimated puts a '~' before it; error, which may be negative for none,
 * stands behind it, unless it was made of few samples. */
void mt_report_estimate(char out[MT_METRIC_LEN], const struct mt_report *, enum mt_unit,
	uint64_t value, bool estimated, uint64_t samples, double error);
void mt_report_metric(char out[MT_METRIC_LEN], const struct mt_report *, const struct mt_group *,
	enum mt_metric);
void mt_report_metric_of(char out[MT_METRIC_LEN], const struct mt_report *,
	const struct mt_profile *, const struct mt_group *, enum mt_metric);
/* "estimated": true into an open object, where leaks are estimates; "own_peak_at_most": true, where
 * own peaks of several groups were added; "times_estimated": true, where the rate of the
 * clock is not known; "at_peak_estimated": true, where the peak may lie in lost
 * history. */
void mt_report_json_estimated(struct mt_json *, const struct mt_profile *, const struct mt_group *);
/* One sentence when leaks are estimates, else nothing. */
void mt_report_estimates(const struct mt_report *, const char *indent);
/* The metrics of a group or tree node that JSON and CSV show: all that do not depend on the present
 * time. */
void mt_report_json_metrics(struct mt_json *, const struct mt_profile *, const struct mt_group *);
void mt_report_csv_metric_names(FILE *out, const struct mt_profile *, const char *prefix);
void mt_report_csv_metrics(FILE *out, const struct mt_profile *, const struct mt_group *);
/* Ends the line with the names of the columns of CSV, or a row. If times are estimates, a last
 * column times_estimated says so. */
void mt_report_csv_end_names(const struct mt_report *);
void mt_report_csv_end(const struct mt_report *);
/* function, raw_function, source, line, module, offset, inlined: into an open object. */
void mt_report_json_frame(struct mt_json *, const struct mt_backtrace_frame *);
/* "backtrace": [frames], innermost first. */
void mt_report_json_backtrace(struct mt_json *, const struct mt_backtrace *);
/* The function's name, or module+0xoffset; caller frees. */
char *mt_report_frame_name(const struct mt_backtrace_frame *);
/* A frame in text: its name, its place, a note ("" or one that begins with blanks), the end of the
 * line. before: columns of the line so far. On a terminal a line that would wrap loses directories
 * first and then the end of the name, never the number of the line. */
void mt_report_put_frame(const struct mt_report *, uint32_t before,
	const struct mt_backtrace_frame *, const char *note);
/* A name as text shows it: with --short-names without template arguments; caller frees. */
char *mt_report_shorten(const struct mt_report *, const char *name);
/* The same of a frame; caller frees. */
char *mt_report_short_frame_name(const struct mt_report *, const struct mt_backtrace_frame *);
/* The backtrace on one line: innermost first. frames: at most so many, from its own one on; 0: all.
 * Caller frees. */
char *mt_report_one_line(const struct mt_report *, const struct mt_backtrace *,
	const char *separator, uint32_t frames);
/* "src/a.c:12", or the module when the source is not known and the name does not say it; caller
 * frees. */
char *mt_report_frame_place(const struct mt_backtrace_frame *);
/* See mt_profile_command. */
char *mt_report_command(const struct mt_profile *);
/* Whether the totals of mappings are: maps or unmaps were lost, or not seen. */
bool mt_report_maps_are_estimated(const struct mt_info *);
/* The last sample's. */
const struct mt_memory *mt_report_memory(const struct mt_profile *);
/* One of a sample's numbers; null where nothing was sampled yet: no process has no resident
 * memory. */
void mt_report_json_memory(struct mt_json *, const struct mt_memory *, uint64_t value);
/* "damaged_at": the offset from which the trace makes no sense, or null: into an open object. */
void mt_report_json_damage(struct mt_json *, const struct mt_report *);
/* Start of the run, RFC 3339 in UTC, or "unknown". */
void mt_report_start_time(char out[40], const struct mt_profile *);
/* "suppressed 12.0k in 3 blocks by 2 rules" on a line, where it is so. */
void mt_report_suppressed(const struct mt_report *, const char *indent);
/* suppressed_count and suppressed_bytes: into an open object. */
void mt_report_json_suppressed(struct mt_json *, const struct mt_report *);
/* "suppressions": [rules], without built-in ones that were not used. */
void mt_report_json_rules(struct mt_json *, const struct mt_report *);
/* A line per rule that was used; that was not, built-in ones apart. */
void mt_report_used_rules(const struct mt_report *);
void mt_report_unused_rules(const struct mt_report *);
/* The columns that a timeline is to have; timeline: zeroed. End of one in ns. */
void mt_report_timeline_of(struct mt_timeline *, const struct mt_report *);
/* A line for each blind spot, behind indent. Returns how many there were. */
uint32_t mt_report_blind(const struct mt_report *, const char *indent);
/* One sentence if the process ran other programs before, whose traces stand beside this one. */
void mt_report_images(const struct mt_report *, const char *indent);
/* Losses in words, one line each, behind indent; 'nothing was lost' when there is none. Then, by
 * itself, of how many events the order is not known: nothing is missing for it. */
/* A sentence, if the recording was sampled. */
void mt_report_sampling(const struct mt_report *, const char *indent);
void mt_report_losses(const struct mt_report *, const char *indent);

#endif
