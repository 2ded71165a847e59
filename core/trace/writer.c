#include "core/trace/block.h"
#include "core/trace/columns.h"
#include "core/trace/open.h"
#include "core/trace/pair_encoder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

struct mt_trace_writer_file {
	int fd;
	uint64_t bytes;
	uint32_t sequence;
	struct mt_buffer index;
	/* of each block, and where it is in the index */
	struct written {
		size_t in_index;
		uint32_t bytes; /* of the block */
		uint8_t type;
	} * blocks;
	uint32_t block_capacity;
};

struct mt_trace_writer {
	struct mt_trace_queue queue; /* first: see mt_trace_writer_next */
	struct mt_trace_writer_file file;
	struct mt_columns *columns;
	ZSTD_CCtx *zstd;
	struct mt_buffer payload;          /* of the event block being closed */
	struct mt_buffer extension;        /* of its header */
	struct mt_buffer out;              /* header and stored payload, for one write */
	struct mt_trace_running running;   /* as last flushed */
	struct mt_err err;                 /* the first error; sticks */
	struct mt_trace_writer_file aside; /* what was written before a switch */
	bool stays;                        /* what was written, when a later write fails */
};

/* The file's name for messages. */
static const char *file_name(int fd, char *name, size_t size)
{
	char link[40];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, name, size - 1);

	if (len <= 0)
		return "the trace";
	name[len] = 0;
	return name;
}

/* By its place: a temporary file has lost its name already. */
static const char *advice(const struct mt_trace_writer *w, int error)
{
	struct stat status;
	bool temporary = !w->stays && fstat(w->file.fd, &status) == 0 && status.st_nlink == 0;

	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return temporary ? "set TMPDIR to a directory with room"
				 : "free space or choose another place with -o";
	case EFBIG: return "raise the file size limit (ulimit -f) or choose another file system";
	case EPIPE: return "the reader of the pipe has ended";
	default:
		return temporary ? "check the file system or set TMPDIR to another"
				 : "check the file system or choose another place with -o";
	}
}

/* What a switch leads to is thrown away when it fails. */
static int fail_write(struct mt_trace_writer *w, int error)
{
	char name[256];
	bool stays = w->stays && w->aside.fd < 0;

	return mt_fail(&w->err, -error, "cannot write to %s: %s; %s%s",
		file_name(w->file.fd, name, sizeof name), strerror(error),
		stays ? "the part written so far can be opened; " : "", advice(w, error));
}

static int sticky(const struct mt_trace_writer *w, struct mt_err *err)
{
	if (w->err.code && err)
		*err = w->err;
	return w->err.code;
}

static int write_all(struct mt_trace_writer *w, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len) {
		ssize_t n = write(w->file.fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_write(w, n ? errno : EIO);
		at += n;
		len -= (size_t)n;
		w->file.bytes += (uint64_t)n;
	}
	return 0;
}

/* Appends the payload as it is stored to out; returns whether it is compressed. */
static bool store_payload(struct mt_trace_writer *w, const void *payload, size_t len,
	struct mt_buffer *out)
{
	size_t bound = ZSTD_compressBound(len);

	mt_buffer_reserve(out, bound);
	size_t n = ZSTD_compress2(w->zstd, out->data + out->len, bound, payload, len);

	if (!ZSTD_isError(n) && n < len) {
		out->len += n;
		return true;
	}
	mt_buffer_add(out, payload, len);
	return false;
}

static bool is_skippable(unsigned type)
{
	return type >= MT_BLOCK_SKIPPABLE_FIRST;
}

