/* Recording without a recorder: the segment is a file of the tracer's own. Tables lie at fixed places of the sparse
 * file and are mapped once; a ring's data are chunks behind them, of which the present one is mapped, always at
 * the same address. No descriptor is held: the file is opened by its name for each extension and must still be that
 * file. Nothing is touched before the file system has given room for it, so that a full disk or RLIMIT_FSIZE is an
 * error here and no signal there; any error ends the recording. */
#include "preload/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "preload/ring.h"
#include "preload/segment.h"
#include "preload/sys.h"

#define NODES (8u << 20)
#define PCS (1u << 20)
#define MODULES 4096u
#define THREADS 65536u
#define RINGS 1024u
#define CHUNKS (4u << 20)
#define TEXT (64u << 10)
#define CHUNK_RECORDS 8192u
#define CHUNK_BYTES (CHUNK_RECORDS * sizeof(struct mt_wire_record))
#define FIRST_EXTENSION (1ull << 20) /* of the chunks: small programs have small files */
#define EXTENSION (4ull << 20)
#define DEPTH_DEFAULT 512
#define DEPTH_LEAST 4
#define DEPTH_MOST 65536
#define NAMES_MAX 10000     /* that are tried where a name is taken */
#define NAMES_PLAIN 10      /* of these before the process id is put to it: each process tries anew */
#define NAMES_NUMBERED 1000 /* the same where a number is asked for */
#define ANCHOR_TICKS (1ull << 26) /* some tens of milliseconds */
#define RETRY_NS 1000000
#define PATIENCE 200000     /* looks at a lock */

extern char **environ;

static struct {
	char pattern[PATH_MAX], directory[PATH_MAX]; /* as they were at the start */
	char path[2 * PATH_MAX + 64];
	uint64_t device, inode;
	uint64_t data_place;   /* of the first chunk, in the file */
	uint64_t anchor_ticks; /* of the last anchor */
	uint64_t tried;        /* when a thread in a gap last asked for a chunk */
	uint64_t flags, depth;
	bool known;            /* what the environment says was read */
	bool paused, child;
	bool zeroes;           /* the file system knows no fallocate: room is made by writing */
	uint32_t zeroing, anchoring, next_chunk;
} file;

/* ---- what the environment says ---- */

