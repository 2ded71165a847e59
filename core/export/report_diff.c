/* What changed from one profile to another. */
#include "core/export/report_parts.h"
#include "core/export/table.h"

#include "core/query/diff.h"

#include <stdlib.h>

#define TEXT_FRAMES 5 /* of a backtrace, on one line */

struct sides {
	const struct mt_report *a, *b;
	struct mt_diff diff;
};

static void backtrace_of(struct mt_backtrace *backtrace, const struct sides *sides,
	const struct mt_diff_entry *entry)
{
	mt_diff_backtrace(backtrace,
		&(struct mt_diff_side){sides->a->profile, sides->a->symbols, NULL},
		&(struct mt_diff_side){sides->b->profile, sides->b->symbols, NULL}, entry);
}

static const char *kind_of(const struct sides *sides, const struct mt_diff_entry *entry)
{
	bool in_b = entry->group_b != MT_NO_GROUP;
	const struct mt_profile *p = in_b ? sides->b->profile : sides->a->profile;

	return mt_profile_function_name(p,
		mt_profile_group_function(p, in_b ? entry->group_b : entry->group_a));
}

/* Text leaves out what did not change. */
static bool is_shown(const struct sides *sides, const struct mt_diff_entry *entry)
{
	return sides->a->format != MT_FORMAT_TEXT || entry->change;
}

/* ---- JSON and CSV ---- */

static void entry_json(struct mt_json *json, const struct sides *sides,
	const struct mt_diff_entry *entry, const struct mt_backtrace *backtrace)
{
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_key(json, "state");
	mt_json_string(json, mt_diff_state_name(entry->state));
	mt_json_key(json, "change");
	mt_json_integer(json, entry->change);
	mt_json_key(json, "kind");
	mt_json_string(json, kind_of(sides, entry));
	if (entry->doubtful) {
		mt_json_key(json, "doubtful");
		mt_json_bool(json, true);
	}
	mt_json_key(json, "a");
	mt_report_json_metrics(json, sides->a->profile, &entry->a);
	mt_json_key(json, "b");
	mt_report_json_metrics(json, sides->b->profile, &entry->b);
	mt_report_json_backtrace(json, backtrace);
	mt_json_close(json, '}');
}

/* A report by whose times a row of both sides is marked. */
static struct mt_report marked_by(const struct sides *sides)
{
	struct mt_report report = *sides->a;

	if (mt_info_estimates_times(&mt_report_whole(sides->b)->info))
		report.whole = mt_report_whole(sides->b);
	return report;
}

static void entry_csv(const struct sides *sides, const struct mt_diff_entry *entry,
	const struct mt_backtrace *backtrace)
{
	FILE *out = sides->a->out;
	struct mt_report report = marked_by(sides);
	char *frames = mt_report_one_line(sides->a, backtrace, ";", 0);

	fprintf(out, "%s,%lld,%s", mt_diff_state_name(entry->state), (long long)entry->change,
		kind_of(sides, entry));
	mt_report_csv_metrics(out, sides->a->profile, &entry->a);
	mt_report_csv_metrics(out, sides->b->profile, &entry->b);
	mt_csv_field(out, false, frames);
	mt_report_csv_end(&report);
	free(frames);
}

/* ---- text ---- */

