/* What a saved trace knows of resident memory (doc/memory.md, "Of a trace"). */
#include "core/base/buffer.h"
#include "core/export/report_account.h"
#include "core/export/report_parts.h"
#include "core/export/resident.h"
#include "core/export/table.h"
#include "core/leakcheck/mapped.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FRAMES 3u /* of a call */

/* In the order of the table. X(name, words) */
#define NUMBERS(X) \
	X(rss_bytes, "resident") \
	X(heap_bytes, "heap blocks, as asked for") \
	X(beside_heap_bytes, "beside the heap, at least") \
	X(arena_bytes, "heaps of glibc's malloc, with what is free in them") \
	X(pss_bytes, "resident, shared pages divided among who has them") \
	X(swap_bytes, "swapped")

struct moment {
	bool known;
	uint64_t time_ns;
#define X(name, words) uint64_t name;
	NUMBERS(X)
#undef X
};

static const struct number {
	const char *name, *words;
	size_t place;
} numbers[] = {
#define X(name, words) {#name, words, offsetof(struct moment, name)},
	NUMBERS(X)
#undef X
};
#define NUMBER_COUNT (sizeof numbers / sizeof *numbers)

/* What is mapped at the end by calls of one backtrace. */
struct mapped {
	uint32_t node, count;
	bool is_file;
	uint64_t bytes;
};

struct memory_report {
	const struct mt_report *report;
	struct moment highest, end;
	struct mapped *mapped; /* most bytes first */
	uint32_t mapped_count, mapped_capacity;
	struct mt_backtrace backtrace;
};

static uint64_t value_of(const struct moment *m, size_t number)
{
	return *(const uint64_t *)(const void *)((const char *)m + numbers[number].place);
}

/* ---- moments --------------------------------------------------------------------------------- */

static void fill_in(struct moment *m, const struct mt_memory *memory, uint64_t rss, uint64_t heap)
{
	m->known = rss;
	m->rss_bytes = rss;
	m->heap_bytes = heap;
	m->beside_heap_bytes = rss > heap ? rss - heap : 0;
	m->arena_bytes = memory->arena_bytes;
	m->pss_bytes = memory->pss_bytes;
	m->swap_bytes = memory->swap_bytes;
}

static void find_moments(struct memory_report *r)
{
	const struct mt_profile *p = mt_report_whole(r->report);
	const struct mt_memory *last = mt_report_memory(p);
	uint64_t peak = mt_resident_peak(p, &r->highest.time_ns);

	fill_in(&r->end, last, last->rss_bytes, p->info.leaked_bytes);
	r->end.time_ns = p->info.wall_ns;
	if (!peak || !p->sample_count || !p->step_ns)
		return;
	uint64_t step = r->highest.time_ns ? (r->highest.time_ns - 1) / p->step_ns : 0;
	const struct mt_sample *s =
		&p->samples[step < p->sample_count ? step : p->sample_count - 1];

	fill_in(&r->highest, &s->memory, peak, s->live_bytes);
}

/* ---- what is mapped -------------------------------------------------------------------------- */

static void add_mapped(struct memory_report *r, const struct mt_map *map)
{
	bool is_file = !(map->flags & MAP_ANONYMOUS);
	uint32_t i = 0;

	while (i < r->mapped_count
		&& (r->mapped[i].node != map->node || r->mapped[i].is_file != is_file))
		i++;
	if (i == r->mapped_count) {
		MT_GROW(r->mapped, r->mapped_count, r->mapped_capacity);
		r->mapped[r->mapped_count++] =
			(struct mapped){.node = map->node, .is_file = is_file};
	}
	r->mapped[i].count++;
	r->mapped[i].bytes += map->length;
}

