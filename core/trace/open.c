#include "core/trace/open.h"

#include "core/base/temporary.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int mt_trace_pread(int fd, const char *path, void *bytes, size_t len, uint64_t offset,
	struct mt_err *err)
{
	uint8_t *at = bytes;

	while (len) {
		ssize_t n = pread(fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mt_fail(err, -errno, "cannot read %s at offset %llu: %s", path,
				(unsigned long long)offset, strerror(errno));
		if (!n)
			return mt_fail(err, -ENODATA, "%s: ends unexpectedly at offset %llu", path,
				(unsigned long long)offset);
		at += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int copy_all(int from, int to, struct mt_err *err)
{
	static const char failed[] =
		"cannot spool standard input to a temporary file: %s; set TMPDIR to a "
		"directory with room";
	char buf[65536];
	ssize_t n;

	while ((n = read(from, buf, sizeof buf)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mt_fail(err, -errno, "cannot read standard input: %s",
				strerror(errno));
		for (ssize_t done = 0, m; done < n; done += m) {
			m = write(to, buf + done, (size_t)(n - done));
			if (m < 0 && errno != EINTR)
				return mt_fail(err, -errno, failed, strerror(errno));
			if (m < 0)
				m = 0;
		}
	}
	return 0;
}

/* pread needs a file. */
int mt_trace_spool(struct mt_err *err)
{
	int fd = mt_temporary_file(NULL, err);
	int result = fd < 0 ? 0 : copy_all(STDIN_FILENO, fd, err);

	if (!result)
		return fd;
	close(fd);
	return result;
}

static bool looks_like_text(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] < 0x80 && !isprint(bytes[i]) && !isspace(bytes[i]))
			return false;
	return true;
}

static int not_a_trace(const char *path, const struct mt_file_header *h, size_t len,
	struct mt_err *err)
{
	size_t known = len < sizeof h->magic ? len : sizeof h->magic;

	if (!len)
		return mt_fail(err, -EINVAL, "%s is not a memtui trace: it is empty", path);
	if (!memcmp(h->magic, MT_FILE_MAGIC, known))
		return mt_fail(err, -EINVAL,
			"%s is not a memtui trace: it ends at offset %zu, within the file header",
			path, len);
	if (looks_like_text((const uint8_t *)h, len))
		return mt_fail(err, -EINVAL,
			"%s is not a memtui trace: it is a text file; record one with "
			"'memtui record'",
			path);
	return mt_fail(err, -EINVAL,
		"%s is not a memtui trace: it has no trace header; record one with 'memtui "
		"record'",
		path);
}

int mt_trace_version(int fd, const char *path, unsigned *version, struct mt_err *err)
{
	struct mt_file_header h = {0};
	ssize_t n;

	do
		n = pread(fd, &h, sizeof h, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return mt_fail(err, -errno, "cannot read %s: %s", path, strerror(errno));
	if ((size_t)n < sizeof h || memcmp(h.magic, MT_FILE_MAGIC, sizeof h.magic))
		return not_a_trace(path, &h, (size_t)n, err);
	if (h.check != mt_check(&h, offsetof(struct mt_file_header, check)))
		return mt_fail(err, -EBADMSG,
			"the trace %s is damaged: its file header at offset 0 does not match its "
			"checksum",
			path);
	if (h.version < MT_FILE_VERSION_OLDEST || h.version > MT_FILE_VERSION || h.size != sizeof h)
		return mt_fail(err, -ENOTSUP,
			"the trace %s has format version %u, but this memtui reads versions %u to "
			"%u; use the memtui that recorded it",
			path, h.version, MT_FILE_VERSION_OLDEST, MT_FILE_VERSION);
	*version = h.version;
	return 0;
}

/* Opening a FIFO or a device could wait for ever: only plain files are read where they are. */
static int open_file(const char *path, struct mt_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return mt_fail_open(err, path);
	if (fstat(fd, &st) < 0)
		st.st_mode = 0;
	if (S_ISREG(st.st_mode))
		return fd;
	close(fd);
	if (S_ISDIR(st.st_mode))
		return mt_fail(err, -EISDIR, "%s is not a memtui trace: it is a directory", path);
	return mt_fail(err, -EINVAL,
		"%s is not a memtui trace: it is not a regular file; to read a pipe, use '-' "
		"and standard input",
		path);
}

static int checked(int fd, const char *name, struct mt_err *err)
{
	unsigned version;
	int result = fd < 0 ? fd : mt_trace_version(fd, name, &version, err);

	if (fd < 0 || !result)
		return fd;
	close(fd);
	return result;
}

int mt_trace_open(const char *path, struct mt_err *err)
{
	bool from_stdin = !strcmp(path, "-");

	return checked(from_stdin ? mt_trace_spool(err) : open_file(path, err),
		from_stdin ? "standard input" : path, err);
}

struct mt_trace_reader *mt_trace_reader_open_spooled(int fd, struct mt_err *err)
{
	fd = checked(fd, "standard input", err);
	return fd < 0 ? NULL : mt_trace_reader_open_fd(fd, "standard input", err);
}
