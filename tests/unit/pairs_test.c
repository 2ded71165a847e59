/* Blocks that live for one event of their thread, which the recorder takes two events at a time:
 * the same records, published one by one, are taken as single events, and come to the same trace
 * and the same totals. */
#define RINGS 20 /* more than there are slots for open blocks, and runs */

#include "core/capture/ring.h"
#include "core/model/replay.h"
#include "tests/unit/capture_fixture.h"
#include "tests/unit/copies.h"
#include "tests/unit/same_event.h"
#include "tests/unit/same_steps.h"

#include <sys/mman.h>
#include <unistd.h>

#define GROUPS 6
#define THREADS 3
#define STEPS 3000
#define LIVE 64
#define AHEAD_NS 5000000            /* steps of the timeline */
#define FREE_NODE (33 + 2 * GROUPS) /* the stack of a free */
#define POOL_NODE (FREE_NODE + 1)
#define POOL_FREE_NODE (FREE_NODE + 2)

struct recording {
	struct fixture *f;
	int fd;
	uint32_t flushes;
	uint64_t slack; /* over all polls */
	struct copies copies;
};

/* As the flight recorder does it, but more often. */
static void between(void *context)
{
	struct recording *r = context;

	copies_go_on(&r->copies, &r->f->merge, 1 + r->flushes % 7);
	r->f->merge.between_due = false;
}

static void flush(void *context)
{
	struct recording *r = context;
	const struct mt_info *info = &r->f->profile.info;
	const struct mt_trace_running running = {
		.live_bytes = r->f->model.live_bytes,
		.live_count = r->f->model.live_count,
		.allocations = info->allocations,
		.frees = info->frees,
		.peak_bytes = info->peak_bytes,
	};
	struct mt_err err;

	r->flushes++;
	r->f->merge.between_due = r->f->merge.history && r->flushes % 3;
	r->f->merge.unflushed = 0;
	assert_int_equal(mt_trace_writer_flush(r->f->merge.writer, &running, &err), 0);
}

/* one_by_one: no block is deferred, and no runs are taken. */
static void start(struct recording *r, uint32_t block_events, bool history, bool one_by_one)
{
	struct mt_err err;
	void *state;

	setup(&state);
	*r = (struct recording){.f = state, .fd = memfd_create("trace", MFD_CLOEXEC)};
	for (uint32_t i = 0; i < GROUPS; i++) {
		struct mt_wire_pc *pc = (void *)mt_segment_entry(&r->f->segment, pcs, 33 + i);

		*pc = (struct mt_wire_pc){.address = 0x402000 + i, .module = MT_NO_MODULE};
		*node_at(r->f, 33 + 2 * i) = (struct mt_wire_node){.pc = 33 + i};
		*node_at(r->f, 34 + 2 * i) =
			(struct mt_wire_node){.parent = 33 + 2 * i, .pc = MT_FUNCTION_MALLOC};
	}
	*node_at(r->f, FREE_NODE) = (struct mt_wire_node){.parent = 33, .pc = MT_FUNCTION_FREE};
	r->f->segment.header->pc_count = 33 + GROUPS;
	*node_at(r->f, POOL_NODE) = (struct mt_wire_node){.parent = 33, .pc = MT_FUNCTION_POOL};
	*node_at(r->f, POOL_FREE_NODE) =
		(struct mt_wire_node){.parent = 33, .pc = MT_FUNCTION_POOL_FREE};
	r->f->segment.header->node_count = POOL_FREE_NODE + 1;
	r->f->merge.writer = mt_trace_writer_new(dup(r->fd), &err);
	assert_non_null(r->f->merge.writer);
	if (history)
		mt_block_history_init(&r->f->merge);
	r->f->merge.block_events = block_events;
	r->f->merge.one_by_one = one_by_one;
	r->f->merge.flush = flush;
	r->f->merge.between = between;
	r->f->merge.context = r;
	drain(r->f); /* of the marks that name the threads */
}

