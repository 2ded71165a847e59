/* Ring data of a stand-alone recording: chunks of the file, of which a ring has the present one
 * mapped; and the anchors that tie their time to the clock. */
#include <errno.h>
#include <unistd.h>

#include "preload/base/sys.h"
#include "preload/segment/file_parts.h"
#include "preload/segment/ring.h"
#include "preload/segment/segment.h"

#define FIRST_EXTENSION (1ull << 20) /* of the chunks: small programs have small files */
#define EXTENSION (4ull << 20)
/* between two anchors: some tenths of a millisecond at first, then twice as long each time, up
 * to some tens of milliseconds */
#define ANCHOR_TICKS_FIRST (1ull << 19)
#define ANCHOR_TICKS (1ull << 26)
#define RETRY_NS 1000000

/* ---- time ---- */

static void read_clocks(struct mt_wire_anchor *a)
{
	uint64_t best = UINT64_MAX;

	bool frozen = mt_load(&mt_tracer.frozen) != 0;

	if (frozen || mt_tracer.monotonic) {
		uint64_t now = mt_ring_clock();

		*a = (struct mt_wire_anchor){now, frozen ? mt_sys_clock(CLOCK_MONOTONIC) : now};
		return;
	}
	for (int i = 0; i < 3; i++) {
		uint64_t before = mt_arch_ticks(), after;
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		after = mt_arch_ticks();
		if (after - before < best) {
			best = after - before;
			*a = (struct mt_wire_anchor){before + best / 2,
				now.tv_sec * 1000000000ull + now.tv_nsec};
		}
	}
}

MT_COLD void mt_file_anchor(void)
{
	struct mt_wire_header *h = mt_tracer.header;
	struct mt_wire_anchor anchor;
	uint32_t n;

	if (mt_load(&mt_tracer.frozen)
		|| __atomic_exchange_n(&mt_file.anchoring, 1, __ATOMIC_ACQUIRE))
		return;
	n = mt_load(&h->anchor_count);
	read_clocks(&anchor);
	h->anchors[1 + n % 2] = anchor;
	mt_store_release(&h->anchor_count, n + 1);
	mt_store(&mt_file.anchor_ticks, anchor.ticks);
	if (mt_load(&mt_file.anchor_step) < ANCHOR_TICKS)
		mt_store(&mt_file.anchor_step, 2 * mt_load(&mt_file.anchor_step));
	mt_store_release(&mt_file.anchoring, 0);
}

/* The first step is short: a program that is killed early leaves a rate all the same. */
void mt_file_first_anchor(struct mt_wire_header *h)
{
	read_clocks(&h->anchors[0]);
	h->anchor_count = 1;
	mt_file.anchor_ticks = h->anchors[0].ticks;
	mt_file.anchor_step = ANCHOR_TICKS_FIRST;
}

void mt_file_tend(uint64_t now)
{
	if (now - mt_load(&mt_file.anchor_ticks) >= mt_load(&mt_file.anchor_step))
		mt_file_anchor();
}

/* Where the clock is the system's, its rate is known. A system-call filter may forbid to read the
 * system's clock. */
MT_COLD void mt_file_tend_now(void)
{
	if (!mt_tracer.monotonic && !mt_load(&mt_tracer.frozen) && !mt_load(&mt_tracer.sealed))
		mt_file_tend(mt_arch_ticks());
}

/* ---- chunks ---- */

/* The word of the second page, elsewhere the recorder's, is what ends the recording. */
void mt_file_stop(long error)
{
	uint8_t *header = (uint8_t *)mt_tracer.header;

	mt_count(MT_COUNTER_MAP_FAILURES, 1);
	mt_store((uint32_t *)(header + MT_WIRE_REASON_OFFSET), (uint32_t)-error);
	mt_store_release((uint32_t *)(header + MT_WIRE_ALIVE_OFFSET), 0);
	if (mt_load(&mt_tracer.phase) == MT_PHASE_ATTACHED)
		mt_segment_leave();
}

/* In steps, since each is some work for the file system; to the end of the chunk alone where that
 * is all there is. */
static long extend_data(int fd, uint64_t to, const struct mt_file_blocked *b)
{
	struct mt_segment_array *range = &mt_tracer.ring_data;
	uint64_t present = mt_load_acquire(&range->present);
	uint64_t step = to <= FIRST_EXTENSION ? FIRST_EXTENSION
					      : (to + EXTENSION - 1) / EXTENSION * EXTENSION;

	if (present >= to || mt_file_make_present(fd, range, mt_file.data_place, step, b) == 0)
		return 0;
	return mt_file_make_present(fd, range, mt_file.data_place, to, b);
}

