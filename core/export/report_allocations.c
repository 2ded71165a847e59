/* Single blocks, chains of reallocs, and how often which size and lifetime comes. */
#include "core/export/report_parts.h"
#include "core/export/table.h"

#include "core/model/model.h"
#include "core/model/verdicts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BAR 30 /* cells of a histogram's longest bar */

static const char *thread_name(const struct mt_report *report, uint32_t thread)
{
	const struct mt_profile *p = report->profile;

	return thread < p->thread_count ? mt_strings_get(&p->strings, p->threads[thread].name) : "";
}

static uint32_t thread_id(const struct mt_report *report, uint32_t thread)
{
	return thread < report->profile->thread_count ? report->profile->threads[thread].tid : 0;
}

static const char *kind_of(const struct mt_report *report, const struct mt_allocation *a)
{
	return mt_profile_function_name(report->profile,
		mt_profile_group_function(report->profile, a->group));
}

/* The innermost function of the program's own, for people. */
static char *own_function(const struct mt_report *report, const struct mt_allocation *a,
	struct mt_backtrace *backtrace)
{
	mt_backtrace_get(backtrace, report->profile, report->symbols, a->group);
	const struct mt_backtrace_frame *own = mt_backtrace_own(backtrace);

	if (!own)
		return mt_strdup("[no stack]");
	char *name = mt_report_short_frame_name(report, own), *place = mt_report_frame_place(own);
	char *text = mt_format(*place ? "%s  %s" : "%s", name, place);

	free(name);
	free(place);
	return text;
}

static void cell(struct mt_table *table, const struct mt_report *report, enum mt_unit unit,
	uint64_t value)
{
	char number[MT_NUMBER_EXACT_LEN];

	mt_report_number(number, report, unit, value);
	mt_table_cell(table, number);
}

static void cells(struct mt_table *table, const char *format, unsigned long long value)
{
	char text[32];

	snprintf(text, sizeof text, format, value);
	mt_table_cell(table, text);
}

/* 0: not known. */
static uint64_t usable_of(const struct mt_report *report, const struct mt_allocation *a)
{
	const struct mt_profile *whole = report->source->profile;

	if (!a->usable && whole->info.usable_rule == MT_USABLE_NONE)
		return 0;
	return a->size + mt_model_slack(whole, a->group, a->size, a->usable);
}

static const char *end_function(const struct mt_report *report, const struct mt_allocation *a)
{
	return a->end_ns == MT_LIVE ? ""
		: a->end_function == MT_FUNCTION_NONE
		? "lost"
		: mt_profile_function_name(report->profile, a->end_function);
}

/* "": there is none on it. */
static const char *verdict_of(const struct mt_report *report, const struct mt_allocation *a)
{
	const struct mt_verdicts *v = report->source->profile->verdicts;

	return v && a->end_ns == MT_LIVE && a->domain == MT_DOMAIN_HEAP
		? mt_verdict_name(mt_verdicts_find(v, a->number))
		: "";
}

/* ---- blocks ---- */

static void block_json(struct mt_json *json, const struct mt_report *report,
	const struct mt_allocation *a)
{
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_number(json, "number", a->number);
	mt_json_put_number(json, "address", a->address);
	mt_json_put_number(json, "size", a->size);
	mt_json_key(json, "usable_size");
	if (usable_of(report, a))
		mt_json_number(json, usable_of(report, a));
	else
		mt_json_null(json);
	mt_json_put_seconds(json, "timestamp", a->time_ns);
	mt_json_put_number(json, "thread", thread_id(report, a->thread));
	mt_json_put_string(json, "thread_name", thread_name(report, a->thread));
	mt_json_put_string(json, "kind", kind_of(report, a));
	mt_json_put_number(json, "group", a->group);
	mt_json_put_number(json, "chain", a->chain);
	mt_json_put_number(json, "position_in_chain", a->position);
	mt_json_put_number(json, "chain_length", a->chain_length);
	if (*verdict_of(report, a))
		mt_json_put_string(json, "verdict", verdict_of(report, a));
	mt_json_key(json, "deallocation");
	if (a->end_ns == MT_LIVE) {
		mt_json_null(json);
	} else {
		mt_json_open(json, '{');
		mt_json_put_seconds(json, "timestamp", a->end_ns);
		mt_json_put_number(json, "thread", thread_id(report, a->end_thread));
		mt_json_put_string(json, "kind", end_function(report, a));
		mt_json_close(json, '}');
	}
	mt_json_close(json, '}');
}

