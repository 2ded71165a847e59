#include "core/export/report_parts.h"
#include "core/export/table.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMNS 40
#define BAR_WIDTH 30
#define NOTES_MOST 60 /* bytes, about */

uint64_t mt_report_column_time(const struct mt_timeline *timeline, uint32_t column)
{
	unsigned __int128 width = timeline->to_ns - timeline->from_ns;

	return timeline->from_ns + (uint64_t)(width * (column + 1) / timeline->count);
}

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
	mt_json_key(&json, "history_from_seconds");
	mt_json_seconds(&json, report->profile->info.history_from_ns);
	mt_json_key(&json, "seconds");
	mt_json_open(&json, '[');
	for (uint32_t i = 0; i < timeline->count; i++)
		mt_json_seconds(&json, mt_report_column_time(timeline, i));
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
		mt_report_json_memory(&json, &timeline->columns[i].memory, timeline->columns[i].memory.name); \
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
	putc('\n', report->out);
	for (uint32_t i = 0; i < timeline->count; i++) {
		mt_number_seconds(seconds, mt_report_column_time(timeline, i));
		fputs(seconds, report->out);
#define X(name, heading, unit) fprintf(report->out, ",%llu", (unsigned long long)timeline->columns[i].name);
		SERIES(X)
#undef X
#define X(name) fprintf(report->out, ",%llu", (unsigned long long)timeline->columns[i].memory.name);
		MT_MEMORY(X)
#undef X
		putc('\n', report->out);
	}
}

/* What the log says of a column's time: markers by name, how many pauses and gaps. NULL: nothing; caller frees. */
static char *notes_of(const struct mt_profile *p, uint64_t from_ns, uint64_t to_ns)
{
	struct mt_buffer text = {0};

	for (uint32_t i = 0; i < p->log_count && text.len < NOTES_MOST; i++) {
		const struct mt_log_entry *e = &p->log[i];
		const char *words = e->type == MT_LOG_MARKER ? "" : e->type == MT_LOG_PAUSE ? "pause" :
			e->type == MT_LOG_RESUME ? "resume" : e->type == MT_LOG_GAP ? "gap" : NULL;

		if (!words || e->time_ns < from_ns || e->time_ns >= to_ns)
			continue;
		mt_buffer_printf(&text, "%s%s%s%s", text.len ? ", " : "", words, *words && e->text ? " " : "",
			mt_strings_get(&p->strings, e->text));
	}
	if (!text.len)
		return NULL;
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}

static void timeline_text(const struct mt_report *report, const struct mt_timeline *timeline)
{
#define X(name, heading, unit) heading,
	static const char *const headings[] = {"TIME", SERIES(X) "RSS", ""};
#undef X
	static const bool numbers[] = {true, true, true, true, true, true, true, false};
	const uint32_t columns = sizeof headings / sizeof *headings;
	struct mt_table *table = mt_table_new(headings, numbers, columns);
	char number[MT_NUMBER_EXACT_LEN], bar[BAR_WIDTH + 1];
	uint64_t most = 1, history_ns = report->profile->info.history_from_ns;

	for (uint32_t i = 0; i < timeline->count; i++)
		if (timeline->columns[i].live_bytes > most)
			most = timeline->columns[i].live_bytes;
	for (uint32_t i = 0; i < timeline->count; i++) {
		const struct mt_sample *column = &timeline->columns[i];
		size_t len = (size_t)((unsigned __int128)column->live_bytes * BAR_WIDTH / most);

		mt_report_number(number, report, MT_UNIT_TIME, mt_report_column_time(timeline, i));
		mt_table_cell(table, number);
#define X(name, heading, unit) \
	mt_report_number(number, report, unit, column->name); \
	mt_table_cell(table, number);
		SERIES(X)
#undef X
		mt_report_number(number, report, MT_UNIT_BYTES, column->memory.rss_bytes);
		mt_table_cell(table, column->memory.rss_bytes ? number : "-");
		memset(bar, mt_report_column_time(timeline, i) <= history_ns ? ':' : '#', len);
		bar[len] = 0;
		char *notes = notes_of(report->profile, i ? mt_report_column_time(timeline, i - 1) : 0,
			i + 1 < timeline->count ? mt_report_column_time(timeline, i) : UINT64_MAX);
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
	fprintf(report->out, ":  the single events before %s are gone (--max-size); these numbers are of the whole run\n", number);
}

static uint32_t default_columns(const struct mt_report *report)
{
	if (report->columns)
		return report->columns;
	if (report->format == MT_FORMAT_TEXT && report->profile->sample_count > TEXT_COLUMNS)
		return TEXT_COLUMNS;
	return report->profile->sample_count;
}

void mt_report_timeline_of(struct mt_timeline *timeline, const struct mt_report *report)
{
	const struct mt_profile *profile = report->profile;
	const struct mt_matched *matched = report->matched;
	uint64_t start = 0, end = profile->step_ns * profile->sample_count;
	bool range = matched && (matched->from_ns || matched->to_ns < profile->info.wall_ns);

	/* As recorded: whole steps. Resampled: the run's time, or the range of it. */
	if (range) {
		start = matched->from_ns;
		end = matched->to_ns > start ? matched->to_ns : start + 1;
	} else if (default_columns(report) != profile->sample_count && profile->info.wall_ns && profile->info.wall_ns < end) {
		end = profile->info.wall_ns;
	}
	mt_timeline_get(timeline, profile, start, end, default_columns(report));
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
