/* The trace reader and what loads definitions, totals, events and symbols, with the checksums made
 * right, so that what lies behind them is reached.
 *
 * Input: blocks, each a byte for its type, four for its number of events and length, and its
 * payload; what is left over is the last one's. */
#include "core/model/load.h"
#include "core/symbol/symbol.h"
#include "core/trace/block.h"
#include "core/trace/trace.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void add_block(struct mt_buffer *file, uint32_t sequence, uint8_t type, uint16_t events,
	const uint8_t *payload, uint32_t len)
{
	struct mt_block_header h = {
		.magic = MT_BLOCK_MAGIC,
		.type = type,
		.size = sizeof h,
		.payload_len = len,
		.stored_len = len,
		.event_count = events,
		.sequence = sequence,
		.payload_check = mt_check(payload, len),
	};

	h.check = mt_block_header_check(&h);
	mt_buffer_add(file, &h, sizeof h);
	mt_buffer_add(file, payload, len);
}

static void load(struct mt_trace_reader *reader)
{
	struct mt_profile profile = {0};
	struct mt_symbols symbols;
	struct mt_buffer payload = {0};
	struct mt_err err;

	if (mt_profile_load(&profile, reader, NULL, NULL, &err) >= 0)
		mt_profile_check_readable(&profile, reader, &err);
	mt_symbols_init(&symbols);
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
	static const struct mt_file_header header = {.magic = MT_FILE_MAGIC,
		.version = MT_FILE_VERSION,
		.size = sizeof header};
	struct mt_buffer file = {0};
	uint32_t sequence = 0;

	mt_buffer_add(&file, &header, sizeof header);
	for (size_t at = 0; size - at >= 5; sequence++) {
		size_t len = (size_t)(data[at + 3] | data[at + 4] << 8), left = size - at - 5;

		len = len < left ? len : left;
		add_block(&file, sequence, data[at],
			data[at] == MT_BLOCK_EVENTS ? (uint16_t)(data[at + 1] | data[at + 2] << 8)
						    : 0,
			data + at + 5, (uint32_t)len);
		at += 5 + len;
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