static void end(struct recording *r)
{
	void *state = r->f;

	copies_free(&r->copies);
	mt_trace_writer_free(r->f->merge.writer);
	close(r->fd);
	teardown(&state);
}

/* What a program does, written as records to be published. */
struct script {
	uint64_t random, clock, last[RINGS];
	uint64_t live[LIVE], next_address, recent[8];
	uint32_t live_count, threads;
	uint32_t odd; /* one in so many is not as the others */
	bool faulty;  /* blocks are freed twice, and by others than those who will */
	bool at_once; /* the next record has the time of the one before */
};

static uint32_t below(struct script *s, uint32_t limit)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s->random >> 33) % limit;
}

static void record(struct fixture *f, struct script *s, uint32_t ring, unsigned type,
	uint64_t pointer, uint32_t size, bool one_by_one)
{
	uint32_t node = type == MT_RECORD_ALLOC
		? 34 + 2 * below(s, below(s, 9) ? 2 : GROUPS)
		: MT_FUNCTION_FREE + below(s, 20) / 19;

	if (type == MT_RECORD_FREE && !below(s, 3 * s->odd))
		node = FREE_NODE;
	/* most within a microsecond, some farther than a step of the timeline */
	if (!s->at_once)
		s->clock += 1 + (below(s, 200) ? below(s, 400) : below(s, 3000000));
	s->at_once = false;
	if (!s->last[ring])
		extend(f, ring, MT_EXTEND_TIME, f->clock.start + s->clock);
	put(f, ring,
		mt_wire_record_pack(type, s->last[ring] ? (uint32_t)(s->clock - s->last[ring]) : 0,
			node, pointer >> 3, size));
	s->last[ring] = s->clock;
	if (!one_by_one)
		return;
	publish(f, ring);
	mt_merge_poll(&f->merge);
}

/* Blocks of a pool at addresses at which the heap may have blocks, too. Each ring has its own. */
static void record_pool(struct fixture *f, struct script *s, uint32_t ring, bool one_by_one)
{
	uint64_t key = ((uint64_t)ring << 20) + 0x10000 + 64 * below(s, 40);
	uint32_t what = below(s, 8), last = MT_RECORD_ALLOC;
	uint32_t size = below(s, 500);

	if (what > 3 || what < 2)
		last = what < 2 ? MT_RECORD_REALLOC : MT_RECORD_FREE;
	s->clock += 1 + below(s, 400);
	if (last == MT_RECORD_REALLOC) {
		extend(f, ring, MT_EXTEND_TIME, f->clock.start + s->clock);
		extend_pointer(f, ring, key, MT_FUNCTION_POOL);
		put(f, ring,
			mt_wire_record_pack(MT_RECORD_RELEASE, 0, MT_FUNCTION_POOL,
				MT_POINTER_EXTENDED, 0));
		key += 64 * below(s, 3);
	}
	extend(f, ring, MT_EXTEND_TIME, f->clock.start + s->clock);
	extend_pointer(f, ring, key,
		last == MT_RECORD_FREE ? MT_FUNCTION_POOL_FREE : MT_FUNCTION_POOL);
	put(f, ring,
		mt_wire_record_pack(last, 0,
			last != MT_RECORD_FREE ? POOL_NODE
				: below(s, 3)  ? (uint32_t)MT_FUNCTION_POOL_FREE
					       : POOL_FREE_NODE,
			MT_POINTER_EXTENDED, last == MT_RECORD_FREE ? 0 : size));
	s->last[ring] = s->clock;
	if (!one_by_one)
		return;
	publish(f, ring);
	mt_merge_poll(&f->merge);
}

