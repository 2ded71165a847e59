#include "core/session/memory.h"
#include "core/base/buffer.h"
#include "core/base/glibc_heap.h"
#include "core/base/proc.h"
#include "core/rendezvous.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define RSS_EVERY (SECOND / 10)
#define SMAPS_MOST 2000000u        /* ns that a look at every page table may take */
#define SMAPS_FIRST (256ull << 20) /* RSS up to which that is to be expected */
#define COST_SHARE 1000            /* a look that takes t comes again after 1000 t */
#define COST_SHARE_YOUNG 20        /* within the first second, in which there are some ten looks */
#define YOUNGEST 1000000u          /* ns */
#define MAPS_MOST (4u << 20)       /* bytes of /proc/PID/maps */
#define HEAPS_MOST 4096u           /* headers looked at */
#define PAGES_MOST (1u << 18)      /* of arenas, of which it is asked whether they are resident */
#define PAGE_PRESENT (1ull << 63)
#define PAGE_FILE (1ull << 61)
#define PAGE_ALONE (1ull << 56) /* no other process maps it */
#define LIBRARY_NAME "/libmemtui.so"
/* bytes of the library that are resident in a program that does little: so much there is before the
 * first look, or the next one */
#define LIBRARY_LEAST (256u << 10)
#define LIBRARY_LEAST_FILE (212u << 10)
/* Bytes of libc that only the tracer touches: unwind tables, and what looks up functions. Which of
 * its pages these are nobody can tell; 120 to 236 KB were measured, since the kernel maps 64 KB at
 * a time. */
#define LIBC_FILE (160u << 10)

static uint64_t now_of(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* A whole file of /proc, NUL-terminated, or what of it fits; NULL: not there. Caller frees. */
static char *read_proc(pid_t pid, const char *name, size_t most)
{
	struct mt_buffer text = {0};
	char path[64];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	while (text.len < most) {
		mt_buffer_reserve(&text, 65536);
		n = read(fd, text.data + text.len, 65536);
		if (n <= 0)
			break;
		text.len += (size_t)n;
	}
	close(fd);
	mt_buffer_add(&text, "", 1);
	if (text.len > 1)
		return (char *)text.data;
	mt_buffer_free(&text);
	return NULL;
}

/* "Name:   123 kB" at the beginning of a line. */
static uint64_t kilobytes(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, len) && at[len] == ':')
			return strtoull(at + len + 1, NULL, 10) * 1024;
	}
	return 0;
}

static uint64_t without(uint64_t all, uint64_t own)
{
	return all > own ? all - own : 0;
}

/* ---- glibc's arenas -------------------------------------------------------------------------- */

struct maps_line {
	uint64_t start, end;
	bool writable, anonymous;
	const char *path; /* up to the end of the line */
	size_t path_len;
};

static const char *parse_line(const char *at, struct maps_line *line)
{
	const char *end = strchrnul(at, '\n');
	unsigned long long start = 0, stop = 0, inode = 0;
	char rights[8] = "";
	int path = 0;

	*line = (struct maps_line){.path = end};
	if (sscanf(at, "%llx-%llx %7s %*x %*s %llu%n", &start, &stop, rights, &inode, &path) < 4)
		return *end ? end + 1 : end;
	line->start = start;
	line->end = stop;
	line->writable = rights[1] == 'w';
	line->anonymous = !inode;
	for (line->path = at + path; line->path < end && *line->path == ' ';)
		line->path++;
	line->path_len = (size_t)(end - line->path);
	return *end ? end + 1 : end;
}

struct look {
	int pagemap;
	uint32_t heaps, pages;
};

/* Bytes of pages in a range. */
struct resident {
	uint64_t all, file, alone;
};

/* Adds what is resident of a range; more than PAGES_MOST in all is not looked at, and not known. */
static void add_resident(struct resident *r, struct look *look, uint64_t start, uint64_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entries[512];

	for (uint64_t at = start / page, end = (start + size) / page;
		at < end && look->pages <= PAGES_MOST;) {
		size_t wanted = (end - at < 512 ? end - at : 512) * sizeof *entries;
		ssize_t got = pread(look->pagemap, entries, wanted, (off_t)(at * sizeof *entries));

		if (got < (ssize_t)sizeof *entries) {
			look->pages = PAGES_MOST + 1; /* not allowed, or the process is gone */
			break;
		}
		for (size_t i = 0; i < (size_t)got / sizeof *entries; i++) {
			if (!(entries[i] & PAGE_PRESENT))
				continue;
			r->all += page;
			r->file += entries[i] & PAGE_FILE ? page : 0;
			r->alone += entries[i] & PAGE_ALONE ? page : 0;
		}
		at += (size_t)got / sizeof *entries;
		look->pages += (uint32_t)((size_t)got / sizeof *entries);
	}
}

