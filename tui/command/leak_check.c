#include "core/base/wrap.h"
#include "core/export/report_leakcheck.h"
#include "core/leakcheck/process.h"
#include "core/query/filter_match.h"
#include "tui/command/commands.h"
#include "tui/command/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_GROUPS 20

static const struct mt_option options[] = {
	{0, "show", "VERDICTS", MT_OPTION_TEXT, MT_OPTION_AT(verdicts),
		"show groups with such blocks: all, or some of lost, indirect, possible and "
		"reachable, separated by commas (default: lost,indirect,possible)",
		NULL},
	{'n', "count", "N", MT_OPTION_NUMBER, MT_OPTION_AT(count),
		"show at most N groups (default: 20 in text, all in json)", NULL},
	MT_OPTION_NO_COPY,
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"text (the default) or json", "text|json"},
	{0, "outfile", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(outfile),
		"write the report to FILE, not to standard output (of a program that is started: "
		"to standard error)",
		NULL},
	{0, "error_exitcode", "N", MT_OPTION_NUMBER, MT_OPTION_AT(error_exitcode),
		"exit with status N if blocks are definitely or indirectly lost", "1..255"},
	{'o', "output", "TRACE", MT_OPTION_TEXT, MT_OPTION_AT(output),
		"of a program that is started: the trace file, as with record (default: "
		"memtui_%e_%t_%p.dat)",
		NULL},
	{'f', "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force),
		"replace an existing trace or report", NULL},
	MT_OPTIONS_EXACT,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_NAMES,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* ---- the command line ------------------------------------------------------------------------ */

static int take_verdict(const char *word, size_t len, bool shown[MT_VERDICT_COUNT])
{
	bool all = len == 3 && !memcmp(word, "all", 3);
	int found = 0;

	for (int v = 0; v < MT_VERDICT_COUNT; v++) {
		const char *name = mt_verdict_name((enum mt_verdict)v);

		if (all || (strlen(name) == len && !memcmp(name, word, len))) {
			shown[v] = true;
			found++;
		}
	}
	return found;
}

static int take_verdicts(const struct mt_arguments *a, bool shown[MT_VERDICT_COUNT],
	struct mt_err *err)
{
	const char *at = a->verdicts ? a->verdicts : "lost,indirect,possible";

	memset(shown, 0, MT_VERDICT_COUNT * sizeof *shown);
	for (size_t len;; at += len + 1) {
		len = strcspn(at, ",");
		if (!take_verdict(at, len, shown))
			return mt_fail(err, -EINVAL,
				"--show: invalid verdict '%.*s'; expected all, lost, indirect, "
				"possible or reachable",
				(int)(len < 60 ? len : 60), at);
		if (!at[len])
			return 0;
	}
}

/* NULL: a process is meant. */
static char *const *program_of(const struct mt_arguments *a)
{
	return a->program_at && a->operand_count >= a->program_at
		? a->operands + a->program_at - 1
		: NULL;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	bool shown[MT_VERDICT_COUNT];
	pid_t pid;

	if (program_of(arguments) && arguments->program_at > 1)
		return mt_fail(err, -EINVAL,
			"a process and a program exclude each other; give one of them");
	if (program_of(arguments) && arguments->no_copy)
		return mt_fail(err, -EINVAL,
			"--no-copy: at its end, a program stands still in any case; omit it");
	if (!program_of(arguments) && arguments->operand_count > 1)
		return mt_fail(err, -EINVAL, "extra argument '%.60s'; a program stands behind '--'",
			arguments->operands[1]);
	if (!program_of(arguments) && arguments->output)
		return mt_fail(err, -EINVAL,
			"--output: only with a program; a process that is recorded has a trace");
	if (!program_of(arguments) && arguments->no_copy
		&& !mt_command_is_process(arguments->operands[0], &pid))
		return mt_fail(err, -EINVAL, "--no-copy: only with a process; omit it");
	return take_verdicts(arguments, shown, err);
}

/* What the parts of a run share. */
struct leak_check {
	const struct mt_arguments *arguments;
	FILE *out;
	uint64_t lost; /* blocks so far, indirectly lost ones too */
	const char *session;
	pid_t root;
	bool judged; /* the root */
};

/* ---- the check ------------------------------------------------------------------------------- */

/* Which groups are known leaks; NULL: rules are not applied. The caller frees it. */
static int find_known(bool **known, const struct mt_arguments *a, const struct mt_generation *now,
	struct mt_err *err)
{
	struct mt_suppressions *rules;
	struct mt_suppressed suppressed = {0};
	int status = mt_command_suppressions(&rules, a, err);

