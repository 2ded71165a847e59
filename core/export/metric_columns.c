#include "core/export/metric_columns.h"

static const enum mt_metric usual[] = {MT_METRIC_LEAKED_SIZE, MT_METRIC_LEAKED_COUNT,
	MT_METRIC_SIZE, MT_METRIC_ALLOCATED_COUNT, MT_METRIC_AT_PEAK_SIZE,
	MT_METRIC_TEMPORARY_COUNT};
#define USUAL (sizeof usual / sizeof *usual)
_Static_assert(USUAL + 2 + MT_COLUMNS_MAX == MT_METRIC_COLUMNS_MAX,
	"with the metric that sorts, its share, and what the profile brings along");

void mt_metric_columns_init(struct mt_metric_columns *columns, const struct mt_report *report,
	const struct mt_profile *of)
{
	*columns = (struct mt_metric_columns){
		.report = report,
		.of = of,
		.metrics = {report->sort},
		.count = 1,
		.percent = mt_metric_sums(of, report->sort),
	};
	for (size_t i = 0; i < USUAL; i++)
		if (usual[i] != report->sort)
			columns->metrics[columns->count++] = usual[i];
	for (uint32_t i = MT_METRIC_COUNT; i < mt_metric_count(of); i++)
		if (i != report->sort && !mt_metric_info(of, (enum mt_metric)i)->aside)
			columns->metrics[columns->count++] = (enum mt_metric)i;
	for (uint32_t i = 0; i < of->group_count && columns->percent; i++)
		columns->total += mt_metric_value(of, &of->groups[i], report->sort);
}

uint32_t mt_metric_columns_head(const struct mt_metric_columns *columns, const char **headings,
	bool *numbers)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < columns->count; i++) {
		headings[at++] = mt_metric_heading(columns->of, columns->metrics[i],
			mt_report_knows_leaks(columns->report));
		if (!i && columns->percent)
			headings[at++] = "%";
	}
	for (uint32_t i = 0; i < at; i++)
		numbers[i] = true;
	return at;
}

double mt_metric_columns_percent(const struct mt_metric_columns *columns,
	const struct mt_group *sorted)
{
	uint64_t value = mt_metric_value(columns->of, sorted, columns->report->sort);

	return columns->total ? 100.0 * (double)value / (double)columns->total : 0;
}

void mt_metric_columns_cells(const struct mt_metric_columns *columns, struct mt_table *table,
	const struct mt_group *sorted, const struct mt_group *group)
{
	const struct mt_report *report = columns->report;
	char number[MT_METRIC_LEN];

	for (uint32_t i = 0; i < columns->count; i++) {
		mt_report_metric_of(number, report, i ? report->profile : columns->of,
			i ? group : sorted, columns->metrics[i]);
		mt_table_cell(table, number);
		if (i || !columns->percent)
			continue;
		snprintf(number, sizeof number, "%.1f", mt_metric_columns_percent(columns, sorted));
		mt_table_cell(table,
			mt_metric_is_known(columns->of, sorted, report->sort) ? number : "-");
	}
}

void mt_metric_columns_json(const struct mt_metric_columns *columns, struct mt_json *json,
	const struct mt_group *sorted)
{
	mt_json_key(json, "percent");
	if (columns->percent && mt_metric_is_known(columns->of, sorted, columns->report->sort))
		mt_json_real(json, mt_metric_columns_percent(columns, sorted));
	else
		mt_json_null(json);
}
