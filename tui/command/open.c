#include "tui/command/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct mt_option options[] = {
	MT_OPTIONS_UI,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (arguments->operand_count > 1 && !strcmp(arguments->operands[0], "-")
		&& !strcmp(arguments->operands[1], "-"))
		return mt_fail(err, -EINVAL,
			"both traces cannot come from standard input; give one of them as a file");
	return mt_command_check_ui(arguments, false, err);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_ui_options ui;
	char *filter;
	int status = mt_command_ui_options(&ui, &filter, arguments, err);

	if (arguments->operand_count > 1)
		ui.baseline = arguments->operands[0];
	if (status >= 0)
		status = mt_ui_open(arguments->operands[arguments->operand_count - 1], &ui, err);
	free(filter);
	return status;
}

const struct mt_command mt_command_open = {
	.name = "open",
	.operands = "TRACE [TRACE_B]",
	.words = "look at a saved trace in the terminal, or at what changed between two",
	.description =
		"Opens a trace in the terminal interface. - reads it from standard input.\n\n"
		"With a second one the screen begins with what changed from the first (A) to the "
		"second (B): groups that are new, grew, shrank or are gone, by the metric in "
		"force; as 'memtui diff' tells it. All other views show B; D swaps the two. "
		"Filters hold for both.\n\n"
		"TRACE can also be what heaptrack 1.0 to 1.5 has recorded and interpreted (.zst, "
		".gz or unpacked), here and wherever a trace is read, from standard input too; "
		"'memtui pack' makes a trace of it that opens faster. heaptrack writes down "
		"neither threads nor addresses, kinds of calls or reallocs, and times to 10 ms: "
		"threads and kinds show as unknown (but for operator new, which it names), a "
		"realloc as a free and an allocation, and of blocks of one stack and size the last "
		"allocated is taken to be freed first. Totals, leaks and the peak are exact; "
		"temporary is what was freed before the program's next allocation "
		"(heaptrack_print: by the very next event).",
	.examples = "memtui open memtui.dat\ta trace that record has written\n"
		    "memtui open yesterday.dat today.dat\twhat changed from yesterday to today\n"
		    "memtui open heaptrack.prog.4711.zst\twhat heaptrack has recorded\n"
		    "ssh host memtui record -o - ./prog | memtui "
		    "open -\ta trace from another machine\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 2,
	.check = check,
	.run = run,
};
