/* Several recordings as a view's command sees them: each opened, asked and freed, one after the
 * other (doc/sets.md). */
#include "core/query/filter_match.h"
#include "tui/command/commands.h"
#include "tui/command/environment.h"

#include "core/base/proc.h"
#include "core/export/number.h"
#include "core/model/load.h"
#include "core/set/open.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NAMES_SAID 8 /* where none is the one that is asked for */

/* ---- the time axis ---- */

static uint64_t now_unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void find_axis(struct mt_set_options *set, char *const *paths, int count)
{
	pid_t pid;

	mt_set_find_axis(set, paths, (uint32_t)count);
	for (int i = 0; i < count; i++)
		if (mt_command_is_process(paths[i], &pid))
			set->end_unix_ns = now_unix_ns();
}

/* ---- which of them ---- */

/* Of a process that runs, or a trace that is not loaded yet. */
static bool find_name(const char *path, char name[256], uint32_t *pid)
{
	struct mt_err ignored = {0};
	pid_t process;

	if (mt_command_is_process(path, &process)) {
		char file[512];

		mt_proc_executed(process, file, sizeof file);
		snprintf(name, 256, "%s", mt_base_name(file));
		*pid = (uint32_t)process;
		return true;
	}
	struct mt_trace_reader *reader = mt_trace_reader_open(path, &ignored);
	struct mt_profile p = {0};
	bool known = reader && mt_profile_peek(&p, reader, &ignored) >= 0;

	if (known) {
		snprintf(name, 256, "%s", mt_set_program_name(&p));
		*pid = p.info.pid;
	}
	mt_profile_free(&p);
	mt_trace_reader_free(reader);
	return known;
}

static bool is_chosen(const struct mt_texts *wanted, const char *name, uint32_t pid)
{
	for (int i = 0; i < wanted->count; i++) {
		char *end;
		unsigned long number = strtoul(wanted->items[i], &end, 10);

		if (*end ? !fnmatch(wanted->items[i], name, 0) : number == pid)
			return true;
	}
	return false;
}

/* Whether a file was given before, perhaps by another name. */
struct seen {
	struct stat *files;
	int count;
};
static bool is_again(struct seen *seen, const char *path)
{
	struct stat *st = &seen->files[seen->count];

	if (stat(path, st) || !S_ISREG(st->st_mode))
		return false;
	for (int i = 0; i < seen->count; i++)
		if (seen->files[i].st_ino == st->st_ino && seen->files[i].st_dev == st->st_dev)
			return true;
	seen->count++;
	return false;
}

char **mt_command_choose_processes(const struct mt_arguments *arguments, char *const *paths,
	int *count, struct mt_err *err)
{
	char **chosen = mt_alloc(((size_t)*count + 1) * sizeof *chosen);
	const struct mt_texts *wanted = &arguments->processes;
	struct seen seen = {mt_alloc(((size_t)*count + 1) * sizeof *seen.files), 0};
	struct mt_strings names;
	int kept = 0;

	mt_strings_init(&names);
	for (int i = 0; i < *count; i++) {
		char name[256];
		uint32_t pid;

		if (is_again(&seen, paths[i])) {
			mt_command_say("%s: given more than once; it counts once", paths[i]);
			continue;
		}
		if (wanted->count && find_name(paths[i], name, &pid)) {
			mt_strings_add(&names, name);
			if (!is_chosen(wanted, name, pid))
				continue;
		} else if (wanted->count) {
			mt_command_say("%s: left out, since what it is of is known only when it "
				       "is read",
				paths[i]);
			continue;
		}
		chosen[kept++] = paths[i];
	}
	if (!kept) {
		struct mt_buffer list = {0};

		for (uint32_t i = 1; i < names.count && i <= NAMES_SAID; i++)
			mt_buffer_printf(&list, "%s%s", i > 1 ? ", " : "",
				mt_strings_get(&names, i));
		mt_fail(err, -ESRCH, "--process: no recording of '%s'; the programs are: %s%s",
			wanted->items[0], list.len ? (const char *)list.data : "not known",
			names.count > NAMES_SAID + 1 ? " and others" : "");
		mt_buffer_free(&list);
		free(chosen);
		chosen = NULL;
	}
	*count = kept;
	free(seen.files);
	mt_strings_free(&names);
	return chosen;
}

/* ---- members ---- */

/* What a member had suppressed: sums alone, since its groups are others. */
static void add_suppressed(struct mt_suppressed *to, const struct mt_suppressed *from)
{
	to->all_blocks += from->all_blocks;
	to->all_bytes += from->all_bytes;
	if (from->rules_used > to->rules_used)
		to->rules_used = from->rules_used;
	to->undecided_groups += from->undecided_groups;
	to->undecided_blocks += from->undecided_blocks;
	to->undecided_bytes += from->undecided_bytes;
}

/* A thread or marker that the filter names. */
static bool names_are_there(struct mt_opened *member)
{
	struct mt_filter_bounds bounds = {0};

	mt_filter_allow_absent(member->filter, false);
	bool there = mt_filter_compile(&bounds, member->filter, member->now->profile, NULL) >= 0;

	mt_filter_bounds_free(&bounds);
	return there;
}

