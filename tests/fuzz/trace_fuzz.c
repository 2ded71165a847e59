/* The trace reader, what loads definitions, totals, checkpoints, events and symbols, and questions
 * that go over the events, with the checksums made right, so that what lies behind them is reached.
 * trace_input.h says what an input is. */
#include "core/model/load.h"
#include "core/query/allocations.h"
#include "core/query/scan.h"
#include "core/symbol/symbol.h"
#include "core/trace/block.h"
#include "core/trace/trace.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/trace_input.h"

#include <stdlib.h>
#include <zstd.h>

_Static_assert(sizeof(struct mt_trace_running) == INPUT_TOLD_LEN - 16, "running totals");

/* ---- an input as a trace file ---- */

struct making {
	struct mt_buffer file, index, packed;
	ZSTD_CCtx *zstd;
	uint32_t sequence;
};

/* Returns whether it is compressed now. */
static bool compress_payload(struct making *m, const struct input_block *b)
{
	size_t most = ZSTD_compressBound(b->len), n;

	if (!m->zstd) {
		m->zstd = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(m->zstd, ZSTD_c_compressionLevel, 1);
		ZSTD_CCtx_setParameter(m->zstd, ZSTD_c_checksumFlag, 1);
	}
	m->packed.len = 0;
	mt_buffer_reserve(&m->packed, most);
	n = ZSTD_compress2(m->zstd, m->packed.data, most, b->payload, b->len);
	m->packed.len = ZSTD_isError(n) ? 0 : n;
	return m->packed.len && m->packed.len < b->len;
}

static void add_block(struct making *m, const struct input_block *b, bool compressed)
{
	uint64_t check = mt_check(b->extension, b->extended), offset = m->file.len;
	bool packed = compressed && compress_payload(m, b);
	struct mt_block_header h = {
		.magic = MT_BLOCK_MAGIC,
		.type = b->type,
		.flags = (uint8_t)((packed ? MT_BLOCK_COMPRESSED : 0)
			| (b->flags & INPUT_SKIPPABLE ? MT_BLOCK_SKIPPABLE : 0)),
		.size = (uint16_t)(sizeof h + (b->extended ? b->extended + sizeof check : 0)),
		.payload_len = (uint32_t)b->len,
		.stored_len = (uint32_t)(packed ? m->packed.len : b->len),
		.event_count = b->type == MT_BLOCK_EVENTS ? b->events : 0,
		.sequence = m->sequence++,
		.payload_check = packed ? 0 : mt_check(b->payload, b->len),
	};

	memcpy(&h.first_ns, b->told, 8);
	memcpy(&h.last_ns, b->told + 8, 8);
	memcpy(&h.running, b->told + 16, sizeof h.running);
	h.check = mt_block_header_check(&h);
	mt_buffer_add(&m->file, &h, sizeof h);
	if (b->extended) {
		mt_buffer_add(&m->file, b->extension, b->extended);
		mt_buffer_add(&m->file, &check, sizeof check);
	}
	if (b->type != MT_BLOCK_INDEX) {
		mt_buffer_add(&m->index, &offset, sizeof offset);
		mt_buffer_add(&m->index, m->file.data + offset, h.size);
	}
	if (h.stored_len)
		mt_buffer_add(&m->file, packed ? m->packed.data : b->payload, h.stored_len);
}

static void add_index(struct making *m, bool compressed)
{
	struct mt_buffer payload = m->index;
	const struct input_block index = {
		.type = MT_BLOCK_INDEX,
		.payload = payload.data,
		.len = payload.len,
	};
	struct mt_trailer t = {.magic = MT_TRAILER_MAGIC, .index_offset = m->file.len};

	add_block(m, &index, compressed);
	t.file_bytes = m->file.len + sizeof t;
	t.check = mt_check(&t, offsetof(struct mt_trailer, check));
	mt_buffer_add(&m->file, &t, sizeof t);
}

/* A descriptor, or -1. */
static int make_file(const uint8_t *data, size_t size)
{
	struct mt_file_header header = {.magic = MT_FILE_MAGIC, .size = sizeof header};
	struct making m = {0};
	struct input_block b;
	bool compressed = data[0] & INPUT_COMPRESSED;

	header.version = MT_FILE_VERSION - (data[0] & INPUT_VERSIONS) % (MT_FILE_VERSION - 3);
	header.check = mt_check(&header, offsetof(struct mt_file_header, check));
	mt_buffer_add(&m.file, &header, sizeof header);
	for (size_t at = 1, len;
		(len = input_block(data + at, size - at, MT_EXTENSION_MAX - sizeof(uint64_t), &b));
		at += len)
		add_block(&m, &b, compressed);
	if (data[0] & INPUT_INDEXED)
		add_index(&m, compressed);
	int fd = fuzz_file(m.file.data, m.file.len);

	mt_buffer_free(&m.file);
	mt_buffer_free(&m.index);
	mt_buffer_free(&m.packed);
	ZSTD_freeCCtx(m.zstd);
	return fd;
}

/* ---- what readers do with it ---- */

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
	int fd = size ? make_file(data, size) : -1;
	struct mt_trace_reader *reader = fd < 0 ? NULL : mt_trace_reader_open_fd(fd, "input", &err);

	if (reader) {
		load(reader, (unsigned)mt_check(data, size < 64 ? size : 64) >> 8);
		mt_trace_reader_free(reader);
	}
	return 0;
}
