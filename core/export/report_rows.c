/* Groups put together by function, line, file, module or kind; and a function's callers and
 * callees. */
#include "core/export/metric_columns.h"

#include "core/query/callers.h"
#include "core/query/frame.h"
#include "core/query/rows.h"

#include <stdlib.h>

/* A table of metrics, then one more number and the name; headings: of these two, NULL: none. */
static struct mt_table *new_table(const struct mt_metric_columns *columns, const char *name,
	const char *number)
{
	static const char *headings[MT_METRIC_COLUMNS_MAX + 2];
	static bool numbers[MT_METRIC_COLUMNS_MAX + 2];
	uint32_t count = mt_metric_columns_head(columns, headings, numbers);

	if (number) {
		headings[count] = number;
		numbers[count++] = true;
	}
	headings[count] = name;
	numbers[count++] = false;
	struct mt_table *table = mt_table_new(headings, numbers, count);

	mt_table_fit(table, columns->report->width);
	return table;
}

/* ---- rows ---- */

static void rows_json(const struct mt_metric_columns *columns, const struct mt_rows *rows,
	uint64_t from, uint64_t to)
{
	const struct mt_report *report = columns->report;
	struct mt_json json = {.out = report->out};

	mt_json_open(&json, '[');
	for (uint64_t i = from; i < to; i++) {
		const struct mt_row *row = &rows->rows[i];

		mt_json_line(&json);
		mt_json_open(&json, '{');
		mt_json_key(&json, mt_rows_by_name(report->by));
		mt_json_string(&json, mt_strings_get(&rows->names, row->name));
		if (report->by != MT_ROWS_BY_THREAD) {
			mt_json_key(&json, "groups");
			mt_json_number(&json, row->group_count);
			mt_json_key(&json, "all");
			mt_report_json_metrics(&json, mt_report_whole(report), &row->all);
		}
		mt_report_json_estimated(&json, report->profile, &row->sum);
		mt_metric_columns_json(columns, &json, &row->sum);
		mt_json_key(&json, "only_matched");
		mt_report_json_metrics(&json, report->profile, &row->sum);
		mt_json_close(&json, '}');
	}
	json.comma = false;
	mt_json_line(&json);
	mt_json_close(&json, ']');
	putc('\n', report->out);
}

static void rows_csv(const struct mt_report *report, const struct mt_rows *rows, uint64_t from,
	uint64_t to)
{
	fprintf(report->out, "%s,groups", mt_rows_by_name(report->by)); /* of threads: 0 */
	mt_report_csv_metric_names(report->out, report->profile, "");
	mt_report_csv_end_names(report);
	for (uint64_t i = from; i < to; i++) {
		mt_csv_field(report->out, true, mt_strings_get(&rows->names, rows->rows[i].name));
		fprintf(report->out, ",%u", rows->rows[i].group_count);
		mt_report_csv_metrics(report->out, report->profile, &rows->rows[i].sum);
		mt_report_csv_end(report);
	}
}

static void rows_text(const struct mt_metric_columns *columns, const struct mt_rows *rows,
	uint64_t from, uint64_t to)
{
	static const char *const headings[] = {
#define X(id, name, words) #id,
		MT_ROWS_BY(X)
#undef X
	};
	const struct mt_report *report = columns->report;
	bool threads = report->by == MT_ROWS_BY_THREAD;
	struct mt_table *table =
		new_table(columns, headings[report->by], threads ? NULL : "GROUPS");
	char number[MT_NUMBER_EXACT_LEN];

	for (uint64_t i = from; i < to; i++) {
		const struct mt_row *row = &rows->rows[i];
		char *name = mt_report_shorten(report, mt_strings_get(&rows->names, row->name));

		mt_metric_columns_cells(columns, table, &row->sum, &row->sum);
		if (!threads) {
			mt_report_number(number, report, MT_UNIT_COUNT, row->group_count);
			mt_table_cell(table, number);
		}
		mt_table_cell(table, name);
		free(name);
	}
	mt_table_print(table, report->out);
	mt_table_free(table);
}

void mt_report_rows(const struct mt_report *report, const struct mt_rows *rows)
{
	uint64_t from = report->skip < rows->count ? report->skip : rows->count;
	uint64_t to = report->count && report->count < rows->count - from
		? from + report->count
		: rows->count;
	struct mt_metric_columns columns;

	mt_metric_columns_init(&columns, report, report->profile);
	if (report->format == MT_FORMAT_JSON)
		rows_json(&columns, rows, from, to);
	else if (report->format == MT_FORMAT_CSV)
		rows_csv(report, rows, from, to);
	else
		rows_text(&columns, rows, from, to);
}

/* ---- callers ---- */

