#include "tui/command/memleak.h"

#include "core/capture/import.h"
#include "core/query/filter_match.h"
#include "core/session/named.h"
#include "tui/command/environment.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INTERVAL_DEFAULT_NS 5000000000u
#define END_LOOKS 10
#define END_LOOK_MS 20

static const struct mt_option options[] = {
	{'p', "pid", "PID", MT_OPTION_NUMBER, MT_OPTION_AT(pid),
		"watch this process; memtui joins its recording, or begins one", "1..4194304"},
	{'c', "command", "COMMAND", MT_OPTION_TEXT, MT_OPTION_AT(program_line),
		"run this command, whose words are separated by blanks, and record it; the same "
		"as -- PROG ARGS",
		NULL},
	{'t', "trace", NULL, MT_OPTION_FLAG, MT_OPTION_AT(show_calls),
		"before each report, print a line for each allocation and free since the last one",
		NULL},
	{'a', "show_allocs", NULL, MT_OPTION_FLAG, MT_OPTION_AT(show_blocks),
		"before each backtrace, print the address and size of each of its blocks", NULL},
	{'o', "older", "MS", MT_OPTION_NUMBER, MT_OPTION_AT(older_ms),
		"leave out blocks that were allocated less than MS milliseconds ago (default: 500)",
		"0..1000000000000"},
	{0, "combined_only", NULL, MT_OPTION_FLAG, MT_OPTION_AT(combined),
		"count all blocks that live, also those of the last moment", NULL},
	{0, "wa_missing_free", NULL, MT_OPTION_FLAG, MT_OPTION_AT(missing_frees),
		"accepted for memleak's sake: memtui always replaces a block whose free it "
		"missed when its address is allocated again",
		NULL},
	{'s', "sample_rate", "N", MT_OPTION_NUMBER, MT_OPTION_AT(every),
		"record one of N allocations, at random, and multiply: the numbers are estimates "
		"(default: 1, all of them)",
		"1..1000000"},
	{'T', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top),
		"print the N backtraces with the most bytes (default: 10)", "1..1000000000"},
	{'z', "min_size", "SIZE", MT_OPTION_TEXT, MT_OPTION_AT(min_size),
		"only blocks of at least this size", NULL},
	{'Z', "max_size", "SIZE", MT_OPTION_TEXT, MT_OPTION_AT(block_max_size),
		"only blocks of at most this size", NULL},
	MT_OPTIONS_GATES,
	{'O', "obj", "OBJECT", MT_OPTION_TEXT, MT_OPTION_AT(object),
		"also record malloc, free and so on of this library or program: its path, or foo "
		"for libfoo.so",
		NULL},
	{0, "symbols_prefix", "PREFIX", MT_OPTION_TEXT, MT_OPTION_AT(symbols_prefix),
		"also record functions whose names are those of the C library behind this prefix, "
		"as je_malloc; with --obj those of this object",
		NULL},
	MT_OPTION_FUNCTIONS,
	{0, "output", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(output),
		"with --command: the trace file, as with record (default: memtui_%e_%t_%p.dat)",
		NULL},
	{0, "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force),
		"with --command: replace an existing trace", NULL},
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* ---- what was asked for ---------------------------------------------------------------------- */

/* What the operands are: [TRACE] [INTERVAL [COUNT]], and behind '--' a program. */
struct asked {
	const char *trace, *interval, *count;
	char *const *program; /* NULL: none */
};

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789.") == strlen(text);
}

static int take_operands(struct asked *asked, const struct mt_arguments *a, struct mt_err *err)
{
	int count = a->program_at ? a->program_at - 1 : a->operand_count, at = 0;
	bool has_program = a->program_at && a->operand_count > count;
	struct stat file;

	*asked = (struct asked){.program = has_program ? a->operands + count : NULL};
	if (!a->pid && !a->program_line && !asked->program && count
		&& (!is_number(a->operands[0]) || stat(a->operands[0], &file) == 0))
		asked->trace = a->operands[at++];
	if (at < count)
		asked->interval = a->operands[at++];
	if (at < count)
		asked->count = a->operands[at++];
	if (at < count)
		return mt_fail(err, -EINVAL,
			"extra argument '%.100s'; usage: memtui leaks [-p PID | -c COMMAND | "
			"TRACE] [INTERVAL [COUNT]]",
			a->operands[at]);
	return 0;
}

