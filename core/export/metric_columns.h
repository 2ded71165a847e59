/* The columns of numbers that tables of groups begin with: the metric that sorts, its share of the
 * total, and the usual metrics. */
#ifndef MT_EXPORT_METRIC_COLUMNS_H
#define MT_EXPORT_METRIC_COLUMNS_H

#include "core/export/report_parts.h"
#include "core/export/table.h"

#define MT_METRIC_COLUMNS_MAX (8 + MT_COLUMNS_MAX)

struct mt_metric_columns {
	const struct mt_report *report;
	const struct mt_profile *of; /* where the metric that sorts comes from */
	enum mt_metric metrics[MT_METRIC_COLUMNS_MAX - 1];
	uint32_t count; /* of metrics */
	bool percent;   /* the metric that sorts adds up */
	uint64_t total; /* of it, over all groups of the profile */
};

void mt_metric_columns_init(struct mt_metric_columns *, const struct mt_report *,
	const struct mt_profile *of);
/* Fills headings and numbers (see mt_table_new) for the columns; returns how many there are. */
uint32_t mt_metric_columns_head(const struct mt_metric_columns *, const char **headings,
	bool *numbers);
/* sorted: the group whose metric sorts; group: that of all other columns. */
void mt_metric_columns_cells(const struct mt_metric_columns *, struct mt_table *,
	const struct mt_group *sorted, const struct mt_group *group);
/* The share of the total in percent; 0 if the total is 0. */
double mt_metric_columns_percent(const struct mt_metric_columns *, const struct mt_group *sorted);
/* "percent": the same, or null if the metric does not add up: into an open object. */
void mt_metric_columns_json(const struct mt_metric_columns *, struct mt_json *,
	const struct mt_group *sorted);

#endif
