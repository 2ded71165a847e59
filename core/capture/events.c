#include "core/capture/events.h"
#include "core/capture/pairs.h"
#include "core/capture/thread_runs.h"
#include "core/model/block_machine.h"

#include <string.h>

/* For what each of millions of events a second passes: as part of its loop, fields stay in
 * registers. */
#define HOT static inline __attribute__((always_inline))

/* One event into the trace. */
HOT void emit(struct mt_merge *m, const struct mt_ring *r, const struct mt_pool_cell *b,
	enum mt_event_type type, uint16_t function, uint64_t previous)
{
	if (!m->writer)
		return;
	mt_event_fill(mt_trace_writer_next(m->writer), m, r, b, type, function, previous);
	if (__builtin_expect(++m->unflushed >= m->block_events, 0) && m->flush)
		m->flush(m->context);
}

void mt_event_move_time(struct mt_merge *m, uint64_t stamp)
{
	uint64_t ns = mt_clock_ns(m->clock, stamp), rest = ns % MT_RESOLUTION_NS;

	m->stamp_end = stamp + 1;
	if (ns > m->limit_ns)
		ns = m->limit_ns - m->limit_ns % MT_RESOLUTION_NS;
	else
		m->stamp_end += (MT_RESOLUTION_NS - rest - 1) * m->stamps_per_ns >> 32;
	ns -= ns % MT_RESOLUTION_NS;
	if (ns > m->now_ns)
		m->now_ns = ns;
}

/* Functions whose names end in "of" take a domain, or the function that a record of another domain
 * names. Each has a twin for the heap, which lacks this argument: with it, the fast path needs two
 * more instructions an event. */

static void imply_end(struct mt_merge *, struct mt_ring *, unsigned domain, uint64_t address);

static __attribute__((noinline)) void clear_of(struct mt_merge *m, struct mt_ring *r,
	unsigned domain, uint64_t address, uint64_t stamp, unsigned nesting,
	struct mt_live_table_place *place)
{
	struct mt_live_table *live = mt_merge_blocks(m, domain);

	mt_merge_fetch(m, domain, address, stamp, false, nesting);
	if (!mt_live_table_look_up(live, address, place))
		return;
	imply_end(m, r, domain, address);
	mt_live_table_look_up(live, address, place);
}

static __attribute__((noinline)) void clear_found(struct mt_merge *m, struct mt_ring *r,
	uint64_t address, uint64_t stamp, unsigned nesting, struct mt_live_table_place *place)
{
	clear_of(m, r, MT_DOMAIN_HEAP, address, stamp, nesting, place);
}

/* Whether there can be blocks that were not recorded. The counters are ahead of the gap that will
 * say so here. */
static bool lacks_blocks(const struct mt_merge *m)
{
	const uint64_t *counters = m->segment->header->counters;

	return m->unrecorded || !__atomic_load_n(&m->segment->header->recording, __ATOMIC_RELAXED)
		|| __atomic_load_n(&counters[MT_COUNTER_LOST_ALLOCATIONS], __ATOMIC_RELAXED)
		|| __atomic_load_n(&counters[MT_COUNTER_UNTRACED_EVENTS], __ATOMIC_RELAXED)
		|| __atomic_load_n(&counters[MT_COUNTER_UNSEEN_LIBRARIES], __ATOMIC_RELAXED);
}

/* More about the event just emitted. */
static __attribute__((noinline)) void emit_note(struct mt_merge *m, const struct mt_ring *r,
	enum mt_event_note kind, uint64_t value)
{
	if (m->writer)
		emit(m, r, &(struct mt_pool_cell){.size = value}, MT_EVENT_NOTE, (uint8_t)kind, 0);
}

static void unknown_free_of(struct mt_merge *m, const struct mt_ring *r, uint64_t address,
	unsigned function, uint32_t wire_node)
{
	struct mt_info *info = &m->model->profile->info;

	/* the tracer could not tell whether it had recorded the block */
	if (__atomic_load_n(&m->segment->header->counters[MT_COUNTER_UNLISTED_BLOCKS],
		    __ATOMIC_RELAXED))
		return;
	++*(lacks_blocks(m) ? &info->unrecorded_frees : mt_info_unfound(info));
	emit(m, r, &(struct mt_pool_cell){.address = address}, MT_EVENT_UNKNOWN_FREE,
		(uint16_t)function, 0);
	if (wire_node >= MT_NODE_FIRST)
		emit_note(m, r, MT_NOTE_FREE_STACK, mt_id_map_node(&m->tables, wire_node));
}