/* Appends the block to out, all but its number and check. extension: of the header; may be NULL. */
static void make_block(struct mt_trace_writer *w, struct mt_block_header *h,
	const struct mt_buffer *extension, const void *payload, size_t len, struct mt_buffer *out)
{
	size_t at = out->len;

	mt_buffer_add(out, NULL, sizeof *h);
	if (extension && extension->len) {
		uint64_t check = mt_check(extension->data, extension->len);

		mt_buffer_add(out, extension->data, extension->len);
		mt_buffer_add(out, &check, sizeof check);
	}
	h->size = (uint16_t)(out->len - at);
	bool compressed = store_payload(w, payload, len, out);

	h->magic = MT_BLOCK_MAGIC;
	h->flags = (uint8_t)((compressed ? MT_BLOCK_COMPRESSED : 0)
		| (is_skippable(h->type) ? MT_BLOCK_SKIPPABLE : 0));
	h->payload_len = (uint32_t)len;
	h->stored_len = (uint32_t)(out->len - at - h->size);
	h->payload_check = compressed ? 0 : mt_check(payload, len);
	memcpy(out->data + at, h, sizeof *h);
}

/* Numbers the blocks of made, and writes them. */
static int put_blocks(struct mt_trace_writer *w, const struct mt_buffer *made)
{
	struct mt_trace_writer_file *file = &w->file;
	uint64_t bytes = file->bytes;

	for (size_t at = 0; at < made->len;) {
		uint64_t offset = bytes + at;
		struct mt_block_header h;

		memcpy(&h, made->data + at, sizeof h);
		h.sequence = file->sequence;
		h.check = mt_block_header_check(&h);
		memcpy(made->data + at, &h, sizeof h);
		MT_GROW(file->blocks, file->sequence, file->block_capacity);
		file->blocks[file->sequence++] =
			(struct written){file->index.len, h.size + h.stored_len, h.type};
		mt_buffer_add(&file->index, &offset, sizeof offset);
		mt_buffer_add(&file->index, made->data + at, h.size);
		at += h.size + (size_t)h.stored_len;
	}
	return write_all(w, made->data, made->len);
}

static int write_block(struct mt_trace_writer *w, struct mt_block_header *h,
	const struct mt_buffer *extension, const void *payload, size_t len)
{
	if (len > MT_PAYLOAD_MAX)
		return mt_fail(&w->err, -EFBIG,
			"cannot write a block of %zu bytes to the trace: at most %u fit", len,
			MT_PAYLOAD_MAX);
	w->out.len = 0;
	make_block(w, h, extension, payload, len, &w->out);
	return put_blocks(w, &w->out);
}

static int write_start(struct mt_trace_writer *w)
{
	struct mt_file_header h = {.magic = MT_FILE_MAGIC,
		.version = MT_FILE_VERSION,
		.size = sizeof h};

	h.check = mt_check(&h, offsetof(struct mt_file_header, check));
	return write_all(w, &h, sizeof h);
}

struct mt_trace_writer *mt_trace_writer_new(int fd, struct mt_err *err)
{
	struct mt_trace_writer *w = mt_alloc(sizeof *w);
	int flags = fcntl(fd, F_GETFL);

	w->file.fd = fd;
	w->aside.fd = -1;
	w->zstd = ZSTD_createCCtx();
	w->columns = mt_columns_new();
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		fail_write(w, flags < 0 ? errno : EBADF);
	else if (!w->zstd)
		mt_fail(&w->err, -ENOMEM, "cannot compress the trace: out of memory");
	else
		write_start(w);
	if (sticky(w, err)) {
		mt_trace_writer_free(w);
		return NULL;
	}
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	return w;
}

void mt_trace_writer_stays(struct mt_trace_writer *w)
{
	w->stays = true;
}

/* sums: behind the last event; NULL: it is not known what they are. */
static void close_events(struct mt_trace_writer *w, const struct mt_trace_sums *sums)
{
	struct mt_block_header h = {
		.type = MT_BLOCK_EVENTS,
		.event_count = mt_columns_count(w->columns),
		.first_ns = mt_columns_first_ns(w->columns),
		.last_ns = mt_columns_last_ns(w->columns),
		.running = w->running,
	};

	if (!h.event_count)
		return;
	mt_columns_facts(w->columns, sums, &w->extension);
	mt_columns_finish(w->columns, &w->payload);
	if (!w->err.code)
		write_block(w, &h, &w->extension, w->payload.data, w->payload.len);
}