static void block_csv(const struct mt_report *report, const struct mt_allocation *a)
{
	FILE *out = report->out;
	char start[MT_NUMBER_EXACT_LEN], end[MT_NUMBER_EXACT_LEN] = "";

	mt_number_seconds(start, a->time_ns);
	if (a->end_ns != MT_LIVE)
		mt_number_seconds(end, a->end_ns);
	fprintf(out, "%llu,%llu,%llu,%s,%u,%s,%u,%llu,%u,%u,%s,%s%s%s",
		(unsigned long long)a->number, (unsigned long long)a->address,
		(unsigned long long)a->size, start, thread_id(report, a->thread),
		kind_of(report, a), a->group, (unsigned long long)a->chain, a->position,
		a->chain_length, end, end_function(report, a),
		report->source->profile->verdicts ? "," : "", verdict_of(report, a));
	mt_report_csv_end(report);
}

static void blocks_text(const struct mt_report *report, const struct mt_allocation_list *list)
{
	static const char *const headings[] = {"TIME", "LIFETIME", "SIZE", "ADDRESS", "THREAD",
		"GROUP", "KIND", "END", "FUNCTION"};
	static const bool numbers[] = {true, true, true, true, true, true, false, false, false};
	struct mt_table *table =
		mt_table_new(headings, numbers, sizeof headings / sizeof *headings);
	struct mt_backtrace backtrace = {0};

	for (uint64_t i = 0; i < list->count; i++) {
		const struct mt_allocation *a = &list->items[i];
		char *function = own_function(report, a, &backtrace);

		cell(table, report, MT_UNIT_TIME, a->time_ns);
		cell(table, report, MT_UNIT_TIME,
			mt_allocation_lifetime(a, report->source->profile));
		cell(table, report, MT_UNIT_BYTES, a->size);
		cells(table, "%#llx", (unsigned long long)a->address);
		cells(table, "%llu", thread_id(report, a->thread));
		cells(table, "%llu", a->group);
		mt_table_cell(table, kind_of(report, a));
		mt_table_cell(table,
			*verdict_of(report, a)         ? verdict_of(report, a)
				: a->end_ns == MT_LIVE ? "live"
						       : end_function(report, a));
		mt_table_cell(table, function);
		free(function);
	}
	mt_table_print(table, report->out);
	mt_table_free(table);
	mt_backtrace_free(&backtrace);
}

static void say_rest(const struct mt_report *report, const struct mt_allocation_list *list,
	const char *one, const char *more)
{
	char shown[MT_NUMBER_EXACT_LEN], all[MT_NUMBER_EXACT_LEN], bytes[MT_NUMBER_EXACT_LEN];

	mt_report_number(shown, report, MT_UNIT_COUNT, list->count);
	mt_report_number(all, report, MT_UNIT_COUNT, list->matched);
	mt_report_number(bytes, report, MT_UNIT_BYTES, list->matched_bytes);
	fprintf(report->out, "%s%s of %s %s%s%s%s\n", list->count ? "\n" : "", shown, all,
		MT_PLURAL(all, one), more,
		report->allocation_order < MT_ORDER_LENGTH ? ", total " : "",
		report->allocation_order < MT_ORDER_LENGTH ? bytes : "");
}

static void write_json(const struct mt_report *report, const struct mt_allocation_list *list,
	void (*item)(struct mt_json *, const struct mt_report *, const struct mt_allocation *))
{
	struct mt_json json = {.out = report->out};

	mt_json_open(&json, '[');
	for (uint64_t i = 0; i < list->count; i++)
		item(&json, report, &list->items[i]);
	json.comma = false;
	mt_json_line(&json);
	mt_json_close(&json, ']');
	putc('\n', report->out);
}

