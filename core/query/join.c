/* Allocations joined with their ends, and with the chains that reallocs make of them. */
#include "core/query/prepared_query.h"
#include "core/query/reach.h"

#include "core/model/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A released block, until the second half of its realloc comes. */
struct release {
	uint64_t end_ns, between;
	uint32_t thread, function, node;
	bool at_peak;
	uint32_t next_free; /* index + 1 */
};

/* Blocks that one realloc after another made of the first. A block alone has none. */
struct chain {
	uint64_t first, start_ns, first_size;
	uint32_t length;
	struct mt_allocation *members; /* ended blocks of it that may match */
	uint32_t count, capacity;
	uint32_t next_free;
};

struct join {
	const struct mt_prepared_query *query;
	int (*visit)(void *context, const struct mt_allocation *);
	void *context;
	struct mt_bits *bits; /* or these */
	bool chains, stacks;
	struct mt_live live;
	uint64_t next_number;
	bool started;
	struct mt_place at;
	uint64_t *sequence; /* allocations by thread */
	struct release *releases;
	uint32_t release_count, release_capacity, free_release;
	struct chain *pool;
	uint32_t chain_count, chain_capacity, free_chain;
	struct mt_allocation waiting; /* for a note about its free */
	bool waits;
	uint32_t last_release; /* + 1: what a note would be about */
	uint32_t continued;    /* chain of the block that a realloc continues, or 0 */
	uint64_t chosen_count; /* blocks that may match and have not ended */
	const char *fault;
};

static int fault(struct join *j, const char *text)
{
	j->fault = text;
	return -EINVAL;
}

/* ---- pools ---- */

static uint32_t take_release(struct join *j)
{
	uint32_t index = j->free_release;

	if (index) {
		j->free_release = j->releases[index - 1].next_free;
		return index - 1;
	}
	MT_GROW(j->releases, j->release_count, j->release_capacity);
	return j->release_count++;
}

static void drop_release(struct join *j, uint32_t index)
{
	j->releases[index].next_free = j->free_release;
	j->free_release = index + 1;
}

static uint32_t take_chain(struct join *j)
{
	uint32_t index = j->free_chain;

	if (index) {
		j->free_chain = j->pool[index - 1].next_free;
	} else {
		MT_GROW(j->pool, j->chain_count, j->chain_capacity);
		index = ++j->chain_count;
	}
	j->pool[index - 1] = (struct chain){0};
	return index;
}

static void drop_chain(struct join *j, uint32_t index)
{
	struct chain *c = &j->pool[index - 1];

	free(c->members);
	*c = (struct chain){.next_free = j->free_chain};
	j->free_chain = index;
}

/* ---- visiting ---- */

static int finish(struct join *j, const struct mt_allocation *a)
{
	if (!mt_filter_end_matches(&j->query->bounds, a))
		return 0;
	if (j->bits) {
		mt_bits_set(j->bits, a->number, true);
		return 0;
	}
	return j->visit(j->context, a);
}

static int flush_waiting(struct join *j)
{
	if (!j->waits)
		return 0;
	j->waits = false;
	return finish(j, &j->waiting);
}

/* Whether a block, of which the present event may be the end, was live at the peak. */
static bool at_peak(const struct join *j, uint64_t number, bool ends)
{
	const struct mt_place *peak = &j->query->peak;

	return number < peak->allocations && (!ends || mt_place_after(&j->at, peak));
}

static void fill(const struct join *j, struct mt_allocation *a, const struct mt_live_cell *c)
{
	*a = (struct mt_allocation){
		.number = c->number,
		.size = c->size,
		.usable = c->usable,
		.time_ns = c->time_ns,
		.end_ns = MT_LIVE,
		.group = c->group,
		.thread = c->thread,
		.chain = c->number,
		.position = 1,
		.chain_length = 1,
		.first_size = c->size,
		.last_size = c->size,
		.chain_start_ns = c->time_ns,
		.chain_end_ns = MT_LIVE,
		.at_peak = at_peak(j, c->number, false),
	};
	mt_prepared_query_place(j->query, a, c->address);
	if (j->query->marker_count && !j->bits)
		a->marker = mt_prepared_query_marker(j->query, c->number, c->time_ns);
	if (c->state == MT_BLOCK_RELEASED) {
		const struct release *r = &j->releases[c->aside];

		a->end_ns = r->end_ns;
		a->end_thread = r->thread;
		a->end_function = r->function;
		a->end_node = r->node;
		a->between = r->between;
		a->at_peak = r->at_peak;
	}
}

