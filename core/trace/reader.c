#include "core/trace/trace.h"
#include "core/trace/block.h"
#include "core/trace/columns.h"
#include "core/trace/open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

struct entry {
	struct mt_trace_block block;
	uint64_t check; /* of its header */
	uint32_t stored_len;
};

struct mt_trace_reader {
	int fd;
	char *path;
	uint64_t file_bytes;
	struct entry *entries;
	uint32_t count, capacity;
	uint64_t scanned; /* all blocks before this offset are known */
	bool complete;
	uint64_t damage;
	char reason[160];
	ZSTD_DCtx *zstd;
	struct mt_buffer stored;
	struct mt_buffer events;
};

void mt_trace_reader_note_damage(struct mt_trace_reader *r, uint64_t offset, const char *reason)
{
	if (r->damage && r->damage <= offset)
		return;
	r->damage = offset;
	snprintf(r->reason, sizeof r->reason, "%s", reason);
}

static int fail_at(struct mt_trace_reader *r, uint64_t offset, const char *reason, struct mt_err *err)
{
	mt_trace_reader_note_damage(r, offset, reason);
	return mt_fail(err, -EBADMSG, "the trace %s is damaged at offset %llu: %s", r->path,
		(unsigned long long)offset, reason);
}

/* ---- block headers ---- */

/* NULL, or what is wrong with a header that lies at offset in a file of `end` bytes. */
static const char *header_fault(const struct mt_block_header *h, uint64_t offset, uint64_t end, uint32_t sequence)
{
	if (h->magic != MT_BLOCK_MAGIC)
		return "no block begins there";
	if (h->check != mt_block_header_check(h))
		return "the block header does not match its checksum";
	if (h->size != sizeof *h || h->flags & ~MT_BLOCK_COMPRESSED)
		return "the block header is of an unknown kind";
	if (h->type == 0 || h->type >= MT_BLOCK_TYPES)
		return "the block is of an unknown type";
	if (h->sequence != sequence)
		return "blocks are missing before it";
	if (h->payload_len > MT_PAYLOAD_MAX || h->event_count > MT_BLOCK_EVENTS_MAX ||
	    h->payload_len / MT_ZSTD_RATIO_MAX > h->stored_len)
		return "the block claims a length that cannot be";
	if (!(h->flags & MT_BLOCK_COMPRESSED) && h->stored_len != h->payload_len)
		return "the block's two lengths contradict each other";
	if ((h->type == MT_BLOCK_EVENTS) != (h->event_count != 0))
		return "the block's number of events contradicts its type";
	if (h->stored_len > end - offset - sizeof *h)
		return "the file ends within a block";
	return NULL;
}

static void add_entry(struct mt_trace_reader *r, uint64_t offset, const struct mt_block_header *h)
{
	MT_GROW(r->entries, r->count, r->capacity);
	r->entries[r->count++] = (struct entry){
		.block = {
			.type = h->type,
			.offset = offset,
			.payload_len = h->payload_len,
			.event_count = h->event_count,
			.first_ns = h->first_ns,
			.last_ns = h->last_ns,
			.running = h->running,
		},
		.check = h->check,
		.stored_len = h->stored_len,
	};
	r->scanned = offset + sizeof *h + h->stored_len;
}

/* ---- payloads ---- */

static int decompress(struct mt_trace_reader *r, const struct entry *e, const uint8_t *from, struct mt_buffer *to,
	struct mt_err *err)
{
	size_t n = ZSTD_decompressDCtx(r->zstd, to->data, e->block.payload_len, from, e->stored_len);
	const char *reason = ZSTD_isError(n) ? ZSTD_getErrorName(n) : "the payload has another length than its header says";
	char text[160];

	if (n == e->block.payload_len)
		return 0;
	snprintf(text, sizeof text, "the block's payload cannot be decompressed (%s)", reason);
	return fail_at(r, e->block.offset, text, err);
}

