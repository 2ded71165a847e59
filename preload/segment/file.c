/* Recording without a recorder: the segment is a file of the tracer's own. Tables lie at fixed
 * places of the sparse file and are mapped once; a ring's data are chunks behind them, of which the
 * present one is mapped, always at the same address. The file is opened by its name for each
 * extension and must still be that file; only a program of root's, which may lose the right to,
 * holds a descriptor. Nothing is touched before the file system has given room for it, so that a
 * full disk or RLIMIT_FSIZE is an error here and no signal there; any error ends the recording. */
#include "preload/segment/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/sys.h"
#include "preload/segment/file_parts.h"
#include "preload/segment/ring.h"
#include "preload/segment/segment.h"

#define NODES (8u << 20)
#define PCS (1u << 20)
#define MODULES 4096u
#define THREADS (1u << 20)
#define THREADS_IF_LIMITED 65536u
#define RINGS 4096u
#define CHUNKS (4u << 20)
#define TEXT (64u << 10)

struct mt_file mt_file;

/* Where the kernel drops the TSC from this list, its cores disagree. */
static bool kernel_offers_tsc(void)
{
	char text[256];
	long len;
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD,
		"/sys/devices/system/clocksource/clocksource0/available_clocksource",
		O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	len = mt_sys3(SYS_read, fd, text, sizeof text - 1);
	mt_sys1(SYS_close, fd);
	for (long i = 0; i + 3 <= len; i++)
		if (memcmp(text + i, "tsc", 3) == 0 && (i == 0 || text[i - 1] == ' '))
			return true;
	return false;
}

