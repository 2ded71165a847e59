#include "core/export/blind.h"
#include "core/export/command_line.h"
#include "core/export/journal.h"
#include "core/export/losses.h"
#include "core/export/oom.h"
#include "core/export/report_parts.h"
#include "core/export/report_totals.h"
#include "core/export/resident.h"
#include "core/export/verdict_words.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Whether an entry of the log is of this type; of pauses in a row the first is one, which lasts. */
static bool is_entry(const struct mt_profile *p, uint32_t at, enum mt_log_type type)
{
	if (p->log[at].type != type || type != MT_LOG_PAUSE)
		return p->log[at].type == type;
	while (at-- > 0)
		if (p->log[at].type == MT_LOG_PAUSE || p->log[at].type == MT_LOG_RESUME)
			return p->log[at].type == MT_LOG_RESUME;
	return true;
}

/* A pause from its entry on; one that was not ended lasts. */
static void pause_json(struct mt_json *json, const struct mt_profile *p, uint32_t at)
{
	uint32_t end = at;

	while (end < p->log_count && p->log[end].type != MT_LOG_RESUME)
		end++;
	mt_json_open(json, '{');
	mt_json_put_seconds(json, "begin_seconds", p->log[at].time_ns);
	mt_json_put_seconds(json, "end_seconds",
		end < p->log_count ? p->log[end].time_ns : p->info.wall_ns);
	mt_json_put_string(json, "text", mt_strings_get(&p->strings, p->log[at].text));
	mt_json_close(json, '}');
}

/* What --max-size took away, or could not. */
static void limits_json(struct mt_json *json, const struct mt_profile *p)
{
	mt_json_put_seconds(json, "history_from_seconds", p->info.history_from_ns);
	mt_json_put_bool(json, "peak_estimated", p->info.peak_unsure);
	mt_json_key(json, "limits");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < p->log_count; i++)
		if (p->log[i].type == MT_LOG_LIMIT)
			mt_journal_marker_json(json, p, &p->log[i]);
	mt_json_close(json, ']');
}

static void notes_json(struct mt_json *json, const struct mt_profile *p)
{
	static const struct {
		const char *name;
		enum mt_log_type type;
	} lists[] = {{"markers", MT_LOG_MARKER}, {"pauses", MT_LOG_PAUSE}, {"gaps", MT_LOG_GAP}};

	for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
		mt_json_key(json, lists[l].name);
		mt_json_open(json, '[');
		for (uint32_t i = 0; i < p->log_count; i++) {
			if (!is_entry(p, i, lists[l].type))
				continue;
			if (lists[l].type == MT_LOG_MARKER)
				mt_journal_marker_json(json, p, &p->log[i]);
			else if (lists[l].type == MT_LOG_GAP)
				mt_journal_gap_json(json, &p->log[i]);
			else
				pause_json(json, p, i);
		}
		mt_json_close(json, ']');
	}
}

/* What was recorded, and when. */
static void run_json(struct mt_json *json, const struct mt_profile *profile)
{
	const struct mt_info *info = &profile->info;
	char start[40];

	mt_json_key(json, "command");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < profile->argument_count; i++)
		mt_json_string(json, mt_strings_get(&profile->strings, profile->arguments[i]));
	mt_json_close(json, ']');
	mt_json_put_number(json, "pid", info->pid);
	mt_json_put_number(json, "parent_pid", info->parent);
	mt_json_put_number(json, "root_pid", info->root);
	mt_json_put_string(json, "origin", mt_origin_name(info->origin));
	mt_report_start_time(start, profile);
	mt_json_key(json, "start_time");
	if (info->start_unix_ns)
		mt_json_string(json, start);
	else
		mt_json_null(json);
	mt_json_put_seconds(json, "wall_seconds", info->wall_ns);
}

