/* The rare ways of writing a record, and what happens when the recorder cannot keep up. */
#include "preload/segment/ring.h"

#include <time.h>

#include "preload/base/sys.h"
#include "preload/segment/file.h"
#include "preload/segment/segment.h"

#define NESTED_ROOM 128  /* slots that only nested events may fill */
#define RECORDS_MAX 20   /* of one event, with all that can stand before it */
#define WAIT_NS 10000000 /* one look at the ring while waiting */
#define PATIENCE_NS 200000000ull
#define PAGE_RECORDS (MT_WIRE_PAGE / sizeof(struct mt_wire_record))
/* Pages of its ring that a thread claims at once. They stay while it sleeps, so only the first
 * threads claim many. */
#define CLAIM_FIRST 16
#define CLAIM_FIRST_RINGS 16
#define CLAIM_SOME 4
#define CLAIM_SOME_RINGS 64
/* A slow thread claims single records, so that the recorder can give all pages of its ring back
 * while it sleeps. After so many it looks whether it is still slow. */
#define SINGLES 64
#define SLOW_TICKS (1u << 24) /* some milliseconds, in either clock */

uint32_t mt_areas[MT_AREAS];
uint64_t mt_owners[MT_OWNERS];

MT_COLD void mt_ring_claim(const struct mt_thread_state *t, uint32_t *area)
{
	uint32_t whose = 0;

	if (!mt_swap_if(area, &whose, t->number))
		mt_store(area, MT_AREA_SHARED);
}

