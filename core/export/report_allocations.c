/* Blocks one by one. Of those that are not shown nothing is kept, so memory is bounded by --skip and --count. */
#include "core/export/report_parts.h"
#include "core/export/table.h"
#include "core/model/model.h"
#include "core/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t key;
	struct mt_allocation a;
};

struct listing {
	const struct mt_report *report;
	const struct mt_profile *whole;
	enum mt_allocation_sort sort;
	bool ascending;
	struct entry *entries; /* while they are limited: a heap whose first is the one to go next */
	uint64_t count, capacity, limit;
};

static uint64_t key_of(const struct listing *l, const struct mt_allocation *a)
{
	uint64_t end = a->end_ns == MT_LIVE ? l->whole->info.wall_ns : a->end_ns;

	switch (l->sort) {
	case MT_ALLOCATIONS_BY_ADDRESS:
		return a->address;
	case MT_ALLOCATIONS_BY_SIZE:
		return a->size;
	case MT_ALLOCATIONS_BY_LIFETIME:
		return end > a->time_ns ? end - a->time_ns : 0;
	default:
		return a->number;
	}
}

/* Whether x is shown behind y. */
static bool behind(const struct listing *l, const struct entry *x, const struct entry *y)
{
	if (x->key != y->key)
		return (x->key > y->key) == l->ascending;
	return x->a.number > y->a.number;
}

static void swap(struct entry *x, struct entry *y)
{
	struct entry z = *x;

	*x = *y;
	*y = z;
}

/* Lets the entry at the place sink below those that are shown behind it. */
static void sink(struct listing *l, uint64_t at)
{
	for (;;) {
		uint64_t last = at;

		for (uint64_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < l->count && behind(l, &l->entries[child], &l->entries[last]))
				last = child;
		if (last == at)
			return;
		swap(&l->entries[at], &l->entries[last]);
		at = last;
	}
}

static int add(void *context, const struct mt_allocation *a)
{
	struct listing *l = context;
	struct entry entry = {key_of(l, a), *a};

	if (l->count < l->limit) {
		MT_GROW(l->entries, l->count, l->capacity);
		l->entries[l->count++] = entry;
		if (l->count == l->limit)
			for (uint64_t i = l->count / 2; i-- > 0;)
				sink(l, i);
	} else if (behind(l, &l->entries[0], &entry)) {
		l->entries[0] = entry;
		sink(l, 0);
	}
	return 0;
}

/* A heap sort, which needs no more memory and ends with what is shown first in front. */
static void sort(struct listing *l)
{
	uint64_t count = l->count;

	for (uint64_t i = count / 2; i-- > 0;)
		sink(l, i);
	while (l->count > 1) {
		swap(&l->entries[0], &l->entries[--l->count]);
		sink(l, 0);
	}
	l->count = count;
}

/* ---- rows ---- */

static uint64_t tid_of(const struct listing *l, uint32_t thread)
{
	return thread < l->whole->thread_count ? l->whole->threads[thread].tid : 0;
}

static const char *end_kind(const struct mt_allocation *a)
{
	return a->end_kind == MT_KIND_NONE ? "realloc" : mt_kind_name(a->end_kind);
}

static void put_number(struct mt_json *json, const char *key, uint64_t value)
{
	mt_json_key(json, key);
	mt_json_number(json, value);
}

static void put_time(struct mt_json *json, const char *key, uint64_t ns)
{
	mt_json_key(json, key);
	mt_json_seconds(json, ns);
}

/* 0: not known. */
static uint64_t usable_of(const struct listing *l, const struct mt_allocation *a)
{
	if (!a->usable && l->whole->info.usable_rule == MT_USABLE_NONE)
		return 0;
	return a->size + mt_model_slack(l->whole, a->group, a->size, a->usable);
}

static void row_json(const struct listing *l, struct mt_json *json, const struct mt_allocation *a)
{
	mt_json_line(json);
	mt_json_open(json, '{');
	put_number(json, "number", a->number);
	put_number(json, "address", a->address);
	put_number(json, "size", a->size);
	mt_json_key(json, "usable_size");
	if (usable_of(l, a))
		mt_json_number(json, usable_of(l, a));
	else
		mt_json_null(json);
	put_time(json, "timestamp", a->time_ns);
	put_number(json, "thread", tid_of(l, a->thread));
	mt_json_key(json, "kind");
	mt_json_string(json, mt_kind_name(mt_profile_group_kind(l->whole, a->group)));
	put_number(json, "group", a->group);
	put_number(json, "chain", a->chain);
	put_number(json, "position_in_chain", a->position);
	put_number(json, "chain_length", a->chain_length);
	mt_json_key(json, "deallocation");
	if (a->end_ns == MT_LIVE) {
		mt_json_null(json);
	} else {
		mt_json_open(json, '{');
		put_time(json, "timestamp", a->end_ns);
		put_number(json, "thread", tid_of(l, a->end_thread));
		mt_json_key(json, "kind");
		mt_json_string(json, end_kind(a));
		mt_json_close(json, '}');
	}
	mt_json_close(json, '}');
}

