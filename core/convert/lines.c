#include "core/convert/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define CHUNK (128u << 10)

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct mt_lines {
	int fd;
	enum packing packing;
	uint64_t file_bytes, read_bytes;
	uint8_t in[CHUNK];
	size_t in_at, in_len;
	bool in_end;           /* the file has no more */
	struct mt_buffer text; /* what is unpacked; from at on not handed out */
	size_t at;
	bool end;    /* nothing more comes into text */
	bool within; /* a compressed stream has begun and not ended */
	const char *fault;
	bool cut, broken;
	z_stream gzip;
	ZSTD_DCtx *zstd;
};

static void fill_input(struct mt_lines *l)
{
	ssize_t n;

	if (l->in_at < l->in_len || l->in_end)
		return;
	do
		n = read(l->fd, l->in, sizeof l->in);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		l->fault = strerror(errno);
		l->broken = true;
	}
	l->in_end = n <= 0;
	l->in_at = 0;
	l->in_len = n > 0 ? (size_t)n : 0;
	l->read_bytes += l->in_len;
}

static bool begin(struct mt_lines *l)
{
	static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};

	fill_input(l);
	if (l->in_len >= sizeof gzip && !memcmp(l->in, gzip, sizeof gzip))
		l->packing = PACKING_GZIP;
	else if (l->in_len >= sizeof zstd && !memcmp(l->in, zstd, sizeof zstd))
		l->packing = PACKING_ZSTD;
	if (l->packing == PACKING_GZIP)
		return inflateInit2(&l->gzip, 15 + 16) == Z_OK;
	if (l->packing == PACKING_ZSTD)
		l->zstd = ZSTD_createDCtx();
	return l->packing != PACKING_ZSTD || l->zstd;
}

struct mt_lines *mt_lines_open_fd(int fd, const char *name, struct mt_err *err)
{
	struct mt_lines *l = mt_alloc(sizeof *l);
	struct stat st;

	l->fd = fd;
	l->file_bytes = fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
	if (begin(l))
		return l;
	mt_fail(err, -ENOMEM, "cannot decompress %s: out of memory", name);
	mt_lines_free(l);
	return NULL;
}

struct mt_lines *mt_lines_open(const char *path, struct mt_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0) {
		mt_fail_open(err, path);
		return NULL;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		mt_fail(err, -EINVAL, "%s: not a regular file", path);
		return NULL;
	}
	return mt_lines_open_fd(fd, path, err);
}

void mt_lines_free(struct mt_lines *l)
{
	if (!l)
		return;
	close(l->fd);
	inflateEnd(&l->gzip);
	ZSTD_freeDCtx(l->zstd);
	mt_buffer_free(&l->text);
	free(l);
}

/* Each unpacks a piece of the input into the room behind text and returns the bytes made. A call
 * that finds nothing to do, at the end of the file, says nothing of where it stands. */
static size_t unpack_gzip(struct mt_lines *l, uint8_t *to, size_t room)
{
	l->gzip.next_in = l->in + l->in_at;
	l->gzip.avail_in = (uInt)(l->in_len - l->in_at);
	l->gzip.next_out = to;
	l->gzip.avail_out = (uInt)room;
	int result = inflate(&l->gzip, Z_NO_FLUSH);

	if (l->in_at != l->in_len - l->gzip.avail_in || l->gzip.avail_out != room)
		l->within = result != Z_STREAM_END;
	l->in_at = l->in_len - l->gzip.avail_in;
	if (result == Z_STREAM_END)
		inflateReset(&l->gzip); /* another member may follow */
	else if (result != Z_OK && result != Z_BUF_ERROR) {
		l->fault = l->gzip.msg ? l->gzip.msg : "its compressed data are damaged";
		l->broken = true;
	}
	return room - l->gzip.avail_out;
}

static size_t unpack_zstd(struct mt_lines *l, uint8_t *to, size_t room)
{
	ZSTD_inBuffer in = {l->in, l->in_len, l->in_at};
	ZSTD_outBuffer out = {to, room, 0};
	size_t left = ZSTD_decompressStream(l->zstd, &out, &in);

	if (l->in_at != in.pos || out.pos)
		l->within = left != 0;
	l->in_at = in.pos;
	if (ZSTD_isError(left)) {
		l->fault = ZSTD_getErrorName(left);
		l->broken = true;
	}
	return out.pos;
}

static size_t unpack(struct mt_lines *l, uint8_t *to, size_t room)
{
	if (l->packing == PACKING_GZIP)
		return unpack_gzip(l, to, room);
	if (l->packing == PACKING_ZSTD)
		return unpack_zstd(l, to, room);
	size_t n = l->in_len - l->in_at < room ? l->in_len - l->in_at : room;

	memcpy(to, l->in + l->in_at, n);
	l->in_at += n;
	return n;
}

/* More text behind what is there. A decompressor may hold back text though all input is read. */
static void fill_text(struct mt_lines *l)
{
	size_t made = 0;

	if (l->at)
		memmove(l->text.data, l->text.data + l->at, l->text.len - l->at);
	l->text.len -= l->at;
	l->at = 0;
	mt_buffer_reserve(&l->text, CHUNK + 1);
	while (!made && !l->fault) {
		fill_input(l);
		bool dry = l->in_at == l->in_len;

		made = unpack(l, l->text.data + l->text.len, CHUNK);
		if (dry && !made)
			break;
	}
	l->text.len += made;
	l->end = !made;
	l->cut = l->end && l->within && !l->fault;
	if (l->cut)
		l->fault = "its compressed data are incomplete";
}

int mt_lines_next(struct mt_lines *l, char **line, size_t *len)
{
	size_t seen = 0;

	for (;;) {
		uint8_t *from = l->text.data + l->at;
		size_t there = l->text.len - l->at;
		uint8_t *newline = there > seen ? memchr(from + seen, '\n', there - seen) : NULL;

		if (newline) {
			*newline = 0;
			*line = (char *)from;
			*len = (size_t)(newline - from);
			l->at += *len + 1;
			return 1;
		}
		if (there > MT_LINE_MAX)
			l->fault = "it has a line of more than a megabyte";
		if (l->end || l->fault)
			break;
		seen = there;
		fill_text(l);
	}
	if (l->at < l->text.len && !l->fault)
		l->fault = "it ends within a line";
	return 0;
}

const char *mt_lines_fault(const struct mt_lines *l)
{
	return l->fault;
}

bool mt_lines_cut(const struct mt_lines *l)
{
	return l->cut;
}

bool mt_lines_broken(const struct mt_lines *l)
{
	return l->broken;
}

uint64_t mt_lines_read(const struct mt_lines *l)
{
	return l->read_bytes;
}

uint64_t mt_lines_file_bytes(const struct mt_lines *l)
{
	return l->file_bytes;
}

double mt_lines_fraction(const struct mt_lines *l)
{
	return l->file_bytes ? (double)l->read_bytes / (double)l->file_bytes : 1;
}

const char *mt_lines_packing(const struct mt_lines *l)
{
	return l->packing == PACKING_ZSTD ? "zstd" : l->packing == PACKING_GZIP ? "gzip" : NULL;
}

const char *mt_lines_program(const struct mt_lines *l)
{
	return l->packing == PACKING_ZSTD    ? "zstd -dc"
		: l->packing == PACKING_GZIP ? "gzip -dc"
					     : "cat";
}
