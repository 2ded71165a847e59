/* The timeline by functions, lines, modules …: who holds what lives at the end of each step. */
#include "core/export/report_parts.h"
#include "core/export/table.h"

#include "core/query/stacked.h"

#include <stdlib.h>
#include <string.h>

#define BAR_WIDTH 60
#define TEXT_FRAMES 5
#define OTHER_GLYPH '.'

struct stacked {
	const struct mt_report *report;
	struct mt_timeline timeline;
	struct mt_stacked of;
};

static const char *value_name(const struct mt_report *report)
{
	return report->by_count ? "live_count" : "live_bytes";
}

static enum mt_unit unit_of(const struct mt_report *report)
{
	return report->by_count ? MT_UNIT_COUNT : MT_UNIT_BYTES;
}

/* What lives at a column's end. */
static uint64_t live(const struct stacked *s, uint32_t series, uint32_t column)
{
	uint32_t first, last;

	mt_timeline_steps(&s->timeline, column, &first, &last);
	if (column + 1 == s->timeline.count && s->of.steps)
		last = s->of.steps - 1; /* of a range: as it was at its end */
	return last < s->of.steps ? s->of.series[series].live[last] : 0;
}

static uint64_t most(const struct stacked *s, uint32_t series, uint32_t column)
{
	uint32_t first, last;
	uint64_t largest = 0;

	mt_timeline_steps(&s->timeline, column, &first, &last);
	for (uint32_t step = first; step <= last && step < s->of.steps; step++)
		if (s->of.series[series].most[step] > largest)
			largest = s->of.series[series].most[step];
	return largest;
}

/* By backtrace: all of it on one line. Caller frees. */
static char *name_of(const struct stacked *s, uint32_t series, bool text)
{
	const struct mt_stacked_series *of = &s->of.series[series];
	const struct mt_report *report = s->report;
	struct mt_backtrace backtrace = {0};

	if (series == s->of.count)
		return mt_strdup(text ? "(all others)" : "other");
	if (of->group == MT_NO_GROUP)
		return text ? mt_report_shorten(report, mt_strings_get(&s->of.names, of->name))
			    : mt_strdup(mt_strings_get(&s->of.names, of->name));
	mt_backtrace_get(&backtrace, report->profile, report->symbols, of->group);
	char *name =
		mt_report_one_line(report, &backtrace, text ? " < " : ";", text ? TEXT_FRAMES : 0);

	mt_backtrace_free(&backtrace);
	return name;
}

/* ---- JSON and CSV ---- */

static void values_json(struct mt_json *json, const struct stacked *s, const char *key,
	uint32_t series, uint64_t (*value)(const struct stacked *, uint32_t, uint32_t))
{
	mt_json_key(json, key);
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < s->timeline.count; i++)
		mt_json_number(json, value(s, series, i));
	mt_json_close(json, ']');
}

static void series_json(struct mt_json *json, const struct stacked *s, uint32_t series)
{
	const struct mt_stacked_series *of = &s->of.series[series];
	const struct mt_report *report = s->report;
	struct mt_backtrace backtrace = {0};

	mt_json_line(json);
	mt_json_open(json, '{');
	if (of->group == MT_NO_GROUP) {
		mt_json_put_string(json, mt_rows_by_name(report->by),
			mt_strings_get(&s->of.names, of->name));
	} else {
		mt_json_put_number(json, "group", of->group);
		mt_json_key(json, "kind");
		mt_json_string(json,
			mt_profile_function_name(report->profile,
				mt_profile_group_function(report->profile, of->group)));
		mt_backtrace_get(&backtrace, report->profile, report->symbols, of->group);
		mt_report_json_backtrace(json, &backtrace);
		mt_backtrace_free(&backtrace);
	}
	mt_json_put_number(json, report->by_count ? "at_shown_peak_count" : "at_shown_peak_bytes",
		of->at_peak);
	values_json(json, s, value_name(report), series, live);
	values_json(json, s, report->by_count ? "max_count" : "max_bytes", series, most);
	mt_json_close(json, '}');
}

static void write_json(const struct stacked *s)
{
	struct mt_json json = {.out = s->report->out};

	mt_json_open(&json, '{');
	mt_json_put_seconds(&json, "history_from_seconds", s->of.gone_ns);
	mt_json_put_string(&json, "by", mt_rows_by_name(s->report->by));
	mt_json_put_string(&json, "metric", value_name(s->report));
	mt_json_key(&json, "seconds");
	mt_json_open(&json, '[');
	for (uint32_t i = 0; i < s->timeline.count; i++)
		mt_json_seconds(&json, mt_timeline_end(&s->timeline, i));
	mt_json_close(&json, ']');
	mt_json_key(&json, "series");
	mt_json_open(&json, '[');
	for (uint32_t i = 0; i < s->of.count; i++)
		series_json(&json, s, i);
	mt_json_close(&json, ']');
	values_json(&json, s, "other", s->of.count, live);
	mt_json_close(&json, '}');
	putc('\n', s->report->out);
}

static void write_csv(const struct stacked *s)
{
	FILE *out = s->report->out;
	char seconds[MT_NUMBER_EXACT_LEN];

	fputs("seconds", out);
	for (uint32_t i = 0; i <= s->of.count; i++) {
		char *name = name_of(s, i, false);

		mt_csv_field(out, false, name);
		free(name);
	}
	mt_report_csv_end_names(s->report);
	for (uint32_t column = 0; column < s->timeline.count; column++) {
		mt_number_seconds(seconds, mt_timeline_end(&s->timeline, column));
		fputs(seconds, out);
		for (uint32_t i = 0; i <= s->of.count; i++)
			fprintf(out, ",%llu", (unsigned long long)live(s, i, column));
		mt_report_csv_end(s->report);
	}
}

