#include "tui/command/commands.h"

static const struct mt_option options[] = {
	MT_OPTIONS_SORT,
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"text: show at most N callers and N callees", NULL},
	MT_OPTIONS_NAMES,
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	/* The trace comes first for every view; here the function does. */
	char *const operands[] = {arguments->operands[1], arguments->operands[0], NULL};
	struct mt_arguments turned = *arguments;

	turned.operands = operands;
	return mt_command_view(&turned, mt_report_callers, true, err);
}

const struct mt_command mt_command_callers = {
	.name = "callers",
	.operands = "FUNCTION TRACE",
	.words = "show who calls a function, and what it calls",
	.description =
		"Puts together all stacks that lead through FUNCTION: what was allocated by it and "
		"below it, by which of its callers and in which of the functions that it calls. "
		"FUNCTION is a function's name, with or without its arguments, demangled or not; "
		"where no function is called so, it is a regular expression, "
		"and what matches is taken together.\n\n"
		"A stack counts once for each caller and callee, however often the function recurs "
		"in it. '[allocated here]' among the callees stands for what the function "
		"allocates itself, '[nobody]' among the callers for stacks that begin with it.",
	.examples = "memtui callers parse_object memtui.dat\twho "
		    "makes the parser allocate, and for what\n"
		    "memtui callers '^json_' --sort at_peak_size "
		    "memtui.dat\ta whole library at the heap's peak\n",
	.options = options,
	.operands_min = 2,
	.operands_max = 2,
	.run = run,
};