	*known = NULL;
	if (status < 0 || !rules)
		return status;
	mt_command_own_suppressions(rules, a, now->symbols);
	mt_suppress(&suppressed, rules, now->profile, now->symbols);
	*known = mt_alloc(now->profile->group_count + 1);
	for (uint32_t i = 0; i < now->profile->group_count; i++)
		(*known)[i] =
			suppressed.verdicts[i] && suppressed.verdicts[i] != MT_SUPPRESS_UNDECIDED;
	mt_suppressed_free(&suppressed);
	mt_suppressions_free(rules);
	return 0;
}

static void report_on(struct leak_check *l, const struct mt_leakcheck *c,
	const struct mt_recording *r)
{
	const struct mt_arguments *a = l->arguments;
	bool shown[MT_VERDICT_COUNT];
	struct mt_err ignored;
	int fd = fileno(l->out);
	struct mt_report report = {
		.out = l->out,
		.format = a->format,
		.exact = a->exact,
		.profile = r->now.profile,
		.symbols = r->now.symbols,
		.count = a->count || a->format != MT_FORMAT_TEXT ? a->count : TEXT_GROUPS,
		.short_names = a->short_names || isatty(fd),
		.width = mt_wrap_columns(fd),
	};

	take_verdicts(a, shown, &ignored);
	mt_report_leakcheck(&report, c, shown);
}

static uint64_t lost_blocks(const struct mt_leakcheck *c)
{
	return c->sums[MT_VERDICT_LOST].count + c->sums[MT_VERDICT_INDIRECT].count;
}

/* is_wanted: whether it is reported where nothing is lost. */
static int sum_up(struct leak_check *l, struct mt_leakcheck *c, struct mt_recording *r,
	bool is_wanted, struct mt_err *err)
{
	bool *known;

	mt_recording_await_names(r);
	int status = find_known(&known, l->arguments, &r->now, err);

	if (status < 0)
		return status;
	mt_leakcheck_sum_up(c, known, r->now.profile->group_count);
	free(known);
	l->lost += lost_blocks(c);
	if (is_wanted || lost_blocks(c))
		report_on(l, c, r);
	return 0;
}

static int check_process(struct leak_check *l, struct mt_leakcheck_target *target,
	struct mt_err *err)
{
	struct mt_leakcheck c = {0};
	struct mt_err trouble = {0}, untold;
	struct mt_recording *r;

	target->session = l->session;
	int status = mt_leakcheck_begin(&c, &r, target, &untold, err);

	if (status >= 0 && untold.code)
		mt_command_say("the trace does not get the leak check: %s", untold.text);
	if (status >= 0)
		status = sum_up(l, &c, r, target->is_root || !l->root, err);
	if (mt_leakcheck_end(&c, r, &trouble) < 0)
		mt_command_say("%s", trouble.text);
	return status;
}

/* ---- a process that runs --------------------------------------------------------------------- */

static int run_on_process(struct leak_check *l, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	int count = mt_session_list(&entries, err), status = count;
	const struct mt_session_entry *entry;
	pid_t pid, process;

	mt_command_is_process(l->arguments->operands[0], &pid);
	if (count < 0)
		return count;
	entry = mt_command_recording_of(entries, count, pid, &process);
	if (!entry) {
		status = mt_fail(err, -ESRCH,
			"process %d is not being recorded, so nobody knows its blocks; 'memtui "
			"record -p %d' begins a recording",
			(int)pid, (int)pid);
	} else {
		l->session = entry->name;
		struct mt_leakcheck_target target = {
			.process = process ? process : entry->program,
			.is_root = !process,
			.mode = l->arguments->no_copy ? MT_STILL_NO_COPY : 0,
		};

		status = check_process(l, &target, err);
	}
	free(entries);
	return status;
}

/* ---- a trace --------------------------------------------------------------------------------- */

static int run_on_trace(struct leak_check *l, struct mt_err *err)
{
	const char *path = l->arguments->operands[0];
	struct mt_open_options how = {0};
	struct mt_recording *r = mt_recording_open(path, &how, err);
	struct mt_leakcheck c = {0};
	bool *known = NULL;
	int status = r ? 0 : err->code;

	if (r && !r->now.profile->verdicts)
		status = mt_fail(err, -ENODATA,
			"%s: the recording has no leak check; record the program with "
			"--leak-check, or check the process while it is recorded",
			path);
	if (status >= 0)
		mt_recording_complete_names(r, &how, NULL, err);
	if (status >= 0)
		status = find_known(&known, l->arguments, &r->now, err);
	if (status >= 0) {
		mt_leakcheck_of_recording(&c, r->now.profile->verdicts, known,
			r->now.profile->group_count);
		l->lost = lost_blocks(&c);
		report_on(l, &c, r);
	}
	free(known);
	mt_leakcheck_free(&c);
	mt_recording_free(r);
	return status;
}