static void look_for_heaps(struct mt_memory_sampler *s, const struct maps_line *line,
	struct look *look, struct resident *arenas)
{
	uint64_t align = MT_GLIBC_HEAP_ALIGN, at = (line->start + align - 1) & ~(align - 1);
	struct mt_glibc_heap heap;

	for (; at < line->end && look->heaps < HEAPS_MOST; at += align, look->heaps++) {
		if (!mt_glibc_heap_read(s->pid, at, line->end, &heap))
			continue;
		s->memory.arena_bytes += heap.size;
		add_resident(arenas, look, at, heap.size);
		s->arenas += !heap.previous;
	}
}

static bool line_ends_with(const struct maps_line *line, const char *name)
{
	size_t len = strlen(name);

	return line->path_len >= len && !memcmp(line->path + line->path_len - len, name, len);
}

static bool line_begins_with(const struct maps_line *line, const char *name)
{
	return line->path_len >= strlen(name) && !memcmp(line->path, name, strlen(name));
}

/* The tracer's library with its data, whose part without a file has no name. */
static bool is_library(const struct maps_line *line, struct mt_memory_sampler *s)
{
	bool named = line_ends_with(line, LIBRARY_NAME);

	if (!named && (line->path_len || line->start != s->library_end))
		return false;
	if (named && line->start != s->library_end)
		s->library_start = line->start;
	s->library_end = line->end;
	return true;
}

static void look_at_line(struct mt_memory_sampler *s, const struct maps_line *line,
	struct look *look, struct resident *arenas)
{
	if (line_begins_with(line, MT_WIRE_SEGMENT_PATH)) {
		s->own_virtual += line->end - line->start;
	} else if (is_library(line, s)) {
		return;
	} else if (line->writable && line->anonymous && line_ends_with(line, "[heap]")) {
		s->memory.arena_bytes += line->end - line->start;
		add_resident(arenas, look, line->start, line->end - line->start);
		s->arenas++;
	} else if (line->writable && line->anonymous && !line->path_len) {
		look_for_heaps(s, line, look, arenas);
	}
}

static int open_pagemap(pid_t pid)
{
	char name[64];

	snprintf(name, sizeof name, "/proc/%d/pagemap", (int)pid);
	return open(name, O_RDONLY | O_CLOEXEC);
}

/* What is resident of the library: its tables fill as the program goes on. */
static void sample_library(struct mt_memory_sampler *s)
{
	struct look look = {.pagemap = s->library_end ? open_pagemap(s->pid) : -1};
	struct resident library = {0};

	if (look.pagemap < 0)
		return;
	add_resident(&library, &look, s->library_start, s->library_end - s->library_start);
	close(look.pagemap);
	if (!library.all)
		return;
	s->library_bytes = library.all > LIBRARY_LEAST ? library.all : LIBRARY_LEAST;
	s->library_file = library.file > LIBRARY_LEAST_FILE ? library.file : LIBRARY_LEAST_FILE;
	s->library_alone = library.alone;
}

/* Reads the map of the process: what its arenas take, and the tracer. */
static void sample_maps(struct mt_memory_sampler *s)
{
	char *maps = read_proc(s->pid, "maps", MAPS_MOST);
	struct resident arenas = {0};
	struct look look = {0};
	struct maps_line line;

	if (!maps)
		return;
	look.pagemap = open_pagemap(s->pid);
	s->maps_seen = true;
	s->library_start = s->library_end = 0;
	s->memory.arena_bytes = s->arenas = 0;
	s->own_virtual = 0;
	for (const char *at = maps; *at;) {
		at = parse_line(at, &line);
		look_at_line(s, &line, &look, &arenas);
	}
	s->arena_resident_bytes = look.pages > PAGES_MOST ? 0 : arenas.all;
	if (look.pagemap >= 0)
		close(look.pagemap);
	free(maps);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Takes off what is memtui's own. */
static void settle(struct mt_memory_sampler *s)
{
	s->memory.rss_bytes =
		without(s->read.rss, s->own_shared + s->own_private + s->library_bytes + LIBC_FILE);
	s->all_virtual = without(s->read.size, s->own_private);
	s->shared_bytes = without(s->read.shared, s->own_shared + s->library_file + LIBC_FILE);
}

static bool sample_rss(struct mt_memory_sampler *s)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char *text = read_proc(s->pid, "statm", 256);
	unsigned long long size, resident = 0, shared;
	bool known =
		text && sscanf(text, "%llu %llu %llu", &size, &resident, &shared) == 3 && resident;

	if (known) {
		s->read.rss = resident * page;
		s->read.size = size * page;
		s->read.shared = shared * page;
		settle(s);
	}
	free(text);
	return known;
}

