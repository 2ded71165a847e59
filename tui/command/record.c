#include "tui/command/closing.h"

#include "core/base/text.h"
#include "core/export/blind.h"
#include "core/export/number.h"
#include "core/export/oom.h"
#include "tui/command/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES_MAX 20
#define BLIND_LINES 8
#define TOP_DEFAULT 10
#define NAME_WIDTH 8 /* of "memtui: " */
#define COMMAND_LEAST 12
#define COMMAND_MOST 40
#define RESIDENT_LEAST 100 /* columns, for that of the resident memory */

static const struct mt_option options[] = {
	{'p', "pid", "PID", MT_OPTION_NUMBER, MT_OPTION_AT(pid), "record a process that runs",
		"1..4194304"},
	MT_OPTIONS_RECORD,
	MT_OPTIONS_SIGNALS,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_EXACT,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* A line for each thing that was not seen: beside one, no total says that all is well. */
static void say_blind(const struct mt_profile *p)
{
	uint32_t said = 0, more = 0;

	for (uint32_t i = 0; i < p->blind_count; i++) {
		char *sentence;

		if (!p->blind[i].count || said == BLIND_LINES) {
			more += p->blind[i].count != 0;
			continue;
		}
		sentence = mt_blind_sentence(p, &p->blind[i], false);
		mt_command_say("not seen: %s", sentence);
		free(sentence);
		said++;
	}
	if (more)
		mt_command_say("not seen: %u more; 'memtui info' lists all", more);
}

/* What --max-size took away, or could not. */
static void say_limits(const struct mt_profile *p)
{
	char when[MT_NUMBER_LEN];

	mt_number_time(when, p->info.history_from_ns);
	if (p->info.history_from_ns)
		mt_command_say(
			"the events of the first %s were dropped (--max-size; a larger size keeps "
			"more); totals, live blocks and timeline are those of the whole run",
			when);
	for (uint32_t i = 0; i < p->log_count; i++)
		if (p->log[i].type == MT_LOG_LIMIT)
			mt_command_say("%s", mt_strings_get(&p->strings, p->log[i].text));
}

/* The closing line, from what the file really holds. */
static int say_totals(const struct mt_session *session, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	const char *path = session->trace_path;
	bool failed = session->failed;
	char text[MT_CLOSING_LEN], lost[MT_NUMBER_EXACT_LEN], oom[MT_OOM_LEN];
	struct mt_closing closing;
	int status = mt_closing_load(&closing, path, arguments, err);
	const struct mt_profile *p = closing.recording ? closing.recording->now.profile : NULL;

	if (failed && (status < 0 || p->info.pid != (uint32_t)session->program)) {
		mt_closing_free(&closing); /* why has been said; another's file may stand there */
		return 0;
	}
	if (status >= 0 && (failed || p->info.recorder_lost)) {
		mt_closing_calls(text, &p->info);
		mt_command_say("wrote %s, incomplete: %s", path, text);
	} else if (status >= 0) {
		mt_closing_text(text, &closing);
		mt_number_exact(lost, p->info.lost_events);
		mt_command_say("wrote %s: %s, %s %s lost", path, text, lost,
			MT_PLURAL(lost, "event"));
	}
	if (status >= 0 && mt_oom_sentence(oom, p, closing.recording->now.symbols))
		mt_command_say("%s", oom);
	if (status >= 0)
		say_blind(p);
	if (status >= 0)
		say_limits(p);
	if (status >= 0)
		mt_command_say_unreadable(closing.recording);
	mt_closing_free(&closing);
	return status;
}

static int by_start(const void *a, const void *b)
{
	const struct mt_session_process *x = a, *y = b;

	if (x->start_unix_ns != y->start_unix_ns)
		return x->start_unix_ns < y->start_unix_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Its file, or why there is none, and what is missing in it. */
static void describe_file(char *out, size_t size, const struct mt_session_process *p)
{
	const char *slash = strrchr(p->trace_path, '/');
	char lost[MT_NUMBER_EXACT_LEN];
	size_t len;

	if (!p->recorded) {
		snprintf(out, size, "%s%s%s",
			p->failed          ? "(not written"
				: p->blind ? "(not seen: "
					   : "(nothing to record",
			p->blind && !p->failed ? mt_blind_reason_name(p->blind) : "", ")");
		return;
	}
	snprintf(out, size, "%s%s", slash ? slash + 1 : p->trace_path,
		p->failed            ? " (not written to its end)"
			: p->stopped ? " (it went on: live, not leaked)"
				     : "");
	len = strlen(out);
	mt_number_exact(lost, p->lost_events);
	if (p->lost_events)
		snprintf(out + len, size - len, " (%s %s lost)", lost, MT_PLURAL(lost, "event"));
	len = strlen(out);
	if (p->blind)
		snprintf(out + len, size - len, " (not seen: %s)", mt_blind_reason_name(p->blind));
	else if (p->untraced)
		snprintf(out + len, size - len, " (%u of its children not seen)", p->untraced);
}

/* How wide the columns of the processes are. */
struct widths {
	int pid, allocations, size, command;
	int resident; /* 0: no room */
	int file;     /* 0: what it needs */
};
static const struct widths wide = {8, 12, 8, COMMAND_MOST, 9, 0};

/* Lines that would be wrapped are made narrower. */
static struct widths choose_widths(const struct mt_session_process *processes, uint32_t count)
{
	struct widths w = {7, 6, 6, 0, 0, 0};
	char file[sizeof processes->trace_path + 100];
	struct winsize size;
	int room, longest = 4;

	if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0)
		return wide;
	for (uint32_t i = 0; i < count; i++) {
		describe_file(file, sizeof file, &processes[i]);
		if ((int)strlen(file) > longest)
			longest = (int)strlen(file);
	}
	room = size.ws_col - NAME_WIDTH;
	if (room >= 2 * wide.pid + wide.allocations + 2 * wide.size + wide.resident + wide.command
			+ 8 + longest)
		return wide;
	w.resident = size.ws_col >= RESIDENT_LEAST ? w.size + 1 : 0;
	room -= 2 * w.pid + w.allocations + 2 * w.size + w.resident + 8;
	if (room < 2 * COMMAND_LEAST)
		return wide;
	w.command = room - longest < COMMAND_LEAST ? COMMAND_LEAST : room - longest;
	if (w.command > COMMAND_MOST)
		w.command = COMMAND_MOST;
	w.file = room - w.command;
	return w;
}

/* The beginning and, longer, the end, where all of it takes more than width bytes. */
static void shorten_middle(char *text, int width)
{
	int len = (int)strlen(text), head = width / 4;

	if (width && len > width) {
		memcpy(text + head, "..", 2);
		memmove(text + head + 2, text + len - (width - head - 2), width - head - 1);
	}
}

/* A command without its program's directory. */
static const char *without_directory(const char *command)
{
	const char *end = command + strcspn(command, " "), *at = end;

	while (at > command && at[-1] != '/')
		at--;
	return at < end ? at : command;
}

/* What leaked as the process's trace tells it, without what is suppressed; as its recorder knew it
 * where there is none to read. */
static uint64_t leaked_bytes(const struct mt_session_process *p)
{
	static const struct mt_arguments none;
	struct mt_closing closing = {0};
	struct mt_err err = {0};
	struct stat file;

	if (!p->recorded || p->failed || stat(p->trace_path, &file) < 0 || !S_ISREG(file.st_mode))
		return p->leaked_bytes;
	uint64_t bytes = mt_closing_load(&closing, p->trace_path, &none, &err) < 0
		? p->leaked_bytes
		: closing.info.leaked_bytes;

	mt_closing_free(&closing);
	return bytes;
}

static void say_process(const struct mt_session_process *p, struct widths w)
{
	bool fits = !w.file && strlen(p->command) <= (size_t)w.command;
	const char *line = fits ? p->command : without_directory(p->command);
	char allocations[MT_NUMBER_LEN + 1] = "~", peak[MT_NUMBER_LEN + 1] = "~";
	char leaked[MT_NUMBER_LEN + 1] = "~", resident[MT_NUMBER_LEN] = "-",
				    command[COMMAND_MOST + 1];
	char file[sizeof p->trace_path + 100];

	describe_file(file, sizeof file, p);
	mt_number_count(allocations + p->sampled, p->allocations);
	mt_number_size(peak + p->sampled, p->peak_bytes);
	mt_number_size(leaked + p->sampled, leaked_bytes(p));
	if (p->peak_rss_bytes)
		mt_number_size(resident, p->peak_rss_bytes);
	shorten_middle(file, w.file);
	if (strlen(line) > (size_t)w.command)
		snprintf(command, sizeof command, "%.*s..",
			(int)mt_text_cut(line, (size_t)w.command - 2), line);
	else
		snprintf(command, sizeof command, "%s", line);
	mt_command_say("%*d %*d %*s %*s %*s%*s  %-*s  %s", w.pid, (int)p->pid, w.pid,
		(int)p->parent, w.allocations, allocations, w.size, peak, w.size, leaked,
		w.resident, w.resident ? resident : "", w.command, command, file);
}

static void say_untraced(const struct mt_session *session, bool stream)
{
	char processes[MT_NUMBER_OF_LEN];

	if (session->untraced)
		mt_command_say("%s not recorded%s",
			mt_number_of(processes, session->untraced, "process"),
			stream ? ": a stream has the trace of one program; -o FILE records them too"
			       : "");
}

/* Heads what was not freed: it has leaked only if all these programs were recorded to their end. */
static const char *left_heading(const struct mt_session_process *processes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (processes[i].recorded && (processes[i].failed || processes[i].stopped))
			return "live";
	return "leaked";
}

/* A line for each image, if there is more than the root's one. */
static void say_processes(struct mt_session *session)
{
	uint32_t count = session->process_count, shown = count < LINES_MAX ? count : LINES_MAX;
	char others[MT_NUMBER_OF_LEN];
	struct widths w;

	if (session->process_count > 1) {
		qsort(session->processes, count, sizeof *session->processes, by_start);
		w = choose_widths(session->processes, shown);
		mt_command_say("what each process did, program by program:");
		mt_command_say("%*s %*s %*s %*s %*s%*s  %-*s  %s", w.pid, "process", w.pid,
			"parent", w.allocations, w.file ? "allocs" : "allocations", w.size, "peak",
			w.size, left_heading(session->processes, shown), w.resident,
			!w.resident      ? ""
				: w.file ? "rss"
					 : "resident",
			w.command, "command", "file");
		for (uint32_t i = 0; i < shown; i++)
			say_process(&session->processes[i], w);
		if (shown < count)
			mt_command_say("and %u more; 'memtui info FILE...' lists them",
				count - shown);
	}
	if (session->going_on)
		mt_command_say("still recording %s; "
			       "'memtui attach %d' watches %s",
			mt_number_of(others, session->going_on, "other process"),
			(int)(session->going_on_pid ? session->going_on_pid : session->recorder),
			session->going_on > 1 ? "one of them" : "it");
}

/* A view of the trace into a file, or to standard output if outfile is NULL. */
static int write_view(struct mt_arguments *again, char *path, const char *outfile,
	int (*view)(const struct mt_report *, struct mt_err *), struct mt_err *err)
{
	char *operands[] = {path, NULL};
	struct mt_new_file file;

	again->operands = operands;
	again->operand_count = 1;
	again->output = outfile;
	if (!outfile)
		return mt_command_view(again, view, true, err);
	int fd = mt_new_file_open(&file, outfile, again->force, 0666, err);
	int status = fd;

	again->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (again->out) {
		status = mt_command_view(again, view, true, err);
		if (fclose(again->out) && status >= 0)
			status = mt_fail(err, -errno, "cannot write %s: %s", outfile,
				strerror(errno));
	}
	return fd < 0 ? fd : mt_new_file_close(&file, status, err);
}

static int report(const struct mt_arguments *arguments, char *path, struct mt_err *err)
{
	struct mt_arguments again = *arguments;

	again.count = arguments->top ? arguments->top : TOP_DEFAULT;
	again.sort =
		strcmp(arguments->report, "count") ? MT_METRIC_LEAKED_SIZE : MT_METRIC_LEAKED_COUNT;
	again.names_suppressed = true;
	return write_view(&again, path, arguments->outfile, mt_report_exit, err);
}

/* Of the peak, which every program has: few have much that leaks. */
static int flame_graph(const struct mt_arguments *arguments, char *path, struct mt_err *err)
{
	struct mt_arguments again = *arguments;

	again.kind = mt_export_kind_find("flamegraph");
	again.sort = MT_METRIC_AT_PEAK_SIZE;
	return write_view(&again, path, arguments->flame_graph, again.kind->run, err);
}

static int close_session(struct mt_session *session, const char *output, int wait_status,
	const struct mt_arguments *arguments, struct mt_err *err)
{
	struct stat file;
	bool to_stdout = output && !strcmp(output, "-");
	bool there = !to_stdout && session->trace_path && lstat(session->trace_path, &file) == 0;
	bool readable = there && S_ISREG(file.st_mode);
	bool stream = to_stdout
		|| (there && stat(session->trace_path, &file) == 0
			&& (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode)));
	int status = 0;

	if (WIFSIGNALED(wait_status))
		mt_command_say("the program was ended by signal %d (%s)", WTERMSIG(wait_status),
			strsignal(WTERMSIG(wait_status)));
	if (readable)
		status = say_totals(session, arguments, err);
	for (uint32_t i = 0; i < session->snapshot_count; i++)
		mt_command_say("%s", session->snapshots[i]);
	say_processes(session);
	say_untraced(session, stream);
	return status < 0 ? status : readable;
}

