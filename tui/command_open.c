#include "tui/commands.h"

#include <stdlib.h>

static const struct mt_option options[] = {
	MT_OPTIONS_UI,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_ui_options ui;
	char *filter;
	int status = mt_command_ui_options(&ui, &filter, arguments, err);

	if (status >= 0)
		status = mt_ui_open(arguments->operands[0], &ui, err);
	free(filter);
	return status;
}

const struct mt_command mt_command_open = {
	.name = "open",
	.operands = "TRACE",
	.words = "look at a saved trace in the terminal",
	.description = "Opens a trace in the terminal interface. - reads it from standard input.",
	.examples = "memtui open memtui.dat\ta trace that record has written\n"
		"ssh host memtui record -o - ./prog | memtui open -\ta trace from another machine\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
