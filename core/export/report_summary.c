#include "core/export/command_line.h"
#include "core/export/losses.h"
#include "core/export/metric_columns.h"
#include "core/export/oom.h"
#include "core/export/resident.h"
#include "core/export/verdict_words.h"

#include <stdlib.h>

/* --from and --to: the totals are of what was allocated between them. */
static bool is_range(const struct mt_report *report)
{
	const struct mt_matched *m = report->matched;

	return m && m->own && (m->from_ns || m->to_ns < mt_report_whole(report)->info.wall_ns);
}

static void put_range(const struct mt_report *report)
{
	const struct mt_matched *m = report->matched;
	char from[MT_METRIC_LEN], to[MT_METRIC_LEN];

	mt_report_number(from, report, MT_UNIT_TIME, m->from_ns);
	mt_report_number(to, report, MT_UNIT_TIME, m->to_ns);
	fprintf(report->out, "range      %s to %s\n", m->from_ns ? from : "0s", to);
}

static void put_resident(const struct mt_report *report)
{
	const struct mt_profile *whole = mt_report_whole(report);
	char number[MT_NUMBER_EXACT_LEN], when[MT_NUMBER_EXACT_LEN], words[MT_RESIDENT_LEN];
	uint64_t ns, peak = mt_resident_peak(whole, &ns);

	if (!peak)
		return;
	mt_report_number(number, report, MT_UNIT_BYTES, peak);
	mt_report_number(when, report, MT_UNIT_TIME, ns);
	fprintf(report->out, "resident   at most %s at %s\n", number, when);
	if (mt_resident_words(words, whole, false))
		fprintf(report->out, "%s\n", words);
}

/* How many of the blocks are calls of realloc on a live block; a filter on groups does not tell. */
static void put_calls(const struct mt_report *report)
{
	const struct mt_info *info = &report->profile->info;
	char n[2][MT_METRIC_LEN];

	if (!info->reallocations || mt_report_is_filtered(report))
		return;
	mt_report_estimate(n[0], report, MT_UNIT_COUNT, info->allocations, mt_info_is_sampled(info),
		UINT64_MAX, -1);
	mt_report_estimate(n[1], report, MT_UNIT_COUNT, info->reallocations,
		mt_info_is_sampled(info), UINT64_MAX, -1);
	fprintf(report->out, " (%s %s, %s %s)", n[0], MT_PLURAL(n[0], "allocation"), n[1],
		MT_PLURAL(n[1], "reallocation"));
}

/* The error of the whole heap's peak is known where the groups that are shown are all of it. */
static void put_peak(char out[MT_METRIC_LEN], const struct mt_report *report,
	const struct mt_group *sum)
{
	bool all = !mt_report_is_filtered(report);

	mt_report_estimate(out, report, MT_UNIT_BYTES, mt_report_heap_peak(report),
		mt_info_is_sampled(&mt_report_whole(report)->info)
			|| mt_report_whole(report)->info.peak_unsure,
		mt_metric_samples(report->profile, sum, MT_METRIC_AT_PEAK_SIZE),
		all ? mt_metric_error(report->profile, sum, MT_METRIC_AT_PEAK_SIZE) : -1);
}

static void totals(const struct mt_report *report, const struct mt_selection *selection)
{
	const struct mt_info *info = &mt_report_whole(report)->info;
	const struct mt_group *sum = &selection->sum;
	char *command = mt_command_line(report->profile, MT_COMMAND_LINE_ROOM);
	char n[4][MT_METRIC_LEN], start[40], oom[MT_OOM_LEN], check[MT_VERDICT_WORDS_LEN];
	const char *within = is_range(report) ? " in the range" : "";
	FILE *out = report->out;

	mt_text_put(out, MT_TEXT_LINE, command);
	free(command);
	mt_report_number(n[0], report, MT_UNIT_TIME, info->wall_ns);
	mt_report_start_time(start, report->profile);
	if (info->origin == MT_ORIGIN_ATTACHED)
		fprintf(out, "\nprocess %u, recorded since it was attached at %s, for %s; %s\n\n",
			info->pid, start, n[0], MT_BEFORE_ATTACH);
	else if (info->pid)
		fprintf(out, "\nprocess %u, started %s, recorded for %s\n\n", info->pid, start,
			n[0]);
	else
		fprintf(out, "\nstarted %s, recorded for %s\n\n", start, n[0]);
	if (*within)
		put_range(report);
	mt_report_metric(n[0], report, sum, MT_METRIC_ALLOCATED_COUNT);
	mt_report_metric(n[1], report, sum, MT_METRIC_SIZE);
	mt_report_metric(n[2], report, sum, MT_METRIC_TEMPORARY_COUNT);
	fprintf(out, "allocated  %s in %s %s%s", n[1], n[0], MT_PLURAL(n[0], "block"), within);
	put_calls(report);
	if (mt_metric_is_known(report->profile, sum, MT_METRIC_TEMPORARY_COUNT))
		fprintf(out, ", %s of them temporary", n[2]);
	putc('\n', out);
	put_peak(n[0], report, sum);
	mt_report_number(n[1], report, MT_UNIT_TIME, mt_report_heap_peak_ns(report));
	mt_report_metric(n[2], report, sum, MT_METRIC_AT_PEAK_SIZE);
	fprintf(out, "peak       %s at %s%s", n[0], n[1], within);
	if (mt_report_is_filtered(report))
		fprintf(out, ", %s of it here", n[2]);
	mt_report_metric(n[0], report, sum, MT_METRIC_LEAKED_SIZE);
	mt_report_metric(n[1], report, sum, MT_METRIC_LEAKED_COUNT);
	fprintf(out, "\n%-11s%s in %s %s%s%s%s\n", mt_report_left(report), n[0], n[1],
		MT_PLURAL(n[1], "block"), *within ? " allocated" : "", within,
		mt_report_knows_leaks(report)   ? ""
			: report->facts.running ? ", now"
						: ", at the end of the recording");
	if (mt_verdict_sentence(check, report))
		fprintf(out, "leak check %s\n", check);
	if (mt_oom_sentence(oom, mt_report_whole(report), report->symbols)) {
		mt_text_put(out, MT_TEXT_LINE, oom);
		putc('\n', out);
	}
	mt_report_suppressed(report, "");
	mt_report_used_rules(report);
	put_resident(report);
}

