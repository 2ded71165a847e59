/* A stand-alone recording as a file: what it begins with, and whether that makes sense. */
#include "core/capture/import_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULES_MAX (1u << 16)
#define THREADS_MAX (1u << 20)
#define PCS_MAX (1u << 22)
#define NODES_MAX (1u << 24)
#define RINGS_MAX (1u << 12)
#define CHUNKS_MAX (1u << 24)
#define TEXT_MAX_LEN (1u << 20)
#define RECORDS_MAX_BITS 16

/* As many bytes as there are; negative: an error. */
ssize_t mt_import_read_at(int fd, void *to, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (uint8_t *)to + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

bool mt_import_recognises(const char *path)
{
	struct stat status;
	uint64_t magic = 0;
	int fd;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (mt_import_read_at(fd, &magic, sizeof magic, 0) != sizeof magic)
		magic = 0;
	close(fd);
	return magic == MT_WIRE_MAGIC;
}

/* The path of a line of /proc/PID/maps, where that is the beginning of a shared mapping of a file;
 * else NULL. */
static char *mapped_path(char *line)
{
	unsigned long long start, end, offset;
	char permissions[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, permissions, &offset, &at)
			!= 4
		|| !at || permissions[3] != 's' || offset || line[at] != '/')
		return NULL;
	line[at + (int)strcspn(line + at, "\n")] = '\0';
	return line + at;
}

char *mt_import_of_process(pid_t pid)
{
	char *maps = mt_format("/proc/%d/maps", (int)pid), line[4096 + 128], *found = NULL, *path;
	FILE *f = fopen(maps, "re");

	while (f && !found && fgets(line, sizeof line, f)) {
		if (!(path = mapped_path(line)))
			continue;
		found = mt_strdup(path);
		if (mt_import_recognises(found))
			break;
		free(found); /* in a name space of its own? */
		found = mt_format("/proc/%d/root%s", (int)pid, path);
		if (mt_import_recognises(found))
			break;
		free(found);
		found = NULL;
	}
	if (f)
		fclose(f);
	free(maps);
	return found;
}

static bool fits(const struct mt_wire_range *range, uint32_t entry, uint32_t most)
{
	return range->entry == entry && range->capacity && range->capacity <= most
		&& range->offset % MT_WIRE_PAGE == 0 && range->offset >= 2 * MT_WIRE_PAGE
		&& range->offset < 1ull << 48;
}

static const char *senseless(const struct mt_wire_header *h)
{
	uint32_t records = h->ring_records;

	if (!(h->flags & MT_SEGMENT_STANDALONE))
		return "it is the memory of a session, not a recording";
	if (records < 1024 || records & (records - 1) || records > 1u << RECORDS_MAX_BITS)
		return "the size of its chunks makes no sense";
	if (h->depth_limit < 4 || h->depth_limit > 65536 || h->clock > MT_CLOCK_MONOTONIC)
		return "its header makes no sense";
	if (!fits(&h->modules, sizeof(struct mt_wire_module), MODULES_MAX)
		|| !fits(&h->threads, sizeof(struct mt_wire_thread), THREADS_MAX)
		|| !fits(&h->pcs, sizeof(struct mt_wire_pc), PCS_MAX)
		|| !fits(&h->nodes, sizeof(struct mt_wire_node), NODES_MAX)
		|| !fits(&h->rings, sizeof(struct mt_wire_ring), RINGS_MAX)
		|| !fits(&h->chunks, sizeof(struct mt_wire_chunk), CHUNKS_MAX)
		|| !fits(&h->text, 1, TEXT_MAX_LEN)
		|| !fits(&h->ring_data, records * (uint32_t)sizeof(struct mt_wire_record),
			CHUNKS_MAX)
		|| h->ring_data.capacity < h->chunks.capacity)
		return "its tables do not lie where they can";
	return NULL;
}

/* What memory was laid out by stays as it was. */
static bool same_layout(const struct mt_wire_header *a, const struct mt_wire_header *b)
{
	size_t from = offsetof(struct mt_wire_header, clock);
	size_t to = offsetof(struct mt_wire_header, id);

	return !memcmp((const uint8_t *)a + from, (const uint8_t *)b + from, to - from);
}

int mt_import_read_header(struct mt_import *i, struct mt_err *err)
{
	struct mt_wire_header now = {0}, *h = &now;
	ssize_t n = mt_import_read_at(i->fd, h, sizeof *h, 0);
	struct stat status;
	const char *why;

	if (n < 0 || fstat(i->fd, &status) < 0)
		return mt_fail(err, n < 0 ? (int)n : -errno, "cannot read %s: %s", i->path,
			strerror(n < 0 ? (int)-n : errno));
	i->size = (uint64_t)status.st_size;
	i->disk = (uint64_t)status.st_blocks * 512; /* the tables' ranges are sparse */
	if (n < (ssize_t)sizeof *h || h->magic != MT_WIRE_MAGIC)
		return mt_fail(err, -EINVAL,
			"%s is not a recording of memtui, or its program ended before it began",
			i->path);
	if (h->version != MT_WIRE_VERSION || h->header_size != sizeof *h)
		return mt_fail(err, -EINVAL,
			"%s was written by another version of memtui; open it with that one",
			i->path);
	why = i->segment.base && !same_layout(h, &i->header)
		? "it is no longer the file that it was"
		: senseless(h);
	if (why)
		return mt_fail(err, -EINVAL, "%s cannot be read: %s", i->path, why);
	i->header = now;
	return 0;
}

/* Entries of a range that lie within the file. */
uint32_t mt_import_in_file(const struct mt_import *i, uint64_t offset, uint32_t entry,
	uint32_t count, uint32_t capacity)
{
	uint64_t there = i->size > offset ? (i->size - offset) / entry : 0;

	if (count > capacity)
		count = capacity;
	return count < there ? count : (uint32_t)there;
}
