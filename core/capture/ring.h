/* One ring as the recorder reads it: decodes records into private memory, each word read once. */
#ifndef MT_CAPTURE_RING_H
#define MT_CAPTURE_RING_H

#include "core/capture/live_table.h"
#include "core/capture/maps.h"
#include "core/capture/segment.h"

#include <stdbool.h>

#define MT_RING_RELEASES 8 /* nested reallocs that can be open */
#define MT_RING_STEP 2048  /* records between two moves of the shared tail */

/* What decoding makes of a MARK and of what is rare, beyond enum mt_record_type. Their values are
 * read from the ring once more when they are consumed, so that what is common stays small. */
enum {
	MT_DECODED_THREAD = 8,
	MT_DECODED_INVALID,
	MT_DECODED_ALLOC, /* with more than pointer and size */
	MT_DECODED_REALLOC,
	MT_DECODED_DOMAIN_ALLOC, /* these four: of a domain other than the heap */
	MT_DECODED_DOMAIN_REALLOC,
	MT_DECODED_DOMAIN_FREE,
	MT_DECODED_DOMAIN_RELEASE,
	MT_DECODED_GAP, /* from here on: mt_mark_consume */
	MT_DECODED_MAP,
	MT_DECODED_UNMAP,
	MT_DECODED_UNMAP_FAILED,
	MT_DECODED_CALL,
	MT_DECODED_USER,
};

struct mt_decoded {
	uint64_t time, end; /* stamp; position behind it */
	uint64_t pointer;   /* mark: function of the call */
	uint64_t size;
	uint32_t node; /* thread mark: index */
	uint16_t type;
	uint16_t function; /* that was called, where the record names it; else 0 */
};

/* What stands before a record and belongs to it. */
struct mt_extensions {
	uint64_t time, size, pointer, function, usable, values[MT_MARK_VALUES];
	unsigned value_count;
	bool has_time, has_size, has_pointer, has_usable, paused;
};

/* An UNMAP of this ring that may yet turn out to have failed, or to be the first half of an
 * mremap. */
#define MT_RING_UNMAPS 4
struct mt_unmap {
	uint64_t address, length;
	struct mt_map_list removed;
	bool open;
};

struct mt_release {
	struct mt_pool_cell cell;
	uint64_t next_number, time_ns; /* of the release */
	bool known, temporary;
	uint8_t domain;
};

struct mt_ring {
	struct mt_wire_ring *shared;
	const struct mt_wire_record *data;
	uint64_t mask;
	uint64_t consumed, published_tail; /* positions */
	uint64_t decoded;                  /* all below is decoded */
	uint64_t looked;                   /* what the events below will touch was asked for */
	uint64_t seen;                     /* consumed at the last look of ring_pages */
	/* positions of ring_pages, where pages begin: the pages of all before kept are given back,
	 * but for those of the lap before in [old, old_end), which the thread had claimed */
	uint64_t kept, old, old_end;
	uint64_t dry; /* the tail when even its page was given back; 0: it was not */
	uint64_t first_head, second_head; /* of this batch */
	/* first_head, or where the shared tail is to be moved before; a fetch goes beyond both */
	uint64_t limit;
	uint64_t time;   /* of the last decoded record */
	uint32_t thread; /* of the profile */
	bool has_thread, busy, damaged;
	bool ready;                      /* next is decoded and not consumed */
	struct mt_live_table_open *open; /* what its next event ends; NULL: nothing is known */
	uint32_t release_count;
	struct mt_decoded next;
	struct mt_release releases[MT_RING_RELEASES];
	struct mt_unmap unmaps[MT_RING_UNMAPS]; /* in turn */
	uint32_t unmap_count;
};

/* Each word is read once: the program may write over it meanwhile. */
static inline struct mt_wire_record mt_ring_read_at(const struct mt_wire_record *at)
{
	return (struct mt_wire_record){__atomic_load_n(&at->word0, __ATOMIC_RELAXED),
		__atomic_load_n(&at->word1, __ATOMIC_RELAXED)};
}

static inline struct mt_wire_record mt_ring_read(const struct mt_ring *r, uint64_t position)
{
	return mt_ring_read_at(&r->data[position & r->mask]);
}

/* How many records lie in a row from the position on, up to where the ring begins anew. */
static inline uint64_t mt_ring_straight(const struct mt_ring *r, uint64_t position)
{
	return r->mask + 1 - (position & r->mask);
}

/* Neither mark, void nor extension, and complete by itself. */
static inline bool mt_ring_is_plain(const struct mt_wire_record *record)
{
	uint64_t pointer = mt_wire_record_pointer(record);

	return mt_wire_record_type(record) - 1 < MT_RECORD_RESTORE
		&& mt_wire_record_size(record) != MT_SIZE_EXTENDED
		&& pointer - 1 < MT_POINTER_EXTENDED - 1;
}

/* The domain of a predefined function. */
uint8_t mt_ring_domain(unsigned function);

void mt_ring_init(struct mt_ring *, const struct mt_segment *, uint32_t id);
void mt_ring_free(struct mt_ring *);
/* Reads the head; a head that cannot be is none. */
uint64_t mt_ring_head(struct mt_ring *);
/* Decodes one event at *position, moves it; false when there is none below limit. time: running
 * stamp. */
bool mt_ring_decode(const struct mt_ring *, uint64_t *position, uint64_t limit, uint64_t *time,
	struct mt_decoded *);
/* The extensions of the record that ends at a position, where the one before ended at from. Nothing
 * that was decoded need be there any more. */
void mt_ring_extensions(const struct mt_ring *, uint64_t from, uint64_t end,
	struct mt_extensions *);
/* Sets the limit, when first_head or the tail has moved. */
void mt_ring_limit(struct mt_ring *);
/* Lets the program have the slots of all that was consumed. */
void mt_ring_advance(struct mt_ring *);

#endif
