/* Several traces, a line each: for spreadsheets, and for people. */
#include "core/base/buffer.h"
#include "core/base/text.h"
#include "core/export/blind.h"
#include "core/export/command_line.h"
#include "core/export/report_parts.h"
#include "core/export/report_totals.h"
#include "core/export/resident.h"
#include "core/export/table.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LEAST 20   /* columns of file and command, however long the numbers are */
#define NAME_REASON 60  /* columns of them that have room for why a process was not seen */
#define COMMAND_LEAST 6 /* columns of a command; with fewer it is left out */
#define WIDE_ENOUGH 110 /* columns of a terminal that has room for parent and origin */
#define ELLIPSIS "..."  /* as in a command that is cut */

/* A pipe gets columns of a fixed width, a terminal lines that do not wrap. */
enum layout { PIPE, WIDE, NARROW };

static enum layout layout_of(uint32_t width)
{
	return !width ? PIPE : width >= WIDE_ENOUGH ? WIDE : NARROW;
}

struct line {
	const char *process, *parent, *by, *allocations, *peak, *leaked, *resident;
};

/* Everything before the file; caller frees. */
static char *numbers(const struct line *l, enum layout layout)
{
	if (layout == PIPE)
		return mt_format("%8s %8s  %-7s %15s %12s %12s %12s  ", l->process, l->parent,
			l->by, l->allocations, l->peak, l->leaked, l->resident);
	if (layout == WIDE)
		return mt_format("%8s %8s  %-7s %12s %8s %8s %8s  ", l->process, l->parent, l->by,
			l->allocations, l->peak, l->leaked, l->resident);
	return mt_format("%8s %11s %7s %7s %8s  ", l->process, l->allocations, l->peak, l->leaked,
		l->resident);
}

void mt_report_info_heading(FILE *out, enum mt_format format, uint32_t width)
{
	static const struct line heads = {"process", "parent", "by", "allocations", "peak",
		"leaked", "resident"};
	char *text;

	if (format == MT_FORMAT_CSV) {
		fputs("pid,parent_pid,root_pid,origin,allocations,peak_bytes,leaked_bytes,file,"
		      "blind,peak_rss_bytes\n",
			out);
		return;
	}
	text = numbers(&heads, layout_of(width));
	fprintf(out, "%sfile and command\n", text);
	free(text);
}

static void line_csv(const struct mt_report *report, const struct mt_report_totals *totals)
{
	const struct mt_info *info = &report->profile->info;
	const struct mt_blind *own = mt_blind_own(report->profile);
	uint64_t resident_ns, resident = mt_resident_peak(report->profile, &resident_ns);

	fprintf(report->out, "%u,%u,%u,%s,%llu,%llu,%llu", info->pid, info->parent, info->root,
		mt_origin_name(info->origin), (unsigned long long)totals->allocations,
		(unsigned long long)totals->peak_bytes, (unsigned long long)totals->leaked_bytes);
	mt_csv_field(report->out, false, report->path);
	mt_csv_field(report->out, false, own ? mt_blind_reason_name(own->reason) : "");
	putc(',', report->out);
	if (resident)
		fprintf(report->out, "%llu", (unsigned long long)resident);
	putc('\n', report->out);
}

/* The end of a path says most. */
static void put_path(struct mt_buffer *out, const char *path, uint32_t room)
{
	char *line = mt_text_line(path);
	const char *at = line;

	if (mt_text_columns(at) > room) {
		while (*at && mt_text_columns(at) + sizeof ELLIPSIS - 1 > room)
			mt_text_next(&at);
		mt_buffer_printf(out, ELLIPSIS);
	}
	mt_buffer_printf(out, "%s", at);
	free(line);
}

/* A command without its program's directory. */
static const char *without_directory(const char *command)
{
	const char *end = command + strcspn(command, " "), *at = end;

	while (at > command && at[-1] != '/')
		at--;
	return at < end ? at : command;
}

/* File, what is wrong with it, and as much of the command as there is room for. */
static void put_fitting(const struct mt_report *report, const char *command, uint32_t room)
{
	const struct mt_blind *own = mt_blind_own(report->profile);
	struct mt_buffer text = {0};
	char *line, *fitting, *note;
	uint32_t used;

	note = !own ? mt_strdup("")
		: room >= NAME_REASON
		? mt_format("  (%s: not seen)", mt_blind_reason_name(own->reason))
		: mt_strdup("  (not seen)");
	put_path(&text, report->path, own ? room - (uint32_t)strlen(note) : room * 2 / 3);
	mt_buffer_printf(&text, "%s", note);
	free(note);
	fputs((const char *)text.data, report->out);
	used = mt_text_columns((const char *)text.data) + 2;
	mt_buffer_free(&text);
	if (room < used + COMMAND_LEAST)
		return;
	line = mt_text_line(without_directory(command));
	fitting = mt_text_fitting(line, room - used);
	fprintf(report->out, "  %s", fitting);
	free(fitting);
	free(line);
}

static void put_whole(const struct mt_report *report, const char *command)
{
	const struct mt_blind *own = mt_blind_own(report->profile);

	mt_text_put(report->out, MT_TEXT_LINE, report->path);
	fputs("  ", report->out);
	mt_text_put(report->out, MT_TEXT_LINE, command);
	if (own)
		fprintf(report->out, "  (%s: not seen)", mt_blind_reason_name(own->reason));
}

static void line_text(const struct mt_report *report, const struct mt_report_totals *totals)
{
	const struct mt_info *info = &report->profile->info;
	char allocations[MT_NUMBER_EXACT_LEN + 1] = "~", peak[MT_NUMBER_EXACT_LEN + 1] = "~";
	char leaked[MT_NUMBER_EXACT_LEN + 1] = "~", resident[MT_NUMBER_EXACT_LEN] = "-";
	char process[16], parent[16];
	bool sampled = mt_info_is_sampled(info);
	uint64_t resident_ns, resident_peak = mt_resident_peak(report->profile, &resident_ns);
	char *command = mt_command_line(report->profile, MT_COMMAND_LINE_CELL), *text;
	uint32_t used;

	snprintf(process, sizeof process, "%u", info->pid);
	snprintf(parent, sizeof parent, "%u", info->parent);
	mt_report_number(allocations + sampled, report, MT_UNIT_COUNT, totals->allocations);
	mt_report_number(peak + (info->peak_unsure || sampled), report, MT_UNIT_BYTES,
		totals->peak_bytes);
	mt_report_number(leaked + (totals->estimated || sampled), report, MT_UNIT_BYTES,
		totals->leaked_bytes);
	if (resident_peak)
		mt_report_number(resident, report, MT_UNIT_BYTES, resident_peak);
	text = numbers(&(struct line){process, parent, mt_origin_name(info->origin), allocations,
			       peak, leaked, resident},
		layout_of(report->width));
	fputs(text, report->out);
	used = (uint32_t)strlen(text);
	if (report->width)
		put_fitting(report, command,
			used + NAME_LEAST < report->width ? report->width - used : NAME_LEAST);
	else
		put_whole(report, command);
	putc('\n', report->out);
	free(text);
	free(command);
}

int mt_report_info_line(const struct mt_report *report, struct mt_err *err)
{
	struct mt_report_totals totals;
	int status = mt_report_totals(&totals, report, err);

	if (status >= 0)
		(report->format == MT_FORMAT_CSV ? line_csv : line_text)(report, &totals);
	return status;
}
