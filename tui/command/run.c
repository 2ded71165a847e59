#include "tui/command/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct mt_option options[] = {
	{0, "headless", NULL, MT_OPTION_FLAG, MT_OPTION_AT(headless),
		"show no terminal interface: the program keeps this terminal, "
		"and memtui attach shows its heap",
		NULL},
	{0, "tty", "PATH", MT_OPTION_TEXT, MT_OPTION_AT(tty),
		"run the program on this terminal, such as another window's, not in a pane", NULL},
	MT_OPTIONS_RECORD,
	MT_OPTIONS_SIGNALS,
	MT_OPTIONS_UI,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (arguments->headless && arguments->tty)
		return mt_fail(err, -EINVAL,
			"--headless and --tty exclude each other: the program runs on "
			"this terminal, or on the other one");
	if (!arguments->headless && mt_command_check_ui(arguments, true, err) < 0)
		return err->code;
	return mt_command_check_recording(arguments, false, err);
}

/* The device behind a descriptor, or 0: that of /dev/tty is the terminal itself. */
static unsigned device(int fd)
{
	unsigned number = 0;

	return ioctl(fd, TIOCGDEV, &number) < 0 ? 0 : number;
}

/* Before anything is started: whether the program could have it. */
static int check_terminal(const char *path, struct mt_err *err)
{
	int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), result = 0;

	if (fd < 0)
		return mt_fail(err, -errno,
			"--tty %s: cannot open it: %s; type 'tty' in the other window "
			"to get its name",
			path, strerror(errno));
	if (!isatty(fd))
		result = mt_fail(err, -ENOTTY,
			"--tty %s: not a terminal; type 'tty' in the other window to "
			"get its name",
			path);
	else if (device(fd)
		&& (device(fd) == device(STDOUT_FILENO) || device(fd) == device(STDIN_FILENO)))
		result = mt_fail(err, -EBUSY,
			"--tty %s: is the terminal of memtui itself; give another one, "
			"or use --headless",
			path);
	close(fd);
	return result;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_session_options session;
	struct mt_ui_options ui;
	char *library;
	int exit_status = 0, status;

	if (arguments->headless)
		return mt_command_record_program(arguments, err);
	if (arguments->tty && check_terminal(arguments->tty, err) < 0)
		return err->code;
	mt_command_ui_options(&ui, arguments);
	mt_command_session_options(&session, &library, arguments);
	ui.close = mt_command_close_session;
	ui.tty = arguments->tty;
	status = mt_ui_run(&session, &ui, &exit_status, err);
	free(library);
	return status < 0 ? status : exit_status;
}

const struct mt_command mt_command_run = {
	.name = "run",
	.operands = "PROG [ARGS]",
	.words = "run a program and watch its heap live",
	.description =
		"Starts the program in a pane and shows its heap while it runs. Options stand "
		"before the program; everything behind it is an argument of the program.",
	.details =
		"O opens the pane, Enter in it gives the program the keyboard, and ^] takes it "
		"back. The pane keeps the last 10,000 lines of output, and / searches them.\n\n"
		"On quitting (q, F10, ^C) memtui asks what to do with a program that still runs, "
		"and with a recording without -o: s saves it in this directory, a saves those of "
		"all processes in a new directory, d discards it, k keeps the program running and "
		"recorded. Enter, or the same key once more, ends the program and saves. A "
		"recording that nobody has saved is in a directory below $XDG_CACHE_HOME/memtui or "
		"~/.cache/memtui, and 'memtui sessions' lists it; memtui keeps the last eight of "
		"them.\n\n"
		"With --tty the program uses another terminal, such as a second window. Type "
		"'tty; sleep infinity' there first: tty prints its name, and sleep keeps the shell "
		"from reading the program's input. If that shell has job control, ^C and ^Z in the "
		"window go to the shell's jobs, not to the program. With --headless the program "
		"keeps this terminal, and memtui attach shows its heap from elsewhere.",
	.examples = "memtui run ./prog arg\twatch a program\n"
		    "memtui run -o prog.dat -- ./prog -v\tgive the recording a name\n"
		    "memtui run --tty /dev/pts/7 ./prog\trun the program in another window\n"
		    "memtui run --headless ./prog\trun the program here; attach from elsewhere\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.runs_program = true,
	.check = check,
	.run = run,
};