static __attribute__((noinline)) void unknown_free(struct mt_merge *m, const struct mt_ring *r,
	uint64_t address, uint32_t wire_node)
{
	unknown_free_of(m, r, address, mt_id_map_kind(&m->tables, wire_node), wire_node);
}

/* The event that ends a block, with the stack of the call. */
static void emit_end_of(struct mt_merge *m, const struct mt_ring *r, const struct mt_pool_cell *b,
	enum mt_event_type type, unsigned function, uint32_t wire_node)
{
	uint32_t node;

	emit(m, r, b, type, (uint16_t)function, 0);
	if (wire_node < MT_NODE_FIRST)
		return;
	node = mt_id_map_node(&m->tables, wire_node);
	mt_model_free_site(m->model, b->group, node);
	emit_note(m, r, MT_NOTE_FREE_STACK, node);
}

static __attribute__((noinline)) void emit_end(struct mt_merge *m, const struct mt_ring *r,
	const struct mt_pool_cell *b, enum mt_event_type type, uint32_t wire_node)
{
	emit_end_of(m, r, b, type, mt_id_map_kind(&m->tables, wire_node), wire_node);
}

/* Nothing lives at the address afterwards. */
HOT void begin_block(struct mt_merge *m, struct mt_ring *r, unsigned domain,
	const struct mt_decoded *d, unsigned nesting, const struct mt_release *reallocated)
{
	const struct mt_pool_cell *previous =
		reallocated && reallocated->known ? &reallocated->cell : NULL;
	struct mt_live_table *live = mt_merge_blocks(m, domain);
	struct mt_live_table_place place;
	struct mt_pool_cell b;

	if (__builtin_expect(mt_live_table_look_up(live, d->pointer, &place) != NULL, 0)) {
		if (domain == MT_DOMAIN_HEAP)
			clear_found(m, r, d->pointer, d->time, nesting, &place);
		else
			clear_of(m, r, domain, d->pointer, d->time, nesting, &place);
	}
	b = mt_event_begin(m, r, d->pointer, d->size,
		domain == MT_DOMAIN_HEAP ? mt_id_map_group(&m->tables, d->node)
					 : mt_id_map_group_of(&m->tables, d->node, d->function),
		previous != NULL);
	mt_live_table_insert_at(live, &place, &b);
	if (m->history && previous)
		mt_block_history_continue(m, domain, &b, reallocated);
	emit(m, r, &b, previous ? MT_EVENT_REALLOCATE : MT_EVENT_ALLOCATE, 0,
		previous ? previous->number : 0);
}

HOT void on_allocation(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	unsigned nesting, const struct mt_release *reallocated)
{
	begin_block(m, r, MT_DOMAIN_HEAP, d, nesting, reallocated);
}

/* The block's end: by the record of a free, whose place in the table is left to the caller.
 * function: that of the record, if it names one. */
HOT void end_block(struct mt_merge *m, struct mt_ring *r, const struct mt_pool_cell *cell,
	unsigned function, uint32_t wire_node)
{
	struct mt_block block = mt_pool_block(cell);

	mt_model_free(m->model, &block, m->now_ns);
	if (__builtin_expect(block.number < m->copied_before, 0))
		mt_block_copy_keep(m, cell);
	if (function)
		emit_end_of(m, r, cell, MT_EVENT_FREE, function, wire_node);
	else if (__builtin_expect(wire_node < MT_FUNCTION_COUNT, 1))
		emit(m, r, cell, MT_EVENT_FREE, (uint8_t)wire_node, 0);
	else
		emit_end(m, r, cell, MT_EVENT_FREE, wire_node);
}

/* An allocation whose block the next event of its ring ends, but not before another ring's. False:
 * it is to be treated as any other. */
