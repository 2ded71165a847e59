#include "tui/command/commands.h"

#define TOP_DEFAULT 10

static const struct mt_option options[] = {
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top), "show N groups (default: 10)", NULL},
	MT_OPTION_BY_PROCESS,
	MT_OPTION_PROCESS,
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
	.operands = "TRACE|PID...",
	.words = "print totals, losses and the largest groups",
	.description = "Prints a summary of a trace: the totals of the run, the losses, and the "
		       "first groups by --sort (allocations with the same backtrace), with their "
		       "shares of the total and their backtraces.",
	.examples = "memtui report memtui.dat\tshow the ten largest leaks\nmemtui report --sort "
		    "at-peak-size --top 3 memtui.dat\tshow the largest groups at the heap's "
		    "peak\nmemtui report --group 17 memtui.dat\tshow one group with its whole "
		    "backtrace\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.takes_set = true,
	.run = run,
};