/* The chain of the last block of it has ended with that, or with the recording. */
static int finish_chain(struct join *j, uint32_t index, const struct mt_allocation *last)
{
	struct chain *c = &j->pool[index - 1];
	int result = 0;

	for (uint32_t i = 0; i < c->count && !result; i++) {
		struct mt_allocation *a = &c->members[i];

		a->chain_length = c->length;
		a->last_size = last->size;
		a->chain_end_ns = last->end_ns;
		result = finish(j, a);
	}
	drop_chain(j, index);
	return result;
}

/* A block is over, and so is its chain. may_wait: a note about it may come. */
static int end_cell(struct join *j, struct mt_allocation *a, const struct mt_live_cell *c,
	bool may_wait)
{
	uint32_t chain = c->chain;
	int result = 0;

	a->chain_end_ns = a->end_ns;
	if (chain) {
		const struct chain *of = &j->pool[chain - 1];

		a->chain = of->first;
		a->position = a->chain_length = of->length;
		a->first_size = of->first_size;
		a->chain_start_ns = of->start_ns;
		result = finish_chain(j, chain, a);
	}
	if (!c->chosen || result)
		return result;
	if (!may_wait)
		return finish(j, a);
	if (a != &j->waiting)
		j->waiting = *a;
	j->waits = true;
	return 0;
}

/* ---- events ---- */

/* Another block continues the released one: its chain goes on, in j->continued. */
static int continue_chain(struct join *j, const struct mt_live_cell *c)
{
	struct mt_allocation a;

	fill(j, &a, c);
	j->chosen_count -= c->chosen;
	drop_release(j, c->aside);
	if (!j->chains)
		return c->chosen ? finish(j, &a) : 0;
	j->continued = c->chain ? c->chain : take_chain(j);
	struct chain *of = &j->pool[j->continued - 1];

	if (!c->chain)
		*of = (struct chain){
			.first = c->number,
			.start_ns = c->time_ns,
			.first_size = c->size,
			.length = 1,
		};
	a.chain = of->first;
	a.position = of->length++;
	a.first_size = of->first_size;
	a.chain_start_ns = of->start_ns;
	if (c->chosen) {
		MT_GROW(of->members, of->count, of->capacity);
		of->members[of->count++] = a;
	}
	return 0;
}

static struct mt_live_cell *keep(struct join *j, const struct mt_event *e,
	const struct mt_event *after, bool chosen, uint32_t chain)
{
	struct mt_live_cell *c = mt_live_insert(&j->live, e->number);

	c->size = e->size;
	c->time_ns = e->time_ns;
	c->thread_sequence = j->sequence[e->thread];
	c->address = e->address;
	c->usable = j->bits ? 0 : mt_prepared_query_usable(j->query, e, after);
	c->group = e->group;
	c->thread = e->thread;
	c->chosen = chosen;
	c->chain = chain;
	j->chosen_count += chosen;
	return c;
}

static int release(struct join *j, const struct mt_event *e, struct mt_live_cell *c)
{
	c->aside = take_release(j);
	j->last_release = c->aside + 1;
	j->releases[c->aside] = (struct release){
		.end_ns = e->time_ns,
		.thread = e->thread,
		.function = e->function,
		.between = j->sequence[c->thread] - c->thread_sequence,
		.at_peak = at_peak(j, c->number, true),
	};
	return 0;
}

static int free_block(struct join *j, const struct mt_event *e, struct mt_live_cell *c)
{
	struct mt_allocation *a = &j->waiting;

	fill(j, a, c);
	a->end_ns = e->time_ns;
	a->end_thread = e->thread;
	a->end_function = e->type == MT_EVENT_IMPLIED_FREE ? MT_FUNCTION_NONE : e->function;
	a->between = j->sequence[c->thread] - c->thread_sequence;
	a->at_peak = at_peak(j, c->number, true);
	j->chosen_count -= c->chosen;
	return end_cell(j, a, c, j->stacks);
}

static inline int on_change(void *of, const struct mt_event *e, struct mt_live_cell *c,
	enum mt_block_change change)
{
	struct join *j = of;

	switch (change) {
	case MT_BLOCK_RELEASE: return release(j, e, c);
	case MT_BLOCK_RESTORE: drop_release(j, c->aside); return 0;
	case MT_BLOCK_CONTINUE: return continue_chain(j, c);
	case MT_BLOCK_END:
	case MT_BLOCK_IMPLIED_END: break;
	}
	return free_block(j, e, c);
}

