#include "core/capture/merge.h"
#include "core/capture/events.h"
#include "core/capture/ring.h"
#include "core/capture/thread_runs.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCK_EVENTS 65536
#define WAKE_STEPS 8             /* of the tail, for one wake of those who wait for room */
#define COUNTER_MAX (1ull << 44) /* more than a program can count in a year */
/* ns for each live block, between two sums of the slack: less than a hundredth of the time */
#define SLACK_EVERY 4096
#define FUTURE_WINDOWS 200000 /* a second */
#define NESTING 16            /* predecessors of predecessors */
/* records looked at for predecessors in one poll: a damaged segment ends there */
#define PATIENCE (4u << 20)

const struct mt_source_facts mt_segment_facts = {
	.late_ns = UINT64_MAX,
	.resolution_ns = MT_RESOLUTION_NS,
	.loss = MT_SOURCE_LOSS_COUNTED,
	.domains = MT_SOURCE_HEAP | MT_SOURCE_POOLS | MT_SOURCE_MAPPINGS,
};

void mt_merge_init(struct mt_merge *m, struct mt_segment *s, const struct mt_timebase *clock,
	struct mt_model *model)
{
	*m = (struct mt_merge){
		.segment = s,
		.clock = clock,
		.model = model,
		.block_events = BLOCK_EVENTS,
	};
	model->profile->info.resolution_ns = mt_segment_facts.resolution_ns;
	model->profile->info.clock = clock->kind + 1;
	m->window = clock->scale ? ((uint64_t)MT_MERGE_WINDOW_NS << 32) / clock->scale
				 : MT_MERGE_WINDOW_NS;
	mt_id_map_init(&m->tables, s, model->profile);
	mt_live_table_init(&m->live);
}

void mt_merge_free(struct mt_merge *m)
{
	for (uint32_t i = 0; i < m->ring_count; i++)
		mt_ring_free(&m->rings[i]);
	mt_maps_free(&m->maps);
	mt_slack_free(&m->slack);
	mt_id_map_free(&m->tables);
	mt_live_table_free(&m->live);
	for (unsigned i = 0; i < MT_DOMAIN_COUNT; i++) {
		if (m->domains[i])
			mt_live_table_free(m->domains[i]);
		free(m->domains[i]);
	}
	mt_block_copy_end(m, false);
	mt_block_history_free(m->history);
	free(m->restores);
	mt_thread_runs_free(m->runs);
	free(m->rings);
	free(m->order.entries);
	*m = (struct mt_merge){0};
}

struct mt_live_table *mt_merge_make_blocks(struct mt_merge *m, unsigned domain)
{
	mt_assert(domain < MT_DOMAIN_COUNT);
	if (domain != MT_DOMAIN_HEAP && !m->domains[domain]) {
		m->domains[domain] = mt_alloc(sizeof *m->domains[domain]);
		mt_live_table_init(m->domains[domain]);
	}
	return mt_merge_blocks(m, domain);
}

uint32_t mt_merge_slice(struct mt_merge *m, struct mt_merge_walk *w, struct mt_pool_cell *blocks,
	uint32_t most)
{
	while (w->domain < MT_DOMAIN_COUNT) {
		struct mt_live_table *of = mt_merge_blocks(m, w->domain);
		uint32_t count = of ? mt_live_table_slice(of, &w->of, blocks, most) : 0;

		if (count || !most)
			return count;
		*w = (struct mt_merge_walk){.domain = w->domain + 1};
	}
	return 0;
}

/* ---- one ring -------------------------------------------------------------------------------- */

/* The ring's next event below limit, or NULL. */
static const struct mt_decoded *peek(struct mt_ring *r, uint64_t limit)
{
	if (!r->ready) {
		r->ready = mt_ring_decode(r, &r->decoded, limit, &r->time, &r->next);
		if (!r->ready)
			r->consumed = r->decoded; /* nothing but voids, or extensions of nothing */
	}
	return r->ready ? &r->next : NULL;
}

/* Only those whose ring has room now: the others would fall asleep again. */
void mt_merge_wake(struct mt_merge *m, uint32_t bits)
{
	struct mt_wire_header *h = m->segment->header;

	if (!__atomic_load_n(&h->waiters, __ATOMIC_ACQUIRE))
		return;
	__atomic_fetch_add(&h->room, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &h->room, FUTEX_WAKE_BITSET, 1 << 30, NULL, NULL, bits);
}