static int add_member(struct mt_opened *o, const struct mt_arguments *arguments, const char *path,
	bool symbols, struct mt_err *err)
{
	struct mt_opened member = {0};
	int status = mt_opened_load(&member, arguments, path, symbols, err);

	if (status >= 0) {
		mt_set_add(o->set,
			&(struct mt_set_part){
				.path = path,
				.whole = member.report.whole,
				.matched = member.report.profile,
				.symbols = symbols ? member.now->symbols : NULL,
			});
		add_suppressed(&o->suppressed, &member.suppressed);
		o->set_answers |= names_are_there(&member);
		if (member.matched.unanswered_ns > o->set_unanswered_ns)
			o->set_unanswered_ns = member.matched.unanswered_ns;
		o->set_facts.running |= member.report.facts.running;
		o->set_facts.damaged |= member.report.facts.damaged;
		o->set_status |= mt_opened_verdict(&member, arguments, path, 0);
	}
	mt_opened_free(&member);
	return status;
}

/* One that cannot be read is said, and left out. */
static int add_members(struct mt_opened *o, const struct mt_arguments *arguments,
	char *const *paths, int count, bool symbols, struct mt_err *err)
{
	struct mt_err said = {0};

	for (int i = 0; i < count; i++) {
		struct mt_err one = {0};
		int status = add_member(o, arguments, paths[i], symbols, &one);

		if (status < 0 && count == 1) {
			*err = one;
			return status;
		}
		if (status >= 0)
			continue;
		/* What is wrong with the question is the same for all. */
		if (strcmp(one.text, said.text) != 0)
			mt_command_say("%s", one.text);
		said = one;
		o->set_status = 1;
		o->set_unread++;
	}
	if (!mt_set_count(o->set))
		return mt_fail(err, -ENODATA, "none of the recordings could be read");
	if (!o->set_answers && !arguments->absent_in_set)
		return mt_fail(err, -EINVAL,
			"none of the recordings has the thread or marker that the filter names");
	return 0;
}

/* ---- the filter ---- */

static void ask_nothing(struct mt_arguments *arguments)
{
	for (int i = 0; i < MT_FILTER_COUNT; i++)
		arguments->fields[i] = NULL;
	arguments->again_count = arguments->filter_texts.count = 0;
	arguments->ignore = NULL;
}

/* What the filter asks of totals, it asks of the sums over all members. divided: these are divided
 * by time or by process, so that the sums of groups are not there. */
static int keep_totals(struct mt_opened *o, bool divided, struct mt_err *err)
{
	const struct mt_profile *whole = mt_set_whole(o->set);
	uint8_t *keep = mt_resize(NULL, (size_t)whole->group_count + 1);

	memset(keep, 1, (size_t)whole->group_count + 1);
	int status = mt_filter_match_totals(o->filter, whole, keep, err);

	if (status >= 0 && mt_filter_asks_totals(o->filter) && divided)
		status = mt_fail(err, -EINVAL,
			"a filter by the totals of groups cannot be asked of several recordings "
			"over time, or of their processes; ask each recording by itself");
	else if (status >= 0 && memchr(keep, 0, whole->group_count))
		mt_set_keep(o->set, keep);
	free(keep);
	return status;
}

/* ---- all ---- */

static enum mt_set_stacks stacks_of(const struct mt_arguments *arguments)
{
	bool by_process = arguments->by && mt_rows_by_find(arguments->by) == MT_ROWS_BY_PROCESS;

	return !by_process           ? MT_SET_STACKS
		: arguments->of_rows ? MT_SET_PROCESSES
				     : MT_SET_BELOW_PROCESSES;
}

/* For a person: as they are if they are few. */
static char *paths_text(char *const *paths, int count)
{
	struct mt_buffer text = {0};

	for (int i = 0; i < count && count <= 3; i++)
		mt_buffer_printf(&text, "%s%s", i ? " " : "", paths[i]);
	if (count > 3)
		mt_buffer_printf(&text, "TRACES");
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}

static void take_all(struct mt_opened *o)
{
	const struct mt_profile *matched = mt_set_matched(o->set);

	o->matched = (struct mt_matched){
		.profile = *matched,
		.history = true,
		.to_ns = matched->info.wall_ns,
		.heap_peak_bytes = mt_set_whole(o->set)->info.peak_bytes,
		.heap_peak_ns = mt_set_whole(o->set)->info.peak_ns,
		.unanswered_ns = o->set_unanswered_ns,
	};
}

/* The set is complete: what is left of the filter is asked of it. */
static int match_set(struct mt_opened *o, const struct mt_arguments *arguments, bool by_members,
	struct mt_err *err)
{
	mt_set_finish(o->set);
	o->set_now = (struct mt_generation){.profile = mt_set_whole(o->set),
		.symbols = mt_set_symbols(o->set)};
	o->now = &o->set_now;
	o->source = (struct mt_source){.profile = o->now->profile, .symbols = o->now->symbols};
	mt_wrappers_judge(o->wrappers, mt_set_symbols(o->set));
	if (mt_set_columns_dropped(o->set))
		mt_command_say(
			"columns that some of the recordings lack (those of a leak check, for "
			"example) are left out");
	int status = mt_opened_reread_filter(o, arguments, err);

