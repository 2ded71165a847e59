#include "core/export/metric_columns.h"

#include <stdlib.h>

#define FREE_SITES 10 /* of a group */
#define TEXT_FRAMES 5 /* of a backtrace, on one line */

char *mt_report_one_line(const struct mt_report *report, const struct mt_backtrace *backtrace,
	const char *separator, uint32_t frames)
{
	struct mt_buffer text = {0};
	uint32_t first = frames && backtrace->count
		? (uint32_t)(mt_backtrace_own(backtrace) - backtrace->frames)
		: 0;

	for (uint32_t i = first; i < backtrace->count; i++) {
		if (frames && i - first == frames) {
			mt_buffer_printf(&text, "%s...", separator);
			break;
		}
		char *name = mt_report_frame_name(&backtrace->frames[i]);

		if (report->format == MT_FORMAT_TEXT && report->short_names) {
			char *whole = name;

			name = mt_name_fold(whole, "\xe2\x80\xa6", report->width > 0);
			free(whole);
		}

		mt_buffer_printf(&text, "%s%s%s",
			i > first   ? separator
				: i ? "..."
				    : "",
			i == first && i ? separator : "", name);
		free(name);
	}
	mt_buffer_add(&text, "", 1);
	return (char *)text.data;
}

/* Where blocks were freed, in order of groups, and most often first. */
struct sites {
	struct mt_free_site *items;
	uint32_t count;
};