static int by_bytes(const void *a, const void *b)
{
	const struct mapped *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Address space that nobody may touch is no memory. */
static void find_mapped(struct memory_report *r)
{
	struct mt_maps maps = {0};

	mt_mapped_by_program(&maps, mt_report_whole(r->report));
	for (uint32_t i = 0; i < maps.pieces.count; i++)
		if (maps.pieces.items[i].protection != PROT_NONE)
			add_mapped(r, &maps.pieces.items[i]);
	mt_maps_free(&maps);
	if (r->mapped_count)
		qsort(r->mapped, r->mapped_count, sizeof *r->mapped, by_bytes);
}

/* Caller frees. */
static char *where_of(struct memory_report *r, const struct mapped *m)
{
	mt_backtrace_of(&r->backtrace, mt_report_whole(r->report), r->report->symbols, m->node);
	return mt_report_one_line(r->report, &r->backtrace, " < ", FRAMES);
}

static uint32_t shown_of(const struct memory_report *r)
{
	uint64_t most = r->report->count;

	return most && most < r->mapped_count ? (uint32_t)most : r->mapped_count;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_number(const struct memory_report *r, struct mt_table *table,
	const struct moment *m, size_t number)
{
	char n[MT_NUMBER_EXACT_LEN] = "";

	/* a number that was not sampled is 0; the heap is always known */
	if (m->known && (number < 2 || value_of(m, number)))
		mt_report_number(n, r->report, MT_UNIT_BYTES, value_of(m, number));
	mt_table_cell(table, n);
}

static void put_moments(const struct memory_report *r)
{
	static const char *const headings[] = {"AT MOST", "AT THE END", "WHAT"};
	static const bool right[] = {true, true, false};
	struct mt_table *table = mt_table_new(headings, right, 3);

	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		if (i > 2 && !value_of(&r->highest, i) && !value_of(&r->end, i))
			continue;
		put_number(r, table, &r->highest, i);
		put_number(r, table, &r->end, i);
		mt_table_cell(table, numbers[i].words);
	}
	mt_table_fit(table, r->report->width);
	mt_table_print(table, r->report->out);
	mt_table_free(table);
}

static void put_mapped(struct memory_report *r)
{
	static const char *const headings[] = {"MAPPED", "PIECES", "AT THE END, BY"};
	static const bool right[] = {true, true, false};
	struct mt_table *table = mt_table_new(headings, right, 3);
	char n[MT_NUMBER_EXACT_LEN];

	for (uint32_t i = 0; i < shown_of(r); i++) {
		const struct mapped *m = &r->mapped[i];
		char *where = where_of(r, m);
		char *what = mt_format("%s%s", m->is_file ? "file: " : "",
			*where ? where : "an unknown function");

		mt_report_number(n, r->report, MT_UNIT_BYTES, m->bytes);
		mt_table_cell(table, n);
		mt_report_number(n, r->report, MT_UNIT_COUNT, m->count);
		mt_table_cell(table, n);
		mt_table_cell(table, what);
		free(what);
		free(where);
	}
	mt_table_fit(table, r->report->width);
	mt_table_print(table, r->report->out);
	mt_table_free(table);
	if (shown_of(r) < r->mapped_count)
		fprintf(r->report->out, "%u more; see them with --count\n",
			r->mapped_count - shown_of(r));
}

static void put_text(struct memory_report *r)
{
	FILE *out = r->report->out;
	char n[MT_NUMBER_EXACT_LEN], when[MT_NUMBER_EXACT_LEN];
	char *command = mt_report_command(mt_report_whole(r->report));

	fputs("memory of ", out);
	mt_text_put(out, MT_TEXT_LINE, command);
	free(command);
	if (r->highest.known) {
		mt_report_number(n, r->report, MT_UNIT_BYTES, r->highest.rss_bytes);
		mt_report_number(when, r->report, MT_UNIT_TIME, r->highest.time_ns);
		fprintf(out, ": at most %s resident, after %s\n", n, when);
		put_moments(r);
	} else {
		fputs(": the recording has no samples of its resident memory\n", out);
	}
	if (r->mapped_count) {
		fputc('\n', out);
		put_mapped(r);
	}
	fputs("\nA trace does not say which pages were resident; 'memtui memory PID' does, while "
	      "the program runs.\n",
		out);
}

/* ---- JSON and CSV ---------------------------------------------------------------------------- */

static void put_json_moment(struct mt_json *json, const char *name, const struct moment *m)
{
	mt_json_key(json, name);
	if (!m->known) {
		mt_json_null(json);
		return;
	}
	mt_json_open(json, '{');
	mt_json_put_seconds(json, "seconds", m->time_ns);
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		mt_json_put_number(json, numbers[i].name, value_of(m, i));
	mt_json_close(json, '}');
}

static void put_json(struct memory_report *r)
{
	struct mt_json json = {.out = r->report->out};
	char *command = mt_report_command(mt_report_whole(r->report));

	mt_json_open(&json, '{');
	mt_json_put_number(&json, "process", mt_report_whole(r->report)->info.pid);
	mt_json_put_string(&json, "command", command);
	free(command);
	put_json_moment(&json, "highest", &r->highest);
	put_json_moment(&json, "end", &r->end);
	mt_json_key(&json, "mapped");
	mt_json_open(&json, '[');
	for (uint32_t i = 0; i < shown_of(r); i++) {
		free(where_of(r, &r->mapped[i]));
		mt_json_line(&json);
		mt_json_open(&json, '{');
		mt_json_put_number(&json, "bytes", r->mapped[i].bytes);
		mt_json_put_number(&json, "count", r->mapped[i].count);
		mt_json_put_bool(&json, "file", r->mapped[i].is_file);
		mt_report_json_backtrace(&json, &r->backtrace);
		mt_json_close(&json, '}');
	}
	mt_json_close(&json, ']');
	mt_json_close(&json, '}');
	fputc('\n', r->report->out);
}

static void put_csv(struct memory_report *r)
{
	FILE *out = r->report->out;

	fputs("what,words,highest,end\n", out);
	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		fputs(numbers[i].name, out);
		mt_csv_field(out, false, numbers[i].words);
		fprintf(out, ",%llu,%llu\n", (unsigned long long)value_of(&r->highest, i),
			(unsigned long long)value_of(&r->end, i));
	}
	for (uint32_t i = 0; i < shown_of(r); i++) {
		char *where = where_of(r, &r->mapped[i]);

		fputs(r->mapped[i].is_file ? "mapped_file" : "mapped", out);
		mt_csv_field(out, false, where);
		fprintf(out, ",,%llu\n", (unsigned long long)r->mapped[i].bytes);
		free(where);
	}
}

int mt_report_memory_of_trace(const struct mt_report *report, struct mt_err *err)
{
	struct memory_report r = {.report = report};

	(void)err;
	find_moments(&r);
	find_mapped(&r);
	if (report->format == MT_FORMAT_JSON)
		put_json(&r);
	else if (report->format == MT_FORMAT_CSV)
		put_csv(&r);
	else
		put_text(&r);
	free(r.mapped);
	mt_backtrace_free(&r.backtrace);
	return 0;
}
