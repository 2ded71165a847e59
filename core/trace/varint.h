/* Variable-length integers (LEB128: seven bits a byte, low bits first, at most ten bytes), and a
 * cursor that reads them from bytes nobody vouches for. */
#ifndef MT_TRACE_VARINT_H
#define MT_TRACE_VARINT_H

#include "core/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MT_VARINT_MAX 10

/* Writes at `at`, which has room for MT_VARINT_MAX bytes; returns the end. Whether a short value
 * takes one byte or two is often a coin's toss: no branch for that. */
static inline uint8_t *mt_varint_put(uint8_t *at, uint64_t value)
{
	if (__builtin_expect(value < 0x4000, 1)) {
		bool two = value >= 0x80;

		at[0] = (uint8_t)((value & 0x7f) | (unsigned)two << 7);
		at[1] = (uint8_t)(value >> 7);
		return at + 1 + two;
	}
	while (__builtin_expect(value >= 0x80, 0)) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline void mt_varint_add(struct mt_buffer *b, uint64_t value)
{
	mt_buffer_reserve(b, MT_VARINT_MAX);
	b->len = (size_t)(mt_varint_put(b->data + b->len, value) - b->data);
}

/* Small magnitudes become small numbers; every 64-bit difference has its code. */
static inline uint64_t mt_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t mt_unzigzag(uint64_t code)
{
	return code >> 1 ^ -(code & 1);
}

/* Once anything was wrong, bad stays set and every further value is 0. */
struct mt_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline size_t mt_cursor_left(const struct mt_cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline uint64_t mt_cursor_fail(struct mt_cursor *c)
{
	c->bad = true;
	c->at = c->end;
	return 0;
}

static inline uint64_t mt_cursor_varint(struct mt_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (c->at == c->end)
			return mt_cursor_fail(c);
		uint8_t byte = *c->at++;

		if (shift == 63 && byte > 1)
			return mt_cursor_fail(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	return mt_cursor_fail(c);
}

/* A value that must be at most `most`. */
static inline uint64_t mt_cursor_bounded(struct mt_cursor *c, uint64_t most)
{
	uint64_t value = mt_cursor_varint(c);

	return value <= most ? value : mt_cursor_fail(c);
}

static inline uint8_t mt_cursor_byte(struct mt_cursor *c)
{
	return c->at == c->end ? (uint8_t)mt_cursor_fail(c) : *c->at++;
}

/* len bytes, or NULL with bad set. */
static inline const uint8_t *mt_cursor_bytes(struct mt_cursor *c, uint64_t len)
{
	if (c->bad || len > mt_cursor_left(c)) {
		mt_cursor_fail(c);
		return NULL;
	}
	c->at += len;
	return c->at - len;
}

#endif