/* Walks all page tables of the process, so not when that takes long. */
static bool sample_smaps(struct mt_memory_sampler *s, uint64_t now)
{
	/* the recorder has the segment mapped as well; other processes may have the library */
	uint64_t own = s->own_shared / 2 + s->own_private + s->library_alone;
	uint64_t before = now_of(), cost;
	char *text;

	if (now < s->smaps_at || (!s->smaps_at && s->memory.rss_bytes > SMAPS_FIRST))
		return false;
	text = read_proc(s->pid, "smaps_rollup", 65536);
	if (!text)
		return false;
	cost = now_of() - before;
	s->memory.pss_bytes = without(kilobytes(text, "Pss"), own);
	s->memory.swap_bytes = kilobytes(text, "Swap");
	s->smaps_at = now + (cost < SMAPS_MOST ? 1 : cost * COST_SHARE);
	free(text);
	return true;
}

static void sample_swap(struct mt_memory_sampler *s)
{
	char *text = read_proc(s->pid, "status", 65536);

	s->memory.pss_bytes = 0; /* an old one would be taken for the present one */
	if (text)
		s->memory.swap_bytes = kilobytes(text, "VmSwap");
	free(text);
}

void mt_memory_meet(struct mt_memory_sampler *s, pid_t pid, uint64_t now)
{
	s->first_at = now;
	s->pid = pid;
	s->library_bytes = LIBRARY_LEAST;
	s->library_file = LIBRARY_LEAST_FILE;
	sample_rss(s);
	s->vss_bytes = s->all_virtual;
}

/* What is usually looked at so often: what lives shortly shall have been seen when it was at least
 * half as old. */
static uint64_t after(const struct mt_memory_sampler *s, uint64_t now, uint64_t usually)
{
	uint64_t age = now - s->first_at > YOUNGEST ? now - s->first_at : YOUNGEST;

	return now + (age < usually ? age : usually);
}

/* Between two looks at the maps the segment is taken to be mapped as it was. */
static void set_virtual(struct mt_memory_sampler *s)
{
	if ((s->maps_seen || s->own_virtual) && s->all_virtual > s->own_virtual)
		s->vss_bytes = s->all_virtual - s->own_virtual;
}

bool mt_memory_sample(struct mt_memory_sampler *s, pid_t pid, uint64_t now)
{
	s->rss_at = after(s, now, RSS_EVERY);
	s->pid = pid;
	if (sample_rss(s))
		return true;
	s->pid = mt_proc_thread(pid);
	return s->pid != pid && sample_rss(s);
}

void mt_memory_own(struct mt_memory_sampler *s, uint64_t shared_bytes, uint64_t private_bytes)
{
	s->own_shared = shared_bytes;
	s->own_private = private_bytes;
	settle(s);
	set_virtual(s);
}

bool mt_memory_is_due(struct mt_memory_sampler *s, uint64_t now)
{
	if (now < s->rest_at)
		return false;
	s->rest_at = after(s, now, SECOND);
	return true;
}

void mt_memory_look(struct mt_memory_sampler *s)
{
	uint64_t before = now_of();

	s->maps_seen = false;
	if (!sample_rss(s))
		return;
	sample_library(s);
	if (!sample_smaps(s, before))
		sample_swap(s);
	if (before < s->maps_at)
		return;
	before = now_of();
	sample_maps(s);
	s->maps_at = before
		+ (now_of() - before)
			* (before - s->first_at < SECOND ? COST_SHARE_YOUNG : COST_SHARE);
	sample_library(s);
	/* the maps are seen last: the process may have mapped the segment, or have ended, since */
	set_virtual(s);
}

void mt_memory_take(struct mt_memory_sampler *s, const struct mt_memory_sampler *seen)
{
	s->memory.pss_bytes = seen->memory.pss_bytes;
	s->memory.swap_bytes = seen->memory.swap_bytes;
	s->smaps_at = seen->smaps_at;
	s->maps_at = seen->maps_at;
	s->library_bytes = seen->library_bytes;
	s->library_file = seen->library_file;
	s->library_alone = seen->library_alone;
	if (!seen->maps_seen)
		return;
	s->memory.arena_bytes = seen->memory.arena_bytes;
	s->arenas = seen->arenas;
	s->arena_resident_bytes = seen->arena_resident_bytes;
	s->own_virtual = seen->own_virtual;
	s->library_start = seen->library_start;
	s->library_end = seen->library_end;
	s->vss_bytes = seen->vss_bytes;
}

char *mt_memory_module(pid_t pid, uint64_t address)
{
	char *maps = read_proc(mt_proc_thread(pid), "maps", MAPS_MOST), *path = NULL;
	struct maps_line line;

	for (const char *at = maps; at && *at && !path;) {
		at = parse_line(at, &line);
		if (address >= line.start && address < line.end && line.path_len
			&& *line.path == '/')
			path = mt_format("%.*s", (int)line.path_len, line.path);
	}
	free(maps);
	return path;
}
