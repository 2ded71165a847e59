#include "core/export/report_parts.h"

#include "core/export/blind.h"
#include "core/export/losses.h"
#include "core/session/before.h"

#include <stdlib.h>
#include <string.h>

#define NAME_LEAST 16 /* columns, of a name that is cut */

bool mt_report_is_filtered(const struct mt_report *report)
{
	return (report->asked && mt_filter_active(report->asked))
		|| (report->filter && mt_filter_active(report->filter));
}

const struct mt_profile *mt_report_sorted_by(const struct mt_report *report)
{
	return report->sort_matched ? report->profile : mt_report_whole(report);
}

int mt_report_select(struct mt_selection *selection, const struct mt_report *report,
	struct mt_err *err)
{
	return mt_select_by(selection, report->profile, mt_report_sorted_by(report),
		report->symbols, report->filter, report->sort, report->ascending, err);
}

void mt_report_number(char out[MT_NUMBER_EXACT_LEN], const struct mt_report *report,
	enum mt_unit unit, uint64_t value)
{
	if (unit == MT_UNIT_TIME && mt_info_estimates_times(&mt_report_whole(report)->info))
		*out++ = '~';
	if (report->exact && unit == MT_UNIT_TIME)
		mt_number_seconds(out, value);
	else if (report->exact)
		snprintf(out, MT_NUMBER_EXACT_LEN, "%llu", (unsigned long long)value);
	else if (unit == MT_UNIT_BYTES)
		mt_number_size(out, value);
	else if (unit == MT_UNIT_TIME)
		mt_number_time(out, value);
	else
		mt_number_count(out, value);
}

/* ---- metrics ---- */

/* Behind an estimate: its standard error. */
void mt_report_error(char *out, uint64_t value, uint64_t samples, double error)
{
	if (error > 0 && value && samples < MT_SAMPLES_FEW)
		strcpy(out, " (few samples)");
	else if (error > 0 && value)
		snprintf(out, 16, " ±%.*f%%", error * 100 < (double)value * 10,
			100 * error / (double)value);
}

void mt_report_estimate(char out[MT_METRIC_LEN], const struct mt_report *report, enum mt_unit unit,
	uint64_t value, bool estimated, uint64_t samples, double error)
{
	out[0] = '~';
	mt_report_number(out + estimated, report, unit, value);
	/* of so few, the error may itself come out as 0 */
	mt_report_error(out + strlen(out), value, samples,
		estimated && samples < MT_SAMPLES_FEW && error == 0 ? 1 : error);
}

void mt_report_metric_of(char out[MT_METRIC_LEN], const struct mt_report *report,
	const struct mt_profile *profile, const struct mt_group *group, enum mt_metric metric)
{
	double error = mt_metric_error(profile, group, metric);
	uint64_t value = mt_metric_value(profile, group, metric);
	bool estimated = (error < 0 || metric < MT_METRIC_COUNT)
		&& mt_metric_is_estimated(profile, group, metric)
		&& mt_metric_info(profile, metric)->unit != MT_UNIT_TIME;

	if (!mt_metric_is_known(profile, group, metric)) {
		strcpy(out, "-");
		return;
	}
	mt_report_estimate(out, report, mt_metric_info(profile, metric)->unit, value, estimated,
		mt_metric_samples(profile, group, metric), error);
}

void mt_report_metric(char out[MT_METRIC_LEN], const struct mt_report *report,
	const struct mt_group *group, enum mt_metric metric)
{
	mt_report_metric_of(out, report, report->profile, group, metric);
}

