#include "core/query/filter_match.h"
#include "tui/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MT_PREFIX
#define MT_PREFIX "/usr/local"
#endif

#define FPS_MAX 60

struct mt_filter *mt_command_filter(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_filter *filter = mt_filter_new();
	int status = arguments->filter_text ? mt_filter_parse(filter, arguments->filter_text, err) : 0;

	for (int i = 0; i < MT_FILTER_COUNT && status >= 0; i++)
		if (arguments->fields[i])
			status = mt_filter_set(filter, (enum mt_filter_field)i, arguments->fields[i], err);
	if (status >= 0)
		status = mt_filter_check(filter, err);
	if (status >= 0)
		return filter;
	mt_filter_free(filter);
	return NULL;
}

static int finish_output(FILE *out, const char *name, struct mt_err *err)
{
	if (!fflush(out) && !ferror(out))
		return 0;
	int code = errno ? errno : EIO;

	return mt_fail(err, -code, "cannot write the result to %s: %s", name, strerror(code));
}

static int match_progress(void *context, double fraction)
{
	(void)context;
	mt_command_progress("filtering", fraction);
	return 0;
}

/* What the report is on. */
static int match(struct mt_matched *matched, const struct mt_source *source, const struct mt_arguments *arguments,
	struct mt_filter *filter, struct mt_err *err)
{
	int status = mt_match(matched, source, filter, arguments->history ? MT_MATCH_HISTORY : 0, err);

	mt_command_progress(NULL, -1);
	return status;
}

/* Suppressions take leaks off what is shown and off the whole, so that both agree. */
struct judged {
	struct mt_suppressions *rules;
	struct mt_suppressed shown, whole;
};

static void judge(struct judged *judged, const struct mt_loaded *loaded, const struct mt_matched *matched,
	const struct mt_arguments *arguments)
{
	mt_command_own_suppressions(judged->rules, arguments, &loaded->symbols);
	if (matched->own)
		mt_suppress(&judged->whole, judged->rules, &loaded->profile, &loaded->symbols);
	mt_suppress(&judged->shown, judged->rules, &matched->profile, &loaded->symbols);
}

static void end_judged(struct judged *judged, const struct mt_arguments *arguments)
{
	if (judged->shown.all_blocks && !arguments->judges_leaks)
		mt_command_say("suppressed: %llu bytes in %llu blocks by %u rules; leaks are shown without them",
			(unsigned long long)judged->shown.all_bytes, (unsigned long long)judged->shown.all_blocks,
			judged->shown.rules_used);
	mt_suppressed_free(&judged->shown);
	mt_suppressed_free(&judged->whole);
}

static int report_on(const struct mt_loaded *loaded, const struct mt_arguments *arguments, struct mt_filter *filter,
	struct mt_suppressions *rules, int (*report)(const struct mt_report *, struct mt_err *), struct mt_err *err)
{
	struct mt_source source = {.profile = &loaded->profile, .symbols = &loaded->symbols, .reader = loaded->reader,
		.progress = match_progress};
	struct judged judged = {.rules = rules};
	struct mt_matched matched = {0};
	int status = match(&matched, &source, arguments, filter, err);

	if (status >= 0 && rules)
		judge(&judged, loaded, &matched, arguments);
	struct mt_report view = {.out = arguments->out ? arguments->out : stdout,
		.format = arguments->format,
		.exact = arguments->exact,
		.profile = rules ? &judged.shown.profile : &matched.profile,
		.whole = !rules ? &loaded->profile : matched.own ? &judged.whole.profile : &judged.shown.profile,
		.matched = &matched,
		.source = &source,
		.asked = filter,
		.symbols = &loaded->symbols,
		.sort = arguments->sort,
		.sort_matched = arguments->sort_matched,
		.ascending = arguments->ascending,
		.skip = arguments->skip,
		.count = arguments->count,
		.damaged = loaded->damaged,
		.inverted = arguments->inverted,
		.what = arguments->what,
		.levels = (uint32_t)arguments->levels,
		.by = arguments->by ? (enum mt_rows_by)mt_rows_by_find(arguments->by) : MT_ROWS_BY_BACKTRACE,
		.function = arguments->operands[0] ? arguments->operands[1] : NULL,
		.short_names = arguments->short_names,
		.path = arguments->operands[0],
		.suppressions = rules,
		.suppressed = rules ? &judged.shown : NULL,
		.check = &arguments->check,
		.group = &arguments->group,
		.columns = (uint32_t)arguments->columns};

