#include "core/rendezvous.h"
#include "core/sampler.h"
#include "tui/command/commands.h"

#include "core/leakcheck/process.h"
#include "core/query/filter_match.h"
#include "core/session/condition.h"
#include "core/session/named.h"
#include "tui/terminal/theme.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MT_PREFIX
#define MT_PREFIX "/usr/local"
#endif

const struct mt_profile mt_no_columns;

struct mt_filter *mt_command_filter(const struct mt_arguments *arguments,
	const struct mt_profile *profile, struct mt_err *err)
{
	static const enum mt_filter_field ignored[] = {MT_FILTER_NEGATIVE_FUNCTION_REGEX,
		MT_FILTER_NEGATIVE_SOURCE_REGEX, MT_FILTER_NEGATIVE_MODULE_REGEX};
	struct mt_filter *filter = mt_filter_new_of(profile);
	int status = 0;

	if (!profile)
		mt_filter_pass_over(filter);

	for (int i = 0; i < arguments->filter_texts.count && status >= 0; i++)
		status = mt_filter_add_words(filter, arguments->filter_texts.items[i], err);
	for (int i = 0; i < 3 && arguments->ignore && status >= 0; i++)
		status = mt_filter_add_as(filter, ignored[i], "--ignore", arguments->ignore, err);
	for (int i = 0; i < MT_FILTER_COUNT && status >= 0; i++)
		if (arguments->fields[i])
			status = mt_filter_add(filter, (enum mt_filter_field)i,
				arguments->fields[i], err);
	for (int i = 0; i < arguments->again_count && status >= 0; i++)
		status = mt_filter_add(filter, arguments->again[i].field, arguments->again[i].text,
			err);
	if (status >= 0)
		status = mt_filter_check(filter, err);
	if (status >= 0)
		return filter;
	mt_filter_free(filter);
	return NULL;
}

struct mt_wrappers *mt_command_wrappers(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_wrappers *wrappers = mt_wrappers_new();

	for (int i = 0; i < arguments->wrappers.count; i++)
		if (mt_wrappers_add(wrappers, arguments->wrappers.items[i], "--wrapper", err) < 0) {
			mt_wrappers_free(wrappers);
			return NULL;
		}
	return wrappers;
}

static char *filter_text(const void *arguments, const struct mt_profile *profile,
	struct mt_err *err)
{
	struct mt_filter *filter =
		mt_command_filter(arguments, profile ? profile : &mt_no_columns, err);
	char *text = filter ? mt_filter_text(filter) : NULL;

	mt_filter_free(filter);
	return text;
}

static bool is_filtered(const struct mt_arguments *arguments)
{
	struct mt_filter *filter = mt_command_filter(arguments, NULL, NULL);
	bool filtered = filter && (mt_filter_active(filter) || mt_filter_pass_over(filter));

	mt_filter_free(filter);
	return filtered;
}

void mt_command_ui_options(struct mt_ui_options *options, const struct mt_arguments *arguments)
{
	*options = (struct mt_ui_options){
		.theme = arguments->theme,
		.keymap = arguments->keymap,
		.fresh = arguments->fresh,
		.ascii = arguments->ascii,
		.filter = filter_text,
		.filter_of = arguments,
		.filtered = is_filtered(arguments),
		.sort = !arguments->sort_given ? NULL
			: arguments->sort_name ? arguments->sort_name
					       : mt_metric_info(NULL, arguments->sort)->name,
		.sort_all = arguments->sort_given && !arguments->sort_matched,
		.triage = arguments->triage,
		.frame_ms = arguments->fps ? (unsigned)(1000 / arguments->fps) : 0,
		.output = arguments->output,
	};
}

int mt_command_check_ui(const struct mt_arguments *arguments, bool live, struct mt_err *err)
{
	int status = arguments->theme ? mt_theme_check(arguments->theme, err) : 0;
	struct mt_filter *filter =
		status < 0 ? NULL : mt_command_filter(arguments, live ? &mt_no_columns : NULL, err);

	if (!filter)
		return -EINVAL;
	mt_filter_free(filter);
	return 0;
}

/* What only a program can have that memtui starts. */
static int check_attach(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (arguments->no_follow)
		return mt_fail(err, -EINVAL,
			"--no-follow: attaching changes no environment; programs that the process "
			"executes are not recorded");
	if (arguments->no_patch)
		return mt_fail(err, -EINVAL,
			"--no-patch: a process that runs can be recorded only by patching its "
			"functions");
	if (arguments->disabled)
		return mt_fail(err, -EINVAL,
			"--disabled: a process that is attached cannot call memtui_resume");
	if (arguments->slack)
		return mt_fail(err, -EINVAL,
			"--slack: usable sizes of a process that is attached are not known");
	if (arguments->check_stacks)
		return mt_fail(err, -EINVAL,
			"--check-stacks: a process that is attached has no second unwinder");
	return 0;
}

static int check_functions(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_named_functions *named;

	if (arguments->no_patch)
		return mt_fail(err, -EINVAL,
			"--no-patch and --allocator-functions exclude each other");
	named = mt_named_new(arguments->allocator_functions, err);
	mt_named_free(named);
	return named ? 0 : -EINVAL;
}

