/* A trace as a view's command sees it: loaded, filtered, without the leaks that are suppressed. */
#include "core/base/wrap.h"
#include "core/query/filter_match.h"
#include "core/query/lost.h"
#include "tui/command/commands.h"

#include "core/export/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int finish_output(FILE *out, const char *name, struct mt_err *err)
{
	if (!fflush(out) && !ferror(out))
		return 0;
	int code = errno ? errno : EIO;

	return mt_fail(err, -code, "cannot write the result to %s: %s", name, strerror(code));
}

FILE *mt_command_out(const struct mt_arguments *arguments)
{
	static FILE *lines;
	uint32_t columns = mt_wrap_columns(STDOUT_FILENO);

	if (arguments->out)
		return arguments->out;
	if (!columns || arguments->format != MT_FORMAT_TEXT || arguments->kind
		|| arguments->for_programs)
		return stdout;
	if (!lines)
		lines = mt_wrap_open(stdout, columns);
	return lines ? lines : stdout;
}

int mt_command_finish(const struct mt_arguments *arguments, struct mt_err *err)
{
	fflush(mt_command_out(arguments));
	return finish_output(arguments->out ? arguments->out : stdout,
		arguments->out ? arguments->output : "standard output", err);
}

static int match_progress(void *context, double fraction)
{
	(void)context;
	mt_command_progress("reading events", fraction < 1 ? fraction : -1);
	return 0;
}

/* Suppressions take leaks off what is shown and off the whole, so that both agree. */
static void judge(struct mt_opened *o, const struct mt_arguments *arguments)
{
	const struct mt_profile *whole = o->now->profile, *matched = &o->matched.profile;

	if (arguments->check.leak_check && whole->verdicts) {
		mt_lost_keep(&o->lost_whole, whole);
		mt_lost_keep(&o->lost, matched);
		whole = &o->lost_whole;
		matched = &o->lost;
	}
	mt_command_own_suppressions(o->rules, arguments, o->now->symbols);
	if (o->matched.own)
		mt_suppress(&o->suppressed_whole, o->rules, whole, o->now->symbols);
	mt_suppress(&o->suppressed, o->rules, matched, o->now->symbols);
	o->judged = true;
}

static const char *what_is_missing(const struct mt_opened *o, const struct mt_arguments *arguments,
	bool lifetimes)
{
	if (lifetimes && !o->matched.unanswered_ns)
		return "lifetimes are left out; totals are those of the whole run";
	if (o->matched.unanswered_ns)
		return "blocks freed before that time cannot match";
	if (arguments->stacked)
		return "blocks freed before that time count as others";
	return "blocks freed before that time are missing; 'memtui info' and 'memtui "
	       "groups' without filters have the totals of the whole run";
}

/* Single allocations were asked for, by a filter or by the view, and --max-size took the oldest of
 * them away. */
static void say_unanswered(const struct mt_opened *o, const struct mt_arguments *arguments,
	const char *path)
{
	bool lifetimes = arguments->kind && !strcmp(arguments->kind->name, "dhat");
	uint64_t from_ns = arguments->events || lifetimes
		? o->now->profile->info.history_from_ns
		: o->matched.unanswered_ns;
	char when[MT_NUMBER_LEN];

	if (!from_ns)
		return;
	mt_number_time(when, from_ns);
	mt_command_say("the events of the first %s of %s were dropped (--max-size): %s", when, path,
		what_is_missing(o, arguments, lifetimes));
}

static struct mt_report report_on(struct mt_opened *o, const struct mt_arguments *arguments)
{
	/* On a terminal names are short and lines do not wrap; a pipe or a file gets them whole. */
	int fd = fileno(arguments->out ? arguments->out : stdout);

	return (struct mt_report){
		.out = mt_command_out(arguments),
		.output = arguments->output,
		.threshold = arguments->threshold.given ? arguments->threshold.value : 1,
		.min_percent = arguments->min_percent.given ? arguments->min_percent.value
							    : MT_PERCENT_OF_TREE,
		.format = arguments->format,
		.exact = arguments->exact,
		.profile = o->judged ? &o->suppressed.profile : &o->matched.profile,
		.whole = !o->judged      ? o->now->profile
			: o->matched.own ? &o->suppressed_whole.profile
					 : &o->suppressed.profile,
		.matched = &o->matched,
		.source = &o->source,
		.asked = o->filter,
		.symbols = o->now->symbols,
		.sort = arguments->sort,
		.sort_matched = arguments->sort_matched,
		.ascending = arguments->ascending,
		.skip = arguments->skip,
		.count = arguments->count,
		.facts = o->set ? o->set_facts : mt_recording_facts(o->recording),
		.inverted = arguments->inverted,
		.what = arguments->what,
		.levels = (uint32_t)arguments->levels,
		.by = arguments->by && (arguments->of_rows || arguments->stacked)
			? (enum mt_rows_by)mt_rows_by_find(arguments->by)
			: MT_ROWS_BY_BACKTRACE,
		.top = (uint32_t)arguments->stacked,
		.by_count = arguments->metric && !strcmp(arguments->metric, "count"),
		.function = arguments->function,
		.allocation_order = arguments->allocation_order,
		.histogram = arguments->histogram && !strcmp(arguments->histogram, "lifetime")
			? MT_HISTOGRAM_LIFETIME
			: MT_HISTOGRAM_SIZE,
		.short_names = arguments->short_names || isatty(fd),
		.width = mt_wrap_columns(fd),
		.path = o->set_paths ? o->set_paths : arguments->operands[0],
		.suppressions = o->rules,
		.suppressed = o->judged || (o->set && o->rules) ? &o->suppressed : NULL,
		.set = o->set,
		.unread = o->set_unread,
		.check = &arguments->check,
		.columns = (uint32_t)arguments->columns,
	};
}

