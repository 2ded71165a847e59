/* Maps the segment that the recorder made and opens its ranges as they are used: what was mapped
 * readable would be written whole by a core dump and locked whole by mlockall. */
#include "preload/segment/segment.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "preload/base/sys.h"
#include "preload/segment/file.h"

#define FIRST_STEP 65536u
#define TURNED_AWAY 65536u /* records, of which nobody reads one */

static uint64_t round_up(uint64_t n)
{
	return (n + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
}

/* Counts in an opener and says how far the range may grow: trim lowers that first and then waits
 * for openers. */
static uint64_t begin_open(struct mt_segment_array *range)
{
	__atomic_fetch_add(&range->openers, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&range->limit, __ATOMIC_SEQ_CST);
}

static bool protect(struct mt_segment_array *range, uint64_t from, uint64_t to)
{
	if (mt_load(&mt_tracer.sealed)) {
		mt_count(MT_COUNTER_MAP_FAILURES, 1);
		return false;
	}
	if (mt_tracer.standalone && !mt_file_extend(range, to))
		return false;
	if (mt_sys3(SYS_mprotect, range->base + from, to - from, PROT_READ | PROT_WRITE) == 0)
		return true;
	mt_count(MT_COUNTER_MAP_FAILURES, 1);
	return false;
}

/* Opens [from, to), raises what is open to `to` and counts the opener out. */
static bool end_open(struct mt_segment_array *range, uint64_t from, uint64_t to, uint64_t limit)
{
	bool done = to <= limit && protect(range, from, to);
	uint64_t old = mt_load(&range->open);

	while (done && old < to && !mt_swap_if(&range->open, &old, to))
		;
	__atomic_fetch_sub(&range->openers, 1, __ATOMIC_SEQ_CST);
	return done;
}

MT_COLD bool mt_range_open(struct mt_segment_array *range, uint32_t count)
{
	uint64_t limit = begin_open(range), open = mt_load(&range->open);
	uint64_t need = (uint64_t)count * range->entry;
	uint64_t step = open < FIRST_STEP ? FIRST_STEP : 2 * open;

	while (step < need)
		step *= 2;
	if (step > limit)
		step = limit;
	return end_open(range, 0, step, need <= step && count <= range->capacity ? limit : 0);
}

MT_COLD bool mt_range_open_piece(struct mt_segment_array *range, uint64_t offset, uint64_t len)
{
	return end_open(range, offset, offset + len, begin_open(range));
}

static void trim(struct mt_segment_array *range, uint64_t keep)
{
	uint64_t old = mt_load(&range->limit), open;

	keep = round_up(keep);
	if (keep >= old || !mt_swap_if(&range->limit, &old, keep))
		return;
	for (int i = 0; i < 1000 && __atomic_load_n(&range->openers, __ATOMIC_SEQ_CST); i++)
		mt_sys0(SYS_sched_yield);
	open = round_up(mt_load(&range->open));
	if (open > keep)
		keep = open;
	if (!mt_load(&range->openers) && old > keep)
		mt_sys_unmap(range->base + keep, old - keep);
}

/* Stacks need most: a node for each frame that differs. */
MT_COLD void mt_segment_trim(uint64_t keep)
{
	if (mt_load_acquire(&mt_tracer.phase) != MT_PHASE_ATTACHED || mt_load(&mt_tracer.sealed))
		return;
	trim(&mt_tracer.node_range, keep / 2);
	trim(&mt_tracer.ring_data, keep / 4);
	trim(&mt_tracer.pcs, keep / 8);
	trim(&mt_tracer.modules, keep / 16);
	trim(&mt_tracer.threads, keep / 32);
	trim(&mt_tracer.rings, keep / 32);
}

MT_COLD bool mt_segment_is_borrowed(long pid)
{
	return mt_load_acquire(&mt_tracer.phase) == MT_PHASE_ATTACHED && mt_load(mt_tracer.running)
		&& mt_load(&mt_tracer.header->pid) != (uint32_t)pid;
}

/* Opens a range for so many entries beyond those in use. */
static void open_ahead(struct mt_segment_array *range, uint64_t used, uint32_t more)
{
	uint64_t limit = begin_open(range), need = round_up((used + more) * range->entry);
	uint64_t open = mt_load(&range->open);

	if (need > limit)
		need = limit;
	if (need < open)
		need = open;
	end_open(range, 0, need, limit);
}

MT_COLD void mt_segment_open_ahead(void)
{
	uint32_t share = mt_tracer.standalone ? 16 : 1; /* there it is room on the disk */

	open_ahead(&mt_tracer.node_range, mt_load(&mt_tracer.next_node), MT_SEALED_NODES / share);
	open_ahead(&mt_tracer.pcs, mt_load(&mt_tracer.next_pc), MT_SEALED_PCS / share);
	open_ahead(&mt_tracer.modules, 0, mt_tracer.modules.capacity / share);
}

MT_COLD void mt_segment_leave(void)
{
	mt_store_release(&mt_tracer.phase, MT_PHASE_OFF);
	mt_store_release((uint32_t *)mt_tracer.running, 0);
}

static bool use_range(struct mt_segment_array *range, uint8_t *segment,
	const struct mt_wire_range *wire, uint32_t entry)
{
	uint64_t len = (uint64_t)wire->capacity * wire->entry;

	if (wire->entry != entry || wire->capacity == 0 || wire->offset % MT_WIRE_PAGE
		|| wire->offset < 2 * MT_WIRE_PAGE || wire->offset > mt_tracer.segment_size
		|| round_up(len) > mt_tracer.segment_size - wire->offset)
		return false;
	*range = (struct mt_segment_array){
		.base = segment + wire->offset,
		.capacity = wire->capacity,
		.entry = entry,
		.limit = round_up(len),
	};
	return true;
}

static bool use_ranges(uint8_t *segment, const struct mt_wire_header *h)
{
	uint64_t ring_bytes = (uint64_t)h->sizes.records * sizeof(struct mt_wire_record);
	uint64_t records = mt_wire_ring_place(&h->sizes, h->rings.capacity);

	if (h->sizes.records < 1024 || h->sizes.records & (h->sizes.records - 1)
		|| (h->sizes.records / MT_WIRE_SMALL < 1024 && h->sizes.half < h->rings.capacity)
		|| h->sizes.records > 1u << 26 || h->depth_limit < 4 || h->depth_limit > 65536)
		return false;
	mt_tracer.sizes = h->sizes;
	/* the recorder may count ring data in records or in whole rings */
	return use_range(&mt_tracer.modules, segment, &h->modules, sizeof(struct mt_wire_module))
		&& use_range(&mt_tracer.threads, segment, &h->threads,
			sizeof(struct mt_wire_thread))
		&& use_range(&mt_tracer.pcs, segment, &h->pcs, sizeof(struct mt_wire_pc))
		&& use_range(&mt_tracer.node_range, segment, &h->nodes, sizeof(struct mt_wire_node))
		&& use_range(&mt_tracer.rings, segment, &h->rings, sizeof(struct mt_wire_ring))
		&& use_range(&mt_tracer.ring_data, segment, &h->ring_data, h->ring_data.entry)
		&& (h->ring_data.entry == sizeof(struct mt_wire_record)
			|| h->ring_data.entry == ring_bytes)
		&& records * sizeof(struct mt_wire_record)
		<= (uint64_t)mt_tracer.ring_data.capacity * mt_tracer.ring_data.entry
		&& mt_tracer.node_range.capacity > MT_NODE_FIRST
		&& mt_tracer.pcs.capacity > MT_PC_FIRST;
}

/* Maps the whole segment, closed but for its first two pages. What the header says is copied once:
 * only the copy is checked and used, since the segment may change under us. */
struct mt_wire_header *mt_segment_map(int fd, struct mt_wire_header *copy)
{
	struct stat status;
	int seals = (int)mt_sys3(SYS_fcntl, fd, F_GET_SEALS, 0);
	int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct mt_wire_header *h;
	long p;

	if (seals < 0 || (seals & wanted) != wanted || mt_sys2(SYS_fstat, fd, &status) < 0
		|| status.st_size < 3 * MT_WIRE_PAGE)
		return NULL;
	p = mt_sys6(SYS_mmap, 0, status.st_size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p < 0 && p > -4096)
		return NULL;
	mt_tracer.segment_size = status.st_size;
	h = (struct mt_wire_header *)p;
	mt_sys3(SYS_madvise, p, status.st_size, MADV_DONTDUMP);
	if (mt_sys3(SYS_mprotect, p, 2 * MT_WIRE_PAGE, PROT_READ | PROT_WRITE) == 0) {
		memcpy(copy, h, sizeof *copy);
		if (copy->magic == MT_WIRE_MAGIC && copy->version == MT_WIRE_VERSION
			&& copy->header_size == sizeof *h
			&& copy->segment_size == (uint64_t)status.st_size
			&& use_ranges((uint8_t *)h, copy))
			return h;
	}
	mt_sys_unmap(h, status.st_size);
	return NULL;
}

/* The whole count: of a forked child, what its parent has opened is not seen either. */
void mt_segment_count_unseen(void)
{
	if (mt_load(mt_tracer.running))
		mt_store(&mt_tracer.header->counters[MT_COUNTER_UNSEEN_LIBRARIES],
			mt_load(&mt_tracer.unseen_libraries));
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* A second look at shared memory, by the length 0; NULL: it is private by now, or lacks room. */
static struct mt_wire_header *mapped_again(struct mt_wire_header *h)
{
	long p = mt_sys6(SYS_mremap, h, 0, 2 * MT_WIRE_PAGE, MREMAP_MAYMOVE, 0, 0);

	return p < 0 && p > -4096 ? NULL : (struct mt_wire_header *)p;
}

/* The parent's header and notes, where others have taken their place. */
static struct mt_wire_header *covered;

struct mt_wire_header *mt_segment_parents(void)
{
	return mt_tracer.scrapped ? covered : mapped_again(mt_tracer.header);
}

/* All that is mapped of it: under a limit the rest may be the program's own memory by now. */
static uint64_t mapped(const struct mt_segment_array *range)
{
	uint64_t open = round_up(mt_load(&range->open)), limit = mt_load(&range->limit);

	return !range->base ? 0 : open > limit ? open : limit;
}

static struct mt_segment_array *const ranges[] = {&mt_tracer.modules, &mt_tracer.threads,
	&mt_tracer.pcs, &mt_tracer.node_range, &mt_tracer.rings, &mt_tracer.ring_data,
	&mt_tracer.chunks};
#define RANGES (sizeof ranges / sizeof *ranges)

static bool cover(void *at, uint64_t len)
{
	long p = len ? mt_sys6(SYS_mmap, at, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)
		     : 0;

	return p >= 0 || p <= -4096;
}

/* The first two pages stay, as private memory: who still looks at the header finds a pause, and
 * what he counts is nothing. */
void mt_segment_drop(void)
{
	/* forgotten first: a child of another thread's must not unmap it again */
	for (size_t i = 0; i < RANGES; i++) {
		uint64_t len = mapped(ranges[i]);
		uint8_t *base = ranges[i]->base;

		*ranges[i] = (struct mt_segment_array){.base = NULL};
		mt_signal_fence();
		if (len)
			mt_sys_unmap(base, len);
	}
	cover(mt_tracer.header, 2 * MT_WIRE_PAGE);
}

/* Behind a filter nothing can be mapped in its place: what is left of the event goes to memory that
 * the child has for itself, and the tables count as full. The mask stays: the event may have
 * loaded it before. */
static void turn_away(struct mt_thread_state *t)
{
	static _Alignas(MT_WIRE_PAGE) uint8_t header[2 * MT_WIRE_PAGE];
	static struct mt_wire_ring ring;
	static struct mt_wire_record records[TURNED_AWAY];

	if (t->mask >= TURNED_AWAY)
		return;
	memcpy(header, mt_tracer.header, sizeof header);
	ring = *t->ring;
	t->ring = &ring;
	t->data = records;
	mt_tracer.header = (struct mt_wire_header *)header;
	mt_tracer.next_node = mt_tracer.node_range.capacity;
	mt_tracer.next_pc = mt_tracer.pcs.capacity;
	mt_tracer.next_module = mt_tracer.modules.capacity;
}

/* What the event may look at again is kept: the header and the positions of its ring. */
MT_COLD void mt_segment_scrap(struct mt_thread_state *t)
{
	struct mt_wire_ring ring;
	struct mt_wire_header *copy;

	if (mt_tracer.scrapped)
		return;
	mt_tracer.scrapped = true;
	if (mt_load(&mt_tracer.sealed)) {
		turn_away(t);
		return;
	}
	covered = mapped_again(mt_tracer.header);
	ring = *t->ring;
	copy = mt_sys_map(2 * MT_WIRE_PAGE);
	if (copy) {
		memcpy(copy, mt_tracer.header, sizeof *copy);
		*(uint32_t *)((uint8_t *)copy + MT_WIRE_ALIVE_OFFSET) = 1;
		mt_sys6(SYS_mremap, copy, 2 * MT_WIRE_PAGE, 2 * MT_WIRE_PAGE,
			MREMAP_MAYMOVE | MREMAP_FIXED, mt_tracer.header, 0);
	}
	for (size_t i = 0; i < RANGES; i++)
		if (mapped(ranges[i]))
			cover(ranges[i]->base, round_up(mt_load(&ranges[i]->open)));
	if (mt_tracer.standalone)
		cover(t->data, mt_tracer.sizes.records * sizeof(struct mt_wire_record));
	*t->ring = ring;
}

__attribute__((destructor)) static void exiting(void)
{
	if (mt_load(&mt_tracer.phase) != MT_PHASE_ATTACHED || !mt_load(mt_tracer.running))
		return;
	if (mt_tracer.standalone)
		mt_file_anchor();
	mt_store_release(&mt_tracer.header->state, MT_SEGMENT_EXITING);
}
