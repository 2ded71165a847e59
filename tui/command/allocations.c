/* What goes over single blocks: allocations, chains, histogram. */
#include "tui/command/commands.h"

#include <string.h>

#define CHOICE(id, name, words) "|" name
#define TEXT_ROWS 50

/* clang-format off */
/* Behind --sort and --order of either list. */
#define ROW_OPTIONS \
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count), \
		"show at most N rows (default: 50 in text, all in json and csv)", NULL}, \
	{0, "skip", "N", MT_OPTION_NUMBER, MT_OPTION_AT(skip), "skip the first N rows", \
		NULL}, \
	MT_OPTIONS_NAMES, \
	MT_OPTIONS_WRAPPER, \
	MT_OPTIONS_FORMAT, \
	MT_OPTIONS_FILTER, \
	MT_OPTIONS_READING, \
	MT_OPTIONS_HELP, \
	MT_OPTIONS_END
/* clang-format on */

static const struct mt_option allocation_options[] = {
	{'s', "sort", "ORDER", MT_OPTION_CHOICE, MT_OPTION_AT(allocation_sort),
		"sort by timestamp (the default), address, size, lifetime, or live: by size, "
		"blocks that are still live first",
		&(MT_ALLOCATION_ORDERS(CHOICE))[1]},
	{0, "order", "ORDER", MT_OPTION_CHOICE, MT_OPTION_AT(allocation_direction),
		"asc: smallest first, the default for timestamp and address; desc: largest "
		"first, the default for the others",
		"asc|desc|dsc"},
	ROW_OPTIONS,
};

static const struct mt_option chain_options[] = {
	{'s', "sort", "ORDER", MT_OPTION_CHOICE, MT_OPTION_AT(allocation_sort),
		"sort by length (the default), last_size, first_size, lifetime or timestamp",
		&(MT_CHAIN_ORDERS(CHOICE))[1]},
	{0, "order", "ORDER", MT_OPTION_CHOICE, MT_OPTION_AT(allocation_direction),
		"asc: smallest first, the default for timestamp; desc: largest first, the "
		"default for the others",
		"asc|desc|dsc"},
	ROW_OPTIONS,
};

static const struct mt_option histogram_options[] = {
	{0, "of", "WHAT", MT_OPTION_CHOICE, MT_OPTION_AT(histogram),
		"count by size (the default) or by lifetime", "size|lifetime"},
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static enum mt_allocation_order find_order(const char *name, bool chains)
{
	static const char *const names[] = {
#define X(id, name, words) name,
		MT_ALLOCATION_ORDERS(X) MT_CHAIN_ORDERS(X)
#undef X
	};
	int first = chains ? MT_ORDER_LENGTH : MT_ORDER_TIMESTAMP;
	int end = chains ? MT_ORDERS : MT_ORDER_LENGTH;

	for (int i = first; i < end && name; i++)
		if (!strcmp(names[i], name))
			return (enum mt_allocation_order)i;
	return (enum mt_allocation_order)first;
}

/* The options as mt_command_view takes them. */
static struct mt_arguments complete(const struct mt_arguments *arguments, bool chains)
{
	struct mt_arguments own = *arguments;
	enum mt_allocation_order order = find_order(arguments->allocation_sort, chains);
	const char *direction = arguments->allocation_direction;

	own.events = own.of_blocks = true;
	own.allocation_order = order;
	own.ascending = direction ? !strcmp(direction, "asc")
				  : order == MT_ORDER_TIMESTAMP || order == MT_ORDER_ADDRESS
			|| order == MT_ORDER_CHAIN_START;
	if (!own.count && own.format == MT_FORMAT_TEXT)
		own.count = TEXT_ROWS;
	return own;
}

static int run_allocations(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = complete(arguments, false);

	return mt_command_view(&own, mt_report_allocations, true, err);
}

static int run_chains(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = complete(arguments, true);

	return mt_command_view(&own, mt_report_chains, true, err);
}

static int run_histogram(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.events = own.of_blocks = true;
	return mt_command_view(&own, mt_report_histogram, false, err);
}

const struct mt_command mt_command_allocations = {
	.name = "allocations",
	.operands = "TRACE|PID",
	.words = "list single allocations",
	.description = "Prints one row per block: when it was allocated, how long it lived, its "
		       "size and address, the thread, the group, how it ended ('live': it was not "
		       "freed), and the function of the program that allocated it.",
	.examples = "memtui allocations --sort size memtui.dat\tshow the largest blocks\nmemtui "
		    "allocations --sort lifetime --function-regex cache memtui.dat\tshow the "
		    "oldest blocks of a cache\nmemtui allocations --alive-at peak --size-min 1M "
		    "memtui.dat\tshow the big blocks at the heap's peak\n",
	.options = allocation_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run_allocations,
};

const struct mt_command mt_command_chains = {
	.name = "chains",
	.operands = "TRACE|PID",
	.words = "list realloc chains",
	.description =
		"Prints one row per chain: a block and the blocks that realloc replaced it "
		"with, if there are any. A row has the first and the last size, the number "
		"of blocks, and the time from the first allocation to the last free ('live': "
		"the last block was not freed). Filters look at the last block of the chain.",
	.examples = "memtui chains memtui.dat\tshow the blocks that are resized most "
		    "often\nmemtui chains --sort last_size --chain-length-min 10 "
		    "memtui.dat\tshow large blocks that grew in small steps\n",
	.options = chain_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run_chains,
};

const struct mt_command mt_command_histogram = {
	.name = "histogram",
	.operands = "TRACE|PID",
	.words = "show the distribution of sizes or lifetimes",
	.description = "Counts blocks by size in bytes, or by lifetime, between powers of two. "
		       "Among lifetimes, the blocks that were not freed have a row to themselves.",
	.examples = "memtui histogram memtui.dat\tshow which sizes the program allocates\nmemtui "
		    "histogram --of lifetime --function-regex '^parse' memtui.dat\tshow how long "
		    "a parser's blocks live\n",
	.options = histogram_options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run_histogram,
};