/* ---- text ---- */

static char glyph_of(const struct stacked *s, uint32_t series)
{
	return series == s->of.count ? OTHER_GLYPH
				     : (char)(series < 26 ? 'A' + series : 'a' + series - 26);
}

static uint64_t total(const struct stacked *s, uint32_t column)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i <= s->of.count; i++)
		sum += live(s, i, column);
	return sum;
}

/* Each series ends where the sum up to it does, so that the bar as a whole is as long as the total
 * says. */
static void draw_bar(char bar[BAR_WIDTH + 1], const struct stacked *s, uint32_t column,
	uint64_t largest)
{
	uint64_t sum = 0;
	size_t len = 0;

	for (uint32_t i = 0; i <= s->of.count; i++) {
		sum += live(s, i, column);
		size_t end = (size_t)((unsigned __int128)sum * BAR_WIDTH / largest);

		memset(bar + len, glyph_of(s, i), end - len);
		len = end;
	}
	bar[len] = 0;
}

static void put_number(char out[MT_METRIC_LEN], const struct stacked *s, uint64_t value)
{
	mt_report_estimate(out, s->report, unit_of(s->report), value,
		mt_info_is_sampled(&mt_report_whole(s->report)->info), UINT64_MAX, -1);
}

static void print_bars(const struct stacked *s)
{
	const struct mt_report *report = s->report;
	const char *const headings[] = {"TIME", report->by_count ? "BLOCKS" : "LIVE", ""};
	static const bool numbers[] = {true, true, false};
	struct mt_table *table = mt_table_new(headings, numbers, 3);
	char number[MT_METRIC_LEN], bar[BAR_WIDTH + 1];
	uint64_t largest = 1;

	for (uint32_t i = 0; i < s->timeline.count; i++)
		largest = total(s, i) > largest ? total(s, i) : largest;
	for (uint32_t i = 0; i < s->timeline.count; i++) {
		mt_report_number(number, report, MT_UNIT_TIME, mt_timeline_end(&s->timeline, i));
		mt_table_cell(table, number);
		put_number(number, s, total(s, i));
		mt_table_cell(table, number);
		draw_bar(bar, s, i, largest);
		mt_table_cell(table, bar);
	}
	mt_table_print(table, report->out);
	mt_table_free(table);
}

static void print_legend(const struct stacked *s)
{
	const struct mt_report *report = s->report;
	const char *const headings[] = {"", "AT SHOWN PEAK", "OWN PEAK", "AT END",
		report->by == MT_ROWS_BY_BACKTRACE ? "BACKTRACE" : ""};
	static const bool numbers[] = {false, true, true, true, false};
	struct mt_table *table = mt_table_new(headings, numbers, 5);
	char number[MT_METRIC_LEN];

	for (uint32_t i = 0; i <= s->of.count; i++) {
		char glyph[2] = {glyph_of(s, i), 0}, *name = name_of(s, i, true);
		uint64_t largest = 0;

		for (uint32_t step = 0; step < s->of.steps; step++)
			largest = s->of.series[i].most[step] > largest
				? s->of.series[i].most[step]
				: largest;
		mt_table_cell(table, glyph);
		put_number(number, s, s->of.series[i].at_peak);
		mt_table_cell(table, number);
		put_number(number, s, largest);
		/* What is gone was in none of its steps. */
		mt_table_cell(table, i == s->of.count && s->of.gone_ns ? "-" : number);
		put_number(number, s, s->of.steps ? s->of.series[i].live[s->of.steps - 1] : 0);
		mt_table_cell(table, number);
		mt_table_cell(table, name);
		free(name);
	}
	fputs("\n", report->out);
	mt_table_print(table, report->out);
	mt_table_free(table);
}

static void write_text(const struct stacked *s)
{
	const struct mt_report *report = s->report;
	char number[MT_NUMBER_EXACT_LEN];

	print_bars(s);
	print_legend(s);
	mt_report_estimates(report, "");
	if (!s->of.gone_ns)
		return;
	mt_report_number(number, report, MT_UNIT_TIME, s->of.gone_ns);
	fprintf(report->out,
		"the events before %s were dropped (--max-size): blocks freed before that "
		"time count as others\n",
		number);
}

int mt_report_stacked(const struct mt_report *report, struct mt_err *err)
{
	const struct mt_matched *matched = report->matched;
	struct stacked s = {.report = report};

	if (matched && matched->to_ns < report->profile->info.wall_ns)
		s.of.until_ns = matched->to_ns ? matched->to_ns : 1;
	int status = mt_stacked_get(&s.of, report->source, report->asked, report->profile,
		report->by, report->by_count, report->top, err);

	if (status >= 0) {
		mt_report_timeline_of(&s.timeline, report);
		if (report->format == MT_FORMAT_JSON)
			write_json(&s);
		else if (report->format == MT_FORMAT_CSV)
			write_csv(&s);
		else
			write_text(&s);
	}
	mt_timeline_free(&s.timeline);
	mt_stacked_free(&s.of);
	return status;
}
