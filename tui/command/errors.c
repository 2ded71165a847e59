#include "tui/command/commands.h"

#define TEXT_ROWS 50

static const struct mt_option options[] = {
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"show at most N; text shows 50 by default", NULL},
	{0, "skip", "N", MT_OPTION_NUMBER, MT_OPTION_AT(skip), "leave out the first N", NULL},
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
	.operands = "TRACE",
	.words = "list double frees and mismatched calls",
	.description =
		"Goes over all events and lists what the program did wrong with its blocks, each "
		"with the stacks of all calls that have to do with it: blocks that were freed "
		"twice (or resized after they were freed); blocks that were ended by another call "
		"than the one that belongs to their allocation, as free() of what new has "
		"allocated, delete of what new[] has, or realloc() of either; and frees of "
		"addresses at which nothing was ever allocated. The program itself went on as it "
		"would without memtui.\n\n"
		"The stacks of frees are there when they were recorded: memtui record "
		"--free-stacks. What may be no error, since events are missing or the recording "
		"was paused, is marked as not sure, with the reason. Filters ask of the blocks; "
		"frees of addresses that were never allocated have none, and are counted apart "
		"where there is a filter.\n\n"
		"Not seen are the sizes that a sized delete is given, whether the delete for "
		"aligned blocks is called where it must be, and which of two allocators a free "
		"belongs to. What comes from functions that are "
		"not traced looks as if it had never been allocated.",
	.examples = "memtui record --free-stacks -o run.dat "
		    "./program\trecord where blocks are freed, too\n"
		    "memtui errors run.dat\twhat was freed wrongly\n"
		    "memtui errors --function-regex '^parse' --format json "
		    "run.dat\tof one part of the program, for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