	if (status >= 0)
		status = report(&view, err);
	int written = status < 0 ? 0 : finish_output(view.out, arguments->out ? arguments->output : "standard output", err);

	end_judged(&judged, arguments);
	mt_matched_free(&matched);
	return written < 0 ? written : status;
}

int mt_command_view(const struct mt_arguments *arguments,
	int (*report)(const struct mt_report *, struct mt_err *), bool symbols, struct mt_err *err)
{
	struct mt_filter *filter = mt_command_filter(arguments, err);
	struct mt_suppressions *rules = NULL;
	struct mt_loaded loaded;

	if (!filter || mt_command_suppressions(&rules, arguments, err) < 0) {
		mt_filter_free(filter);
		return -EINVAL;
	}
	bool names = symbols || rules || mt_filter_active(filter);
	bool events = mt_filter_needs(filter) || (arguments->history && mt_filter_active(filter));
	int status = mt_command_load(&loaded, arguments->operands[0], names, err);

	if (status >= 0 && events)
		status = mt_loaded_need_events(&loaded, arguments->operands[0], names, err);
	if (status >= 0) {
		if (!symbols) /* info: what the trace holds is its question */
			mt_loaded_verify(&loaded, arguments->operands[0]);
		status = report_on(&loaded, arguments, filter, rules, report, err);
	}
	mt_suppressions_free(rules);
	mt_loaded_free(&loaded);
	mt_filter_free(filter);
	return status;
}

int mt_command_ui_options(struct mt_ui_options *options, char **filter_text,
	const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_filter *filter = mt_command_filter(arguments, err);

	*filter_text = NULL;
	if (!filter)
		return -EINVAL;
	if (mt_filter_active(filter))
		*filter_text = mt_filter_text(filter);
	mt_filter_free(filter);
	uint64_t fps = arguments->fps > FPS_MAX ? FPS_MAX : arguments->fps;

	*options = (struct mt_ui_options){.theme = arguments->theme,
		.ascii = arguments->ascii,
		.filter = *filter_text,
		.sort = arguments->sort_given ? mt_metric_info(arguments->sort)->name : NULL,
		.frame_ms = fps ? (unsigned)(1000 / fps) : 0,
		.output = arguments->output};
	return 0;
}

int mt_command_check_recording(const struct mt_arguments *arguments, struct mt_err *err)
{
	if (arguments->over_size && !arguments->max_size)
		return mt_fail(err, -EINVAL, "--over-size says what --max-size means where much must stay; expected --max-size too");
	if (!arguments->max_size)
		return 0;
	if (arguments->max_size < MT_SESSION_LEAST_SIZE)
		return mt_fail(err, -EINVAL, "--max-size: %llu bytes leave no room for anything; expected 256K or more",
			(unsigned long long)arguments->max_size);
	if (arguments->output && !strcmp(arguments->output, "-"))
		return mt_fail(err, -EINVAL, "--max-size takes old events out of the file again, which standard output does not "
			"allow; expected a file with --output");
	return 0;
}

void mt_command_session_options(struct mt_session_options *options, char **library,
	const struct mt_arguments *arguments)
{
	*library = mt_command_library();
	*options = (struct mt_session_options){.argv = arguments->operands,
		.output = arguments->output,
		.force = arguments->force,
		.depth_limit = (uint32_t)(arguments->depth > UINT32_MAX ? UINT32_MAX : arguments->depth),
		.free_stacks = arguments->free_stacks,
		.slack = arguments->slack,
		.check_stacks = arguments->check_stacks,
		.disabled_at_start = arguments->disabled,
		.drop_when_full = arguments->on_full && !strcmp(arguments->on_full, "drop"),
		.duration_ns = arguments->duration_ns,
		.max_bytes = arguments->max_size,
		.stop_over_size = arguments->over_size && !strcmp(arguments->over_size, "stop"),
		.library = *library};
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
