/* What holds each block, as the recording keeps it. doc/leak-check.md, "In the trace". */
#include "core/base/buffer.h"
#include "core/leakcheck/describe.h"

#include <errno.h>
#include <stdlib.h>

/* Words of roots that are told one by one; others are told as their root is. */
#define TOLD_MOST 2000u

struct keeping {
	const struct mt_leakcheck *check;
	struct mt_verdicts *to;
	uint32_t *places; /* by block: its place in the list of ways, or MT_HOLDER_NONE */
	uint32_t *roots;  /* by root: its number as a whole, or MT_HOLDER_NONE */
	struct mt_describer *describer;
};

static int keep_block(void *context, const struct mt_allocation *a)
{
	struct keeping *k = context;
	struct mt_verdicts *v = k->to;
	uint32_t block = a->domain == MT_DOMAIN_HEAP
		? mt_held_blocks_find(&k->check->blocks, a->address)
		: MT_BLOCK_NONE;

	if (block == MT_BLOCK_NONE || k->check->blocks.items[block].address != a->address
		|| k->places[block] != MT_HOLDER_NONE)
		return 0;
	k->places[block] = v->way_count;
	MT_GROW(v->ways, v->way_count, v->way_capacity);
	v->ways[v->way_count++] = (struct mt_verdict_way){a->number, block, 0};
	return 0;
}

static uint32_t keep_word(struct keeping *k, uint32_t root, uint32_t word)
{
	struct mt_root_description d;

	mt_root_describe(k->describer, root, word, &d);
	char *words = mt_root_words(&d);
	uint32_t number = mt_verdicts_add_root(k->to, d.kind, words);

	free(words);
	mt_root_description_free(&d);
	return MT_HOLDER_ROOT | number;
}

static uint32_t keep_root(struct keeping *k, uint32_t root, uint32_t word)
{
	if (k->to->root_count < TOLD_MOST)
		return keep_word(k, root, word);
	if (k->roots[root] == MT_HOLDER_NONE && k->to->root_count < MT_VERDICT_ROOTS_MOST) {
		char *words = mt_leakcheck_root_words(k->check, root);

		k->roots[root] = MT_HOLDER_ROOT
			| mt_verdicts_add_root(k->to, k->check->roots.items[root].kind, words);
		free(words);
	}
	return k->roots[root];
}

static void keep_holders(struct keeping *k)
{
	const struct mt_held_blocks *blocks = &k->check->blocks;

	for (uint32_t i = 0; i < k->to->way_count; i++) {
		struct mt_verdict_way *w = &k->to->ways[i];
		uint32_t block = w->holder, holder = blocks->items[block].holder;

		w->word = blocks->words[block];
		if (holder == MT_HOLDER_NONE)
			w->holder = MT_HOLDER_NONE;
		else if (holder & MT_HOLDER_ROOT)
			w->holder = keep_root(k, holder & ~MT_HOLDER_ROOT, w->word);
		else
			w->holder = k->places[holder];
	}
}

static uint32_t *nones(uint32_t count)
{
	uint32_t *all = mt_alloc((count + 1ull) * sizeof *all);

	for (uint32_t i = 0; i < count; i++)
		all[i] = MT_HOLDER_NONE;
	return all;
}

static int each_live(const struct mt_source *source,
	int (*visit)(void *, const struct mt_allocation *), void *context, struct mt_err *err)
{
	struct mt_filter *live = mt_filter_new();
	int status = mt_filter_set(live, MT_FILTER_LIFETIME, "only_leaked", err);

	if (status >= 0)
		status = mt_scan_allocations(source, live, MT_SCAN_ADDRESSES | MT_SCAN_TIMELESS,
			visit, context, err);
	mt_filter_free(live);
	return status;
}

int mt_leakcheck_ways(const struct mt_leakcheck *c, const struct mt_source *source,
	struct mt_verdicts *v, struct mt_err *err)
{
	struct keeping k = {.check = c, .to = v};

	if (c->blocks.count > MT_VERDICT_WAYS_MOST)
		return 0;
	k.places = nones(c->blocks.count);
	k.roots = nones(c->roots.count);
	k.describer = mt_describer_new(c, source->profile, source->symbols);
	int status = each_live(source, keep_block, &k, err);

	if (status >= 0)
		keep_holders(&k);
	mt_describer_free(k.describer);
	free(k.places);
	free(k.roots);
	return status;
}

/* ---- and back -------------------------------------------------------------------------------- */

struct restoring {
	struct mt_leakcheck *check;
	const struct mt_verdicts *from;
	uint64_t *addresses; /* by place in the list of ways; 0: it was freed since */
	uint32_t next;
};

static int restore_block(void *context, const struct mt_allocation *a)
{
	struct restoring *r = context;
	const struct mt_verdicts *v = r->from;

	while (r->next < v->way_count && v->ways[r->next].number < a->number)
		r->next++;
	if (a->domain != MT_DOMAIN_HEAP || r->next == v->way_count
		|| v->ways[r->next].number != a->number)
		return 0;
	r->addresses[r->next] = a->address;
	return mt_held_blocks_add(&r->check->blocks, a->address, a->size, a->group) ? 0 : -E2BIG;
}

static uint32_t restored(const struct restoring *r, uint32_t place)
{
	return r->addresses[place] ? mt_held_blocks_find(&r->check->blocks, r->addresses[place])
				   : MT_HOLDER_NONE;
}

static void restore_holders(struct restoring *r)
{
	struct mt_held_blocks *blocks = &r->check->blocks;

	for (uint32_t i = 0; i < r->from->way_count; i++) {
		const struct mt_verdict_way *w = &r->from->ways[i];
		uint32_t block = restored(r, i);

		if (block == MT_HOLDER_NONE)
			continue;
		blocks->items[block].verdict = mt_verdicts_find(r->from, w->number);
		blocks->words[block] = w->word;
		blocks->items[block].holder =
			w->holder == MT_HOLDER_NONE || w->holder & MT_HOLDER_ROOT
			? w->holder
			: restored(r, w->holder);
	}
}

int mt_leakcheck_of_ways(struct mt_leakcheck *c, const struct mt_source *source,
	const struct mt_verdicts *v, struct mt_err *err)
{
	struct restoring r = {.check = c,
		.from = v,
		.addresses = mt_alloc((v->way_count + 1ull) * sizeof *r.addresses)};
	int status = each_live(source, restore_block, &r, err);

	c->recorded = v;
	mt_held_blocks_arrange(&c->blocks);
	if (status >= 0)
		restore_holders(&r);
	free(r.addresses);
	return status;
}