void mt_merge_step(struct mt_merge *m, struct mt_ring *r)
{
	mt_ring_advance(r);
	mt_segment_tick(m->segment);
	m->between_due |= m->slicing;
	/* not for every little room: they would fall asleep again */
	if (!(r->consumed / MT_RING_STEP % WAKE_STEPS))
		mt_merge_wake(m, mt_wire_room_bit((uint32_t)(r - m->rings)));
}

/* ---- predecessors ---------------------------------------------------------------------------- */

enum about { NOTHING, BEGINNING, END };

/* What an event says of a block's place: that a block begins there, or ends. */
static enum about about(const struct mt_decoded *d, unsigned domain, uint64_t address)
{
	if (d->pointer != address)
		return NOTHING;
	if (domain != MT_DOMAIN_HEAP && mt_ring_domain(d->function) != domain)
		return NOTHING;
	switch (d->type) {
	case MT_DECODED_DOMAIN_ALLOC:
	case MT_DECODED_DOMAIN_REALLOC: return domain != MT_DOMAIN_HEAP ? BEGINNING : NOTHING;
	case MT_DECODED_DOMAIN_FREE:
	case MT_DECODED_DOMAIN_RELEASE: return domain != MT_DOMAIN_HEAP ? END : NOTHING;
	case MT_RECORD_ALLOC:
	case MT_RECORD_REALLOC:
	case MT_RECORD_RESTORE:
	case MT_DECODED_ALLOC:
	case MT_DECODED_REALLOC: return BEGINNING;
	case MT_RECORD_FREE:
	case MT_RECORD_RELEASE: return END;
	}
	return NOTHING;
}

/* The position behind the event that must come first, if it is the ring's next about this address:
 * what lies behind another belongs to a later block. 0 = none. Its time goes to latest. */
static uint64_t look_in(struct mt_merge *m, const struct mt_ring *r, unsigned domain,
	uint64_t address, enum about wanted, uint64_t *latest)
{
	uint64_t position = r->decoded, time = r->time;
	enum about found = NOTHING;
	struct mt_decoded d;

	if (r->ready) {
		d = r->next;
		if (d.time > *latest)
			return 0;
		found = about(&d, domain, address);
	}
	while (!found && m->patience && mt_ring_decode(r, &position, r->second_head, &time, &d)
		&& d.time <= *latest) {
		m->patience--;
		found = about(&d, domain, address);
	}
	if (found != wanted)
		return 0;
	*latest = d.time;
	return d.end;
}

static void consume(struct mt_merge *m, struct mt_ring *r, const struct mt_decoded *d,
	unsigned nesting)
{
	r->busy = true; /* so d stays where it is */
	mt_event_consume(m, r, d, nesting);
	r->busy = r->ready = false;
	r->consumed = d->end;
	if (r->consumed - r->published_tail >= MT_RING_STEP)
		mt_merge_step(m, r);
}

/* The earliest one in all rings: within the window the address may have been freed and allocated
 * anew. */
bool mt_merge_fetch(struct mt_merge *m, unsigned domain, uint64_t address, uint64_t stamp,
	bool want_allocation, unsigned nesting)
{
	uint64_t latest = stamp + m->window, end = 0;
	struct mt_ring *in = NULL;

	if (m->ring_count < 2 || nesting >= NESTING || !m->patience)
		return false;
	for (uint32_t i = 0; i < m->ring_count; i++) {
		struct mt_ring *r = &m->rings[i];
		uint64_t found;

		if (r->busy || (!r->ready && r->decoded == r->second_head))
			continue;
		found = look_in(m, r, domain, address, want_allocation ? BEGINNING : END, &latest);
		if (found) {
			in = r;
			end = found;
		}
	}
	while (in && in->consumed < end) {
		const struct mt_decoded *first = peek(in, end);

		if (!first)
			break;
		consume(m, in, first, nesting + 1);
	}
	return in != NULL;
}

/* ---- all rings ------------------------------------------------------------------------------- */

/* A stamp far beyond what the clock showed when it was there is damage, and nothing to wait for. */
static bool is_due(const struct mt_merge *m, uint64_t time)
{
	return __builtin_expect(time <= m->horizon, 1) || (!m->bounds && time > m->future);
}

/* The stamp of the ring's next record where that is a plain one; it stays undecoded, for
 * mt_event_run. */
static inline bool plain_time(const struct mt_ring *r, uint64_t *time)
{
	struct mt_wire_record record;

	if (r->ready || r->decoded >= r->first_head)
		return false;
	record = mt_ring_read(r, r->decoded);
	*time = r->time + mt_wire_record_delta(&record);
	return mt_ring_is_plain(&record);
}