/* Where one side is sampled, it is the difference of estimates. */
static void signed_number(char out[MT_METRIC_LEN], const struct sides *sides, enum mt_unit unit,
	int64_t value)
{
	const struct mt_report *report = sides->a;

	if (mt_info_is_sampled(&sides->a->profile->info)
		|| mt_info_is_sampled(&sides->b->profile->info))
		*out++ = '~';
	out[0] = value < 0 ? '-' : '+';
	mt_report_number(out + 1, report, unit, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static enum mt_metric count_of(enum mt_metric metric)
{
	int beside = mt_metric_beside(metric);

	return beside >= 0 && mt_metric_info(NULL, (enum mt_metric)beside)->unit == MT_UNIT_COUNT
		? (enum mt_metric)beside
		: MT_METRIC_LEAKED_COUNT;
}

static void entry_text(struct mt_table *table, const struct sides *sides,
	const struct mt_diff_entry *entry, const struct mt_backtrace *backtrace)
{
	const struct mt_report *a = sides->a, *b = sides->b;
	enum mt_metric count = count_of(a->sort);
	char number[MT_METRIC_LEN];

	signed_number(number, sides, mt_metric_info(a->profile, a->sort)->unit, entry->change);
	mt_table_cell(table, number);
	mt_report_metric(number, a, &entry->a, a->sort);
	mt_table_cell(table, number);
	mt_report_metric(number, b, &entry->b, b->sort);
	mt_table_cell(table, number);
	signed_number(number, sides, MT_UNIT_COUNT,
		(int64_t)(mt_metric_value(b->profile, &entry->b, count)
			- mt_metric_value(a->profile, &entry->a, count)));
	mt_table_cell(table, number);
	mt_table_cell(table, entry->doubtful ? "?" : "");
	mt_table_cell(table, mt_diff_state_name(entry->state));
	mt_table_cell(table, kind_of(sides, entry));
	char *frames = mt_report_one_line(a, backtrace, " < ", TEXT_FRAMES);

	mt_table_cell(table, frames);
	free(frames);
}

static void summary_text(const struct sides *sides)
{
	const struct mt_report *a = sides->a;
	const struct mt_diff *diff = &sides->diff;
	char from[MT_METRIC_LEN], to[MT_METRIC_LEN];

	mt_report_metric(from, a, &diff->a, a->sort);
	mt_report_metric(to, sides->b, &diff->b, sides->b->sort);
	fprintf(a->out, "%s: %s before, %s after",
		a->words ? a->words : mt_metric_info(a->profile, a->sort)->words, from, to);
	if (diff->factor != 1)
		fprintf(a->out, "; values of B are multiplied by %.4g", diff->factor);
	fputs("\n", a->out);
	for (int state = 0; state < MT_DIFF_STATES; state++)
		fprintf(a->out, "%s%u %s", state ? ", " : "groups: ", diff->states[state],
			mt_diff_state_name((enum mt_diff_state)state));
	fputs("\n\n", a->out);
}

static struct mt_table *new_table(const struct mt_report *report)
{
	static const char *const headings[] = {"CHANGE", "BEFORE", "AFTER", "BLOCKS", "", "STATE",
		"KIND", "BACKTRACE"};
	static const bool numbers[] = {true, true, true, true, false, false, false, false};

	struct mt_table *table =
		mt_table_new(headings, numbers, sizeof headings / sizeof *headings);

	mt_table_fit(table, report->width);
	return table;
}

/* ---- all of it ---- */

/* How many rows there were, shown or not; doubtful: of those shown. */
static uint64_t rows(const struct sides *sides, struct mt_json *json, struct mt_table *table,
	uint32_t *doubtful)
{
	const struct mt_report *a = sides->a;
	struct mt_backtrace backtrace = {0};
	uint64_t seen = 0;

	for (uint32_t i = 0; i < sides->diff.count; i++) {
		const struct mt_diff_entry *entry = &sides->diff.entries[i];

		if (!is_shown(sides, entry) || seen++ < a->skip
			|| (a->count && seen - a->skip > a->count))
			continue;
		backtrace_of(&backtrace, sides, entry);
		*doubtful += entry->doubtful;
		if (json)
			entry_json(json, sides, entry, &backtrace);
		else if (table)
			entry_text(table, sides, entry, &backtrace);
		else
			entry_csv(sides, entry, &backtrace);
	}
	mt_backtrace_free(&backtrace);
	return seen;
}

static void write_json(const struct sides *sides)
{
	struct mt_json json = {.out = sides->a->out};
	uint32_t doubtful = 0;

	mt_json_open(&json, '[');
	rows(sides, &json, NULL, &doubtful);
	json.comma = false;
	mt_json_line(&json);
	mt_json_close(&json, ']');
	putc('\n', sides->a->out);
}

static void write_csv(const struct sides *sides)
{
	struct mt_report report = marked_by(sides);
	uint32_t doubtful = 0;

	fputs("state,change,kind", sides->a->out);
	mt_report_csv_metric_names(sides->a->out, sides->a->profile, "a_");
	mt_report_csv_metric_names(sides->a->out, sides->b->profile, "b_");
	fputs(",backtrace", sides->a->out);
	mt_report_csv_end_names(&report);
	rows(sides, NULL, NULL, &doubtful);
}

static void write_text(const struct sides *sides)
{
	struct mt_table *table = new_table(sides->a);
	uint32_t doubtful = 0;

	summary_text(sides);
	if (!rows(sides, NULL, table, &doubtful))
		fputs("nothing changed\n", sides->a->out);
	else
		mt_table_print(table, sides->a->out);
	if (doubtful)
		fprintf(sides->a->out,
			"\n? unnamed frames were matched by their module only; install its debug "
			"symbols to tell them apart\n");
	mt_table_free(table);
}

int mt_report_diff(const struct mt_report *a, const struct mt_report *b,
	enum mt_diff_normalise normalise, struct mt_err *err)
{
	struct mt_selection selection_a = {0}, selection_b = {0};
	struct mt_diff_side side_a = {a->profile, a->symbols, &selection_a};
	struct mt_diff_side side_b = {b->profile, b->symbols, &selection_b};
	struct sides sides = {.a = a, .b = b};
	int status =
		mt_select(&selection_a, a->profile, a->symbols, a->filter, a->sort, false, err);

	if (status >= 0)
		status = mt_select(&selection_b, b->profile, b->symbols, b->filter, b->sort, false,
			err);
	if (status >= 0) {
		mt_diff_get(&sides.diff, &side_a, &side_b, a->sort, normalise, a->ascending);
		if (a->format == MT_FORMAT_JSON)
			write_json(&sides);
		else if (a->format == MT_FORMAT_CSV)
			write_csv(&sides);
		else
			write_text(&sides);
	}
	mt_diff_free(&sides.diff);
	mt_selection_free(&selection_a);
	mt_selection_free(&selection_b);
	return status;
}
