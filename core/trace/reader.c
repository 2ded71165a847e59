#include "core/trace/reader.h"
#include "core/base/assert.h"
#include "core/trace/block.h"
#include "core/trace/columns.h"
#include "core/trace/facts.h"
#include "core/trace/open.h"
#include "core/trace/trace.h"
#include "core/trace/varint.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define STANDARD_INPUT "standard input"

struct entry {
	struct mt_trace_block block;
	uint64_t check; /* of its header */
	uint32_t header_len, stored_len;
	size_t extension; /* of its header, in the reader's extensions */
};

struct mt_trace_reader {
	atomic_uint holders;
	int fd;
	char *path;
	unsigned version;
	uint64_t file_bytes;
	struct entry *entries;
	struct mt_buffer extensions;
	uint32_t count, capacity;
	uint64_t scanned; /* all blocks before this offset are known */
	bool complete;
	uint64_t damage;
	bool cut; /* it is no more than that the file ends there */
	bool passed_over;
	char reason[160];
	struct mt_trace_input input;
	struct mt_trace_reader *list; /* of what lives at its end; NULL: it has its own, or none */
	pthread_mutex_t lock; /* damage and input: several threads may go over the blocks at once */
};

static void note(struct mt_trace_reader *r, uint64_t offset, const char *reason, bool cut)
{
	pthread_mutex_lock(&r->lock);
	r->passed_over = false;
	if (!r->damage || r->damage > offset) {
		r->damage = offset;
		r->cut = cut;
		snprintf(r->reason, sizeof r->reason, "%s", reason);
	}
	pthread_mutex_unlock(&r->lock);
}

void mt_trace_reader_note_damage(struct mt_trace_reader *r, uint64_t offset, const char *reason)
{
	note(r, offset, reason, false);
}

static int fail_at(struct mt_trace_reader *r, uint64_t offset, const char *reason,
	struct mt_err *err)
{
	mt_trace_reader_note_damage(r, offset, reason);
	return mt_fail(err, -EBADMSG, "the trace %s is damaged at offset %llu: %s", r->path,
		(unsigned long long)offset, reason);
}

/* ---- block headers ---- */

static const char ends_within_block[] = "the file ends within a block";

static const char unknown_type[] = "the block is of an unknown type";

static bool has_extension(const struct mt_block_header *h, unsigned version)
{
	return version >= 8 && h->size > sizeof *h + sizeof(uint64_t)
		&& h->size - sizeof *h <= MT_EXTENSION_MAX;
}

static unsigned flags_of(unsigned version)
{
	return version >= 8 ? MT_BLOCK_COMPRESSED | MT_BLOCK_SKIPPABLE : MT_BLOCK_COMPRESSED;
}

/* NULL, or what is wrong with a header that lies at offset in a file of `end` bytes. */
static const char *header_fault(const struct mt_block_header *h, unsigned version, uint64_t offset,
	uint64_t end, uint32_t sequence)
{
	if (h->magic != MT_BLOCK_MAGIC)
		return "there is no block header";
	if (h->check != mt_block_header_check(h))
		return "the block header does not match its checksum";
	if (h->size != sizeof *h && !has_extension(h, version))
		return "the block header is of an unknown kind";
	if (h->flags & ~flags_of(version))
		return "the block header is of an unknown kind";
	if (!h->type || (h->type >= MT_BLOCK_TYPES && !(h->flags & MT_BLOCK_SKIPPABLE)))
		return unknown_type;
	if (h->sequence != sequence)
		return "blocks are missing before it";
	if (h->payload_len > MT_PAYLOAD_MAX || h->event_count > MT_BLOCK_EVENTS_MAX
		|| h->payload_len / MT_ZSTD_RATIO_MAX > h->stored_len)
		return "the length of the block is invalid";
	if (!(h->flags & MT_BLOCK_COMPRESSED) && h->stored_len != h->payload_len)
		return "the block's two lengths contradict each other";
	if ((h->type == MT_BLOCK_EVENTS) != (h->event_count != 0))
		return "the block's number of events contradicts its type";
	if (end - offset < h->size || h->stored_len > end - offset - h->size)
		return ends_within_block;
	return NULL;
}

