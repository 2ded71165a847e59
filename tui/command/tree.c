#include "tui/command/commands.h"

static const struct mt_option options[] = {
	{'i', "inverted", NULL, MT_OPTION_FLAG, MT_OPTION_AT(inverted),
		"start from the functions that allocated, with their callers below", NULL},
	{0, "levels", "N", MT_OPTION_NUMBER, MT_OPTION_AT(levels), "show at most N levels", NULL},
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"show at most N children of a function", NULL},
	MT_OPTIONS_MIN_PERCENT,
	MT_OPTION_BY_PROCESS,
	MT_OPTION_PROCESS,
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
	.operands = "TRACE|PID...",
	.words = "show the call tree",
	.description =
		"Prints the call tree of the allocations, largest functions first. Inlined "
		"functions have their own nodes. The total of a function is what it and its "
		"callees allocated; self is what it allocated directly. Functions with less "
		"than --min-percent of the total are left out, and a row says how many. The text "
		"contains no allocators and containers that a function called to get its "
		"memory: the row of that function includes them. --min-percent 0, JSON and "
		"CSV contain every frame. In "
		"JSON, omitted has their number and totals, and all_omitted at the root those of "
		"the whole tree. With --sort suspect, a function has the score of its most "
		"suspicious backtrace.",
	.examples = "memtui tree --levels 6 memtui.dat\tshow the first six levels from "
		    "main\nmemtui tree --inverted --count 5 memtui.dat\tshow the callers of the "
		    "allocating functions\nmemtui tree --min-percent 0 --format json "
		    "memtui.dat\tprint the whole tree for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.takes_set = true,
	.run = run,
};
