#include "tui/command/commands.h"

static const struct mt_option options[] = {
	{'i', "inverted", NULL, MT_OPTION_FLAG, MT_OPTION_AT(inverted),
		"begin with the allocating functions; callers below", NULL},
	{0, "levels", "N", MT_OPTION_NUMBER, MT_OPTION_AT(levels), "go at most N calls deep", NULL},
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"show at most N children of a function", NULL},
	MT_OPTIONS_MIN_PERCENT,
	MT_OPTIONS_SORT,
	MT_OPTIONS_NAMES,
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	return mt_command_view(arguments, mt_report_tree, true, err);
}

const struct mt_command mt_command_tree = {
	.name = "tree",
	.operands = "TRACE",
	.words = "show the call tree",
	.description =
		"Prints the calls that led to allocations as a tree of functions, largest first. "
		"Inlined functions are nodes of their own. A function's total is all that was "
		"allocated in it and in what it called; self is what it allocated directly. By "
		"suspect a function is as suspicious as the worst backtrace that leads through "
		"it.",
	.examples = "memtui tree --levels 6 memtui.dat\tfrom main on\n"
		    "memtui tree --inverted --count 5 memtui.dat\tfrom "
		    "the allocating functions to their callers\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
