#include "tui/commands.h"

static const struct mt_option options[] = {
	{0, "columns", "N", MT_OPTION_NUMBER, MT_OPTION_AT(columns),
		"resample to N steps; as recorded by default, at most 40 in text", NULL},
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments with_history = *arguments;

	with_history.history = true;
	return mt_command_view(&with_history, mt_report_timeline, false, err);
}

const struct mt_command mt_command_timeline = {
	.name = "timeline",
	.operands = "TRACE",
	.words = "show the heap over time",
	.description = "Prints live bytes and blocks at the end of each step of time, the most within it, how "
		"many allocations and frees it had, and the memory that the system counted (0 = not known). With a "
		"filter it is the part of the heap that matches.",
	.examples = "memtui timeline memtui.dat\tforty steps with a bar\n"
		"memtui timeline --format csv memtui.dat\tfor a spreadsheet\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
