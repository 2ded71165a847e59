#include "tui/commands.h"

static const struct mt_option options[] = {
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_COUNT,
	{0, "skip", "N", MT_OPTION_NUMBER, MT_OPTION_AT(skip), "leave out the first N rows", NULL},
	MT_OPTIONS_FILTER,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.of_log = true;
	return mt_command_view(&own, mt_report_mallopts, true, err);
}

const struct mt_command mt_command_mallopts = {
	.name = "mallopts",
	.operands = "TRACE",
	.words = "list calls of mallopt and malloc_trim",
	.description = "Prints each call of mallopt and malloc_trim with its parameter, value, result and the "
		"stack of the call.",
	.examples = "memtui mallopts memtui.dat\tall of them, in order\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
