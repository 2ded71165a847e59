#include "core/export/report_account.h"
#include "core/export/report_parts.h"
#include "core/export/table.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES 3u /* of the call that mapped memory */

struct account_report {
	const struct mt_report *report;
	const struct mt_account *account;
	const char *command, *unknown;
	struct mt_backtrace backtrace;
};

/* ---- words ----------------------------------------------------------------------------------- */

static char *mapped_words(struct account_report *r, const struct mt_account_row *row)
{
	char *where, *words;

	mt_backtrace_of(&r->backtrace, r->report->profile, r->report->symbols, row->node);
	where = mt_report_one_line(r->report, &r->backtrace, " < ", FRAMES);
	words = mt_format("mapped by %s", *where ? where : "an unknown function");
	free(where);
	return words;
}

/* What the row is, for people; caller frees. */
static char *words_of(struct account_report *r, const struct mt_account_row *row)
{
	const char *words = mt_account_kind_words(row->kind);
	char n[MT_NUMBER_EXACT_LEN];

	switch (row->kind) {
	case MT_ACCOUNT_BLOCKS:
		mt_report_number(n, r->report, MT_UNIT_COUNT, row->count);
		return mt_format("%s (%s %s)", words, n, MT_PLURAL(n, "block"));
	case MT_ACCOUNT_HEAP:
		return r->account->has_blocks
			? mt_strdup("rest of the heap: free chunks, and blocks that are not "
				    "recorded")
			: mt_strdup(words);
	case MT_ACCOUNT_STACKS:
		mt_report_number(n, r->report, MT_UNIT_COUNT, row->count);
		return mt_format("%s (%s)", words, n);
	case MT_ACCOUNT_MAPPED: return mapped_words(r, row);
	case MT_ACCOUNT_FILE: return mt_strdup(row->detail);
	case MT_ACCOUNT_OWN: return mt_format("%s: %s", words, row->detail);
	default: return mt_format("%s%s%s", words, *row->detail ? " " : "", row->detail);
	}
}

static uint64_t shared_of(const struct mt_account_sum *sum)
{
	return sum->shared_clean + sum->shared_dirty;
}

static uint32_t shown_of(const struct account_report *r, uint32_t count)
{
	uint64_t most = r->report->count;

	return most && most < count ? (uint32_t)most : count;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_cells(struct account_report *r, struct mt_table *table,
	const struct mt_account_sum *sum, const char *what)
{
	uint64_t total = r->account->total.resident;
	const uint64_t numbers[] = {sum->private_dirty, sum->private_clean, shared_of(sum),
		sum->swap, sum->size};
	char n[MT_NUMBER_EXACT_LEN];

	mt_report_number(n, r->report, MT_UNIT_BYTES, sum->resident);
	mt_table_cell(table, n);
	snprintf(n, sizeof n, "%.1f%%", total ? (double)sum->resident * 100 / (double)total : 0);
	mt_table_cell(table, n);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		mt_report_number(n, r->report, MT_UNIT_BYTES, numbers[i]);
		mt_table_cell(table, numbers[i] ? n : "");
	}
	mt_table_cell(table, what);
}

/* Rows that read the same become one: calls by several ways, of which the ends differ. */
struct line {
	char *words;
	bool is_own;
	struct mt_account_sum sum;
};

static int by_size(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->is_own != y->is_own)
		return x->is_own ? 1 : -1;
	if (x->sum.resident != y->sum.resident)
		return x->sum.resident < y->sum.resident ? 1 : -1;
	return strcmp(x->words, y->words);
}

/* Returns how many there are. */
static uint32_t make_lines(struct account_report *r, struct line *lines)
{
	uint32_t count = 0, same;

	for (uint32_t i = 0; i < r->account->count; i++) {
		const struct mt_account_row *row = &r->account->rows[i];
		char *words = words_of(r, row);

		for (same = 0; same < count && strcmp(lines[same].words, words) != 0; same++)
			;
		if (same < count) {
			free(words);
		} else {
			lines[count++] = (struct line){words, row->kind == MT_ACCOUNT_OWN, {0}};
		}
		mt_account_add(&lines[same].sum, &row->sum);
	}
	if (count)
		qsort(lines, count, sizeof *lines, by_size);
	return count;
}