static int on_refusal(void *of, const struct mt_event *e, const struct mt_live_cell *there,
	enum mt_block_change change)
{
	(void)e;
	if (!there || change == MT_BLOCK_CONTINUE) /* it does not match */
		return 0;
	return fault(of, mt_block_change_fault(change));
}

static const struct mt_live_reader joining = {.act = on_change, .refuse = on_refusal};

static int allocate(struct join *j, const struct mt_event *e, const struct mt_event *after)
{
	const char *wrong = mt_block_begin_fault(e, j->started ? j->next_number : e->number,
		j->query->source->profile->group_count);
	int result = 0;

	if (wrong)
		return fault(j, wrong);
	j->started = true;
	j->next_number = e->number + 1;
	j->sequence[e->thread]++;
	j->continued = 0;
	if (e->type == MT_EVENT_REALLOCATE)
		result = mt_live_change(&j->live, e->previous, MT_BLOCK_CONTINUE, &joining, j, e);
	bool chosen = mt_prepared_query_takes(j->query, e, after);

	if (j->bits)
		mt_bits_set(j->bits, e->number, false);
	if (chosen || j->chains)
		keep(j, e, after, chosen, j->continued);
	return result;
}

static void note(struct join *j, const struct mt_event *e)
{
	if (e->note != MT_NOTE_FREE_STACK || e->size >= j->query->source->profile->node_count)
		return;
	if (j->waits)
		j->waiting.end_node = (uint32_t)e->size;
	else if (j->last_release)
		j->releases[j->last_release - 1].node = (uint32_t)e->size;
}

static inline int join_event(struct join *j, const struct mt_event *e, const struct mt_event *after)
{
	if (e->type == MT_EVENT_NOTE) {
		note(j, e);
		return 0;
	}
	int result = flush_waiting(j);

	j->last_release = 0;
	mt_place_pass(&j->at, e);
	if (result)
		return result;
	if (e->thread >= j->query->source->profile->thread_count || e->thread >= MT_LIVE_THREADS)
		return fault(j, "an event refers to an undefined thread");
	if (e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE)
		return allocate(j, e, after);
	if (e->type == MT_EVENT_UNKNOWN_FREE)
		return 0;
	return mt_live_change(&j->live, e->number, mt_block_change_of(e), &joining, j, e);
}

#define FAR 16u
#define NEAR 8u
static inline void look_ahead(const struct join *j, const struct mt_event *far,
	const struct mt_event *near)
{
	if (far->type == MT_EVENT_FREE || far->type == MT_EVENT_RELEASE)
		mt_live_prefetch(&j->live, far->number);
	if (near->type == MT_EVENT_FREE || near->type == MT_EVENT_RELEASE)
		__builtin_prefetch(mt_live_guess(&j->live, near->number), 1);
}

static int on_events(void *context, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	struct join *j = context;
	int result = 0;

	for (uint32_t i = 0; i < count && !result; i++) {
		if (i + FAR < count && j->live.pooled)
			look_ahead(j, &events[i + FAR], &events[i + NEAR]);
		result = join_event(j, &events[i], i + 1 < count ? &events[i + 1] : after);
	}
	return result;
}

/* A chain of which the blocks before this one are not known as such. */
static uint32_t resume_chain(struct join *j, const struct mt_checkpoint_block *b)
{
	if (!j->chains || b->position < 2)
		return 0;
	uint32_t chain = take_chain(j);

	j->pool[chain - 1] = (struct chain){
		.first = b->chain,
		.start_ns = b->chain_start_ns,
		.first_size = b->first_size,
		.length = b->position,
	};
	return chain;
}

static int resume(void *context, const struct mt_checkpoint *checkpoint,
	const struct mt_checkpoint_block *b)
{
	struct join *j = context;
	struct mt_resumed events;

	if (!b) {
		j->at = (struct mt_place){checkpoint->next_number, 0};
		for (uint32_t t = 0; t < checkpoint->thread_count; t++)
			j->sequence[t] = checkpoint->threads[t].allocations;
		return 0;
	}
	mt_prepared_query_resumed(&events, b);
	bool chosen = mt_prepared_query_takes(j->query, events.events, events.after);

	if (j->bits)
		mt_bits_set(j->bits, b->number, false);
	if (!chosen && !j->chains)
		return 0;
	keep(j, events.events, events.after, chosen, resume_chain(j, b))->thread_sequence =
		b->sequence;
	if (!b->released)
		return 0;
	struct mt_live_cell *c = mt_live_find(&j->live, b->number);
	uint64_t between = checkpoint->threads[b->thread].allocations - b->sequence;

	c->aside = take_release(j);
	j->releases[c->aside] = (struct release){
		.end_ns = checkpoint->time_ns,
		.thread = b->thread,
		.function = MT_FUNCTION_REALLOC,
		.between = b->temporary ? 0 : between,
	};
	c->state = MT_BLOCK_RELEASED;
	return 0;
}

