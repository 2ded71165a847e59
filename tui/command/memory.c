#include "core/base/proc.h"
#include "core/base/wrap.h"
#include "core/export/report_account.h"
#include "tui/command/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_ROWS 20
#define COMMAND_MOST 4096

static const struct mt_option options[] = {
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"show at most N rows (default: 20 in text, all in json and csv)", NULL},
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_NAMES,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* A process, and what is known of it. */
struct watched {
	pid_t pid;
	struct mt_recording *recording; /* NULL: it has none */
	struct mt_known known;
	char unknown[512]; /* why its blocks are not known; "": they are */
};

static bool take_process(const struct mt_arguments *a, pid_t *pid)
{
	char *end = NULL;
	long number = strtol(a->operands[0], &end, 10);

	*pid = (pid_t)number;
	return number > 0 && number < 1 << 30 && !*end;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	pid_t pid;

	if (take_process(arguments, &pid))
		return 0;
	return mt_fail(err, -EINVAL,
		"%.100s: not the number of a process; a saved trace does not say what was "
		"resident, so ask while the program runs",
		arguments->operands[0]);
}

/* ---- what its recording knows ---------------------------------------------------------------- */

static int read_recording(struct watched *w, struct mt_err *err)
{
	uint64_t moment_ns;
	int status = mt_recording_take_live(w->recording, &moment_ns, NULL, err);
	struct mt_source source = {.profile = w->recording->now.profile,
		.symbols = w->recording->now.symbols,
		.reader = w->recording->now.reader};

	return status < 0 ? status : mt_known_of(&w->known, &source, err);
}

static void find_recording(struct watched *w)
{
	struct mt_session_entry *entries = NULL;
	struct mt_err err = {0};
	int count = mt_session_list(&entries, &err), status = count < 0 ? count : 0;
	const struct mt_session_entry *entry;
	pid_t process = 0;

	entry = count < 0 ? NULL : mt_command_recording_of(entries, count, w->pid, &process);
	/* else it is memtui itself that is asked for */
	if (entry && (entry->program == w->pid || process)) {
		w->recording = mt_recording_attach(entry->name, process, &err);
		status = w->recording ? read_recording(w, &err) : err.code;
	} else if (status >= 0 && mt_command_check_others(entries, count, w->pid, &err) < 0) {
		status = err.code;
	} else if (status >= 0) {
		status = mt_fail(&err, -ESRCH,
			"process %d is not being recorded, so its blocks and its mmaps are not "
			"known; 'memtui record -p %d' begins a recording",
			(int)w->pid, (int)w->pid);
	}
	if (status < 0)
		memcpy(w->unknown, err.text, sizeof w->unknown);
	free(entries);
}

/* ---- the report ------------------------------------------------------------------------------ */

static char *command_of(pid_t pid)
{
	char text[COMMAND_MOST];
	size_t len = mt_proc_read(pid, "cmdline", text, sizeof text);

	while (len && !text[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = ' ';
	return mt_strdup(text);
}

static void report_on(const struct watched *w, const struct mt_account *account,
	const struct mt_arguments *a)
{
	char *command = command_of(w->pid);
	struct mt_report report = {
		.out = mt_command_out(a),
		.format = a->format,
		.exact = a->exact,
		.profile = w->recording ? w->recording->now.profile : NULL,
		.symbols = w->recording ? w->recording->now.symbols : NULL,
		.count = a->count || a->format != MT_FORMAT_TEXT ? a->count : TEXT_ROWS,
		.short_names = a->short_names || isatty(STDOUT_FILENO),
		.width = mt_wrap_columns(STDOUT_FILENO),
	};

	mt_report_account(&report, account, command, *w->unknown ? w->unknown : NULL);
	free(command);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_account account = {0};
	struct watched w = {0};

	take_process(arguments, &w.pid);
	find_recording(&w);
	int status = mt_account_take(&account, w.pid, *w.unknown ? NULL : &w.known, err);

	if (status >= 0) {
		if (w.recording)
			mt_recording_await_names(w.recording);
		report_on(&w, &account, arguments);
		status = mt_command_finish(arguments, err);
	}
	mt_account_free(&account);
	mt_known_free(&w.known);
	mt_recording_free(w.recording);
	return status;
}

const struct mt_command mt_command_memory = {
	.name = "memory",
	.operands = "PID",
	.words = "show what the resident memory of a process is for",
	.description =
		"Prints a table that adds up to the resident memory of a process as the kernel "
		"has it: heap blocks as asked for, what malloc has beyond them, stacks, each "
		"mapped file by its rights, and memory that the program has mapped itself, by the "
		"backtrace of the call. What nothing is known of is 'unexplained'.\n\n"
		"Blocks and calls of mmap are known if the process is being recorded. Otherwise "
		"only what the kernel tells is shown. The process goes on while its pages are "
		"read; what came or went meanwhile is said.\n\n"
		"DIRTY and CLEAN are pages that the process has for itself: changed, or as they "
		"stand in a file. SHARED are those that other processes have as well. SIZE is the "
		"address space, or the bytes asked for, of which the resident ones are a part.",
	.examples = "memtui memory $(pidof server)\tshow what the server's memory is for\n"
		    "memtui memory --format json 4711\tthe same for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.run = run,
};