static long map_chunk(int fd, uint32_t id, void *at, const struct mt_file_blocked *b)
{
	uint64_t offset = (uint64_t)id * CHUNK_BYTES;
	long p = extend_data(fd, offset + CHUNK_BYTES, b);

	if (p < 0) /* not to be taken for one that passes */
		return mt_file_passes(p) ? -ENOSPC : p;
	p = mt_sys6(SYS_mmap, at, CHUNK_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | (at ? MAP_FIXED : 0), fd, mt_file.data_place + offset);
	if (p < 0 && p > -4096)
		return at ? -EIO : p; /* the old chunk may be gone */
	mt_sys3(SYS_madvise, p, CHUNK_BYTES, MADV_DONTDUMP);
	/* one call instead of a fault for each page; a page that cannot be had is an error here,
	 * SIGBUS later */
	if (mt_sys3(SYS_madvise, p, CHUNK_BYTES, MADV_POPULATE_WRITE) != -EFAULT)
		return p;
	if (!at)
		mt_sys_unmap((void *)p, CHUNK_BYTES);
	return -EIO;
}

/* A new chunk of a ring, mapped where the old one was: its address, or a negative errno. Signals
 * are blocked. */
static long take_chunk(uint32_t ring, uint32_t chunk_number, void *at,
	const struct mt_file_blocked *b)
{
	uint32_t id = mt_load(&mt_file.next_chunk);
	long p;
	int fd;

	if (id >= mt_tracer.chunks.capacity)
		return -EOVERFLOW;
	/* this opens the file by itself: a program may have one descriptor to spare */
	if (!mt_range_need(&mt_tracer.chunks, id + 1))
		return -EAGAIN;
	fd = mt_file_reopen();
	if (fd < 0)
		return fd;
	id = mt_add(&mt_file.next_chunk, 1);
	if (id >= mt_tracer.chunks.capacity)
		p = -EOVERFLOW;
	else
		/* others may have taken some meanwhile */
		p = mt_load_acquire(&mt_tracer.chunks.open)
				>= (uint64_t)(id + 1) * mt_tracer.chunks.entry
			? map_chunk(fd, id, at, b)
			: -EAGAIN;
	mt_sys1(SYS_close, fd);
	if (p < 0 && p > -4096)
		return p;
	mt_store_release((uint64_t *)mt_tracer.chunks.base + id,
		(uint64_t)chunk_number << 32 | ring);
	mt_publish_count(&mt_tracer.header->chunk_count, id + 1);
	return p;
}

MT_COLD struct mt_wire_record *mt_file_first_chunk(uint32_t ring)
{
	struct mt_file_blocked b;
	long p;

	mt_file_block(&b);
	p = take_chunk(ring, 1, NULL, &b);
	mt_file_unblock(&b);
	if (p >= 0 || p <= -4096)
		return (struct mt_wire_record *)p;
	if (!mt_file_passes(p))
		mt_file_stop(p);
	return NULL;
}

/* All slots below reserve are filled: only the outermost event comes here, before it takes any. */
MT_COLD bool mt_file_next_chunk(struct mt_thread_state *t)
{
	struct mt_wire_ring *ring = t->ring;
	uint64_t begin = ring->tail + CHUNK_RECORDS;
	struct mt_file_blocked b;
	long p = -EAGAIN;

	mt_file_block(&b);
	if (mt_load(mt_tracer.running))
		p = take_chunk((uint32_t)(ring - (struct mt_wire_ring *)mt_tracer.rings.base),
			(uint32_t)(begin / CHUNK_RECORDS) + 1, t->data, &b);
	if (p >= 0 || p <= -4096) {
		mt_store(&ring->tail, begin);
		mt_store(&t->reserve, begin);
		mt_store_release(&ring->head, begin);
		mt_file_anchor();
	} else if (!mt_file_passes(p)) {
		mt_file_stop(p);
	}
	mt_file_unblock(&b);
	return p >= 0 || p <= -4096;
}

/* Within a gap: not at every event. */
MT_COLD bool mt_file_retry(struct mt_thread_state *t)
{
	uint64_t now = mt_sys_clock(CLOCK_MONOTONIC);

	if (mt_load(&mt_tracer.sealed) || now - mt_load(&mt_file.tried) < RETRY_NS)
		return false;
	mt_store(&mt_file.tried, now);
	return mt_file_next_chunk(t);
}