static int compare_sites(const void *a, const void *b)
{
	const struct mt_free_site *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static struct sites sort_sites(const struct mt_profile *p)
{
	struct sites sites = {mt_alloc((p->free_site_count + 1) * sizeof *sites.items),
		p->free_site_count};

	for (uint32_t i = 0; i < sites.count; i++)
		sites.items[i] = p->free_sites[i];
	qsort(sites.items, sites.count, sizeof *sites.items, compare_sites);
	return sites;
}

static uint32_t first_site(const struct sites *sites, uint32_t group)
{
	uint32_t low = 0, high = sites->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sites->items[middle].group < group)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void freed_by(struct mt_json *json, const struct mt_report *report,
	const struct sites *sites, uint32_t id)
{
	struct mt_backtrace backtrace = {0};
	uint32_t first = first_site(sites, id);

	mt_json_key(json, "freed_by");
	mt_json_open(json, '[');
	for (uint32_t i = first;
		i < sites->count && i - first < FREE_SITES && sites->items[i].group == id; i++) {
		mt_json_open(json, '{');
		mt_json_key(json, "count");
		mt_json_number(json, sites->items[i].count);
		mt_json_key(json, "kind");
		mt_json_string(json,
			mt_profile_function_name(report->profile,
				mt_profile_node_function(report->profile, sites->items[i].node)));
		mt_backtrace_of(&backtrace, report->profile, report->symbols, sites->items[i].node);
		mt_report_json_backtrace(json, &backtrace);
		mt_json_close(json, '}');
	}
	mt_json_close(json, ']');
	mt_backtrace_free(&backtrace);
}

static void group_json(struct mt_json *json, const struct mt_metric_columns *columns, uint32_t id,
	const struct mt_backtrace *backtrace, const struct sites *sites)
{
	const struct mt_report *report = columns->report;
	const struct mt_profile *whole = mt_report_whole(report);
	const struct mt_group *group = &report->profile->groups[id];

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_key(json, "id");
	mt_json_number(json, id);
	mt_json_key(json, "kind");
	mt_json_string(json,
		mt_profile_function_name(report->profile,
			mt_profile_group_function(report->profile, id)));
	mt_report_json_estimated(json, report->profile, group);
	mt_metric_columns_json(columns, json, &columns->of->groups[id]);
	if (report->suppressed && report->suppressed->blocks) {
		mt_json_key(json, "suppressed_count");
		mt_json_number(json, report->suppressed->blocks[id]);
		mt_json_key(json, "suppressed_bytes");
		mt_json_number(json, report->suppressed->bytes[id]);
	}
	mt_json_key(json, "all");
	mt_report_json_metrics(json, whole, &whole->groups[id]);
	mt_json_key(json, "only_matched");
	mt_report_json_metrics(json, report->profile, group);
	mt_report_json_backtrace(json, backtrace);
	if (backtrace->count) {
		mt_json_key(json, "where");
		mt_json_number(json, (uint64_t)(mt_backtrace_own(backtrace) - backtrace->frames));
	}
	if (sites->count) /* the stacks of frees were recorded */
		freed_by(json, report, sites, id);
	mt_json_close(json, '}');
}

static void group_csv(const struct mt_report *report, uint32_t id,
	const struct mt_backtrace *backtrace)
{
	char *frames = mt_report_one_line(report, backtrace, ";", 0);

	fprintf(report->out, "%u,%s", id,
		mt_profile_function_name(report->profile,
			mt_profile_group_function(report->profile, id)));
	mt_report_csv_metrics(report->out, report->profile, &report->profile->groups[id]);
	mt_csv_field(report->out, false, frames);
	mt_report_csv_end(report);
	free(frames);
}

static void group_text(struct mt_table *table, const struct mt_metric_columns *columns, uint32_t id,
	const struct mt_backtrace *backtrace)
{
	const struct mt_report *report = columns->report;
	char number[MT_METRIC_LEN];

	snprintf(number, sizeof number, "%u", id);
	mt_table_cell(table, number);
	mt_metric_columns_cells(columns, table, &columns->of->groups[id],
		&report->profile->groups[id]);
	mt_table_cell(table,
		mt_profile_function_name(report->profile,
			mt_profile_group_function(report->profile, id)));
	char *frames = mt_report_one_line(report, backtrace, " < ", TEXT_FRAMES);

	mt_table_cell(table, frames);
	free(frames);
}

static void rows(const struct mt_metric_columns *columns, const struct mt_selection *selection,
	struct mt_json *json, struct mt_table *table)
{
	const struct mt_report *report = columns->report;
	struct mt_backtrace backtrace = {0};
	struct sites sites = sort_sites(report->profile);
	uint64_t end = selection->count;

	if (report->count && report->skip + report->count < end)
		end = report->skip + report->count;
	for (uint64_t i = report->skip; i < end; i++) {
		uint32_t id = selection->groups[i];

		mt_backtrace_get(&backtrace, report->profile, report->symbols, id);
		if (report->format == MT_FORMAT_JSON)
			group_json(json, columns, id, &backtrace, &sites);
		else if (report->format == MT_FORMAT_CSV)
			group_csv(report, id, &backtrace);
		else
			group_text(table, columns, id, &backtrace);
	}
	mt_backtrace_free(&backtrace);
	free(sites.items);
}

static void text(const struct mt_metric_columns *columns, const struct mt_selection *selection)
{
	const char *headings[MT_METRIC_COLUMNS_MAX + 3] = {"GROUP"};
	bool numbers[MT_METRIC_COLUMNS_MAX + 3] = {true};
	uint32_t count = 1 + mt_metric_columns_head(columns, headings + 1, numbers + 1);

	headings[count++] = "KIND";
	headings[count++] = "BACKTRACE";
	struct mt_table *table = mt_table_new(headings, numbers, count);

	rows(columns, selection, NULL, table);
	mt_table_fit(table, columns->report->width);
	mt_table_print(table, columns->report->out);
	mt_table_free(table);
}

/* In a set of processes each is one group: how many it has, its members know. */
static void count_groups(struct mt_rows *rows, const struct mt_set *set)
{
	uint32_t *counts = mt_alloc(((size_t)rows->names.count + 1) * sizeof *counts);
	struct mt_buffer label = {0};

	for (uint32_t i = 0; i < mt_set_count(set); i++) {
		mt_set_member_label(&label, mt_set_member(set, i));
		uint32_t name = mt_strings_add(&rows->names, (const char *)label.data);

		if (name <= rows->count)
			counts[name] += mt_set_member(set, i)->groups;
	}
	for (uint32_t i = 0; i < rows->count; i++)
		rows->rows[i].group_count = counts[rows->rows[i].name];
	mt_buffer_free(&label);
	free(counts);
}

int mt_report_groups(const struct mt_report *report, struct mt_err *err)
{
	struct mt_selection selection = {0};
	struct mt_metric_columns columns;
	int status = mt_report_select(&selection, report, err);

	mt_metric_columns_init(&columns, report, mt_report_sorted_by(report));
	if (status >= 0 && report->by != MT_ROWS_BY_BACKTRACE) {
		struct mt_rows rows = {0};

		if (report->by == MT_ROWS_BY_THREAD)
			status = mt_rows_by_thread(&rows, report->source, report->asked,
				report->sort, report->ascending, err);
		else
			mt_rows_get(&rows, report->profile, mt_report_whole(report),
				report->symbols, &selection, report->by, report->sort,
				report->ascending);
		if (report->by == MT_ROWS_BY_PROCESS && report->set)
			count_groups(&rows, report->set);
		if (status >= 0)
			mt_report_rows(report, &rows);
		mt_rows_free(&rows);
	} else if (status >= 0 && report->format == MT_FORMAT_JSON) {
		struct mt_json json = {.out = report->out};

		mt_json_open(&json, '[');
		rows(&columns, &selection, &json, NULL);
		json.comma = false;
		mt_json_line(&json);
		mt_json_close(&json, ']');
		putc('\n', report->out);
	} else if (status >= 0 && report->format == MT_FORMAT_CSV) {
		fputs("id,kind", report->out);
		mt_report_csv_metric_names(report->out, report->profile, "");
		fputs(",backtrace", report->out);
		mt_report_csv_end_names(report);
		rows(&columns, &selection, NULL, NULL);
	} else if (status >= 0) {
		text(&columns, &selection);
	}
	mt_selection_free(&selection);
	return status;
}