/* The same of an extension, which the header's size says. */
static const char *extension_fault(const struct mt_block_header *h, const uint8_t *extension)
{
	size_t len = h->size - sizeof *h;
	uint64_t check;

	if (!len)
		return NULL;
	memcpy(&check, extension + len - sizeof check, sizeof check);
	return check == mt_check(extension, len - sizeof check)
		? NULL
		: "the block header does not match its checksum";
}

static void add_entry(struct mt_trace_reader *r, uint64_t offset, const struct mt_block_header *h,
	const uint8_t *extension)
{
	size_t extended = h->size - sizeof *h;

	mt_assert(!r->count || r->entries[r->count - 1].block.offset < offset);
	MT_GROW(r->entries, r->count, r->capacity);
	r->entries[r->count++] = (struct entry){
		.block =
			{
				.type = h->type,
				.offset = offset,
				.payload_len = h->payload_len,
				.event_count = h->event_count,
				.first_ns = h->first_ns,
				.last_ns = h->last_ns,
				.running = h->running,
			},
		.check = h->check,
		.header_len = h->size,
		.stored_len = h->stored_len,
		.extension = r->extensions.len,
	};
	if (extended)
		mt_buffer_add(&r->extensions, extension, extended - sizeof(uint64_t));
	r->scanned = offset + h->size + h->stored_len;
}

/* ---- payloads ---- */

static struct mt_trace_place place_of(const struct mt_trace_reader *r, const struct entry *e)
{
	return (struct mt_trace_place){
		.fd = r->fd,
		.path = r->path,
		.offset = e->block.offset,
		.check = e->check,
		.header_len = e->header_len,
		.stored_len = e->stored_len,
		.payload_len = e->block.payload_len,
	};
}

void mt_trace_reader_place(const struct mt_trace_reader *r, uint32_t index,
	struct mt_trace_place *place)
{
	mt_assert(index < r->count);
	*place = place_of(r, &r->entries[index]);
}

static int explain(struct mt_trace_reader *r, uint64_t offset, int code,
	const struct mt_trace_fault *fault, struct mt_err *err)
{
	if (*fault->reason)
		return fail_at(r, offset, fault->reason, err);
	if (err)
		*err = fault->err;
	return code;
}

int mt_trace_reader_fault(struct mt_trace_reader *r, uint32_t index, int code,
	const struct mt_trace_fault *fault, struct mt_err *err)
{
	return explain(r, r->entries[index].block.offset, code, fault, err);
}

static int read_payload(struct mt_trace_reader *r, const struct entry *e, struct mt_buffer *to,
	struct mt_err *err)
{
	struct mt_trace_place place = place_of(r, e);
	struct mt_trace_fault fault;

	pthread_mutex_lock(&r->lock);
	int result = mt_trace_payload(&place, &r->input, to, &fault);

	pthread_mutex_unlock(&r->lock);

	return result ? explain(r, e->block.offset, result, &fault, err) : 0;
}

int mt_trace_reader_payload(struct mt_trace_reader *r, uint32_t index, struct mt_buffer *buffer,
	struct mt_err *err)
{
	if (index >= r->count)
		return mt_fail(err, -EINVAL, "the trace %s has no block %u", r->path, index);
	return read_payload(r, &r->entries[index], buffer, err);
}

/* ---- finding the blocks ---- */

/* True when nothing but a sound trailer stands at offset. */
static bool trailer_at(struct mt_trace_reader *r, uint64_t offset, struct mt_trailer *t)
{
	return r->file_bytes - offset == sizeof *t
		&& !mt_trace_pread(r->fd, r->path, t, sizeof *t, offset, NULL)
		&& !memcmp(t->magic, MT_TRAILER_MAGIC, sizeof t->magic)
		&& t->file_bytes == r->file_bytes
		&& t->check == mt_check(t, offsetof(struct mt_trailer, check));
}

/* The header at offset, with its extension. *fault: what is wrong with it. */
static int read_header(struct mt_trace_reader *r, uint64_t offset, uint64_t end, uint32_t sequence,
	struct mt_block_header *h, uint8_t *extension, const char **fault, struct mt_err *err)
{
	int result = mt_trace_pread(r->fd, r->path, h, sizeof *h, offset, err);

