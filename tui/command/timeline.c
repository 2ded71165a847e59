#include "tui/command/commands.h"

#include <errno.h>
#include <string.h>

static const struct mt_option options[] = {
	{0, "columns", "N", MT_OPTION_NUMBER, MT_OPTION_AT(columns),
		"show at most N steps (default: 40 in text, as recorded in json and csv)", NULL},
	{0, "stacked", "[N]", MT_OPTION_NUMBER, MT_OPTION_AT(stacked),
		"show the N functions with the largest share of the peak (default: 10), and "
		"all others",
		"1..52"},
	{0, "by", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(by),
		"with --stacked: by function (the default), line, source file or module of "
		"the innermost frame, kind of call, thread or backtrace",
		MT_ROWS_BY_CHOICES},
	{0, "metric", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(metric),
		"with --stacked: bytes (live bytes, the default) or count (live blocks)",
		"bytes|count"},
	MT_OPTION_PROCESS,
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
		return mt_fail(err, -EINVAL, "--%s: only with --stacked",
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
	.operands = "TRACE|PID...",
	.words = "show the heap over time",
	.description =
		"Prints for each time step the live bytes and blocks at its end, the most "
		"bytes within it, its allocations and frees, and the resident memory of the "
		"process (0: not known). Filters select a part of the heap; resident memory "
		"is always that of the whole process.\n\nEach row covers whole recorded "
		"steps and is shown at their end. --from and --to select the allocations "
		"made between them: LIVE is the part of these that is still live, in the "
		"last row at --to. For the whole heap at one moment use 'memtui groups "
		"--alive-at=TIME'.\n\nWith --stacked each bar is divided: a letter for each "
		"of the functions that use most when the sum shown is largest (AT SHOWN "
		"PEAK; with a filter this is not the peak of the heap), and '.' for all "
		"others. Together they are the live bytes of the timeline.",
	.examples = "memtui timeline memtui.dat\tshow forty steps as bars\nmemtui timeline "
		    "--stacked=5 memtui.dat\tdivide the bars by the five largest "
		    "functions\nmemtui timeline --stacked --by module --format csv "
		    "memtui.dat\tprint libraries over time for a spreadsheet\nmemtui timeline "
		    "--format csv memtui.dat\tprint it for a spreadsheet\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.takes_set = true,
	.check = check,
	.run = run,
};