/* The stamp of the ring's next event of this batch; false: there is none. */
static bool next_time(struct mt_merge *m, struct mt_ring *r, uint64_t *time)
{
	const struct mt_decoded *d;

	if (plain_time(r, time))
		return is_due(m, *time);
	d = r->consumed < r->first_head ? peek(r, r->first_head) : NULL;
	if (d)
		*time = d->time;
	return d && is_due(m, d->time);
}

/* The order knows of some rings only that nothing comes before. */
void mt_merge_note_tie(struct mt_merge *m, const struct mt_ring *r, uint64_t time)
{
	for (uint32_t i = 0; i < m->order.count; i++) {
		struct mt_ring *other = &m->rings[m->order.entries[i].ring];
		uint64_t next;

		if (other == r || !next_time(m, other, &next) || next != time)
			continue;
		m->model->profile->info.ambiguous++;
		return;
	}
}

/* Brings the first ring's place up to date: it may have been consumed further as a predecessor. */
static void settle_first(struct mt_merge *m)
{
	uint64_t time;

	if (next_time(m, &m->rings[m->order.entries->ring], &time))
		mt_order_delay(&m->order, time);
	else
		mt_order_drop(&m->order);
}

/* Consumes what comes first, and on, up to an event of another ring that is not plain. */
static void run_first(struct mt_merge *m)
{
	while (!m->halted) {
		const struct mt_order_entry *first = m->order.entries;
		struct mt_ring *r = &m->rings[first->ring];
		uint64_t from = r->consumed, time;
		uint64_t bound = mt_order_second(&m->order,
			__builtin_expect(first->time > m->horizon, 0) ? UINT64_MAX : m->horizon);
		const struct mt_decoded *d;

		if (r->consumed >= r->first_head)
			return;
		if (__builtin_expect(m->between_due, 0)) {
			m->between(m->context);
			continue;
		}
		if (plain_time(r, &time) && time > bound)
			return;
		if (!r->ready)
			mt_event_run(m, r, bound);
		if (r->consumed != from)
			continue;
		d = peek(r, r->first_head);
		if (!d || d->time > bound)
			return;
		if (d->time == bound)
			mt_merge_note_tie(m, r, bound);
		consume(m, r, d, 0);
	}
}

static void arrange(struct mt_merge *m)
{
	m->order.count = 0;
	for (uint32_t i = 0; i < m->ring_count; i++) {
		uint64_t time;

		if (next_time(m, &m->rings[i], &time))
			mt_order_add(&m->order, i, time);
	}
	mt_order_arrange(&m->order);
}

/* A thread that was kept from running between an event's stamp and its publication brings it late:
 * the timeline may have passed it. */
static void reopen(struct mt_merge *m)
{
	if (m->order.count)
		mt_model_reopen(m->model, mt_clock_ns(m->clock, m->order.entries->time));
}

static void add_rings(struct mt_merge *m)
{
	uint32_t count = __atomic_load_n(&m->segment->header->ring_count, __ATOMIC_ACQUIRE);

	if (count > m->segment->rings.capacity)
		count = m->segment->rings.capacity;
	if (count <= m->ring_count)
		return;
	if (count > m->ring_capacity) {
		m->ring_capacity = count * 2;
		m->rings = mt_resize(m->rings, m->ring_capacity * sizeof *m->rings);
		m->order.entries =
			mt_resize(m->order.entries, m->ring_capacity * sizeof *m->order.entries);
	}
	for (; m->ring_count < count; m->ring_count++)
		mt_ring_init(&m->rings[m->ring_count], m->segment, m->ring_count);
}

/* Everything below the first heads has its predecessors below the second ones. */
static void read_heads(struct mt_merge *m)
{
	uint32_t known;

	add_rings(m);
	for (uint32_t i = 0; i < m->ring_count; i++)
		m->rings[i].first_head = mt_ring_head(&m->rings[i]);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	known = m->ring_count;
	add_rings(m);
	for (uint32_t i = 0; i < m->ring_count; i++) {
		struct mt_ring *r = &m->rings[i];

		if (i >= known)
			r->first_head = r->consumed;
		r->second_head = mt_ring_head(r);
		if (m->bounds && m->bounds->heads[i] < r->second_head)
			r->first_head = m->bounds->heads[i];
		if (r->second_head < r->first_head)
			r->second_head = r->first_head;
		mt_ring_limit(r);
		if (r->damaged) {
			r->damaged = false;
			m->model->profile->info.invalid_records++;
		}
	}
}

void mt_merge_halt(struct mt_merge *m)
{
	m->halted = true;
}