static void adjust_filter(struct mt_opened *o, const struct mt_arguments *arguments)
{
	mt_filter_allow_absent(o->filter, arguments->absent_allowed);
	if (arguments->of_set)
		mt_filter_leave_totals(o->filter);
}

int mt_opened_read_filter(struct mt_opened *o, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	*o = (struct mt_opened){.filter = mt_command_filter(arguments, NULL, err),
		.wrappers = mt_command_wrappers(arguments, err)};
	if (!o->filter || !o->wrappers || mt_command_suppressions(&o->rules, arguments, err) < 0)
		return -EINVAL;
	adjust_filter(o, arguments);
	return 0;
}

/* Only the recording says which of its words are columns. */
int mt_opened_reread_filter(struct mt_opened *o, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	if (!o->now->profile->column_count && !mt_filter_pass_over(o->filter))
		return 0;
	mt_filter_free(o->filter);
	o->filter = mt_command_filter(arguments, o->now->profile, err);
	if (!o->filter)
		return -EBADRQC;
	adjust_filter(o, arguments);
	return 0;
}

static struct mt_source source_of(const struct mt_opened *o)
{
	return (struct mt_source){
		.profile = o->now->profile,
		.symbols = o->now->symbols,
		.reader = o->now->reader,
		.progress = match_progress,
	};
}

static int load(struct mt_opened *o, const struct mt_arguments *arguments, const char *path,
	bool symbols, struct mt_err *err)
{
	bool active = mt_filter_active(o->filter);
	bool names = symbols || o->rules || active;
	struct mt_open_options wanted = {
		.memory_max = arguments->max_memory,
		.events = !arguments->of_log
			&& (arguments->events || mt_filter_needs(o->filter)
				|| (arguments->history && active)),
		.progress = mt_command_tell,
	};

	o->recording = mt_command_open_recording(path, &wanted, names, err);
	if (!o->recording)
		return err->code;
	o->now = &o->recording->now;
	if (mt_opened_reread_filter(o, arguments, err) < 0)
		return -EBADRQC;
	/* info: what the trace holds is its question */
	if (arguments->strict || (!symbols && !arguments->unverified))
		mt_command_verify(o->recording, path, arguments->strict);
	if (!arguments->of_set) /* a set's names are judged together */
		mt_wrappers_judge(o->wrappers, mt_recording_change_symbols(o->recording));
	o->source = source_of(o);
	return 0;
}

int mt_command_check_sums(const struct mt_export_kind *kind, const struct mt_profile *profile,
	enum mt_metric metric, struct mt_err *err)
{
	if (kind->metrics != MT_EXPORT_SUMS || mt_metric_sums(profile, metric))
		return 0;
	return mt_fail(err, -EBADRQC,
		"%s cannot be summed over backtraces, as %s needs; choose "
		"leaked_size, size or allocated_count, for example",
		mt_metric_info(profile, metric)->name, kind->name);
}

/* What was found is ready to be shown. */
int mt_opened_conclude(struct mt_opened *o, const struct mt_arguments *arguments,
	struct mt_err *err)
{
	if (o->rules && !o->set) /* of a set each member was judged by itself */
		judge(o, arguments);
	o->report = report_on(o, arguments);
	if (!arguments->sort_name)
		return 0;
	int status = mt_options_metric(&o->report.sort, o->now->profile, arguments->sort_name, err);

	return status < 0 || !arguments->kind
		? status
		: mt_command_check_sums(arguments->kind, o->now->profile, o->report.sort, err);
}

int mt_opened_load(struct mt_opened *o, const struct mt_arguments *arguments, const char *path,
	bool symbols, struct mt_err *err)
{
	int status = mt_opened_read_filter(o, arguments, err);

	if (status < 0)
		return status;
	status = load(o, arguments, path, symbols, err);
	/* The report asks the filter, and nobody wants to know what it leaves of the groups. */
	bool leaks = status >= 0 && arguments->of_blocks && mt_filter_is_for_leaks(o->filter);

	if (status >= 0)
		status = mt_match(&o->matched, &o->source,
			arguments->of_log || leaks ? NULL : o->filter,
			arguments->history ? MT_MATCH_HISTORY : 0, err);
	mt_command_progress(NULL, -1);
	if (status < 0)
		return status;
	if (leaks)
		o->matched.unanswered_ns = o->now->profile->info.history_from_ns;
	say_unanswered(o, arguments, path);
	return mt_opened_conclude(o, arguments, err);
}