uint64_t mt_ring_clock(void)
{
	struct timespec now;

	if (mt_unlikely(!mt_tracer.monotonic || mt_load(&mt_tracer.frozen)))
		return mt_tracer.frozen_at;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

MT_COLD uint64_t mt_ring_clock_after(uint64_t last)
{
	uint64_t now = mt_ring_clock();

	return now < last ? last : now;
}

static uint64_t time_now(void)
{
	return mt_tracer.monotonic || mt_load(&mt_tracer.frozen)
		? mt_ring_clock()
		: mt_arch_ticks_after_loads();
}

/* In a child of a program that has forbidden the counter the time still stands. */
MT_COLD void mt_ring_use_clock(uint32_t clock)
{
	mt_tracer.monotonic = clock != MT_CLOCK_TSC;
	if (!mt_tracer.monotonic && !mt_load(&mt_tracer.frozen))
		mt_arch_differ_choose();
}

MT_COLD void mt_ring_freeze(void)
{
	if (!mt_load(&mt_tracer.frozen))
		mt_tracer.frozen_at = time_now();
	mt_swap_add(&mt_tracer.frozen, 1);
}

MT_COLD void mt_ring_frozen(bool for_good)
{
	mt_assert(mt_load(&mt_tracer.frozen));
	if (for_good)
		mt_swap_or(&mt_tracer.frozen, MT_FOR_GOOD);
	mt_swap_add(&mt_tracer.frozen, -1);
}

static uint64_t used(const struct mt_thread_state *t)
{
	return mt_load(&t->reserve) - mt_load_acquire(&t->ring->tail);
}

/* Who finds the recorder asleep wakes it, and nobody else. */
MT_COLD void mt_ring_doorbell(void)
{
	struct mt_wire_header *h = mt_tracer.header;

	if (!mt_load(&h->asleep) || !mt_swap(&h->asleep, 0))
		return;
	mt_add(&h->doorbell, 1);
	mt_sys_futex_wake(&h->doorbell);
}

bool mt_ring_recorder_is_dead(void)
{
	const uint32_t *alive =
		(const uint32_t *)((const uint8_t *)mt_tracer.header + MT_WIRE_ALIVE_OFFSET);
	uint32_t word = mt_load(alive);

	return word == 0 || word & FUTEX_OWNER_DIED;
}

/* Differs from one look to the next when the recorder has done something meanwhile, for whichever
 * thread. */
static uint64_t progress(const struct mt_thread_state *t)
{
	return mt_load_acquire(&t->ring->tail) + mt_load(&mt_tracer.header->tick);
}

static uint32_t ring_id(const struct mt_thread_state *t)
{
	const struct mt_wire_header *h = mt_tracer.header;

	return (uint32_t)(((const uint8_t *)t->ring - (const uint8_t *)h - h->rings.offset)
		/ sizeof *t->ring);
}

/* Says that records up to `end` will be written. Returns false while the recorder gives pages below
 * it back. A claim is never taken back, since a signal handler may have relied on it meanwhile. */
static bool claim(struct mt_thread_state *t, uint64_t end)
{
	uint64_t *claimed = &t->ring->claimed, old = mt_load(claimed), returned;

	if (mt_tracer.standalone)
		return true;
	while (old < end
		&& !__atomic_compare_exchange_n(claimed, &old, end, false, __ATOMIC_SEQ_CST,
			__ATOMIC_RELAXED))
		;
	returned = __atomic_load_n(&t->ring->returned, __ATOMIC_SEQ_CST);
	return !returned || end <= returned;
}

static bool has_room(struct mt_thread_state *t, unsigned records)
{
	return used(t) + NESTED_ROOM + RECORDS_MAX <= t->mask + 1
		&& claim(t, mt_load(&t->reserve) + records);
}

/* Waits for room as long as the recorder makes progress. */
static bool wait_for_room(struct mt_thread_state *t, unsigned records)
{
	struct mt_wire_header *h = mt_tracer.header;
	struct mt_patience patience = mt_patience(PATIENCE_NS);
	uint64_t seen = progress(t);
	bool room = false;

	if (mt_load(&mt_tracer.sealed))
		return false;
	if (mt_tracer.standalone)
		return mt_file_next_chunk(t);
	if (mt_tracer.drop_when_full)
		return false;
	mt_count(MT_COUNTER_RING_WAITS, 1);
	mt_add(&h->waiters, 1);
	while (!mt_ring_recorder_is_dead() && mt_load(mt_tracer.running)
		&& !mt_load(&mt_tracer.sealed)) {
		uint32_t value = mt_load_acquire(&h->room);
		uint64_t seen_now;

		if (has_room(t, records)) {
			room = true;
			break;
		}
		mt_ring_doorbell();
		mt_sys_futex_wait_bits(&h->room, value, patience.since + WAIT_NS,
			mt_wire_room_bit(ring_id(t)));
		seen_now = progress(t);
		if (seen_now != seen) {
			seen = seen_now;
			patience = mt_patience(PATIENCE_NS);
		} else if (!mt_patience_take(&patience, WAIT_NS) && !mt_tracer.wait_when_full) {
			break;
		}
	}
	mt_add(&h->waiters, -1);
	return room;
}

/* Slow is a thread at first, and when what it claimed last has sufficed for long. */
static bool is_slow(struct mt_thread_state *t)
{
	if (mt_tracer.standalone)
		return false;
	if (!t->singles && t->last - t->claimed_at > SLOW_TICKS)
		t->singles = SINGLES;
	if (!t->singles || t->singles == SINGLES)
		t->claimed_at = t->last;
	return t->singles;
}

/* Where the next claim ends: with a page. */
static uint64_t claim_end(const struct mt_thread_state *t, uint64_t reserve)
{
	uint64_t pages = t->number <= CLAIM_FIRST_RINGS ? CLAIM_FIRST
		: t->number <= CLAIM_SOME_RINGS
		? CLAIM_SOME
		: 1;

	return (reserve / PAGE_RECORDS + pages) * PAGE_RECORDS;
}

/* Sets up to where records need no further look. From three eighths full on the doorbell is rung
 * every eighth: the more is there, the less it costs to wake up for it, but the recorder must get a
 * processor before the ring is full. */
static void set_limit(struct mt_thread_state *t)
{
	uint64_t capacity = t->mask + 1, reserve = mt_load(&t->reserve), filled = used(t), limit;
	uint64_t enough = capacity / 8 * 3, claimable = claim_end(t, reserve);

	if (filled < enough) {
		limit = reserve - filled + enough;
	} else {
		mt_ring_doorbell();
		limit = reserve + capacity / 8;
		if (limit > reserve - filled + capacity - NESTED_ROOM - RECORDS_MAX)
			limit = reserve - filled + capacity - NESTED_ROOM - RECORDS_MAX;
	}
	if (!mt_tracer.standalone && limit > claimable)
		limit = claimable;
	if (!claim(t, limit))
		limit = reserve;
	mt_store(&t->limit, limit);
	mt_signal_fence();
	if (t->resync)
		mt_store(&t->limit, 0);
}

/* True when a record can be written: waits, or goes on with a gap. */
static bool make_room(struct mt_thread_state *t, unsigned records)
{
	if (t->gap.active) {
		/* it may have fallen asleep after the ring's last bells */
		mt_ring_doorbell();
		return ((used(t) <= (t->mask + 1) / 2 && has_room(t, records))
			       || (mt_tracer.standalone && mt_file_retry(t)))
			&& !mt_ring_recorder_is_dead();
	}
	if (has_room(t, records) || wait_for_room(t, records))
		return true;
	if (mt_ring_recorder_is_dead()) {
		mt_segment_leave();
		return false;
	}
	t->gap.active = 1;
	t->gap.since = time_now();
	t->gap.allocations = t->gap.frees = 0;
	return false;
}

static bool begins(unsigned type)
{
	return type == MT_RECORD_ALLOC || type == MT_RECORD_REALLOC || type == MT_RECORD_RESTORE;
}

static void count_lost(struct mt_thread_state *t, unsigned type)
{
	bool allocation = begins(type);

	mt_store(&t->limit, 0);
	if (type == MT_RECORD_MARK) {
		mt_count(MT_COUNTER_LOST_MARKS, 1);
		return;
	}
	if (allocation)
		t->gap.allocations++;
	else
		t->gap.frees++;
	mt_count(allocation ? MT_COUNTER_LOST_ALLOCATIONS : MT_COUNTER_LOST_FREES, 1);
}

struct batch {
	struct mt_wire_record records[RECORDS_MAX];
	unsigned count;
};

static void add(struct batch *b, unsigned type, uint32_t node, uint64_t pointer, uint32_t size)
{
	mt_assert(b->count < RECORDS_MAX);
	b->records[b->count++] = mt_wire_record_pack(type, 0, node, pointer, size);
}

static void extend(struct batch *b, enum mt_extend what, uint64_t value)
{
	mt_assert(b->count < RECORDS_MAX);
	b->records[b->count++] =
		(struct mt_wire_record){value, MT_RECORD_EXTEND | (uint64_t)what << 3};
}

static void extend_pointer(struct batch *b, uint64_t pointer, uint32_t function)
{
	mt_assert(b->count < RECORDS_MAX);
	b->records[b->count] =
		mt_wire_record_pack(MT_RECORD_EXTEND, 0, 0, function, MT_EXTEND_POINTER);
	b->records[b->count++].word0 = pointer;
}

static void add_item(const struct mt_thread_state *t, struct batch *b, const struct mt_item *item)
{
	bool far_pointer =
		(item->pointer & 7) || item->pointer >> MT_ADDRESS_BITS || item->function;
	bool large = item->size >= MT_SIZE_EXTENDED;

	if (large)
		extend(b, MT_EXTEND_SIZE, item->size);
	if (far_pointer)
		extend_pointer(b, item->pointer, item->function);
	if (item->usable)
		extend(b, MT_EXTEND_USABLE, item->usable);
	if (item->paused)
		extend(b, MT_EXTEND_PAUSED, 0);
	for (unsigned i = 0; i < item->value_count; i++)
		extend(b, MT_EXTEND_VALUE, item->values[i]);
	if (begins(item->type) && !far_pointer) /* who frees such a one stands behind a fence */
		mt_ring_allocates(t, item->pointer);
	add(b, item->type, item->node, far_pointer ? MT_POINTER_EXTENDED : item->pointer >> 3,
		large ? MT_SIZE_EXTENDED : (uint32_t)item->size);
}

/* Takes slots for a batch and fills them. The time is read before, so that nested events behind the
 * slots are later; if one came before them, its time is taken. */
static uint64_t write(struct mt_thread_state *t, const struct batch *b)
{
	const uint64_t time_mark = MT_RECORD_EXTEND | (uint64_t)MT_EXTEND_TIME << 3;
	uint64_t expected = mt_load(&t->reserve), now, at;

	mt_signal_fence();
	now = time_now();
	if (now < t->last)
		now = t->last;
	at = mt_arch_add(&t->reserve, b->count);
	mt_assert(at + b->count - mt_load(&t->ring->tail) <= t->mask + 1);
	if (at != expected && now < t->last)
		now = t->last;
	for (unsigned i = 0; i < b->count; i++) {
		struct mt_wire_record record = b->records[i];

		if (record.word1 == time_mark)
			record.word0 = now;
		t->data[(at + i) & t->mask] = record;
	}
	t->last = now;
	return at;
}

/* What must stand before the next record. The thread's state says so until it is written: a nested
 * event that comes first then writes it too, which does no harm. */
static void add_marks(const struct mt_thread_state *t, struct batch *b)
{
	if (t->gap.active) {
		extend(b, MT_EXTEND_TIME, 0);
		extend(b, MT_EXTEND_VALUE, t->gap.since);
		extend(b, MT_EXTEND_VALUE, t->gap.allocations);
		extend(b, MT_EXTEND_VALUE, t->gap.frees);
		add(b, MT_RECORD_MARK, t->index, 0, MT_MARK_GAP);
	}
	if (t->newborn || t->gap.active) {
		extend(b, MT_EXTEND_TIME, 0);
		add(b, MT_RECORD_MARK, t->index, 0, MT_MARK_THREAD);
	}
}

MT_COLD bool mt_ring_record_item(struct mt_thread_state *t, const struct mt_item *item)
{
	struct batch b = {.count = 0};
	uint64_t at;

	/* marks that come with a gap of this event are not written, since then the event is lost */
	add_marks(t, &b);
	extend(&b, MT_EXTEND_TIME, 0);
	add_item(t, &b, item);
	if (!make_room(t, b.count)) {
		count_lost(t, item->type);
		return false;
	}
	t->resync = 0;
	t->done_count = 0;
	mt_signal_fence();
	at = write(t, &b);
	if (mt_unlikely(mt_tracer.standalone))
		mt_file_tend(t->last);
	if (t->gap.active)
		t->gap.marked = at + b.count;
	mt_signal_fence();
	t->gap.active = 0;
	t->newborn = 0;
	if (is_slow(t))
		mt_store(&t->limit, t->resync ? 0 : mt_load(&t->reserve));
	else
		set_limit(t);
	return true;
}

/* The usual reason to come here: the limit is reached, and there is room beyond. */
static bool raise_limit(struct mt_thread_state *t)
{
	uint64_t limit = mt_load(&t->limit);

	if (mt_tracer.standalone || !limit || mt_load(&t->reserve) < limit || !has_room(t, 1))
		return false;
	if (!is_slow(t)) {
		set_limit(t);
		return true;
	}
	t->singles--;
	mt_store(&t->limit, limit = mt_load(&t->reserve) + 1);
	mt_signal_fence();
	if (t->resync)
		mt_store(&t->limit, 0);
	return true;
}

MT_COLD bool mt_ring_record_slow(struct mt_thread_state *t, unsigned type, uint32_t node,
	uint64_t pointer, uint64_t size)
{
	struct mt_item item = {.type = type, .node = node, .pointer = pointer, .size = size};

	return (raise_limit(t) && mt_ring_record_quick(t, type, node, pointer, size, false))
		|| mt_ring_record_item(t, &item);
}

/* Head follows reserve. A nested event changes head only while the two are equal, and leaves them
 * equal: head is read first, so that it can never be set back. */
static uint64_t publish(struct mt_thread_state *t)
{
	uint64_t head = mt_load(&t->ring->head), reserve;

	mt_signal_fence();
	reserve = mt_load(&t->reserve);
	mt_assert(head <= reserve);
	if (head != reserve)
		mt_store_release(&t->ring->head, reserve);
	mt_signal_fence();
	return reserve;
}

MT_COLD void mt_ring_publish_rest(struct mt_thread_state *t)
{
	uint64_t reserve;

	do {
		mt_store(&t->busy, 1);
		mt_signal_fence();
		/* in a forked child: the ring is its parent's */
		if (mt_unlikely(!mt_load(mt_tracer.running))) {
			mt_store(&t->busy, 0);
			return;
		}
		reserve = publish(t);
		mt_store(&t->busy, 0);
		mt_signal_fence();
	} while (mt_load(&t->reserve) != reserve);
}

/* Published at once unless the outer event holds a slot that it has not filled: what is freed here
 * may be another thread's in a moment. */
MT_COLD bool mt_ring_record_nested(struct mt_thread_state *t, const struct mt_item *item)
{
	struct batch b = {.count = 0};
	uint64_t at, head;
	uint32_t done;

	t->resync = 1;
	mt_store(&t->limit, 0);
	if (t->gap.active || used(t) + 2 * RECORDS_MAX > t->mask + 1
		|| !claim(t, mt_load(&t->reserve) + 2 * RECORDS_MAX)) {
		count_lost(t, item->type);
		return false;
	}
	add_marks(t, &b);
	extend(&b, MT_EXTEND_TIME, 0);
	add_item(t, &b, item);
	head = mt_load(&t->ring->head);
	mt_signal_fence();
	at = write(t, &b);
	t->newborn = 0;
	if (at == head) {
		while (publish(t) != mt_load(&t->reserve))
			;
		return true;
	}
	done = t->done_count;
	if (done < MT_NESTED_DONE) {
		t->done[done].at = at;
		t->done[done].count = b.count;
		t->done_count = done + 1;
	}
	return true;
}

static bool is_done(const struct mt_thread_state *t, uint64_t at)
{
	for (uint32_t i = 0; i < t->done_count; i++)
		if (at - t->done[i].at < t->done[i].count)
			return true;
	return false;
}

/* A signal handler has left the outermost event by longjmp: what it had taken but perhaps not
 * filled becomes void, what nested events finished stays. */
MT_COLD void mt_ring_abandon(struct mt_thread_state *t)
{
	uint64_t head = mt_load(&t->ring->head), reserve;

	mt_signal_fence();
	reserve = mt_load(&t->reserve);
	for (uint64_t at = head; at != reserve; at++)
		if (!is_done(t, at))
			t->data[at & t->mask] = (struct mt_wire_record){0, MT_RECORD_VOID};
	/* the marks among it are due again; that of the thread does no harm twice */
	if (head != reserve)
		t->newborn = 1;
	if (t->gap.marked - head - 1 < reserve - head)
		t->gap.active = 1;
	t->done_count = 0;
	t->resync = 1;
	mt_store(&t->limit, 0);
	mt_signal_fence();
	if (head != reserve)
		mt_store_release(&t->ring->head, reserve);
}