HOT bool open_block(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d)
{
	struct mt_live_table_open *open = m->one_by_one || r->open
		? NULL
		: mt_live_table_open(&m->live, mt_event_slot(m, r), d->pointer);

	if (!open)
		return false;
	open->cell = mt_event_begin(m, r, d->pointer, d->size, mt_id_map_group(&m->tables, d->node),
		false);
	emit(m, r, &open->cell, MT_EVENT_ALLOCATE, 0, 0);
	r->open = open;
	return true;
}

/* The same where it does not come by the millions. */
static __attribute__((noinline)) void on_other_allocation(struct mt_merge *m, struct mt_ring *r,
	const struct mt_decoded *d, unsigned nesting, const struct mt_release *reallocated)
{
	on_allocation(m, r, d, nesting, reallocated);
}

/* False: others have looked for the block, and it is in the table. */
HOT bool end_open_block(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d)
{
	const struct mt_pool_cell *cell = mt_live_table_close(&m->live, r->open, d->pointer);

	r->open = NULL;
	if (cell)
		end_block(m, r, cell, MT_FUNCTION_NONE, d->node);
	return cell != NULL;
}

/* A signal handler of the parent may have forked between the two halves of a realloc. */
static bool may_lack_release(const struct mt_merge *m)
{
	return m->model->profile->info.origin == MT_ORIGIN_FORKED;
}

static struct mt_release *close_release(struct mt_merge *m, struct mt_ring *r)
{
	if (r->release_count)
		return &r->releases[--r->release_count];
	m->model->profile->info.invalid_records += !may_lack_release(m);
	return NULL;
}

/* ---- the life of a block: by address, and while it is released in its ring's releases ---- */

/* A record that ends, releases or restores the block at an address. */
struct change {
	struct mt_merge *m;
	struct mt_ring *r;
	uint64_t address, stamp;
	uint32_t node;
	unsigned nesting;
	struct mt_live_table_place *place;
	unsigned domain, function; /* the function: as of end_block */
};

/* Its allocation may have to come first. */
static __attribute__((noinline)) struct mt_pool_cell *fetch_of(struct mt_merge *m, unsigned domain,
	uint64_t address, uint64_t stamp, unsigned nesting, struct mt_live_table_place *place)
{
	return mt_merge_fetch(m, domain, address, stamp, true, nesting)
		? mt_live_table_look_up(mt_merge_blocks(m, domain), address, place)
		: NULL;
}

static __attribute__((noinline)) struct mt_pool_cell *fetch_block(struct mt_merge *m,
	uint64_t address, uint64_t stamp, unsigned nesting, struct mt_live_table_place *place)
{
	return fetch_of(m, MT_DOMAIN_HEAP, address, stamp, nesting, place);
}

HOT void *find(void *of, enum mt_block_state state)
{
	struct change *c = of;
	struct mt_release *open;
	struct mt_pool_cell *found;

	if (state == MT_BLOCK_LIVE) {
		found = mt_live_table_look_up(mt_merge_blocks(c->m, c->domain), c->address,
			c->place);
		if (__builtin_expect(found != NULL, 1))
			return found;
		return c->domain == MT_DOMAIN_HEAP
			? fetch_block(c->m, c->address, c->stamp, c->nesting, c->place)
			: fetch_of(c->m, c->domain, c->address, c->stamp, c->nesting, c->place);
	}
	open = close_release(c->m, c->r);
	return open && open->known ? open : NULL;
}

/* left by longjmp: the oldest will not be completed */
static struct mt_release *open_release(struct mt_ring *r)
{
	if (r->release_count == MT_RING_RELEASES)
		memmove(r->releases, r->releases + 1, --r->release_count * sizeof *r->releases);
	r->releases[r->release_count] = (struct mt_release){0};
	return &r->releases[r->release_count++];
}

/* Only a block's end can name one that is not known: a restore that does was counted, or is that of
 * such a block. */
HOT int refuse(void *of, enum mt_block_change change)
{
	const struct change *c = of;

	if (change == MT_BLOCK_RELEASE)
		open_release(c->r);
	if (change == MT_BLOCK_RESTORE)
		return 0;
	if (c->function)
		unknown_free_of(c->m, c->r, c->address, c->function, c->node);
	else
		unknown_free(c->m, c->r, c->address, c->node);
	return 0;
}

