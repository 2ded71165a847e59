/* What lies where in a loaded module: its segments that can be read, where its call frame
 * information is, and what its notes say. Nothing that its bytes say is believed unchecked. */
#ifndef MT_MAPPED_H
#define MT_MAPPED_H

#include <dlfcn.h>

#include "core/wire.h"
#include "preload/unwind/bytes.h"

#define MT_MAPPED_SEGMENTS 12

/* A sorted search table: pairs of 32 bits, the start of a function and the place of its entry, both
 * counted from base. */
struct mt_cfi_table {
	uint64_t base; /* 0: there is none */
	const uint8_t *pairs;
	uint32_t count;
	bool usual; /* as linkers write it: other unwinders search the same one */
	bool own;   /* in the tracer's own memory */
};

struct mt_mapped {
	uint64_t file; /* where the file's first page lies; 0: not known */
	struct mt_mapped_segment {
		uint64_t start, end;
	} segments[MT_MAPPED_SEGMENTS];
	uint32_t segment_count;
	uint32_t build_id_len; /* GNU's; 0: there is none */
	uint8_t build_id[MT_BUILD_ID_MAX];
	bool go; /* Go has linked it */
	/* it is said to have call frame information, whether that makes sense or not */
	bool has_cfi;
	struct mt_cfi_table table;
	uint32_t sorted; /* the table: what the check mode knows of it */
};
enum { MT_MAPPED_NOT_ASKED, MT_MAPPED_SORTED, MT_MAPPED_UNSORTED };

/* The cheap part: no memory is taken, no file read. */
void mt_mapped_read(const struct dl_find_object *, struct mt_mapped *);
/* Where linkers have made no search table that can be used, looks for .eh_frame in the file, and
 * makes one. */
void mt_mapped_complete(const struct dl_find_object *, struct mt_mapped *);

/* The bytes from an address to the end of the segment that it lies in. False: in none. */
static inline bool mt_mapped_bytes(const struct mt_mapped *image, uint64_t address,
	struct mt_bytes *bytes)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct mt_mapped_segment *s = &image->segments[i];

		if (address - s->start < s->end - s->start) {
			*bytes = (struct mt_bytes){(const uint8_t *)address,
				(const uint8_t *)s->end};
			return true;
		}
	}
	return false;
}

#endif