static int get(struct mt_allocation_list *list, const struct mt_report *report, struct mt_err *err)
{
	if (!report->source || !report->source->reader)
		return mt_fail(err, -ENODATA,
			"the recording has only totals, no single allocations; use a trace with "
			"events");
	/* text does not show them */
	return mt_allocations_get(list, report->source, report->asked, report->allocation_order,
		report->ascending, report->format != MT_FORMAT_TEXT, report->skip, report->count,
		err);
}

int mt_report_allocations(const struct mt_report *report, struct mt_err *err)
{
	struct mt_allocation_list list = {0};
	int status = get(&list, report, err);

	if (status >= 0 && report->format == MT_FORMAT_JSON) {
		write_json(report, &list, block_json);
	} else if (status >= 0 && report->format == MT_FORMAT_CSV) {
		fputs("number,address,size,timestamp,thread,kind,group,chain,position_in_chain,"
		      "chain_length,deallocation_timestamp,deallocation_kind",
			report->out);
		if (report->source->profile->verdicts)
			fputs(",verdict", report->out);
		mt_report_csv_end_names(report);
		for (uint64_t i = 0; i < list.count; i++)
			block_csv(report, &list.items[i]);
	} else if (status >= 0) {
		blocks_text(report, &list);
		say_rest(report, &list, "allocation", "");
	}
	mt_allocations_free(&list);
	return status;
}

/* ---- chains ---- */

static void chain_json(struct mt_json *json, const struct mt_report *report,
	const struct mt_allocation *a)
{
	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_number(json, "chain", a->chain);
	mt_json_put_number(json, "length", a->chain_length);
	mt_json_put_number(json, "first_size", a->first_size);
	mt_json_put_number(json, "last_size", a->last_size);
	mt_json_put_seconds(json, "timestamp", a->chain_start_ns);
	mt_json_put_seconds(json, "lifetime_seconds",
		mt_chain_lifetime(a, report->source->profile));
	mt_json_put_bool(json, "leaked", a->chain_end_ns == MT_LIVE);
	mt_json_put_number(json, "group", a->group);
	mt_json_close(json, '}');
}

static void chains_csv(const struct mt_report *report, const struct mt_allocation_list *list)
{
	char start[MT_NUMBER_EXACT_LEN], lifetime[MT_NUMBER_EXACT_LEN];

	fputs("chain,length,first_size,last_size,timestamp,lifetime_seconds,leaked,group",
		report->out);
	mt_report_csv_end_names(report);
	for (uint64_t i = 0; i < list->count; i++) {
		const struct mt_allocation *a = &list->items[i];

		mt_number_seconds(start, a->chain_start_ns);
		mt_number_seconds(lifetime, mt_chain_lifetime(a, report->source->profile));
		fprintf(report->out, "%llu,%u,%llu,%llu,%s,%s,%s,%u", (unsigned long long)a->chain,
			a->chain_length, (unsigned long long)a->first_size,
			(unsigned long long)a->last_size, start, lifetime,
			a->chain_end_ns == MT_LIVE ? "true" : "false", a->group);
		mt_report_csv_end(report);
	}
}

static void chains_text(const struct mt_report *report, const struct mt_allocation_list *list)
{
	static const char *const headings[] = {"LENGTH", "FIRST", "LAST", "START", "LIFETIME", "",
		"GROUP", "FUNCTION"};
	static const bool numbers[] = {true, true, true, true, true, false, true, false};
	struct mt_table *table =
		mt_table_new(headings, numbers, sizeof headings / sizeof *headings);
	struct mt_backtrace backtrace = {0};

	for (uint64_t i = 0; i < list->count; i++) {
		const struct mt_allocation *a = &list->items[i];
		char *function = own_function(report, a, &backtrace);

		cell(table, report, MT_UNIT_COUNT, a->chain_length);
		cell(table, report, MT_UNIT_BYTES, a->first_size);
		cell(table, report, MT_UNIT_BYTES, a->last_size);
		cell(table, report, MT_UNIT_TIME, a->chain_start_ns);
		cell(table, report, MT_UNIT_TIME, mt_chain_lifetime(a, report->source->profile));
		mt_table_cell(table, a->chain_end_ns == MT_LIVE ? "live" : "");
		cells(table, "%llu", a->group);
		mt_table_cell(table, function);
		free(function);
	}
	mt_table_print(table, report->out);
	mt_table_free(table);
	mt_backtrace_free(&backtrace);
}

