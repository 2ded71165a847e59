/* Protocol buffers, written: the wire format's varints and length-delimited fields. */
#ifndef MT_EXPORT_PROTOBUF_H
#define MT_EXPORT_PROTOBUF_H

#include "core/base/buffer.h"

#include <stdio.h>

static inline void mt_proto_varint(struct mt_buffer *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (uint8_t)(value | 0x80);
	bytes[len++] = (uint8_t)value;
	mt_buffer_add(out, bytes, len);
}

/* A number; 0 is what a reader takes for a field that is missing. */
static inline void mt_proto_number(struct mt_buffer *out, unsigned field, uint64_t value)
{
	if (!value)
		return;
	mt_proto_varint(out, field << 3);
	mt_proto_varint(out, value);
}

static inline void mt_proto_bytes(struct mt_buffer *out, unsigned field, const void *bytes,
	size_t len)
{
	mt_proto_varint(out, field << 3 | 2);
	mt_proto_varint(out, len);
	mt_buffer_add(out, bytes, len);
}

/* A message, or packed numbers, that was written into a buffer, which is emptied. */
static inline void mt_proto_message(struct mt_buffer *out, unsigned field,
	struct mt_buffer *message)
{
	mt_proto_bytes(out, field, message->data, message->len);
	message->len = 0;
}

#endif
