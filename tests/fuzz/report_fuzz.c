/* What is shown of traces that lie: every view in every format, every export, and how groups grew.
 * Inputs and traces are those of trace_fuzz.c, which reads them in more ways. */
#include "core/export/export.h"
#include "core/model/load.h"
#include "core/query/site_history.h"
#include "core/query/wrappers.h"
#include "core/symbol/symbol.h"
#include "core/trace/block.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/trace_file.h"

#include <stdlib.h>

/* A number of the input's own below a bound, another one each time. */
static unsigned choose(uint64_t *from, unsigned bound)
{
	*from = *from * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(*from >> 33) % bound;
}

static int diff(const struct mt_report *report, struct mt_err *err)
{
	return mt_report_diff(report, report, MT_DIFF_PER_TIME, err);
}

static int histories(const struct mt_report *report, struct mt_err *err)
{
	const uint32_t count = report->whole->group_count;
	struct mt_rank_point *points =
		mt_alloc(((size_t)count * MT_RANK_POINTS + 1) * sizeof *points);
	uint32_t *old = mt_alloc(((size_t)count + 1) * sizeof *old);
	uint64_t times[MT_RANK_POINTS];
	struct mt_site_history history = {0};
	int result = mt_site_history_series(points, old, times, report->source, err);

	for (uint32_t i = 0; i < count && !result; i++) {
		struct mt_rank rank;

		mt_rank_series(&rank, points + (size_t)i * MT_RANK_POINTS, times, MT_RANK_POINTS,
			&report->whole->groups[i], old[i]);
	}
	if (count)
		result = mt_site_history_group(&history, report->source, count / 2, err);
	mt_site_history_free(&history);
	free(points);
	free(old);
	return result;
}

static int (*const reports[])(const struct mt_report *, struct mt_err *) = {mt_report_info,
	mt_report_groups, mt_report_allocations, mt_report_chains, mt_report_histogram,
	mt_report_errors, mt_report_tree, mt_report_timeline, mt_report_stacked, mt_report_mmaps,
	mt_report_mallopts, mt_report_exit, mt_report_summary, diff, histories,
#define X(name, ...) mt_export_##name,
	MT_EXPORTS(X)
#undef X
};

/* NULL: none. */
static struct mt_filter *filter_of(uint64_t *from)
{
	static const struct {
		enum mt_filter_field field;
		const char *text;
	} fields[] = {
		{MT_FILTER_FROM, "30%"},
		{MT_FILTER_TO, "70%"},
		{MT_FILTER_LIFETIME, "only_leaked"},
		{MT_FILTER_SIZE_MIN, "100"},
		{MT_FILTER_ALIVE_AT, "peak"},
		{MT_FILTER_FUNCTION_REGEX, "a"},
	};
	const unsigned count = sizeof fields / sizeof *fields, chosen = choose(from, 2 * count);
	struct mt_filter *filter = chosen < count ? mt_filter_new() : NULL;
	struct mt_err err;

	if (filter)
		mt_filter_add(filter, fields[chosen].field, fields[chosen].text, &err);
	return filter;
}

static void report_on(const struct mt_source *source, FILE *out, uint64_t from)
{
	struct mt_filter *filter = filter_of(&from);
	struct mt_matched matched = {0};
	struct mt_err err;

	if (mt_match(&matched, source, filter, choose(&from, 2) ? MT_MATCH_HISTORY : 0, &err)
		>= 0) {
		const unsigned which = choose(&from, sizeof reports / sizeof *reports);
		const unsigned how = choose(&from, 1u << 30);
		const struct mt_report report = {
			.out = out,
			.format = (enum mt_format)(how % 3),
			.exact = how >> 2 & 1,
			.profile = &matched.profile,
			.whole = source->profile,
			.symbols = source->symbols,
			.matched = &matched,
			.source = source,
			.asked = filter,
			.sort = (enum mt_metric)((how >> 16) % MT_METRIC_COUNT),
			.ascending = how >> 3 & 1,
			.count = how >> 4 & 1 ? 10 : 0,
			.inverted = how >> 5 & 1,
			.by = (enum mt_rows_by)((how >> 12) % MT_ROWS_BY_COUNT),
			.top = 1 + (how >> 6 & 7),
			.allocation_order =
				(enum mt_allocation_order)((how >> 10) % MT_ORDER_LENGTH),
			.histogram = how >> 9 & 1 ? MT_HISTOGRAM_LIFETIME : MT_HISTOGRAM_SIZE,
			.width = how >> 10 & 1 ? 80 : 0,
			.threshold = 1,
			.columns = how >> 11 & 1 ? 40 : 0,
		};

		reports[which](&report, &err);
	}
	mt_matched_free(&matched);
	mt_filter_free(filter);
}

/* As a recording that is opened reads them: the last ones alone. */
static void read_names(struct mt_symbols *symbols, struct mt_trace_reader *reader)
{
	struct mt_buffer payload = {0};
	struct mt_err err;

	for (uint32_t i = mt_trace_reader_count(reader); i-- > 0;) {
		if (mt_trace_reader_block(reader, i)->type != MT_BLOCK_SYMBOLS)
			continue;
		if (mt_trace_reader_payload(reader, i, &payload, &err) >= 0)
			mt_symbols_decode(symbols, payload.data, payload.len, &err);
		break;
	}
	mt_buffer_free(&payload);
}

static void load(struct mt_trace_reader *reader, FILE *out, uint64_t from)
{
	struct mt_profile profile = {0};
	struct mt_wrappers *wrappers = mt_wrappers_new();
	struct mt_symbols symbols;
	struct mt_err err;

	mt_symbols_init(&symbols);
	if (mt_profile_load(&profile, reader, NULL, NULL, &err) >= 0
		&& mt_profile_check_readable(&profile, reader, &err) >= 0) {
		const struct mt_source source = {
			.profile = &profile,
			.symbols = &symbols,
			.reader = reader,
			.workers = 1,
		};

		read_names(&symbols, reader);
		mt_wrappers_judge(wrappers, &symbols);
		report_on(&source, out, from);
	}
	mt_wrappers_free(wrappers);
	mt_symbols_free(&symbols);
	mt_profile_free(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	struct mt_err err;
	int fd = size ? fuzz_trace_file(data, size) : -1;
	struct mt_trace_reader *reader = fd < 0 ? NULL : mt_trace_reader_open_fd(fd, "input", &err);

	if (!out)
		out = fopen("/dev/null", "we");
	if (reader && out)
		load(reader, out, mt_check(data, size));
	mt_trace_reader_free(reader);
	return 0;
}
