/* Private to core/trace: a block's payload, read by whichever thread. */
#ifndef MT_TRACE_PAYLOAD_H
#define MT_TRACE_PAYLOAD_H

#include "core/trace/trace.h"

#include <zstd.h>

/* Where a block lies. */
struct mt_trace_place {
	int fd;
	const char *path;
	uint64_t offset, check; /* of its header */
	uint32_t header_len;
	uint32_t stored_len, payload_len;
};

/* What a thread reads with; zeroed at first. */
struct mt_trace_input {
	ZSTD_DCtx *zstd;
	struct mt_buffer stored;
};
void mt_trace_input_free(struct mt_trace_input *);

/* Why it failed: damage when there is text in reason, else err. */
struct mt_trace_fault {
	char reason[160];
	struct mt_err err;
};

/* Replaces `to` by the payload. A negative errno: see fault. */
int mt_trace_payload(const struct mt_trace_place *, struct mt_trace_input *, struct mt_buffer *to,
	struct mt_trace_fault *fault);

#endif
