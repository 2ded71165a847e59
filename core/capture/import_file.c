/* A stand-alone recording as a file: what it begins with, and whether that makes sense. */
#include "core/base/proc.h"
#include "core/capture/import_parts.h"

#include <dirent.h>
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

/* The beginning of a recording; false: the file is none. */
static bool read_start(const char *path, struct mt_wire_header *h)
{
	struct stat status;
	bool done;
	int fd;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	*h = (struct mt_wire_header){.magic = 0};
	done = mt_import_read_at(fd, h, sizeof *h, 0) >= (ssize_t)sizeof h->magic
		&& h->magic == MT_WIRE_MAGIC;
	close(fd);
	return done;
}

bool mt_import_recognises(const char *path)
{
	struct mt_wire_header h;

	return read_start(path, &h);
}

/* ---- who has it in memory -------------------------------------------------------------------- */

/* A process's shared mappings of files from their beginnings. */
struct mapped {
	FILE *maps;
	bool any; /* lines at all: a process that may not be looked into has none */
	pid_t pid;
	unsigned long long inode;
	char *path; /* as seen by the process */
	char line[4096 + 128];
};

static void begin(struct mapped *m, pid_t pid)
{
	char path[64];

	m->pid = mt_proc_thread(pid);
	m->any = false;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)m->pid);
	m->maps = fopen(path, "re");
}

static bool next(struct mapped *m)
{
	unsigned long long start, end, offset;
	char permissions[5];
	int at;

	while (m->maps && fgets(m->line, sizeof m->line, m->maps)) {
		m->any = true;
		at = 0;
		if (sscanf(m->line, "%llx-%llx %4s %llx %*s %llu %n", &start, &end, permissions,
			    &offset, &m->inode,
			    &at) != 5
			|| !at || permissions[3] != 's' || offset || m->line[at] != '/')
			continue;
		m->path = m->line + at;
		m->path[strcspn(m->path, "\n")] = '\0';
		return true;
	}
	if (m->maps)
		fclose(m->maps);
	m->maps = NULL;
	return false;
}

static void end(struct mapped *m)
{
	if (m->maps)
		fclose(m->maps);
}

/* The path by which we find a recording that is mapped, which the caller frees, or NULL. */
static char *recording_at(const struct mapped *m, struct mt_wire_header *h)
{
	char *path = mt_strdup(m->path);

	if (read_start(path, h))
		return path;
	free(path); /* in a name space of its own? */
	path = mt_format("/proc/%d/root%s", (int)m->pid, m->path);
	if (read_start(path, h))
		return path;
	free(path);
	return NULL;
}

/* By its inode, or where a file system shows others there, by what the file says. */
bool mt_import_is_mapped(const struct mt_import *i, pid_t pid)
{
	struct mt_wire_header h;
	struct stat status;
	struct mapped m;
	bool found = false;

	if (fstat(i->fd, &status) < 0)
		return true;
	begin(&m, pid);
	while (!found && next(&m)) {
		char *path = m.inode == status.st_ino ? NULL : recording_at(&m, &h);

		found = m.inode == status.st_ino || (path && h.id == i->header.id);
		free(path);
	}
	end(&m);
	return found || !m.any;
}

/* The process's number in a name space below ours, the innermost; 0: it has none. */
static uint32_t inner_number(pid_t pid)
{
	char status[4096], *at, *line;

	if (!mt_proc_read(pid, "status", status, sizeof status)
		|| !(line = strstr(status, "\nNSpid:\t")))
		return 0;
	line += strlen("\nNSpid:\t");
	at = line + strcspn(line, "\n");
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at > line ? (uint32_t)strtoul(at, NULL, 10) : 0;
}

static bool is_number_of(uint32_t number, pid_t pid)
{
	return number == (uint32_t)pid || number == inner_number(pid);
}

/* What we may not look into is taken to be in that name space. */
static bool is_in_space(pid_t pid, uint64_t space)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	return stat(path, &status) < 0 || status.st_ino == space;
}

pid_t mt_import_maker_below(const struct mt_wire_header *h)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (processes && !found && (entry = readdir(processes))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && inner_number(pid) == h->pid && is_in_space(pid, h->pid_space))
			found = pid;
	}
	if (processes)
		closedir(processes);
	return found;
}

char *mt_import_of_process(pid_t pid, bool *inherited)
{
	char *found = NULL;
	struct mt_wire_header h;
	struct mapped m;

	*inherited = false;
	begin(&m, pid);
	while (!found && next(&m)) {
		found = recording_at(&m, &h);
		if (found && !is_number_of(h.pid, pid)) {
			*inherited = true;
			free(found);
			found = NULL;
		}
	}
	end(&m);
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
	uint32_t records = h->sizes.records;

	if (!(h->flags & MT_SEGMENT_STANDALONE))
		return "it is the shared memory of a session, not a recording";
	if (records < 1024 || records & (records - 1) || records > 1u << RECORDS_MAX_BITS)
		return "the size of its chunks is invalid";
	if (h->depth_limit < 4 || h->depth_limit > 65536 || h->clock > MT_CLOCK_MONOTONIC)
		return "its header is invalid";
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
		return "the places of its tables are invalid";
	return NULL;
}

/* What memory was laid out by stays as it was. */
static bool same_layout(const struct mt_wire_header *a, const struct mt_wire_header *b)
{
	size_t from = offsetof(struct mt_wire_header, clock);
	size_t to = offsetof(struct mt_wire_header, id);

	return !memcmp((const uint8_t *)a + from, (const uint8_t *)b + from, to - from);
}

/* The program could not begin to record. */
static int fail_empty(const struct mt_import *i, struct mt_err *err)
{
	uint32_t reason = 0;

	mt_import_read_at(i->fd, &reason, sizeof reason, MT_WIRE_REASON_OFFSET);
	if (reason == EFBIG)
		return mt_fail(err, -EFBIG,
			"%s: nothing was recorded: the limit of file sizes (ulimit -f) is too low "
			"for a recording; 16 MiB are enough to begin",
			i->path);
	if (reason == ENOMEM)
		return mt_fail(err, -ENOMEM,
			"%s: nothing was recorded: the limit of address space (ulimit -v) is too "
			"low for a recording; 64 MiB are enough to begin",
			i->path);
	return mt_fail(err, -EIO, "%s: nothing was recorded: the file could not be used: %s",
		i->path, strerror((int)reason));
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
	if (i->segment.base && (n < (ssize_t)sizeof *h || h->magic != MT_WIRE_MAGIC))
		return mt_fail(err, -EINVAL,
			"%s was truncated or overwritten while memtui read it; later events are "
			"missing",
			i->path);
	if (n < (ssize_t)sizeof *h || h->magic != MT_WIRE_MAGIC)
		return mt_fail(err, -EINVAL,
			"%s is not a recording of memtui, or the program ended before the "
			"recording "
			"began",
			i->path);
	if (h->version != MT_WIRE_VERSION || h->header_size != sizeof *h)
		return mt_fail(err, -EINVAL,
			"%s was written by another version of memtui; open it with that one",
			i->path);
	if (!h->segment_size)
		return fail_empty(i, err);
	why = i->segment.base && !same_layout(h, &i->header)
		? "it was replaced by another file"
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