int mt_command_close_session(struct mt_session *session, const char *output, int wait_status,
	struct mt_err *err)
{
	static const struct mt_arguments none;

	return close_session(session, output, wait_status, &none, err);
}

static int finish(const struct mt_arguments *arguments, struct mt_session *session, int wait_status,
	struct mt_err *err)
{
	int status = close_session(session, arguments->output, wait_status, arguments, err);

	if (status > 0 && arguments->report)
		status = report(arguments, session->trace_path, err) < 0 ? err->code : 1;
	if (status > 0 && arguments->flame_graph)
		status = flame_graph(arguments, session->trace_path, err);
	return status;
}

/* Before the program is started: a report that could not be written would be missed only at its
 * end. */
static int check_outfile(const struct mt_arguments *arguments, const char *path, struct mt_err *err)
{
	struct mt_new_file file;
	struct stat is;

	if (!path || (stat(path, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode)))
		return 0;
	int fd = mt_new_file_open(&file, path, arguments->force, 0666, err);

	if (fd < 0)
		return fd;
	close(fd);
	mt_new_file_close(&file, -ECANCELED, err);
	return 0;
}

int mt_command_record_program(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_filter *filter = mt_command_filter(arguments, &mt_no_columns, err);
	struct mt_session_options session_options;
	struct mt_session session = {0};
	char *library;
	int wait_status = 0;

	if (!filter)
		return -EINVAL;
	mt_filter_free(filter);
	if (arguments->pid && mt_command_check_unrecorded((pid_t)arguments->pid, err) < 0)
		return err->code;
	if (check_outfile(arguments, arguments->outfile, err) < 0
		|| check_outfile(arguments, arguments->flame_graph, err) < 0)
		return -EINVAL;
	mt_command_session_options(&session_options, &library, arguments);
	session_options.at_end_context = &session_options; /* what goes wrong is said */
	int status = mt_session_start(&session, &session_options, err);

	free(library);
	if (status < 0)
		return status;
	if (session.attached)
		mt_command_say("recording process %d into %s; its threads stood still for at most "
			       "%.1f ms each; ^C detaches",
			(int)session.program, session.trace_path, (double)session.still_ns / 1e6);
	struct mt_err failure = {0};
	int exit_status = mt_session_wait(&session, &wait_status, &failure);

	if (failure.code)
		mt_command_say("%s", failure.text);
	if (session.detached)
		mt_command_say("process %d keeps running, no longer recorded",
			(int)session.program);
	if (exit_status < 0)
		status = failure.code < 0 ? failure.code : -1;
	else if (finish(arguments, &session, wait_status, err) < 0)
		mt_command_say("%s", err->text);
	mt_session_free(&session);
	/* the program's, whatever became of the recording */
	return exit_status < 0 ? status : exit_status;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	return mt_command_check_recording(arguments, arguments->pid != 0, err);
}