/* Where the restored block was. */
static void evict(void *of, void *released)
{
	const struct change *c = of;
	const struct mt_release *open = released;

	if (mt_live_table_has(mt_merge_blocks(c->m, open->domain), open->cell.address))
		imply_end(c->m, c->r, open->domain, open->cell.address);
}

static void release(struct change *c, const struct mt_pool_cell *cell)
{
	struct mt_release *open = open_release(c->r);
	struct mt_block block = mt_pool_block(cell);

	mt_model_release(c->m->model, &block, c->m->now_ns);
	if (__builtin_expect(block.number < c->m->copied_before, 0))
		mt_block_copy_keep(c->m, cell);
	*open = (struct mt_release){
		.known = true,
		.temporary = block.temporary,
		.domain = (uint8_t)c->domain,
		.cell = *cell,
		.next_number = c->m->next_number,
		.time_ns = c->m->now_ns,
	};
	if (c->function)
		emit_end_of(c->m, c->r, cell, MT_EVENT_RELEASE, c->function, c->node);
	else if (c->node < MT_NODE_FIRST)
		emit(c->m, c->r, cell, MT_EVENT_RELEASE, mt_id_map_kind(&c->m->tables, c->node), 0);
	else
		emit_end(c->m, c->r, cell, MT_EVENT_RELEASE, c->node);
}

static void restore(struct mt_merge *m, const struct mt_ring *r, const struct mt_release *open)
{
	struct mt_block block = mt_pool_block(&open->cell);

	block.temporary = open->temporary;
	mt_merge_note_restore(m, open);
	mt_model_restore(m->model, &block, m->now_ns);
	emit(m, r, &open->cell, MT_EVENT_RESTORE, 0, 0);
}

/* Its free was lost. Of a pool's block the program need not have told, as when an arena is emptied
 * at once, or a child of vfork has taken it. */
static void note_implied(struct mt_merge *m, const struct mt_ring *r, unsigned domain,
	const struct mt_pool_cell *cell)
{
	struct mt_block block = mt_pool_block(cell);

	mt_model_free(m->model, &block, m->now_ns);
	if (block.number < m->copied_before)
		mt_block_copy_keep(m, cell);
	emit(m, r, cell, MT_EVENT_IMPLIED_FREE, MT_FUNCTION_FREE, 0);
	if (domain == MT_DOMAIN_POOL) {
		m->model->profile->info.counters[MT_COUNTER_UNTOLD_FREES]++;
		return;
	}
	m->model->profile->info.implied_frees++;
	mt_merge_note_lossy(m); /* where one was lost, others may have been */
}

HOT int act(void *of, void *block, enum mt_block_change change)
{
	struct change *c = of;

	switch (change) {
	case MT_BLOCK_END: end_block(c->m, c->r, block, c->function, c->node); break;
	case MT_BLOCK_IMPLIED_END: note_implied(c->m, c->r, c->domain, block); break;
	case MT_BLOCK_RELEASE: release(c, block); break;
	case MT_BLOCK_RESTORE: restore(c->m, c->r, block); break;
	case MT_BLOCK_CONTINUE: break; /* on_allocation tells of both blocks at once */
	}
	return 0;
}

HOT void move(void *of, void *block, enum mt_block_state state)
{
	struct change *c = of;
	const struct mt_release *open = block;

	if (state != MT_BLOCK_LIVE) {
		mt_live_table_remove_at(mt_merge_blocks(c->m, c->domain), c->address, c->place);
		return;
	}
	mt_live_table_insert(mt_merge_blocks(c->m, open->domain), &open->cell);
}

static const struct mt_block_table by_address = {find, refuse, evict, act, move};

static void imply_end(struct mt_merge *m, struct mt_ring *r, unsigned domain, uint64_t address)
{
	struct mt_live_table_place place;
	struct change c = {.m = m, .r = r, .address = address, .place = &place, .domain = domain};

	mt_block_change(&by_address, &c, MT_BLOCK_IMPLIED_END);
}

