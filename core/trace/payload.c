#include "core/trace/payload.h"
#include "core/trace/block.h"
#include "core/trace/open.h"

#include <errno.h>
#include <stdio.h>

void mt_trace_input_free(struct mt_trace_input *in)
{
	ZSTD_freeDCtx(in->zstd);
	mt_buffer_free(&in->stored);
	*in = (struct mt_trace_input){0};
}

static int damaged(struct mt_trace_fault *fault, const char *reason)
{
	snprintf(fault->reason, sizeof fault->reason, "%s", reason);
	return -EBADMSG;
}

static int decompress(const struct mt_trace_place *at, struct mt_trace_input *in,
	const uint8_t *from, struct mt_buffer *to, struct mt_trace_fault *fault)
{
	if (!in->zstd)
		in->zstd = ZSTD_createDCtx();
	if (!in->zstd)
		return mt_fail(&fault->err, -ENOMEM, "cannot decompress %s: out of memory",
			at->path);
	size_t n = ZSTD_decompressDCtx(in->zstd, to->data, at->payload_len, from, at->stored_len);
	const char *reason = ZSTD_isError(n)
		? ZSTD_getErrorName(n)
		: "the length of the payload does not match its header";

	if (n == at->payload_len)
		return 0;
	snprintf(fault->reason, sizeof fault->reason,
		"the block's payload cannot be decompressed (%s)", reason);
	return -EBADMSG;
}

int mt_trace_payload(const struct mt_trace_place *at, struct mt_trace_input *in,
	struct mt_buffer *to, struct mt_trace_fault *fault)
{
	struct mt_block_header h;
	size_t len = (size_t)at->header_len + at->stored_len;

	*fault = (struct mt_trace_fault){0};
	in->stored.len = 0;
	mt_buffer_reserve(&in->stored, len);
	int result =
		mt_trace_pread(at->fd, at->path, in->stored.data, len, at->offset, &fault->err);

	if (result == -ENODATA)
		return damaged(fault, "the file was truncated");
	if (result)
		return result;
	memcpy(&h, in->stored.data, sizeof h);
	if (h.check != at->check || h.check != mt_block_header_check(&h))
		return damaged(fault, "the block header does not match its checksum");
	const uint8_t *stored = in->stored.data + at->header_len;

	to->len = 0;
	mt_buffer_reserve(to, (size_t)h.payload_len + 1);
	if (h.flags & MT_BLOCK_COMPRESSED) {
		result = decompress(at, in, stored, to, fault);
		if (result)
			return result;
	} else {
		if (h.payload_check != mt_check(stored, h.stored_len))
			return damaged(fault, "the block's payload does not match its checksum");
		memcpy(to->data, stored, h.payload_len);
	}
	to->len = h.payload_len;
	return 0;
}
