#include "tui/command/commands.h"

#define TEXT_ROWS 50

static const struct mt_option options[] = {
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"show at most N rows (default: 50 in text, all in json)", NULL},
	{0, "skip", "N", MT_OPTION_NUMBER, MT_OPTION_AT(skip), "skip the first N rows", NULL},
	MT_OPTIONS_NAMES,
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.events = true;
	if (!own.count && own.format == MT_FORMAT_TEXT)
		own.count = TEXT_ROWS;
	return mt_command_view(&own, mt_report_errors, true, err);
}

const struct mt_command mt_command_errors = {
	.name = "errors",
	.operands = "TRACE|PID",
	.words = "list double frees and mismatched calls",
	.description =
		"Lists errors in the use of blocks, with the backtraces of all calls "
		"involved: double frees (also a realloc of a freed block); mismatched calls, "
		"such as free() of a block from new, delete of a block from new[], or "
		"realloc() of either; and frees of addresses that were never allocated, "
		"with the block that has the address inside, if that still lives. The "
		"program itself ran on as it does without memtui.\n\nBacktraces of frees "
		"are shown if they were recorded (memtui record --free-stacks). If events are "
		"missing or the recording was paused, an error may be wrong: it is marked as "
		"not sure, with the reason. Filters look at the block; frees of addresses "
		"that were never allocated have no block and are counted separately if there "
		"is a filter.\n\nmemtui does not check the sizes given to sized delete, "
		"whether delete for aligned blocks is used where it must be, or which of two "
		"allocators a free belongs to. A block from a function that is not traced "
		"looks as if it had never been allocated.",
	.examples = "memtui record --free-stacks -o run.dat ./program\talso record where blocks "
		    "are freed\nmemtui errors run.dat\tlist all errors\nmemtui errors "
		    "--function-regex '^parse' --format json run.dat\tlist the errors of a "
		    "parser, for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
