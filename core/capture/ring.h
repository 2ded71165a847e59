/* One ring as the recorder reads it: decodes records into private memory, each word read once. */
#ifndef MT_CAPTURE_RING_H
#define MT_CAPTURE_RING_H

#include "core/capture/match.h"
#include "core/capture/segment.h"

#include <stdbool.h>

#define MT_RING_AHEAD 32    /* decoded events: the lookahead of the prefetch */
#define MT_RING_RELEASES 8  /* nested reallocs that can be open */
#define MT_RING_STEP 2048   /* records between two moves of the shared tail */

/* What decoding makes of a MARK, beyond enum mt_record_type. */
enum { MT_DECODED_THREAD = 8, MT_DECODED_GAP, MT_DECODED_INVALID };

struct mt_decoded {
	uint64_t time, end;  /* stamp; position behind it */
	uint64_t pointer;    /* gap: its beginning */
	uint64_t size;       /* gap: events lost */
	uint32_t node;       /* thread mark: index */
	uint32_t type;
};

struct mt_release {
	struct mt_block block;
	bool known;
};

struct mt_ring {
	struct mt_wire_ring *shared;
	const struct mt_wire_record *data;
	uint64_t mask;
	uint64_t consumed, published_tail; /* positions */
	uint64_t decoded;                  /* all below is decoded */
	uint64_t first_head, second_head;  /* of this batch */
	uint64_t time;                     /* of the last decoded record */
	uint32_t thread;                   /* of the profile */
	bool has_thread, busy, damaged;
	uint32_t next, count;              /* in ahead */
	uint32_t release_count;
	struct mt_decoded ahead[MT_RING_AHEAD];
	struct mt_release releases[MT_RING_RELEASES];
};

/* Each word is read once: the program may write over it meanwhile. */
static inline struct mt_wire_record mt_ring_read(const struct mt_ring *r, uint64_t position)
{
	const struct mt_wire_record *at = &r->data[position & r->mask];

	return (struct mt_wire_record){__atomic_load_n(&at->word0, __ATOMIC_RELAXED),
		__atomic_load_n(&at->word1, __ATOMIC_RELAXED)};
}

/* Neither mark, void nor extension, and complete by itself. */
static inline bool mt_ring_is_plain(const struct mt_wire_record *record)
{
	uint64_t pointer = mt_wire_record_pointer(record);

	return mt_wire_record_type(record) - 1 < MT_RECORD_RESTORE && mt_wire_record_size(record) != MT_SIZE_EXTENDED
		&& pointer - 1 < MT_POINTER_EXTENDED - 1;
}

void mt_ring_init(struct mt_ring *, const struct mt_segment *, uint32_t id);
/* Reads the head; a head that cannot be is none. */
uint64_t mt_ring_head(struct mt_ring *);
/* Decodes one event at *position, moves it; false when there is none below limit. time: running stamp. */
bool mt_ring_decode(const struct mt_ring *, uint64_t *position, uint64_t limit, uint64_t *time,
	struct mt_decoded *);
/* Lets the program have the slots of all that was consumed. */
void mt_ring_advance(struct mt_ring *);

#endif
