#include "core/export/report_parts.h"
#include "core/export/table.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMNS 40
#define BAR_WIDTH 30
#define BAR_LEAST 10
#define BAR_BESIDE 58 /* columns of a terminal that the numbers take, about */
#define NOTES_MOST 60 /* bytes, about */

#define SERIES(X) \
	X(live_bytes, "LIVE", MT_UNIT_BYTES) \
	X(live_count, "BLOCKS", MT_UNIT_COUNT) \
	X(max_bytes, "MAX", MT_UNIT_BYTES) \
	X(allocations, "ALLOCS", MT_UNIT_COUNT) \
	X(frees, "FREES", MT_UNIT_COUNT)

static void timeline_json(const struct mt_report *report, const struct mt_timeline *timeline)
{
	struct mt_json json = {.out = report->out};

	mt_json_open(&json, '{');
	mt_json_put_seconds(&json, "history_from_seconds", report->profile->info.history_from_ns);
	if (mt_info_is_sampled(&mt_report_whole(report)->info))
		mt_json_put_bool(&json, "estimated", true);
	mt_json_key(&json, "seconds");
	mt_json_open(&json, '[');
	for (uint32_t i = 0; i < timeline->count; i++)
		mt_json_seconds(&json, mt_timeline_end(timeline, i));
	mt_json_close(&json, ']');
#define X(name, heading, unit) \
	mt_json_key(&json, #name); \
	mt_json_open(&json, '['); \
	for (uint32_t i = 0; i < timeline->count; i++) \
		mt_json_number(&json, timeline->columns[i].name); \
	mt_json_close(&json, ']');
	SERIES(X)
#undef X
#define X(name) \
	mt_json_key(&json, #name); \
	mt_json_open(&json, '['); \
	for (uint32_t i = 0; i < timeline->count; i++) \
		mt_report_json_memory(&json, &timeline->columns[i].memory, \
			timeline->columns[i].memory.name); \
	mt_json_close(&json, ']');
	MT_MEMORY(X)
#undef X
	mt_json_close(&json, '}');
	putc('\n', report->out);
}

static void timeline_csv(const struct mt_report *report, const struct mt_timeline *timeline)
{
	char seconds[MT_NUMBER_EXACT_LEN];

	fputs("seconds", report->out);
#define X(name, ...) fputs("," #name, report->out);
	SERIES(X)
	MT_MEMORY(X)
#undef X
	mt_report_csv_end_names(report);
	for (uint32_t i = 0; i < timeline->count; i++) {
		mt_number_seconds(seconds, mt_timeline_end(timeline, i));
		fputs(seconds, report->out);
#define X(name, heading, unit) \
	fprintf(report->out, ",%llu", (unsigned long long)timeline->columns[i].name);
		SERIES(X)
#undef X
#define X(name) fprintf(report->out, ",%llu", (unsigned long long)timeline->columns[i].memory.name);
		MT_MEMORY(X)
#undef X
		mt_report_csv_end(report);
	}
}

/* What the log says of a column's time: markers by name, how many pauses and gaps. NULL: nothing;
 * caller frees. */
static char *notes_of(const struct mt_profile *p, uint64_t from_ns, uint64_t to_ns)
{
	struct mt_buffer text = {0};

	for (uint32_t i = 0; i < p->log_count && text.len < NOTES_MOST; i++) {
		const struct mt_log_entry *e = &p->log[i];
		const char *words = e->type == MT_LOG_MARKER ? ""
			: e->type == MT_LOG_PAUSE            ? "pause"
			: e->type == MT_LOG_RESUME           ? "resume"
			: e->type == MT_LOG_GAP              ? "gap"
							     : NULL;

		if (!words || e->time_ns < from_ns || e->time_ns >= to_ns)
			continue;
		mt_buffer_printf(&text, "%s%s%s%s", text.len ? ", " : "", words,
			*words && e->text ? " " : "", mt_strings_get(&p->strings, e->text));
	}
	if (!text.len) {
		mt_buffer_free(&text); /* a marker may have no name */
		return NULL;
	}
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}

/* Of a range, its end is part. */
static uint64_t notes_end(const struct mt_report *report)
{
	const struct mt_matched *matched = report->matched;

	return matched && matched->to_ns < report->profile->info.wall_ns
		? matched->to_ns + 1
		: UINT64_MAX;
}

/* On a narrow terminal it leaves room for the numbers. */
static uint32_t bar_width(const struct mt_report *report)
{
	if (!report->width || report->width >= BAR_BESIDE + BAR_WIDTH)
		return BAR_WIDTH;
	return report->width >= BAR_BESIDE + BAR_LEAST ? report->width - BAR_BESIDE : BAR_LEAST;
}

static void timeline_text(const struct mt_report *report, const struct mt_timeline *timeline)
{
#define X(name, heading, unit) heading,
	const char *const headings[] = {"TIME",
		SERIES(X) report->matched && report->matched->own ? "PROCESS RSS" : "RSS", ""};
#undef X
	static const bool numbers[] = {true, true, true, true, true, true, true, false};
	const uint32_t columns = sizeof headings / sizeof *headings;
	struct mt_table *table = mt_table_new(headings, numbers, columns);
	char number[MT_METRIC_LEN], bar[BAR_WIDTH + 1];
	bool sampled = mt_info_is_sampled(&mt_report_whole(report)->info);
	uint64_t most = 1, history_ns = report->profile->info.history_from_ns;

	for (uint32_t i = 0; i < timeline->count; i++)
		if (timeline->columns[i].live_bytes > most)
			most = timeline->columns[i].live_bytes;
	for (uint32_t i = 0; i < timeline->count; i++) {
		const struct mt_sample *column = &timeline->columns[i];
		size_t len =
			(size_t)((unsigned __int128)column->live_bytes * bar_width(report) / most);

		mt_report_number(number, report, MT_UNIT_TIME, mt_timeline_end(timeline, i));
		mt_table_cell(table, number);
#define X(name, heading, unit) \
	mt_report_estimate(number, report, unit, column->name, sampled, UINT64_MAX, -1); \
	mt_table_cell(table, number);
		SERIES(X)
#undef X
		mt_report_number(number, report, MT_UNIT_BYTES, column->memory.rss_bytes);
		mt_table_cell(table, column->memory.rss_bytes ? number : "-");
		memset(bar, mt_timeline_end(timeline, i) <= history_ns ? ':' : '#', len);
		bar[len] = 0;
		char *notes = notes_of(report->profile,
			i ? mt_timeline_end(timeline, i - 1) : timeline->from_ns,
			i + 1 < timeline->count ? mt_timeline_end(timeline, i) : notes_end(report));
		char *cell = notes ? mt_format("%s%s%s", bar, len ? " " : "", notes) : NULL;

		mt_table_cell(table, cell ? cell : bar);
		free(cell);
		free(notes);
	}
	mt_table_print(table, report->out);
	mt_table_free(table);
	if (!history_ns)
		return;
	mt_report_number(number, report, MT_UNIT_TIME, history_ns);
	fprintf(report->out,
		":  the events before %s were dropped (--max-size); these numbers are those "
		"of the whole run\n",
		number);
}

void mt_report_timeline_of(struct mt_timeline *timeline, const struct mt_report *report)
{
	const struct mt_matched *matched = report->matched;
	uint32_t columns = report->columns ? report->columns
		: report->format == MT_FORMAT_TEXT
		? TEXT_COLUMNS
		: UINT32_MAX;

	mt_timeline_of_steps(timeline, report->profile, matched ? matched->from_ns : 0,
		matched ? matched->to_ns : UINT64_MAX, columns);
}

int mt_report_timeline(const struct mt_report *report, struct mt_err *err)
{
	struct mt_timeline timeline = {0};

	(void)err;
	mt_report_timeline_of(&timeline, report);
	if (report->format == MT_FORMAT_JSON)
		timeline_json(report, &timeline);
	else if (report->format == MT_FORMAT_CSV)
		timeline_csv(report, &timeline);
	else
		timeline_text(report, &timeline);
	mt_timeline_free(&timeline);
	return 0;
}