void mt_report_json_estimated(struct mt_json *json, const struct mt_profile *profile,
	const struct mt_group *group)
{
	if (mt_metric_is_estimated(profile, group, MT_METRIC_LEAKED_SIZE)) {
		mt_json_key(json, "estimated");
		mt_json_bool(json, true);
	}
	if (mt_metric_is_estimated(profile, group, MT_METRIC_OWN_PEAK_SIZE)) {
		mt_json_key(json, "own_peak_at_most");
		mt_json_bool(json, true);
	}
	if (mt_metric_is_estimated(profile, group, MT_METRIC_AT_PEAK_SIZE)) {
		mt_json_key(json, "at_peak_estimated");
		mt_json_bool(json, true);
	}
	if (mt_info_estimates_times(&profile->info)) {
		mt_json_key(json, "times_estimated");
		mt_json_bool(json, true);
	}
}

void mt_report_estimates(const struct mt_report *report, const char *indent)
{
	const struct mt_profile *p = report->profile;
	char groups[MT_NUMBER_EXACT_LEN], when[MT_NUMBER_EXACT_LEN];
	uint64_t count = 0;

	for (uint32_t i = 0; i < p->group_count; i++)
		count += mt_profile_is_estimated(p, &p->groups[i]);
	if (!count)
		return;
	mt_number_exact(groups, count);
	mt_report_number(when, report, MT_UNIT_TIME, p->info.lossy_ns);
	fprintf(report->out,
		"%sleaks of %s %s are estimates (~): frees were lost up to %s, so blocks "
		"from before may already be freed\n",
		indent, groups, MT_PLURAL(groups, "group"), when);
}

static void json_value(struct mt_json *json, enum mt_unit unit, uint64_t value)
{
	if (unit == MT_UNIT_TIME)
		mt_json_seconds(json, value);
	else
		mt_json_number(json, value);
}

static void json_key(struct mt_json *json, const struct mt_group_column *column, const char *suffix)
{
	char key[64];

	snprintf(key, sizeof key, "%s%s", column->name, suffix);
	mt_json_key(json, key);
}

/* The error of so few would be a guess, and of none 0, as if it were exact. */
static bool has_few_samples(const struct mt_profile *p, const struct mt_group *group,
	enum mt_metric metric)
{
	return mt_metric_samples(p, group, metric) < MT_SAMPLES_FEW
		&& mt_metric_is_estimated(p, group, metric);
}

/* What a column of the profile says besides its value. */
static void json_beside(struct mt_json *json, const struct mt_profile *p,
	const struct mt_group *group, enum mt_metric metric)
{
	const struct mt_group_column *column = mt_metric_info(p, metric);
	double error = mt_metric_error(p, group, metric);
	bool few = has_few_samples(p, group, metric);
	uint32_t count;
	const uint64_t *buckets = mt_metric_buckets(p, group, metric, &count);

	if (error >= 0 && !few) {
		json_key(json, column, "_stderr");
		mt_json_real(json, column->unit == MT_UNIT_TIME ? error / 1e9 : error);
	}
	if (buckets) {
		json_key(json, column, "_buckets");
		mt_json_open(json, '[');
		for (uint32_t i = 0; i < count; i++)
			mt_json_number(json, buckets[i]);
		mt_json_close(json, ']');
	}
	if (column->as_of_ns) {
		json_key(json, column, "_as_of");
		mt_json_seconds(json, column->as_of_ns);
	}
}

void mt_report_json_metrics(struct mt_json *json, const struct mt_profile *profile,
	const struct mt_group *group)
{
	mt_json_open(json, '{');
	for (uint32_t i = 0; i < mt_metric_count(profile); i++) {
		enum mt_metric metric = (enum mt_metric)i;
		const struct mt_group_column *column = mt_metric_info(profile, metric);

		if (!mt_metric_in_json(metric) || !mt_metric_is_known(profile, group, metric))
			continue;
		json_key(json, column, "");
		json_value(json, column->unit, mt_metric_value(profile, group, metric));
		if (metric >= MT_METRIC_COUNT || mt_metric_has_errors(profile, metric))
			json_beside(json, profile, group, metric);
	}
	if (mt_metric_estimates(profile, group))
		mt_json_put_number(json, "samples",
			mt_metric_samples(profile, group, MT_METRIC_SIZE));
	mt_json_close(json, '}');
}