const char *mt_file_environment(const char *name)
{
	size_t len = strlen(name);

	for (char **at = environ; at && *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

static bool is_set(const char *name)
{
	const char *value = mt_file_environment(name);

	return value && *value && strcmp(value, "0") != 0;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *at = mt_file_environment(name);
	uint64_t value = 0;

	if (!at || !*at)
		return otherwise;
	for (; *at; at++) {
		if (*at < '0' || *at > '9' || value > UINT32_MAX)
			return otherwise;
		value = value * 10 + (uint64_t)(*at - '0');
	}
	return value;
}

/* Once: a forked child goes by what its parent was told. False: no recording is asked for. */
static bool read_environment(void)
{
	const char *pattern = mt_file_environment("MEMTUI_OUTPUT");

	if (file.known)
		return file.pattern[0];
	file.known = true;
	if (!pattern || !*pattern || strlen(pattern) >= sizeof file.pattern || getauxval(AT_SECURE)
		|| mt_file_environment(MT_WIRE_ENVIRONMENT)) /* a session that does not answer is no reason to write here */
		return false;
	if (*pattern != '/') {
		long len = mt_sys2(SYS_getcwd, file.directory, sizeof file.directory);

		if (len <= 0 || file.directory[0] != '/')
			return false;
	}
	file.flags = MT_SEGMENT_STANDALONE | (is_set("MEMTUI_FREE_STACKS") ? MT_SEGMENT_FREE_STACKS : 0)
		| (is_set("MEMTUI_CHECK") ? MT_SEGMENT_CHECK : 0) | (is_set("MEMTUI_SLACK") ? MT_SEGMENT_SLACK : 0);
	file.depth = number("MEMTUI_DEPTH", DEPTH_DEFAULT);
	if (file.depth < DEPTH_LEAST)
		file.depth = DEPTH_LEAST;
	if (file.depth > DEPTH_MOST)
		file.depth = DEPTH_MOST;
	file.paused = is_set("MEMTUI_DISABLED");
	memcpy(file.pattern, pattern, strlen(pattern) + 1);
	return true;
}

/* ---- the name ---- */

struct name {
	size_t len;
	bool has_pid, has_number, too_long;
};

static void put(struct name *n, const char *text, size_t len)
{
	if (n->len + len >= sizeof file.path) {
		n->too_long = true;
		return;
	}
	memcpy(file.path + n->len, text, len);
	n->len += len;
	file.path[n->len] = '\0';
}

static void put_text(struct name *n, const char *text)
{
	put(n, text, strlen(text));
}

static void put_number(struct name *n, uint64_t value)
{
	char digits[24], *at = digits + sizeof digits;

	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	put(n, at, (size_t)(digits + sizeof digits - at));
}

static const char *program_name(void)
{
	const char *path = (const char *)getauxval(AT_EXECFN), *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path && *path ? path : "program";
}

static void fill_in(struct name *n, unsigned count, bool with_pid)
{
	struct timespec now;

	*n = (struct name){.len = 0};
	if (file.pattern[0] != '/') {
		put_text(n, file.directory);
		put_text(n, "/");
	}
	for (const char *at = file.pattern; *at; at++) {
		if (*at != '%' || !at[1]) {
			put(n, at, 1);
			continue;
		}
		switch (*++at) {
		case 'p':
			put_number(n, (uint64_t)mt_sys0(SYS_getpid));
			n->has_pid = true;
			break;
		case 't':
			clock_gettime(CLOCK_REALTIME, &now);
			put_number(n, (uint64_t)now.tv_sec);
			break;
		case 'e':
			put_text(n, program_name());
			break;
		case 'n':
			put_number(n, count);
			n->has_number = true;
			break;
		case '%':
			put_text(n, "%");
			break;
		default:
			put(n, at - 1, 2);
		}
	}
	if (with_pid && !n->has_pid) {
		put_text(n, ".");
		put_number(n, (uint64_t)mt_sys0(SYS_getpid));
	}
	if (!n->has_number && count > 1) {
		put_text(n, ".");
		put_number(n, count - 1);
	}
}

/* btrfs writes elsewhere what is written again, and the room that it gave is not for that: on a full disk a store to the
 * mapping would be SIGBUS. An empty file can be told to be rewritten in place. */
static void keep_in_place(int fd)
{
	struct statfs system;
	int flags = 0;

	if (mt_sys2(SYS_fstatfs, fd, &system) < 0 || system.f_type != BTRFS_SUPER_MAGIC
		|| mt_sys3(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags) < 0)
		return;
	flags |= FS_NOCOW_FL;
	mt_sys3(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
}

/* A file that nobody had before, for its owner alone. */
static int create(void)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	bool with_pid = file.child;
	struct stat status;
	struct name name;

	for (unsigned count = 1; count < NAMES_MAX; count++) {
		int fd;

		fill_in(&name, count, with_pid);
		if (name.too_long)
			return -ENAMETOOLONG;
		fd = (int)mt_sys4(SYS_openat, AT_FDCWD, file.path, flags, 0600);
		if (fd == -EEXIST && !with_pid && !name.has_pid && count == (name.has_number ? NAMES_NUMBERED : NAMES_PLAIN)) {
			with_pid = true;
			count = 0;
		}
		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return fd;
		mt_sys2(SYS_fchmod, fd, 0600); /* whatever the umask */
		if (mt_sys2(SYS_fstat, fd, &status) < 0) {
			mt_sys1(SYS_close, fd);
			return -EIO;
		}
		keep_in_place(fd);
		file.device = status.st_dev;
		file.inode = status.st_ino;
		return fd;
	}
	return -EEXIST;
}

/* Another file of this name, after a chroot or a rename, is none of ours. */
static int reopen(void)
{
	struct stat status;
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD, file.path,
		O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

	if (fd < 0)
		return fd;
	if (mt_sys2(SYS_fstat, fd, &status) == 0 && status.st_dev == file.device && status.st_ino == file.inode)
		return fd;
	mt_sys1(SYS_close, fd);
	return -ESTALE;
}

/* ---- signals ---- */

/* All are blocked while the file grows and while a chunk is changed: no handler sees the ring in between, and
 * SIGXFSZ can be taken back. */
struct blocked {
	uint64_t old, pending;
};

static void block_signals(struct blocked *b)
{
	uint64_t all = ~0ull;

	mt_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &b->old, sizeof all);
	b->pending = 0;
	mt_sys2(SYS_rt_sigpending, &b->pending, sizeof b->pending);
}

static void unblock_signals(const struct blocked *b)
{
	mt_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &b->old, NULL, sizeof b->old);
}

