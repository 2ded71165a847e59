#include "core/base/proc.h"
#include "core/capture/import_parts.h"

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
#define INITIAL_SPACE 0xEFFFFFFCu /* inode of the system's own name space of processes */
/* between two anchors that tell the clock's rate by themselves */
#define SPAN_LEAST (SECOND / 10000)

/* ---- beginning ------------------------------------------------------------------------------- */

static void place(struct mt_wire_range *range, uint64_t *at, uint64_t capacity, size_t entry)
{
	*range = (struct mt_wire_range){*at, (uint32_t)capacity, (uint32_t)entry};
	*at += (capacity * entry + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
}

static struct mt_import_table new_table(const struct mt_import *i, const struct mt_wire_range *from,
	const struct mt_wire_range *to, uint32_t first, size_t sign, size_t sign_len)
{
	return (struct mt_import_table){from->offset, from->entry, from->capacity, first, first,
		i->segment.base + to->offset, (uint32_t)sign, (uint32_t)sign_len};
}

/* A segment of our own, of which only what is filled takes memory. */
static int make_segment(struct mt_import *i, struct mt_err *err)
{
	const struct mt_wire_header *h = &i->header;
	struct mt_segment *s = &i->segment;
	uint64_t at = 2 * MT_WIRE_PAGE;

	s->sizes = (struct mt_wire_sizes){
		.records = 2 * h->sizes.records,
		.full = h->rings.capacity,
		.half = h->rings.capacity,
	};
	s->depth_limit = h->depth_limit;
	place(&s->modules, &at, h->modules.capacity, h->modules.entry);
	place(&s->threads, &at, h->threads.capacity, h->threads.entry);
	place(&s->pcs, &at, h->pcs.capacity, h->pcs.entry);
	place(&s->nodes, &at, h->nodes.capacity, h->nodes.entry);
	place(&s->rings, &at, h->rings.capacity, h->rings.entry);
	place(&s->ring_data, &at, (uint64_t)h->rings.capacity * s->sizes.records,
		sizeof(struct mt_wire_record));
	s->base = mmap(NULL, at, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return mt_fail(err, -errno, "cannot reserve %llu MiB to read %s: %s",
			(unsigned long long)at >> 20, i->path, strerror(errno));
	}
	s->size = at;
	s->header = (struct mt_wire_header *)s->base;
	i->chunk_records = h->sizes.records;
	i->modules =
		new_table(i, &h->modules, &s->modules, 0, offsetof(struct mt_wire_module, end), 8);
	i->threads =
		new_table(i, &h->threads, &s->threads, 0, offsetof(struct mt_wire_thread, tid), 4);
	i->pcs = new_table(i, &h->pcs, &s->pcs, MT_PC_FIRST, offsetof(struct mt_wire_pc, address),
		8);
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
	uint32_t len = mt_import_in_file(i, i->header.text.offset, 1, i->header.text.capacity,
		i->header.text.capacity);
	const char *at;
	ssize_t n;

	i->text = mt_alloc(len + 1);
	n = mt_import_read_at(i->fd, i->text, len, i->header.text.offset);
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
	if (i->fd < 0 || mt_import_read_header(i, err) < 0 || make_segment(i, err) < 0) {
		mt_import_free(i);
		return NULL;
	}
	i->clock = (struct mt_timebase){.kind = i->header.clock, .scale = 1ull << 32};
	profile->info.start_unix_ns = i->header.start_unix_ns;
	profile->info.pid = i->header.pid;
	profile->info.images_before = i->header.images_before;
	profile->info.origin = i->header.forked_from ? MT_ORIGIN_FORKED
		: i->header.images_before            ? MT_ORIGIN_EXECUTED
						     : MT_ORIGIN_UNKNOWN;
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

/* ---- the clock ------------------------------------------------------------------------------- */

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

/* By the two anchors. Where they lie too close together, this machine's own rate is the best guess,
 * and the recording says for good that its times are estimates: what was read keeps them. */
static void set_clock(struct mt_import *i)
{
	const struct mt_wire_anchor *first = &i->header.anchors[0], *last = last_anchor(&i->header);
	uint64_t ns = last->monotonic_ns - first->monotonic_ns, ticks = last->ticks - first->ticks;
	uint64_t scale = 0;

	i->clock.start = i->clock.anchor = first->ticks;
	i->clock.start_monotonic_ns = first->monotonic_ns;
	if (i->clock.kind != MT_CLOCK_TSC)
		return;
	if (last->monotonic_ns > first->monotonic_ns && last->ticks > first->ticks)
		scale = ratio(ns, ticks);
	i->guesses_rate = !scale || ns < SPAN_LEAST;
	i->clock.scale = i->guesses_rate ? own_scale(i) : scale;
}

/* ---- bringing up to date --------------------------------------------------------------------- */

static uint64_t unix_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* A process of this number that is older than the file is the one that made it. */
static bool is_older(const struct mt_wire_header *h, uint64_t started)
{
	uint64_t now = unix_now();
	struct timespec up;

	if (now < h->start_unix_ns)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &up);
	uint64_t since_boot = (uint64_t)up.tv_sec * SECOND + (uint64_t)up.tv_nsec;
	uint64_t age = now - h->start_unix_ns;
	uint64_t made = since_boot > age ? since_boot - age : 0;

	return started * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK)) <= made + SECOND / 10;
}

/* Who made it, as we number it; 0: nobody who lives. In another name space the number is another
 * process's, and where that space is not below ours nobody knows whose. */