static void counts_json(struct mt_json *json, const struct mt_profile *profile)
{
	const struct mt_info *info = &profile->info;

	mt_json_put_seconds(json, "peak_seconds", info->peak_ns);
	mt_json_put_number(json, "threads", profile->thread_count);
	mt_json_put_number(json, "modules", profile->module_count);
	mt_json_put_number(json, "nodes", profile->node_count);
	mt_json_put_number(json, "events", info->events);
	mt_json_put_number(json, "lost_events", info->lost_events);
	mt_json_put_number(json, "implied_frees", info->implied_frees);
	mt_json_put_number(json, "cut_stacks", info->cut_stacks);
	mt_json_put_number(json, "unknown_frees", info->unknown_frees);
	mt_json_put_number(json, "inherited_frees", info->inherited_frees);
	mt_json_put_number(json, "ambiguous", info->ambiguous);
	mt_json_put_number(json, "invalid_records", info->invalid_records);
	mt_json_put_number(json, "forked_children", info->forked_children);
	mt_blind_json(json, profile);
	mt_json_put_number(json, "images_before", info->images_before);
	mt_json_put_number(json, "file_bytes", info->file_bytes);
#define X(name, words) \
	if (offsetof(struct mt_info, name) > offsetof(struct mt_info, wall_ns) \
		&& offsetof(struct mt_info, name) != offsetof(struct mt_info, lossy_ns)) \
		mt_json_put_number(json, #name, info->name);
	MT_INFO_COUNTS(X)
#undef X
	mt_json_put_bool(json, "usable_sizes", info->usable_rule != MT_USABLE_NONE);
	mt_json_put_seconds(json, "lossy_seconds", info->lossy_ns);
	mt_json_put_number(json, "estimated_groups", mt_report_estimated_groups(profile));
	mt_json_put_bool(json, "mapped_estimated", mt_report_maps_are_estimated(info));
	mt_json_put_bool(json, "times_estimated", mt_info_estimates_times(info));
}

static void put_known(struct mt_json *json, const char *name, bool known, uint64_t value)
{
	mt_json_key(json, name);
	if (known)
		mt_json_number(json, value);
	else
		mt_json_null(json);
}

/* On what the program ran; null: the recording does not say it. */
static void machine_json(struct mt_json *json, const struct mt_info *info)
{
	static const char *const clocks[] = {"tsc", "monotonic"};
	static const char *const rules[] = {"none", "glibc", "always"};
	bool known = info->pointer_bits;

	mt_json_key(json, "machine");
	mt_json_open(json, '{');
	put_known(json, "page_bytes", info->page_bytes, info->page_bytes);
	put_known(json, "pointer_bits", known, info->pointer_bits);
	put_known(json, "address_bits", info->address_bits, info->address_bits);
	put_known(json, "tag_mask", known, info->tag_mask);
	mt_json_key(json, "byte_order");
	if (known)
		mt_json_string(json, "little");
	else
		mt_json_null(json);
	mt_json_key(json, "clock");
	if (info->clock && info->clock <= sizeof clocks / sizeof *clocks)
		mt_json_string(json, clocks[info->clock - 1]);
	else
		mt_json_null(json);
	mt_json_put_string(json, "usable_rule", rules[info->usable_rule]);
	mt_json_close(json, '}');
}

/* Of the process, beside its heap. */
static void memory_json(struct mt_json *json, const struct mt_profile *profile)
{
	const struct mt_info *info = &profile->info;

#define X(name) \
	mt_json_key(json, #name); \
	mt_report_json_memory(json, mt_report_memory(profile), mt_report_memory(profile)->name);
	MT_MEMORY(X)
#undef X
#define X(name) \
	mt_json_key(json, #name); \
	mt_report_json_memory(json, mt_report_memory(profile), info->name);
	X(vss_bytes)
	X(shared_bytes)
	X(arena_resident_bytes)
	X(peak_rss_bytes)
#undef X
	mt_json_put_number(json, "mapped_reserved_bytes", info->mapped_reserved_bytes);
	mt_json_key(json, "peak_rss_seconds");
	if (info->peak_rss_bytes)
		mt_json_seconds(json, info->peak_rss_ns);
	else
		mt_json_null(json);
	mt_json_put_string(json, "allocator", mt_strings_get(&profile->strings, info->allocator));
	mt_json_put_string(json, "own_allocator",
		mt_strings_get(&profile->strings, info->own_allocator));
	mt_json_put_number(json, "patched_functions", info->patched);
	if (info->unpatched)
		mt_json_put_string(json, "not_patched",
			mt_strings_get(&profile->strings, info->unpatched));
}

static void oom_json(struct mt_json *json, const struct mt_profile *profile)
{
	const struct mt_info *info = &profile->info;
	uint32_t group = mt_oom_group(profile);

	mt_json_key(json, "oom_killed");
	mt_json_open(json, '{');
	mt_json_put_bool(json, "certain", info->oom_killed == MT_OOM_CERTAINLY);
	mt_json_key(json, "limit_bytes");
	if (info->oom_limit_bytes)
		mt_json_number(json, info->oom_limit_bytes);
	else
		mt_json_null(json);
	if (group != MT_NO_GROUP) {
		mt_json_put_number(json, "group", group);
		mt_json_put_number(json, "group_bytes", profile->groups[group].live_bytes);
	}
	mt_json_close(json, '}');
}

/* How it ended, and what it took to record it. */
static void end_json(struct mt_json *json, const struct mt_profile *profile)
{
	const struct mt_info *info = &profile->info;

	mt_json_key(json, "exit_status");
	if (!info->ended || info->stopped || info->exit_status == -1)
		mt_json_null(json);
	else
		mt_json_integer(json, info->exit_status);
	if (info->oom_killed)
		oom_json(json, profile);
	if (profile->verdicts)
		mt_verdict_json(json, profile->verdicts);
	mt_json_put_seconds(json, "resolution_seconds", info->resolution_ns);
	mt_json_key(json, "counters");
	mt_json_open(json, '{');
#define X(id, name, words) mt_json_put_number(json, #name, info->counters[MT_COUNTER_##id]);
	MT_COUNTERS(X)
#undef X
	mt_json_close(json, '}');
}

static void error_json(struct mt_json *json, const struct mt_report_totals *totals,
	const char *name, size_t at)
{
	uint64_t samples;
	double error = mt_report_total_error(totals, at, &samples);
	char key[64];

	if (error < 0
		|| (samples < MT_SAMPLES_FEW
			&& (totals->errors.allocated.bytes > 0
				|| totals->errors.allocated.blocks > 0)))
		return;
	snprintf(key, sizeof key, "%s_stderr", name);
	mt_json_key(json, key);
	mt_json_real(json, error);
}

static void errors_json(struct mt_json *json, const struct mt_info *info,
	const struct mt_report_totals *totals)
{
	if (info->sample_every)
		mt_json_put_number(json, "sample_every", info->sample_every);
	else
		mt_json_put_number(json, "sample_bytes", info->sample_bytes);
	mt_json_put_number(json, "samples", totals->errors.allocated.samples);
#define X(name, words, unit) \
	error_json(json, totals, #name, offsetof(struct mt_report_totals, name));
	MT_REPORT_TOTALS(X)
#undef X
}

static void info_json(const struct mt_report *report, const struct mt_report_totals *totals)
{
	struct mt_json writer = {.out = report->out}, *json = &writer;
	const struct mt_profile *profile = report->profile;

	mt_json_open(json, '{');
	mt_json_put_number(json, "format_version", 1);
	mt_json_put_bool(json, "complete", mt_report_is_whole(report));
	if (report->facts.running)
		mt_json_put_bool(json, "running", true);
	mt_report_json_damage(json, report);
	mt_json_put_bool(json, "leaks_known", mt_report_knows_leaks(report));
	run_json(json, profile);
#define X(name, words, unit) mt_json_put_number(json, #name, totals->name);
	MT_REPORT_TOTALS(X)
#undef X
	if (mt_info_is_sampled(&profile->info))
		errors_json(json, &profile->info, totals);
	if (mt_info_is_gated(&profile->info)) {
		mt_json_put_number(json, "record_min", profile->info.record_min);
		mt_json_put_number(json, "record_max", profile->info.record_max);
	}
	mt_json_put_bool(json, "calls_estimated", totals->calls_estimated);
	mt_report_json_suppressed(json, report);
	counts_json(json, profile);
	memory_json(json, profile);
	machine_json(json, &profile->info);
	mt_json_put_bool(json, "paused", profile->info.paused);
	notes_json(json, profile);
	limits_json(json, profile);
	end_json(json, profile);
	mt_json_close(json, '}');
	putc('\n', report->out);
}

static void info_csv(const struct mt_report *report, const struct mt_report_totals *totals)
{
	FILE *out = report->out;

	fputs("name,value\n", out);
#define X(name, words, unit) fprintf(out, "%s,%llu\n", #name, (unsigned long long)totals->name);
	MT_REPORT_TOTALS(X)
#undef X
#define X(name, words) \
	if (offsetof(struct mt_info, name) >= offsetof(struct mt_info, events)) \
		fprintf(out, "%s,%llu\n", #name, (unsigned long long)report->profile->info.name);
	MT_INFO_COUNTS(X)
#undef X
}

static void put_line(const struct mt_report *report, const char *name, const char *value)
{
	fprintf(report->out, "%-18s", name);
	mt_text_put(report->out, MT_TEXT_LINE, value);
	putc('\n', report->out);
}

static void put_limits(const struct mt_report *report)
{
	const struct mt_profile *p = report->profile;
	char when[MT_NUMBER_EXACT_LEN], text[MT_NUMBER_EXACT_LEN + 80];

	if (p->info.history_from_ns) {
		mt_report_number(when, report, MT_UNIT_TIME, p->info.history_from_ns);
		snprintf(text, sizeof text,
			"from %s on (--max-size dropped earlier ones); totals cover the whole run",
			when);
		put_line(report, "single events", text);
	}
	for (uint32_t i = 0; i < p->log_count; i++)
		if (p->log[i].type == MT_LOG_LIMIT)
			put_line(report, "size limit", mt_strings_get(&p->strings, p->log[i].text));
}

/* What the check mode has compared; what differed stands with the losses. */
static void put_checks(const struct mt_report *report)
{
	const uint64_t *counters = report->profile->info.counters;
	char all[MT_NUMBER_EXACT_LEN], otherwise[MT_NUMBER_EXACT_LEN],
		text[2 * MT_NUMBER_EXACT_LEN + 40];

	if (!counters[MT_COUNTER_CHECKED_STACKS])
		return;
	mt_report_number(all, report, MT_UNIT_COUNT, counters[MT_COUNTER_CHECKED_STACKS]);
	mt_report_number(otherwise, report, MT_UNIT_COUNT, counters[MT_COUNTER_CHECKED_OTHERWISE]);
	snprintf(text, sizeof text, "%s, of them %s with libgcc's unwinder", all, otherwise);
	put_line(report, "stacks checked", text);
}

static void put_exit_status(const struct mt_report *report)
{
	const struct mt_info *info = &report->profile->info;
	const char *name;
	char text[64 + MT_OOM_LEN], oom[MT_OOM_LEN];

	if (!info->ended)
		return;
	if (info->stopped) {
		snprintf(text, sizeof text,
			"none: the program went on when the recording was stopped");
	} else if (info->exit_status == -1) {
		snprintf(text, sizeof text, "unknown");
	} else if (WIFSIGNALED(info->exit_status)) {
		name = sigabbrev_np(WTERMSIG(info->exit_status));
		snprintf(text, sizeof text, "by signal %d%s%s%s%s", WTERMSIG(info->exit_status),
			name ? ", SIG" : "", name ? name : "", mt_oom_words(oom, info) ? ", " : "",
			oom);
	} else {
		snprintf(text, sizeof text, "%d", WEXITSTATUS(info->exit_status));
	}
	put_line(report, "exit status", text);
}

static void put_leak_check(const struct mt_report *report)
{
	char text[MT_VERDICT_WORDS_LEN];

	if (mt_verdict_sentence(text, report))
		put_line(report, "leak check", text);
}

/* Who it was, where it came from, how it ended. */
static void put_process(const struct mt_report *report)
{
	const struct mt_info *info = &report->profile->info;
	char text[128], parent[32] = "";

	if (info->parent)
		snprintf(parent, sizeof parent, " by %u", info->parent);
	if (!info->pid)
		snprintf(text, sizeof text, "unknown");
	else if (info->origin == MT_ORIGIN_ATTACHED)
		snprintf(text, sizeof text, "%u, attached while it ran", info->pid);
	else if (info->root == info->pid)
		snprintf(text, sizeof text, "%u, the session's root", info->pid);
	else if (info->root)
		snprintf(text, sizeof text, "%u, %s%s, in the session of %u", info->pid,
			info->origin == MT_ORIGIN_FORKED ? "forked" : "started", parent,
			info->root);
	else
		snprintf(text, sizeof text, "%u", info->pid);
	put_line(report, "process", text);
	put_exit_status(report);
	put_leak_check(report);
}

static void put_start(const struct mt_report *report)
{
	char start[40], text[160];

	mt_report_start_time(start, report->profile);
	snprintf(text, sizeof text, "it was attached at %s; " MT_BEFORE_ATTACH, start);
	if (report->profile->info.origin == MT_ORIGIN_ATTACHED)
		put_line(report, "recorded since", text);
	else
		put_line(report, "started", start);
}

static uint64_t count_log(const struct mt_profile *p, enum mt_log_type type)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < p->log_count; i++)
		count += is_entry(p, i, type);
	return count;
}

/* With a '~' before an estimate. */
static void put_number_line(const struct mt_report *report, const char *name, enum mt_unit unit,
	uint64_t value, bool estimated)
{
	char text[MT_METRIC_LEN];

	mt_report_estimate(text, report, unit, value, estimated, UINT64_MAX, -1);
	put_line(report, name, text);
}

static void put_amount(const struct mt_report *report, const char *name, enum mt_unit unit,
	uint64_t value)
{
	if (value)
		put_number_line(report, name, unit, value, false);
}

static void put_mapped(const struct mt_report *report, const char *name, uint64_t value)
{
	if (value)
		put_number_line(report, name, MT_UNIT_BYTES, value,
			mt_report_maps_are_estimated(&report->profile->info));
}

static void put_resident_peak(const struct mt_report *report)
{
	char peak[MT_NUMBER_EXACT_LEN], when[MT_NUMBER_EXACT_LEN], words[MT_RESIDENT_LEN];
	char text[2 * MT_NUMBER_EXACT_LEN + 8];
	uint64_t ns, bytes = mt_resident_peak(report->profile, &ns);

	if (!bytes)
		return;
	mt_report_number(peak, report, MT_UNIT_BYTES, bytes);
	mt_report_number(when, report, MT_UNIT_TIME, ns);
	snprintf(text, sizeof text, "%s at %s", peak, when);
	put_line(report, "resident at most", text);
	if (mt_resident_words(words, mt_report_whole(report), false))
		put_line(report, "", words);
}

/* What is beside the heap: lines only where there is something. */
static void put_beside(const struct mt_report *report)
{
	const struct mt_profile *p = report->profile;
	const struct mt_info *info = &p->info;
	const struct mt_memory *memory = mt_report_memory(p);

	put_amount(report, "slack", MT_UNIT_BYTES, info->slack_bytes);
	put_amount(report, "maps", MT_UNIT_COUNT, info->maps);
	put_amount(report, "unmaps", MT_UNIT_COUNT, info->unmaps);
	put_mapped(report, "mapped, anonymous", info->mapped_anonymous_bytes);
	put_mapped(report, "mapped, files", info->mapped_file_bytes);
	put_mapped(report, "mapped at most", info->mapped_peak_bytes);
	put_amount(report, "mapped, reserved", MT_UNIT_BYTES, info->mapped_reserved_bytes);
	put_amount(report, "resident", MT_UNIT_BYTES, memory->rss_bytes);
	put_resident_peak(report);
	put_amount(report, "its share (PSS)", MT_UNIT_BYTES, memory->pss_bytes);
	put_amount(report, "swapped", MT_UNIT_BYTES, memory->swap_bytes);
	put_amount(report, "arenas of glibc", MT_UNIT_COUNT, info->arenas);
	put_amount(report, "their size", MT_UNIT_BYTES, memory->arena_bytes);
	put_amount(report, "mallopt, trim", MT_UNIT_COUNT, count_log(p, MT_LOG_CALL));
	put_amount(report, "markers", MT_UNIT_COUNT, count_log(p, MT_LOG_MARKER));
	put_amount(report, "pauses", MT_UNIT_COUNT, count_log(p, MT_LOG_PAUSE));
	put_amount(report, "gaps", MT_UNIT_COUNT, count_log(p, MT_LOG_GAP));
	if (info->allocator)
		put_line(report, "malloc is of", mt_strings_get(&p->strings, info->allocator));
	put_amount(report, "patched functions", MT_UNIT_COUNT, info->patched);
	if (info->unpatched)
		put_line(report, "not patched", mt_strings_get(&p->strings, info->unpatched));
}

static bool is_left(const char *words)
{
	return !strncmp(words, MT_REPORT_LEAKED, strlen(MT_REPORT_LEAKED));
}

static bool is_of_calls(const char *words)
{
	return !strcmp(words, "allocations") || !strcmp(words, "frees")
		|| !strcmp(words, "reallocations");
}

static void put_total(const struct mt_report *report, const char *words, enum mt_unit unit,
	uint64_t value, bool estimated, uint64_t samples, double error)
{
	char text[32], number[MT_METRIC_LEN];

	snprintf(text, sizeof text, "%s%s", is_left(words) ? mt_report_left(report) : words,
		is_left(words) ? words + strlen(MT_REPORT_LEAKED) : "");
	mt_report_estimate(number, report, unit, value, estimated, samples, error);
	put_line(report, text, number);
}

static void put_gates(const struct mt_report *report)
{
	const struct mt_info *info = &mt_report_whole(report)->info;
	char text[2 * MT_NUMBER_LEN + 16], least[MT_NUMBER_LEN], most[MT_NUMBER_LEN];

	if (!mt_info_is_gated(info))
		return;
	mt_number_size(least, info->record_min);
	mt_number_size(most, info->record_max);
	snprintf(text, sizeof text, "%s to %s", least, info->record_max ? most : "any");
	put_line(report, "recorded sizes", text);
}

/* Of a sampled recording all are, but the number of groups. */
static bool is_sampled(const struct mt_report_totals *totals, const char *words)
{
	return totals->sampled && strcmp(words, "groups") != 0;
}

static void info_text(const struct mt_report *report, const struct mt_report_totals *totals)
{
	const struct mt_info *info = &report->profile->info;
	char *command = mt_command_line(report->profile, MT_COMMAND_LINE_ROOM);
	char text[MT_NUMBER_EXACT_LEN + 32];
	uint64_t samples;
	double error;

	put_line(report, "command", command);
	free(command);
	put_process(report);
	put_start(report);
	mt_report_number(text, report, MT_UNIT_TIME, info->wall_ns);
	if (report->facts.running)
		snprintf(text + strlen(text), sizeof text - strlen(text), ", and it is running");
	put_line(report,
		mt_report_is_whole(report) && !info->stopped && info->origin != MT_ORIGIN_ATTACHED
			? "ran for"
			: "recorded for",
		text);
#define X(name, words, unit) \
	error = mt_report_total_error(totals, offsetof(struct mt_report_totals, name), &samples); \
	if (!mt_info_leaves_out(info) || strcmp(words, "temporary") != 0) \
		put_total(report, words, unit, totals->name, \
			(totals->estimated && is_left(words)) || is_sampled(totals, words) \
				|| (totals->calls_estimated && is_of_calls(words)) \
				|| (info->peak_unsure && !strcmp(words, "peak")), \
			samples, error);
	MT_REPORT_TOTALS(X)
#undef X
	if (report->suppressed && report->suppressed->all_blocks) {
		put_number_line(report, "suppressed", MT_UNIT_BYTES, report->suppressed->all_bytes,
			false);
		put_number_line(report, "suppressed blocks", MT_UNIT_COUNT,
			report->suppressed->all_blocks, false);
	}
	mt_report_number(text, report, MT_UNIT_TIME, info->peak_ns);
	put_line(report, "peak at", text);
	mt_report_number(text, report, MT_UNIT_COUNT, report->profile->thread_count);
	put_line(report, "threads", text);
	mt_report_number(text, report, MT_UNIT_COUNT, report->profile->module_count);
	put_line(report, "modules", text);
	mt_report_number(text, report, MT_UNIT_COUNT, info->events);
	put_line(report, "events", text);
	mt_report_number(text, report, MT_UNIT_BYTES, info->file_bytes);
	put_line(report, "file", text);
	put_gates(report);
	put_limits(report);
	put_checks(report);
	put_beside(report);
	fputs("losses\n", report->out);
	mt_report_losses(report, "  ");
}

int mt_report_info(const struct mt_report *report, struct mt_err *err)
{
	struct mt_report_totals totals;
	int status = mt_report_totals(&totals, report, err);

	if (status < 0)
		return status;
	if (report->format == MT_FORMAT_JSON)
		info_json(report, &totals);
	else if (report->format == MT_FORMAT_CSV)
		info_csv(report, &totals);
	else
		info_text(report, &totals);
	return 0;
}