	if (status >= 0 && by_members)
		status = keep_totals(o,
			arguments->history || stacks_of(arguments) == MT_SET_PROCESSES, err);
	if (status >= 0 && !by_members && mt_filter_active(o->filter))
		return mt_match(&o->matched, &o->source, o->filter, 0, err);
	if (status >= 0)
		take_all(o);
	return status;
}

static int load_chosen(struct mt_opened *o, const struct mt_arguments *arguments,
	char *const *paths, int count, bool symbols, struct mt_err *err)
{
	struct mt_arguments member = *arguments;
	struct mt_set_options options = {.stacks = stacks_of(arguments)};
	int status = mt_opened_read_filter(o, arguments, err);

	if (status < 0)
		return status;
	if (arguments->events)
		return mt_fail(err, -EINVAL,
			"this view goes over single blocks, and each recording has its own; give "
			"one recording");
	/* Names are the same for all, so a filter by names is asked once; by what is single, of
	 * each member. */
	bool active = mt_filter_active(o->filter);
	bool by_members = active
		&& (mt_filter_needs(o->filter) || arguments->history || arguments->each_member
			|| options.stacks == MT_SET_PROCESSES);

	options.filtered = by_members;
	member.of_set = member.absent_allowed = true;
	member.absent_in_set = arguments->absent_allowed;
	member.sort_name = NULL;
	member.names_suppressed = true;
	if (!by_members)
		ask_nothing(&member);
	find_axis(&options, paths, count);
	o->set_paths = paths_text(paths, count);
	o->set = mt_set_new(&options);
	o->set_facts.source = &mt_trace_facts;
	status = add_members(o, &member, paths, count, symbols || active, err);
	if (status >= 0)
		status = match_set(o, arguments, by_members, err);
	return status < 0 ? status : mt_opened_conclude(o, arguments, err);
}

/* ---- at once ---- */

/* Whether nothing is asked of a member that the set could not be asked. */
static bool is_simple(const struct mt_arguments *arguments, char *const *paths, int count)
{
	pid_t pid;

	if (arguments->each_member || arguments->strict || arguments->events
		|| stacks_of(arguments) == MT_SET_PROCESSES)
		return false;
	for (int i = 0; i < count; i++)
		if (!strcmp(paths[i], "-") || mt_command_is_process(paths[i], &pid))
			return false;
	return true;
}

/* As a screen opens them: several at a time, or from their summary. 1: that is not enough, since
 * the filter or suppressions have to be asked of each member. */
static int load_at_once(struct mt_opened *o, const struct mt_arguments *arguments,
	char *const *paths, int count, struct mt_err *err)
{
	const struct mt_open_options wanted = {.progress = mt_command_tell};
	struct mt_set_opened set = {0};
	bool each, judged;
	int status = mt_opened_read_filter(o, arguments, err);

	if (status < 0)
		return status;
	each = mt_filter_needs(o->filter) || (arguments->history && mt_filter_active(o->filter));
	judged = o->rules;
	mt_opened_free(o);
	*o = (struct mt_opened){0};
	if (each)
		return 1;
	char *cache = mt_environment_cache();

	status = mt_set_open(&set, paths, (uint32_t)count, stacks_of(arguments), cache, &wanted,
		err);
	free(cache);
	if (status < 0 || (set.own_rules && judged)) {
		mt_set_opened_free(&set);
		return status < 0 ? status : 1;
	}
	if (set.unread)
		mt_command_say("%s", set.unread);
	if (set.troubles)
		mt_command_say("%s", set.troubles);
	status = mt_opened_take(o, arguments, set.recording, err);
	o->set_status = set.unread != NULL;
	o->set_paths = paths_text(paths, count);
	o->report.path = o->set_paths;
	set.recording = NULL;
	mt_set_opened_free(&set);
	return status;
}

int mt_opened_load_set(struct mt_opened *o, const struct mt_arguments *arguments,
	char *const *paths, int count, bool symbols, struct mt_err *err)
{
	char **chosen = mt_command_choose_processes(arguments, paths, &count, err);

	*o = (struct mt_opened){0};
	if (!chosen)
		return err->code;
	int status = is_simple(arguments, chosen, count)
		? load_at_once(o, arguments, chosen, count, err)
		: 1;

	if (status == 1)
		status = load_chosen(o, arguments, chosen, count, symbols, err);

	free(chosen);
	return status;
}

int mt_opened_load_operands(struct mt_opened *o, const struct mt_arguments *arguments, int first,
	bool symbols, struct mt_err *err)
{
	int count = arguments->operand_count - first;

	if (count > 1 || stacks_of(arguments) != MT_SET_STACKS || arguments->processes.count)
		return mt_opened_load_set(o, arguments, arguments->operands + first, count, symbols,
			err);
	return mt_opened_load(o, arguments, arguments->operands[first], symbols, err);
}