static pid_t maker(const struct mt_wire_header *h, bool *known)
{
	struct stat own;
	pid_t pid;

	*known = h->pid_space && stat("/proc/self/ns/pid", &own) == 0;
	if (!*known || own.st_ino == h->pid_space)
		return (pid_t)h->pid;
	pid = mt_import_maker_below(h);
	*known = pid || own.st_ino == INITIAL_SPACE; /* all others are below that one */
	return *known ? pid : (pid_t)h->pid;
}

/* Once it has executed something else it maps the file no more. That is looked for once a second,
 * since there may be many mappings, and is for good. */
static bool still_lives(struct mt_import *i)
{
	uint64_t now = mt_clock_monotonic_ns();
	bool look = now >= i->maps_at, known = false;
	struct mt_proc_stat s;

	if (i->left || !i->header.pid)
		return false;
	if (look) {
		i->maps_at = now + SECOND;
		i->maker = maker(&i->header, &known);
	}
	if (!i->maker || !mt_proc_stat(i->maker, &s) || mt_proc_has_ended(&s)
		|| !is_older(&i->header, s.start_time))
		return false;
	i->left = known && !mt_import_is_mapped(i, i->maker);
	return !i->left;
}

static void pass_on_header(struct mt_import *i)
{
	struct mt_wire_header *own = i->segment.header;
	const struct mt_wire_header *h = &i->header;

	own->module_count = mt_import_read_table(i, &i->modules, h->module_count);
	own->thread_count = mt_import_read_table(i, &i->threads, h->thread_count);
	own->pc_count = mt_import_read_table(i, &i->pcs, h->pc_count);
	own->node_count = mt_import_read_table(i, &i->nodes, h->node_count);
	own->usable_rule = h->usable_rule;
	own->machine = h->machine;
	own->allocator = h->allocator;
	own->own_allocator = h->own_allocator;
	own->flags = h->flags;
	memcpy(own->counters, h->counters, sizeof own->counters);
	mt_import_read_at(i->fd, i->segment.base + MT_WIRE_BLIND_OFFSET,
		MT_WIRE_BLIND_PLACES * sizeof(struct mt_wire_blind), MT_WIRE_BLIND_OFFSET);
	own->recording = h->recording;
	own->begin = h->begin;
}

/* Heads twice, then what their records name: nothing that is consumed lacks a predecessor or a
 * name. */
static int read_state(struct mt_import *i, struct mt_err *err)
{
	uint32_t alive = 1, rings;
	int error = mt_import_read_header(i, err);

	if (error)
		return error;
	i->cut_short = false;
	rings = mt_import_in_file(i, i->header.rings.offset, sizeof(struct mt_wire_ring),
		i->header.ring_count, i->header.rings.capacity);
	if (rings > i->feed_count)
		i->feed_count = rings;
	/* before the heads: what it published before its end is then seen */
	i->lives = still_lives(i);
	mt_import_read_heads(i, false);
	mt_import_read_heads(i, true);
	mt_import_read_at(i->fd, &alive, sizeof alive, MT_WIRE_ALIVE_OFFSET);
	i->stopped = alive == 0;
	if (i->stopped)
		mt_import_read_at(i->fd, &i->reason, sizeof i->reason, MT_WIRE_REASON_OFFSET);
	error = mt_import_read_header(i, err);
	if (error)
		return error;
	set_clock(i);
	mt_import_read_chunks(i);
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
	if (i->lives && !i->stopped && now > i->header.start_unix_ns
		&& now - i->header.start_unix_ns > wall)
		wall = now - i->header.start_unix_ns;
	if (i->guesses_rate && info->events)
		i->unknown_rate = 1;
	i->segment.header->counters[MT_COUNTER_UNKNOWN_RATE] = i->unknown_rate;
	mt_model_advance(&i->model, wall - wall % 1000, 0);
	mt_merge_counters(&i->merge);
	mt_merge_machine(&i->merge);
	mt_merge_slack(&i->merge, !i->lives);
	mt_merge_allocators(&i->merge);
	info->ended = !i->lives;
	info->recorder_lost = i->stopped || i->cut_short;
	info->file_bytes = i->size < i->disk ? i->size : i->disk;
	mt_model_settle(&i->model);
}

int mt_import_update(struct mt_import *i, int (*progress)(void *, double), void *context,
	struct mt_err *err)
{
	bool lived = i->lives, first = !i->clock.start;
	int error = read_state(i, err);

	if (!error)
		error = mt_import_consume(i, progress, context, err);
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

#define ENDED_FOR(why) "the recording ended before the program: " why "; later events are missing"

static const char *reason_words(uint32_t reason)
{
	switch (reason) {
	case EACCES:
		return ENDED_FOR("the program lost the right to open the file, perhaps by "
				 "changing its user");
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ESTALE:
		return ENDED_FOR("the file was moved or deleted, or the program changed its root "
				 "directory");
	case EPERM: return ENDED_FOR("the program's system-call filter forbids extending the file");
	case ENOSPC:
	case EDQUOT: return ENDED_FOR("the disk or the user's quota was full");
	case EFBIG: return ENDED_FOR("the file reached the limit of file sizes (ulimit -f)");
	case EOVERFLOW:
		return ENDED_FOR("the tables of the file were full; higher limits (ulimit -f, "
				 "ulimit -v) give it larger tables");
	case EIO: return ENDED_FOR("the file system could not write");
	default: return ENDED_FOR("the file could not grow (disk full, a limit, or out of reach)");
	}
}

const char *mt_import_fault(const struct mt_import *i, bool *damaged)
{
	const struct mt_info *info = &i->model.profile->info;

	*damaged = i->cut_short || info->invalid_records;
	if (i->cut_short)
		return "it was truncated; memtui read the rest";
	if (info->invalid_records)
		return "parts of it are damaged and were ignored";
	if (i->stopped)
		return reason_words(i->reason);
	return NULL;
}