static int check_conditions(const struct mt_arguments *arguments, struct mt_err *err)
{
	const struct mt_texts *texts = &arguments->snapshot_when;
	struct mt_condition condition;
	struct mt_err why;

	for (int i = 0; i < texts->count; i++)
		if (mt_condition_parse(&condition, texts->items[i], &why) < 0)
			return mt_fail(err, -EINVAL, "--snapshot-when: %.400s", why.text);
	if (texts->count && arguments->output && !strcmp(arguments->output, "-"))
		return mt_fail(err, -EINVAL,
			"--snapshot-when: standard output takes no snapshots; give a file with "
			"--output");
	return 0;
}

static int parse_owner(const char *text, uid_t *uid, gid_t *gid, struct mt_err *err)
{
	int end = 0;

	*uid = *gid = 0;
	if (!text
		|| (strspn(text, "0123456789:") == strlen(text)
			&& sscanf(text, "%9u:%9u%n", uid, gid, &end) == 2 && !text[end]))
		return 0;
	return mt_fail(err, -EINVAL,
		"--chown: invalid owner '%.60s'; expected the numbers of a user and a group, such "
		"as 1000:1000",
		text);
}

static int check_signals(const struct mt_arguments *arguments, bool attaches, struct mt_err *err)
{
	static const char *const names[] = {"signal-report", "signal-report-count",
		"signal-toggle"};
	const char *const *signals = arguments->signals;

	for (int i = 0; i < MT_SIGNAL_USES; i++) {
		if (signals[i] && attaches)
			return mt_fail(err, -EINVAL,
				"--%s: a process that runs already keeps its signals; use 'memtui "
				"ctl %d %s'",
				names[i], (int)arguments->pid,
				i == MT_SIGNAL_TOGGLE ? "pause" : "report");
		for (int j = 0; j < i; j++)
			if (signals[i] && signals[j] && !strcmp(signals[i], signals[j]))
				return mt_fail(err, -EINVAL,
					"--%s: %s is given to --%s already; choose another signal",
					names[i], signals[i], names[j]);
	}
	return 0;
}

static int check_sample(const struct mt_arguments *arguments, struct mt_err *err)
{
	const char *name = arguments->sample_given ? "sample" : "every";

	if (!arguments->sample_given && arguments->every <= 1)
		return 0;
	if (arguments->sample_given && arguments->every)
		return mt_fail(err, -EINVAL,
			"--sample and --every exclude each other: one draws bytes, the other "
			"allocations");
	if (arguments->free_stacks)
		return mt_fail(err, -EINVAL,
			"--%s: cannot be combined with --free-stacks, which counts the frees of "
			"each place",
			name);
	if (!arguments->sample_given)
		return 0;
	if (arguments->sample < MT_SAMPLER_LEAST || arguments->sample > MT_SAMPLER_MOST)
		return mt_fail(err, -EINVAL, "--sample: %llu bytes are too %s; give %s",
			(unsigned long long)arguments->sample,
			arguments->sample < MT_SAMPLER_LEAST ? "few" : "many",
			arguments->sample < MT_SAMPLER_LEAST ? "1K or more, such as 512K"
							     : "64G or less, such as 512K");
	return 0;
}

bool mt_command_is_gated(const struct mt_arguments *arguments)
{
	return arguments->record_min.value || arguments->record_max.given;
}

int mt_command_check_gates(const struct mt_arguments *arguments, struct mt_err *err)
{
	const struct mt_limit *least = &arguments->record_min, *most = &arguments->record_max;

	if (most->given && !most->value)
		return mt_fail(err, -EINVAL, "--record-max: 0 bytes are too few; give 1 or more");
	if (most->given && least->value > most->value)
		return mt_fail(err, -EINVAL,
			"--record-min is larger than --record-max: no block would be recorded");
	return 0;
}

static int check_leak_check(const struct mt_arguments *arguments, bool attaches, struct mt_err *err)
{
	if (arguments->leak_check && attaches)
		return mt_fail(err, -EINVAL,
			"--leak-check: not with a process that runs already; 'memtui leak-check "
			"PID' checks it while it is recorded");
	if (arguments->leak_check && (arguments->sample_given || arguments->every > 1))
		return mt_fail(err, -EINVAL,
			"--leak-check: cannot be combined with --%s, which leaves out most blocks",
			arguments->sample_given ? "sample" : "every");
	if (arguments->leak_check && mt_command_is_gated(arguments))
		return mt_fail(err, -EINVAL,
			"--leak-check: cannot be combined with --record-min and --record-max, "
			"which leave out blocks");
	return 0;
}

int mt_command_check_recording(const struct mt_arguments *arguments, bool attaches,
	struct mt_err *err)
{
	if (attaches && check_attach(arguments, err) < 0)
		return err->code;
	if (arguments->allocator_functions && check_functions(arguments, err) < 0)
		return -EINVAL;
	uid_t uid;
	gid_t gid;