static void throw_away(struct mt_merge *m)
{
	read_heads(m);
	for (uint32_t i = 0; i < m->ring_count; i++) {
		struct mt_ring *r = &m->rings[i];

		r->ready = false;
		r->consumed = r->decoded = r->second_head;
		mt_ring_advance(r);
	}
	mt_merge_wake(m, FUTEX_BITSET_MATCH_ANY);
}

/* After the heads: before the first record was published it was known. */
static void heed_begin(struct mt_merge *m)
{
	uint32_t begin = __atomic_load_n(&m->segment->header->begin, __ATOMIC_ACQUIRE);
	bool paused = begin == MT_BEGIN_PAUSED;

	if (m->begun || begin == MT_BEGIN_ASKED)
		return;
	m->begun = true;
	if (paused != m->model->profile->info.paused)
		mt_merge_pause(m, paused, 0);
}

uint64_t mt_merge_poll(struct mt_merge *m)
{
	uint64_t records = 0, now;

	mt_segment_tick(m->segment);
	/* What was stamped before the heads were read has its predecessors below them, and in the
	 * order of stamps. Later events wait: of two rings the one may show more than the other,
	 * when this thread was kept from running. */
	m->horizon = m->bounds ? m->bounds->horizon : mt_clock_now(m->clock) - m->window;
	if (m->halted) {
		throw_away(m);
		return 0;
	}
	read_heads(m);
	heed_begin(m);
	/* not the horizon's: this thread may have been kept from running since */
	now = mt_clock_now(m->clock);
	m->future = now + m->window * FUTURE_WINDOWS;
	m->limit_ns = m->bounds ? UINT64_MAX : mt_clock_ns(m->clock, now);
	m->stamp_end = 0;
	m->stamps_per_ns = m->clock->scale ? UINT64_MAX / m->clock->scale : 0;
	m->patience = PATIENCE;
	arrange(m);
	reopen(m);
	for (uint32_t i = 0; i < m->ring_count; i++)
		records -= m->rings[i].consumed;
	while (m->order.count && !m->halted) {
		run_first(m);
		settle_first(m);
	}
	for (uint32_t i = 0; i < m->ring_count; i++) {
		records += m->rings[i].consumed;
		mt_ring_advance(&m->rings[i]);
	}
	mt_merge_wake(m, FUTEX_BITSET_MATCH_ANY);
	return records;
}

bool mt_merge_pending(const struct mt_merge *m)
{
	uint32_t count = __atomic_load_n(&m->segment->header->ring_count, __ATOMIC_ACQUIRE);

	if (count > m->ring_count && count <= m->segment->rings.capacity)
		return true;
	for (uint32_t i = 0; i < m->ring_count; i++)
		if (__atomic_load_n(&m->rings[i].shared->head, __ATOMIC_ACQUIRE)
				- m->rings[i].consumed - 1
			<= m->rings[i].mask)
			return true;
	return false;
}

void mt_merge_allocators(struct mt_merge *m)
{
	struct mt_info *info = &m->model->profile->info;
	uint64_t allocator = __atomic_load_n(&m->segment->header->allocator, __ATOMIC_RELAXED);
	uint64_t own = __atomic_load_n(&m->segment->header->own_allocator, __ATOMIC_RELAXED);

	if (allocator && !info->allocator)
		info->allocator = mt_id_map_module_path(&m->tables, allocator);
	if (m->own_forwards)
		info->own_allocator = 0;
	else if (own && !info->own_allocator)
		info->own_allocator = mt_id_map_module_path(&m->tables, own);
	if (own && !info->own_allocator && !m->own_forwards)
		info->own_allocator = mt_strings_add(&m->model->profile->strings, "the program");
	mt_blind_derive(m->model->profile);
}

/* Of frees that were lost without a mark nobody knows when: any time up to now. */
static void note_lossy(struct mt_merge *m)
{
	struct mt_info *info = &m->model->profile->info;

	if (info->counters[MT_COUNTER_UNTRACED_EVENTS] > m->untraced_events) {
		m->untraced_events = info->counters[MT_COUNTER_UNTRACED_EVENTS];
		mt_merge_note_lossy(m);
	}
	info->lossy_ns = m->lossy_ns;
	/* their gap is yet to come, or never will; such a library may free at any time */
	if (info->counters[MT_COUNTER_LOST_FREES] > m->gap_frees
		|| info->counters[MT_COUNTER_UNSEEN_LIBRARIES])
		info->lossy_ns = mt_merge_lossy_now(m);
}

