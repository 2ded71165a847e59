#include "core/query/invalid_frees.h"
#include "core/base/search.h"
#include "core/query/prepared_query.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

static uint32_t home_of(const struct mt_invalid_frees_table *t, uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & t->mask;
}

static void table_make(struct mt_invalid_frees_table *t, uint32_t entries)
{
	uint32_t size = 16;

	while (size < entries * 2)
		size *= 2;
	t->slots = mt_alloc(size * sizeof *t->slots);
	t->mask = size - 1;
}

static struct mt_invalid_frees_slot *table_count(struct mt_invalid_frees_table *t, uint32_t domain,
	uint64_t key, uint32_t index)
{
	uint32_t at = home_of(t, key);

	while (t->slots[at].count && (t->slots[at].key != key || t->slots[at].domain != domain))
		at = (at + 1) & t->mask;
	if (!t->slots[at].count++)
		t->slots[at] = (struct mt_invalid_frees_slot){key, domain, index, 1};
	return &t->slots[at];
}

static inline const struct mt_invalid_frees_slot *table_find(const struct mt_invalid_frees_table *t,
	uint32_t domain, uint64_t key)
{
	for (uint32_t at = home_of(t, key); t->slots[at].count; at = (at + 1) & t->mask)
		if (t->slots[at].key == key && t->slots[at].domain == domain)
			return &t->slots[at];
	return NULL;
}

/* ---- collecting ---- */

struct gathering {
	struct mt_invalid_frees *invalid;
	const struct mt_profile *profile;
	uint64_t allocations;
	bool last; /* a note would be about the last free_ */
	const char *fault;
};

static void gather(struct gathering *g, const struct mt_event *e)
{
	struct mt_invalid_frees *s = g->invalid;
	uint32_t domain = mt_profile_function(g->profile, e->function)->domain;

	g->last = false;
	if (s->count == MT_INVALID_FREES_MAX || e->thread >= g->profile->thread_count) {
		s->seen++;
		return;
	}
	MT_GROW(s->items, s->count, s->capacity);
	s->items[s->count++] = (struct mt_invalid_free){
		.domain = domain,
		.key = e->address,
		.address = mt_domain_address(&g->profile->domains[domain], e->address),
		.order = s->seen++,
		.place = g->allocations,
		.call = {.time_ns = e->time_ns, .thread = e->thread, .function = e->function},
	};
	g->last = true;
}

static void note(struct gathering *g, const struct mt_event *e)
{
	const struct mt_profile *p = g->profile;

	if (g->last && e->note == MT_NOTE_FREE_STACK && e->size < p->node_count
		&& mt_profile_is_marker(p, p->nodes[e->size].pc))
		g->invalid->items[g->invalid->count - 1].call.node = (uint32_t)e->size;
	g->last = false;
}

static int on_events(void *context, const struct mt_event *events, uint32_t count,
	const struct mt_event *after)
{
	struct gathering *g = context;

	(void)after;
	for (uint32_t i = 0; i < count; i++) {
		const struct mt_event *e = &events[i];

		if (e->type == MT_EVENT_UNKNOWN_FREE) {
			gather(g, e);
		} else if (e->type == MT_EVENT_NOTE) {
			note(g, e);
		} else {
			g->last = false;
			if (e->type == MT_EVENT_ALLOCATE || e->type == MT_EVENT_REALLOCATE)
				g->allocations = e->number + 1;
		}
	}
	return 0;
}