static void put_table(struct account_report *r)
{
	static const char *const headings[] = {"RESIDENT", "PART", "DIRTY", "CLEAN", "SHARED",
		"SWAPPED", "SIZE", "WHAT"};
	static const bool numbers[] = {true, true, true, true, true, true, true, false};
	struct mt_table *table = mt_table_new(headings, numbers, 8);
	struct line *lines = mt_alloc((r->account->count + 1ull) * sizeof *lines);
	uint32_t count = make_lines(r, lines), shown = shown_of(r, count);
	struct mt_account_sum others = {0};
	char n[MT_NUMBER_OF_LEN], what[MT_NUMBER_OF_LEN + 64];

	for (uint32_t i = 0; i < count; i++) {
		if (i < shown)
			put_cells(r, table, &lines[i].sum, lines[i].words);
		else
			mt_account_add(&others, &lines[i].sum);
		free(lines[i].words);
	}
	if (shown < count) {
		snprintf(what, sizeof what, "the other %s; see them with --count",
			mt_number_of(n, count - shown, "row"));
		put_cells(r, table, &others, what);
	}
	put_cells(r, table, &r->account->total, "all");
	mt_table_fit(table, r->report->width);
	mt_table_print(table, r->report->out);
	mt_table_free(table);
	free(lines);
}

/* ---- heap blocks by backtrace ---------------------------------------------------------------- */

static uint32_t groups_of(const struct account_report *r)
{
	uint32_t top = r->report->top;

	return top < r->account->group_count ? top : r->account->group_count;
}

static void put_groups(struct account_report *r)
{
	static const char *const headings[] = {"RESIDENT", "ASKED FOR", "BLOCKS", "HEAP BLOCKS BY"};
	static const bool right[] = {true, true, true, false};
	struct mt_table *table = mt_table_new(headings, right, 4);
	char n[MT_NUMBER_EXACT_LEN];

	for (uint32_t i = 0; i < groups_of(r); i++) {
		const struct mt_account_group *g = &r->account->groups[i];
		char *where;

		mt_backtrace_get(&r->backtrace, r->report->profile, r->report->symbols, g->group);
		where = mt_report_one_line(r->report, &r->backtrace, " < ", FRAMES);
		mt_report_number(n, r->report, MT_UNIT_BYTES, g->resident);
		mt_table_cell(table, n);
		mt_report_number(n, r->report, MT_UNIT_BYTES, g->size);
		mt_table_cell(table, n);
		mt_report_number(n, r->report, MT_UNIT_COUNT, g->count);
		mt_table_cell(table, n);
		mt_table_cell(table, where);
		free(where);
	}
	fputc('\n', r->report->out);
	mt_table_fit(table, r->report->width);
	mt_table_print(table, r->report->out);
	mt_table_free(table);
}

