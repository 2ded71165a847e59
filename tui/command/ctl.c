/* memtui ctl: what keys do on the screen, for scripts. doc/control.md. */
#include "tui/command/commands.h"

#include "core/base/text.h"
#include "core/export/json.h"
#include "core/export/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOP_DEFAULT 10

static const struct mt_option options[] = {
	{'s', "sort", "METRIC", MT_OPTION_SORT, MT_OPTION_AT(sort),
		"with report: sort by this metric (default: leaked_size)", NULL},
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top),
		"with report: show N groups (default: 10)", "1..1000000000"},
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"text (the default) or json", "text|json"},
	MT_OPTIONS_EXACT,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* What a verb works on, and what came of it. */
struct target {
	struct mt_session_entry entry;
	pid_t pid, process; /* as given; 0: the first one of the recording */
	const char *text;   /* its argument; NULL: none */
	const struct mt_arguments *arguments;
	char *said;        /* for a person; NULL: nothing */
	bool printed;      /* the verb has printed its result itself */
	bool wrote, ended; /* a file; the recording */
	bool complete;     /* ended: so are its traces */
	char file[1024];   /* wrote, ended */
	uint64_t moment_ns, bytes;
};

/* X(name, argument, words). One that can be left out is in brackets. */
#define VERBS(X) \
	X(pause, NULL, \
		"stop recording new allocations of all processes; frees of recorded blocks are " \
		"still counted") \
	X(resume, NULL, "go on recording") \
	X(snapshot, "[NAME]", \
		"write a complete trace of everything recorded so far, and print its name: NAME, " \
		"in which %e, %t, %p, %h and %n are replaced, else TRACE.snapshot-at-SECONDSs; " \
		"an existing file is not") \
	X(marker, "TEXT", \
		"note this moment in the traces, as memtui_marker does; at most 64 bytes") \
	X(report, NULL, "print totals and the largest groups of now") \
	X(flush, NULL, "write everything recorded so far to the trace file") \
	X(detach, NULL, \
		"end the recording of a process that ran already; it is left as it was before") \
	X(stop, NULL, "end the recording and complete its traces; the programs keep running")

#define X(name, argument, words) static int verb_##name(struct target *, struct mt_err *);
VERBS(X)
#undef X

static const struct mt_verb verbs[] = {
#define X(name, argument, words) {#name, argument, words},
	VERBS(X)
#undef X
		{NULL, NULL, NULL},
};
static int (*const verb_runs[])(struct target *, struct mt_err *) = {
#define X(name, argument, words) verb_##name,
	VERBS(X)
#undef X
};

/* ---- verbs ----------------------------------------------------------------------------------- */

static int request(struct target *t, enum mt_request what, const char *text, struct mt_err *err)
{
	return mt_session_request(t->entry.name, what, 0, text, NULL, err);
}

static int verb_pause(struct target *t, struct mt_err *err)
{
	t->said = mt_format("the recording of process %d is paused", (int)t->entry.program);
	return request(t, MT_REQUEST_PAUSE, NULL, err);
}

static int verb_resume(struct target *t, struct mt_err *err)
{
	t->said = mt_format("the recording of process %d goes on", (int)t->entry.program);
	return request(t, MT_REQUEST_RESUME, NULL, err);
}

static int verb_marker(struct target *t, struct mt_err *err)
{
	return request(t, MT_REQUEST_MARKER, t->text, err);
}

/* A name is relative to our directory, not to the recorder's. */
static int verb_snapshot(struct target *t, struct mt_err *err)
{
	char *here = t->text && *t->text != '/' ? getcwd(NULL, 0) : NULL;
	char *name = !t->text ? NULL
		: here        ? mt_format("%s/%s", here, t->text)
			      : mt_strdup(t->text);
	struct mt_done done;
	int status = mt_session_request(t->entry.name, MT_REQUEST_SNAPSHOT, t->process, name, &done,
		err);

	free(here);
	free(name);
	if (status < 0)
		return status;
	t->wrote = true;
	memcpy(t->file, done.path, sizeof t->file);
	t->moment_ns = done.moment_ns;
	t->bytes = done.bytes;
	return 0;
}