	if (parse_owner(arguments->owner, &uid, &gid, err) < 0)
		return err->code;
	if ((arguments->report || arguments->flame_graph) && arguments->output
		&& !strcmp(arguments->output, "-"))
		return mt_fail(err, -EINVAL, "--%s: needs a trace file; give one with --output",
			arguments->report ? "report" : "flame-graph");
	if (check_conditions(arguments, err) < 0 || check_signals(arguments, attaches, err) < 0)
		return err->code;
	if (!arguments->report && (arguments->outfile || arguments->ignore || arguments->top))
		return mt_fail(err, -EINVAL, "--%s: only with --report",
			arguments->outfile          ? "outfile"
				: arguments->ignore ? "ignore"
						    : "top");
	if (arguments->ignore
		&& (arguments->fields[MT_FILTER_NEGATIVE_FUNCTION_REGEX]
			|| arguments->fields[MT_FILTER_NEGATIVE_SOURCE_REGEX]
			|| arguments->fields[MT_FILTER_NEGATIVE_MODULE_REGEX]))
		return mt_fail(err, -EINVAL,
			"--ignore: cannot be combined with --negative-function-regex, "
			"--negative-source-regex or --negative-module-regex, which it sets");
	if (check_sample(arguments, err) < 0 || mt_command_check_gates(arguments, err) < 0
		|| check_leak_check(arguments, attaches, err) < 0)
		return err->code;
	if (arguments->over_size && !arguments->max_size_given)
		return mt_fail(err, -EINVAL, "--over-size: only with --max-size");
	if (!arguments->max_size_given)
		return 0;
	if (arguments->max_size < MT_SESSION_LEAST_SIZE)
		return mt_fail(err, -EINVAL,
			"--max-size: %llu bytes are too few; give 256K or more",
			(unsigned long long)arguments->max_size);
	if (arguments->output && !strcmp(arguments->output, "-"))
		return mt_fail(err, -EINVAL,
			"--max-size: cannot drop events from standard output; give a file with "
			"--output");
	return 0;
}

/* Of --leak-check. While the screen is there nothing is said: the trace has no verdicts then, and
 * check says so. */
static void judge_at_end(void *says, const struct mt_session *session, pid_t process)
{
	struct mt_err err = {0};

	if (mt_leakcheck_at_end(session, process, &err) < 0 && err.code != -ENODATA && says)
		mt_command_say("process %d is not judged: %s", (int)process, err.text);
}

void mt_command_session_options(struct mt_session_options *options, char **library,
	const struct mt_arguments *arguments)
{
	*library = mt_command_library();
	*options = (struct mt_session_options){
		.argv = arguments->pid ? NULL : arguments->operands,
		.attach = (pid_t)arguments->pid,
		.output = arguments->output,
		.force = arguments->force,
		.depth_limit =
			(uint32_t)(arguments->depth > UINT32_MAX ? UINT32_MAX : arguments->depth),
		.free_stacks = arguments->free_stacks,
		.slack = arguments->slack,
		.check_stacks = arguments->check_stacks,
		.no_follow = arguments->no_follow,
		.at_end = arguments->leak_check ? judge_at_end : NULL,
		.no_patch = arguments->no_patch,
		.allocator_functions = arguments->allocator_functions,
		.disabled_at_start = arguments->disabled,
		.drop_when_full = arguments->on_full && !strcmp(arguments->on_full, "drop"),
		.wait_when_full = arguments->on_full && !strcmp(arguments->on_full, "wait"),
		.sample_bytes = arguments->sample,
		.sample_every = arguments->every > 1 ? arguments->every : 0,
		.record_min = arguments->record_min.value,
		.record_max = arguments->record_max.value,
		.duration_ns = arguments->duration_ns,
		.max_bytes = arguments->max_size,
		.stop_over_size = arguments->over_size && !strcmp(arguments->over_size, "stop"),
		.conditions = arguments->snapshot_when.items,
		.condition_count = (uint32_t)arguments->snapshot_when.count,
		.cache = arguments->no_cache ? NULL : arguments->cache,
		.library = *library,
		.chown = arguments->owner != NULL,
	};
	parse_owner(arguments->owner, &options->owner, &options->group, NULL);
	for (int i = 0; i < MT_SIGNAL_USES; i++)
		options->signals[i] = mt_signal_number(arguments->signals[i]);
}

char *mt_command_library(void)
{
	static const char *const beside[] = {"libmemtui.so", "../lib/memtui/libmemtui.so"};
	char executable[4096];
	ssize_t len = readlink("/proc/self/exe", executable, sizeof executable - 1);

	executable[len > 0 ? len : 0] = 0;
	char *slash = strrchr(executable, '/');

	for (size_t i = 0; slash && i < sizeof beside / sizeof *beside; i++) {
		slash[1] = 0;
		char *path = mt_format("%s%s", executable, beside[i]);
		char *real = access(path, R_OK) ? NULL : realpath(path, NULL);

		free(path);
		if (real)
			return real;
	}
	if (!access(MT_PREFIX "/lib/memtui/libmemtui.so", R_OK))
		return mt_strdup(MT_PREFIX "/lib/memtui/libmemtui.so");
	return NULL;
}
