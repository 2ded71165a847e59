#include "tui/commands.h"

static const struct mt_option options[] = {
	{'s', "sort", "KEY", MT_OPTION_CHOICE, MT_OPTION_AT(allocation_sort),
		"timestamp, address, size or lifetime; without it they come in the order in which they were made",
		MT_ALLOCATION_SORT_CHOICES},
	MT_OPTIONS_COUNT,
	MT_OPTIONS_ROWS,
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments with_events = *arguments;

	with_events.events = true;
	return mt_command_view(&with_events, mt_report_allocations, true, err);
}

const struct mt_command mt_command_allocations = {
	.name = "allocations",
	.operands = "TRACE",
	.words = "list allocations one by one",
	.description = "Prints a row per block: when, where and by whom it was allocated, its size, how long it lived and what "
		"ended it. A realloc ends a block and begins another of the same chain. Of long recordings --count says how many are "
		"shown; no more are kept in memory.",
	.examples = "memtui allocations --sort lifetime --count 20 memtui.dat\twhat lived longest\n"
		"memtui allocations --lifetime only_leaked --size-min 1M memtui.dat\tlarge blocks that were never freed\n"
		"memtui allocations --function-regex '^json_' --format csv memtui.dat\tall that a parser asked for\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
