#include "tui/commands.h"

#include <stdlib.h>

static const struct mt_option options[] = {
	{0, "headless", NULL, MT_OPTION_FLAG, MT_OPTION_AT(headless),
		"no terminal interface: as memtui record", NULL},
	MT_OPTIONS_RECORD,
	MT_OPTIONS_UI,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_session_options session;
	struct mt_ui_options ui;
	char *filter, *library;
	int exit_status = 0;

	if (arguments->headless)
		return mt_command_record_program(arguments, err);
	int status = mt_command_ui_options(&ui, &filter, arguments, err);

	if (status >= 0) {
		mt_command_session_options(&session, &library, arguments);
		ui.close = mt_command_close_session;
		status = mt_ui_run(&session, &ui, &exit_status, err);
		free(library);
	}
	free(filter);
	return status < 0 ? status : exit_status;
}

const struct mt_command mt_command_run = {
	.name = "run",
	.operands = "PROG [ARGS]",
	.words = "run a program and watch its heap live",
	.description = "Starts the program with its own terminal in a pane and shows its heap while it runs. "
		"Options come before the program; what follows it belongs to it.",
	.examples = "memtui run ./prog arg\twatch a program\n"
		"memtui run -o prog.dat -- ./prog -v\tand keep the trace\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.runs_program = true,
	.check = mt_command_check_recording,
	.run = run,
};
