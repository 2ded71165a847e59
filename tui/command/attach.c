#include "tui/command/commands.h"

#include "core/base/text.h"
#include "core/capture/import.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const struct mt_option options[] = {
	MT_OPTIONS_RECORD,
	MT_OPTIONS_UI,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* process: of the session; 0: its root. */
static int attach_to(const struct mt_session_entry *entry, pid_t process,
	const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_ui_options ui;

	mt_command_ui_options(&ui, arguments);
	return mt_ui_attach(entry->name, process, &ui, err);
}

/* What a program writes by itself is looked at as a file that grows. 1: the process writes none. */
static int attach_to_file(pid_t pid, const struct mt_arguments *arguments, struct mt_err *err)
{
	bool inherited;
	char *path = mt_import_of_process(pid, &inherited);
	struct mt_ui_options ui;
	int status;

	if (!path && inherited)
		return mt_fail(err, -ESRCH, MT_COMMAND_INHERITED, (int)pid);
	if (!path)
		return 1;
	mt_command_ui_options(&ui, arguments);
	status = mt_ui_open(path, &ui, err);
	free(path);
	return status;
}

static void print_line(pid_t process, pid_t parent, pid_t recorder, const char *command,
	const char *note)
{
	printf("%8d  %8d  %8d  ", (int)process, (int)parent, (int)recorder);
	mt_text_put(stdout, MT_TEXT_LINE, command);
	printf("%s\n", note);
}

/* What one session records now; returns how many processes. */
static int list(const struct mt_session_entry *entry)
{
	struct mt_session_process *processes;
	struct mt_err ignored;
	int count, live = 0;

	if (!entry->program) {
		printf("%8s  %8s  %8d  (does not answer; it may be stopped)\n", "?", "?",
			(int)entry->recorder);
		return 0;
	}
	count = mt_session_processes(entry->name, &processes, &ignored);
	for (int i = 0; i < count; i++) {
		live += processes[i].alive != 0;
		print_line(processes[i].pid, processes[i].parent, entry->recorder,
			processes[i].pid == entry->program ? entry->command : processes[i].command,
			processes[i].alive ? "" : " (has ended)");
	}
	if (count <= 0)
		print_line(entry->program, 0, entry->recorder, entry->command, "");
	free(processes);
	return count <= 0 ? 1 : live;
}

static void list_all(const struct mt_session_entry *entries, int count)
{
	printf("%8s  %8s  %8s  %s\n", "PROCESS", "PARENT", "RECORDER", "COMMAND");
	for (int i = 0; i < count; i++)
		list(&entries[i]);
	fflush(stdout);
}

/* 0 when the root lives, or none does: the recorder is at its last, or does not say; else the
 * process that alone goes on; negative: there are several. */
static pid_t only_process(const struct mt_session_entry *entry)
{
	struct mt_session_process *processes = NULL;
	struct mt_err ignored;
	int count = entry->program ? mt_session_processes(entry->name, &processes, &ignored) : 0;
	int live = 0;
	pid_t only = 0;
	bool root = false;

	for (int i = 0; i < count && !root; i++) {
		if (!processes[i].alive)
			continue;
		root = processes[i].pid == entry->program;
		only = root ? 0 : live++ ? -1 : processes[i].pid;
	}
	free(processes);
	return only;
}

/* A recording of a process that runs, which nobody records yet. */
static int begin(const struct mt_arguments *arguments, pid_t pid, struct mt_err *err)
{
	struct mt_arguments with = *arguments;
	struct mt_session_options session;
	struct mt_ui_options ui;
	char *library;
	int exit_status = 0, status = mt_session_check_attach(pid, err);

	with.pid = (uint64_t)pid;
	if (status < 0)
		return status;
	mt_command_ui_options(&ui, &with);
	mt_command_session_options(&session, &library, &with);
	ui.close = mt_command_close_session;
	status = mt_ui_run(&session, &ui, &exit_status, err);
	free(library);
	return status < 0 ? status : exit_status;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *word = arguments->operand_count ? arguments->operands[0] : NULL;
	char *end = NULL;

	if (!word || (strtol(word, &end, 10) > 0 && !*end))
		return mt_command_check_ui(arguments, false, err) < 0
			? err->code
			: mt_command_check_recording(arguments, true, err);
	return mt_fail(err, -EINVAL,
		"invalid process '%.60s'; give the number of a process, or of a recorder", word);
}