/* What another thread does to the block that this one allocated just now and will free next. */
static void interfere(struct fixture *f, struct script *s, uint32_t ring, uint64_t address)
{
	uint32_t other = (ring + 1) % s->threads;

	switch (below(s, 4)) {
	case 0: record(f, s, other, MT_RECORD_FREE, address, 0, false); break;
	case 1: record(f, s, other, MT_RECORD_ALLOC, address, below(s, 500), false); break;
	case 2:
		record(f, s, other, MT_RECORD_RELEASE, address, 0, false);
		record(f, s, other, MT_RECORD_REALLOC, address + 16, below(s, 500), false);
		break;
	case 3: /* the end of what it then begins itself comes first */
		record(f, s, other, MT_RECORD_ALLOC, address, below(s, 500), false);
		record(f, s, other, MT_RECORD_FREE, address, 0, false);
		break;
	}
}

/* One allocation, which may be freed at once, or by a later step; some take a live block's address,
 * whose free was lost: with one thread, since else it might be another's that comes later. */
static void step(struct fixture *f, struct script *s, bool one_by_one)
{
	uint32_t ring = below(s, 10) ? 0 : below(s, s->threads), what = below(s, 20);
	uint32_t slot = below(s, 8);
	uint64_t address = s->recent[slot];

	if (!below(s, 12))
		record_pool(f, s, ring, one_by_one);
	if (what >= 17 && s->live_count) {
		uint32_t at = below(s, s->live_count);

		record(f, s, ring, MT_RECORD_FREE, s->live[at], 0, one_by_one);
		s->recent[slot] = s->live[at];
		s->live[at] = s->live[--s->live_count];
		return;
	}
	if (!address)
		address = s->next_address += 64;
	s->recent[slot] = 0;
	if (what == 16 && s->live_count && (s->threads == 1 || s->faulty))
		address = s->live[below(s, s->live_count)];
	record(f, s, ring, MT_RECORD_ALLOC, address, below(s, 500), one_by_one);
	if (s->faulty && what < 12 && below(s, 2))
		interfere(f, s, ring, address);
	else if (s->faulty && what < 12) /* divides the pair, and leaves it alone */
		record(f, s, (ring + 1) % s->threads, MT_RECORD_FREE, 0x8000, 0, one_by_one);
	if (what < 12) {
		record(f, s, ring, MT_RECORD_FREE, address, 0, one_by_one);
		s->recent[slot] = address;
	} else if (s->live_count < LIVE) {
		s->live[s->live_count++] = address;
	}
}

/* As where the heads are read one after the other: of each ring some that is published waits for
 * the next poll, unless it has to come before what does not. */
static void poll_in_part(struct fixture *f, struct script *s)
{
	uint64_t heads[RINGS];
	const struct mt_merge_bounds bounds = {.heads = heads,
		.horizon = f->clock.start + s->clock};

	for (uint32_t i = 0; i < RINGS; i++)
		heads[i] = f->head[i] - below(s, i < s->threads ? 50 : 1);
	f->merge.bounds = &bounds;
	mt_merge_poll(&f->merge);
	f->merge.bounds = NULL;
	for (uint32_t i = 0; i < RINGS; i++)
		assert_true(f->merge.rings[i].consumed <= f->head[i]);
}

/* one_by_one: nothing is published with what follows it. */
static void play(struct recording *r, uint64_t seed, bool one_by_one, bool faulty)
{
	struct script s = {.random = seed,
		.clock = 1000,
		.next_address = 0x10000,
		.threads = faulty ? THREADS : 1 + seed % THREADS,
		.odd = 10,
		.faulty = faulty};

	for (uint32_t i = 0; i < STEPS; i++) {
		step(r->f, &s, one_by_one);
		if (i % 500 != 499)
			continue;
		for (uint32_t ring = 0; ring < THREADS; ring++)
			publish(r->f, ring);
		if (faulty)
			poll_in_part(r->f, &s);
		drain(r->f);
		/* as the recorder does when it publishes: what comes then may have older stamps */
		mt_model_advance(&r->f->model, s.clock + below(&s, 2) * AHEAD_NS, 0);
	}
	if (r->f->merge.unflushed)
		flush(r);
}