static int read_payload(struct mt_trace_reader *r, const struct entry *e, struct mt_buffer *to, struct mt_err *err)
{
	struct mt_block_header h;
	size_t len = sizeof h + e->stored_len;

	r->stored.len = 0;
	mt_buffer_reserve(&r->stored, len);
	int result = mt_trace_pread(r->fd, r->path, r->stored.data, len, e->block.offset, err);

	if (result == -ENODATA)
		return fail_at(r, e->block.offset, "the file has become shorter", err);
	if (result)
		return result;
	memcpy(&h, r->stored.data, sizeof h);
	if (h.check != e->check || h.check != mt_block_header_check(&h))
		return fail_at(r, e->block.offset, "the block header does not match its checksum", err);
	const uint8_t *stored = r->stored.data + sizeof h;

	to->len = 0;
	mt_buffer_reserve(to, (size_t)h.payload_len + 1);
	if (h.flags & MT_BLOCK_COMPRESSED) {
		result = decompress(r, e, stored, to, err);
		if (result)
			return result;
	} else {
		if (h.payload_check != mt_check(stored, h.stored_len))
			return fail_at(r, e->block.offset, "the block's payload does not match its checksum", err);
		memcpy(to->data, stored, h.payload_len);
	}
	to->len = h.payload_len;
	return 0;
}

int mt_trace_reader_payload(struct mt_trace_reader *r, uint32_t index, struct mt_buffer *buffer, struct mt_err *err)
{
	if (index >= r->count)
		return mt_fail(err, -EINVAL, "the trace %s has no block %u", r->path, index);
	return read_payload(r, &r->entries[index], buffer, err);
}

int mt_trace_reader_events(struct mt_trace_reader *r, uint32_t index,
	int (*visit)(void *context, const struct mt_event *), void *context, struct mt_err *err)
{
	int result = mt_trace_reader_payload(r, index, &r->events, err);
	const struct entry *e = &r->entries[index];
	const char *reason;

	if (result)
		return result;
	if (e->block.type != MT_BLOCK_EVENTS)
		return mt_fail(err, -EINVAL, "block %u of the trace %s holds no events", index, r->path);
	result = mt_columns_decode(r->events.data, r->events.len, e->block.event_count, visit, context, &reason);
	return reason ? fail_at(r, e->block.offset, reason, err) : result;
}

/* ---- finding the blocks ---- */

/* True when nothing but a sound trailer stands at offset. */
static bool trailer_at(struct mt_trace_reader *r, uint64_t offset, struct mt_trailer *t)
{
	return r->file_bytes - offset == sizeof *t && !mt_trace_pread(r->fd, r->path, t, sizeof *t, offset, NULL) &&
	       !memcmp(t->magic, MT_TRAILER_MAGIC, sizeof t->magic) && t->file_bytes == r->file_bytes &&
	       t->check == mt_check(t, offsetof(struct mt_trailer, check));
}

static int scan(struct mt_trace_reader *r, struct mt_err *err)
{
	struct mt_block_header h;
	struct mt_trailer t;

	while (r->scanned < r->file_bytes) {
		uint64_t offset = r->scanned;
		const char *fault = "the file ends within a block header";

		if (r->count && r->entries[r->count - 1].block.type == MT_BLOCK_INDEX) {
			r->complete = trailer_at(r, offset, &t);
			fault = r->complete ? NULL : "the end of the file is damaged";
			if (fault)
				mt_trace_reader_note_damage(r, offset, fault);
			return 0;
		}
		if (r->file_bytes - offset >= sizeof h) {
			int result = mt_trace_pread(r->fd, r->path, &h, sizeof h, offset, err);

			if (result)
				return result;
			fault = header_fault(&h, offset, r->file_bytes, r->count);
		}
		if (fault) {
			mt_trace_reader_note_damage(r, offset, fault);
			return 0;
		}
		add_entry(r, offset, &h);
	}
	return 0;
}

/* Takes over the entries of an index; false when they do not follow each other up to the index itself. */
static bool take_index(struct mt_trace_reader *r, const struct mt_buffer *index, uint64_t end)
{
	uint64_t count = index->len / sizeof(struct mt_index_entry);

	if (index->len % sizeof(struct mt_index_entry))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		struct mt_index_entry e;

		memcpy(&e, index->data + i * sizeof e, sizeof e);
		if (e.offset != r->scanned || e.offset > end - sizeof e.header ||
		    header_fault(&e.header, e.offset, end, (uint32_t)i) || e.header.type == MT_BLOCK_INDEX)
			return false;
		add_entry(r, e.offset, &e.header);
	}
	return r->scanned == end;
}

