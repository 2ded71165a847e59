/* Bytes that somebody else wrote, with their end. A read beyond the end gives 0 and empties the
 * cursor for good, so that a reader may read on and ask once, at the end, whether all was there. */
#ifndef MT_BYTES_H
#define MT_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct mt_bytes {
	const uint8_t *at, *end; /* both NULL: a read went beyond the end */
};

static inline bool mt_bytes_failed(const struct mt_bytes *b)
{
	return b->at == NULL;
}

static inline uint64_t mt_bytes_left(const struct mt_bytes *b)
{
	return (uint64_t)(b->end - b->at);
}

static inline void mt_bytes_fail(struct mt_bytes *b)
{
	b->at = b->end = NULL;
}

static inline void mt_bytes_skip(struct mt_bytes *b, uint64_t len)
{
	if (len > mt_bytes_left(b))
		mt_bytes_fail(b);
	else if (len)
		b->at += len;
}

/* The next len bytes as a cursor, which the caller's moves behind. */
static inline struct mt_bytes mt_bytes_part(struct mt_bytes *b, uint64_t len)
{
	const uint8_t *start = b->at;

	mt_bytes_skip(b, len);
	return (struct mt_bytes){mt_bytes_failed(b) ? NULL : start, b->at};
}

/* A number of size bytes, at most 8, without a sign. */
static inline uint64_t mt_bytes_number(struct mt_bytes *b, unsigned size)
{
	uint64_t value = 0;

	if (size > mt_bytes_left(b)) {
		mt_bytes_fail(b);
		return 0;
	}
	__builtin_memcpy(&value, b->at, size); /* no call where the size is known */
	b->at += size;
	return value;
}

/* The same with a sign. */
static inline int64_t mt_bytes_signed(struct mt_bytes *b, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	return (int64_t)(mt_bytes_number(b, size) << unused) >> unused;
}

static inline uint64_t mt_bytes_leb(struct mt_bytes *b, bool with_sign)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = mt_bytes_number(b, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (with_sign && shift < 64 && byte & 0x40)
		value |= ~0ull << shift;
	return value;
}

static inline uint64_t mt_bytes_uleb(struct mt_bytes *b)
{
	return mt_bytes_leb(b, false);
}

static inline int64_t mt_bytes_sleb(struct mt_bytes *b)
{
	return (int64_t)mt_bytes_leb(b, true);
}

#endif