static void fail_number(struct mt_trace_writer *w, uint64_t number)
{
	if (!w->err.code)
		mt_fail(&w->err, -EINVAL,
			"cannot write allocation %llu to the trace: its number is out of order; "
			"please report this fault of memtui",
			(unsigned long long)number);
}

void mt_trace_writer_encode(struct mt_trace_writer *w)
{
	const struct mt_event *at = w->queue.events, *end = at + w->queue.count;

	w->queue.count = 0;
	while (at < end) {
		at += mt_columns_add(w->columns, at, (uint32_t)(end - at));
		if (at == end)
			return;
		if (mt_columns_count(w->columns) >= MT_BLOCK_EVENTS_MAX) {
			close_events(w, NULL);
			continue;
		}
		fail_number(w, at->number);
		at++;
	}
}

void mt_trace_writer_event(struct mt_trace_writer *w, const struct mt_event *e)
{
	*mt_trace_writer_next(w) = *e;
}

struct mt_columns *mt_trace_writer_columns(struct mt_trace_writer *w, uint64_t number,
	uint64_t time_ns, uint32_t *room)
{
	struct mt_columns *c = w->columns;

	mt_trace_writer_encode(w);
	if (mt_columns_count(c) >= MT_BLOCK_EVENTS_MAX - 1)
		close_events(w, NULL);
	if (!c->started)
		mt_columns_begin(c, number, time_ns);
	if (number != c->predictor.next_number)
		fail_number(w, number);
	*room = MT_BLOCK_EVENTS_MAX - mt_columns_count(c);
	return c;
}

struct mt_pair_encoder mt_trace_writer_pairs(struct mt_trace_writer *w, uint32_t thread,
	uint64_t number, uint64_t time_ns)
{
	uint32_t room;
	struct mt_columns *c = mt_trace_writer_columns(w, number, time_ns, &room);

	return mt_pair_encoder_begin(c, thread, number, room / 2);
}

void mt_trace_writer_period(struct mt_trace_writer *w, uint32_t period)
{
	mt_trace_writer_encode(w);
	mt_columns_period(w->columns, period);
}

bool mt_trace_writer_full(const struct mt_trace_writer *w)
{
	return mt_columns_count(w->columns) + w->queue.count >= MT_BLOCK_EVENTS_MAX;
}

int mt_trace_writer_block(struct mt_trace_writer *w, enum mt_block_type type, const void *payload,
	size_t len, struct mt_err *err)
{
	struct mt_block_header h = {.type = (uint8_t)type};

	if (!w->err.code)
		write_block(w, &h, NULL, payload, len);
	return sticky(w, err);
}

int mt_trace_writer_flush(struct mt_trace_writer *w, const struct mt_trace_running *running,
	struct mt_err *err)
{
	mt_trace_writer_encode(w);
	w->running = *running;
	close_events(w, NULL);
	return sticky(w, err);
}

int mt_trace_writer_flush_exact(struct mt_trace_writer *w, const struct mt_trace_sums *sums,
	struct mt_err *err)
{
	mt_trace_writer_encode(w);
	w->running = sums->running;
	close_events(w, sums);
	return sticky(w, err);
}

int mt_trace_writer_finish(struct mt_trace_writer *w, struct mt_err *err)
{
	struct mt_trailer t = {.magic = MT_TRAILER_MAGIC, .index_offset = w->file.bytes};
	struct mt_block_header h = {.type = MT_BLOCK_INDEX};

	mt_trace_writer_flush(w, &w->running, NULL);
	if (sticky(w, err))
		return w->err.code;
	t.index_offset = w->file.bytes;
	/* Beyond 64 MiB of index a reader finds the blocks by themselves. */
	if (w->file.index.len > MT_PAYLOAD_MAX)
		return 0;
	if (write_block(w, &h, NULL, w->file.index.data, w->file.index.len))
		return sticky(w, err);
	t.file_bytes = w->file.bytes + sizeof t;
	t.check = mt_check(&t, offsetof(struct mt_trailer, check));
	write_all(w, &t, sizeof t);
	return sticky(w, err);
}