static int report_on(struct mt_recording *recording, const struct target *t, const char *path,
	struct mt_err *err)
{
	char *operands[] = {(char *)path, NULL};
	struct mt_arguments as_report = *t->arguments;
	struct mt_opened opened;
	int status;

	as_report.operands = operands;
	as_report.operand_count = 1;
	as_report.count = as_report.top ? as_report.top : TOP_DEFAULT;
	as_report.names_suppressed = true;
	mt_recording_await_names(recording);
	status = mt_opened_take(&opened, &as_report, recording, err);
	if (status >= 0)
		status = (t->arguments->format == MT_FORMAT_JSON
				? mt_report_groups
				: mt_report_summary)(&opened.report, err);
	mt_opened_free(&opened);
	return status;
}

static int verb_report(struct target *t, struct mt_err *err)
{
	struct mt_recording *recording = mt_recording_attach(t->entry.name, t->process, err);
	uint64_t moment_ns;
	char path[512] = "";

	t->printed = true;
	if (!recording)
		return err->code;
	/* of a stream there are totals, which is what a report shows */
	int status = mt_recording_take_live(recording, &moment_ns, path, err);

	if (status < 0 && status != -ENOTSUP) {
		mt_recording_free(recording);
		return status;
	}
	return report_on(recording, t, *path ? path : t->entry.trace_path, err);
}

/* To ask what lives makes the recorder write out all that it has. */
static int verb_flush(struct target *t, struct mt_err *err)
{
	struct mt_session_live live;
	int status = mt_session_live(t->entry.name, t->process, &live, err);
	char bytes[MT_NUMBER_LEN];

	if (live.trace_fd >= 0)
		close(live.trace_fd);
	if (live.list_fd >= 0)
		close(live.list_fd);
	if (status == -ENOTSUP) /* what was written to a stream has gone where it leads */
		return 0;
	if (status < 0)
		return status;
	mt_number_size(bytes, live.trace_bytes);
	t->said = mt_format("%s contains everything recorded so far: %s", live.trace_path, bytes);
	t->wrote = true;
	snprintf(t->file, sizeof t->file, "%s", live.trace_path);
	t->moment_ns = live.moment_ns;
	t->bytes = live.trace_bytes;
	return 0;
}

static int end(struct target *t, bool detaches, struct mt_err *err)
{
	int status;

	t->ended = t->complete = true;
	snprintf(t->file, sizeof t->file, "%s", t->entry.trace_path);
	status = detaches ? mt_command_detach_session(&t->entry, &t->complete, err)
			  : request(t, MT_REQUEST_STOP, NULL, err);
	t->said = mt_format("process %d keeps running, no longer recorded; the recording is %s%s",
		(int)t->entry.program, t->file,
		t->complete ? "" : ", which is still being written");
	return status;
}

static int verb_detach(struct target *t, struct mt_err *err)
{
	int status = mt_command_check_detach(&t->entry, t->pid, err);

	return status < 0 ? status : end(t, true, err);
}

static int verb_stop(struct target *t, struct mt_err *err)
{
	return end(t, t->entry.attached, err);
}

/* ---------------------------------------------------------------------------------------------- */

static int check_argument(const struct mt_verb *verb, const char *text, struct mt_err *err)
{
	if (text && !verb->argument)
		return mt_fail(err, -EINVAL, "extra argument '%.100s'; usage: memtui ctl PID %s",
			text, verb->name);
	if (!verb->argument || *verb->argument == '[' ? text && !*text : !text || !*text)
		return mt_fail(err, -EINVAL, "missing %s; usage: memtui ctl PID %s %s",
			verb->argument, verb->name, verb->argument);
	if (!strcmp(verb->name, "marker") && strlen(text) > MT_MARKER_LEN)
		return mt_fail(err, -EINVAL,
			"marker: the text has %zu bytes; at most %d can be noted", strlen(text),
			MT_MARKER_LEN);
	return 0;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *pid = arguments->operands[0], *name = arguments->operands[1];
	char *end = NULL;
	int verb;

	if (strtol(pid, &end, 10) <= 0 || *end)
		return mt_fail(err, -EINVAL,
			"invalid process '%.60s'; give the number of a process that is recorded",
			pid);
	verb = mt_verb_find(verbs, name, err);
	if (verb < 0)
		return verb;
	if ((arguments->sort_given || arguments->top) && strcmp(name, "report"))
		return mt_fail(err, -EINVAL, "--%s: only with report",
			arguments->sort_given ? "sort" : "top");
	return check_argument(&verbs[verb], arguments->operands[2], err);
}

