#include "core/capture/import.h"
#include "core/capture/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define SPAN_LEAST (SECOND / 10000) /* between two anchors that tell the clock's rate by themselves */
#define PENDING_MAX 4096u         /* chunks that were not yet entered */
#define STALE_MAX 65536u          /* entries read again because one before them is not complete */
/* What a tracer lays out at most. */
#define MODULES_MAX (1u << 16)
#define THREADS_MAX (1u << 20)
#define PCS_MAX (1u << 22)
#define NODES_MAX (1u << 24)
#define RINGS_MAX (1u << 12)
#define CHUNKS_MAX (1u << 24)
#define TEXT_MAX_LEN (1u << 20)
#define RECORDS_MAX_BITS 16

/* A table: its place in the file, and how much of it lies complete in our memory. */
struct table {
	uint64_t offset;
	uint32_t entry, capacity;
	uint32_t complete, seen;
	uint8_t *to;
	uint32_t sign; /* place in the entry of the 32 bits that are written last, and are not 0 then */
	uint32_t sign_len;
};

/* What is read of a ring. Positions as in wire.h. */
struct feed {
	uint32_t first_chunk, last_chunk, chunks; /* list by id + 1 */
	uint32_t chunk;        /* id + 1 of the one that holds position loaded */
	uint64_t first_head, second_head;
	uint64_t loaded;       /* all below was copied */
	uint64_t scanned, time; /* stamp of the last event below scanned */
};

struct mt_import {
	int fd;
	char *path;
	uint64_t size, disk; /* bytes: the file's, and what they take */
	struct mt_wire_header header; /* as last read */
	struct mt_segment segment;    /* in our own memory */
	struct mt_timebase clock;
	struct mt_model model;
	struct mt_merge merge;
	struct mt_merge_bounds bounds;
	struct table modules, threads, pcs, nodes;
	uint32_t chunk_records, chunks_seen;
	uint32_t *next_chunk;         /* by id: the ring's next, id + 1 */
	uint32_t next_capacity;
	uint32_t pending[PENDING_MAX], pending_count;
	struct feed *feeds;
	uint64_t *heads;              /* bounds.heads */
	uint32_t feed_count;
	uint64_t own_scale;           /* of this machine's TSC; 0: not known */
	char *text;
	uint32_t text_len;
	uint64_t events;              /* at the last update */
	bool lives, stopped, cut_short;
};

/* ---- reading --------------------------------------------------------------------------------------- */

/* As many bytes as there are; negative: an error. */
static ssize_t read_at(int fd, void *to, size_t len, uint64_t offset)
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
	if (read_at(fd, &magic, sizeof magic, 0) != sizeof magic)
		magic = 0;
	close(fd);
	return magic == MT_WIRE_MAGIC;
}

/* The path of a line of /proc/PID/maps, where that is the beginning of a shared mapping of a file; else NULL. */
static char *mapped_path(char *line)
{
	unsigned long long start, end, offset;
	char permissions[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, permissions, &offset, &at) != 4 || !at
		|| permissions[3] != 's' || offset || line[at] != '/')
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
	return range->entry == entry && range->capacity && range->capacity <= most && range->offset % MT_WIRE_PAGE == 0
		&& range->offset >= 2 * MT_WIRE_PAGE && range->offset < 1ull << 48;
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
		|| !fits(&h->chunks, sizeof(struct mt_wire_chunk), CHUNKS_MAX) || !fits(&h->text, 1, TEXT_MAX_LEN)
		|| !fits(&h->ring_data, records * (uint32_t)sizeof(struct mt_wire_record), CHUNKS_MAX)
		|| h->ring_data.capacity < h->chunks.capacity)
		return "its tables do not lie where they can";
	return NULL;
}

/* What memory was laid out by stays as it was. */
static bool same_layout(const struct mt_wire_header *a, const struct mt_wire_header *b)
{
	size_t from = offsetof(struct mt_wire_header, clock), to = offsetof(struct mt_wire_header, id);

	return !memcmp((const uint8_t *)a + from, (const uint8_t *)b + from, to - from);
}

