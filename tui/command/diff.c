#include "core/query/filter_match.h"
#include "tui/command/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct mt_option options[] = {
	{0, "normalise", "BY", MT_OPTION_CHOICE, MT_OPTION_AT(normalise),
		"compare values per second of run time, or per allocation", "time|allocations"},
	MT_OPTION_PROCESS,
	MT_OPTIONS_SORT,
	MT_OPTIONS_COUNT,
	MT_OPTIONS_ROWS,
	MT_OPTIONS_NAMES,
	MT_OPTIONS_WRAPPER,
	MT_OPTIONS_FORMAT,
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

/* One trace: the heap at --from against the heap at --to. */
static void at_instants(struct mt_arguments *a, struct mt_arguments *b)
{
	const char *from = a->fields[MT_FILTER_FROM], *to = a->fields[MT_FILTER_TO];

	a->fields[MT_FILTER_FROM] = b->fields[MT_FILTER_FROM] = NULL;
	a->fields[MT_FILTER_TO] = b->fields[MT_FILTER_TO] = NULL;
	a->fields[MT_FILTER_ALIVE_AT] = from ? from : "0%";
	b->fields[MT_FILTER_ALIVE_AT] = to ? to : "100%";
	if (!a->sort_given)
		a->sort = b->sort = MT_METRIC_SIZE;
}

static enum mt_diff_normalise normalise_of(const struct mt_arguments *arguments)
{
	if (!arguments->normalise)
		return MT_DIFF_AS_RECORDED;
	return !strcmp(arguments->normalise, "time") ? MT_DIFF_PER_TIME : MT_DIFF_PER_ALLOCATION;
}

/* A group of one recording has another number in the other. */
static int check_group(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_filter *filter = mt_command_filter(arguments, NULL, err);
	bool group = filter && mt_filter_get(filter, MT_FILTER_GROUP);

	mt_filter_free(filter);
	if (!filter)
		return -EINVAL;
	return group ? mt_fail(err, -EINVAL,
		       "--group: the same group has different numbers in two traces; "
		       "select it with --function-regex")
		     : 0;
}

/* How many operands are the first side: those before '--'. */
static int count_of_first(const struct mt_arguments *arguments)
{
	return arguments->program_at > 1 ? arguments->program_at - 1 : 1;
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	int first = count_of_first(arguments);

	if (arguments->operand_count > 2 && arguments->program_at < 2)
		return mt_fail(err, -EINVAL,
			"extra argument '%.100s'; put '--' between the traces of the first side "
			"and those of the second: memtui diff a*.dat -- b*.dat",
			arguments->operands[2]);
	if (arguments->program_at > 1 && first == arguments->operand_count)
		return mt_fail(err, -EINVAL, "missing the traces of the second side, behind '--'");
	if (arguments->operand_count >= 2 && check_group(arguments, err) < 0)
		return -EINVAL;
	if (arguments->operand_count == 1 && arguments->normalise)
		return mt_fail(err, -EINVAL,
			"--normalise: needs two traces; two moments of one trace have "
			"the same run time");
	for (int i = 0; i < arguments->again_count && arguments->operand_count == 1; i++)
		if (arguments->again[i].field == MT_FILTER_FROM
			|| arguments->again[i].field == MT_FILTER_TO)
			return mt_fail(err, -EINVAL,
				"--from and --to: give each once; with one trace they are the "
				"two moments");
	if (arguments->operand_count == 1
		&& (arguments->fields[MT_FILTER_ALIVE_AT]
			|| arguments->fields[MT_FILTER_ALIVE_AT_2]))
		return mt_fail(err, -EINVAL,
			"--alive-at: not with one trace; give the two moments with "
			"--from and --to");
	return 0;
}

/* What only one of the traces has is new or gone; what neither has is a mistake. */
static int check_names(struct mt_opened *a, struct mt_opened *b, struct mt_err *err)
{
	struct mt_filter_bounds bounds = {0};

	mt_filter_allow_absent(a->filter, false);
	mt_filter_allow_absent(b->filter, false);
	int status = 0;

	if (a->set || b->set || !a->recording || !b->recording || a->set_paths || b->set_paths)
		return 0; /* each member was asked */
	status = mt_filter_compile(&bounds, a->filter, a->now->profile, NULL);

	if (status < 0)
		status = mt_filter_compile(&bounds, b->filter, b->now->profile, err);
	mt_filter_bounds_free(&bounds);
	return status;
}

