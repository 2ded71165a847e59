#include "core/capture/segment.h"
#include "core/base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES (8u << 20)
#define PCS (1u << 20)
#define MODULES 4096u
#define THREADS (1u << 20)
#define THREADS_IF_LIMITED 65536u
#define RINGS 4096u
#define RINGS_FULL 16u
#define RINGS_HALF 512u
#define RINGS_LEAST 16u
#define RING_RECORDS 65536u
#define DEPTH_LIMIT 4096u
#define OTHERS 4u /* that tick with one: each is a line of another processor */

void mt_alive_init(struct mt_alive *a)
{
	*a = (struct mt_alive){
		.head.list.next = &a->head.list,
		.head.futex_offset = MT_WIRE_PAGE,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.tid = (pid_t)syscall(SYS_gettid),
	};
	syscall(SYS_set_robust_list, &a->head, sizeof a->head);
}

static uint64_t round_up(uint64_t n)
{
	return (n + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
}

static void place(struct mt_wire_range *range, uint64_t *at, uint32_t capacity, size_t entry)
{
	*range = (struct mt_wire_range){*at, capacity, (uint32_t)entry};
	*at += round_up((uint64_t)capacity * entry);
}

static uint32_t divide(uint32_t rings, uint32_t share)
{
	return rings / share > RINGS_LEAST ? rings / share : RINGS_LEAST;
}

static uint64_t place_all(struct mt_segment *s, uint32_t share)
{
	uint64_t at = MT_WIRE_ALIVE_OFFSET + MT_WIRE_PAGE;
	uint32_t small = share > 16 ? 16 : share, rings = divide(RINGS, share);
	uint32_t threads = share == 1 ? THREADS : THREADS_IF_LIMITED / small;

	s->sizes = (struct mt_wire_sizes){
		.records = RING_RECORDS / (share > 64 ? 4 : 1),
		.full = RINGS_FULL / share,
		.half = divide(RINGS_HALF, share),
	};
	place(&s->modules, &at, MODULES / small, sizeof(struct mt_wire_module));
	place(&s->threads, &at, threads, sizeof(struct mt_wire_thread));
	place(&s->pcs, &at, PCS / share, sizeof(struct mt_wire_pc));
	place(&s->nodes, &at, NODES / share, sizeof(struct mt_wire_node));
	place(&s->rings, &at, rings, sizeof(struct mt_wire_ring));
	place(&s->ring_data, &at, (uint32_t)mt_wire_ring_place(&s->sizes, rings),
		sizeof(struct mt_wire_record));
	return at;
}

/* The tables must leave the program its address space: an eighth of what it may have. */
static int choose_sizes(struct mt_segment *s, uint64_t limit, uint64_t file_limit,
	struct mt_err *err)
{
	uint64_t budget = limit == RLIM_INFINITY ? UINT64_MAX : limit / 8;

	for (uint32_t share = 1; share <= 256; share *= 2) {
		s->size = place_all(s, share);
		if (s->size <= budget && s->size <= file_limit)
			return 0;
	}
	if (s->size > file_limit)
		return mt_fail(err, -EFBIG,
			"the file size limit of %llu KiB is too low for recording; raise it "
			"(ulimit "
			"-f)",
			(unsigned long long)file_limit >> 10);
	return mt_fail(err, -ENOMEM,
		"the program's address space limit of %llu MiB is too low for recording; "
		"raise it (ulimit -v) to %llu MiB or more",
		(unsigned long long)limit >> 20, (unsigned long long)s->size * 8 >> 20);
}

static int create_file(struct mt_segment *s, struct mt_err *err)
{
	if (s->fd < 0)
		s->fd = memfd_create("memtui-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0)
		return mt_fail(err, -errno, "cannot create shared memory: %s", strerror(errno));
	if (ftruncate(s->fd, (off_t)s->size) < 0
		|| fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return mt_fail(err, -errno, "cannot reserve %zu MiB of shared memory: %s",
			s->size >> 20, strerror(errno));
	s->base = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return mt_fail(err, -errno, "cannot map %zu MiB of shared memory: %s",
			s->size >> 20, strerror(errno));
	}
	madvise(s->base, s->size, MADV_DONTDUMP);
	return 0;
}

static void fill_header(struct mt_segment *s, const struct mt_segment_options *o)
{
	struct mt_wire_header *h = s->header = (struct mt_wire_header *)s->base;

	s->depth_limit = o->depth_limit ? o->depth_limit : DEPTH_LIMIT;
	*h = (struct mt_wire_header){
		.version = MT_WIRE_VERSION,
		.header_size = sizeof *h,
		.segment_size = s->size,
		.clock = o->clock,
		.flags = o->flags,
		.depth_limit = s->depth_limit,
		.sizes = s->sizes,
		.modules = s->modules,
		.threads = s->threads,
		.pcs = s->pcs,
		.nodes = s->nodes,
		.rings = s->rings,
		.ring_data = s->ring_data,
		.recording = !o->paused,
		.sample_bytes = o->sample_bytes,
		.sample_seed = o->sample_seed,
		.record_min = o->record_min,
		.record_max = o->record_max,
	};
	memcpy(h->signals, o->signals, sizeof h->signals);
	__atomic_store_n(&h->magic, MT_WIRE_MAGIC, __ATOMIC_RELEASE);
}

/* The list node must not lie where the program can write: a private page, directly before another
 * mapping of the word's page. */
static int hold_alive(struct mt_segment *s, struct mt_alive *alive, struct mt_err *err)
{
	uint8_t *page = mmap(NULL, 2 * MT_WIRE_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return mt_fail(err, -errno, "cannot map memory: %s", strerror(errno));
	s->node_page = page;
	if (mmap(page + MT_WIRE_PAGE, MT_WIRE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    s->fd, MT_WIRE_ALIVE_OFFSET)
		== MAP_FAILED)
		return mt_fail(err, -errno, "cannot map shared memory: %s", strerror(errno));
	s->alive = alive;
	__atomic_store_n((uint32_t *)(page + MT_WIRE_PAGE), alive ? (uint32_t)alive->tid : 1,
		__ATOMIC_RELEASE);
	if (!alive)
		return 0;
	struct robust_list *node = (struct robust_list *)page;

	pthread_mutex_lock(&alive->lock);
	node->next = alive->head.list.next;
	__atomic_store_n(&alive->head.list.next, node, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&alive->lock);
	return 0;
}

int mt_segment_create(struct mt_segment *s, const struct mt_segment_options *o,
	struct mt_alive *alive, struct mt_err *err)
{
	return mt_segment_create_in(s, -1, o, alive, err);
}

int mt_segment_create_in(struct mt_segment *s, int fd, const struct mt_segment_options *o,
	struct mt_alive *alive, struct mt_err *err)
{
	int error;

	*s = (struct mt_segment){.fd = fd};
	error = choose_sizes(s, o->address_limit, o->file_limit ? o->file_limit : RLIM_INFINITY,
		err);
	if (!error && (error = create_file(s, err)) == 0) {
		fill_header(s, o);
		error = hold_alive(s, alive, err);
	}
	if (error)
		mt_segment_free(s);
	return error;
}

static void unlink_node(struct mt_alive *alive, struct robust_list *node)
{
	pthread_mutex_lock(&alive->lock);
	for (struct robust_list *at = &alive->head.list; at->next != &alive->head.list;
		at = at->next)
		if (at->next == node) {
			__atomic_store_n(&at->next, node->next, __ATOMIC_RELEASE);
			break;
		}
	pthread_mutex_unlock(&alive->lock);
}

void mt_segment_leave(struct mt_segment *s)
{
	if (!s->node_page)
		return;
	uint32_t *word = (uint32_t *)(s->node_page + MT_WIRE_PAGE);

	if (s->alive)
		unlink_node(s->alive, (struct robust_list *)s->node_page);
	s->alive = NULL;
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&s->header->room, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->header->room, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

/* ---- many at once ---- */

void mt_segment_join(struct mt_segment *s, struct mt_segment_turns *turns)
{
	MT_GROW(turns->headers, turns->count, turns->capacity);
	turns->headers[turns->count++] = s->header;
	s->turns = turns;
}

static void part(const struct mt_segment *s)
{
	struct mt_segment_turns *turns = s->turns;

	for (uint32_t i = 0; turns && i < turns->count; i++)
		if (turns->headers[i] == s->header)
			turns->headers[i] = turns->headers[--turns->count];
}

void mt_segment_tick_others(struct mt_segment_turns *turns)
{
	for (uint32_t i = 0; i < turns->count && i < OTHERS; i++) {
		turns->next = turns->next + 1 < turns->count ? turns->next + 1 : 0;
		__atomic_fetch_add(&turns->headers[turns->next]->tick, 1, __ATOMIC_RELAXED);
	}
}

void mt_segment_free(struct mt_segment *s)
{
	part(s);
	mt_segment_leave(s);
	if (s->node_page)
		munmap(s->node_page, 2 * MT_WIRE_PAGE);
	if (s->base)
		munmap(s->base, s->size);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct mt_segment){.fd = -1};
}
