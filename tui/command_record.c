#include "tui/commands.h"

#include "core/export/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct mt_option options[] = {
	MT_OPTIONS_RECORD,
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top), "with --report: show N groups, 10 by default", NULL},
	MT_OPTIONS_SORT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_EXACT,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* The closing line, from what the file really holds. */
static int say_totals(const char *path, struct mt_err *err)
{
	char allocations[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN], lost[MT_NUMBER_EXACT_LEN];
	char peak[MT_NUMBER_LEN], leaked[MT_NUMBER_LEN];
	struct mt_profile profile;
	struct mt_trace_reader *reader = mt_trace_reader_open(path, err);

	if (!reader)
		return err->code < 0 ? err->code : -1;
	mt_profile_init(&profile);
	int status = mt_profile_load(&profile, reader, NULL, NULL, err);

	if (status >= 0 && profile.info.recorder_lost) {
		mt_number_exact(allocations, profile.info.allocations);
		mt_command_say("wrote %s up to where the recording broke off: %s allocations until then", path, allocations);
	} else if (status >= 0) {
		mt_number_exact(allocations, profile.info.allocations);
		mt_number_size(peak, profile.info.peak_bytes);
		mt_number_size(leaked, profile.info.leaked_bytes);
		mt_number_exact(blocks, profile.info.leaked_count);
		mt_number_exact(lost, profile.info.lost_events);
		mt_command_say("wrote %s: %s allocations, peak %s, leaked %s in %s blocks, %s events lost",
			path, allocations, peak, leaked, blocks, lost);
	}
	mt_profile_free(&profile);
	mt_trace_reader_free(reader);
	return status;
}

static int report(const struct mt_arguments *arguments, char *path, struct mt_err *err)
{
	struct mt_arguments again = *arguments;
	char *operands[] = {path, NULL};

	again.operands = operands;
	again.operand_count = 1;
	return mt_command_report.run(&again, err);
}

static int finish(const struct mt_arguments *arguments, const struct mt_session *session, int wait_status,
	struct mt_err *err)
{
	struct stat file;
	bool to_stdout = arguments->output && !strcmp(arguments->output, "-");

	if (WIFSIGNALED(wait_status))
		mt_command_say("the program was ended by signal %d (%s)", WTERMSIG(wait_status),
			strsignal(WTERMSIG(wait_status)));
	if (to_stdout || !session->trace_path || lstat(session->trace_path, &file) < 0 || !S_ISREG(file.st_mode))
		return 0; /* there is nothing that could be read back */
	int status = say_totals(session->trace_path, err);

	if (status >= 0 && arguments->report)
		status = report(arguments, session->trace_path, err);
	return status;
}

int mt_command_record_program(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_filter *filter = mt_command_filter(arguments, err);
	struct mt_session_options session_options;
	struct mt_session session = {0};
	char *library;
	int wait_status = 0;

	if (!filter)
		return -EINVAL;
	mt_filter_free(filter);
	if (arguments->report && arguments->output && !strcmp(arguments->output, "-"))
		return mt_fail(err, -EINVAL, "--report needs a trace that can be read again; expected a file "
			"with --output");
	mt_command_session_options(&session_options, &library, arguments);
	int status = mt_session_start(&session, &session_options, err);

	free(library);
	if (status < 0)
		return status;
	struct mt_err failure = {0};
	int exit_status = mt_session_wait(&session, &wait_status, &failure);

	if (failure.code)
		mt_command_say("%s", failure.text);
	if (exit_status < 0)
		status = failure.code < 0 ? failure.code : -1;
	else if (finish(arguments, &session, wait_status, err) < 0)
		mt_command_say("%s", err->text);
	mt_session_free(&session);
	return exit_status < 0 ? status : exit_status; /* the program's, whatever became of the recording */
}

const struct mt_command mt_command_record = {
	.name = "record",
	.operands = "PROG [ARGS]",
	.words = "run a program and write its trace",
	.description = "Starts the program and writes every allocation and free to a trace file, "
		"memtui_%e_%t_%p.dat by default. The exit status is the program's, 128 + N for a signal N. "
		"Options come before the program; what follows it belongs to it.",
	.examples = "memtui record ./prog arg\twrites memtui_prog_TIME_PID.dat\n"
		"memtui record -o prog.dat --report ./prog\tand prints what leaked\n"
		"ssh host memtui record -o - ./prog | memtui open -\tover the network\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.runs_program = true,
	.run = mt_command_record_program,
};