const struct mt_command mt_command_record = {
	.name = "record",
	.operands = "PROG [ARGS]",
	.words = "run a program, or take a running process, and write its trace",
	.description =
		"Starts the program and writes all its allocations and frees to a trace file, by "
		"default memtui_%e_%t_%p.dat. The exit status is the program's, or 128 + N if "
		"signal N ended it. Options stand before the program; everything behind it is an "
		"argument of the program.\n\n"
		"With --pid, a process that runs already is recorded from now on. ^C, SIGTERM, "
		"--duration and 'memtui detach PID' end that; the process keeps running, and "
		"memtui never ends it. The exit status is 0. See 'memtui help attach'.",
	.details =
		"Child processes are recorded too, each into a separate file: --output names it "
		"if it has %p or %n, else it is OUTPUT.PID. The trace of an earlier program of the "
		"same process (before exec) is OUTPUT.exec0, OUTPUT.exec1 and so on. memtui ends "
		"when the program has ended; child processes that live on are recorded until they "
		"end, and memtui attach shows them. Only the first program is recorded to a "
		"stream (-o -, a FIFO).\n\n"
		"memtui says which processes it could not record, and why. It cannot notice a "
		"process that has lost memtui's environment variables and lives for less than two "
		"seconds. A process in other namespaces (unshare, bwrap, rootless containers) is "
		"recorded if it can reach the recorder or the tracer, else it is named as not "
		"seen.\n\n"
		"With --max-size a program can be recorded for weeks. When a trace has reached "
		"half of the size, memtui replaces it by a new file without its oldest events. "
		"Totals, live blocks, the peak and the timeline are those of the whole run; "
		"filters on single allocations reach back as far as 'memtui info' says. Each "
		"process may use the whole size.\n\n"
		"--record-min and --record-max record blocks of some sizes only. What they leave "
		"out is counted, with its bytes, and named as not seen; a realloc that crosses "
		"them ends a block or begins one. Pools and mappings are recorded whatever their "
		"size. Leak checks, invalid frees and temporary blocks need all blocks.\n\n"
		"--on-full=block lets the program wait until the recorder has caught up, but at "
		"most 0.2 s if the recorder stands still; with wait it waits for as long as the "
		"recorder lives, so nothing is lost. A program such as env -i starts others "
		"without LD_PRELOAD and MEMTUI_SESSION: memtui puts them back, unless "
		"--no-follow is given.",
	.examples =
		"memtui record ./prog arg\twrite memtui_prog_TIME_PID.dat\n"
		"memtui record -o prog.dat --report=count --top 5 ./prog\tprint leaks at the end\n"
		"memtui record -o build.dat -- make -j4\trecord each compiler to build.dat.PID\n"
		"memtui record -p 4711 --duration 60s\trecord a running process for a minute\n"
		"memtui record --max-size 256M -o server.dat ./server\trecord for weeks\n"
		"ssh host memtui record -o - ./prog | memtui open -\trecord over the network\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.runs_program = true,
	.check = check,
	.run = mt_command_record_program,
};
