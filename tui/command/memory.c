#include "core/base/proc.h"
#include "core/base/wrap.h"
#include "core/capture/import.h"
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
	{'T', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top),
		"also show the N backtraces whose heap blocks have the most resident memory "
		"(text and json)",
		"1..1000000000"},
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

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	pid_t pid;

	if (!arguments->top || mt_command_is_process(arguments->operands[0], &pid))
		return 0;
	return mt_fail(err, -EINVAL,
		"--top: only with a process; a trace does not say which pages were resident");
}

/* ---- what its recording knows ---------------------------------------------------------------- */

static int read_recording(struct watched *w, struct mt_err *err)
{
	uint64_t moment_ns;
	int status = !w->recording->client
		? 0
		: mt_recording_take_live(w->recording, &moment_ns, NULL, err);
	struct mt_source source = {.profile = w->recording->now.profile,
		.symbols = w->recording->now.symbols,
		.reader = w->recording->now.reader};

	return status < 0 ? status : mt_known_of(&w->known, &source, err);
}

static int unrecorded(pid_t pid, struct mt_err *err)
{
	return mt_fail(err, -ESRCH,
		"process %d is not being recorded, so its blocks and its mmaps are not known; "
		"'memtui record -p %d' begins a recording",
		(int)pid, (int)pid);
}

/* NULL: it has none, or none that can be read. */
static struct mt_recording *open_session(pid_t pid, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	struct mt_recording *recording = NULL;
	int count = mt_session_list(&entries, err);
	const struct mt_session_entry *entry;
	pid_t process = 0;

	entry = count < 0 ? NULL : mt_command_recording_of(entries, count, pid, &process);
	/* else it is memtui itself that is asked for */
	if (entry && (entry->program == pid || process))
		recording = mt_recording_attach(entry->name, process, err);
	else if (count >= 0 && mt_command_check_others(entries, count, pid, err) >= 0)
		unrecorded(pid, err);
	free(entries);
	return recording;
}

static void find_recording(struct watched *w)
{
	static const struct mt_open_options how = {.events = true};
	struct mt_err err = {0};
	bool inherited;
	char *path = mt_import_of_process(w->pid, &inherited);
	int status;

	if (path)
		w->recording = mt_recording_open(path, &how, &err);
	else if (inherited)
		mt_fail(&err, -ESRCH, MT_COMMAND_INHERITED, (int)w->pid);
	else
		w->recording = open_session(w->pid, &err);
	status = w->recording ? read_recording(w, &err) : err.code;
	if (status < 0)
		memcpy(w->unknown, err.text, sizeof w->unknown);
	free(path);
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
		.top = (uint32_t)a->top,
		.short_names = a->short_names || isatty(STDOUT_FILENO),
		.width = mt_wrap_columns(STDOUT_FILENO),
	};

	mt_report_account(&report, account, command, *w->unknown ? w->unknown : NULL);
	free(command);
}

static void complete_names(struct mt_recording *recording)
{
	static const struct mt_open_options how;

	if (recording->client)
		mt_recording_await_names(recording);
	else
		mt_recording_complete_names(recording, &how, NULL, NULL);
}

static int run_on_process(const struct mt_arguments *arguments, pid_t pid, struct mt_err *err)
{
	struct mt_account account = {0};
	struct watched w = {.pid = pid};

	find_recording(&w);
	int status = mt_account_take(&account, w.pid, *w.unknown ? NULL : &w.known, err);

	if (status >= 0) {
		if (w.recording)
			complete_names(w.recording);
		report_on(&w, &account, arguments);
		status = mt_command_finish(arguments, err);
	}
	mt_account_free(&account);
	mt_known_free(&w.known);
	mt_recording_free(w.recording);
	return status;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;
	pid_t pid;

	if (mt_command_is_process(arguments->operands[0], &pid))
		return run_on_process(arguments, pid, err);
	if (!own.count && own.format == MT_FORMAT_TEXT)
		own.count = TEXT_ROWS;
	return mt_command_view(&own, mt_report_memory_of_trace, true, err);
}

const struct mt_command mt_command_memory = {
	.name = "memory",
	.operands = "PID | TRACE",
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
		"address space, or the bytes asked for, of which the resident ones are a part.\n\n"
		"A trace knows how much was resident at most and at the end, how much of it the "
		"heap can have been, and what is mapped at the end by recorded calls of mmap. "
		"Which pages were resident, it does not know.",
	.examples = "memtui memory $(pidof server)\tshow what the server's memory is for\n"
		    "memtui memory -T 5 4711\talso the five backtraces with the most resident "
		    "blocks\n"
		    "memtui memory --format json 4711\tthe same for a script\n"
		    "memtui memory demo.dat\tshow what a trace knows of resident memory\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.run = run,
};
