/* The lists that are made from the log: mmaps, mallopts. */
#include "tui/command/commands.h"

static const struct mt_option options[] = {
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_COUNT,
	MT_OPTIONS_WRAPPER,
	{0, "skip", "N", MT_OPTION_NUMBER, MT_OPTION_AT(skip), "skip the first N rows", NULL},
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int view(const struct mt_arguments *arguments,
	int (*report)(const struct mt_report *, struct mt_err *), struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.of_log = true;
	return mt_command_view(&own, report, true, err);
}

static int run_mmaps(const struct mt_arguments *arguments, struct mt_err *err)
{
	return view(arguments, mt_report_mmaps, err);
}

static int run_mallopts(const struct mt_arguments *arguments, struct mt_err *err)
{
	return view(arguments, mt_report_mallopts, err);
}

const struct mt_command mt_command_mmaps = {
	.name = "mmaps",
	.operands = "TRACE|PID",
	.words = "list memory mappings",
	.description = "Prints each mmap, munmap, mremap and growth of the break by the program, "
		       "with the backtrace of the call. Mappings that malloc makes belong to the "
		       "heap and are not listed.",
	.examples = "memtui mmaps memtui.dat\tlist all mappings in order\nmemtui mmaps --format "
		    "json memtui.dat\tprint them with whole backtraces\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run_mmaps,
};

const struct mt_command mt_command_mallopts = {
	.name = "mallopts",
	.operands = "TRACE|PID",
	.words = "list calls of mallopt and malloc_trim",
	.description = "Prints each call of mallopt and malloc_trim with its parameter, value, "
		       "result and backtrace.",
	.examples = "memtui mallopts memtui.dat\tlist all calls in order\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run_mallopts,
};
