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
		"what to write: one of the kinds below", MT_EXPORT_CHOICES},
	{'o', "output", "FILE", MT_OPTION_TEXT, MT_OPTION_AT(output),
		"the file to write; - is standard output, the default", NULL},
	{'f', "force", NULL, MT_OPTION_FLAG, MT_OPTION_AT(force), "replace an existing file", NULL},
	{0, "metric", "METRIC", MT_OPTION_SORT, MT_OPTION_AT(sort),
		"what is measured, leaked_size by default; json and csv sort by it", NULL},
	{0, "what", "VIEW", MT_OPTION_CHOICE, MT_OPTION_AT(what),
		"the view that json and csv write, by default the first of:" MT_EXPORT_VIEWS(
			MT_EXPORT_VIEW_WORD),
		MT_EXPORT_VIEW_CHOICES},
	MT_OPTIONS_SUPPRESS,
	{0, "threshold", "PERCENT", MT_OPTION_PERCENT, MT_OPTION_AT(threshold),
		"massif: what is smaller than this share "
		"of a snapshot is put together, 1 by default",
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
	const struct mt_metric_info *metric = mt_metric_info(arguments->sort);

	if (!kind)
		return mt_fail(err, -EINVAL, "--as is missing; expected one of %s",
			MT_EXPORT_CHOICES);
	if (arguments->what && !kind->views)
		return mt_fail(err, -EINVAL,
			"--what does not go with '%s', "
			"which is one view; expected it with json or csv",
			kind->name);
	if (arguments->sort_given && kind->metrics == MT_EXPORT_NO_METRIC)
		return mt_fail(err, -EINVAL,
			"--metric does not go with '%s', which has all that its format knows; "
			"expected it to be left out",
			kind->name);
	if (kind->metrics == MT_EXPORT_SUMS && !metric->sums)
		return mt_fail(err, -EINVAL,
			"'%s' does not add up over stacks, so it makes no %s; expected a metric "
			"such as leaked_size, size or allocated_count",
			metric->name, kind->name);
	if (arguments->suppressions.count && !strcmp(kind->name, "heaptrack"))
		return mt_fail(err, -EINVAL,
			"--suppressions does not go with 'heaptrack', which tells of every event; "
			"expected it with heaptrack_print");
	if (arguments->threshold.given && strcmp(kind->name, "massif"))
		return mt_fail(err, -EINVAL,
			"--threshold does not go with '%s'; expected it with massif", kind->name);
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
				"%s is binary and standard output a terminal; expected -o FILE.%s",
				kind->name, kind->suffix);
		return mt_command_view(&own, kind->run, true, err);
	}
	int status = mt_new_file_check(arguments->operands[0], arguments->output, err);

	if (status >= 0)
		status = target_open(&target, arguments->output, arguments->force, err);
	own.out = target.out;
	if (status >= 0)
		status = mt_command_view(&own, kind->run, true, err);
	return target_close(&target, status, err);
}

const struct mt_command mt_command_export = {
	.name = "export",
	.operands = "TRACE",
	.words = "write a trace in the format of another program",
	.description =
		"Writes what a trace holds, or the part of it that the filters let through, for "
		"another program. The file gets its name when it is whole: an export that fails "
		"leaves nothing behind, and an existing file as it was.\n\n"
		"Names are what a program chose. JSON has them as they are. Everything else shows "
		"control characters and invisible ones by their number, as \\x1b, and CSV puts a "
		"' before a cell that a spreadsheet would run as a formula.\n\n"
		"heaptrack: its calls to allocation functions are our allocations and "
		"reallocations. It calls a block temporary that the next event of the whole "
		"program frees; so where several threads allocate it counts fewer than we do, who "
		"ask for the thread's next allocation. Threads, "
		"addresses and kinds of calls have no place in it.\n\n"
		"massif: the snapshot at the peak is of the whole heap's, or of the range's, also "
		"where filters leave only part of it; times are those of the ends of the steps in "
		"which the timeline was recorded, as far as a range goes, and the last snapshot is "
		"of the end of the recording.\n\n"
		"METRIC is one of those that add up over stacks; "
		"json and csv, which only sort by it, take any.",
	.examples = "memtui export --as collapsed memtui.dat | flamegraph.pl "
		    ">memtui.svg\ta flame graph by another's hand\n"
		    "memtui export --as json --what tree -o tree.json "
		    "memtui.dat\tthe call tree for a script\n"
		    "memtui export --as csv --function-regex '^json_' "
		    "memtui.dat\tthe groups that went through a parser\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.run = run,
};
