#include "tui/command/commands.h"
#include "tui/command/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct mt_option options[] = {
	{0, "together", NULL, MT_OPTION_FLAG, MT_OPTION_AT(together),
		"show two traces as one recording, not their difference", NULL},
	MT_OPTION_BY_PROCESS,
	MT_OPTION_PROCESS,
	MT_OPTIONS_UI,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* Two traces are compared, more are one recording. */
static bool is_set(const struct mt_arguments *arguments)
{
	return arguments->operand_count > 2 || arguments->together || arguments->by
		|| arguments->processes.count;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	pid_t pid;

	if (arguments->operand_count > 1 && !strcmp(arguments->operands[0], "-")
		&& !strcmp(arguments->operands[1], "-"))
		return mt_fail(err, -EINVAL,
			"only one trace can come from standard input; give the other as a file");
	for (int i = 0; i < arguments->operand_count; i++)
		if (mt_command_is_process(arguments->operands[i], &pid))
			return mt_fail(err, -EINVAL,
				"there is no file '%s'; 'memtui attach %s' shows process %s",
				arguments->operands[i], arguments->operands[i],
				arguments->operands[i]);
	return mt_command_check_ui(arguments, false, err);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	int count = arguments->operand_count, status;
	struct mt_ui_options ui;
	char **chosen = NULL, *cache = NULL;

	mt_command_ui_options(&ui, arguments);
	if (is_set(arguments)) {
		chosen = mt_command_choose_processes(arguments, arguments->operands, &count, err);
		if (!chosen)
			return err->code;
		ui.set = chosen;
		ui.set_count = (uint32_t)count;
		ui.by_process = arguments->by;
		ui.cache = cache = mt_environment_cache();
	} else if (arguments->operand_count > 1) {
		ui.baseline = arguments->operands[0];
	}
	status = mt_ui_open(arguments->operands[arguments->operand_count - 1], &ui, err);
	free(chosen);
	free(cache);
	return status;
}

const struct mt_command mt_command_open = {
	.name = "open",
	.operands = "TRACE [TRACE_B]...",
	.words = "browse a saved trace, the difference of two, or many as one",
	.description =
		"Opens a trace in the terminal interface. '-' reads it from standard "
		"input.\n\nWith two traces the screen begins with the difference from the "
		"first (A) to the second (B), like 'memtui diff': groups that are new, grew, "
		"shrank or are gone. All other views show B; D swaps the two. Filters apply "
		"to both.\n\nThree traces or more are one recording: all processes of a build, for "
		"example. Their totals add up; the list of processes has each, and opens it. "
		"Filters that select individual blocks need a recording of one process.\n\n"
		"Every command also reads recordings of heaptrack 1.0 to 1.5 (.zst, .gz or "
		"unpacked, after heaptrack_interpret), also from standard input; 'memtui "
		"pack' makes a trace of one, which opens faster. heaptrack does not record "
		"threads, addresses, kinds of calls or reallocs, and records times to 10 ms. "
		"So threads and kinds show as unknown (except operator new, whose name it "
		"records), a realloc is a free and an allocation, and of several blocks with "
		"the same backtrace and size the last one counts as freed first. Totals, "
		"leaks and the peak are exact. A block is temporary if it is freed before "
		"the program's next allocation (in heaptrack_print: by the next event).",
	.examples =
		"memtui open memtui.dat\topen a trace of record\nmemtui open yesterday.dat "
		"today.dat\tcompare two traces\nmemtui open build.dat*\topen all processes of a "
		"session as one\nmemtui open heaptrack.prog.4711.zst\topen a "
		"recording of heaptrack\nssh host memtui record -o - ./prog | memtui open "
		"-\topen a trace from another machine\n",
	.options = options,
	.hint = "'memtui sessions' lists recordings that nobody has named",
	.operands_min = 1,
	.operands_max = -1,
	.check = check,
	.run = run,
};