/* Joins the recording that the process is in, or begins one. */
static int attach_process(const struct mt_session_entry *entries, int count, pid_t pid,
	const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *option = mt_command_recording_option(arguments);
	pid_t process;
	const struct mt_session_entry *entry =
		mt_command_recording_of(entries, count, pid, &process);

	if (entry && option)
		return mt_fail(err, -EINVAL,
			"--%s: process %d is being recorded already, so options of a recording "
			"have no effect",
			option, (int)pid);
	if (entry)
		return attach_to(entry, process, arguments, err);
	int status = attach_to_file(pid, arguments, err);

	if (status <= 0)
		return status;
	status = mt_command_check_others(entries, count, pid, err);
	return status < 0 ? status : begin(arguments, pid, err);
}

/* On a terminal, from a list. Sessions are listed anew: a while has passed. */
static int pick(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	struct mt_ui_options ui;
	pid_t pid;
	int status, count;

	mt_command_ui_options(&ui, arguments);
	status = mt_ui_pick_process(&ui, &pid, err);
	if (status < 0 || !pid)
		return status;
	count = mt_session_list(&entries, err);
	status = count < 0 ? count : attach_process(entries, count, pid, arguments, err);
	free(entries);
	return status;
}

static int choose(const struct mt_session_entry *entries, int count,
	const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *word = arguments->operand_count ? arguments->operands[0] : NULL;
	pid_t only = count == 1 ? only_process(&entries[0]) : -1;

	if (word)
		return attach_process(entries, count, (pid_t)strtol(word, NULL, 10), arguments,
			err);
	if (only >= 0)
		return attach_to(&entries[0], only, arguments, err);
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return pick(arguments, err);
	if (!count)
		return mt_fail(err, -ESRCH,
			"no recording is in progress; start one with 'memtui run' or "
			"'memtui record', or of a process that runs: 'memtui attach PID'");
	list_all(entries, count);
	return mt_fail(err, -EAGAIN,
		"several processes are being recorded; name one: memtui attach "
		"PID");
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	int count = mt_session_list(&entries, err);
	int status = count < 0 ? count : choose(entries, count, arguments, err);

	free(entries);
	return status;
}

const struct mt_command mt_command_attach = {
	.name = "attach",
	.operands = "[PID]",
	.words = "watch a recording in progress, or begin one of a process that runs",
	.description =
		"Opens the terminal interface on a running recording. PID is the recorded program, "
		"one of its child processes, the recorder, or a program that records itself (see "
		"'memtui help environment'). Without PID it opens the only recording; if there are "
		"several or none, it shows a list of all recordings and of your processes with "
		"their resident memory and its growth, or prints the recordings if there is no "
		"terminal.\n\n"
		"If nobody records process PID yet, memtui attaches to it and begins a recording. "
		"Its options are those of 'memtui record'. What the process allocated before is "
		"not in the totals; frees of such blocks are counted separately. Programs that it "
		"executes are not recorded. On quitting, memtui asks whether to detach (Enter), so "
		"that the process runs as before, or to keep recording it. memtui never ends such "
		"a process.",
	.details =
		"Several people may watch one recording at once. Watching does not change it, but "
		"all watchers share the keyboard of the program's terminal. The terminal is shown "
		"only for the program itself, not for its child processes. On quitting, memtui "
		"asks whether to keep the program running (Enter) or to end it.",
	.examples = "memtui attach\twatch the only recording, or choose from a list\nmemtui "
		    "attach 4711\twatch process 4711, and record it if nobody does yet\n",
	.options = options,
	.records_process = true,
	.operands_max = 1,
	.check = check,
	.run = run,
};