struct events {
	struct mt_event *events;
	uint32_t count, capacity;
};

static int keep_event(void *context, const struct mt_event *e)
{
	struct events *all = context;

	if (all->count == all->capacity) {
		all->capacity = all->capacity ? 2 * all->capacity : 1024;
		all->events = mt_resize(all->events, all->capacity * sizeof *e);
	}
	all->events[all->count++] = *e;
	return 0;
}

static struct events read_events(struct mt_trace_reader *r)
{
	struct events all = {0};
	struct mt_err err;

	for (uint32_t i = 0; i < mt_trace_reader_count(r); i++)
		assert_int_equal(mt_trace_reader_events(r, i, keep_event, &all, &err), 0);
	return all;
}

static void compare_blocks(struct mt_trace_reader *a, struct mt_trace_reader *b)
{
	assert_int_equal(mt_trace_reader_count(a), mt_trace_reader_count(b));
	for (uint32_t i = 0; i < mt_trace_reader_count(a); i++) {
		const struct mt_trace_block *left = mt_trace_reader_block(a, i);
		const struct mt_trace_block *right = mt_trace_reader_block(b, i);

		assert_int_equal(left->event_count, right->event_count);
		assert_int_equal(left->first_ns, right->first_ns);
		assert_int_equal(left->last_ns, right->last_ns);
		assert_memory_equal(&left->running, &right->running, sizeof left->running);
	}
}

/* The steps are those in which the events happened, as one who replays the trace counts them. */
static void compare_steps(const struct mt_profile *p, const struct events *events)
{
	struct mt_profile q = *p;
	struct mt_replay r;

	q.info = (struct mt_info){0};
	q.groups = mt_alloc(p->group_count * sizeof *q.groups);
	q.threads = mt_alloc(p->thread_count * sizeof *q.threads);
	q.samples = NULL;
	q.free_sites = NULL;
	q.sample_count = q.sample_capacity = q.free_site_count = q.free_site_capacity = 0;
	mt_replay_init(&r, &q);
	assert_int_equal(mt_replay_events(&r, events->events, NULL, events->count), 0);
	mt_model_settle(&r.model);
	assert_same_steps(&q, p);
	mt_replay_free(&r);
	free(q.groups);
	free(q.threads);
	free(q.samples);
	free(q.free_sites);
}

/* As they are read: what lies in the file may stand in another order. Where it is the writer that
 * closes blocks, a pair or a run may begin the next. */
static void compare_traces(struct recording *a, struct recording *b)
{
	struct mt_err err;
	struct mt_trace_reader *left = mt_trace_reader_open_fd(dup(a->fd), "left", &err);
	struct mt_trace_reader *right = mt_trace_reader_open_fd(dup(b->fd), "right", &err);
	struct events of_left, of_right;

	assert_true(left && right);
	if (a->f->merge.block_events <= 65536)
		compare_blocks(left, right);
	of_left = read_events(left);
	of_right = read_events(right);
	assert_int_equal(of_left.count, of_right.count);
	for (uint32_t at = 0; at < of_left.count; at++)
		assert_same_event(&of_left.events[at], &of_right.events[at]);
	compare_steps(&a->f->profile, &of_left);
	if (a->f->merge.history) {
		copies_finish(&a->copies, &a->f->merge);
		copies_finish(&b->copies, &b->f->merge);
		copies_compare(&a->copies, of_left.events, of_left.count, RINGS + 2);
		copies_compare(&b->copies, of_left.events, of_left.count, RINGS + 2);
	}
	free(of_left.events);
	free(of_right.events);
	mt_trace_reader_free(left);
	mt_trace_reader_free(right);
}