int mt_report_chains(const struct mt_report *report, struct mt_err *err)
{
	struct mt_allocation_list list = {0};
	int status = get(&list, report, err);

	if (status >= 0 && report->format == MT_FORMAT_JSON) {
		write_json(report, &list, chain_json);
	} else if (status >= 0 && report->format == MT_FORMAT_CSV) {
		chains_csv(report, &list);
	} else if (status >= 0) {
		chains_text(report, &list);
		say_rest(report, &list, "chain", " of two blocks or more");
	}
	mt_allocations_free(&list);
	return status;
}

/* ---- histograms ---- */

static void bound(char out[MT_NUMBER_EXACT_LEN], const struct mt_report *report, uint64_t value)
{
	if (value == MT_LIVE)
		strcpy(out, "live");
	else
		mt_report_number(out, report,
			report->histogram == MT_HISTOGRAM_SIZE ? MT_UNIT_BYTES : MT_UNIT_TIME,
			value);
}

static bool is_sampled(const struct mt_report *report)
{
	return mt_info_is_sampled(&report->source->profile->info);
}

/* A sum over the blocks of a bucket, with its error if it is of samples. */
static void estimate(struct mt_table *table, const struct mt_report *report, enum mt_unit unit,
	uint64_t value, const struct mt_estimate *e)
{
	char number[MT_METRIC_LEN];

	mt_report_estimate(number, report, unit, value, is_sampled(report), e->samples,
		is_sampled(report) ? sqrt(unit == MT_UNIT_BYTES ? e->bytes : e->blocks) : -1);
	mt_table_cell(table, number);
}

static void error_json(struct mt_json *json, const char *key, uint64_t samples, double variance)
{
	if (samples && samples < MT_SAMPLES_FEW && variance > 0)
		return;
	mt_json_key(json, key);
	mt_json_real(json, sqrt(variance));
}

static void bucket_text(struct mt_table *table, const struct mt_report *report,
	const struct mt_bucket *bucket, uint64_t largest)
{
	char least[MT_NUMBER_EXACT_LEN], most[MT_NUMBER_EXACT_LEN], bar[BAR + 1];
	uint64_t len = largest ? (bucket->count * BAR + largest - 1) / largest : 0;

	bound(least, report, bucket->least);
	bound(most, report, bucket->most);
	mt_table_cell(table, least);
	mt_table_cell(table, bucket->least == bucket->most ? "" : most);
	estimate(table, report, MT_UNIT_COUNT, bucket->count, &bucket->error.allocated);
	estimate(table, report, MT_UNIT_BYTES, bucket->bytes, &bucket->error.allocated);
	estimate(table, report, MT_UNIT_COUNT, bucket->live_count, &bucket->error.live);
	estimate(table, report, MT_UNIT_BYTES, bucket->live_bytes, &bucket->error.live);
	if (is_sampled(report))
		mt_table_cell(table, "-");
	else
		cell(table, report, MT_UNIT_COUNT, bucket->temporary_count);
	memset(bar, '#', len);
	bar[len] = 0;
	mt_table_cell(table, bar);
}

static void histogram_text(const struct mt_report *report, const struct mt_histogram *histogram)
{
	static const char *const headings[] = {"FROM", "TO", "ALLOCS", "ALLOCATED", "BLOCKS",
		"LEAKED", "TEMP", ""};
	static const bool numbers[] = {true, true, true, true, true, true, true, false};
	struct mt_table *table =
		mt_table_new(headings, numbers, sizeof headings / sizeof *headings);
	const struct mt_bucket *live = &histogram->buckets[MT_BUCKETS - 1];
	uint64_t largest = live->count;

	for (uint32_t i = histogram->first; i < histogram->first + histogram->count; i++)
		largest = largest > histogram->buckets[i].count
			? largest
			: histogram->buckets[i].count;
	for (uint32_t i = histogram->first; i < histogram->first + histogram->count; i++)
		bucket_text(table, report, &histogram->buckets[i], largest);
	if (live->count && report->histogram == MT_HISTOGRAM_LIFETIME)
		bucket_text(table, report, live, largest);
	mt_table_print(table, report->out);
	mt_table_free(table);
}

