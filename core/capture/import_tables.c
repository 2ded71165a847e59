/* The tables of a stand-alone recording, copied as far as they are complete. */
#include "core/capture/import_parts.h"

#include <string.h>

#define STALE_MAX 65536u /* entries read again because one before them is not complete */

static bool is_complete(const struct mt_import_table *t, uint32_t id)
{
	static const uint8_t none[8];

	return memcmp(t->to + (uint64_t)id * t->entry + t->sign, none, t->sign_len) != 0;
}

/* Copies what is new. An entry that is not complete yet is read again next time. Returns how many
 * there are. */
uint32_t mt_import_read_table(struct mt_import *i, struct mt_import_table *t, uint32_t published)
{
	uint32_t count = mt_import_in_file(i, t->offset, t->entry, published, t->capacity);

	if (count < published)
		i->cut_short = true;
	if (count > t->complete) {
		ssize_t n = mt_import_read_at(i->fd, t->to + (uint64_t)t->complete * t->entry,
			(size_t)(count - t->complete) * t->entry,
			t->offset + (uint64_t)t->complete * t->entry);

		if (n < (ssize_t)((size_t)(count - t->complete) * t->entry))
			i->cut_short = true;
	}
	while (t->complete < count && is_complete(t, t->complete))
		t->complete++;
	if (count - t->complete > STALE_MAX) /* given up by its thread */
		t->complete++;
	if (count > t->seen)
		t->seen = count;
	return t->seen;
}

static void enter_chunk(struct mt_import *i, uint32_t id, const struct mt_wire_chunk *chunk)
{
	struct mt_import_feed *f = chunk->ring < i->feed_count ? &i->feeds[chunk->ring] : NULL;

	if (!f || chunk->number != f->chunks + 1) {
		i->model.profile->info.invalid_records++;
		return;
	}
	if (f->last_chunk)
		i->next_chunk[f->last_chunk - 1] = id + 1;
	else
		f->first_chunk = f->chunk = id + 1;
	f->last_chunk = id + 1;
	f->chunks++;
}

/* Entries that were claimed but not written when they were looked at. */
static void look_at_pending(struct mt_import *i)
{
	uint32_t left = 0;

	for (uint32_t n = 0; n < i->pending_count; n++) {
		uint32_t id = i->pending[n];
		struct mt_wire_chunk chunk = {0};

		if (mt_import_read_at(i->fd, &chunk, sizeof chunk,
			    i->header.chunks.offset + (uint64_t)id * sizeof chunk)
				== sizeof chunk
			&& chunk.number)
			enter_chunk(i, id, &chunk);
		else
			i->pending[left++] = id;
	}
	i->pending_count = left;
}

void mt_import_read_chunks(struct mt_import *i)
{
	struct mt_wire_chunk chunks[512];
	uint32_t count = mt_import_in_file(i, i->header.chunks.offset, sizeof *chunks,
		i->header.chunk_count, i->header.chunks.capacity);

	if (count < i->header.chunk_count)
		i->cut_short = true;
	look_at_pending(i);
	if (count > i->next_capacity) {
		i->next_chunk = mt_resize(i->next_chunk, 2ull * count * sizeof *i->next_chunk);
		memset(i->next_chunk + i->next_capacity, 0,
			(2ull * count - i->next_capacity) * sizeof *i->next_chunk);
		i->next_capacity = 2 * count;
	}
	while (i->chunks_seen < count) {
		uint32_t n = count - i->chunks_seen < 512 ? count - i->chunks_seen : 512;
		ssize_t len = mt_import_read_at(i->fd, chunks, n * sizeof *chunks,
			i->header.chunks.offset + (uint64_t)i->chunks_seen * sizeof *chunks);

		if (len < (ssize_t)(n * sizeof *chunks))
			return;
		for (uint32_t at = 0; at < n; at++, i->chunks_seen++) {
			if (chunks[at].number)
				enter_chunk(i, i->chunks_seen, &chunks[at]);
			else if (i->pending_count < PENDING_MAX)
				i->pending[i->pending_count++] = i->chunks_seen;
		}
	}
}