/* ---- a program that is started --------------------------------------------------------------- */

/* Nothing runs on in it, so that there is no need for a copy. */
static void at_end(void *context, const struct mt_session *session, pid_t pid)
{
	struct leak_check *l = context;
	struct mt_leakcheck_target target = {.process = pid,
		.is_root = pid == session->program,
		.at_end = true,
		.mode = MT_STILL_NO_COPY};
	struct mt_err err = {0};

	l->session = session->name;
	l->root = session->program;
	int status = check_process(l, &target, &err);

	l->judged |= status >= 0 && pid == l->root;
	if (status < 0)
		mt_command_say("process %d is not judged: %s", (int)pid, err.text);
}

static int run_program(struct leak_check *l, struct mt_err *err)
{
	struct mt_arguments with = *l->arguments;
	struct mt_session_options session_options;
	struct mt_session session = {0};
	struct mt_err failure = {0};
	char *library;
	int wait_status = 0, exit_status;

	with.operands = program_of(l->arguments);
	mt_command_session_options(&session_options, &library, &with);
	session_options.at_end = at_end;
	session_options.at_end_context = l;
	int status = mt_session_start(&session, &session_options, err);

	free(library);
	if (status < 0)
		return status;
	exit_status = mt_session_wait(&session, &wait_status, &failure);
	if (failure.code)
		mt_command_say("%s", failure.text);
	if (!l->judged)
		mt_command_say(
			"the program is not judged: it did not come to its end by itself, or "
			"allocated nothing");
	if (mt_command_close_session(&session, with.output, wait_status, err) < 0)
		mt_command_say("%s", err->text);
	mt_session_free(&session);
	return exit_status < 0 ? 1 : exit_status;
}

static int finish(struct leak_check *l, struct mt_new_file *file, int status, struct mt_err *err)
{
	const struct mt_arguments *a = l->arguments;
	bool failed = fflush(l->out) || ferror(l->out);

	if (a->outfile && fclose(l->out))
		failed = true;
	if (failed && status >= 0)
		status = mt_fail(err, -EIO, "cannot write the report%s%s", a->outfile ? " to " : "",
			a->outfile ? a->outfile : "");
	if (a->outfile) {
		int closed = mt_new_file_close(file, status < 0 ? status : 0, err);

		status = closed < 0 ? closed : status;
	}
	return status >= 0 && l->lost && a->error_exitcode ? (int)a->error_exitcode : status;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct leak_check l = {.arguments = arguments,
		.out = program_of(arguments) ? stderr : stdout};
	struct mt_new_file file = {0};
	int fd = arguments->outfile
		? mt_new_file_open(&file, arguments->outfile, arguments->force, 0666, err)
		: 0;

	if (fd < 0)
		return fd;
	if (arguments->outfile)
		l.out = fdopen(fd, "w");
	pid_t pid;
	int status = program_of(arguments) ? run_program(&l, err)
		: mt_command_is_process(arguments->operands[0], &pid)
		? run_on_process(&l, err)
		: run_on_trace(&l, err);

	return finish(&l, &file, status, err);
}

const struct mt_command mt_command_leak_check = {
	.name = "leak-check",
	.operands = "PID|TRACE|-- PROG ARGS",
	.words = "find the blocks to which a program has lost all pointers",
	.description =
		"Looks for pointers to each block that lives, in the registers, stacks and data of "
		"a process, and in the blocks that these lead to: of a process that is being "
		"recorded, now; of a program that is started and recorded, at its end. The "
		"verdicts are valgrind's: definitely lost (no pointer is left), indirectly lost "
		"(only lost blocks point to it), possibly lost (only pointers into its middle are "
		"left), and still reachable.\n\n"
		"The threads of the process stand still for some milliseconds while a copy of "
		"the process is made; the copy is what is looked at, and it is gone when the "
		"command ends. The output says for how long. Where a copy is not possible, or with "
		"--no-copy, the threads stand still until the check is done.\n\n"
		"A program that is started is judged behind all its destructors, as are the "
		"processes that it starts, of which only those are reported that have lost "
		"something. It goes on to end with its own status, which is that of memtui; see "
		"--error-exitcode.\n\n"
		"If memtui was attached to the process, only blocks that were allocated since then "
		"are judged. Numbers have a ~ if events were lost.",
	.examples =
		"memtui leak-check -- ./tests\trun a program; show what it has lost at its end\n"
		"memtui leak-check --error-exitcode 1 -- ./tests\tthe same, for a build server\n"
		"memtui leak-check $(pidof server)\tshow what the server has lost\n"
		"memtui leak-check --show all --format json 4711\tshow all groups, for a "
		"script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.check = check,
	.run = run,
};