static void bucket_json(struct mt_json *json, const struct mt_bucket *bucket, bool is_live,
	bool sampled)
{
	const struct mt_estimates *e = &bucket->error;

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_key(json, "least");
	if (is_live)
		mt_json_null(json);
	else
		mt_json_number(json, bucket->least);
	mt_json_key(json, "most");
	if (is_live)
		mt_json_null(json);
	else
		mt_json_number(json, bucket->most);
	mt_json_put_number(json, "allocated_count", bucket->count);
	mt_json_put_number(json, "size", bucket->bytes);
	mt_json_put_number(json, "leaked_count", bucket->live_count);
	mt_json_put_number(json, "leaked_size", bucket->live_bytes);
	if (!sampled)
		mt_json_put_number(json, "temporary_count", bucket->temporary_count);
	if (sampled) {
		mt_json_put_number(json, "samples", e->allocated.samples);
		error_json(json, "allocated_count_stderr", e->allocated.samples,
			e->allocated.blocks);
		error_json(json, "size_stderr", e->allocated.samples, e->allocated.bytes);
		error_json(json, "leaked_count_stderr", e->live.samples, e->live.blocks);
		error_json(json, "leaked_size_stderr", e->live.samples, e->live.bytes);
	}
	mt_json_close(json, '}');
}

/* Sizes in bytes, lifetimes in nanoseconds; what is live at the end has no bounds. */
static void histogram_json(const struct mt_report *report, const struct mt_histogram *histogram)
{
	struct mt_json json = {.out = report->out};
	const struct mt_bucket *live = &histogram->buckets[MT_BUCKETS - 1];

	mt_json_open(&json, '{');
	mt_json_put_string(&json, "of",
		report->histogram == MT_HISTOGRAM_SIZE ? "size" : "lifetime");
	mt_json_put_string(&json, "unit",
		report->histogram == MT_HISTOGRAM_SIZE ? "bytes" : "nanoseconds");
	mt_json_put_seconds(&json, "history_from_seconds",
		report->source->profile->info.history_from_ns);
	mt_json_key(&json, "buckets");
	mt_json_open(&json, '[');
	for (uint32_t i = histogram->first; i < histogram->first + histogram->count; i++)
		bucket_json(&json, &histogram->buckets[i], false, is_sampled(report));
	if (live->count && report->histogram == MT_HISTOGRAM_LIFETIME)
		bucket_json(&json, live, true, is_sampled(report));
	mt_json_close(&json, ']');
	mt_json_close(&json, '}');
	putc('\n', report->out);
}

static void histogram_csv(const struct mt_report *report, const struct mt_histogram *histogram)
{
	const struct mt_bucket *live = &histogram->buckets[MT_BUCKETS - 1];

	fputs("least,most,allocated_count,size,leaked_count,leaked_size,temporary_count\n",
		report->out);
	for (uint32_t i = histogram->first; i <= histogram->first + histogram->count; i++) {
		bool is_live = i == histogram->first + histogram->count;
		const struct mt_bucket *b = is_live ? live : &histogram->buckets[i];

		if (is_live && (!live->count || report->histogram == MT_HISTOGRAM_SIZE))
			break;
		if (is_live)
			fputs(",,", report->out);
		else
			fprintf(report->out, "%llu,%llu,", (unsigned long long)b->least,
				(unsigned long long)b->most);
		fprintf(report->out, "%llu,%llu,%llu,%llu,%llu\n", (unsigned long long)b->count,
			(unsigned long long)b->bytes, (unsigned long long)b->live_count,
			(unsigned long long)b->live_bytes, (unsigned long long)b->temporary_count);
	}
}

int mt_report_histogram(const struct mt_report *report, struct mt_err *err)
{
	struct mt_histogram histogram;
	int status =
		mt_histogram_get(&histogram, report->source, report->asked, report->histogram, err);

	if (status < 0)
		return status;
	if (report->format == MT_FORMAT_JSON)
		histogram_json(report, &histogram);
	else if (report->format == MT_FORMAT_CSV)
		histogram_csv(report, &histogram);
	else
		histogram_text(report, &histogram);
	return 0;
}
