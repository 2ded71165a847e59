#include "tui/command/commands.h"

static const struct mt_option options[] = {
	MT_OPTION_BY_PROCESS,
	MT_OPTION_PROCESS,
	MT_OPTIONS_SORT,
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"in text: show at most N callers and N callees", NULL},
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
	struct mt_arguments own = *arguments;

	/* Traces are the operands of every view. */
	own.function = *own.operands++;
	own.operand_count--;
	return mt_command_view(&own, mt_report_callers, true, err);
}

const struct mt_command mt_command_callers = {
	.name = "callers",
	.operands = "FUNCTION TRACE|PID...",
	.words = "show the callers and callees of a function",
	.description =
		"Sums up all backtraces that contain FUNCTION: what was allocated in it and "
		"below it, by each of its callers, and in each of the functions that it "
		"calls. FUNCTION is the name of a function, demangled or not, with or "
		"without its arguments. If no function has that name, it is a pattern, and "
		"all functions that match are taken together.\n\nA backtrace counts once for "
		"each caller and callee, even if the function is recursive. Among the "
		"callees, '[allocated here]' is what the function allocates itself; among "
		"the callers, '[nobody]' stands for backtraces that begin with it.",
	.examples = "memtui callers parse_object memtui.dat\tshow who calls the parser, and "
		    "where it allocates\nmemtui callers '^json_' --sort at_peak_size "
		    "memtui.dat\tshow a whole library at the heap's peak\n",
	.options = options,
	.operands_min = 2,
	.operands_max = -1,
	.takes_set = true,
	.run = run,
};
