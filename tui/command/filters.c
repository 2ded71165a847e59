/* The filters that many commands share: their options and their language, told once. */
#include "tui/command/commands.h"

const struct mt_option mt_filter_options[] = {
	MT_OPTIONS_FILTER,
	MT_OPTIONS_END,
};

const char mt_filters_words[] = "filters that select allocations and groups";

const char mt_filters_about[] =
	"Every command that shows a recording takes these options, and the terminal interface "
	"takes the same fields in its prompt. A filter selects the allocations, or the groups of "
	"allocations with one backtrace, that a command shows and counts.\n\n"
	"All filters must hold, also if one is given twice: if a pattern is given twice, both must "
	"match, but they may match different frames; of two limits, the narrower one holds. Limits "
	"include their own value.\n\n"
	"A moment is a time since the start of the program (1.5s, 500ms, 2m, 1h; seconds without a "
	"unit) or a percentage of the run (20%). Sizes take the units k, M, G and T, which are "
	"powers of 1024. Patterns are PCRE2. A pattern without a capital letter ignores case, "
	"unless it begins with (?-i).\n\n"
	"A reallocation ends one block and begins another; both belong to one chain. A block that "
	"was never freed lives until the end of the recording.\n\n"
	"--mmapped goes by the usable size that glibc's malloc gave the block. --arena goes by the "
	"block's address: memtui takes the lower half of the gap between the program and the next "
	"library for the main heap. If the break cannot grow, malloc maps memory for the main "
	"heap, and blocks there count as a thread's. Blocks that have their own mapping, and "
	"blocks of the pools of memtui.h, are in neither arena.";

const char mt_filters_language[] =
	"--filter takes all fields in one text, as the prompt of the terminal interface does. "
	"Words are separated by blanks; quotes keep a blank. A word is one of:\n\n"
	"field:value or field=value: lifetime:only_leaked from:20% thread:worker group:17\n\n"
	"a comparison, for a field with a least and a greatest value: size>=1k size<4k "
	"lifetime>10ms chain_length:2..5\n\n"
	"a comparison of a metric, for groups: leaked_size>1M growth>0 age<5s; of several metrics, "
	"all must hold\n\n"
	"a pattern, which must match the name of a function in the backtrace; -pattern, which must "
	"match none; function:, source: and module: before a pattern say what it is matched with, "
	"and ! before the pattern says that it must match none: module:!libc";

const char mt_metrics_about[] =
	"A metric is a number that each group of allocations has, and by which --sort orders them. "
	"METRIC or all.METRIC is the value of the whole group; only_matched.METRIC is the value of "
	"those of its allocations that the filters select. A recording can have more metrics than "
	"these: 'groups' shows them.";

bool mt_option_is_filter(const struct mt_option *option)
{
	for (const struct mt_option *filter = mt_filter_options; filter->name; filter++)
		if (filter->place == option->place)
			return true;
	return false;
}

bool mt_command_filters(const struct mt_command *command)
{
	const struct mt_option *option = command->options;

	while (option->name && !mt_option_is_filter(option))
		option++;
	return option->name;
}
