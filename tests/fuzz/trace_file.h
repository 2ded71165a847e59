/* An input of trace_fuzz.c and report_fuzz.c as a trace file, with checksums, sequences and an
 * index that are right. trace_input.h says what an input is. */
#ifndef FUZZ_TRACE_FILE_H
#define FUZZ_TRACE_FILE_H

#include "core/base/buffer.h"
#include "core/trace/block.h"
#include "core/trace/trace.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/trace_input.h"

#include <zstd.h>

_Static_assert(sizeof(struct mt_trace_running) == INPUT_TOLD_LEN - 16, "running totals");

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
static inline int fuzz_trace_file(const uint8_t *data, size_t size)
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

#endif
