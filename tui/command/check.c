#include "tui/command/commands.h"

#include "core/query/filter_match.h"
#include "core/session/before.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct mt_option options[] = {
	{0, "max_leaked", "SIZE", MT_OPTION_LIMIT_SIZE, MT_OPTION_AT(check.limits[MT_CHECK_LEAKED]),
		"fail if more bytes leak (64k, 1.5M); 0 if no limit is given", NULL},
	{0, "max_leaked_count", "N", MT_OPTION_LIMIT_COUNT,
		MT_OPTION_AT(check.limits[MT_CHECK_LEAKED_COUNT]), "fail if more blocks leak",
		NULL},
	{0, "max_peak", "SIZE", MT_OPTION_LIMIT_SIZE, MT_OPTION_AT(check.limits[MT_CHECK_PEAK]),
		"fail if the heap's peak is larger", NULL},
	{0, "max_allocations", "N", MT_OPTION_LIMIT_COUNT,
		MT_OPTION_AT(check.limits[MT_CHECK_ALLOCATIONS]),
		"fail if there are more (reallocs do not count)", NULL},
	{0, "max_allocated", "SIZE", MT_OPTION_LIMIT_SIZE,
		MT_OPTION_AT(check.limits[MT_CHECK_ALLOCATED]),
		"fail if more bytes are allocated in total", NULL},
	{0, "max_temporary", "N", MT_OPTION_LIMIT_COUNT,
		MT_OPTION_AT(check.limits[MT_CHECK_TEMPORARY]),
		"fail if more are temporary ('memtui help metrics')", NULL},
	{0, "leak_check", NULL, MT_OPTION_FLAG, MT_OPTION_AT(check.leak_check),
		"only blocks leak that are definitely or indirectly lost, by the leak check of the "
		"recording (record --leak-check)",
		NULL},
	{0, "allow_incomplete", NULL, MT_OPTION_FLAG, MT_OPTION_AT(check.allow_incomplete),
		"judge the limits by the data that the trace has, even if they are UNKNOWN", NULL},
	{0, "allow_unseen", "PATTERNS", MT_OPTION_TEXT, MT_OPTION_AT(check.allow_unseen),
		"accept that these were not seen: patterns of programs, or reasons, "
		"separated by commas ('ldconfig,*/go', static, '*')",
		NULL},
	{0, "this_image", NULL, MT_OPTION_FLAG, MT_OPTION_AT(check.this_image),
		"judge only this trace, not the programs that the process ran before "
		"(TRACE.exec0, TRACE.exec1, ...)",
		NULL},
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top), "show N leaks (default: 5)", NULL},
	{0, "baseline", "TRACE", MT_OPTION_TEXT, MT_OPTION_AT(baseline),
		"count only leaks that this trace does not have, backtrace by backtrace", NULL},
	MT_OPTION_PROCESS,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_WRAPPER,
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"text (the default), json, or junit (XML for build servers)", "text|json|junit"},
	MT_OPTIONS_EXACT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* ---- what the process ran before ------------------------------------------------------------- */

static bool is_of_process(const struct mt_info *image, const struct mt_info *last)
{
	return image->pid == last->pid && image->root == last->root
		&& image->images_before < last->images_before
		&& image->start_unix_ns <= last->start_unix_ns;
}

static int add_image(struct mt_check_images *images, const struct mt_arguments *arguments,
	const char *path, const struct mt_info *last)
{
	struct mt_arguments own = *arguments;
	struct mt_opened opened;
	struct mt_err err = {0};
	int status;

	own.absent_allowed = true; /* a thread may be another program's */
	own.applies_suppressions = own.check.leak_check = false; /* nothing of it is a leak */
	status = mt_opened_load(&opened, &own, path, true, &err);
	opened.report.path = path;
	if (status >= 0 && !is_of_process(&opened.now->profile->info, last))
		status = mt_fail(&err, -ESRCH, "%s: is not of this process", path);
	if (status >= 0)
		status = mt_check_images_add(images, &opened.report, &err);
	if (status < 0)
		mt_check_images_add_unread(images, path, err.text);
	status = mt_opened_verdict(&opened, arguments, path, status < 0 ? 0 : status);
	mt_opened_free(&opened);
	return status;
}

