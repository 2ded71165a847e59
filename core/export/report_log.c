/* The log as lists: maps and unmaps, mallopt and malloc_trim. */
#include "core/export/journal.h"
#include "core/export/report_parts.h"
#include "core/export/table.h"
#include "core/query/log_match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CELL 128

struct row {
	const char *kind;
	char text[4][CELL]; /* columns of their own: headings below */
	bool failed;
};

/* What the two lists are made of. */
struct list {
	const char *names[4]; /* of the columns of their own: in JSON and CSV */
	const char *headings[4];
	bool numbers[4];
	/* Fills the row in; false: the entry is none of this list's. exact: as JSON and CSV have
	 * it. */
	bool (*describe)(struct row *, const struct mt_report *, const struct mt_log_entry *,
		bool exact);
};

/* ---- maps ---- */

static void protection(char out[CELL], uint64_t bits)
{
	snprintf(out, CELL, "%c%c%c", bits & PROT_READ ? 'r' : '-', bits & PROT_WRITE ? 'w' : '-',
		bits & PROT_EXEC ? 'x' : '-');
}

static void size_text(char out[CELL], const struct mt_report *report, uint64_t bytes, bool exact)
{
	char number[MT_NUMBER_EXACT_LEN];

	if (exact)
		snprintf(number, sizeof number, "%llu", (unsigned long long)bytes);
	else
		mt_report_number(number, report, MT_UNIT_BYTES, bytes);
	snprintf(out, CELL, "%s", number);
}

static bool describe_map(struct row *row, const struct mt_report *report,
	const struct mt_log_entry *e, bool exact)
{
	bool map = e->type == MT_LOG_MAP;
	bool moved = mt_profile_log_function(report->profile, e) == MT_FUNCTION_MREMAP;

	if (!map && e->type != MT_LOG_UNMAP && e->type != MT_LOG_UNMAP_FAILED)
		return false;
	row->failed = e->type == MT_LOG_UNMAP_FAILED;
	snprintf(row->text[0], CELL, "0x%llx", (unsigned long long)e->values[0]);
	size_text(row->text[1], report, e->values[1], exact);
	if (!map && moved && !exact) /* its first half: the next line is where it went */
		row->kind = "unmap (mremap)";
	if (map && moved)
		snprintf(row->text[3], CELL, "from 0x%llx", (unsigned long long)e->values[2]);
	if (!map || moved)
		return true;
	protection(row->text[2], e->values[2]);
	if (e->values[2] >> 32 & MAP_ANONYMOUS)
		snprintf(row->text[3], CELL, "anonymous");
	else
		snprintf(row->text[3], CELL, "file at %llu", (unsigned long long)e->values[3]);
	return true;
}

static const struct list maps = {{"address", "length", "protection", "of"},
	{"ADDRESS", "LENGTH", "PROT", "OF"}, {true, true, false, false}, describe_map};

/* ---- calls ---- */

static bool describe_call(struct row *row, const struct mt_report *report,
	const struct mt_log_entry *e, bool exact)
{
	const char *name = mt_journal_parameter((int)e->values[0]);

	(void)exact;
	if (e->type != MT_LOG_CALL)
		return false;
	if (mt_profile_log_function(report->profile, e) == MT_FUNCTION_MALLOC_TRIM) {
		snprintf(row->text[0], CELL, "pad");
		snprintf(row->text[1], CELL, "%llu", (unsigned long long)e->values[0]);
	} else {
		if (name)
			snprintf(row->text[0], CELL, "%s", name);
		else
			snprintf(row->text[0], CELL, "%d", (int)e->values[0]);
		snprintf(row->text[1], CELL, "%d", (int)e->values[1]);
	}
	snprintf(row->text[2], CELL, "%d", (int)e->values[2]);
	return true;
}

static const struct list calls = {{"parameter", "value", "result", NULL},
	{"PARAMETER", "VALUE", "RESULT", NULL}, {false, true, true, false}, describe_call};

/* ---- either ---- */

static uint32_t thread_of(const struct mt_report *report, const struct mt_log_entry *e)
{
	return e->thread < report->profile->thread_count
		? report->profile->threads[e->thread].tid
		: 0;
}

static bool is_text(const char *name)
{
	static const char *const numbers[] = {"length", "value", "result"};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(name, numbers[i]))
			return false;
	return true;
}

static void row_json(struct mt_json *json, const struct mt_report *report, const struct list *list,
	const struct row *row, const struct mt_log_entry *e, const struct mt_backtrace *backtrace)
{
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_seconds(json, "seconds", e->time_ns);
	mt_json_put_number(json, "thread", thread_of(report, e));
	mt_json_put_string(json, "kind", row->kind);
	for (int i = 0; i < 4 && list->names[i]; i++) {
		mt_json_key(json, list->names[i]);
		if (is_text(list->names[i]))
			mt_json_string(json, row->text[i]);
		else
			mt_json_integer(json, strtoll(row->text[i], NULL, 10));
	}
	mt_json_put_bool(json, "failed", row->failed);
	mt_report_json_backtrace(json, backtrace);
	mt_json_close(json, '}');
}