/* Of a record of the heap: change is constant. */
HOT void on_change(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	unsigned nesting, enum mt_block_change change)
{
	struct mt_live_table_place place;
	struct change c = {m, r, d->pointer, d->time, d->node, nesting, &place, MT_DOMAIN_HEAP,
		MT_FUNCTION_NONE};

	mt_block_change(&by_address, &c, change);
}

/* An event of another domain. */
static __attribute__((noinline)) void on_domain(struct mt_merge *m, struct mt_ring *r,
	const struct mt_decoded *d, unsigned nesting)
{
	unsigned domain = mt_ring_domain(d->function);
	struct mt_live_table_place place;
	struct change c = {m, r, d->pointer, d->time, d->node, nesting, &place, domain,
		d->function};
	struct mt_release *open = NULL;
	struct mt_extensions x;

	mt_merge_make_blocks(m, domain);
	m->model->profile->info.events++;
	switch (d->type) {
	case MT_DECODED_DOMAIN_FREE: mt_block_change(&by_address, &c, MT_BLOCK_END); return;
	case MT_DECODED_DOMAIN_RELEASE: mt_block_change(&by_address, &c, MT_BLOCK_RELEASE); return;
	case MT_DECODED_DOMAIN_REALLOC: open = close_release(m, r); break;
	}
	mt_ring_extensions(r, r->consumed, d->end, &x);
	if (x.paused && open && !open->known)
		return; /* as on_extended */
	begin_block(m, r, domain, d, nesting, open);
}

static void on_reallocation(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	unsigned nesting)
{
	on_other_allocation(m, r, d, nesting, close_release(m, r));
}

/* An allocation or a reallocation of which there is more to know. */
static void on_extended(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	unsigned nesting)
{
	bool again = d->type == MT_DECODED_REALLOC;
	struct mt_release *open = again ? close_release(m, r) : NULL;
	struct mt_extensions x;

	mt_ring_extensions(r, r->consumed, d->end, &x);
	m->model->profile->info.events++;
	if (again && x.paused && open && !open->known)
		return; /* of a block that was not recorded: nor is this one, in a pause */
	on_other_allocation(m, r, d, nesting, open);
	if (!x.has_usable || x.usable > MT_BLOCK_BYTES_MAX)
		return;
	struct mt_live_table_place place;
	const struct mt_pool_cell *b = mt_live_table_look_up(&m->live, d->pointer, &place);

	if (b) {
		mt_slack_note(&m->slack, &m->live, b, x.usable, m->segment);
		emit_note(m, r, MT_NOTE_USABLE, x.usable);
	}
}

static void on_thread(struct mt_merge *m, struct mt_ring *r, uint32_t index)
{
	uint32_t thread = mt_id_map_thread(&m->tables, index);

	if (r->has_thread && thread != r->thread)
		r->release_count = 0;
	r->thread = thread;
	r->has_thread = true;
}

/* What is not one of the plain records; false for these, which only lacked a thread. */
static bool consume_other(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	unsigned nesting)
{
	if (d->type == MT_DECODED_THREAD) {
		on_thread(m, r, d->node);
		return true;
	}
	if (d->type == MT_DECODED_INVALID) {
		m->model->profile->info.invalid_records++;
		return true;
	}
	if (!r->has_thread) {
		m->model->profile->info.invalid_records++;
		r->thread = mt_id_map_unknown_thread(&m->tables);
		r->has_thread = true;
	}
	if (d->type >= MT_DECODED_GAP)
		mt_mark_consume(m, r, d);
	else if (d->type >= MT_DECODED_DOMAIN_ALLOC)
		on_domain(m, r, d, nesting);
	else if (d->type >= MT_DECODED_ALLOC)
		on_extended(m, r, d, nesting);
	return d->type >= MT_DECODED_THREAD;
}

/* An allocation of a size that cannot be. It is left out; what it reallocates has ended. */
static bool is_oversized(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d)
{
	bool again = d->type == MT_RECORD_REALLOC || d->type == MT_DECODED_REALLOC
		|| d->type == MT_DECODED_DOMAIN_REALLOC;

	if ((!again && d->type != MT_RECORD_ALLOC && d->type != MT_DECODED_ALLOC
		    && d->type != MT_DECODED_DOMAIN_ALLOC)
		|| mt_model_has_room(m->model, d->size))
		return false;
	if (again)
		close_release(m, r);
	m->model->profile->info.counters[MT_COUNTER_OVERSIZED_BLOCKS]++;
	return true;
}

