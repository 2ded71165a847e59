#include "tui/commands.h"

static const struct mt_option options[] = {
	{0, "columns", "N", MT_OPTION_NUMBER, MT_OPTION_AT(columns),
		"resample to N steps; as recorded by default, at most 40 in text", NULL},
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	return mt_command_view(arguments, mt_report_timeline, false, err);
}

const struct mt_command mt_command_timeline = {
	.name = "timeline",
	.operands = "TRACE",
	.words = "show the heap over time",
	.description = "Prints live bytes and blocks at the end of each step of time, the most within it, how "
		"many allocations and frees it had, and the memory that the system counted (0 = not known).",
	.examples = "memtui timeline memtui.dat\tforty steps with a bar\n"
		"memtui timeline --format csv memtui.dat\tfor a spreadsheet\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