/* Takes the signal that an extension beyond RLIMIT_FSIZE has sent, but not one that was the program's. */
static void take_signal(const struct blocked *b)
{
	const uint64_t bit = 1ull << (SIGXFSZ - 1);
	struct timespec at_once = {0, 0};

	if (!(b->pending & bit))
		mt_sys4(SYS_rt_sigtimedwait, &bit, NULL, &at_once, sizeof bit);
}

/* ---- room ---- */

static bool write_zeroes(int fd, uint64_t from, uint64_t to)
{
	static const uint8_t zeroes[65536];

	while (from < to) {
		uint64_t len = to - from < sizeof zeroes ? to - from : sizeof zeroes;
		long n = mt_sys4(SYS_pwrite64, fd, zeroes, len, from);

		if (n <= 0 && n != -EINTR)
			return false;
		if (n > 0)
			from += (uint64_t)n;
	}
	return true;
}

/* The range's bytes from what is present up to `to` lie at place + present in the file. Giving room twice does no
 * harm: threads may do so at once. */
static bool allocate(int fd, struct mt_range *range, uint64_t place, uint64_t to)
{
	uint64_t present = mt_load_acquire(&range->present);

	while (!file.zeroes && present < to) {
		long error = mt_sys4(SYS_fallocate, fd, 0, place + present, to - present);

		if (error == -EINTR)
			continue;
		if (error == -EOPNOTSUPP || error == -ENOSYS) {
			file.zeroes = true;
			break;
		}
		if (error < 0)
			return false;
		if (mt_swap_if(&range->present, &present, to))
			return true;
	}
	return present >= to;
}

/* The same by writing, one thread at a time: what another has begun to use must not be written over. */
static bool allocate_zeroes(int fd, struct mt_range *range, uint64_t place, uint64_t to)
{
	uint64_t present;
	bool done;

	for (int i = 0; __atomic_exchange_n(&file.zeroing, 1, __ATOMIC_ACQUIRE); i++) {
		if (i == PATIENCE)
			return false;
		mt_sys0(SYS_sched_yield);
	}
	present = mt_load(&range->present);
	done = present >= to || write_zeroes(fd, place + present, place + to);
	if (done && present < to)
		mt_store_release(&range->present, to);
	mt_store_release(&file.zeroing, 0);
	return done;
}

/* Signals are blocked. */
static bool make_present(int fd, struct mt_range *range, uint64_t place, uint64_t to, const struct blocked *b)
{
	if (allocate(fd, range, place, to) || (file.zeroes && allocate_zeroes(fd, range, place, to)))
		return true;
	take_signal(b);
	return false;
}

/* What may go by: descriptors and address space are the program's to give back. */
static bool passes(long error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EAGAIN;
}

bool mt_file_extend(struct mt_range *range, uint64_t to)
{
	struct blocked b;
	bool done = false;
	int fd;

	if (mt_load_acquire(&range->present) >= to)
		return true;
	block_signals(&b);
	fd = reopen();
	if (fd >= 0) {
		done = make_present(fd, range, (uint64_t)(range->base - (uint8_t *)mt_tracer.header), to, &b);
		mt_sys1(SYS_close, fd);
	}
	unblock_signals(&b);
	if (!done && !passes(fd))
		mt_file_stop();
	return done;
}