void mt_report_csv_metric_names(FILE *out, const struct mt_profile *profile, const char *prefix)
{
	for (uint32_t i = 0; i < mt_metric_count(profile); i++) {
		const struct mt_group_column *column = mt_metric_info(profile, (enum mt_metric)i);

		if (mt_metric_in_json((enum mt_metric)i))
			fprintf(out, ",%s%s", prefix, column->name);
		if (mt_metric_has_errors(profile, (enum mt_metric)i))
			fprintf(out, ",%s%s_stderr", prefix, column->name);
	}
}

void mt_report_csv_metrics(FILE *out, const struct mt_profile *profile,
	const struct mt_group *group)
{
	char text[MT_NUMBER_EXACT_LEN];

	for (uint32_t i = 0; i < mt_metric_count(profile); i++) {
		enum mt_metric metric = (enum mt_metric)i;
		const struct mt_group_column *column = mt_metric_info(profile, metric);
		uint64_t value = mt_metric_value(profile, group, metric);
		bool errors = mt_metric_has_errors(profile, metric);
		double error = mt_metric_error(profile, group, metric);

		if (!mt_metric_in_json(metric))
			continue;
		if (!mt_metric_is_known(profile, group, metric)) {
			fputs(errors ? ",," : ",", out);
			continue;
		}
		if (column->unit == MT_UNIT_TIME)
			mt_number_seconds(text, value);
		else
			snprintf(text, sizeof text, "%llu", (unsigned long long)value);
		fprintf(out, ",%s", text);
		if (errors && has_few_samples(profile, group, metric))
			fputc(',', out);
		else if (errors)
			fprintf(out, ",%g",
				(error > 0 ? error : 0) / (column->unit == MT_UNIT_TIME ? 1e9 : 1));
	}
}

static void end_line(const struct mt_report *report, const char *last)
{
	if (mt_info_estimates_times(&mt_report_whole(report)->info))
		fputs(last, report->out);
	putc('\n', report->out);
}

void mt_report_csv_end_names(const struct mt_report *report)
{
	end_line(report, ",times_estimated");
}

void mt_report_csv_end(const struct mt_report *report)
{
	end_line(report, ",true");
}

/* ---- frames ---- */

void mt_report_json_frame(struct mt_json *json, const struct mt_backtrace_frame *frame)
{
	mt_json_key(json, "function");
	mt_json_string(json, frame->function);
	mt_json_key(json, "raw_function");
	mt_json_string(json, frame->raw_function);
	mt_json_key(json, "source");
	mt_json_string(json, frame->source);
	mt_json_key(json, "line");
	mt_json_number(json, frame->line);
	mt_json_key(json, "module");
	mt_json_string(json, frame->module);
	mt_json_key(json, "offset");
	mt_json_number(json, frame->offset);
	mt_json_key(json, "inlined");
	mt_json_bool(json, frame->inlined);
	mt_json_key(json, "by_frame_pointer");
	mt_json_bool(json, frame->by_frame_pointer);
}

void mt_report_json_backtrace(struct mt_json *json, const struct mt_backtrace *backtrace)
{
	mt_json_key(json, "backtrace");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < backtrace->count; i++) {
		mt_json_open(json, '{');
		mt_report_json_frame(json, &backtrace->frames[i]);
		mt_json_close(json, '}');
	}
	mt_json_close(json, ']');
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *mt_report_frame_name(const struct mt_backtrace_frame *frame)
{
	if (*frame->function)
		return mt_strdup(frame->function);
	return mt_format("%s+0x%llx", *frame->module ? base_name(frame->module) : "?",
		(unsigned long long)frame->offset);
}

char *mt_report_shorten(const struct mt_report *report, const char *name)
{
	return report->short_names ? mt_name_shorten(name) : mt_strdup(name);
}

char *mt_report_short_frame_name(const struct mt_report *report,
	const struct mt_backtrace_frame *frame)
{
	char *name = mt_report_frame_name(frame), *shown = mt_report_shorten(report, name);

	free(name);
	return shown;
}

