/* The trace reader, what loads definitions, totals, events and symbols, and questions about ranges,
 * with the checksums made right, so that what lies behind them is reached.
 *
 * Input: a byte for the version; then blocks, each a byte for its type (with 64: skippable; with
 * 128: its times are in the middle), six for its number of events and the lengths of its header's
 * extension and of its payload, and these two; what is left over is the last one's. */
#include "core/model/load.h"
#include "core/query/scan.h"
#include "core/symbol/symbol.h"
#include "core/trace/block.h"
#include "core/trace/trace.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define BLOCK_HEAD 7u
#define SKIPPABLE 64u
#define MIDDLE 128u

static void add_block(struct mt_buffer *file, uint32_t sequence, uint8_t type, uint16_t events,
	const uint8_t *extension, uint32_t extended, const uint8_t *payload, uint32_t len)
{
	uint64_t check = mt_check(extension, extended);
	struct mt_block_header h = {
		.magic = MT_BLOCK_MAGIC,
		.type = type & (SKIPPABLE - 1),
		.flags = type & SKIPPABLE ? MT_BLOCK_SKIPPABLE : 0,
		.size = (uint16_t)(sizeof h + (extended ? extended + sizeof check : 0)),
		.first_ns = type & MIDDLE ? 500000 : 0,
		.last_ns = type & MIDDLE ? 1500000 : 400000,
		.payload_len = len,
		.stored_len = len,
		.event_count = events,
		.sequence = sequence,
		.payload_check = mt_check(payload, len),
	};

	h.check = mt_block_header_check(&h);
	mt_buffer_add(file, &h, sizeof h);
	if (extended) {
		mt_buffer_add(file, extension, extended);
		mt_buffer_add(file, &check, sizeof check);
	}
	mt_buffer_add(file, payload, len);
}

static int visit(void *context, const struct mt_allocation *a)
{
	*(uint64_t *)context += a->number;
	return 0;
}

/* What a range needs is decided by the headers. */
static void ask(const struct mt_profile *profile, const struct mt_symbols *symbols,
	struct mt_trace_reader *reader)
{
	const struct mt_source source = {
		.profile = profile,
		.symbols = symbols,
		.reader = reader,
		.workers = 1,
	};
	struct mt_filter *filter = mt_filter_new();
	struct mt_matched matched = {0};
	uint64_t sum = 0;
	struct mt_err err;

	if (mt_filter_add(filter, MT_FILTER_FROM, "0.6ms", &err) >= 0
		&& mt_filter_add(filter, MT_FILTER_TO, "1ms", &err) >= 0) {
		mt_match(&matched, &source, filter, 0, &err);
		mt_scan_allocations(&source, filter, 0, visit, &sum, &err);
	}
	mt_matched_free(&matched);
	mt_filter_free(filter);
}

static void load(struct mt_trace_reader *reader)
{
	struct mt_profile profile = {0};
	struct mt_symbols symbols;
	struct mt_buffer payload = {0};
	struct mt_err err;

	mt_symbols_init(&symbols);
	if (mt_profile_load(&profile, reader, NULL, NULL, &err) >= 0) {
		mt_profile_check_readable(&profile, reader, &err);
		ask(&profile, &symbols, reader);
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
	struct mt_file_header header = {.magic = MT_FILE_MAGIC, .size = sizeof header};
	struct mt_buffer file = {0};
	uint32_t sequence = 0;

	if (!size)
		return 0;
	header.version = MT_FILE_VERSION - data[0] % (MT_FILE_VERSION - 3);
	header.check = mt_check(&header, offsetof(struct mt_file_header, check));
	mt_buffer_add(&file, &header, sizeof header);
	for (size_t at = 1; size - at >= BLOCK_HEAD; sequence++) {
		const uint8_t *b = data + at;
		size_t extended = (size_t)(b[3] | b[4] << 8) % MT_EXTENSION_MAX;
		size_t len = (size_t)(b[5] | b[6] << 8), left = size - at - BLOCK_HEAD;

		extended = extended < left ? extended : left;
		left -= extended;
		len = len < left ? len : left;
		add_block(&file, sequence, b[0],
			(b[0] & (SKIPPABLE - 1)) == MT_BLOCK_EVENTS ? (uint16_t)(b[1] | b[2] << 8)
								    : 0,
			b + BLOCK_HEAD, (uint32_t)extended, b + BLOCK_HEAD + extended,
			(uint32_t)len);
		at += BLOCK_HEAD + extended + len;
	}
	int fd = fuzz_file(file.data, file.len);
	struct mt_err err;
	struct mt_trace_reader *reader = fd < 0 ? NULL : mt_trace_reader_open_fd(fd, "input", &err);

	if (reader) {
		load(reader);
		mt_trace_reader_free(reader);
	}
	mt_buffer_free(&file);
	return 0;
}