static void compare(struct recording *a, struct recording *b)
{
	struct mt_profile *p = &a->f->profile, *q = &b->f->profile;

	p->info.start_unix_ns = q->info.start_unix_ns;
	assert_memory_equal(&p->info, &q->info, sizeof p->info);
	assert_int_equal(p->group_count, q->group_count);
	assert_memory_equal(p->groups, q->groups, p->group_count * sizeof *p->groups);
	assert_int_equal(a->f->model.thread_capacity, b->f->model.thread_capacity);
	/* which was the last is seen by what is temporary: it is another number where its block has
	 * ended in a batch of runs */
	for (uint32_t i = 0; i < a->f->model.thread_capacity; i++)
		assert_int_equal(a->f->model.threads[i].sequence, b->f->model.threads[i].sequence);
	assert_int_equal(a->f->model.now_ns, b->f->model.now_ns);
	assert_int_equal(a->f->merge.now_ns, b->f->merge.now_ns);
	assert_int_equal(a->f->merge.next_number, b->f->merge.next_number);
	assert_int_equal(p->step_ns, q->step_ns);
	assert_int_equal(p->sample_count, q->sample_count);
	assert_memory_equal(p->samples, q->samples, p->sample_count * sizeof *p->samples);
	assert_int_equal(a->flushes, b->flushes);
	compare_traces(a, b);
}

static void pairs_are_two_events(void **state)
{
	uint64_t temporary = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct recording together, alone;

		start(&together, (uint32_t)(seed % 2 ? 65536 : 3 + seed % 60), seed % 4 < 2, false);
		start(&alone, together.f->merge.block_events, seed % 4 < 2, false);
		play(&together, seed, false, false);
		play(&alone, seed, true, false);
		temporary += together.f->profile.info.temporary_count;
		assert_int_equal(together.f->profile.info.invalid_records, 0);
		compare(&together, &alone);
		end(&together);
		end(&alone);
	}
	assert_true(temporary > 40 * STEPS / 2);
}

/* A block that its thread frees next, but not before another thread has done something, stays out
 * of the table of live ones: unless that something is about its address. One by one, it is in the
 * table at once. */
static void divided_pairs_are_found(void **state)
{
	uint64_t implied = 0, unknown = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct recording open, entered;

		start(&open, (uint32_t)(seed % 2 ? 65536 : 40 + seed), seed % 3, false);
		start(&entered, open.f->merge.block_events, seed % 3, true);
		play(&open, seed, false, true);
		play(&entered, seed, false, true);
		implied += open.f->profile.info.implied_frees;
		unknown += open.f->profile.info.unknown_frees;
		compare(&open, &entered);
		end(&open);
		end(&entered);
	}
	assert_true(implied > 40 && unknown > 40);
}

/* ---- rings that alternate ---- */

/* Threads that allocate at once, each by itself: most blocks end by their thread's next event, some
 * stay for a while. */
struct crowd {
	struct script s;
	uint64_t open[RINGS], kept[RINGS], freed[RINGS], next[RINGS];
	uint64_t before[RINGS]; /* head before the last event */
	bool shares;            /* one heap, as with other allocators */
	bool faulty;            /* frees are lost */
};

static bool is_used(const struct crowd *c, uint64_t address)
{
	for (uint32_t ring = 0; ring < RINGS; ring++)
		if (c->open[ring] == address || c->kept[ring] == address)
			return true;
	return false;
}

static uint64_t new_address(struct crowd *c, uint32_t ring)
{
	uint32_t heap = c->shares ? 0 : ring;
	uint64_t address = c->freed[heap];

	while (!address || is_used(c, address))
		address = 0x100000ull * (heap + 1) + 16 * (c->next[heap]++ % 60);
	return address;
}

/* A block whose free is lost, so that its address comes again; or a pair where another ring has a
 * block. */
static void lose(struct fixture *f, struct crowd *c, uint32_t ring)
{
	uint64_t address = c->open[below(&c->s, c->s.threads)];

	if (c->open[ring])
		return;
	if (below(&c->s, 2)) {
		c->freed[ring] = new_address(c, ring);
		record(f, &c->s, ring, MT_RECORD_ALLOC, c->freed[ring], 100, false);
	} else if (address) {
		record(f, &c->s, ring, MT_RECORD_ALLOC, address, 100, false);
		record(f, &c->s, ring, MT_RECORD_FREE, address, 0, false);
	}
}

