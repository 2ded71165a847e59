/* Records in the thread's ring. */
#ifndef MT_RING_H
#define MT_RING_H

#include "preload/base/tracer.h"

/* A record with all that it may carry. */
struct mt_item {
	unsigned type;
	uint32_t node;
	uint32_t function;      /* of a domain other than the heap; else 0 */
	uint64_t pointer, size; /* a mark's size is its enum mt_mark */
	uint64_t usable;        /* 0: follows from the size, or is not recorded */
	bool paused;            /* the recorder is to see that this was made during a pause */
	unsigned value_count;   /* of a mark */
	const uint64_t *values;
};

/* Where the time-stamp counter is not used, or was frozen a moment ago. */
uint64_t mt_ring_clock(void);
/* Never before last, as a time that stands still may be. */
uint64_t mt_ring_clock_after(uint64_t last);
/* Of the segment that is begun: an enum mt_clock. */
void mt_ring_use_clock(uint32_t clock);
/* From now on the time stands still. Each call is followed by one that says whether for good. */
void mt_ring_freeze(void);
void mt_ring_frozen(bool for_good);
/* The general way: full ring, gap, new thread, extensions. False when the record is lost. */
bool mt_ring_record_item(struct mt_thread_state *, const struct mt_item *);
bool mt_ring_record_slow(struct mt_thread_state *, unsigned type, uint32_t node, uint64_t pointer,
	uint64_t size);
/* Within another event of the same thread, from a signal handler: never waits. */
bool mt_ring_record_nested(struct mt_thread_state *, const struct mt_item *);
void mt_ring_abandon(struct mt_thread_state *);
/* Wakes the recorder if it sleeps. */
void mt_ring_doorbell(void);
/* It was killed, or has ended in order. */
bool mt_ring_recorder_is_dead(void);
/* Ends the outermost event when others were nested around its end, or when it has no record. */
void mt_ring_publish_rest(struct mt_thread_state *);

/* ---- who allocated ---------------------------------------------------------------------------
 * The processor reads its time-stamp counter before older loads are done: a free may seem earlier
 * than the allocation by another thread whose result it was just handed, and two such blocks at one
 * address could not be told apart. A fence prevents that, but costs more than all the rest of a
 * free. A block that this thread has allocated itself needs none: its ring says the order.
 *
 * Allocators give each thread blocks of its own stretch of memory, as long as threads do not free
 * each other's: so each allocation looks whose its area is, and takes one that is nobody's. Where
 * two threads have allocated, each allocation from then on leaves pointer and ring in a table; when
 * the same address is given to another thread that overwrites it. What a thread reads here is as
 * new as the pointer that it was handed.
 *
 * Areas come first since they take little room in the caches, whereas blocks that live long would
 * take a line each, and the program's place there: 10 to 60 ns a pair. Two areas may have one
 * entry, if they lie 16 GiB apart. Of the table the upper bits keep glibc's arenas apart, which
 * begin every 64 MiB with the same offsets: threads would share lines. */
#define MT_AREAS 16384u
#define MT_AREA_SHIFT 20
#define MT_AREA_SHARED UINT32_MAX
#define MT_OWNERS 32768u
extern uint32_t mt_areas[MT_AREAS]; /* 0: nobody's; else thread.number, or MT_AREA_SHARED */
extern uint64_t mt_owners[MT_OWNERS];

static inline uint32_t *mt_ring_area(uint64_t pointer)
{
	return &mt_areas[pointer >> MT_AREA_SHIFT & (MT_AREAS - 1)];
}

static inline uint64_t *mt_ring_owner(uint64_t pointer)
{
	return &mt_owners[(pointer >> 4 ^ pointer >> 15) & (MT_OWNERS - 1)];
}

static inline uint64_t mt_ring_own(const struct mt_thread_state *t, uint64_t pointer)
{
	return (uint64_t)t->number << MT_ADDRESS_BITS | pointer;
}

/* The area becomes this thread's, or one that threads share. */
void mt_ring_claim(const struct mt_thread_state *, uint32_t *area);