int mt_opened_take(struct mt_opened *o, const struct mt_arguments *arguments,
	struct mt_recording *recording, struct mt_err *err)
{
	int status = mt_opened_read_filter(o, arguments, err);

	o->recording = recording;
	if (status < 0)
		return status;
	o->now = &o->recording->now;
	if (mt_opened_reread_filter(o, arguments, err) < 0)
		return -EBADRQC;
	mt_wrappers_judge(o->wrappers, mt_recording_change_symbols(o->recording));
	o->source = source_of(o);
	status = mt_match(&o->matched, &o->source, o->filter, 0, err);
	return status < 0 ? status : mt_opened_conclude(o, arguments, err);
}

int mt_opened_load_instants(struct mt_opened *a, const struct mt_arguments *before,
	struct mt_opened *b, const struct mt_arguments *after, const char *path, struct mt_err *err)
{
	int status = mt_opened_read_filter(a, before, err);

	if (status >= 0)
		status = mt_opened_read_filter(b, after, err);
	if (status >= 0)
		status = load(a, before, path, true, err);
	b->recording = a->recording;
	b->now = a->now;
	b->source = a->source;
	b->borrowed = true;
	if (status >= 0 && mt_opened_reread_filter(b, after, err) < 0)
		status = -EBADRQC;
	if (status >= 0)
		status = mt_match_several((struct mt_matched *[]){&a->matched, &b->matched},
			&a->source, (struct mt_filter *[]){a->filter, b->filter}, 2,
			before->history ? MT_MATCH_HISTORY : 0, err);
	mt_command_progress(NULL, -1);
	if (status < 0)
		return status;
	say_unanswered(a, before, path);
	status = mt_opened_conclude(a, before, err);
	return status < 0 ? status : mt_opened_conclude(b, after, err);
}

int mt_opened_verdict(const struct mt_opened *o, const struct mt_arguments *arguments,
	const char *path, int status)
{
	if (status < 0 || (!arguments->strict && !o->set && !o->set_status))
		return status;
	if (o->set || o->set_status)
		return status ? status : o->set_status;
	struct mt_facts facts = mt_recording_facts(o->recording);

	if (!facts.damaged && !facts.damaged_at && mt_info_is_whole(&o->now->profile->info))
		return status;
	mt_command_say("%s: damaged or incomplete; status 1 because of --strict", path);
	return status ? status : 1;
}

void mt_opened_free(struct mt_opened *o)
{
	mt_suppressed_free(&o->suppressed);
	mt_suppressed_free(&o->suppressed_whole);
	mt_lost_free(&o->lost);
	mt_lost_free(&o->lost_whole);
	mt_suppressions_free(o->rules);
	mt_matched_free(&o->matched);
	if (!o->borrowed)
		mt_recording_free(o->recording);
	mt_set_free(o->set);
	free(o->set_paths);
	mt_wrappers_free(o->wrappers);
	mt_filter_free(o->filter);
}

void mt_opened_say_suppressed(const struct mt_opened *o, const struct mt_arguments *arguments,
	const char *path)
{
	char bytes[MT_NUMBER_EXACT_LEN], blocks[MT_NUMBER_EXACT_LEN], rules[MT_NUMBER_OF_LEN];

	mt_number_exact(bytes, o->suppressed.all_bytes);
	mt_number_exact(blocks, o->suppressed.all_blocks);
	if (o->suppressed.all_blocks && !arguments->names_suppressed)
		mt_command_say("%s%ssuppressed: %s %s in %s %s by %s; these leaks are hidden "
			       "(--no-builtin-suppressions shows all)",
			path ? path : "", path ? ": " : "", bytes, MT_PLURAL(bytes, "byte"), blocks,
			MT_PLURAL(blocks, "block"),
			mt_number_of(rules, o->suppressed.rules_used, "rule"));
}

int mt_command_view(const struct mt_arguments *arguments,
	int (*report)(const struct mt_report *, struct mt_err *), bool symbols, struct mt_err *err)
{
	struct mt_opened opened;
	int written = 0;
	int status = mt_opened_load_operands(&opened, arguments, 0, symbols, err);

	if (status >= 0)
		status = report(&opened.report, err);
	if (status >= 0)
		written = mt_command_finish(arguments, err);
	if (status >= 0 && written >= 0)
		mt_opened_say_suppressed(&opened, arguments, NULL);
	status = mt_opened_verdict(&opened, arguments, arguments->operands[0], status);
	mt_opened_free(&opened);
	return written < 0 ? written : status;
}