/* Each is loaded, judged and freed, so that a long row of them takes the memory of one. Returns 1
 * if --strict refuses one. */
static int judge_images(struct mt_check_images *images, const struct mt_arguments *arguments,
	const char *path, const struct mt_info *info)
{
	struct mt_before before;
	int status = 0;

	mt_before_find(&before, path, info->images_before);
	for (uint32_t i = 0; i < before.count; i++)
		status |= add_image(images, arguments, before.paths[i], info);
	images->missing += before.missing;
	if (!images->first_missing) {
		images->first_missing = before.first_missing;
		before.first_missing = NULL;
	}
	mt_before_free(&before);
	return status;
}

/* Of several recordings, those that others take with them, as what their process ran before, are no
 * members themselves. Returns how many are left. */
static int leave_out_images(char **paths, int count, bool this_image)
{
	bool *is_image = mt_alloc((size_t)count * sizeof *is_image);
	int kept = 0;

	for (int i = 0; i < count && !this_image; i++) {
		char *last = mt_before_name(paths[i]);

		for (int j = 0; j < count && strcmp(paths[i], last) != 0; j++)
			is_image[i] |= !strcmp(paths[j], last);
		free(last);
	}
	for (int i = 0; i < count; i++)
		if (!is_image[i])
			paths[kept++] = paths[i];
	free(is_image);
	return kept;
}

static int load(const struct mt_arguments *arguments, struct mt_opened *opened, struct mt_err *err)
{
	if (arguments->operand_count == 1 && !arguments->processes.count)
		return mt_opened_load(opened, arguments, arguments->operands[0], true, err);
	int count = arguments->operand_count;
	char **paths = mt_command_choose_processes(arguments, arguments->operands, &count, err);

	if (!paths)
		return err->code;
	count = leave_out_images(paths, count, arguments->check.this_image);
	int status = mt_opened_load_set(opened, arguments, paths, count, true, err);

	free(paths);
	return status;
}