static int check_targets(const struct mt_arguments *a, const struct asked *asked,
	struct mt_err *err)
{
	int targets = (a->pid != 0) + (a->program_line != NULL) + (asked->program != NULL)
		+ (asked->trace != NULL);
	bool runs = a->program_line || asked->program;

	if (targets > 1)
		return mt_fail(err, -EINVAL,
			"--pid, --command and -- PROG exclude each other; give one of them");
	if (!targets)
		return mt_fail(err, -EINVAL,
			"the kernel's allocations cannot be watched yet; give -p PID, -c COMMAND "
			"or a trace");
	if (a->program_line && !a->program_line[strspn(a->program_line, " \t\n")])
		return mt_fail(err, -EINVAL, "--command: there is no program in it");
	if ((a->output || a->force) && !runs && !a->pid)
		return mt_fail(err, -EINVAL, "--%s: only with --command or --pid",
			a->output ? "output" : "force");
	return 0;
}

static int check_options(const struct mt_arguments *a, bool runs, struct mt_err *err)
{
	if (a->combined && a->show_blocks)
		return mt_fail(err, -EINVAL,
			"--combined-only and --show-allocs exclude each other: combined statistics "
			"have no addresses");
	if (a->every > 1 && !a->pid && !runs)
		return mt_fail(err, -EINVAL,
			"--sample-rate: a trace holds what was recorded; give it when recording");
	if ((a->object || a->symbols_prefix) && a->allocator_functions)
		return mt_fail(err, -EINVAL,
			"--allocator-functions and --%s exclude each other; write %s= into its "
			"list",
			a->object ? "obj" : "symbols-prefix", a->object ? "object" : "prefix");
	if (!a->pid && !runs && mt_command_is_gated(a))
		return mt_fail(err, -EINVAL,
			"--%s: a trace holds what was recorded; use --%s, which leaves blocks out "
			"of the report",
			a->record_min.given ? "record-min" : "record-max",
			a->record_min.given ? "min-size" : "max-size");
	return mt_command_check_gates(a, err);
}

/* What memleak calls -O and --symbols-prefix, as --allocator-functions has it. c is memleak's name
 * of the C library, which is recorded anyway. */
static int name_functions(struct mt_memleak *c, const struct asked *asked, struct mt_err *err)
{
	const struct mt_arguments *a = c->arguments;
	const char *object = a->object && strcmp(a->object, "c") != 0 ? a->object : NULL;
	struct mt_named_functions *named;

	if (a->allocator_functions)
		c->functions = mt_strdup(a->allocator_functions);
	else if (object || a->symbols_prefix)
		c->functions = mt_format("prefix=%s%s%s",
			a->symbols_prefix ? a->symbols_prefix : "", object ? " object=" : "",
			object ? object : "");
	if (!c->functions)
		return 0;
	if (asked->trace)
		return mt_fail(err, -EINVAL,
			"a trace holds what was recorded; name allocator functions when recording");
	named = mt_named_new(c->functions, err);
	mt_named_free(named);
	return named ? 0 : -EINVAL;
}

static int read_numbers(struct mt_memleak *c, const struct asked *asked, struct mt_err *err)
{
	char *end;

	c->interval_ns = INTERVAL_DEFAULT_NS;
	c->interval_given = asked->interval;
	if (asked->interval
		&& (mt_options_time(&c->interval_ns, asked->interval) < 0 || !c->interval_ns))
		return mt_fail(err, -EINVAL,
			"invalid interval '%.60s'; expected seconds such as 5, or a time such as "
			"500ms or 2m",
			asked->interval);
	if (!asked->count)
		return 0;
	errno = 0;
	c->most = strtoull(asked->count, &end, 10);
	if (errno || *end || !c->most || !is_number(asked->count))
		return mt_fail(err, -EINVAL,
			"invalid count '%.60s'; expected a whole number of reports from 1 on",
			asked->count);
	return 0;
}

static int understand(struct mt_memleak *c, struct asked *asked, const struct mt_arguments *a,
	struct mt_err *err)
{
	*c = (struct mt_memleak){.arguments = a};
	if (take_operands(asked, a, err) < 0 || check_targets(a, asked, err) < 0
		|| check_options(a, a->program_line || asked->program, err) < 0)
		return err->code;
	return read_numbers(c, asked, err) < 0 ? err->code : name_functions(c, asked, err);
}