static void put_next(struct fixture *f, struct crowd *c, uint32_t ring)
{
	struct script *s = &c->s;

	c->before[ring] = f->head[ring];
	if (c->faulty && !below(s, 60))
		lose(f, c, ring);
	if (c->open[ring]) {
		record(f, s, ring, MT_RECORD_FREE, c->open[ring], 0, false);
		c->freed[c->shares ? 0 : ring] = below(s, 2) ? c->open[ring] : 0;
		c->open[ring] = 0;
	} else if (c->kept[ring] && !below(s, 4)) {
		record(f, s, ring, MT_RECORD_FREE, c->kept[ring], 0, false);
		c->kept[ring] = 0;
	} else {
		uint64_t address = new_address(c, ring);
		bool keeps = !c->kept[ring] && !below(s, s->odd);

		if (keeps ? below(s, 2) : below(s, s->odd)) {
			record(f, s, ring, MT_RECORD_ALLOC, address, 8 + below(s, 300), false);
		} else { /* of two records */
			extend(f, ring, MT_EXTEND_SIZE, 1u << 20);
			record(f, s, ring, MT_RECORD_ALLOC, address, MT_SIZE_EXTENDED, false);
		}
		if (keeps)
			c->kept[ring] = address;
		else
			c->open[ring] = address;
	}
}

/* Up to a moment that is not the last event's, and not all that is published before it, as where
 * the recorder looks while the program goes on. */
static void poll_up_to_now(struct recording *r, struct crowd *c)
{
	uint64_t heads[RINGS];
	const struct mt_merge_bounds bounds = {.heads = heads,
		.horizon = r->f->clock.start + c->s.clock - below(&c->s, 2000)};

	for (uint32_t ring = 0; ring < RINGS; ring++) {
		uint64_t before = c->before[ring], seen = r->f->merge.rings[ring].decoded;

		heads[ring] = below(&c->s, 2) && before > seen ? before : r->f->head[ring];
		publish(r->f, ring);
	}
	r->f->merge.bounds = &bounds;
	mt_merge_poll(&r->f->merge);
	r->f->merge.bounds = NULL;
	for (uint32_t ring = 0; ring < RINGS; ring++) {
		const struct mt_ring *there = &r->f->merge.rings[ring];

		assert_true(there->ready || there->consumed == there->decoded);
		/* where addresses are shared, some must come before another ring's */
		assert_true(c->shares || c->faulty || there->decoded <= heads[ring]);
	}
	mt_merge_slack(&r->f->merge, true);
	r->slack += r->f->profile.info.slack_bytes;
}

static void play_crowd(struct recording *r, uint64_t seed, uint32_t steps)
{
	struct crowd c = {.s = {.random = seed, .clock = 1000, .odd = seed % 3 == 1 ? 8 : 500},
		.shares = seed % 5 == 0,
		.faulty = seed % 9 == 0};
	uint32_t ring = 0;

	/* most often two, or a few; and so many that not all can be runs */
	c.s.threads = seed % 2 ? 2 : 3 + (seed % 4 ? below(&c.s, 4) : below(&c.s, RINGS - 2));
	if (seed % 7 == 0) /* two rings of one thread */
		r->f->merge.rings[1].thread = r->f->merge.rings[0].thread;

	r->f->segment.header->usable_rule = MT_USABLE_GLIBC;
	for (uint32_t i = 0; i < steps; i++) {
		/* some are on their own for a while */
		if (below(&c.s, seed % 4 ? 60 : 2))
			ring = below(&c.s, c.s.threads);
		/* at the same time: of more than two rings, any may come first */
		c.s.at_once = c.s.threads == 2 && !c.shares && !c.faulty && !below(&c.s, 20);
		put_next(r->f, &c, ring);
		if (!below(&c.s, 400))
			poll_up_to_now(r, &c);
	}
	for (ring = 0; ring < RINGS; ring++)
		publish(r->f, ring);
	drain(r->f);
	if (r->f->merge.unflushed)
		flush(r);
}