/* Without a word on it all would be new and gone. */
static void say_nameless(const struct mt_opened *a, const struct mt_opened *b, char *const *paths)
{
	struct mt_diff_side side_a = {a->now->profile, a->now->symbols, NULL};
	struct mt_diff_side side_b = {b->now->profile, b->now->symbols, NULL};
	int which;
	char *modules = mt_diff_nameless(&side_a, &side_b, &which);

	if (modules)
		mt_command_say("%s lacks function names of %s that %s has: backtraces "
			       "through it do not match, and show as new and gone; install "
			       "the debug symbols where %s was recorded",
			paths[which], modules, paths[!which], paths[which]);
	free(modules);
}

static int load_side(struct mt_opened *o, const struct mt_arguments *arguments, int at, int count,
	struct mt_err *err)
{
	return count == 1 && !arguments->processes.count
		? mt_opened_load(o, arguments, arguments->operands[at], true, err)
		: mt_opened_load_set(o, arguments, arguments->operands + at, count, true, err);
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments before = *arguments, after = *arguments;
	bool instants = arguments->operand_count == 1;
	int first = count_of_first(arguments);
	struct mt_opened a = {0}, b = {0};

	before.absent_allowed = after.absent_allowed = !instants;
	if (instants)
		at_instants(&before, &after);
	int status = instants
		? mt_opened_load_instants(&a, &before, &b, &after, arguments->operands[0], err)
		: load_side(&a, &before, 0, first, err);

	if (status >= 0 && !instants)
		status = load_side(&b, &after, first, arguments->operand_count - first, err);
	if (status >= 0)
		status = check_names(&a, &b, err);
	if (status >= 0) {
		if (instants && before.sort == MT_METRIC_SIZE)
			a.report.words = "bytes live";
		status = mt_report_diff(&a.report, &b.report, normalise_of(arguments), err);
	}
	if (status >= 0)
		status = mt_command_finish(arguments, err);
	if (status >= 0)
		mt_opened_say_suppressed(&a, &before,
			instants              ? NULL
				: a.set_paths ? a.set_paths
					      : arguments->operands[0]);
	if (status >= 0 && !instants) {
		mt_opened_say_suppressed(&b, &after,
			b.set_paths ? b.set_paths : arguments->operands[first]);
		say_nameless(&a, &b,
			(char *[]){arguments->operands[0], arguments->operands[first]});
	}
	status = mt_opened_verdict(&a, arguments, arguments->operands[0], status);
	if (!instants)
		status = mt_opened_verdict(&b, arguments, arguments->operands[first], status);
	mt_opened_free(&a);
	mt_opened_free(&b);
	return status;
}

const struct mt_command mt_command_diff = {
	.name = "diff",
	.operands = "TRACE|PID [TRACE_B|PID] | TRACES -- TRACES_B",
	.words = "compare two traces, or two moments of one trace",
	.description =
		"Prints the groups whose metric differs: first the groups that "
		"grew, then the groups that shrank (--order asc: these "
		"come first), each with the largest change first. A "
		"group is new if only the second side has its backtrace, and "
		"gone if only the first side has it.\n\nTwo traces are "
		"compared by their totals, by leaked bytes unless --sort says "
		"otherwise. Filters apply to both. Of one trace, the heap at "
		"--from (default: the beginning) is compared with the heap at "
		"--to (default: the end).\n\nTwo backtraces are the same if "
		"their functions and source files are the same; line numbers, "
		"load addresses and builds do not matter. A frame without a "
		"name is matched by its offset if both modules are the same "
		"build, else by its module only; such rows are marked with '?'.",
	.examples = "memtui diff yesterday.dat today.dat\tshow what leaks more "
		    "than before\nmemtui diff --sort at_peak_size --normalise time "
		    "a.dat b.dat\tcompare the peaks of runs of different "
		    "length\nmemtui diff --from 10s --to 60s memtui.dat\tshow how "
		    "the heap grew in these 50 seconds\n",
	.options = options,
	.operands_min = 1,
	.operands_max = -1,
	.takes_set = true,
	.check = check,
	.run = run,
};
