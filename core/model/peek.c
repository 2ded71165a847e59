/* A trace's head and end, without what lies between them. */
#include "core/model/blind.h"
#include "core/model/load.h"
#include "core/model/payload.h"

#include <errno.h>

static int read_definitions(struct mt_profile *p, struct mt_trace_reader *reader, uint32_t index,
	struct mt_buffer *payload, struct mt_err *err)
{
	const struct mt_trace_block *block = mt_trace_reader_block(reader, index);
	int result = mt_trace_reader_payload(reader, index, payload, err);
	const char *fault = result
		? NULL
		: mt_definitions_read(p, mt_trace_reader_version(reader), block->type, payload);

	if (fault)
		return mt_fail(err, -EBADMSG, "%s: the block at byte %llu is damaged: %s",
			mt_trace_reader_path(reader), (unsigned long long)block->offset, fault);
	return result;
}

int mt_profile_peek(struct mt_profile *p, struct mt_trace_reader *reader, struct mt_err *err)
{
	uint32_t count = mt_trace_reader_count(reader), last = UINT32_MAX;
	struct mt_buffer payload = {0};
	struct mt_memory memory;
	bool started = false, summed = false;
	int result = 0;

	mt_profile_free(p);
	mt_profile_init(p);
	for (uint32_t i = 0; i < count && !result; i++) {
		enum mt_block_type type = mt_trace_reader_block(reader, i)->type;

		started |= type == MT_BLOCK_START;
		if (type == MT_BLOCK_START || type == MT_BLOCK_STRINGS || type == MT_BLOCK_BLIND)
			result = read_definitions(p, reader, i, &payload, err);
		else if (type == MT_BLOCK_INFO)
			last = i;
	}
	if (!result && !started)
		result = mt_fail(err, -EBADMSG, "%s: contains no process information",
			mt_trace_reader_path(reader));
	if (!result && last != UINT32_MAX && !mt_trace_reader_payload(reader, last, &payload, NULL))
		summed = !mt_info_read(p, mt_trace_reader_version(reader), &payload, &memory);
	mt_buffer_free(&payload);
	if (!result)
		mt_blind_derive_old(p);
	return result ? result : summed;
}
