#include "core/capture/ring_pages.h"
#include "core/capture/ring.h"

#include <sys/mman.h>

#define LOOK_EVERY_NS 500000000ull
/* A ring is slow if it took less than this share of its capacity since the last look: then its
 * thread pays a page fault for each 256 records, at most 64 a second. */
#define SLOW_SHARE 8
/* What a ring keeps free of returns ahead of its thread if that would lose events instead of
 * waiting for the end of a return. */
#define KEPT_SHARE 4
#define PAGE_RECORDS (MT_WIRE_PAGE / sizeof(struct mt_wire_record))

static uint64_t page_down(uint64_t position)
{
	return position / PAGE_RECORDS * PAGE_RECORDS;
}

static uint64_t page_up(uint64_t position)
{
	return page_down(position + PAGE_RECORDS - 1);
}

/* ---- giving back ----------------------------------------------------------------------------- */

/* Records [from, to), which are whole pages and no more than the ring. */
static void remove_pages(const struct mt_ring *r, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t straight = mt_ring_straight(r, from);
		uint64_t count = to - from < straight ? to - from : straight;

		madvise((void *)(uintptr_t)&r->data[from & r->mask],
			count * sizeof(struct mt_wire_record), MADV_REMOVE);
		from += count;
	}
}

static bool never_waits(const struct mt_segment *s)
{
	return s->header->flags & MT_SEGMENT_DROP
		|| __atomic_load_n(&s->header->mute, __ATOMIC_RELAXED);
}

/* The records in [from, to) are consumed. Their slots are those of positions a lap later, which the
 * thread may claim at any time: the two words decide who comes first. Where it has claimed nothing
 * beyond the tail, the rest of its page goes as well. */
static void give_back(struct mt_merge *m, struct mt_ring *r)
{
	uint64_t capacity = r->mask + 1, tail = r->published_tail, to = page_down(tail), from,
		 first;
	uint64_t claimed = __atomic_load_n(&r->shared->claimed, __ATOMIC_ACQUIRE);
	uint64_t ahead = never_waits(m->segment) ? capacity / KEPT_SHARE : 0;
	bool all = claimed == tail && !ahead;

	/* else the segment is damaged, or its tracer is older than claims */
	if (claimed < tail || claimed - tail > 2 * capacity || r->dry == tail)
		return;
	from = page_up(claimed + ahead) > capacity ? page_up(claimed + ahead) - capacity : 0;
	if (from < r->kept)
		from = r->kept;
	first = all ? tail : from + capacity;
	if (all)
		to = page_up(tail);
	if (from >= to)
		return;
	__atomic_store_n(&r->shared->returned, first, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&r->shared->claimed, __ATOMIC_SEQ_CST) <= first) {
		remove_pages(r, from, to);
		if (all) {
			r->old_end = 0;
		} else if (from > r->kept) {
			r->old = r->kept + capacity;
			r->old_end = from + capacity;
		}
		r->kept = page_down(tail);
		r->dry = all ? tail : 0;
	}
	__atomic_store_n(&r->shared->returned, 0, __ATOMIC_RELEASE);
	mt_merge_wake(m, mt_wire_room_bit((uint32_t)(r - m->rings)));
}

static void look_at(struct mt_merge *m, struct mt_ring *r)
{
	uint64_t taken = r->consumed - r->seen;

	r->seen = r->consumed;
	if (taken <= (r->mask + 1) / SLOW_SHARE)
		give_back(m, r);
}

void mt_ring_pages_tend(struct mt_merge *m, uint64_t now_ns, uint64_t budget_ns)
{
	if (m->pages_next >= m->ring_count) {
		if (now_ns - m->pages_at < LOOK_EVERY_NS)
			return;
		m->pages_at = now_ns;
		m->pages_next = 0;
	}
	while (m->pages_next < m->ring_count) {
		struct mt_ring *r = &m->rings[m->pages_next++];
		uint64_t kept = r->kept, dry = r->dry;

		look_at(m, r);
		if ((r->kept != kept || r->dry != dry)
			&& mt_clock_monotonic_ns() - now_ns > budget_ns)
			return;
	}
}

/* ---- what is resident ------------------------------------------------------------------------ */

static uint64_t table_bytes(const struct mt_wire_range *range, uint32_t count)
{
	uint64_t bytes = (uint64_t)(count < range->capacity ? count : range->capacity);

	return (bytes * range->entry + MT_WIRE_PAGE - 1) / MT_WIRE_PAGE * MT_WIRE_PAGE;
}

static uint64_t ring_bytes(const struct mt_ring *r)
{
	uint64_t head = __atomic_load_n(&r->shared->head, __ATOMIC_RELAXED);
	uint64_t old, records;

	head = head == r->dry ? page_down(head) : page_up(head);
	old = r->old > head ? r->old : head;
	records = head - r->kept + (r->old_end > old ? r->old_end - old : 0);

	return (records <= r->mask + 1 ? records : r->mask + 1) * sizeof(struct mt_wire_record);
}

uint64_t mt_ring_pages_resident(const struct mt_merge *m)
{
	const struct mt_segment *s = m->segment;
	const struct mt_wire_header *h = s->header;
	uint64_t bytes = 2 * MT_WIRE_PAGE; /* the header, and the word that says who lives */
	uint32_t rings;

	bytes += table_bytes(&s->modules, __atomic_load_n(&h->module_count, __ATOMIC_RELAXED));
	bytes += table_bytes(&s->threads, __atomic_load_n(&h->thread_count, __ATOMIC_RELAXED));
	bytes += table_bytes(&s->pcs, __atomic_load_n(&h->pc_count, __ATOMIC_RELAXED));
	bytes += table_bytes(&s->nodes, __atomic_load_n(&h->node_count, __ATOMIC_RELAXED));
	rings = __atomic_load_n(&h->ring_count, __ATOMIC_RELAXED);
	rings = rings > s->rings.capacity ? m->ring_count : rings;
	bytes += table_bytes(&s->rings, rings);
	for (uint32_t i = 0; i < m->ring_count; i++)
		bytes += ring_bytes(&m->rings[i]);
	for (uint32_t i = m->ring_count; i < rings; i++) { /* not met yet */
		struct mt_ring ring;

		mt_ring_init(&ring, s, i);
		bytes += ring_bytes(&ring);
	}
	return bytes;
}