static void row_csv(const struct mt_report *report, const struct list *list, const struct row *row,
	const struct mt_log_entry *e, const char *where)
{
	char seconds[MT_NUMBER_EXACT_LEN];

	mt_number_seconds(seconds, e->time_ns);
	fprintf(report->out, "%s,%u,%s", seconds, thread_of(report, e), row->kind);
	for (int i = 0; i < 4 && list->names[i]; i++)
		mt_csv_field(report->out, false, row->text[i]);
	fprintf(report->out, ",%d", row->failed);
	mt_csv_field(report->out, false, where);
	mt_report_csv_end(report);
}

static void row_text(struct mt_table *table, const struct mt_report *report,
	const struct list *list, const struct row *row, const struct mt_log_entry *e,
	const char *where)
{
	char number[MT_NUMBER_EXACT_LEN], kind[CELL];

	mt_report_number(number, report, MT_UNIT_TIME, e->time_ns);
	mt_table_cell(table, number);
	snprintf(number, sizeof number, "%u", thread_of(report, e));
	mt_table_cell(table, number);
	snprintf(kind, sizeof kind, "%s%s", row->kind, row->failed ? " failed" : "");
	mt_table_cell(table, kind);
	for (int i = 0; i < 4 && list->names[i]; i++)
		mt_table_cell(table, row->text[i]);
	mt_table_cell(table, where);
}

/* The first own frames of the stack on one line. */
static char *where_of(const struct mt_backtrace *backtrace)
{
	const struct mt_backtrace_frame *own = mt_backtrace_own(backtrace);
	struct mt_buffer text = {0};

	for (uint32_t i = own ? (uint32_t)(own - backtrace->frames) : 0, n = 0;
		i < backtrace->count && n < 3; i++, n++) {
		char *name = mt_report_frame_name(&backtrace->frames[i]);
		char *place = mt_report_frame_place(&backtrace->frames[i]);

		mt_buffer_printf(&text, "%s%s%s%s%s", n ? " < " : "", name,
			*place && !n ? " (" : "", n ? "" : place, *place && !n ? ")" : "");
		free(name);
		free(place);
	}
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}

static void rows(const struct mt_report *report, const struct list *list, const uint8_t *matches,
	struct mt_json *json, struct mt_table *table)
{
	const struct mt_profile *p = report->profile;
	struct mt_backtrace backtrace = {0};
	uint64_t at = 0;

	for (uint32_t i = 0; i < p->log_count; i++) {
		const struct mt_log_entry *e = &p->log[i];
		struct row row = {
			.kind = mt_profile_function_name(p, mt_profile_log_function(p, e))};

		if (!matches[i]
			|| !list->describe(&row, report, e, report->format != MT_FORMAT_TEXT)
			|| at++ < report->skip)
			continue;
		if (report->count && at > report->skip + report->count)
			break;
		mt_backtrace_of(&backtrace, p, report->symbols, e->node);
		char *where = where_of(&backtrace);

		if (json)
			row_json(json, report, list, &row, e, &backtrace);
		else if (table)
			row_text(table, report, list, &row, e, where);
		else
			row_csv(report, list, &row, e, where);
		free(where);
	}
	mt_backtrace_free(&backtrace);
}

static void list_text(const struct mt_report *report, const struct list *list,
	const uint8_t *matches)
{
	const char *headings[8] = {"TIME", "THREAD", "CALL"};
	bool numbers[8] = {true, true, false};
	uint32_t count = 3;

	for (int i = 0; i < 4 && list->names[i]; i++, count++) {
		headings[count] = list->headings[i];
		numbers[count] = list->numbers[i];
	}
	headings[count++] = "WHERE";
	struct mt_table *table = mt_table_new(headings, numbers, count);

	rows(report, list, matches, NULL, table);
	mt_table_print(table, report->out);
	mt_table_free(table);
}

static int report_list(const struct mt_report *report, const struct list *list, struct mt_err *err)
{
	struct mt_json json = {.out = report->out};
	uint8_t *matches = mt_alloc(report->profile->log_count + 1u);
	int result = mt_log_match(matches, report->profile, report->symbols, report->asked, err);

	if (result) {
		free(matches);
		return result;
	}
	if (report->format == MT_FORMAT_TEXT) {
		list_text(report, list, matches);
	} else if (report->format == MT_FORMAT_CSV) {
		fputs("seconds,thread,kind", report->out);
		for (int i = 0; i < 4 && list->names[i]; i++)
			fprintf(report->out, ",%s", list->names[i]);
		fputs(",failed,where", report->out);
		mt_report_csv_end_names(report);
		rows(report, list, matches, NULL, NULL);
	} else {
		mt_json_open(&json, '[');
		rows(report, list, matches, &json, NULL);
		json.comma = false;
		mt_json_line(&json);
		mt_json_close(&json, ']');
		putc('\n', report->out);
	}
	free(matches);
	return 0;
}

int mt_report_mmaps(const struct mt_report *report, struct mt_err *err)
{
	return report_list(report, &maps, err);
}

int mt_report_mallopts(const struct mt_report *report, struct mt_err *err)
{
	return report_list(report, &calls, err);
}