static int read_header(struct mt_import *i, struct mt_err *err)
{
	struct mt_wire_header now = {0}, *h = &now;
	ssize_t n = read_at(i->fd, h, sizeof *h, 0);
	struct stat status;
	const char *why;

	if (n < 0 || fstat(i->fd, &status) < 0)
		return mt_fail(err, n < 0 ? (int)n : -errno, "cannot read %s: %s", i->path, strerror(n < 0 ? (int)-n : errno));
	i->size = (uint64_t)status.st_size;
	i->disk = (uint64_t)status.st_blocks * 512; /* the tables' ranges are sparse */
	if (n < (ssize_t)sizeof *h || h->magic != MT_WIRE_MAGIC)
		return mt_fail(err, -EINVAL, "%s is not a recording of memtui, or its program ended before it began", i->path);
	if (h->version != MT_WIRE_VERSION || h->header_size != sizeof *h)
		return mt_fail(err, -EINVAL, "%s was written by another version of memtui; open it with that one", i->path);
	why = i->segment.base && !same_layout(h, &i->header) ? "it is no longer the file that it was" : senseless(h);
	if (why)
		return mt_fail(err, -EINVAL, "%s cannot be read: %s", i->path, why);
	i->header = now;
	return 0;
}

/* Entries of a range that lie within the file. */
static uint32_t in_file(const struct mt_import *i, uint64_t offset, uint32_t entry, uint32_t count, uint32_t capacity)
{
	uint64_t there = i->size > offset ? (i->size - offset) / entry : 0;

	if (count > capacity)
		count = capacity;
	return count < there ? count : (uint32_t)there;
}

/* ---- beginning ------------------------------------------------------------------------------------- */