void mt_merge_machine(struct mt_merge *m)
{
	struct mt_wire_machine said;
	struct mt_info *info = &m->model->profile->info;

	memcpy(&said, &m->segment->header->machine, sizeof said);
	if (said.page_bytes < MT_WIRE_PAGE || said.page_bytes & (said.page_bytes - 1)
		|| said.pointer_bits != 64 || said.address_bits < 32 || said.address_bits > 64
		|| said.big_endian || said.tag_mask)
		return; /* not written yet, or no tracer of ours wrote it */
	info->page_bytes = said.page_bytes;
	info->pointer_bits = said.pointer_bits;
	info->address_bits = said.address_bits;
}

void mt_merge_slack(struct mt_merge *m, bool must)
{
	uint64_t now = mt_clock_monotonic_ns();
	uint32_t rule = __atomic_load_n(&m->segment->header->usable_rule, __ATOMIC_RELAXED);
	struct mt_info *info = &m->model->profile->info;

	if (!must && now - m->slack_at < m->model->live_count * SLACK_EVERY)
		return;
	m->slack_at = now;
	/* what sampled blocks have beyond what was asked for is that of these alone */
	info->usable_rule =
		rule <= MT_USABLE_ALWAYS && !mt_info_is_sampled(info) ? rule : MT_USABLE_NONE;
	info->slack_bytes = mt_slack_sum(&m->slack, &m->live, m->model->profile, m->segment);
}

#define OWN_BYTES 4096 /* a malloc that passes calls on is not larger */

static bool is_allocation(uint32_t function)
{
	return function >= MT_FUNCTION_MALLOC && function <= MT_FUNCTION_NEW_ARRAY;
}

/* A malloc of the program's own that calls the next one is seen: recorded stacks begin in it. */
static void see_forwarding(struct mt_merge *m)
{
	const struct mt_profile *p = m->model->profile;
	uint64_t own = __atomic_load_n(&m->segment->header->own_allocator, __ATOMIC_RELAXED);

	if (!own || m->own_forwards)
		return;
	for (; m->nodes_looked < p->node_count && !m->own_forwards; m->nodes_looked++) {
		const struct mt_node *n = &p->nodes[m->nodes_looked];

		m->own_forwards = is_allocation(n->pc)
			&& p->pcs[p->nodes[n->parent].pc].address - own < OWN_BYTES;
	}
	if (m->own_forwards)
		m->model->profile->info.own_allocator = 0;
}

/* What makes no sense there is counted once, and never believed. */
static void take_notes(struct mt_merge *m)
{
	uint32_t senseless = mt_blind_notes_take(&m->notes, m->segment, m->model->profile);

	if (senseless > m->notes_senseless)
		m->model->profile->info.invalid_records += senseless - m->notes_senseless;
	m->notes_senseless = senseless;
	see_forwarding(m);
	mt_blind_derive(m->model->profile);
}

/* What threads have left out, as their rings say. */
static void count_left_out(struct mt_merge *m)
{
	struct mt_info *info = &m->model->profile->info;
	uint64_t count = 0, bytes = 0;

	for (uint32_t i = 0; i < m->ring_count; i++) {
		count += __atomic_load_n(&m->rings[i].shared->left_out, __ATOMIC_RELAXED);
		bytes += __atomic_load_n(&m->rings[i].shared->left_out_bytes, __ATOMIC_RELAXED);
	}
	if (count >= info->left_out && count < COUNTER_MAX && bytes >= info->left_out_bytes
		&& bytes < MT_SUM_BYTES_MAX) {
		info->left_out = count;
		info->left_out_bytes = bytes;
	} else
		info->invalid_records++;
}

void mt_merge_counters(struct mt_merge *m)
{
	struct mt_info *info = &m->model->profile->info;
	uint64_t lost;

	for (int i = 0; i < MT_COUNTER_COUNT; i++) {
		if (i == MT_COUNTER_OVERSIZED_BLOCKS || i == MT_COUNTER_UNTOLD_FREES)
			continue;
		uint64_t value =
			__atomic_load_n(&m->segment->header->counters[i], __ATOMIC_RELAXED);

		if (value >= info->counters[i] && value < COUNTER_MAX)
			info->counters[i] = value;
		else
			/* a damaged segment: what was last believed stands */
			info->invalid_records++;
	}
	lost = info->counters[MT_COUNTER_LOST_ALLOCATIONS] + info->counters[MT_COUNTER_LOST_FREES];
	if (lost < m->gap_lost)
		lost = m->gap_lost;
	lost += info->counters[MT_COUNTER_UNTRACED_EVENTS];
	info->lost_events = lost < info->implied_frees ? info->implied_frees : lost;
	info->cut_stacks = info->counters[MT_COUNTER_CUT_STACKS];
	if (mt_info_is_gated(info))
		count_left_out(m);
	note_lossy(m);
	take_notes(m);
}