/* Before anybody is handed the block. */
static MT_INLINE void mt_ring_allocates(const struct mt_thread_state *t, uint64_t pointer)
{
	uint32_t *area = mt_ring_area(pointer), whose = mt_load(area);

	if (mt_likely(whose == t->number))
		return;
	if (mt_unlikely(whose != MT_AREA_SHARED))
		mt_ring_claim(t, area);
	mt_store(mt_ring_owner(pointer), mt_ring_own(t, pointer));
}

static MT_INLINE bool mt_ring_has_allocated(const struct mt_thread_state *t, uint64_t pointer)
{
	return mt_likely(mt_load(mt_ring_area(pointer)) == t->number)
		|| mt_likely(mt_load(mt_ring_owner(pointer)) == mt_ring_own(t, pointer));
}

static MT_INLINE bool mt_ring_ends(unsigned type)
{
	return type == MT_RECORD_FREE || type == MT_RECORD_RELEASE;
}

/* ---- records --------------------------------------------------------------------------------- */

static MT_INLINE uint64_t mt_ring_now(const struct mt_thread_state *t, unsigned type,
	uint64_t pointer, bool usual)
{
	uint64_t ticks;

	if (!usual && mt_unlikely(mt_tracer.monotonic || mt_load(&mt_tracer.frozen)))
		return mt_ring_clock_after(t->last);
	if (mt_ring_ends(type))
		return mt_ring_has_allocated(t, pointer)
			? mt_arch_ticks()
			: mt_arch_ticks_after_loads();
	ticks = mt_arch_ticks(); /* first: it takes longest */
	mt_ring_allocates(t, pointer);
	return ticks;
}

/* What a record has no room for: small alignments, and addresses that are none of user space. */
#define MT_RING_POINTER_REST (7 | ~((1ull << MT_ADDRESS_BITS) - 1))

/* Writes one record. A nested event that comes before the slot is taken lies before this record in
 * the ring and has set the time: then the delta is 0. One that comes after lies behind it. usual:
 * mt_tracer.unusual has been found 0. False: it takes mt_ring_record_slow, nothing is done. */
static MT_INLINE bool mt_ring_record_quick(struct mt_thread_state *t, unsigned type, uint32_t node,
	uint64_t pointer, uint64_t size, bool usual)
{
	uint64_t expected = mt_load(&t->reserve), last, now, delta, at;

	mt_signal_fence();
	if (mt_unlikely(expected >= mt_load(&t->limit)) || mt_unlikely(size >= MT_SIZE_EXTENDED)
		|| mt_unlikely(pointer & MT_RING_POINTER_REST))
		return false;
	last = t->last;
	now = mt_ring_now(t, type, pointer, usual);
	delta = now - last;
	if (mt_unlikely(delta >> 32)) /* so late, or earlier */
		return false;
	at = mt_arch_add(&t->reserve, 1);
	mt_assert(at - mt_load(&t->ring->tail) <= t->mask);
	if (mt_likely(at == expected))
		t->last = now;
	else
		delta = 0;
	t->data[at & t->mask] =
		mt_wire_record_pack(type, (uint32_t)delta, node, pointer >> 3, (uint32_t)size);
	return true;
}

static MT_INLINE bool mt_ring_record(struct mt_thread_state *t, unsigned type, uint32_t node,
	uint64_t pointer, uint64_t size, bool usual)
{
	return mt_likely(mt_ring_record_quick(t, type, node, pointer, size, usual))
		|| mt_ring_record_slow(t, type, node, pointer, size);
}

/* Lets the recorder see everything written, the event's own record among it, and ends the outermost
 * event. Head stays behind reserve until here, and no nested event publishes itself. False:
 * mt_ring_publish_rest has to follow. */
static MT_INLINE bool mt_ring_publish_quick(struct mt_thread_state *t)
{
	uint64_t reserve = mt_load(&t->reserve);

	mt_assert(mt_load(&t->busy) && mt_load(&t->ring->head) <= reserve);
	mt_store_release(&t->ring->head, reserve);
	mt_signal_fence();
	mt_store(&t->busy, 0);
	mt_signal_fence();
	return mt_load(&t->reserve) == reserve;
}

/* Ends the outermost event, of which done says whether it has written a record. */
static inline void mt_ring_publish(struct mt_thread_state *t, bool done)
{
	if (mt_unlikely(!done) || mt_unlikely(!mt_ring_publish_quick(t)))
		mt_ring_publish_rest(t);
}

#endif
