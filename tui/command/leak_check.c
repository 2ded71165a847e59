#include "core/base/wrap.h"
#include "core/export/report_leakcheck.h"
#include "core/query/filter_match.h"
#include "tui/command/commands.h"

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
	{0, "no_copy", NULL, MT_OPTION_FLAG, MT_OPTION_AT(no_copy),
		"read the process itself, whose threads stand still meanwhile, and not a copy of "
		"it",
		NULL},
	{0, "format", "FORMAT", MT_OPTION_FORMAT, MT_OPTION_AT(format),
		"text (the default) or json", "text|json"},
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

static int take_process(const struct mt_arguments *a, pid_t *pid, struct mt_err *err)
{
	char *end = NULL;
	long number = strtol(a->operands[0], &end, 10);

	*pid = (pid_t)number;
	if (number > 0 && number < 1 << 30 && !*end)
		return 0;
	return mt_fail(err, -EINVAL,
		"invalid process '%.60s'; give the number of a process that is being recorded",
		a->operands[0]);
}

static int check(const struct mt_arguments *arguments, struct mt_err *err)
{
	bool shown[MT_VERDICT_COUNT];
	pid_t pid;

	if (take_process(arguments, &pid, err) < 0)
		return err->code;
	return take_verdicts(arguments, shown, err);
}

/* ---- the check ------------------------------------------------------------------------------- */

static int take_moment(void *context, struct mt_err *err)
{
	uint64_t moment_ns;
	int status = mt_recording_take_live(context, &moment_ns, NULL, err);

	return status == -ENODATA
		? mt_fail(err, status, "the process has not allocated anything yet")
		: status;
}

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

static int judge(struct mt_leakcheck *c, const struct mt_arguments *a, struct mt_recording *r,
	struct mt_err *err)
{
	struct mt_source source = {.profile = r->now.profile,
		.symbols = r->now.symbols,
		.reader = r->now.reader};
	bool *known, shown[MT_VERDICT_COUNT];
	int status = mt_leakcheck_add_live(c, &source, err);

	if (status < 0)
		return status;
	mt_leakcheck_run(c, mt_info_begins_within(&r->now.profile->info));
	mt_recording_await_names(r);
	status = find_known(&known, a, &r->now, err);
	if (status < 0)
		return status;
	mt_leakcheck_sum_up(c, known, r->now.profile->group_count);
	free(known);
	take_verdicts(a, shown, err);

	struct mt_report report = {
		.out = mt_command_out(a),
		.format = a->format,
		.exact = a->exact,
		.profile = r->now.profile,
		.symbols = r->now.symbols,
		.count = a->count || a->format != MT_FORMAT_TEXT ? a->count : TEXT_GROUPS,
		.short_names = a->short_names || isatty(STDOUT_FILENO),
		.width = mt_wrap_columns(STDOUT_FILENO),
	};

	mt_report_leakcheck(&report, c, shown);
	return mt_command_finish(a, err);
}

static int check_process(const struct mt_arguments *a, pid_t pid, const char *session,
	pid_t process, struct mt_err *err)
{
	struct mt_leakcheck c = {0};
	struct mt_err trouble = {0};
	struct mt_recording *r = mt_recording_attach(session, process, err);
	int status;

	if (!r)
		return err->code;
	bool attached = r->now.profile->info.origin == MT_ORIGIN_ATTACHED;

	status = mt_still_take(&c.still, pid,
		(a->no_copy ? MT_STILL_NO_COPY : 0) | (attached ? MT_STILL_ATTACHED : 0),
		take_moment, r, err);
	if (status >= 0) {
		status = judge(&c, a, r, err);
		if (mt_still_release(&c.still, &trouble) < 0)
			mt_command_say("%s", trouble.text);
	}
	mt_leakcheck_free(&c);
	mt_recording_free(r);
	return status;
}

static int run(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_session_entry *entries = NULL;
	int count = mt_session_list(&entries, err), status = count;
	const struct mt_session_entry *entry;
	pid_t pid, process;

	take_process(arguments, &pid, err);
	if (count < 0)
		return count;
	entry = mt_command_recording_of(entries, count, pid, &process);
	if (!entry)
		status = mt_fail(err, -ESRCH,
			"process %d is not being recorded, so nobody knows its blocks; 'memtui "
			"record -p %d' begins a recording",
			(int)pid, (int)pid);
	else
		status = check_process(arguments, process ? process : entry->program, entry->name,
			process, err);
	free(entries);
	return status;
}

const struct mt_command mt_command_leak_check = {
	.name = "leak-check",
	.operands = "PID",
	.words = "find the blocks to which a running process has lost all pointers",
	.description =
		"Looks for pointers to each block that lives, in the registers, stacks and data of "
		"a process that is being recorded, and in the blocks that these lead to. The "
		"verdicts are valgrind's: definitely lost (no pointer is left), indirectly lost "
		"(only lost blocks point to it), possibly lost (only pointers into its middle are "
		"left), and still reachable.\n\n"
		"The threads of the process stand still for some milliseconds while a copy of "
		"the process is made; the copy is what is looked at, and it is gone when the "
		"command ends. The output says for how long. Where a copy is not possible, or with "
		"--no-copy, the threads stand still until the check is done.\n\n"
		"If memtui was attached to the process, only blocks that were allocated since then "
		"are judged. Numbers have a ~ if events were lost.",
	.examples = "memtui leak-check $(pidof server)\tshow what the server has lost\n"
		    "memtui leak-check --show all --format json 4711\tshow all groups, for a "
		    "script\n",
	.options = options,
	.operands_min = 1,
	.operands_max = 1,
	.check = check,
	.run = run,
};