/* What happened in all crowds. */
struct crowds {
	uint64_t ambiguous, implied;
};

static void compare_crowds(uint64_t seed, uint32_t block_events, uint32_t steps, struct crowds *all)
{
	struct recording in_runs, entered;
	const struct mt_info *info;

	start(&in_runs, block_events, seed % 3, false);
	start(&entered, block_events, seed % 3, true);
	play_crowd(&in_runs, seed, steps);
	play_crowd(&entered, seed, steps);
	info = &in_runs.f->profile.info;
	all->ambiguous += info->ambiguous;
	all->implied += info->implied_frees;
	if (seed % 9)
		assert_int_equal(info->implied_frees + info->unknown_frees, 0);
	assert_true(in_runs.slack > 0);
	assert_int_equal(in_runs.slack, entered.slack);
	compare(&in_runs, &entered);
	end(&in_runs);
	end(&entered);
}

/* What is taken run by run comes to the same as where every block enters the table of live
 * ones. */
static void rings_are_runs(void **state)
{
	struct crowds all = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++)
		compare_crowds(seed, seed % 4 < 2 ? 65536 : 3 + seed * seed % 600, STEPS, &all);
	assert_true(all.ambiguous > 1000 && all.implied > 100);
	/* blocks are full when they are closed, by the merge; or by the writer */
	for (uint64_t seed = 37; seed <= 53; seed += 2)
		compare_crowds(seed, seed % 4 == 1 ? 1u << 20 : 65536, 25 * STEPS, &all);
}

static void plain(struct fixture *f, uint32_t ring, unsigned type, uint32_t delta, uint64_t pointer)
{
	bool end = type == MT_RECORD_FREE;

	put(f, ring,
		mt_wire_record_pack(type, delta, end ? MT_FUNCTION_FREE : MALLOC_NODE, pointer >> 3,
			end ? 0 : 8));
	publish(f, ring);
}

/* Behind what one ring had to be asked for before its turn, there may be nothing of this batch. */
static void turns_end_with_the_batch(void **state)
{
	const uint64_t heads[RINGS] = {3, 5, [2 ... RINGS - 1] = 1};
	struct mt_merge_bounds bounds = {.heads = heads};
	struct fixture *f = *state;

	bounds.horizon = f->clock.start + 1000000;
	drain(f);
	event(f, 0, MT_RECORD_ALLOC, 101, 0x1000, 8); /* with its time: two records */
	plain(f, 0, MT_RECORD_ALLOC, 1, 0x2000);      /* of the next batch, but freed in this */
	plain(f, 0, MT_RECORD_ALLOC, 0, 0x3000);
	event(f, 1, MT_RECORD_ALLOC, 99, 0x4000, 8);
	plain(f, 1, MT_RECORD_FREE, 1, 0x2000);
	plain(f, 1, MT_RECORD_ALLOC, 3, 0x5000);
	f->merge.bounds = &bounds;
	mt_merge_poll(&f->merge);
	assert_int_equal(f->profile.info.unknown_frees, 0);
	assert_int_equal(f->merge.rings[0].consumed, 4);
	assert_int_equal(f->merge.rings[1].consumed, 5);
}

/* Fills a ring with pairs, behind one block that stays, until it has begun anew. Returns how many
 * allocations. */