uint64_t mt_trace_writer_bytes(const struct mt_trace_writer *w)
{
	return w->file.bytes;
}

/* ---- another file in place of the first ---- */

uint32_t mt_trace_writer_count(const struct mt_trace_writer *w)
{
	return w->file.sequence;
}

int mt_trace_writer_fd(const struct mt_trace_writer *w)
{
	return w->file.fd;
}

void mt_trace_writer_make(struct mt_trace_writer *w, enum mt_block_type type, uint64_t time_ns,
	const void *payload, size_t len, struct mt_buffer *made)
{
	struct mt_block_header h = {.type = (uint8_t)type, .first_ns = time_ns, .last_ns = time_ns};

	make_block(w, &h, NULL, payload, len, made);
}

int mt_trace_writer_put(struct mt_trace_writer *w, const struct mt_buffer *made, struct mt_err *err)
{
	if (!w->err.code)
		put_blocks(w, made);
	return sticky(w, err);
}

static bool is_copied(const struct written *block)
{
	return block->type == MT_BLOCK_EVENTS || block->type == MT_BLOCK_CHECKPOINT
		|| block->type == MT_BLOCK_INFO;
}

uint64_t mt_trace_writer_copied(const struct mt_trace_writer *w, uint32_t first)
{
	uint64_t bytes = 0;

	for (; first < w->file.sequence; first++)
		if (is_copied(&w->file.blocks[first]))
			bytes += w->file.blocks[first].bytes;
	return bytes;
}

int mt_trace_writer_switch(struct mt_trace_writer *w, int fd, struct mt_err *err)
{
	w->aside = w->file;
	w->file = (struct mt_trace_writer_file){.fd = fd};
	write_start(w);
	return sticky(w, err);
}

uint32_t mt_trace_writer_events(const struct mt_trace_writer *w, uint32_t from)
{
	uint32_t count = 0;

	for (; from < w->file.sequence; from++)
		count += w->file.blocks[from].type == MT_BLOCK_EVENTS;
	return count;
}

uint32_t mt_trace_writer_events_back(const struct mt_trace_writer *w, uint32_t before,
	uint32_t count)
{
	while (count && before)
		count -= w->file.blocks[--before].type == MT_BLOCK_EVENTS;
	return before;
}

int mt_trace_writer_copy(struct mt_trace_writer *w, uint32_t *next, uint32_t end, uint64_t most,
	struct mt_err *err)
{
	uint64_t full = w->file.bytes + most;
	struct mt_buffer block = {0};

	for (; *next < end && w->file.bytes < full && !w->err.code; ++*next) {
		const struct written *from = &w->aside.blocks[*next];
		uint64_t offset;

		if (!is_copied(from))
			continue;
		memcpy(&offset, w->aside.index.data + from->in_index, sizeof offset);
		block.len = 0;
		mt_buffer_add(&block, NULL, from->bytes);
		if (!mt_trace_pread(w->aside.fd, "the trace", block.data, block.len, offset,
			    &w->err))
			put_blocks(w, &block);
	}
	mt_buffer_free(&block);
	return w->err.code ? sticky(w, err) : *next < end;
}

static void close_file(struct mt_trace_writer_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	mt_buffer_free(&file->index);
	free(file->blocks);
	*file = (struct mt_trace_writer_file){.fd = -1};
}

void mt_trace_writer_keep(struct mt_trace_writer *w)
{
	close_file(&w->aside);
}

void mt_trace_writer_back(struct mt_trace_writer *w)
{
	close_file(&w->file);
	w->file = w->aside;
	w->aside = (struct mt_trace_writer_file){.fd = -1};
	w->err = (struct mt_err){0};
}

void mt_trace_writer_free(struct mt_trace_writer *w)
{
	if (!w)
		return;
	close_file(&w->file);
	close_file(&w->aside);
	mt_columns_free(w->columns);
	ZSTD_freeCCtx(w->zstd);
	mt_buffer_free(&w->payload);
	mt_buffer_free(&w->extension);
	mt_buffer_free(&w->out);
	free(w);
}