	if (result)
		return result;
	*fault = header_fault(h, r->version, offset, end, sequence);
	if (*fault || h->size == sizeof *h)
		return 0;
	result = mt_trace_pread(r->fd, r->path, extension, h->size - sizeof *h, offset + sizeof *h,
		err);
	*fault = result ? NULL : extension_fault(h, extension);
	return result;
}

static int scan(struct mt_trace_reader *r, struct mt_err *err)
{
	struct mt_block_header h;
	uint8_t extension[MT_EXTENSION_MAX];
	struct mt_trailer t;

	while (r->scanned < r->file_bytes) {
		uint64_t offset = r->scanned;
		const char *fault = "the file ends within a block header";
		bool cut = true;

		if (r->count && r->entries[r->count - 1].block.type == MT_BLOCK_INDEX) {
			r->complete = trailer_at(r, offset, &t);
			fault = r->complete ? NULL : "the end of the file is damaged";
			if (fault)
				note(r, offset, fault, r->file_bytes - offset < sizeof t);
			return 0;
		}
		if (r->file_bytes - offset >= sizeof h) {
			int result = read_header(r, offset, r->file_bytes, r->count, &h, extension,
				&fault, err);

			if (result)
				return result;
			cut = fault == ends_within_block;
		}
		if (fault == unknown_type && r->version >= 8)
			return mt_fail(err, -ENOTSUP,
				"the trace %s cannot be read: at offset %llu it has a block of "
				"type %u, which this memtui does not know; use a newer memtui",
				r->path, (unsigned long long)offset, h.type);
		if (fault) {
			note(r, offset, fault, cut);
			return 0;
		}
		add_entry(r, offset, &h, extension);
	}
	return 0;
}

/* Takes over the entries of an index; false when they do not follow each other up to the index
 * itself. */
static bool take_index(struct mt_trace_reader *r, const struct mt_buffer *index, uint64_t end)
{
	struct mt_cursor c = {index->data, index->data + index->len, false};

	while (mt_cursor_left(&c)) {
		const uint8_t *at = mt_cursor_bytes(&c, sizeof(uint64_t)), *header;
		struct mt_block_header h;
		uint64_t offset;

		header = mt_cursor_bytes(&c, sizeof h);
		if (!header)
			return false;
		memcpy(&offset, at, sizeof offset);
		memcpy(&h, header, sizeof h);
		if (offset != r->scanned || offset > end - sizeof h
			|| header_fault(&h, r->version, offset, end, r->count)
			|| h.type == MT_BLOCK_INDEX)
			return false;
		const uint8_t *extension = mt_cursor_bytes(&c, h.size - sizeof h);

		if (!extension || extension_fault(&h, extension))
			return false;
		add_entry(r, offset, &h, extension);
	}
	return r->scanned == end;
}

