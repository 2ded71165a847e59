#include "tui/commands.h"

static const struct mt_option options[] = {
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	return mt_command_view(arguments, mt_report_info, false, err);
}

const struct mt_command mt_command_info = {
	.name = "info",
	.operands = "TRACE",
	.words = "show what a trace holds and what was lost",
	.description = "Prints the command line, the totals and the losses of a recording.\n\n"
		"allocations counts every successful malloc, calloc, memalign, new and realloc(NULL, n); a "
		"realloc of a live block counts as a reallocation. With a filter the totals are those of the "
		"matching groups, where a realloc counts as one allocation and one free, and the peak is "
		"their share of it.",
	.examples = "memtui info memtui.dat\ttotals and losses\n"
		"memtui info --format json memtui.dat\tthe same for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