static int on_resume(void *context, const struct mt_checkpoint *checkpoint,
	const struct mt_checkpoint_block *b)
{
	struct gathering *g = context;

	if (!b) {
		g->allocations = checkpoint->next_number;
		g->invalid->resumed = true;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct mt_invalid_free *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_addresses(const void *a, const void *b, void *items)
{
	const struct mt_invalid_free *of = items, *x = &of[*(const uint32_t *)a];
	const struct mt_invalid_free *y = &of[*(const uint32_t *)b];

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void arrange(struct mt_invalid_frees *s)
{
	if (s->count)
		qsort(s->items, s->count, sizeof *s->items, compare);
	s->addressed = mt_alloc(((size_t)s->count + 1) * sizeof *s->addressed);
	for (uint32_t i = 0; i < s->count; i++)
		s->addressed[i] = i;
	qsort_r(s->addressed, s->count, sizeof *s->addressed, compare_addresses, s->items);
	table_make(&s->by_key, s->count);
	table_make(&s->by_address, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		table_count(&s->by_key, s->items[i].domain, s->items[i].key, i);
		table_count(&s->by_address, 0, s->items[s->addressed[i]].address, i);
	}
}

int mt_invalid_frees_gather(struct mt_invalid_frees *s, const struct mt_source *source,
	struct mt_err *err)
{
	struct mt_prepared_query q = {0};
	struct gathering g = {.invalid = s, .profile = source->profile};
	struct mt_pass pass = {
		.wants = MT_TRACE_ADDRESSES,
		.events = on_events,
		.resume = on_resume,
		.fault = &g.fault,
		.context = &g,
	};
	int result = mt_prepared_query_init(&q, source, NULL, err);

	if (!result)
		result = mt_prepared_query_pass(&q, &pass, err);
	mt_prepared_query_free(&q);
	arrange(s);
	return result;
}

/* ---- the blocks that were there ---- */

static bool came_behind(const void *invalid, uint32_t at, uint64_t number)
{
	return ((const struct mt_invalid_free *)invalid)[at].place > number;
}

/* The first free_ of these that came behind the allocation; or the end of them. */
static uint32_t behind(const struct mt_invalid_frees *s, const struct mt_invalid_frees_slot *slot,
	uint64_t number)
{
	return mt_search(slot->first, slot->first + slot->count, came_behind, s->items, number);
}

static void note_next(struct mt_invalid_free *free_, const struct mt_allocation *a)
{
	if (free_->has_next && free_->next < a->number)
		return;
	free_->has_next = true;
	free_->next = a->number;
	free_->swapped = a->end_ns != MT_LIVE && a->end_function == MT_FUNCTION_NONE;
}

/* A free_ that came while the block lived, by a function of another domain. */
static void note_other(struct mt_invalid_free *free_, const struct mt_allocation *a)
{
	if (free_->domain == a->domain || (free_->other && free_->other->number > a->number))
		return;
	if (!free_->other)
		free_->other = mt_alloc(sizeof *free_->other);
	*free_->other = *a;
}

static bool addressed_behind(const void *context, uint32_t at, uint64_t number)
{
	const struct mt_invalid_frees *s = context;

	return s->items[s->addressed[at]].place > number;
}

/* Tells the invalid at the block's address, of whatever domain. One of the instant of its end
 * counts, too: times are coarse, and two frees of one address are mostly of one block. */
static void visit_others(struct mt_invalid_frees *s, const struct mt_allocation *a)
{
	const struct mt_invalid_frees_slot *slot = table_find(&s->by_address, 0, a->address);
	uint32_t first = slot ? slot->first : 0, end = slot ? first + slot->count : 0;

	for (uint32_t at = mt_search(first, end, addressed_behind, s, a->number);
		at < end && s->items[s->addressed[at]].call.time_ns <= a->end_ns; at++)
		note_other(&s->items[s->addressed[at]], a);
}

/* The invalid, and in which domain is searched. */
struct in_domain {
	const struct mt_invalid_free *items;
	uint32_t domain;
};

static bool lies_behind(const void *context, uint32_t at, uint64_t key)
{
	const struct in_domain *in = context;
	const struct mt_invalid_free *x = &in->items[at];

	return x->domain > in->domain || (x->domain == in->domain && x->key > key);
}

/* Whether the key of a free_ of its domain lies within the block, behind its beginning. */
static bool surrounds(const struct mt_invalid_frees *s, const struct mt_allocation *a)
{
	struct in_domain in = {s->items, a->domain};
	uint32_t at = mt_search(0, s->count, lies_behind, &in, a->key);

	return at < s->count && s->items[at].domain == a->domain
		&& s->items[at].key - a->key < a->size;
}

/* A block is noted with the first free_ behind its allocation; one that is allocated later in its
 * place. */
void mt_invalid_frees_visit(struct mt_invalid_frees *s, const struct mt_allocation *a)
{
	/* address 0: the recording knows none, so any block might be meant */
	const struct mt_invalid_frees_slot *slot =
		a->address ? table_find(&s->by_key, a->domain, a->key) : NULL;

	if (a->address)
		visit_others(s, a);
	if (a->end_ns == MT_LIVE && a->address && surrounds(s, a))
		mt_address_index_add(&s->around, a);
	if (!slot)
		return;
	uint32_t at = behind(s, slot, a->number);

	if (at > slot->first)
		note_next(&s->items[at - 1], a);
	if (at == slot->first + slot->count)
		return;
	struct mt_invalid_free *free_ = &s->items[at];

	if (free_->has_block && free_->block.number > a->number)
		return;
	free_->has_block = true;
	free_->block = *a;
}

/* A block that began before the last one of the free_'s own domain ended is made of that one, as a
 * pool's block at the start of its chunk: then the free was meant for the chunk. */
static bool is_elsewhere(const struct mt_invalid_free *s)
{
	return s->other && (!s->has_block || s->other->time_ns > s->block.end_ns);
}

void mt_invalid_frees_settle(struct mt_invalid_frees *s)
{
	mt_address_index_arrange(&s->around);
	table_make(&s->by_number, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		if (i && !s->items[i].has_block && s->items[i - 1].has_block
			&& s->items[i - 1].domain == s->items[i].domain
			&& s->items[i - 1].key == s->items[i].key) {
			s->items[i].has_block = true;
			s->items[i].block = s->items[i - 1].block;
		}
	}
	for (uint32_t i = 0; i < s->count; i++) {
		struct mt_invalid_free *free_ = &s->items[i];

		free_->elsewhere = is_elsewhere(free_);
		if (free_->elsewhere)
			free_->block = *free_->other;
		if (!free_->has_block && !free_->elsewhere)
			continue;
		struct mt_invalid_frees_slot *slot =
			table_count(&s->by_number, 0, free_->block.number, i);

		free_->same = slot->count > 1 ? slot->first + 1 : 0;
		slot->first = i;
	}
}

const struct mt_address_block *mt_invalid_frees_around(const struct mt_invalid_frees *s,
	const struct mt_invalid_free *free_)
{
	const struct mt_address_block *b =
		mt_address_index_find(&s->around, free_->domain, free_->key);

	return b && b->number < free_->place && b->address != free_->key ? b : NULL;
}

void mt_invalid_frees_match(struct mt_invalid_frees *s, const struct mt_allocation *a)
{
	const struct mt_invalid_frees_slot *slot = table_find(&s->by_number, 0, a->number);

	for (uint32_t i = slot ? slot->first + 1 : 0; i; i = s->items[i - 1].same)
		s->items[i - 1].matches = true;
}

void mt_invalid_frees_free(struct mt_invalid_frees *s)
{
	mt_address_index_free(&s->around);
	for (uint32_t i = 0; i < s->count; i++)
		free(s->items[i].other);
	free(s->addressed);
	free(s->items);
	free(s->by_key.slots);
	free(s->by_address.slots);
	free(s->by_number.slots);
	*s = (struct mt_invalid_frees){0};
}