static uint64_t fill_round(struct fixture *f, uint32_t ring, uint64_t address, uint32_t size)
{
	uint64_t count = 1, records = capacity_of(f, ring);

	put(f, ring, mt_wire_record_pack(MT_RECORD_ALLOC, 1, MALLOC_NODE, address >> 4, size));
	assert_int_equal(f->head[ring] % 2, 0); /* a pair ends with the ring */
	for (; f->head[ring] < records + 100; count++) {
		put(f, ring,
			mt_wire_record_pack(MT_RECORD_ALLOC, 1, MALLOC_NODE, address >> 3, size));
		plain(f, ring, MT_RECORD_FREE, 1, address);
		if (!(count % (records / 4)))
			drain(f);
	}
	drain(f);
	return count;
}

/* What a fetch has consumed beyond this batch, and beyond where the tail moves, ends there for the
 * runs, too: what lies behind it is of the lap before. */
static void runs_end_with_the_batch(void **unused)
{
	const uint64_t start_ns = 900000000;
	uint64_t heads[RINGS] = {[0 ... RINGS - 1] = 1}, program = 1021 + 7 + 1;
	struct mt_merge_bounds bounds = {.heads = heads};
	struct recording r;
	struct fixture *f;

	(void)unused;
	start(&r, 65536, false, false);
	f = r.f;
	bounds.horizon = f->clock.start + start_ns;
	program += fill_round(f, 0, 0x3000, 16);
	for (int i = 0; i < 2; i++) /* so that a pair of the lap before lies behind the last */
		extend(f, 0, MT_EXTEND_TIME, f->clock.start + start_ns - 1000000);
	for (int i = 0; i < 1020; i++) {
		plain(f, 0, MT_RECORD_ALLOC, 0, 0x7000);
		plain(f, 0, MT_RECORD_FREE, 0, 0x7000);
	}
	plain(f, 0, MT_RECORD_ALLOC, 20, 0x8000); /* behind what the other frees */
	plain(f, 0, MT_RECORD_FREE, 0, 0x8000);
	heads[0] = f->head[0];
	for (int i = 0; i < 5; i++) {
		plain(f, 0, MT_RECORD_ALLOC, 0, 0x9000);
		plain(f, 0, MT_RECORD_FREE, 0, 0x9000);
	}
	plain(f, 0, MT_RECORD_ALLOC, 0, 0xe000);
	plain(f, 0, MT_RECORD_ALLOC, 0, 0xa000); /* which the other frees */
	extend(f, 1, MT_EXTEND_TIME, f->clock.start + start_ns - 1000000 + 5);
	plain(f, 1, MT_RECORD_FREE, 0, 0xa000);
	plain(f, 1, MT_RECORD_ALLOC, 1, 0xc000);
	plain(f, 1, MT_RECORD_FREE, 500, 0xc000);
	heads[1] = f->head[1];
	f->merge.bounds = &bounds;
	mt_merge_poll(&f->merge);
	assert_true(f->merge.rings[0].decoded <= f->head[0]);
	f->merge.bounds = NULL;
	drain(f);
	assert_int_equal(f->profile.info.allocations, program);
	assert_int_equal(f->profile.info.invalid_records, 0);
	assert_int_equal(f->profile.info.unknown_frees, 0);
	end(&r);
}

/* Pairs go on at the ring's beginning, not in the memory behind it, which is another ring's. */
static void rings_begin_anew(void **state)
{
	struct fixture *f = *state;
	uint64_t behind, there;

	drain(f);
	behind = fill_round(f, 1, 0x5000, 8);
	there = fill_round(f, 0, 0x3000, 16);
	assert_int_equal(f->profile.info.allocations, behind + there);
	assert_int_equal(f->profile.info.frees, behind + there - 2);
	assert_int_equal(f->profile.info.allocated_bytes, 8 * behind + 16 * there);
	assert_int_equal(f->profile.info.unknown_frees, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_two_events),
		cmocka_unit_test(divided_pairs_are_found),
		cmocka_unit_test(rings_are_runs),
		cmocka_unit_test_setup_teardown(turns_end_with_the_batch, setup, teardown),
		cmocka_unit_test_setup_teardown(rings_begin_anew, setup, teardown),
		cmocka_unit_test(runs_end_with_the_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