char *mt_report_frame_place(const struct mt_backtrace_frame *frame)
{
	const char *module = base_name(frame->module);
	size_t len = strlen(module);

	/* A name that is module+0xoffset says the module already. */
	if (!*frame->source && !strncmp(frame->function, module, len)
		&& frame->function[len] == '+')
		return mt_strdup("");
	if (!*frame->source)
		return mt_strdup(module);
	if (!frame->line)
		return mt_strdup(frame->source);
	return mt_format("%s:%u", frame->source, frame->line);
}

void mt_report_put_frame(const struct mt_report *report, uint32_t before,
	const struct mt_backtrace_frame *frame, const char *note)
{
	char *name = mt_report_short_frame_name(report, frame),
	     *place = mt_report_frame_place(frame);
	char *line = mt_text_line(name), *at = mt_text_line(place);
	uint32_t rest = before + (*at ? 2 : 0) + mt_text_columns(note);
	const char *shown = at;

	if (report->width && rest + mt_text_columns(line) + mt_text_columns(at) > report->width) {
		char *whole = line;

		shown = base_name(at);
		rest += mt_text_columns(shown);
		line = mt_text_fitting(whole,
			report->width > rest + NAME_LEAST ? report->width - rest : NAME_LEAST);
		free(whole);
	}
	fprintf(report->out, "%s%s%s%s\n", line, *shown ? "  " : "", shown, note);
	free(line);
	free(at);
	free(name);
	free(place);
}

/* ---- the run ---- */

char *mt_report_command(const struct mt_profile *profile)
{
	return mt_profile_command(profile);
}

bool mt_report_maps_are_estimated(const struct mt_info *info)
{
	return info->counters[MT_COUNTER_LOST_MARKS] || info->implied_unmaps
		|| info->counters[MT_COUNTER_UNSEEN_LIBRARIES];
}

const struct mt_memory *mt_report_memory(const struct mt_profile *p)
{
	static const struct mt_memory none;

	return p->sample_count ? &p->samples[p->sample_count - 1].memory : &none;
}

void mt_report_json_memory(struct mt_json *json, const struct mt_memory *memory, uint64_t value)
{
	if (memory->rss_bytes)
		mt_json_number(json, value);
	else
		mt_json_null(json);
}

void mt_report_start_time(char out[40], const struct mt_profile *profile)
{
	time_t seconds = (time_t)(profile->info.start_unix_ns / 1000000000u);
	struct tm parts;
	size_t len =
		gmtime_r(&seconds, &parts) ? strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &parts) : 0;

	if (!profile->info.start_unix_ns) {
		snprintf(out, 40, "unknown");
		return;
	}
	snprintf(out + len, 40 - len, ".%03uZ",
		(unsigned)(profile->info.start_unix_ns / 1000000u % 1000u));
}

/* Says how many it printed. doubts: those alone, else all others. */
static uint32_t print_losses(const struct mt_report *report, const char *indent, bool doubts)
{
	const struct mt_info *info = &report->profile->info;
	char text[MT_LOSS_LEN];
	uint32_t lines = 0;

	for (uint32_t i = 0; i < mt_loss_count(); i++) {
		enum mt_loss_kind kind = mt_loss_kind(i);

		if (kind == MT_LOSS_NONE || (kind == MT_LOSS_DOUBTS) != doubts
			|| !mt_loss_value(i, info))
			continue;
		mt_loss_text(text, i, info);
		fprintf(report->out, "%s%s\n", indent, text);
		lines++;
	}
	return lines;
}

uint32_t mt_report_blind(const struct mt_report *report, const char *indent)
{
	const struct mt_profile *p = mt_report_whole(report);
	uint32_t lines = 0;

	for (uint32_t i = 0; i < p->blind_count; i++) {
		char *sentence =
			p->blind[i].count ? mt_blind_sentence(p, &p->blind[i], false) : NULL;

		if (!sentence)
			continue;
		fprintf(report->out, "%snot seen: ", indent);
		mt_text_put(report->out, MT_TEXT_LINE, sentence);
		putc('\n', report->out);
		free(sentence);
		lines++;
	}
	return lines;
}