static void place(struct mt_wire_range *range, uint64_t *at, uint64_t capacity, size_t entry)
{
	*range = (struct mt_wire_range){*at, (uint32_t)capacity, (uint32_t)entry};
	*at += (capacity * entry + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
}

static struct table new_table(const struct mt_import *i, const struct mt_wire_range *from,
	const struct mt_wire_range *to, uint32_t first, size_t sign, size_t sign_len)
{
	return (struct table){from->offset, from->entry, from->capacity, first, first, i->segment.base + to->offset,
		(uint32_t)sign, (uint32_t)sign_len};
}

/* A segment of our own, of which only what is filled takes memory. */
static int make_segment(struct mt_import *i, struct mt_err *err)
{
	const struct mt_wire_header *h = &i->header;
	struct mt_segment *s = &i->segment;
	uint64_t at = 2 * MT_WIRE_PAGE;

	s->ring_records = 2 * h->ring_records;
	s->depth_limit = h->depth_limit;
	place(&s->modules, &at, h->modules.capacity, h->modules.entry);
	place(&s->threads, &at, h->threads.capacity, h->threads.entry);
	place(&s->pcs, &at, h->pcs.capacity, h->pcs.entry);
	place(&s->nodes, &at, h->nodes.capacity, h->nodes.entry);
	place(&s->rings, &at, h->rings.capacity, h->rings.entry);
	place(&s->ring_data, &at, (uint64_t)h->rings.capacity * s->ring_records, sizeof(struct mt_wire_record));
	s->base = mmap(NULL, at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return mt_fail(err, -errno, "cannot reserve %llu MiB to read %s: %s", (unsigned long long)at >> 20, i->path,
			strerror(errno));
	}
	s->size = at;
	s->header = (struct mt_wire_header *)s->base;
	i->chunk_records = h->ring_records;
	i->modules = new_table(i, &h->modules, &s->modules, 0, offsetof(struct mt_wire_module, end), 8);
	i->threads = new_table(i, &h->threads, &s->threads, 0, offsetof(struct mt_wire_thread, tid), 4);
	i->pcs = new_table(i, &h->pcs, &s->pcs, MT_PC_FIRST, offsetof(struct mt_wire_pc, address), 8);
	i->nodes = new_table(i, &h->nodes, &s->nodes, 1, offsetof(struct mt_wire_node, pc), 4);
	i->feeds = mt_alloc(h->rings.capacity * sizeof *i->feeds);
	i->heads = mt_alloc(h->rings.capacity * sizeof *i->heads);
	i->bounds.heads = i->heads;
	return 0;
}

static const char *next_text(const struct mt_import *i, const char *at)
{
	const char *end = memchr(at, '\0', (size_t)(i->text + i->text_len - at));

	return end && end + 1 < i->text + i->text_len ? end + 1 : NULL;
}

/* Executable, directory, arguments. */
static void read_text(struct mt_import *i)
{
	struct mt_profile *p = i->model.profile;
	uint32_t len = in_file(i, i->header.text.offset, 1, i->header.text.capacity, i->header.text.capacity);
	const char *at;
	ssize_t n;

	i->text = mt_alloc(len + 1);
	n = read_at(i->fd, i->text, len, i->header.text.offset);
	i->text_len = n > 0 ? (uint32_t)n : 0;
	while (i->text_len > 1 && !i->text[i->text_len - 1] && !i->text[i->text_len - 2])
		i->text_len--; /* the rest of the range */
	if (!i->text_len)
		return;
	i->text[i->text_len] = '\0';
	i->merge.tables.program_path = i->text;
	at = next_text(i, i->text);
	i->merge.tables.directory = at && *at == '/' ? at : NULL;
	while (at && (at = next_text(i, at))) {
		MT_GROW(p->arguments, p->argument_count, p->argument_capacity);
		p->arguments[p->argument_count++] = mt_strings_add(&p->strings, at);
	}
}

struct mt_import *mt_import_open(const char *path, struct mt_profile *profile, struct mt_err *err)
{
	struct mt_import *i = mt_alloc(sizeof *i);

	i->path = mt_strdup(path);
	i->segment.fd = -1;
	i->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (i->fd < 0)
		mt_fail(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (i->fd < 0 || read_header(i, err) < 0 || make_segment(i, err) < 0) {
		mt_import_free(i);
		return NULL;
	}
	i->clock = (struct mt_timebase){.kind = i->header.clock, .scale = 1ull << 32};
	profile->info.start_unix_ns = i->header.start_unix_ns;
	profile->info.pid = i->header.pid;
	profile->info.origin = i->header.forked_from ? MT_ORIGIN_FORKED : MT_ORIGIN_UNKNOWN;
	profile->info.exit_status = -1;
	mt_model_init(&i->model, profile);
	mt_merge_init(&i->merge, &i->segment, &i->clock, &i->model);
	i->merge.bounds = &i->bounds;
	read_text(i);
	return i;
}

void mt_import_free(struct mt_import *i)
{
	if (!i)
		return;
	if (i->merge.segment) {
		mt_merge_free(&i->merge);
		mt_model_free_memory(&i->model);
	}
	mt_segment_free(&i->segment);
	if (i->fd >= 0)
		close(i->fd);
	free(i->next_chunk);
	free(i->feeds);
	free(i->heads);
	free(i->text);
	free(i->path);
	free(i);
}

struct mt_merge *mt_import_merge(struct mt_import *i)
{
	return &i->merge;
}

/* ---- the clock ------------------------------------------------------------------------------------- */

static uint64_t ratio(uint64_t ns, uint64_t units)
{
	long double scale = (long double)ns / (long double)units * 4294967296.0L;

	return scale > 4e6L && scale < 4e12L ? (uint64_t)scale : 0; /* 1 MHz to 1 THz */
}

static uint64_t own_scale(struct mt_import *i)
{
	struct mt_timebase own;

	if (!i->own_scale) {
		mt_clock_start(&own);
		i->own_scale = own.kind == MT_CLOCK_TSC ? own.scale : 1ull << 32;
	}
	return i->own_scale;
}

static const struct mt_wire_anchor *last_anchor(const struct mt_wire_header *h)
{
	uint32_t n = h->anchor_count;

	return n > 1 ? &h->anchors[1 + (n - 1) % 2] : &h->anchors[0];
}

/* By the two anchors; where they lie too close together, by this machine's own rate. */
static void set_clock(struct mt_import *i)
{
	const struct mt_wire_anchor *first = &i->header.anchors[0], *last = last_anchor(&i->header);
	uint64_t ns = last->monotonic_ns - first->monotonic_ns, ticks = last->ticks - first->ticks, scale = 0;

	i->clock.start = i->clock.anchor = first->ticks;
	i->clock.start_monotonic_ns = first->monotonic_ns;
	if (i->clock.kind != MT_CLOCK_TSC)
		return;
	if (last->monotonic_ns > first->monotonic_ns && last->ticks > first->ticks)
		scale = ratio(ns, ticks);
	i->clock.scale = scale && ns >= SPAN_LEAST ? scale : own_scale(i);
}

/* ---- tables ---------------------------------------------------------------------------------------- */

static bool is_complete(const struct table *t, uint32_t id)
{
	static const uint8_t none[8];

	return memcmp(t->to + (uint64_t)id * t->entry + t->sign, none, t->sign_len) != 0;
}

/* Copies what is new. An entry that is not complete yet is read again next time. Returns how many there are. */
static uint32_t read_table(struct mt_import *i, struct table *t, uint32_t published)
{
	uint32_t count = in_file(i, t->offset, t->entry, published, t->capacity);

	if (count < published)
		i->cut_short = true;
	if (count > t->complete) {
		ssize_t n = read_at(i->fd, t->to + (uint64_t)t->complete * t->entry, (size_t)(count - t->complete) * t->entry,
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
	struct feed *f = chunk->ring < i->feed_count ? &i->feeds[chunk->ring] : NULL;

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

		if (read_at(i->fd, &chunk, sizeof chunk, i->header.chunks.offset + (uint64_t)id * sizeof chunk)
			== sizeof chunk && chunk.number)
			enter_chunk(i, id, &chunk);
		else
			i->pending[left++] = id;
	}
	i->pending_count = left;
}

static void read_chunks(struct mt_import *i)
{
	struct mt_wire_chunk chunks[512];
	uint32_t count = in_file(i, i->header.chunks.offset, sizeof *chunks, i->header.chunk_count,
		i->header.chunks.capacity);

	if (count < i->header.chunk_count)
		i->cut_short = true;
	look_at_pending(i);
	if (count > i->next_capacity) {
		i->next_chunk = mt_resize(i->next_chunk, 2ull * count * sizeof *i->next_chunk);
		memset(i->next_chunk + i->next_capacity, 0, (2ull * count - i->next_capacity) * sizeof *i->next_chunk);
		i->next_capacity = 2 * count;
	}
	while (i->chunks_seen < count) {
		uint32_t n = count - i->chunks_seen < 512 ? count - i->chunks_seen : 512;
		ssize_t len = read_at(i->fd, chunks, n * sizeof *chunks,
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

/* ---- rings ----------------------------------------------------------------------------------------- */

static struct mt_wire_ring *own_ring(struct mt_import *i, uint32_t ring)
{
	return (struct mt_wire_ring *)mt_segment_entry(&i->segment, rings, ring);
}

/* Heads as they are now; what goes back is damage. */
static void read_heads(struct mt_import *i, bool second)
{
	struct mt_wire_ring rings[64];

	for (uint32_t at = 0; at < i->feed_count;) {
		uint32_t n = i->feed_count - at < 64 ? i->feed_count - at : 64;

		if (read_at(i->fd, rings, n * sizeof *rings, i->header.rings.offset + (uint64_t)at * sizeof *rings)
			< (ssize_t)(n * sizeof *rings)) {
			i->cut_short = true;
			return;
		}
		for (uint32_t k = 0; k < n; k++, at++) {
			struct feed *f = &i->feeds[at];

			if (rings[k].head < f->loaded || rings[k].head >> 48)
				i->model.profile->info.invalid_records++;
			else if (second)
				f->second_head = rings[k].head;
			else
				f->first_head = f->second_head = rings[k].head;
		}
	}
}

static uint64_t available(const struct mt_import *i, const struct feed *f)
{
	uint64_t there = (uint64_t)f->chunks * i->chunk_records;

	return f->second_head < there ? f->second_head : there;
}

/* Copies the next piece, up to the end of its chunk, if the ring has room for a whole one. */
static bool load(struct mt_import *i, uint32_t ring)
{
	struct feed *f = &i->feeds[ring];
	uint64_t limit = available(i, f), slot = f->loaded & (i->chunk_records - 1), begin = f->loaded - slot, len;
	struct mt_wire_record *to = (struct mt_wire_record *)mt_segment_entry(&i->segment, ring_data,
		(uint64_t)ring * i->segment.ring_records + (f->loaded & (i->segment.ring_records - 1)));
	ssize_t n;

	if (f->loaded >= limit || !f->chunk || begin - own_ring(i, ring)->tail + i->chunk_records > i->segment.ring_records)
		return false;
	len = limit - f->loaded;
	if (len > i->chunk_records - slot)
		len = i->chunk_records - slot;
	n = read_at(i->fd, to, len * sizeof *to,
		i->header.ring_data.offset + ((uint64_t)(f->chunk - 1) * i->chunk_records + slot) * sizeof *to);
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
	struct feed *f = &i->feeds[ring];
	struct mt_ring view;
	struct mt_decoded d;

	mt_ring_init(&view, &i->segment, ring);
	while (mt_ring_decode(&view, &f->scanned, f->loaded, &f->time, &d))
		;
}

/* Loads what there is room for, and sets up to what stamp the merge may go: a ring that has more can still have
 * events right after its last loaded one, and by the window a little before it. Returns whether any has more. */
static bool fill(struct mt_import *i, bool *loaded)
{
	bool more = false;

	i->bounds.horizon = UINT64_MAX;
	*loaded = false;
	for (uint32_t ring = 0; ring < i->feed_count; ring++) {
		struct feed *f = &i->feeds[ring];
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

static int consume(struct mt_import *i, int (*progress)(void *, double), void *context, struct mt_err *err)
{
	bool more = true, loaded;

	for (unsigned round = 0; more; round++) {
		uint64_t records;

		more = fill(i, &loaded);
		records = mt_merge_poll(&i->merge);
		if (!records && !loaded && more) { /* stamps that stand still: there is no order to keep */
			i->bounds.horizon = UINT64_MAX;
			if (!mt_merge_poll(&i->merge))
				break;
		}
		if (progress && round % 64 == 63 && progress(context, fraction(i)))
			return mt_fail(err, -ECANCELED, "reading %s was cancelled", i->path);
	}
	return 0;
}

/* ---- bringing up to date --------------------------------------------------------------------------- */

static uint64_t unix_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* When the process started, in ticks since the system did; 0: it is none, or a zombie. */
static uint64_t start_ticks(uint32_t pid)
{
	char path[64], text[1024], state = 0, *at;
	unsigned long long ticks = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
		&ticks) != 2 || state == 'Z' || state == 'X')
		return 0;
	return ticks + 1;
}

/* A process of this number that is older than the file is the one that made it. */
static bool still_lives(const struct mt_wire_header *h)
{
	uint64_t started = start_ticks(h->pid), now = unix_now();
	struct timespec up;

	if (!h->pid || !started || now < h->start_unix_ns)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &up);
	uint64_t since_boot = (uint64_t)up.tv_sec * SECOND + (uint64_t)up.tv_nsec, age = now - h->start_unix_ns;
	uint64_t made = since_boot > age ? since_boot - age : 0;

	return (started - 1) * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK)) <= made + SECOND / 10;
}

static void pass_on_header(struct mt_import *i)
{
	struct mt_wire_header *own = i->segment.header;
	const struct mt_wire_header *h = &i->header;

	own->module_count = read_table(i, &i->modules, h->module_count);
	own->thread_count = read_table(i, &i->threads, h->thread_count);
	own->pc_count = read_table(i, &i->pcs, h->pc_count);
	own->node_count = read_table(i, &i->nodes, h->node_count);
	own->usable_rule = h->usable_rule;
	own->allocator = h->allocator;
	own->own_allocator = h->own_allocator;
	own->flags = h->flags;
	memcpy(own->counters, h->counters, sizeof own->counters);
	own->recording = h->recording;
}

/* Heads twice, then what their records name: nothing that is consumed lacks a predecessor or a name. */
static int read_state(struct mt_import *i, struct mt_err *err)
{
	uint32_t alive = 1, rings;
	int error = read_header(i, err);

	if (error)
		return error;
	i->cut_short = false;
	rings = in_file(i, i->header.rings.offset, sizeof(struct mt_wire_ring), i->header.ring_count,
		i->header.rings.capacity);
	if (rings > i->feed_count)
		i->feed_count = rings;
	i->lives = still_lives(&i->header); /* before the heads: what it published before its end is then seen */
	read_heads(i, false);
	read_heads(i, true);
	read_at(i->fd, &alive, sizeof alive, MT_WIRE_ALIVE_OFFSET);
	i->stopped = alive == 0;
	error = read_header(i, err);
	if (error)
		return error;
	set_clock(i);
	read_chunks(i);
	pass_on_header(i);
	i->segment.header->ring_count = i->feed_count;
	return 0;
}

static void set_end(struct mt_import *i)
{
	struct mt_info *info = &i->model.profile->info;
	const struct mt_wire_anchor *last = last_anchor(&i->header);
	uint64_t wall = i->merge.now_ns, now = unix_now();

	if (last->monotonic_ns > i->header.anchors[0].monotonic_ns
		&& last->monotonic_ns - i->header.anchors[0].monotonic_ns > wall)
		wall = last->monotonic_ns - i->header.anchors[0].monotonic_ns;
	if (i->lives && !i->stopped && now > i->header.start_unix_ns && now - i->header.start_unix_ns > wall)
		wall = now - i->header.start_unix_ns;
	mt_model_advance(&i->model, wall - wall % 1000, 0);
	mt_merge_counters(&i->merge, 0);
	mt_merge_slack(&i->merge, !i->lives);
	mt_merge_allocators(&i->merge);
	info->ended = !i->lives;
	info->recorder_lost = i->stopped || i->cut_short;
	info->file_bytes = i->size < i->disk ? i->size : i->disk;
	mt_model_settle(&i->model);
}

int mt_import_update(struct mt_import *i, int (*progress)(void *, double), void *context, struct mt_err *err)
{
	bool lived = i->lives, first = !i->clock.start;
	int error = read_state(i, err);

	if (!error)
		error = consume(i, progress, context, err);
	if (error)
		return error;
	set_end(i);
	if (i->model.profile->info.events == i->events && i->lives == lived && !first)
		return 0;
	i->events = i->model.profile->info.events;
	return 1;
}

bool mt_import_lives(const struct mt_import *i)
{
	return i->lives;
}

const char *mt_import_fault(const struct mt_import *i, bool *damaged)
{
	const struct mt_info *info = &i->model.profile->info;

	*damaged = i->cut_short || info->invalid_records;
	if (i->cut_short)
		return "it is shorter than what was written to it; what is left was read";
	if (info->invalid_records)
		return "parts of it make no sense and were left out";
	if (i->stopped)
		return "its recording ended before the program did, since the file could not grow (disk full, a limit, or "
			"out of reach)";
	return NULL;
}
