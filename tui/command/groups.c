#include "tui/command/commands.h"

static const struct mt_option options[] = {
	MT_OPTIONS_BY,
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

	own.events = arguments->by && mt_rows_by_find(arguments->by) == MT_ROWS_BY_THREAD;
	return mt_command_view(&own, mt_report_groups, true, err);
}

const struct mt_command mt_command_groups = {
	.name = "groups",
	.operands = "TRACE",
	.words = "list allocations grouped by backtrace",
	.description =
		"Prints one row per group: all allocations with one identical backtrace and kind "
		"of call. Backtraces begin with the innermost frame; text leaves out, as ..., the "
		"C library's, C++'s and Rust's, and those of wrappers and allocators that pass on "
		"to malloc: it begins where the program itself asks for memory. In JSON that is "
		"the frame of the index in where.",
	.examples =
		"memtui groups --count 20 memtui.dat\tthe twenty groups that leaked most\n"
		"memtui groups --function-regex '^json_' --sort "
		"size memtui.dat\twhat went through a parser\n"
		"memtui groups --by function --short-names memtui.dat\twhich functions allocate\n"
		"memtui groups --format json memtui.dat\tall of it for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