/* Both sizes are inclusive, as memleak has them. NULL on error. */
static struct mt_filter *new_filter(const struct mt_arguments *a, struct mt_err *err)
{
	struct mt_filter *filter = mt_filter_new();
	int status = 0;

	if (a->min_size)
		status = mt_filter_add_as(filter, MT_FILTER_SIZE_MIN, "--min-size", a->min_size,
			err);
	if (status >= 0 && a->block_max_size)
		status = mt_filter_add_as(filter, MT_FILTER_SIZE_MAX, "--max-size",
			a->block_max_size, err);
	if (status >= 0)
		status = mt_filter_check(filter, err);
	if (status >= 0)
		return filter;
	mt_filter_free(filter);
	return NULL;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_memleak c;
	struct asked asked;
	struct mt_filter *filter = new_filter(arguments, err);

	mt_filter_free(filter);
	return filter ? understand(&c, &asked, arguments, err) : -EINVAL;
}

/* ---- a process ------------------------------------------------------------------------------- */

static int watch_attached(struct mt_memleak *, pid_t, struct mt_err *err);

static int watch_process(struct mt_memleak *c, pid_t pid, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	int count = mt_session_list(&entries, err), status = 0;
	const struct mt_session_entry *found;
	char session[108] = "";
	pid_t process = 0;
	bool ended, inherited;

	if (count < 0)
		return count;
	found = mt_command_recording_of(entries, count, pid, &process);
	char *path = found ? NULL : mt_import_of_process(pid, &inherited);

	if ((found || path) && c->functions)
		status = mt_fail(err, -EBUSY,
			"process %d is recorded already; allocator functions are named when the "
			"recording begins",
			(int)pid);
	else if ((found || path) && (mt_command_is_gated(c->arguments) || c->arguments->every > 1))
		status = mt_fail(err, -EBUSY,
			"process %d is recorded already; --%s is given when the recording begins",
			(int)pid,
			c->arguments->every > 1                  ? "sample-rate"
				: c->arguments->record_min.given ? "record-min"
								 : "record-max");
	else if (found)
		memcpy(session, found->name, sizeof session);
	else if (!path && (status = mt_session_check_attach(pid, err)) >= 0)
		status = watch_attached(c, pid, err);
	free(entries);
	if (path && status >= 0)
		status = mt_memleak_watch_file(c, path, pid, err);
	free(path);
	return status < 0 || !*session ? status
				       : mt_memleak_watch(c, session, process, &ended, err);
}

/* ---- a command ------------------------------------------------------------------------------- */

/* The words of the command; one allocation, which the caller frees. */
static char **split(const char *line)
{
	size_t len = strlen(line), most = len / 2 + 2, count = 0;
	char **words = mt_alloc(most * sizeof *words + len + 1), *text = (char *)(words + most);
	char *rest;

	memcpy(text, line, len + 1);
	for (char *word = strtok_r(text, " \t\n", &rest); word;
		word = strtok_r(NULL, " \t\n", &rest))
		words[count++] = word;
	return words;
}

/* The status to exit with. */
static int conclude(struct mt_session *session, const char *output, bool ended, int status,
	struct mt_err *err)
{
	struct mt_err failure = {0};
	int wait_status = 0, exit_status;

	if (status < 0 && err->code != -EPIPE)
		mt_command_say("%s", err->text);
	if (!ended) {
		mt_command_say("the program goes on, and so does its recording: 'memtui attach "
			       "%d' watches it, 'kill %d' ends it",
			(int)session->program, (int)session->program);
		return status < 0 ? 1 : 0;
	}
	exit_status = mt_session_wait(session, &wait_status, &failure);
	if (failure.code)
		mt_command_say("%s", failure.text);
	if (mt_command_close_session(session, output, wait_status, err) < 0)
		mt_command_say("%s", err->text);
	return exit_status < 0 ? 1 : exit_status;
}

