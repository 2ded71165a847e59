/* Which suppressions a command applies, and memtui suppress, which writes some. */
#include "tui/command/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void say_faults(const struct mt_suppressions *rules, uint32_t from)
{
	uint32_t count = mt_suppressions_fault_count(rules);
	const char *fault;

	for (; from < count && (fault = mt_suppressions_fault(rules, from)); from++)
		mt_command_say("%s; ignored", fault);
	if (from < count)
		mt_command_say("%u more invalid lines ignored", count - from);
}

int mt_command_check_suppressions(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_suppressions *rules;
	int status = mt_command_suppressions(&rules, arguments, err);

	if (rules)
		say_faults(rules, 0);
	mt_suppressions_free(rules);
	return status;
}

int mt_command_suppressions(struct mt_suppressions **rules, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	*rules = NULL;
	if (!arguments->applies_suppressions)
		return 0;
	*rules = mt_suppressions_new();
	for (int i = 0; i < arguments->suppressions.count; i++) {
		int status = mt_suppressions_read(*rules, arguments->suppressions.items[i], err);

		if (status < 0) {
			mt_suppressions_free(*rules);
			*rules = NULL;
			return status;
		}
	}
	return 0;
}

void mt_command_own_suppressions(struct mt_suppressions *rules,
	const struct mt_arguments *arguments, const struct mt_symbols *symbols)
{
	struct mt_err err = {0};
	uint32_t faults = rules ? mt_suppressions_fault_count(rules) : 0;

	if (!rules || arguments->no_builtin_suppressions)
		return;
	if (symbols->embedded == MT_EMBEDDED_UNREADABLE && arguments->names_suppressed)
		mt_command_say("the program's own suppressions cannot be read, because its "
			       "__lsan_default_suppressions() does more than return a text; give "
			       "them with "
			       "--suppressions");
	else if (mt_suppressions_add_own(rules, symbols, &err) < 0)
		mt_command_say("the program's own suppressions are ignored: %s", err.text);
	say_faults(rules, faults);
	mt_suppressions_add_builtin(rules);
}

/* ---- memtui suppress ---- */

static const struct mt_option options[] = {
	{0, "as", "SYNTAX", MT_OPTION_CHOICE, MT_OPTION_AT(what), "valgrind (the default) or lsan",
		"valgrind|lsan"},
	MT_OPTIONS_SUPPRESS,
	MT_OPTIONS_WRAPPER,
	MT_OPTIONS_FILTER,
	MT_OPTIONS_READING,
	MT_OPTIONS_HELP,
	MT_OPTIONS_END,
};

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_arguments own = *arguments;

	own.names_suppressed = own.for_programs = true;
	return mt_command_view(&own, mt_report_suppressions, true, err);
}

const struct mt_command mt_command_suppress = {
	.name = "suppress",
	.operands = "TRACE|PID",
	.words = "write suppressions for leaks",
	.description = "Writes a suppression for every group that leaks and that the filters "
		       "select. --suppressions reads them back and hides these groups.\n\nIn "
		       "valgrind's syntax a rule names the functions of the backtrace up to main, "
		       "so it matches only groups with the same functions; if a frame has no name, "
		       "the rule names its module. In LeakSanitizer's syntax a rule names one "
		       "function: memtui takes the function that the fewest other leaks share, and "
		       "adds a comment with their number. Leaks that are already suppressed get no "
		       "rule.",
	.examples = "memtui suppress memtui.dat >known.supp\tsuppress all present leaks\nmemtui "
		    "suppress --group 12 memtui.dat >>known.supp\tsuppress one more "
		    "group\nmemtui suppress --as lsan --module-regex libfont "
		    "memtui.dat\tsuppress the leaks of a library, also for LeakSanitizer\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