void mt_event_consume(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	unsigned nesting)
{
	if (r->open) { /* for its end, which comes before its turn; or the ring is damaged */
		mt_live_table_drop(&m->live, r->open);
		r->open = NULL;
	}
	mt_event_set_time(m, d->time);
	if (__builtin_expect(d->size >= MT_SIZE_EXTENDED, 0) && is_oversized(m, r, d))
		return;
	if (__builtin_expect(d->type >= MT_DECODED_THREAD || !r->has_thread, 0)
		&& consume_other(m, r, d, nesting))
		return;
	m->model->profile->info.events++;
	switch (d->type) {
	case MT_RECORD_ALLOC: on_other_allocation(m, r, d, nesting, NULL); break;
	case MT_RECORD_FREE: on_change(m, r, d, nesting, MT_BLOCK_END); break;
	case MT_RECORD_RELEASE: on_change(m, r, d, nesting, MT_BLOCK_RELEASE); break;
	case MT_RECORD_REALLOC: on_reallocation(m, r, d, nesting); break;
	case MT_RECORD_RESTORE: on_change(m, r, d, nesting, MT_BLOCK_RESTORE); break;
	}
}

/* Runs one ring; returns the stamp of a plain record that comes after bound, or 0: what is next is
 * another, or nothing. */
HOT uint64_t run_ring(struct mt_merge *m, struct mt_ring *r, uint64_t bound)
{
	uint64_t limit = r->limit;

	while (r->has_thread && r->decoded < limit) { /* beyond it in a damaged ring */
		struct mt_wire_record record = mt_ring_read(r, r->decoded);
		unsigned type = mt_wire_record_type(&record);
		struct mt_decoded d = {
			.time = r->time + mt_wire_record_delta(&record),
			.node = mt_wire_record_node(&record),
			.pointer = mt_wire_record_pointer(&record) << 3,
			.size = mt_wire_record_size(&record),
		};
		enum mt_pairing pairing;

		if (!mt_ring_is_plain(&record) || type > MT_RECORD_FREE)
			return 0;
		if (d.time > bound)
			return d.time;
		pairing = type == MT_RECORD_ALLOC ? mt_pairs_begin(r, &record, limit, bound)
						  : MT_PAIR_NONE;
		if (pairing == MT_PAIR_WHOLE && mt_pairs_run(m, r, limit, bound))
			continue;
		if (pairing == MT_PAIR_DIVIDED && m->writer && !m->one_by_one
			&& mt_thread_runs_take(m, d.time))
			return 0;
		mt_event_step(m, r, d.time, bound);
		if (type == MT_RECORD_FREE && (!r->open || !end_open_block(m, r, &d)))
			on_change(m, r, &d, 0, MT_BLOCK_END);
		else if (type == MT_RECORD_ALLOC
			&& (pairing != MT_PAIR_DIVIDED || !open_block(m, r, &d)))
			on_allocation(m, r, &d, 0, NULL);
	}
	return 0;
}

/* The ring whose event is next, where the one before waits until time; NULL: it is not for
 * mt_event_run to go on. */
HOT struct mt_ring *turn(struct mt_merge *m, uint64_t time, uint64_t *bound)
{
	struct mt_ring *r;

	if (time > m->horizon || m->between_due || m->halted)
		return NULL;
	mt_order_delay(&m->order, time);
	r = &m->rings[m->order.entries->ring];
	*bound = mt_order_second(&m->order, m->horizon);
	return r->ready || r->consumed >= r->first_head ? NULL : r;
}

void mt_event_run(struct mt_merge *m, struct mt_ring *r, uint64_t bound)
{
	uint64_t time;

	do {
		r->busy = true;
		time = run_ring(m, r, bound);
		r->consumed = r->decoded;
		r->busy = false;
		if (r->consumed - r->published_tail >= MT_RING_STEP)
			mt_merge_step(m, r);
	} while (time && (r = turn(m, time, &bound)));
}