static bool load_index(struct mt_trace_reader *r)
{
	struct mt_buffer index = {0};
	struct mt_block_header h;
	struct mt_trailer t;
	bool ok = false;

	if (r->file_bytes < sizeof(struct mt_file_header) + sizeof h + sizeof t ||
	    !trailer_at(r, r->file_bytes - sizeof t, &t))
		return false;
	uint64_t at = t.index_offset, end = r->file_bytes - sizeof t;

	if (at < r->scanned || at > end - sizeof h || mt_trace_pread(r->fd, r->path, &h, sizeof h, at, NULL) ||
	    header_fault(&h, at, end, h.sequence) || h.type != MT_BLOCK_INDEX ||
	    at + sizeof h + h.stored_len != end)
		return false;
	add_entry(r, at, &h);
	struct entry self = r->entries[0];

	r->count = 0;
	r->scanned = sizeof(struct mt_file_header);
	if (!read_payload(r, &self, &index, NULL) && take_index(r, &index, at) && r->count == h.sequence) {
		add_entry(r, at, &h);
		ok = true;
	}
	mt_buffer_free(&index);
	return ok;
}

static int find_blocks(struct mt_trace_reader *r, struct mt_err *err)
{
	r->scanned = sizeof(struct mt_file_header);
	if (load_index(r)) {
		r->complete = true;
		return 0;
	}
	r->count = 0;
	r->damage = 0;
	r->scanned = sizeof(struct mt_file_header);
	return scan(r, err);
}

static int read_size(struct mt_trace_reader *r, struct mt_err *err)
{
	struct stat st;

	if (fstat(r->fd, &st) < 0)
		return mt_fail(err, -errno, "cannot read %s: %s", r->path, strerror(errno));
	if ((uint64_t)st.st_size < r->scanned)
		return mt_fail(err, -ENODATA, "the trace %s has become shorter while it was read: open it again", r->path);
	r->file_bytes = (uint64_t)st.st_size;
	return 0;
}

struct mt_trace_reader *mt_trace_reader_open(const char *path, struct mt_err *err)
{
	int fd = mt_trace_open(path, err);

	if (fd < 0)
		return NULL;
	struct mt_trace_reader *r = mt_alloc(sizeof *r);

	r->fd = fd;
	r->path = mt_strdup(strcmp(path, "-") ? path : "standard input");
	r->zstd = ZSTD_createDCtx();
	if (!r->zstd)
		mt_fail(err, -ENOMEM, "cannot decompress %s: out of memory", r->path);
	if (!r->zstd || read_size(r, err) || find_blocks(r, err)) {
		mt_trace_reader_free(r);
		return NULL;
	}
	return r;
}

int mt_trace_reader_refresh(struct mt_trace_reader *r, struct mt_err *err)
{
	uint32_t before = r->count;

	if (r->complete)
		return 0;
	int result = read_size(r, err);

	if (result)
		return result;
	/* What was a torn end may have become a block by now. */
	if (r->damage >= r->scanned)
		r->damage = 0;
	result = scan(r, err);
	return result ? result : (int)(r->count - before);
}

void mt_trace_reader_free(struct mt_trace_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	free(r->path);
	free(r->entries);
	ZSTD_freeDCtx(r->zstd);
	mt_buffer_free(&r->stored);
	mt_buffer_free(&r->events);
	free(r);
}

uint32_t mt_trace_reader_count(const struct mt_trace_reader *r)
{
	return r->count;
}

const struct mt_trace_block *mt_trace_reader_block(const struct mt_trace_reader *r, uint32_t index)
{
	return index < r->count ? &r->entries[index].block : NULL;
}

bool mt_trace_reader_complete(const struct mt_trace_reader *r)
{
	return r->complete;
}

uint64_t mt_trace_reader_file_bytes(const struct mt_trace_reader *r)
{
	return r->file_bytes;
}

uint64_t mt_trace_reader_damage(const struct mt_trace_reader *r, const char **reason)
{
	if (reason)
		*reason = r->damage ? r->reason : NULL;
	return r->damage;
}

const char *mt_trace_reader_path(const struct mt_trace_reader *r)
{
	return r->path;
}