/* ^C in a terminal ends the program as well, which takes a moment. */
static bool ends_too(struct mt_session *session)
{
	int wait_status;

	for (unsigned looks = 0; looks < END_LOOKS; looks++) {
		if (mt_session_poll(session, &wait_status))
			return true;
		poll(NULL, 0, END_LOOK_MS);
	}
	return false;
}

/* An attached process is left as it was. */
static bool end_watch(struct mt_session *session)
{
	struct mt_err trouble = {0};

	if (!session->attached)
		return ends_too(session);
	if (mt_session_detach(session->name, &trouble) < 0)
		mt_command_say("%s", trouble.text);
	return true;
}

/* Begins a recording and watches it: of a process, or of a program and its arguments. */
static int watch_new(struct mt_memleak *c, pid_t pid, char *const *program, struct mt_err *err)
{
	char *cache = mt_environment_cache(), *library;
	struct mt_arguments with = *c->arguments;
	struct mt_session_options session_options;
	struct mt_session session = {0};
	bool ended = false;

	with.pid = (uint64_t)pid;
	with.operands = program;
	with.cache = cache;
	with.allocator_functions = c->functions;
	mt_command_session_options(&session_options, &library, &with);
	session_options.watched = true;
	int status = mt_session_start(&session, &session_options, err);

	if (!status) {
		status = mt_memleak_watch(c, session.name, 0, &ended, err);
		ended = ended || end_watch(&session);
		status = conclude(&session, with.output, ended, status, err);
		mt_session_free(&session);
	}
	free(library);
	free(cache);
	return status;
}

static int watch_attached(struct mt_memleak *c, pid_t pid, struct mt_err *err)
{
	return watch_new(c, pid, c->arguments->operands, err);
}

static int watch_command(struct mt_memleak *c, const struct asked *asked, struct mt_err *err)
{
	char **words = c->arguments->program_line ? split(c->arguments->program_line) : NULL;
	int status = watch_new(c, 0, words ? words : asked->program, err);

	free(words);
	return status;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_memleak c;
	struct asked asked;
	int status = understand(&c, &asked, arguments, err);

	if (status < 0)
		return status;
	c.filter = new_filter(arguments, err);
	if (!c.filter)
		return -EINVAL;
	status = asked.trace     ? mt_memleak_of_trace(&c, asked.trace, err)
		: arguments->pid ? watch_process(&c, (pid_t)arguments->pid, err)
				 : watch_command(&c, &asked, err);
	mt_memleak_free(&c);
	return status;
}

const struct mt_command mt_command_leaks = {
	.name = "leaks",
	.operands = "[TRACE] [INTERVAL [COUNT]]",
	.words = "print outstanding allocations every few seconds, as memleak does",
	.description =
		"Prints the backtraces whose blocks live and are older than --older, in the form "
		"of bcc's memleak: the ten with the most bytes, the largest last. Of a program "
		"that runs (--pid, --command, or -- PROG ARGS), it prints a report every INTERVAL "
		"seconds (default: 5), COUNT times or until the program ends or ^C; then it prints "
		"the last one. A trace gets one report, of its end; with INTERVAL, one for each "
		"interval of the recorded time. INTERVAL may be 500ms or 2m, too.\n\n"
		"Numbers are exact; those of backtraces of which frees were lost have a ~. A frame "
		"is FUNCTION+0xOFFSET [MODULE] FILE:LINE: the offset counts from the beginning of "
		"the function, and a function that is inlined has none. Sizes and addresses are "
		"those that the program has got from malloc.\n\n"
		"Several reports, a screen (memtui attach) and the recording of memtui record go "
		"together: all of them may watch the same process. --command records as memtui "
		"record does, and the trace stays. --pid of a process that nobody records yet does "
		"the same, and leaves the process as it was at the end. If memtui leaks ends "
		"before a program that it started, the program and its recording go on.",
	.examples = "memtui leaks -p $(pidof server)\tprint a report every 5 seconds\n"
		    "memtui leaks -ap $(pidof server) 10\talso print addresses, every 10 seconds\n"
		    "memtui leaks -c './prog arg' 1 3\trun a program; print three reports\n"
		    "memtui leaks -o 60000 prog.dat\tshow what is older than a minute at the end\n"
		    "memtui leaks prog.dat 10\tshow a report for each 10 seconds of a trace\n",
	.options = options,
	.operands_max = -1,
	.check = check,
	.run = run,
};