static void row_csv(const struct listing *l, const struct mt_allocation *a)
{
	char time[MT_NUMBER_EXACT_LEN], end[MT_NUMBER_EXACT_LEN] = "";
	bool live = a->end_ns == MT_LIVE;

	mt_number_seconds(time, a->time_ns);
	if (!live)
		mt_number_seconds(end, a->end_ns);
	fprintf(l->report->out, "%llu,%llu,%llu,%s,%llu,%s,%u,%llu,%u,%u,%s,%s\n", (unsigned long long)a->number,
		(unsigned long long)a->address, (unsigned long long)a->size, time, (unsigned long long)tid_of(l, a->thread),
		mt_kind_name(mt_profile_group_kind(l->whole, a->group)), a->group, (unsigned long long)a->chain, a->position,
		(unsigned)a->chain_length, end, live ? "" : end_kind(a));
}

static void row_text(const struct listing *l, struct mt_table *table, const struct mt_allocation *a)
{
	const struct mt_report *r = l->report;
	uint64_t end = a->end_ns == MT_LIVE ? l->whole->info.wall_ns : a->end_ns;
	struct mt_backtrace backtrace = {0};
	char number[MT_NUMBER_EXACT_LEN];

	mt_report_number(number, r, MT_UNIT_TIME, a->time_ns);
	mt_table_cell(table, number);
	snprintf(number, sizeof number, "0x%llx", (unsigned long long)a->address);
	mt_table_cell(table, number);
	mt_report_number(number, r, MT_UNIT_BYTES, a->size);
	mt_table_cell(table, number);
	mt_report_number(number, r, MT_UNIT_TIME, end > a->time_ns ? end - a->time_ns : 0);
	mt_table_cell(table, number);
	snprintf(number, sizeof number, "%llu", (unsigned long long)tid_of(l, a->thread));
	mt_table_cell(table, number);
	snprintf(number, sizeof number, "%u", a->group);
	mt_table_cell(table, number);
	mt_table_cell(table, mt_kind_name(mt_profile_group_kind(l->whole, a->group)));
	mt_table_cell(table, a->end_ns == MT_LIVE ? "live" : end_kind(a));
	mt_backtrace_get(&backtrace, l->whole, r->symbols, a->group);
	const struct mt_backtrace_frame *own = mt_backtrace_own(&backtrace);
	char *name = own ? mt_report_frame_name(own) : mt_strdup("");

	mt_table_cell(table, name);
	free(name);
	mt_backtrace_free(&backtrace);
}

static void put_rows(const struct listing *l)
{
	static const char *const headings[] = {"TIME", "ADDRESS", "SIZE", "LIFETIME", "THREAD", "GROUP", "KIND", "END", "WHERE"};
	static const bool numbers[] = {true, true, true, true, true, true, false, false, false};
	const struct mt_report *r = l->report;
	struct mt_json json = {.out = r->out};
	struct mt_table *table = mt_table_new(headings, numbers, sizeof headings / sizeof *headings);

	if (r->format == MT_FORMAT_JSON)
		mt_json_open(&json, '[');
	else if (r->format == MT_FORMAT_CSV)
		fputs("number,address,size,timestamp,thread,kind,group,chain,position_in_chain,chain_length,"
			"deallocation_timestamp,deallocation_kind\n", r->out);
	for (uint64_t i = r->skip; i < l->count; i++) {
		if (r->format == MT_FORMAT_JSON)
			row_json(l, &json, &l->entries[i].a);
		else if (r->format == MT_FORMAT_CSV)
			row_csv(l, &l->entries[i].a);
		else
			row_text(l, table, &l->entries[i].a);
	}
	if (r->format == MT_FORMAT_JSON) {
		mt_json_close(&json, ']');
		putc('\n', r->out);
	} else if (r->format == MT_FORMAT_TEXT) {
		mt_table_print(table, r->out);
	}
	mt_table_free(table);
}

const char *mt_allocation_sort_name(int i)
{
	static const char *const names[] = {
#define X(id, name) #name,
		MT_ALLOCATION_SORTS(X)
#undef X
	};
	return i < (int)(sizeof names / sizeof *names) ? names[i] : NULL;
}

int mt_report_allocations(const struct mt_report *report, struct mt_err *err)
{
	struct listing l = {.report = report, .whole = report->whole ? report->whole : report->profile,
		.ascending = !report->allocation_sort || report->ascending, .limit = UINT64_MAX};

	if (!report->source || !report->source->reader)
		return mt_fail(err, -ENODATA, "there are totals alone, and no single allocations; expected a trace with events");
	for (int i = 0; report->allocation_sort && mt_allocation_sort_name(i); i++)
		if (!strcmp(mt_allocation_sort_name(i), report->allocation_sort))
			l.sort = (enum mt_allocation_sort)i;
	if (report->count && report->count < UINT64_MAX - report->skip)
		l.limit = report->skip + report->count;
	int status = mt_scan_allocations(report->source, report->asked, MT_SCAN_ADDRESSES | MT_SCAN_CHAINS, add, &l, err);

	if (status >= 0) {
		sort(&l);
		put_rows(&l);
	}
	free(l.entries);
	return status;
}
