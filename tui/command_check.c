#include "tui/commands.h"

static const struct mt_option options[] = {
	{0, "max_leaked", "SIZE", MT_OPTION_LIMIT_SIZE, MT_OPTION_AT(check.limits[MT_CHECK_LEAKED]),
		"at most this much may leak; 0 when no limit is given", NULL},
	{0, "max_leaked_count", "N", MT_OPTION_LIMIT_COUNT, MT_OPTION_AT(check.limits[MT_CHECK_LEAKED_COUNT]),
		"at most so many blocks may leak", NULL},
	{0, "max_peak", "SIZE", MT_OPTION_LIMIT_SIZE, MT_OPTION_AT(check.limits[MT_CHECK_PEAK]),
		"the peak may be at most this much", NULL},
	{0, "max_allocations", "N", MT_OPTION_LIMIT_COUNT, MT_OPTION_AT(check.limits[MT_CHECK_ALLOCATIONS]),
		"at most so many allocations", NULL},
	{0, "max_allocated", "SIZE", MT_OPTION_LIMIT_SIZE, MT_OPTION_AT(check.limits[MT_CHECK_ALLOCATED]),
		"at most this much may be allocated in all", NULL},
	{0, "max_temporary", "N", MT_OPTION_LIMIT_COUNT, MT_OPTION_AT(check.limits[MT_CHECK_TEMPORARY]),
		"at most so many blocks may be freed before the thread's next allocation", NULL},
	{0, "allow_incomplete", NULL, MT_OPTION_FLAG, MT_OPTION_AT(check.allow_incomplete),
		"judge by what is there when a trace has no end or lost events", NULL},
	{'n', "top", "N", MT_OPTION_NUMBER, MT_OPTION_AT(top), "show N leaks, 5 by default", NULL},
	MT_OPTIONS_SUPPRESS,
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format), "text (the default) or json", "text|json"},
	MT_OPTIONS_EXACT,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.judges_leaks = true;
	own.count = arguments->top;
	own.history = arguments->check.limits[MT_CHECK_PEAK].given || arguments->check.limits[MT_CHECK_ALLOCATIONS].given;
	return mt_command_view(&own, mt_report_check, true, err);
}

const struct mt_command mt_command_check = {
	.name = "check",
	.operands = "TRACE",
	.words = "fail when a run leaks or allocates more than it may",
	.description = "Compares a run with limits, for build servers. The exit status is 0 when all limits hold, 1 when one does not, "
		"2 when the question is not understood. Without any limit nothing may leak.\n\n"
		"A line per limit begins with PASS, FAIL or UNKNOWN; then come what was suppressed, the largest leaks with the "
		"program's own frame, and what to run next. UNKNOWN is said where a limit may hold or not: the trace has no end, events "
		"were lost, or frames have no names that a suppression might mean. It counts as failed; with --allow-incomplete the "
		"trace is judged by what is in it.\n\n"
		"Suppressions act on leaks alone: peaks and allocations are those of everything. In valgrind's files the kind of a "
		"leak (match-leak-kinds) does not matter, unless it is none: memtui does not look whether a block can still be reached.",
	.examples = "memtui check memtui.dat\tnothing may leak\n"
		"memtui check --max-leaked 1M --max-peak 64M memtui.dat\tlimits on leaks and peak\n"
		"memtui check --suppressions known.supp memtui.dat\tno leak that is not known\n"
		"memtui check --format json memtui.dat\tfor a script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