static void print_json(const struct target *t, const struct mt_verb *verb)
{
	struct mt_json json = {.out = stdout};

	mt_json_open(&json, '{');
	mt_json_put_string(&json, "verb", verb->name);
	mt_json_put_number(&json, "pid", (uint64_t)(t->process ? t->process : t->entry.program));
	mt_json_put_number(&json, "recorder", (uint64_t)t->entry.recorder);
	if (t->wrote || t->ended)
		mt_json_put_string(&json, "file", t->file);
	if (t->wrote) {
		mt_json_put_seconds(&json, "seconds", t->moment_ns);
		mt_json_put_number(&json, "file_bytes", t->bytes);
	}
	if (t->ended)
		mt_json_put_bool(&json, "complete", t->complete);
	mt_json_close(&json, '}');
	putchar('\n');
}

static void print_text(const struct target *t)
{
	if (t->said) {
		mt_command_say("%s", t->said);
	} else if (t->wrote) {
		mt_text_put(stdout, MT_TEXT_LINE, t->file);
		putchar('\n');
	}
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct target t = {.pid = (pid_t)strtol(arguments->operands[0], NULL, 10),
		.text = arguments->operands[2],
		.arguments = arguments};
	int verb = mt_verb_find(verbs, arguments->operands[1], NULL), status;

	if (mt_command_find_recording(&t.entry, t.pid, &t.process, err) < 0)
		return err->code;
	status = verb_runs[verb](&t, err);
	if (status >= 0 && !t.printed && arguments->format == MT_FORMAT_JSON)
		print_json(&t, &verbs[verb]);
	else if (status >= 0 && !t.printed)
		print_text(&t);
	free(t.said);
	return status < 0 ? status : mt_command_finish(arguments, err);
}

const struct mt_command mt_command_ctl = {
	.name = "ctl",
	.operands = "PID VERB [ARGUMENT]",
	.words = "control a recording in progress from a script",
	.description =
		"Does for scripts what keys do on the screen. PID is the recorded program, one of "
		"its child processes, the recorder, or memtui itself. pause, resume, marker, "
		"detach and stop are about the whole recording; snapshot, report and flush about "
		"process PID, or the first program of the recording.\n\n"
		"The command returns when the verb has taken effect: nothing is recorded after "
		"pause has returned, and files are complete. It waits for at most 10 seconds for "
		"an answer of the recorder, and a minute for files. The status is 0, or 1 if the "
		"recorder could not do it or does not answer.\n\n"
		"With --format=json the answer is an object with verb, pid and recorder. snapshot "
		"and flush add file, seconds (the moment up to which it has all events) and "
		"file_bytes; stop and detach add file and complete. report prints an array of "
		"groups, as 'memtui groups --format=json' does.",
	.examples = "memtui ctl 4711 pause\tstop recording allocations\n"
		    "memtui ctl 4711 marker 'cache filled'\tnote this moment\n"
		    "memtui open $(memtui ctl 4711 snapshot)\tbrowse what is known now\n"
		    "memtui ctl 4711 report --sort size\tshow who allocates most\n"
		    "memtui ctl 4711 stop\tcomplete the trace; the program goes on\n",
	.options = options,
	.verbs = verbs,
	.operands_min = 2,
	.operands_max = 3,
	.check = check,
	.run = run,
};
