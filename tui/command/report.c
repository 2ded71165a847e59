#include "tui/command/commands.h"

#define TOP_DEFAULT 10

static const struct mt_option options[] = {
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top), "show N groups, 10 by default",
		NULL},
	MT_OPTIONS_NAMES,
	MT_OPTIONS_SORT,
	MT_OPTIONS_ROWS,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_EXACT,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments with_top = *arguments;

	with_top.names_suppressed = true;
	with_top.count = arguments->top ? arguments->top : TOP_DEFAULT;
	return mt_command_view(&with_top, mt_report_summary, true, err);
}

const struct mt_command mt_command_report = {
	.name = "report",
	.operands = "TRACE",
	.words = "print totals, losses and the top groups with their backtraces",
	.description =
		"Prints what a trace says in short: the totals of the run, what was lost, and the "
		"groups (allocations with one identical backtrace) that come first by --sort.",
	.examples =
		"memtui report memtui.dat\tthe ten groups that leaked most\n"
		"memtui report --sort at-peak-size --top 3 memtui.dat\twhat the peak was made of\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