/* ---- time ---- */

static void read_clocks(struct mt_wire_anchor *a)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		uint64_t before = mt_arch_ticks(), now = mt_ring_clock(), after = mt_arch_ticks();

		if (after - before < best) {
			best = after - before;
			*a = (struct mt_wire_anchor){before + best / 2, now};
		}
	}
	if (mt_tracer.monotonic)
		a->ticks = a->monotonic_ns;
}

MT_COLD void mt_file_anchor(void)
{
	struct mt_wire_header *h = mt_tracer.header;
	struct mt_wire_anchor anchor;
	uint32_t n;

	if (mt_load(&mt_tracer.frozen) || __atomic_exchange_n(&file.anchoring, 1, __ATOMIC_ACQUIRE))
		return;
	n = mt_load(&h->anchor_count);
	read_clocks(&anchor);
	h->anchors[1 + n % 2] = anchor;
	mt_store_release(&h->anchor_count, n + 1);
	mt_store(&file.anchor_ticks, anchor.ticks);
	mt_store_release(&file.anchoring, 0);
}

void mt_file_tend(uint64_t now)
{
	if (now - mt_load(&file.anchor_ticks) >= ANCHOR_TICKS)
		mt_file_anchor();
}

/* Where the kernel drops the TSC from this list, its cores disagree. */
static bool kernel_offers_tsc(void)
{
	char text[256];
	long len;
	int fd = (int)mt_sys4(SYS_openat, AT_FDCWD,
		"/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	len = mt_sys3(SYS_read, fd, text, sizeof text - 1);
	mt_sys1(SYS_close, fd);
	for (long i = 0; i + 3 <= len; i++)
		if (memcmp(text + i, "tsc", 3) == 0 && (i == 0 || text[i - 1] == ' '))
			return true;
	return false;
}

/* ---- chunks ---- */

/* The word of the second page, elsewhere the recorder's, is what ends the recording. */
void mt_file_stop(void)
{
	mt_count(MT_COUNTER_MAP_FAILURES, 1);
	mt_store_release((uint32_t *)((uint8_t *)mt_tracer.header + MT_WIRE_ALIVE_OFFSET), 0);
	if (mt_load(&mt_tracer.phase) == MT_PHASE_ATTACHED)
		mt_segment_leave();
}

/* In steps, since each is some work for the file system; to the end of the chunk alone where that is all there is. */
static bool extend_data(int fd, uint64_t to, const struct blocked *b)
{
	struct mt_range *range = &mt_tracer.ring_data;
	uint64_t present = mt_load_acquire(&range->present);
	uint64_t step = to <= FIRST_EXTENSION ? FIRST_EXTENSION : (to + EXTENSION - 1) / EXTENSION * EXTENSION;

	return present >= to || make_present(fd, range, file.data_place, step, b)
		|| make_present(fd, range, file.data_place, to, b);
}

static long map_chunk(int fd, uint32_t id, void *at, const struct blocked *b)
{
	uint64_t offset = (uint64_t)id * CHUNK_BYTES;
	long p;

	if (!extend_data(fd, offset + CHUNK_BYTES, b))
		return -ENOSPC;
	p = mt_sys6(SYS_mmap, at, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd,
		file.data_place + offset);
	if (p < 0 && p > -4096)
		return at ? -EIO : p; /* the old chunk may be gone */
	mt_sys3(SYS_madvise, p, CHUNK_BYTES, MADV_DONTDUMP);
	/* one call instead of a fault for each page; a page that cannot be had is an error here, SIGBUS later */
	if (mt_sys3(SYS_madvise, p, CHUNK_BYTES, MADV_POPULATE_WRITE) != -EFAULT)
		return p;
	if (!at)
		mt_sys_unmap((void *)p, CHUNK_BYTES);
	return -EIO;
}

/* A new chunk of a ring, mapped where the old one was: its address, or a negative errno. Signals are blocked. */
static long take_chunk(uint32_t ring, uint32_t chunk_number, void *at, const struct blocked *b)
{
	uint32_t id;
	int fd = reopen();
	long p = -ENOSPC;

	if (fd < 0)
		return fd;
	id = mt_load(&file.next_chunk);
	if (id < mt_tracer.chunks.capacity && (id = mt_add(&file.next_chunk, 1)) < mt_tracer.chunks.capacity
		&& mt_range_need(&mt_tracer.chunks, id + 1))
		p = map_chunk(fd, id, at, b);
	mt_sys1(SYS_close, fd);
	if (p < 0 && p > -4096)
		return p;
	mt_store_release((uint64_t *)mt_tracer.chunks.base + id, (uint64_t)chunk_number << 32 | ring);
	mt_publish_count(&mt_tracer.header->chunk_count, id + 1);
	return p;
}

MT_COLD struct mt_wire_record *mt_file_first_chunk(uint32_t ring)
{
	struct blocked b;
	long p;

	block_signals(&b);
	p = take_chunk(ring, 1, NULL, &b);
	unblock_signals(&b);
	if (p >= 0 || p <= -4096)
		return (struct mt_wire_record *)p;
	if (!passes(p))
		mt_file_stop();
	return NULL;
}

/* All slots below reserve are filled: only the outermost event comes here, before it takes any. */
MT_COLD bool mt_file_next_chunk(struct mt_thread *t)
{
	struct mt_wire_ring *ring = t->ring;
	uint64_t begin = ring->tail + CHUNK_RECORDS;
	struct blocked b;
	long p = -EAGAIN;

	block_signals(&b);
	if (mt_load(mt_tracer.running))
		p = take_chunk((uint32_t)(ring - (struct mt_wire_ring *)mt_tracer.rings.base),
			(uint32_t)(begin / CHUNK_RECORDS) + 1, t->data, &b);
	if (p >= 0 || p <= -4096) {
		mt_store(&ring->tail, begin);
		mt_store(&t->reserve, begin);
		mt_store_release(&ring->head, begin);
		mt_file_anchor();
	} else if (!passes(p)) {
		mt_file_stop();
	}
	unblock_signals(&b);
	return p >= 0 || p <= -4096;
}

/* Within a gap: not at every event. */
MT_COLD bool mt_file_retry(struct mt_thread *t)
{
	uint64_t now = mt_ring_clock();

	if (mt_load(&mt_tracer.sealed) || now - mt_load(&file.tried) < RETRY_NS)
		return false;
	mt_store(&file.tried, now);
	return mt_file_next_chunk(t);
}

/* ---- starting ---- */

static void place(struct mt_wire_range *range, uint64_t *at, uint32_t capacity, uint32_t entry)
{
	*range = (struct mt_wire_range){*at, capacity, entry};
	*at += ((uint64_t)capacity * entry + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
}

static void lay_out(struct mt_wire_header *h, uint32_t share)
{
	uint64_t at = 2 * MT_WIRE_PAGE;
	uint32_t small = share > 16 ? 16 : share;

	place(&h->modules, &at, MODULES / small, sizeof(struct mt_wire_module));
	place(&h->threads, &at, THREADS / small, sizeof(struct mt_wire_thread));
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

/* The tables must leave the program its address space, and the chunks their part of the longest file. */
static bool choose_sizes(struct mt_wire_header *h)
{
	uint64_t space = limit_of(RLIMIT_AS, 8), longest = limit_of(RLIMIT_FSIZE, 4);

	for (uint32_t share = 1; share <= 256; share *= 2) {
		lay_out(h, share);
		if (h->segment_size <= space && h->segment_size <= longest)
			return true;
	}
	return false;
}

static void use_range(struct mt_range *range, uint8_t *base, const struct mt_wire_range *wire)
{
	uint64_t len = (uint64_t)wire->capacity * wire->entry;

	*range = (struct mt_range){.base = base + wire->offset, .capacity = wire->capacity, .entry = wire->entry,
		.limit = (len + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE};
}

static void use_ranges(uint8_t *base, const struct mt_wire_header *h)
{
	use_range(&mt_tracer.modules, base, &h->modules);
	use_range(&mt_tracer.threads, base, &h->threads);
	use_range(&mt_tracer.pcs, base, &h->pcs);
	use_range(&mt_tracer.node_range, base, &h->nodes);
	use_range(&mt_tracer.rings, base, &h->rings);
	use_range(&mt_tracer.chunks, base, &h->chunks);
	mt_tracer.ring_data = (struct mt_range){.capacity = h->ring_data.capacity, .entry = h->ring_data.entry};
	mt_tracer.ring_records = h->ring_records;
	mt_tracer.segment_size = h->segment_size;
	file.data_place = h->ring_data.offset;
}

/* The first two pages of the file, and the address space for all tables. */
static struct mt_wire_header *map_tables(int fd, const struct mt_wire_header *h, const struct blocked *b)
{
	struct mt_range pages = {.entry = 1};
	long p = -EIO;

	if (make_present(fd, &pages, 0, 2 * MT_WIRE_PAGE, b))
		p = mt_sys6(SYS_mmap, 0, h->segment_size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p < 0 && p > -4096)
		return NULL;
	mt_sys3(SYS_madvise, p, h->segment_size, MADV_DONTDUMP);
	mt_sys3(SYS_madvise, p, h->segment_size, MADV_RANDOM); /* or the first touch of a page reads many */
	if (mt_sys3(SYS_mprotect, p, 2 * MT_WIRE_PAGE, PROT_READ | PROT_WRITE) == 0)
		return (struct mt_wire_header *)p;
	mt_sys_unmap((void *)p, h->segment_size);
	return NULL;
}

/* Executable, directory and arguments, for whoever reads the file on another day. */
static void write_text(struct mt_wire_header *h)
{
	struct mt_range range;
	uint8_t *at, *end;
	long n;
	int fd;

	use_range(&range, (uint8_t *)h, &h->text);
	if (!mt_range_open(&range, range.capacity))
		return;
	at = range.base;
	end = at + range.capacity - 1;
	n = mt_sys3(SYS_readlink, "/proc/self/exe", at, PATH_MAX);
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
	struct timespec now;

	mt_tracer.monotonic = copy->clock != MT_CLOCK_TSC;
	read_clocks(&copy->anchors[0]);
	copy->anchor_count = 1;
	clock_gettime(CLOCK_REALTIME, &now);
	copy->start_unix_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	copy->id = (copy->start_unix_ns ^ (uint64_t)mt_sys0(SYS_getpid) << 32) | 1;
	file.anchor_ticks = copy->anchors[0].ticks;
	*(uint32_t *)((uint8_t *)h + MT_WIRE_ALIVE_OFFSET) = 1;
	memcpy((uint8_t *)h + sizeof h->magic, (uint8_t *)copy + sizeof h->magic, sizeof *h - sizeof h->magic);
}

static struct mt_wire_header *start(struct mt_wire_header *copy, const struct blocked *b)
{
	struct mt_wire_header *h;
	int fd = create();

	if (fd < 0)
		return NULL;
	h = map_tables(fd, copy, b);
	mt_sys1(SYS_close, fd);
	if (!h) {
		mt_sys3(SYS_unlinkat, AT_FDCWD, file.path, 0);
		return NULL;
	}
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
	struct blocked b;

	if (!read_environment())
		return NULL;
	*copy = (struct mt_wire_header){.magic = MT_WIRE_MAGIC, .version = MT_WIRE_VERSION, .header_size = sizeof *copy,
		.clock = mt_arch_invariant_ticks() && kernel_offers_tsc() ? MT_CLOCK_TSC : MT_CLOCK_MONOTONIC,
		.flags = (uint32_t)file.flags, .depth_limit = (uint32_t)file.depth, .ring_records = CHUNK_RECORDS,
		.recording = !file.paused, .forked_from = forked_from};
	if (!choose_sizes(copy))
		return NULL;
	file.next_chunk = file.zeroing = file.anchoring = 0;
	block_signals(&b);
	h = start(copy, &b);
	unblock_signals(&b);
	return h;
}

void mt_file_forked(void)
{
	file.child = true;
	mt_tracer.standalone = false;
}