static void place(struct mt_wire_range *range, uint64_t *at, uint32_t capacity, uint32_t entry)
{
	*range = (struct mt_wire_range){*at, capacity, entry};
	*at += ((uint64_t)capacity * entry + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
}

static void lay_out(struct mt_wire_header *h, uint32_t share)
{
	uint64_t at = 2 * MT_WIRE_PAGE;
	uint32_t small = share > 16 ? 16 : share;
	uint32_t threads = share == 1 ? THREADS : THREADS_IF_LIMITED / small;

	place(&h->modules, &at, MODULES / small, sizeof(struct mt_wire_module));
	place(&h->threads, &at, threads, sizeof(struct mt_wire_thread));
	place(&h->pcs, &at, PCS / share, sizeof(struct mt_wire_pc));
	place(&h->nodes, &at, NODES / share, sizeof(struct mt_wire_node));
	place(&h->rings, &at, RINGS, sizeof(struct mt_wire_ring));
	place(&h->chunks, &at, CHUNKS / share, sizeof(struct mt_wire_chunk));
	place(&h->text, &at, TEXT, 1);
	h->segment_size = at; /* of what is mapped */
	place(&h->ring_data, &at, h->chunks.capacity, CHUNK_BYTES);
}

static uint64_t limit_of(int resource, uint64_t part)
{
	uint64_t limit[2] = {RLIM_INFINITY, RLIM_INFINITY};

	mt_sys4(SYS_prlimit64, 0, resource, NULL, limit);
	return limit[0] == RLIM_INFINITY ? UINT64_MAX : limit[0] / part;
}

/* The tables must leave the program its address space, and the chunks their part of the longest
 * file. Returns 0, or a negative errno: there is no room for the smallest ones. */
static long choose_sizes(struct mt_wire_header *h)
{
	uint64_t space = limit_of(RLIMIT_AS, 8), longest = limit_of(RLIMIT_FSIZE, 4);

	for (uint32_t share = 1; share <= 256; share *= 2) {
		lay_out(h, share);
		if (h->segment_size <= space && h->segment_size <= longest)
			return 0;
	}
	return h->segment_size > longest ? -EFBIG : -ENOMEM;
}

static void use_range(struct mt_segment_array *range, uint8_t *base,
	const struct mt_wire_range *wire)
{
	uint64_t len = (uint64_t)wire->capacity * wire->entry;

	*range = (struct mt_segment_array){
		.base = base + wire->offset,
		.capacity = wire->capacity,
		.entry = wire->entry,
		.limit = (len + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE,
	};
}

static void use_ranges(uint8_t *base, const struct mt_wire_header *h)
{
	use_range(&mt_tracer.modules, base, &h->modules);
	use_range(&mt_tracer.threads, base, &h->threads);
	use_range(&mt_tracer.pcs, base, &h->pcs);
	use_range(&mt_tracer.node_range, base, &h->nodes);
	use_range(&mt_tracer.rings, base, &h->rings);
	use_range(&mt_tracer.chunks, base, &h->chunks);
	mt_tracer.ring_data = (struct mt_segment_array){.capacity = h->ring_data.capacity,
		.entry = h->ring_data.entry};
	mt_tracer.sizes = h->sizes;
	mt_tracer.segment_size = h->segment_size;
	mt_file.data_place = h->ring_data.offset;
}

/* The first two pages of the file, and the address space for all tables. */
static struct mt_wire_header *map_tables(int fd, const struct mt_wire_header *h,
	const struct mt_file_blocked *b, long *error)
{
	struct mt_segment_array pages = {.entry = 1};
	long p = -EIO;

	if ((*error = mt_file_make_present(fd, &pages, 0, 2 * MT_WIRE_PAGE, b)) == 0)
		*error = p = mt_sys6(SYS_mmap, 0, h->segment_size, PROT_NONE,
			MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p < 0 && p > -4096)
		return NULL;
	mt_sys3(SYS_madvise, p, h->segment_size, MADV_DONTDUMP);
	/* or the first touch of a page reads many */
	mt_sys3(SYS_madvise, p, h->segment_size, MADV_RANDOM);
	*error = mt_sys3(SYS_mprotect, p, 2 * MT_WIRE_PAGE, PROT_READ | PROT_WRITE);
	if (*error == 0)
		return (struct mt_wire_header *)p;
	mt_sys_unmap((void *)p, h->segment_size);
	return NULL;
}

/* The path by which the program was executed, where it leads to the file that runs; else that
 * file's own. 0: not known. */
static long executed(uint8_t *to)
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	struct stat one, other;
	size_t len, directory = 0;
	/* The program may have written over the text: the kernel looks at it first. A name in /proc
	 * leads each reader elsewhere. */
	bool same = given && mt_sys4(SYS_newfstatat, AT_FDCWD, given, &one, 0) == 0
		&& strncmp(given, "/proc/", 6) != 0
		&& mt_sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/exe", &other, 0) == 0
		&& one.st_dev == other.st_dev && one.st_ino == other.st_ino;

	if (same && *given != '/') {
		long n = mt_sys2(SYS_getcwd, to, PATH_MAX);

		given += strncmp(given, "./", 2) == 0 ? 2 : 0;
		directory = n > 1 && *to == '/' ? (size_t)n : 0; /* with its NUL */
		same = directory > 0;
	}
	len = same ? strlen(given) : 0;
	if (!same || directory + len >= PATH_MAX)
		return mt_sys3(SYS_readlink, "/proc/self/exe", to, PATH_MAX);
	if (directory)
		to[directory - 1] = '/';
	memcpy(to + directory, given, len);
	return (long)(directory + len);
}

/* Executable, directory and arguments, for whoever reads the file on another day. */
static void write_text(struct mt_wire_header *h)
{
	struct mt_segment_array range;
	uint8_t *at, *end;
	long n;
	int fd;

	use_range(&range, (uint8_t *)h, &h->text);
	if (!mt_range_open(&range, range.capacity))
		return;
	at = range.base;
	end = at + range.capacity - 1;
	n = executed(at);
	at += n > 0 ? n + 1 : 1;
	n = mt_sys2(SYS_getcwd, at, PATH_MAX);
	at += n > 0 ? n : 1;
	fd = (int)mt_sys4(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	while (fd >= 0 && at < end && (n = mt_sys3(SYS_read, fd, at, end - at)) > 0)
		at += n;
	if (fd >= 0)
		mt_sys1(SYS_close, fd);
}

static void fill_header(struct mt_wire_header *h, struct mt_wire_header *copy)
{
	mt_ring_use_clock(copy->clock);
	mt_file_first_anchor(copy);
	copy->start_unix_ns = mt_sys_clock(CLOCK_REALTIME);
	copy->pid_space = mt_file_pid_space();
	copy->id = (copy->start_unix_ns ^ (uint64_t)mt_sys0(SYS_getpid) << 32) | 1;
	*(uint32_t *)((uint8_t *)h + MT_WIRE_ALIVE_OFFSET) = 1;
	memcpy((uint8_t *)h + sizeof h->magic, (uint8_t *)copy + sizeof h->magic,
		sizeof *h - sizeof h->magic);
}

/* A file that says why there is no recording: a header without tables. If the reason cannot be
 * written either, no file is left. */
static void leave_reason(int fd, struct mt_wire_header *copy, long error,
	const struct mt_file_blocked *b)
{
	copy->segment_size = 0;
	copy->pid = (uint32_t)mt_sys0(SYS_getpid);
	if (!mt_file_write_reason(fd, copy, error, b))
		mt_sys3(SYS_unlinkat, AT_FDCWD, mt_file.path, 0);
}

/* error: there is no room for tables. */
static struct mt_wire_header *start(struct mt_wire_header *copy, long error,
	const struct mt_file_blocked *b)
{
	struct mt_wire_header *h = NULL;
	int fd = mt_file_create();

	if (fd < 0)
		return NULL;
	copy->images_before = mt_file.images_before;
	if (!error)
		h = map_tables(fd, copy, b, &error);
	if (h)
		mt_file_hold(fd);
	else
		leave_reason(fd, copy, error, b);
	mt_sys1(SYS_close, fd);
	if (!h)
		return NULL;
	mt_tracer.header = h;
	mt_tracer.standalone = true;
	use_ranges((uint8_t *)h, copy);
	fill_header(h, copy);
	write_text(h);
	mt_store_release(&h->magic, MT_WIRE_MAGIC);
	return h;
}

MT_COLD struct mt_wire_header *mt_file_start(struct mt_wire_header *copy, uint64_t forked_from)
{
	struct mt_wire_header *h;
	struct mt_file_blocked b;
	long error;

	if (!mt_file_read_environment())
		return NULL;
	*copy = (struct mt_wire_header){
		.magic = MT_WIRE_MAGIC,
		.version = MT_WIRE_VERSION,
		.header_size = sizeof *copy,
		.clock = mt_arch_invariant_ticks() && kernel_offers_tsc() ? MT_CLOCK_TSC
									  : MT_CLOCK_MONOTONIC,
		.flags = (uint32_t)mt_file.flags,
		.depth_limit = (uint32_t)mt_file.depth,
		.sizes = {CHUNK_RECORDS, RINGS, RINGS},
		.recording = 1,
		.forked_from = forked_from,
	};
	/* reports are another program's work: doc/standalone.md */
	copy->signals[MT_SIGNAL_TOGGLE] = mt_file.toggle;
	copy->counters[MT_COUNTER_BAD_DEPTH] = mt_file.bad_depth;
	error = choose_sizes(copy);
	mt_file.next_chunk = mt_file.zeroing = mt_file.anchoring = 0;
	mt_file_block(&b);
	h = start(copy, error, &b);
	mt_file_unblock(&b);
	return h;
}

void mt_file_forked(void)
{
	mt_file.child = true;
	mt_tracer.standalone = false;
}
