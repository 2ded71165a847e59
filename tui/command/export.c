#include "tui/command/commands.h"
#include "tui/command/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct mt_option options[] = {
	{0, "as", "KIND", MT_OPTION_EXPORT, MT_OPTION_AT(kind),
		"output format: one of the formats below", MT_EXPORT_CHOICES},
	{'o', "output", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(output),
		"file to write; '-': standard output, the default", NULL},
	{'f', "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force), "replace an existing file", NULL},
	{0, "metric", "METRIC", MT_OPTION_SORT, MT_OPTION_AT(sort),
		"metric to write (default: leaked_size); json and csv sort by "
		"it",
		NULL},
	{0, "what", "VIEW", MT_OPTION_CHOICE, MT_OPTION_AT(what),
		"view that json and csv write (default: the first):" MT_EXPORT_VIEWS(
			MT_EXPORT_VIEW_WORD),
		MT_EXPORT_VIEW_CHOICES},
	MT_OPTION_BY_PROCESS,
	MT_OPTION_PROCESS,
	MT_OPTIONS_SUPPRESS,
	{0, "threshold", "PERCENT", MT_OPTION_PERCENT, MT_OPTION_AT(threshold),
		"massif: combine functions with less than PERCENT of a "
		"snapshot (default: 1)",
		NULL},
	MT_OPTIONS_MIN_PERCENT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	const struct mt_export_kind *kind = arguments->kind;

	if (!kind)
		return mt_fail(err, -EINVAL, "missing --as; give one of %s", MT_EXPORT_CHOICES);
	if (arguments->what && !kind->views)
		return mt_fail(err, -EINVAL,
			"--what: not with '%s', which has one view; use it with json "
			"or csv",
			kind->name);
	if (arguments->sort_given && kind->metrics == MT_EXPORT_NO_METRIC)
		return mt_fail(err, -EINVAL,
			"--metric: not with '%s', whose metrics are fixed; leave it out",
			kind->name);
	if (mt_command_check_sums(kind, NULL, arguments->sort, err) < 0)
		return -EINVAL;
	if (arguments->suppressions.count && !strcmp(kind->name, "heaptrack"))
		return mt_fail(err, -EINVAL,
			"--suppressions: not with 'heaptrack', which has every event; "
			"give them to heaptrack_print");
	if (arguments->threshold.given && strcmp(kind->name, "massif"))
		return mt_fail(err, -EINVAL, "--threshold: not with '%s', only with massif",
			kind->name);
	if (arguments->min_percent.given
		&& (!arguments->what || strcmp(arguments->what, "tree") != 0))
		return mt_fail(err, -EINVAL, "--min-percent: only for --what tree");
	return 0;
}

struct target {
	const char *path;
	struct mt_new_file file;
	FILE *out;
};

static int target_open(struct target *target, const char *path, bool force, struct mt_err *err)
{
	int fd = mt_new_file_open(&target->file, path, force, 0666, err);

	target->path = path;
	if (fd < 0)
		return fd;
	target->out = fdopen(fd, "w");
	if (target->out)
		return 0;
	close(fd);
	return mt_fail(err, -ENOMEM, "cannot write %s: %s", path, strerror(ENOMEM));
}

/* status < 0: what was written is thrown away. */
static int target_close(struct target *target, int status, struct mt_err *err)
{
	int code = 0;

	if (target->out) {
		if (fflush(target->out) || ferror(target->out))
			code = errno ? errno : EIO;
		if (fclose(target->out) && !code)
			code = errno;
		if (status >= 0 && code)
			status = mt_fail(err, -code, "cannot write %s: %s", target->path,
				strerror(code));
	}
	return mt_new_file_close(&target->file, status, err);
}

static bool shows_leaks(const char *view)
{
	return !view || !strcmp(view, "groups") || !strcmp(view, "tree") || !strcmp(view, "info");
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	const struct mt_export_kind *kind = arguments->kind;
	struct mt_arguments own = *arguments;
	struct target target = {0};

	own.history = kind->needs == MT_EXPORT_NEEDS_HISTORY
		|| (arguments->what && !strcmp(arguments->what, "timeline"));
	own.events = kind->needs == MT_EXPORT_NEEDS_EVENTS
		|| (arguments->what && !strcmp(arguments->what, "allocations"));
	/* These formats tell of the heap, not of leaks: they have all that is live. */
	own.applies_suppressions = arguments->suppressions.count
		|| (kind->metrics != MT_EXPORT_NO_METRIC && shows_leaks(arguments->what));
	own.ascending = true; /* allocations: as they were made */
	if (!arguments->output || !strcmp(arguments->output, "-")) {
		if (kind->binary && isatty(STDOUT_FILENO))
			return mt_fail(err, -EINVAL,
				"%s is a binary format, and standard output is a terminal; use "
				"-o FILE.%s",
				kind->name, kind->suffix);
		return mt_command_view(&own, kind->run, true, err);
	}
	int status = 0;

	for (int i = 0; i < arguments->operand_count && status >= 0; i++)
		status = mt_new_file_check(arguments->operands[i], arguments->output, err);
	if (status >= 0)
		status = target_open(&target, arguments->output, arguments->force, err);
	own.out = target.out;
	if (status >= 0)
		status = mt_command_view(&own, kind->run, true, err);
	return target_close(&target, status, err);
}

const struct mt_command mt_command_export = {
	.name = "export",
	.operands = "TRACE|PID...",
	.words = "export a trace to another program's format",
	.description =
		"Writes a trace, or the part of it that the filters select, "
		"for another program. The file appears when it is complete: an "
		"export that fails writes no file and leaves an existing file "
		"as it was.\n\nJSON has all names as they are. The other "
		"formats show control characters and invisible characters by "
		"their number, such as \\x1b. CSV puts a ' before a cell that "
		"a spreadsheet would evaluate as a formula.\n\nheaptrack: its "
		"'calls to allocation functions' are allocations and "
		"reallocations. heaptrack counts a block as temporary if the "
		"next event of the whole program frees it; memtui, if it is "
		"freed before the thread's next allocation. The format has no "
		"threads, addresses or kinds of calls.\n\nmassif: the peak "
		"snapshot is at the peak of the whole heap, or of the range, "
		"even if filters select only a part. Times are the ends of the "
		"recorded timeline steps; the last snapshot is at the end of "
		"the recording.\n\njson and csv take any METRIC; the other "
		"formats take metrics that can be summed over backtraces.",
	.examples = "memtui export --as collapsed memtui.dat | flamegraph.pl "
		    ">memtui.svg\tdraw a flame graph with flamegraph.pl\nmemtui "
		    "export --as json --what tree -o tree.json memtui.dat\twrite "
		    "the call tree for a script\nmemtui export --as csv "
		    "--function-regex '^json_' memtui.dat\twrite the groups of a "
		    "parser for a spreadsheet\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.takes_set = true,
	.check = check,
	.run = run,
};