static int judge_all_images(struct mt_check_images *images, const struct mt_arguments *arguments,
	const struct mt_opened *opened)
{
	int status = 0;

	if (!opened->set)
		return judge_images(images, arguments, arguments->operands[0],
			&opened->now->profile->info);
	for (uint32_t i = 0; i < mt_set_count(opened->set); i++) {
		const struct mt_set_member *m = mt_set_member(opened->set, i);

		status |= judge_images(images, arguments, m->path, &m->info);
	}
	return status;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static int check_trace(const struct mt_arguments *arguments, struct mt_opened *old,
	struct mt_opened *opened, struct mt_err *err)
{
	struct mt_check_images images = {0};
	int strict = 0, status = load(arguments, opened, err);

	if (status < 0)
		return status;
	if (!arguments->check.this_image) {
		strict = judge_all_images(&images, arguments, opened);
		opened->report.images = &images;
	}
	opened->report.baseline = old ? &old->report : NULL;
	status = mt_report_check(&opened->report, err);
	mt_check_images_free(&images);
	opened->report.images = NULL;
	return status ? status : strict;
}

static int check(const struct mt_arguments *arguments, struct mt_opened *old, struct mt_err *err)
{
	struct mt_opened opened = {0};
	int written = 0, status = check_trace(arguments, old, &opened, err);

	if (status >= 0)
		written = mt_command_finish(arguments, err);
	if (old)
		status = mt_opened_verdict(old, arguments, arguments->baseline, status);
	status = mt_opened_verdict(&opened, arguments, arguments->operands[0], status);
	mt_opened_free(&opened);
	return written < 0 ? written : status;
}

static int check_against(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments before = *arguments;
	struct mt_opened old = {0};
	int status;

	before.absent_allowed = true;
	status = mt_opened_load(&old, &before, arguments->baseline, true, err);
	if (status >= 0)
		status = check(arguments, &old, err);
	mt_opened_free(&old);
	return status;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.names_suppressed = own.each_member = true;
	own.count = arguments->top;
	own.history = arguments->check.limits[MT_CHECK_PEAK].given
		|| arguments->check.limits[MT_CHECK_ALLOCATIONS].given;
	return own.baseline ? check_against(&own, err) : check(&own, NULL, err);
}

/* A leak check knows whole groups. */
static int check_usage(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (!arguments->check.leak_check)
		return 0;
	struct mt_filter *filter = mt_command_filter(arguments, &mt_no_columns, err);
	bool single = filter && mt_filter_needs(filter);

	mt_filter_free(filter);
	if (!filter)
		return -EINVAL;
	return single ? mt_fail(err, -EINVAL,
		       "--leak-check: cannot be combined with a filter on single "
		       "allocations; 'memtui groups --verdict lost' takes one")
		      : 0;
}

const struct mt_command mt_command_check = {
	.name = "check",
	.operands = "TRACE|PID...",
	.words = "fail if a run leaks or allocates too much",
	.description =
		"Compares a run with limits, for continuous integration. The exit status is "
		"0 if all limits hold, 1 if one does not, and 2 if the command line is "
		"wrong. Without any limit, any leak fails.\n\nEach limit has a line that "
		"begins with PASS, FAIL or UNKNOWN. Then come the suppressed leaks, the "
		"largest leaks with the program's own frame, and commands to run "
		"next.\n\nUNKNOWN means that the trace cannot decide the limit: it is "
		"incomplete, the recording was stopped before the program ended, events were "
		"lost, no allocation was recorded, an allocator or a process was not seen (a "
		"'not seen' line says which), --max-size dropped events that a filter needs, "
		"or frames have no names that a suppression could match. UNKNOWN counts as "
		"failed; with --allow-incomplete the data in the trace decide.\n\nWith "
		"--baseline only leaks count that the other run does not have, compared by "
		"backtraces with the same functions and source files. Limits on peaks and "
		"allocations do not change.\n\nThe programs that a process ran one after "
		"another, by exec, are judged together (TRACE.exec0, TRACE.exec1, ...): the "
		"peak is the highest of all, allocations are the sum. Leaks are those of the "
		"last program: the memory of an earlier one went when the next one took its "
		"place. The output says how much that was. If one of the traces is missing, "
		"every limit is UNKNOWN. --this-image judges only TRACE.\n\nSuppressions act "
		"on leaks only, not on peaks and allocations. memtui ignores the kind of "
		"leak in valgrind's files (match-leak-kinds), except none: it does not check "
		"whether a block is still reachable.",
	.details = "'memtui check TRACE.exec0' judges what a process ran before. Filters apply "
		   "to each program; times are those of its own trace.\n\nSeveral traces, such "
		   "as those of all processes of a test run, are judged together: limits are on "
		   "the sums of what all leak and allocate, and the processes that leak most "
		   "are named. The processes may have had the most bytes at different moments, "
		   "so the peak is only known to be at least the highest of theirs and at most "
		   "the value that is shown; a limit between the two is UNKNOWN. A recording "
		   "that cannot be read makes every limit UNKNOWN. What a process ran before it "
		   "executed another program is found beside its trace, and does not count "
		   "twice if it is given, too. In JSON, 'recordings' is their number, 'unread' "
		   "the number of those that could not be read, and 'processes' has those that "
		   "leak: pid, name, trace, leaked_size, leaked_count.",
	.examples = "memtui check memtui.dat\tfail on any leak\nmemtui check --max-leaked 1M "
		    "--max-peak 64M memtui.dat\tlimit leaks and peak\nmemtui check "
		    "--suppressions known.supp memtui.dat\tfail on any new leak\nmemtui check "
		    "--baseline main.dat branch.dat\tfail on leaks that the other run does not "
		    "have\nmemtui check --format json memtui.dat\tprint the result for a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.takes_set = true,
	.check = check_usage,
	.run = run,
};
