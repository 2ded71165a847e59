#include "tui/command/commands.h"

static const struct mt_option options[] = {
	MT_OPTIONS_BY,
	MT_OPTION_PROCESS,
	MT_OPTIONS_SORT,
	MT_OPTIONS_COUNT,
	MT_OPTIONS_ROWS,
	MT_OPTIONS_NAMES,
	MT_OPTIONS_WRAPPER,
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.of_rows = true;
	own.events = arguments->by && mt_rows_by_find(arguments->by) == MT_ROWS_BY_THREAD;
	return mt_command_view(&own, mt_report_groups, true, err);
}

const struct mt_command mt_command_groups = {
	.name = "groups",
	.operands = "TRACE|PID...",
	.words = "list allocations grouped by backtrace",
	.description =
		"Prints one row per group: all allocations with the same backtrace and kind "
		"of call. % is the group's share of the total. Backtraces begin with the "
		"innermost frame. Text shows them from the program's own frame: '...' stands "
		"for frames of the C, C++ and Rust libraries and of wrappers of malloc. JSON "
		"has all frames; 'where' is the index of the program's own.",
	.examples = "memtui groups --count 20 memtui.dat\tshow the twenty largest leaks\nmemtui "
		    "groups --function-regex '^json_' --sort size memtui.dat\tshow where a "
		    "parser allocates\nmemtui groups --by function --short-names "
		    "memtui.dat\tshow which functions allocate\nmemtui groups --format json "
		    "memtui.dat\tprint all groups for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.takes_set = true,
	.run = run,
};