static void relations_json(struct mt_json *json, const struct mt_report *report,
	const struct mt_callers *callers, const struct mt_relations *relations)
{
	struct mt_backtrace_frame frame;

	mt_json_open(json, '[');
	for (uint32_t i = 0; i < relations->count; i++) {
		const struct mt_relation *relation = &relations->items[i];

		mt_json_line(json);
		mt_json_open(json, '{');
		if (relation->pc != MT_NO_NODE) {
			mt_frame_describe(&frame, report->profile, report->symbols, relation->pc,
				relation->frame);
			mt_report_json_frame(json, &frame);
		} else {
			mt_json_key(json, "function");
			mt_json_string(json, mt_strings_get(&callers->names, relation->name));
		}
		mt_report_json_estimated(json, report->profile, &relation->sum);
		mt_json_key(json, "total");
		mt_report_json_metrics(json, report->profile, &relation->sum);
		mt_json_close(json, '}');
	}
	mt_json_close(json, ']');
}

static void callers_json(const struct mt_report *report, const struct mt_callers *callers)
{
	struct mt_json json = {.out = report->out};

	mt_json_open(&json, '{');
	mt_json_key(&json, "function");
	mt_json_string(&json, report->function);
	mt_json_key(&json, "functions");
	mt_json_open(&json, '[');
	for (uint32_t i = 1; i < callers->functions.count; i++)
		mt_json_string(&json, mt_strings_get(&callers->functions, i));
	mt_json_close(&json, ']');
	mt_json_key(&json, "groups");
	mt_json_number(&json, callers->group_count);
	mt_report_json_estimated(&json, report->profile, &callers->total);
	mt_json_key(&json, "total");
	mt_report_json_metrics(&json, report->profile, &callers->total);
	mt_json_key(&json, "self");
	mt_report_json_metrics(&json, report->profile, &callers->self);
	mt_json_key(&json, "callers");
	relations_json(&json, report, callers, &callers->callers);
	mt_json_key(&json, "callees");
	relations_json(&json, report, callers, &callers->callees);
	mt_json_close(&json, '}');
	putc('\n', report->out);
}

static void relations_csv(const struct mt_report *report, const struct mt_callers *callers,
	const struct mt_relations *relations, const char *what)
{
	for (uint32_t i = 0; i < relations->count; i++) {
		fputs(what, report->out);
		mt_csv_field(report->out, false,
			mt_strings_get(&callers->names, relations->items[i].name));
		mt_report_csv_metrics(report->out, report->profile, &relations->items[i].sum);
		mt_report_csv_end(report);
	}
}

static void relations_text(const struct mt_metric_columns *columns,
	const struct mt_callers *callers, const struct mt_relations *relations, const char *heading)
{
	const struct mt_report *report = columns->report;
	struct mt_table *table = new_table(columns, heading, NULL);
	uint64_t shown = report->count && report->count < relations->count
		? report->count
		: relations->count;

	for (uint64_t i = 0; i < shown; i++) {
		char *name = mt_report_shorten(report,
			mt_strings_get(&callers->names, relations->items[i].name));

		mt_metric_columns_cells(columns, table, &relations->items[i].sum,
			&relations->items[i].sum);
		mt_table_cell(table, name);
		free(name);
	}
	mt_table_print(table, report->out);
	mt_table_free(table);
	if (shown < relations->count)
		fprintf(report->out, "and %u more\n", (unsigned)(relations->count - shown));
}

static void callers_text(const struct mt_report *report, const struct mt_callers *callers)
{
	uint32_t functions = callers->functions.count - 1;
	struct mt_metric_columns columns;

	mt_metric_columns_init(&columns, report, report->profile);
	struct mt_table *table =
		new_table(&columns, functions == 1 ? "FUNCTION" : "FUNCTIONS, TOGETHER", NULL);
	char *name = mt_report_shorten(report, mt_strings_get(&callers->functions, 1));
	char *more = functions == 1 ? mt_format("%s", name)
				    : mt_format("%s and %u more", name, functions - 1);

	mt_metric_columns_cells(&columns, table, &callers->total, &callers->total);
	mt_table_cell(table, more);
	mt_table_print(table, report->out);
	mt_table_free(table);
	free(more);
	free(name);
	putc('\n', report->out);
	relations_text(&columns, callers, &callers->callers, "CALLED BY");
	putc('\n', report->out);
	relations_text(&columns, callers, &callers->callees, "CALLS");
}

int mt_report_callers(const struct mt_report *report, struct mt_err *err)
{
	struct mt_selection selection = {0};
	struct mt_callers callers = {0};
	int status = mt_select(&selection, report->profile, report->symbols, report->filter,
		report->sort, report->ascending, err);

	if (status >= 0)
		status = mt_callers_get(&callers, report->profile, report->symbols, &selection,
			report->function, report->sort, err);
	if (status >= 0 && report->format == MT_FORMAT_JSON) {
		callers_json(report, &callers);
	} else if (status >= 0 && report->format == MT_FORMAT_CSV) {
		fputs("side,function", report->out);
		mt_report_csv_metric_names(report->out, report->profile, "");
		mt_report_csv_end_names(report);
		relations_csv(report, &callers, &callers.callers, "caller");
		relations_csv(report, &callers, &callers.callees, "callee");
	} else if (status >= 0) {
		callers_text(report, &callers);
	}
	mt_callers_free(&callers);
	mt_selection_free(&selection);
	return status;
}
