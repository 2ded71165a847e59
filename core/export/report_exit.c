/* The report at a program's exit: what it has not freed, by stack, and what the system had given
 * it. */
#include "core/export/command_line.h"
#include "core/export/report_parts.h"

#include <stdlib.h>

static void put_frame(const struct mt_report *report, const struct mt_backtrace_frame *frame)
{
	const struct mt_profile *p = report->profile;
	unsigned long long address = frame->pc < p->pc_count ? p->pcs[frame->pc].address : 0;
	char *name = mt_report_frame_name(frame);

	if (mt_profile_is_marker(p, frame->pc))
		fputs("    ", report->out);
	else
		fprintf(report->out, "    0x%012llx  ", address);
	mt_text_put(report->out, MT_TEXT_LINE, name);
	if (*frame->source) {
		fputs("  ", report->out);
		mt_text_put(report->out, MT_TEXT_LINE, frame->source);
		if (frame->line)
			fprintf(report->out, ":%u", frame->line);
	}
	if (*frame->module) {
		fprintf(report->out, "  +0x%llx ", (unsigned long long)frame->offset);
		mt_text_put(report->out, MT_TEXT_LINE, frame->module);
	}
	fputs(frame->inlined ? "  (inlined)\n" : "\n", report->out);
	free(name);
}

static void put_group(const struct mt_report *report, uint64_t rank, uint32_t id,
	struct mt_backtrace *backtrace)
{
	static const enum mt_metric metrics[] = {MT_METRIC_LEAKED_COUNT, MT_METRIC_OWN_PEAK_COUNT,
		MT_METRIC_LEAKED_SIZE, MT_METRIC_OWN_PEAK_SIZE, MT_METRIC_AGE};
	const struct mt_group *group = &report->profile->groups[id];
	char n[5][MT_METRIC_LEN];

	for (int i = 0; i < 5; i++)
		mt_report_metric(n[i], report, group, metrics[i]);
	fprintf(report->out, "\n%llu. count/peak %s/%s  size/peak %s/%s  age %s  by %s\n",
		(unsigned long long)rank, n[0], n[1], n[2], n[3], n[4],
		mt_profile_function_name(report->profile,
			mt_profile_group_function(report->profile, id)));
	mt_backtrace_get(backtrace, report->profile, report->symbols, id);
	for (uint32_t i = 0; i < backtrace->count; i++)
		put_frame(report, &backtrace->frames[i]);
}

static void put_bytes(const struct mt_report *report, const char *before, uint64_t bytes)
{
	char number[MT_NUMBER_EXACT_LEN];

	mt_report_number(number, report, MT_UNIT_BYTES, bytes);
	fprintf(report->out, "%s%s", before, bytes ? number : "unknown");
}

static void put_totals(const struct mt_report *report, const struct mt_selection *selection,
	uint32_t live)
{
	const struct mt_memory *memory = mt_report_memory(report->profile);
	const struct mt_info *info = &report->profile->info;
	char n[2][MT_METRIC_LEN];

	mt_report_metric(n[0], report, &selection->sum, MT_METRIC_LEAKED_SIZE);
	mt_report_metric(n[1], report, &selection->sum, MT_METRIC_LEAKED_COUNT);
	fprintf(report->out,
		"\nbacktraces                 %u\ntraced size                %s in %s %s\n", live,
		n[0], n[1], MT_PLURAL(n[1], "block"));
	mt_report_suppressed(report, "");
	put_bytes(report, "allocator, virtual         ", memory->arena_bytes);
	put_bytes(report, "\nallocator, resident        ", info->arena_resident_bytes);
	put_bytes(report, "\nprocess, VSS/RSS/shared    ", info->vss_bytes);
	put_bytes(report, "/", memory->rss_bytes);
	put_bytes(report, "/", info->shared_bytes);
	fputs(" (as last seen)\n", report->out);
}

int mt_report_exit(const struct mt_report *report, struct mt_err *err)
{
	struct mt_selection selection = {0};
	struct mt_backtrace backtrace = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		report->sort, report->ascending, err);
	uint64_t shown = report->count ? report->count : UINT64_MAX, rank = 0;
	uint32_t live = 0;

	for (uint32_t i = 0; i < selection.count; i++)
		live += report->profile->groups[selection.groups[i]].live_count != 0;
	if (status >= 0 && (live || (report->suppressed && report->suppressed->all_blocks))) {
		char *command = mt_command_line(report->profile, MT_COMMAND_LINE_ROOM);

		fprintf(report->out, "not freed %sby ",
			mt_report_knows_leaks(report)   ? ""
				: report->facts.running ? "so far "
							: "at the end of the recording ");
		mt_text_put(report->out, MT_TEXT_LINE, command);
		fprintf(report->out, " (process %u), by %s\n", report->profile->info.pid,
			report->sort == MT_METRIC_LEAKED_COUNT ? "count" : "size");
		free(command);
		for (uint32_t i = 0; i < selection.count && rank < shown; i++)
			if (report->profile->groups[selection.groups[i]].live_count)
				put_group(report, ++rank, selection.groups[i], &backtrace);
		put_totals(report, &selection, live);
	}
	mt_backtrace_free(&backtrace);
	mt_selection_free(&selection);
	return status;
}