static void skipped(void *context, const struct mt_trace_facts *facts, uint64_t next_number)
{
	struct join *j = context;

	for (uint32_t i = 0; i < facts->thread_count; i++)
		if (facts->threads[i].thread < j->query->source->profile->thread_count)
			j->sequence[facts->threads[i].thread] += facts->threads[i].allocations;
	j->next_number = next_number;
	j->last_release = 0;
}

static bool is_idle(void *context)
{
	const struct join *j = context;

	return !j->chosen_count && !j->chains;
}

/* ---- all ---- */

static int compare_cells(const void *a, const void *b)
{
	const struct mt_live_cell *const *x = a, *const *y = b;

	return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

/* What the recording ended before: live blocks, and those whose realloc has no second half. */
static int finish_live(struct join *j)
{
	struct mt_live_cell **cells = mt_alloc((j->live.count + 1) * sizeof *cells), *c;
	uint64_t at = 0, count = 0;
	int result = flush_waiting(j);

	while ((c = mt_live_next(&j->live, &at)))
		cells[count++] = c;
	qsort(cells, count, sizeof *cells, compare_cells);
	for (uint64_t i = 0; i < count && !result; i++) {
		struct mt_allocation a;

		fill(j, &a, cells[i]);
		result = end_cell(j, &a, cells[i], false);
	}
	free(cells);
	return result;
}

static void begin(struct join *j, struct mt_pass *pass, const struct mt_reach *reach,
	bool addresses)
{
	const struct mt_prepared_query *q = j->query;

	addresses |= (q->needs & MT_FILTER_NEEDS_ADDRESS) != 0;
	*pass = (struct mt_pass){
		.wants = addresses ? MT_TRACE_ADDRESSES : 0,
		.from_range = !j->chains,
		.reach = reach->wanted && !j->chains ? reach : NULL,
		.skipped = skipped,
		.events = on_events,
		.resume = resume,
		.idle = is_idle,
		.fault = &j->fault,
		.context = j,
	};
	j->sequence =
		mt_alloc(((size_t)q->source->profile->thread_count + 1) * sizeof *j->sequence);
	mt_live_init(&j->live);
}

/* result: of the pass. */
static int end(struct join *j, int result)
{
	if (!result)
		result = finish_live(j);
	for (uint32_t i = 0; i < j->chain_count; i++)
		free(j->pool[i].members);
	free(j->pool);
	free(j->releases);
	free(j->sequence);
	mt_live_free(&j->live);
	return result;
}

int mt_join(const struct mt_prepared_query *q, unsigned wants,
	int (*visit)(void *context, const struct mt_allocation *), void *context,
	struct mt_err *err)
{
	struct join j = {
		.query = q,
		.visit = visit,
		.context = context,
		.chains = wants & MT_SCAN_CHAINS || q->needs & MT_FILTER_NEEDS_CHAIN,
		.stacks = wants & MT_SCAN_STACKS,
	};
	struct mt_pass pass;
	struct mt_reach reach;

	mt_reach_find(&reach, &q, 1);
	begin(&j, &pass, &reach, wants & MT_SCAN_ADDRESSES);
	int result = end(&j, mt_prepared_query_pass(q, &pass, err));

	mt_reach_free(&reach);
	return result;
}

int mt_join_bits(const struct mt_prepared_query *const *queries, struct mt_bits *const *bits,
	unsigned count, struct mt_err *err)
{
	struct join joins[MT_MATCHES_MOST];
	struct mt_pass passes[MT_MATCHES_MOST] = {0};
	struct mt_reach reach;
	int result, first = 0;

	mt_reach_find(&reach, queries, count);
	for (unsigned i = 0; i < count; i++) {
		joins[i] = (struct join){
			.query = queries[i],
			.bits = bits[i],
			.chains = queries[i]->needs & MT_FILTER_NEEDS_CHAIN,
		};
		begin(&joins[i], &passes[i], &reach, false);
	}
	result = mt_prepared_query_passes(queries, passes, count, err);
	for (unsigned i = 0; i < count; i++) {
		int ended = end(&joins[i], result);

		first = first ? first : ended;
	}
	mt_reach_free(&reach);
	return first;
}