static void put_json_groups(struct account_report *r, struct mt_json *json)
{
	mt_json_key(json, "groups");
	mt_json_open(json, '[');
	for (uint32_t i = 0; i < groups_of(r); i++) {
		const struct mt_account_group *g = &r->account->groups[i];

		mt_backtrace_get(&r->backtrace, r->report->profile, r->report->symbols, g->group);
		mt_json_line(json);
		mt_json_open(json, '{');
		mt_json_put_number(json, "id", g->group);
		mt_json_put_number(json, "bytes", g->resident);
		mt_json_put_number(json, "size_bytes", g->size);
		mt_json_put_number(json, "count", g->count);
		mt_report_json_backtrace(json, &r->backtrace);
		mt_json_close(json, '}');
	}
	mt_json_close(json, ']');
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void put_notes(const struct account_report *r)
{
	const struct mt_account *a = r->account;
	FILE *out = r->report->out;
	char n[MT_NUMBER_EXACT_LEN];

	if (r->unknown)
		fprintf(out, "%s\n", r->unknown);
	if (a->is_sampled)
		fputs("the recording is sampled, so most blocks are not known; record without "
		      "--sample and --every to tell them from free chunks\n",
			out);
	if (a->has_blocks && r->report->profile->info.lost_events) {
		fputs("heap blocks are estimates, since events were lost:\n", out);
		mt_report_losses(r->report, "   ");
	}
	if (a->huge) {
		mt_report_number(n, r->report, MT_UNIT_BYTES, a->huge);
		fprintf(out, "%s of it is in huge pages\n", n);
	}
	if (a->hugetlb) {
		mt_report_number(n, r->report, MT_UNIT_BYTES, a->hugetlb);
		fprintf(out, "%s in reserved huge pages does not count as resident\n", n);
	}
	if (a->changed) {
		mt_report_number(n, r->report, MT_UNIT_BYTES, a->changed);
		fprintf(out,
			"%s cannot be told for certain: pages came or went while they were read, "
			"or are pages of zeroes that other processes have, too\n",
			n);
	}
}

static void put_text(struct account_report *r)
{
	struct mt_account_sum own = mt_account_of_kind(r->account, MT_ACCOUNT_OWN);
	FILE *out = r->report->out;
	char n[MT_NUMBER_EXACT_LEN];

	fputs("memory of ", out);
	mt_text_put(out, MT_TEXT_LINE, r->command);
	mt_report_number(n, r->report, MT_UNIT_BYTES, r->account->total.resident);
	fprintf(out, " (process %d): %s resident", (int)r->account->pid, n);
	if (own.resident) {
		mt_report_number(n, r->report, MT_UNIT_BYTES,
			r->account->total.resident - own.resident);
		fprintf(out, ", %s without memtui's own", n);
	}
	fputs("\n", out);
	put_table(r);
	put_notes(r);
	if (groups_of(r))
		put_groups(r);
}

/* ---- JSON and CSV ---------------------------------------------------------------------------- */

static void put_json_row(struct account_report *r, struct mt_json *json,
	const struct mt_account_row *row)
{
	char *words = words_of(r, row);

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_string(json, "what", mt_account_kind_name(row->kind));
	mt_json_put_string(json, "detail", row->detail);
	mt_json_put_string(json, "words", words);
	mt_json_put_number(json, "bytes", row->sum.resident);
	mt_json_put_number(json, "private_dirty_bytes", row->sum.private_dirty);
	mt_json_put_number(json, "private_clean_bytes", row->sum.private_clean);
	mt_json_put_number(json, "shared_dirty_bytes", row->sum.shared_dirty);
	mt_json_put_number(json, "shared_clean_bytes", row->sum.shared_clean);
	mt_json_put_number(json, "swap_bytes", row->sum.swap);
	mt_json_put_number(json, "size_bytes", row->sum.size);
	mt_json_put_number(json, "count", row->count);
	if (row->kind == MT_ACCOUNT_MAPPED)
		mt_report_json_backtrace(json, &r->backtrace);
	mt_json_close(json, '}');
	free(words);
}

static void put_json(struct account_report *r)
{
	const struct mt_account *a = r->account;
	struct mt_json json = {.out = r->report->out};
	uint32_t shown = shown_of(r, a->count);

	mt_json_open(&json, '{');
	mt_json_put_number(&json, "process", (uint64_t)a->pid);
	mt_json_put_string(&json, "command", r->command);
	mt_json_put_number(&json, "rss_bytes", a->total.resident);
	mt_json_put_number(&json, "explained_bytes",
		a->total.resident - mt_account_of_kind(a, MT_ACCOUNT_UNEXPLAINED).resident);
	mt_json_put_number(&json, "memtui_bytes", mt_account_of_kind(a, MT_ACCOUNT_OWN).resident);
	mt_json_put_number(&json, "swap_bytes", a->total.swap);
	mt_json_put_number(&json, "vss_bytes", a->total.size);
	mt_json_put_number(&json, "huge_page_bytes", a->huge);
	mt_json_put_number(&json, "reserved_huge_page_bytes", a->hugetlb);
	mt_json_put_number(&json, "changed_bytes", a->changed);
	mt_json_put_bool(&json, "blocks_known", a->has_blocks);
	mt_json_put_bool(&json, "begins_within", a->begins_within);
	mt_json_put_bool(&json, "estimated", a->has_blocks && r->report->profile->info.lost_events);
	mt_json_key(&json, "unknown");
	if (r->unknown)
		mt_json_string(&json, r->unknown);
	else
		mt_json_null(&json);
	mt_json_key(&json, "rows");
	mt_json_open(&json, '[');
	for (uint32_t i = 0; i < shown; i++)
		put_json_row(r, &json, &a->rows[i]);
	mt_json_close(&json, ']');
	if (r->report->top)
		put_json_groups(r, &json);
	mt_json_close(&json, '}');
	fputc('\n', r->report->out);
}

static void put_csv(struct account_report *r)
{
	FILE *out = r->report->out;
	uint32_t shown = shown_of(r, r->account->count);

	fputs("what,words,resident,private_dirty,private_clean,shared_dirty,shared_clean,swapped,"
	      "size,count\n",
		out);
	for (uint32_t i = 0; i < shown; i++) {
		const struct mt_account_row *row = &r->account->rows[i];
		const uint64_t numbers[] = {row->sum.resident, row->sum.private_dirty,
			row->sum.private_clean, row->sum.shared_dirty, row->sum.shared_clean,
			row->sum.swap, row->sum.size, row->count};
		char *words = words_of(r, row);

		fputs(mt_account_kind_name(row->kind), out);
		mt_csv_field(out, false, words);
		for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
			fprintf(out, ",%llu", (unsigned long long)numbers[k]);
		fputc('\n', out);
		free(words);
	}
}

void mt_report_account(const struct mt_report *report, const struct mt_account *account,
	const char *command, const char *unknown)
{
	struct account_report r = {.report = report,
		.account = account,
		.command = command,
		.unknown = unknown};

	if (report->format == MT_FORMAT_JSON)
		put_json(&r);
	else if (report->format == MT_FORMAT_CSV)
		put_csv(&r);
	else
		put_text(&r);
	mt_backtrace_free(&r.backtrace);
}
