#include "tui/command/commands.h"

#include <errno.h>
#include <string.h>

static const struct mt_option options[] = {
	{0, "columns", "N", MT_OPTION_NUMBER, MT_OPTION_AT(columns),
		"put steps together until N are left at most; "
		"as recorded by default, at most 40 in text",
		NULL},
	{0, "stacked", "[N]", MT_OPTION_NUMBER, MT_OPTION_AT(stacked),
		"show who holds what lives: the N functions with the largest share of the peak, 10 "
		"by default, and all others",
		"1..52"},
	{0, "by", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(by),
		"with --stacked: by the innermost frame's function (the default), line, source "
		"file or module, by kind of call, thread or backtrace",
		MT_ROWS_BY_CHOICES},
	{0, "metric", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(metric),
		"with --stacked: bytes that live (the default), or how many blocks", "bytes|count"},
	MT_OPTIONS_NAMES,
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (!arguments->stacked && (arguments->by || arguments->metric))
		return mt_fail(err, -EINVAL, "--%s says what is stacked; expected --stacked too",
			arguments->by ? "by" : "metric");
	return 0;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.history = true;
	if (!own.stacked)
		return mt_command_view(&own, mt_report_timeline, false, err);
	own.events = true;
	own.by = own.by ? own.by : mt_rows_by_name(MT_ROWS_BY_FUNCTION);
	return mt_command_view(&own, mt_report_stacked, true, err);
}

const struct mt_command mt_command_timeline = {
	.name = "timeline",
	.operands = "TRACE",
	.words = "show the heap over time",
	.description =
		"Prints live bytes and blocks at the end of each step of time, the most within it, "
		"how many allocations and frees it had, and the memory that the system counted (0 "
		"= not known). With a filter it is the part of the heap that matches; the memory "
		"that the system counted stays that of the whole process.\n\n"
		"Each row is of whole recorded steps and stands at their end. --from and --to take "
		"what was allocated within them: LIVE is then what of that still lives, the last "
		"row at --to. For the whole heap at one moment: 'memtui groups --alive-at=TIME'.\n"
		"\n"
		"With --stacked each bar is divided: a letter for each of the functions that hold "
		"the most when all that is shown is largest (AT SHOWN PEAK; with a filter it is "
		"not the peak of the heap, of which the at_peak of groups tells), '.' for all "
		"others. Together they are the live bytes of the timeline at every step.",
	.examples = "memtui timeline memtui.dat\tforty steps with a bar\n"
		    "memtui timeline --stacked=5 memtui.dat\tthe "
		    "same by the five functions that hold most\n"
		    "memtui timeline --stacked --by module --format csv memtui.dat\tlibraries over "
		    "time, for a spreadsheet\n"
		    "memtui timeline --format csv memtui.dat\tfor a spreadsheet\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.run = run,
};
