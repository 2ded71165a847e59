#include "core/query/strays.h"
#include "core/base/search.h"
#include "core/query/question.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

static uint32_t home_of(const struct mt_strays_table *t, uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & t->mask;
}

static void table_make(struct mt_strays_table *t, uint32_t entries)
{
	uint32_t size = 16;

	while (size < entries * 2)
		size *= 2;
	t->slots = mt_alloc(size * sizeof *t->slots);
	t->mask = size - 1;
}

static void table_count(struct mt_strays_table *t, uint64_t key, uint32_t index)
{
	uint32_t at = home_of(t, key);

	while (t->slots[at].count && t->slots[at].key != key)
		at = (at + 1) & t->mask;
	if (!t->slots[at].count++) {
		t->slots[at].key = key;
		t->slots[at].first = index;
	}
}

static inline const struct mt_strays_slot *table_find(const struct mt_strays_table *t, uint64_t key)
{
	for (uint32_t at = home_of(t, key); t->slots[at].count; at = (at + 1) & t->mask)
		if (t->slots[at].key == key)
			return &t->slots[at];
	return NULL;
}

/* ---- collecting ---- */

struct gathering {
	struct mt_strays *strays;
	const struct mt_profile *profile;
	uint64_t allocations;
	bool last; /* a note would be about the last stray */
	const char *fault;
};

static void gather(struct gathering *g, const struct mt_event *e)
{
	struct mt_strays *s = g->strays;

	g->last = false;
	if (s->count == MT_STRAYS_MAX || e->thread >= g->profile->thread_count) {
		s->seen++;
		return;
	}
	MT_GROW(s->items, s->count, s->capacity);
	s->items[s->count++] = (struct mt_stray){
		.address = e->address,
		.order = s->seen++,
		.place = g->allocations,
		.call = {.time_ns = e->time_ns, .thread = e->thread, .kind = e->kind},
	};
	g->last = true;
}

static void note(struct gathering *g, const struct mt_event *e)
{
	const struct mt_profile *p = g->profile;

	if (g->last && e->kind == MT_NOTE_FREE_STACK && e->size < p->node_count
		&& mt_profile_is_marker(p, p->nodes[e->size].pc))
		g->strays->items[g->strays->count - 1].call.node = (uint32_t)e->size;
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
		g->strays->resumed = true;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct mt_stray *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int mt_strays_gather(struct mt_strays *s, const struct mt_source *source, struct mt_err *err)
{
	struct mt_question q = {0};
	struct gathering g = {.strays = s, .profile = source->profile};
	struct mt_pass pass = {
		.wants = MT_TRACE_ADDRESSES,
		.events = on_events,
		.resume = on_resume,
		.fault = &g.fault,
		.context = &g,
	};
	int result = mt_question_init(&q, source, NULL, err);

	if (!result)
		result = mt_question_pass(&q, &pass, err);
	mt_question_free(&q);
	if (s->count)
		qsort(s->items, s->count, sizeof *s->items, compare);
	table_make(&s->by_address, s->count);
	for (uint32_t i = 0; i < s->count; i++)
		table_count(&s->by_address, s->items[i].address, i);
	return result;
}

/* ---- the blocks that were there ---- */

static bool came_behind(const void *strays, uint32_t at, uint64_t number)
{
	return ((const struct mt_stray *)strays)[at].place > number;
}

/* The first stray of these that came behind the allocation; or the end of them. */
static uint32_t behind(const struct mt_strays *s, const struct mt_strays_slot *slot,
	uint64_t number)
{
	return mt_search(slot->first, slot->first + slot->count, came_behind, s->items, number);
}

static void note_next(struct mt_stray *stray, const struct mt_allocation *a)
{
	if (stray->has_next && stray->next < a->number)
		return;
	stray->has_next = true;
	stray->next = a->number;
	stray->swapped = a->end_ns != MT_LIVE && a->end_kind == MT_KIND_NONE;
}

static bool lies_behind(const void *strays, uint32_t at, uint64_t address)
{
	return ((const struct mt_stray *)strays)[at].address > address;
}

/* Whether the address of a stray lies within the block, behind its beginning. */
static bool surrounds(const struct mt_strays *s, const struct mt_allocation *a)
{
	uint32_t at = mt_search(0, s->count, lies_behind, s->items, a->address);

	return at < s->count && s->items[at].address - a->address < a->size;
}

/* A block is noted with the first stray behind its allocation; one that is allocated later in its
 * place. */
void mt_strays_visit(struct mt_strays *s, const struct mt_allocation *a)
{
	/* address 0: the recording knows none, so any block might be meant */
	const struct mt_strays_slot *slot =
		a->address ? table_find(&s->by_address, a->address) : NULL;

	if (a->end_ns == MT_LIVE && a->address && surrounds(s, a))
		mt_address_index_add(&s->around, a);
	if (!slot)
		return;
	uint32_t at = behind(s, slot, a->number);

	if (at > slot->first)
		note_next(&s->items[at - 1], a);
	if (at == slot->first + slot->count)
		return;
	struct mt_stray *stray = &s->items[at];

	if (stray->has_block && stray->block.number > a->number)
		return;
	stray->has_block = true;
	stray->block = *a;
}

void mt_strays_settle(struct mt_strays *s)
{
	mt_address_index_arrange(&s->around);
	table_make(&s->by_number, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		if (i && !s->items[i].has_block && s->items[i - 1].has_block
			&& s->items[i - 1].address == s->items[i].address) {
			s->items[i].has_block = true;
			s->items[i].block = s->items[i - 1].block;
		}
		if (s->items[i].has_block)
			table_count(&s->by_number, s->items[i].block.number, i);
	}
}

const struct mt_address_block *mt_strays_around(const struct mt_strays *s,
	const struct mt_stray *stray)
{
	const struct mt_address_block *b = mt_address_index_find(&s->around, stray->address);

	return b && b->number < stray->place && b->address != stray->address ? b : NULL;
}

/* Those of one block follow each other. */
void mt_strays_match(struct mt_strays *s, const struct mt_allocation *a)
{
	const struct mt_strays_slot *slot = table_find(&s->by_number, a->number);

	for (uint32_t i = 0; slot && i < slot->count; i++)
		s->items[slot->first + i].matches = true;
}

void mt_strays_free(struct mt_strays *s)
{
	mt_address_index_free(&s->around);
	free(s->items);
	free(s->by_address.slots);
	free(s->by_number.slots);
	*s = (struct mt_strays){0};
}
