/* The trace reader, what loads definitions, totals, checkpoints, events and symbols, and questions
 * that go over the events, with the checksums made right, so that what lies behind them is reached.
 * trace_input.h says what an input is. */
#include "core/model/load.h"
#include "core/query/allocations.h"
#include "core/query/scan.h"
#include "core/symbol/symbol.h"
#include "core/trace/block.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/trace_file.h"

static int visit(void *context, const struct mt_allocation *a)
{
	*(uint64_t *)context += a->number;
	return 0;
}

static int count(void *context, const struct mt_event *e)
{
	*(uint64_t *)context += e->size;
	return 0;
}

static void list(const struct mt_source *source, struct mt_filter *filter, unsigned which)
{
	struct mt_allocation_list rows = {0};
	struct mt_err err;

	mt_allocations_get(&rows, source, filter,
		which & 8 ? MT_ORDER_TIMESTAMP : MT_ORDER_LIFETIME, which & 1, which & 2, 0, 100,
		&err);
	mt_allocations_free(&rows);
}

/* Fields that make the reader choose blocks by their headers, and others that want all of a
 * block's life. */
static void ask(const struct mt_source *source, unsigned which)
{
	static const struct {
		enum mt_filter_field field;
		const char *text;
	} fields[] = {
		{MT_FILTER_DOMAIN, "heap"},
		{MT_FILTER_LIFETIME, "only_short_lived"},
		{MT_FILTER_SIZE_MIN, "100"},
		{MT_FILTER_CHAIN_LENGTH_MIN, "2"},
		{MT_FILTER_ALIVE_AT, "peak"},
		{MT_FILTER_LIFETIME, "only_leaked"}, /* twice: the list of live blocks answers */
		{MT_FILTER_LIFETIME, "only_leaked"},
	};
	const unsigned chosen = which % (sizeof fields / sizeof *fields + 1);
	uint64_t sum = 0;
	struct mt_filter *filter = mt_filter_new();
	struct mt_matched matched = {0};
	struct mt_err err;

	if (!(which & 16)) {
		mt_filter_add(filter, MT_FILTER_FROM, "30%", &err);
		mt_filter_add(filter, MT_FILTER_TO, "70%", &err);
	}
	if (chosen)
		mt_filter_add(filter, fields[chosen - 1].field, fields[chosen - 1].text, &err);
	mt_match(&matched, source, filter, which & 1 ? MT_MATCH_HISTORY : 0, &err);
	mt_scan_allocations(source, filter, which & 2 ? MT_SCAN_CHAINS : MT_SCAN_STACKS, visit,
		&sum, &err);
	list(source, filter, which);
	if (which & 4)
		mt_scan_events(source, filter, count, &sum, &err);
	mt_matched_free(&matched);
	mt_filter_free(filter);
}

static void load(struct mt_trace_reader *reader, unsigned which)
{
	struct mt_profile profile = {0};
	struct mt_symbols symbols;
	struct mt_buffer payload = {0};
	struct mt_err err;

	mt_symbols_init(&symbols);
	if (which & 8)
		mt_profile_peek(&profile, reader, &err);
	if (mt_profile_load(&profile, reader, NULL, NULL, &err) >= 0) {
		const struct mt_source source = {
			.profile = &profile,
			.symbols = &symbols,
			.reader = reader,
			.workers = 1,
		};

		mt_profile_check_readable(&profile, reader, &err);
		ask(&source, which);
	}
	for (uint32_t i = 0; i < mt_trace_reader_count(reader); i++)
		if (mt_trace_reader_block(reader, i)->type == MT_BLOCK_SYMBOLS
			&& mt_trace_reader_payload(reader, i, &payload, &err) >= 0)
			mt_symbols_decode(&symbols, payload.data, payload.len, &err);
	mt_buffer_free(&payload);
	mt_symbols_free(&symbols);
	mt_profile_free(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_err err;
	int fd = size ? fuzz_trace_file(data, size) : -1;
	struct mt_trace_reader *reader = fd < 0 ? NULL : mt_trace_reader_open_fd(fd, "input", &err);

	if (reader) {
		load(reader, (unsigned)mt_check(data, size < 64 ? size : 64) >> 8);
		mt_trace_reader_free(reader);
	}
	return 0;
}