void mt_report_json_damage(struct mt_json *json, const struct mt_report *report)
{
	mt_json_key(json, "damaged_at");
	if (report->facts.damaged_at)
		mt_json_number(json, report->facts.damaged_at);
	else
		mt_json_null(json);
}

bool mt_report_counts_losses(const struct mt_report *report)
{
	return !report->facts.source || report->facts.source->loss != MT_SOURCE_LOSS_UNTOLD;
}

bool mt_report_is_whole(const struct mt_report *report)
{
	return mt_info_is_whole(&report->profile->info) && !report->facts.damaged;
}

bool mt_report_knows_leaks(const struct mt_report *report)
{
	return mt_report_is_whole(report) && !report->profile->info.stopped;
}

const char *mt_report_left(const struct mt_report *report)
{
	return mt_report_knows_leaks(report) ? "leaked" : "live";
}

uint64_t mt_report_reallocs_most(const struct mt_profile *p, const struct mt_selection *groups)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < groups->count; i++) {
		uint32_t function = mt_profile_group_function(p, groups->groups[i]);

		if (mt_profile_function(p, function)->role == MT_CALL_REALLOCATE)
			most += p->groups[groups->groups[i]].allocated_count;
	}
	return most;
}

void mt_report_images(const struct mt_report *report, const char *indent)
{
	uint32_t before = mt_report_whole(report)->info.images_before;
	char *name = mt_before_name(report->path ? report->path : "TRACE");

	if (before) {
		fprintf(report->out,
			"%sthe process ran %u other program%s before this one: ", indent, before,
			before == 1 ? "" : "s");
		mt_text_put(report->out, MT_TEXT_LINE, name);
		if (before > 1)
			fprintf(report->out, ".exec0 to .exec%u are their traces\n", before - 1);
		else
			fputs(".exec0 is its trace\n", report->out);
	}
	free(name);
}

void mt_report_sampling(const struct mt_report *report, const char *indent)
{
	const struct mt_info *info = &mt_report_whole(report)->info;
	char of[MT_NUMBER_OF_LEN];

	if (!mt_info_is_sampled(info))
		return;
	if (info->sample_every)
		mt_number_of(of, info->sample_every, "allocation");
	else
		mt_number_size(of, info->sample_bytes);
	fprintf(report->out,
		"%ssampled, one in %s on average: sizes and counts are estimates (~) with their "
		"standard errors (\302\261); peaks are biased upward; invalid frees, temporary "
		"blocks and slack are not known\n",
		indent, of);
}

void mt_report_losses(const struct mt_report *report, const char *indent)
{
	const struct mt_info *info = &report->profile->info;

	mt_report_sampling(report, indent);

	uint32_t lines = mt_report_blind(report, indent) + print_losses(report, indent, false);

	if (mt_report_maps_are_estimated(info))
		fprintf(report->out,
			"%sthe sizes of mappings are estimates (~): calls of mmap or munmap were "
			"lost\n",
			indent);
	if (info->recorder_lost || report->facts.damaged)
		lines += (uint32_t)(fprintf(report->out,
					    "%sthe trace is incomplete: later events are missing\n",
					    indent)
			> 0);
	if (!mt_report_counts_losses(report))
		fprintf(report->out,
			"%sthe recording does not say whether events were lost: any number may be "
			"too low or too high\n",
			indent);
	else if (!lines)
		fprintf(report->out, "%snothing was lost\n", indent);
	mt_report_images(report, indent);
	if (info->stopped)
		fprintf(report->out,
			"%sthe recording was stopped before the program ended: its live blocks may "
			"have been freed later\n",
			indent);
	mt_report_estimates(report, indent);
	print_losses(report, "", true);
}
