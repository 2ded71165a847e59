/* The rings of a stand-alone recording: chains of chunks, fed to the merge. */
#include "core/capture/import_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct mt_wire_ring *own_ring(struct mt_import *i, uint32_t ring)
{
	return (struct mt_wire_ring *)mt_segment_entry(&i->segment, rings, ring);
}

/* Heads as they are now; what goes back is damage. */
void mt_import_read_heads(struct mt_import *i, bool second)
{
	struct mt_wire_ring rings[64];

	for (uint32_t at = 0; at < i->feed_count;) {
		uint32_t n = i->feed_count - at < 64 ? i->feed_count - at : 64;

		if (mt_import_read_at(i->fd, rings, n * sizeof *rings,
			    i->header.rings.offset + (uint64_t)at * sizeof *rings)
			< (ssize_t)(n * sizeof *rings)) {
			i->cut_short = true;
			return;
		}
		for (uint32_t k = 0; k < n; k++, at++) {
			struct mt_import_feed *f = &i->feeds[at];

			if (rings[k].head < f->loaded || rings[k].head >> 48)
				i->model.profile->info.invalid_records++;
			else if (second)
				f->second_head = rings[k].head;
			else
				f->first_head = f->second_head = rings[k].head;
		}
	}
}

static uint64_t available(const struct mt_import *i, const struct mt_import_feed *f)
{
	uint64_t there = (uint64_t)f->chunks * i->chunk_records;

	return f->second_head < there ? f->second_head : there;
}

/* Copies the next piece, up to the end of its chunk, if the ring has room for a whole one. */
static bool load(struct mt_import *i, uint32_t ring)
{
	struct mt_import_feed *f = &i->feeds[ring];
	uint64_t limit = available(i, f), slot = f->loaded & (i->chunk_records - 1);
	uint64_t begin = f->loaded - slot, len;
	struct mt_wire_record *to = (struct mt_wire_record *)mt_segment_entry(&i->segment,
		ring_data,
		(uint64_t)ring * i->segment.sizes.records
			+ (f->loaded & (i->segment.sizes.records - 1)));
	ssize_t n;

	if (f->loaded >= limit || !f->chunk
		|| begin - own_ring(i, ring)->tail + i->chunk_records > i->segment.sizes.records)
		return false;
	len = limit - f->loaded;
	if (len > i->chunk_records - slot)
		len = i->chunk_records - slot;
	n = mt_import_read_at(i->fd, to, len * sizeof *to,
		i->header.ring_data.offset
			+ ((uint64_t)(f->chunk - 1) * i->chunk_records + slot) * sizeof *to);
	if (n < (ssize_t)(len * sizeof *to)) {
		i->cut_short = true;
		len = n > 0 ? (uint64_t)n / sizeof *to : 0;
		f->second_head = f->loaded + len; /* this ring ends here */
		if (f->first_head > f->second_head)
			f->first_head = f->second_head;
	}
	f->loaded += len;
	if (len && (f->loaded & (i->chunk_records - 1)) == 0)
		f->chunk = i->next_chunk[f->chunk - 1];
	__atomic_store_n(&own_ring(i, ring)->head, f->loaded, __ATOMIC_RELEASE);
	return len > 0;
}

static void scan(struct mt_import *i, uint32_t ring)
{
	struct mt_import_feed *f = &i->feeds[ring];
	struct mt_ring view;
	struct mt_decoded d;

	mt_ring_init(&view, &i->segment, ring);
	while (mt_ring_decode(&view, &f->scanned, f->loaded, &f->time, &d))
		;
}

/* Loads what there is room for, and sets up to what stamp the merge may go: a ring that has more
 * can still have events right after its last loaded one, and by the window a little before it.
 * Returns whether any has more. */
static bool fill(struct mt_import *i, bool *loaded)
{
	bool more = false;

	i->bounds.horizon = UINT64_MAX;
	*loaded = false;
	for (uint32_t ring = 0; ring < i->feed_count; ring++) {
		struct mt_import_feed *f = &i->feeds[ring];
		uint64_t limit;

		while (load(i, ring))
			*loaded = true;
		i->heads[ring] = f->first_head < f->loaded ? f->first_head : f->loaded;
		if (f->loaded >= available(i, f))
			continue;
		more = true;
		if (i->feed_count < 2)
			continue;
		scan(i, ring);
		limit = f->time > i->merge.window ? f->time - i->merge.window : 0;
		if (limit < i->bounds.horizon)
			i->bounds.horizon = limit;
	}
	return more;
}

static double fraction(const struct mt_import *i)
{
	uint64_t done = 0, all = 1;

	for (uint32_t ring = 0; ring < i->feed_count; ring++) {
		done += i->feeds[ring].loaded;
		all += available(i, &i->feeds[ring]);
	}
	return (double)done / (double)all;
}

int mt_import_consume(struct mt_import *i, int (*progress)(void *, double), void *context,
	struct mt_err *err)
{
	bool more = true, loaded;

	for (unsigned round = 0; more; round++) {
		uint64_t records;

		more = fill(i, &loaded);
		records = mt_merge_poll(&i->merge);
		/* stamps that stand still: there is no order to keep */
		if (!records && !loaded && more) {
			i->bounds.horizon = UINT64_MAX;
			if (!mt_merge_poll(&i->merge))
				break;
		}
		if (progress && round % 64 == 63 && progress(context, fraction(i)))
			return mt_fail(err, -ECANCELED, "reading %s was cancelled", i->path);
	}
	return 0;
}
