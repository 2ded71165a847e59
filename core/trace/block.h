/* Private to core/trace: how file header, block headers, index and trailer lie in the file.
 * doc/trace-format.md says the same in words. Everything is little-endian. */
#ifndef MT_TRACE_BLOCK_H
#define MT_TRACE_BLOCK_H

#include "core/trace/trace.h"

#include <string.h>

#define MT_FILE_MAGIC "memtui trace\r\n\x1a" /* 16 bytes with its NUL */
#define MT_FILE_VERSION 8u
#define MT_FILE_VERSION_OLDEST 4u  /* that is read */
#define MT_BLOCK_MAGIC 0x6b6c6274u /* "tblk" */
#define MT_TRAILER_MAGIC "tracend\n"

#define MT_PAYLOAD_MAX (64u << 20) /* uncompressed */
#define MT_ZSTD_RATIO_MAX 65536u   /* zstd cannot shrink further: 128 KiB take at least 3 bytes */
#define MT_BLOCK_EVENTS_MAX 65536u
#define MT_EXTENSION_MAX 4096u /* bytes behind a block header, with their check */

struct mt_file_header {
	char magic[16];
	uint32_t version;
	uint32_t size;
	uint64_t check; /* FNV-1a of what stands before it */
};
_Static_assert(sizeof(struct mt_file_header) == 32, "file header");

#define MT_BLOCK_COMPRESSED 1u /* the payload is one zstd frame with a content checksum */
#define MT_BLOCK_SKIPPABLE 2u  /* a reader that does not know the type passes over the block */

struct mt_block_header {
	uint32_t magic;
	uint8_t type, flags;
	uint16_t size;        /* of this header and its extension */
	uint32_t payload_len; /* uncompressed */
	uint32_t stored_len;  /* as it follows in the file */
	uint32_t event_count;
	uint32_t sequence; /* blocks before this one */
	uint64_t first_ns, last_ns;
	struct mt_trace_running running;
	uint64_t payload_check; /* of an uncompressed payload; else 0 */
	uint64_t check;         /* FNV-1a of what stands before it */
};
_Static_assert(sizeof(struct mt_block_header) == 96, "block header");

/* An extension, which the header's size says, is fields of an event block (core/trace/facts.h) and
 * their FNV-1a. */

/* The index has for each block its offset, 8 bytes, and a copy of its header with the extension. */

struct mt_trailer {
	char magic[8];
	uint64_t index_offset;
	uint64_t file_bytes; /* with the trailer */
	uint64_t check;
};
_Static_assert(sizeof(struct mt_trailer) == 32, "trailer");

/* FNV-1a, 64 bits. */
static inline uint64_t mt_check(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ at[i]) * 1099511628211ull;
	return h;
}

static inline uint64_t mt_block_header_check(const struct mt_block_header *h)
{
	return mt_check(h, offsetof(struct mt_block_header, check));
}

#endif