static void group(const struct mt_metric_columns *columns, uint64_t rank, uint32_t id,
	struct mt_backtrace *backtrace)
{
	const struct mt_report *report = columns->report;
	const struct mt_profile *of = columns->of;
	const struct mt_group *at = &report->profile->groups[id];
	bool leaked = report->sort == MT_METRIC_LEAKED_SIZE;
	char n[4][MT_METRIC_LEN], share[16] = "";

	mt_report_metric_of(n[0], report, of, &of->groups[id], report->sort);
	if (columns->percent)
		snprintf(share, sizeof share, " (%.1f%%)",
			mt_metric_columns_percent(columns, &of->groups[id]));
	mt_report_metric(n[1], report, at, MT_METRIC_LEAKED_SIZE);
	mt_report_metric(n[2], report, at, MT_METRIC_LEAKED_COUNT);
	mt_report_metric(n[3], report, at, MT_METRIC_ALLOCATED_COUNT);
	fprintf(report->out, "\n%llu. group %u: ", (unsigned long long)rank, id);
	if (!leaked)
		fprintf(report->out, "%s %s%s; ",
			mt_metric_info(report->profile, report->sort)->name, n[0], share);
	fprintf(report->out, "%s %s%s in %s of %s %s, by %s\n", mt_report_left(report), n[1],
		leaked ? share : "", n[2], n[3], MT_PLURAL(n[3], "block"),
		mt_profile_function_name(report->profile,
			mt_profile_group_function(report->profile, id)));
	mt_backtrace_get(backtrace, report->profile, report->symbols, id);
	for (uint32_t i = 0; i < backtrace->count; i++) {
		int before = fprintf(report->out, "       ");

		mt_report_put_frame(report, (uint32_t)before, &backtrace->frames[i],
			backtrace->frames[i].inlined ? "  (inlined)"
				: backtrace->frames[i].by_frame_pointer
				? "  (no call frame information)"
				: "");
	}
}

/* Groups without any of what they are sorted by come last, and say nothing where nobody asked for
 * them. */
static uint64_t worth_showing(const struct mt_metric_columns *columns,
	const struct mt_selection *selection)
{
	const struct mt_report *report = columns->report;
	uint64_t count = selection->count;

	while (!report->ascending && !mt_report_is_filtered(report) && count
		&& !mt_metric_value(columns->of, &columns->of->groups[selection->groups[count - 1]],
			report->sort))
		count--;
	return count;
}

/* A program that frees all at its end has nothing left to be shown. */
static void say_where_next(const struct mt_report *report)
{
	if (!report->path || report->sort != MT_METRIC_LEAKED_SIZE || !mt_report_heap_peak(report))
		return;
	fputs("\nnext steps\n  memtui report --sort at_peak_size ", report->out);
	mt_text_put(report->out, MT_TEXT_LINE, report->path);
	fputs("  shows the largest groups at the peak\n", report->out);
}

int mt_report_summary(const struct mt_report *report, struct mt_err *err)
{
	struct mt_selection selection = {0};
	struct mt_backtrace backtrace = {0};
	int status = mt_report_select(&selection, report, err);
	char groups[16];

	if (status >= 0) {
		struct mt_metric_columns columns;
		uint64_t end;

		mt_metric_columns_init(&columns, report, mt_report_sorted_by(report));
		end = worth_showing(&columns, &selection);
		if (report->count && report->skip + report->count < end)
			end = report->skip + report->count;
		totals(report, &selection);
		fputs("\nlosses\n", report->out);
		mt_report_losses(report, "  ");
		snprintf(groups, sizeof groups, "%u", selection.count);
		fprintf(report->out, "\n%llu of %u %s by %s: %s\n",
			(unsigned long long)(end > report->skip ? end - report->skip : 0),
			selection.count, MT_PLURAL(groups, "group"),
			mt_metric_info(report->profile, report->sort)->name,
			mt_metric_info(report->profile, report->sort)->words);
		for (uint64_t i = report->skip; i < end; i++)
			group(&columns, i + 1, selection.groups[i], &backtrace);
		if (selection.count && !end)
			say_where_next(report);
		mt_report_unused_rules(report);
	}
	mt_backtrace_free(&backtrace);
	mt_selection_free(&selection);
	return status;
}