static bool load_index(struct mt_trace_reader *r)
{
	struct mt_buffer index = {0};
	struct mt_block_header h;
	struct mt_trailer t;
	bool ok = false;

	if (r->file_bytes < sizeof(struct mt_file_header) + sizeof h + sizeof t
		|| !trailer_at(r, r->file_bytes - sizeof t, &t))
		return false;
	uint64_t at = t.index_offset, end = r->file_bytes - sizeof t;

	if (at < r->scanned || at > end - sizeof h
		|| mt_trace_pread(r->fd, r->path, &h, sizeof h, at, NULL)
		|| header_fault(&h, r->version, at, end, h.sequence) || h.type != MT_BLOCK_INDEX
		|| h.size != sizeof h || at + sizeof h + h.stored_len != end)
		return false;
	add_entry(r, at, &h, NULL);
	struct entry self = r->entries[0];

	r->count = 0;
	r->scanned = sizeof(struct mt_file_header);
	if (!read_payload(r, &self, &index, NULL) && take_index(r, &index, at)
		&& r->count == h.sequence) {
		add_entry(r, at, &h, NULL);
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
	r->extensions.len = 0;
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
		return mt_fail(err, -ENODATA,
			"the trace %s was truncated while it was read; open it again", r->path);
	r->file_bytes = (uint64_t)st.st_size;
	return 0;
}

struct mt_trace_reader *mt_trace_reader_open(const char *path, struct mt_err *err)
{
	int fd = mt_trace_open(path, err);

	return fd < 0
		? NULL
		: mt_trace_reader_open_fd(fd, strcmp(path, "-") ? path : "standard input", err);
}

static struct mt_trace_reader *new_reader(int fd, const char *name)
{
	struct mt_trace_reader *r = mt_alloc(sizeof *r);

	atomic_init(&r->holders, 1);
	r->fd = fd;
	r->path = mt_strdup(name);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

struct mt_trace_reader *mt_trace_reader_open_fd(int fd, const char *name, struct mt_err *err)
{
	struct mt_trace_reader *r = new_reader(fd, name);

	if (!mt_trace_version(fd, name, &r->version, err) && !read_size(r, err)
		&& !find_blocks(r, err))
		return r;
	mt_trace_reader_free(r);
	return NULL;
}

struct mt_trace_reader *mt_trace_reader_open_part(int fd, const char *name, uint64_t bytes,
	struct mt_err *err)
{
	struct mt_trace_reader *r = new_reader(fd, name);
	int result = mt_trace_version(fd, name, &r->version, err);

	if (!result)
		result = read_size(r, err);
	if (!result && r->file_bytes < bytes)
		result = mt_fail(err, -ENODATA, "%s: is shorter than what was recorded", name);
	r->file_bytes = bytes;
	r->scanned = sizeof(struct mt_file_header);
	if (!result && !scan(r, err))
		return r;
	mt_trace_reader_free(r);
	return NULL;
}

void mt_trace_reader_set_list(struct mt_trace_reader *r, struct mt_trace_reader *list)
{
	mt_trace_reader_free(r->list);
	r->list = list;
}

struct mt_trace_reader *mt_trace_reader_list(const struct mt_trace_reader *r)
{
	return r->list;
}

int mt_trace_reader_refresh(struct mt_trace_reader *r, struct mt_err *err)
{
	uint32_t before = r->count;

	if (r->complete)
		return 0;
	struct stat st;
	int result = read_size(r, err);

	if (!result && fstat(r->fd, &st) == 0 && !st.st_nlink && strcmp(r->path, STANDARD_INPUT))
		return mt_fail(err, -ESTALE,
			"the trace %s was replaced while it was read; open it again", r->path);

	if (result)
		return result;
	/* What was a torn end may have become a block by now. */
	if (r->damage >= r->scanned)
		r->damage = 0;
	result = scan(r, err);
	return result ? result : (int)(r->count - before);
}

struct mt_trace_reader *mt_trace_reader_hold(struct mt_trace_reader *r)
{
	if (r)
		atomic_fetch_add_explicit(&r->holders, 1, memory_order_relaxed);
	return r;
}

void mt_trace_reader_free(struct mt_trace_reader *r)
{
	if (!r || atomic_fetch_sub_explicit(&r->holders, 1, memory_order_acq_rel) != 1)
		return;
	mt_trace_reader_free(r->list);
	close(r->fd);
	free(r->path);
	free(r->entries);
	mt_buffer_free(&r->extensions);
	mt_trace_input_free(&r->input);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

unsigned mt_trace_reader_version(const struct mt_trace_reader *r)
{
	return r->version;
}

uint32_t mt_trace_reader_count(const struct mt_trace_reader *r)
{
	return r->count;
}

const struct mt_trace_block *mt_trace_reader_block(const struct mt_trace_reader *r, uint32_t index)
{
	return index < r->count ? &r->entries[index].block : NULL;
}

bool mt_trace_reader_facts(const struct mt_trace_reader *r, uint32_t index,
	struct mt_trace_facts *facts)
{
	const struct entry *e = &r->entries[index];
	size_t len = e->header_len - sizeof(struct mt_block_header);

	mt_assert(index < r->count);
	return e->block.type == MT_BLOCK_EVENTS && len
		&& mt_facts_read(facts, r->extensions.data + e->extension, len - sizeof(uint64_t));
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

bool mt_trace_reader_is_cut(const struct mt_trace_reader *r)
{
	return r->damage ? r->cut : !r->complete;
}

void mt_trace_reader_pass_over(struct mt_trace_reader *r)
{
	r->passed_over = r->damage != 0;
}

bool mt_trace_reader_passed_over(const struct mt_trace_reader *r)
{
	return r->passed_over;
}

const char *mt_trace_reader_path(const struct mt_trace_reader *r)
{
	return r->path;
}
