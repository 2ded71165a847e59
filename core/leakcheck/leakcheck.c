#include "core/leakcheck/leakcheck.h"
#include "core/base/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name, *words;
} verdicts[] = {
#define X(id, name, words) {name, words},
	MT_VERDICTS(X)
#undef X
};

const char *mt_verdict_words(enum mt_verdict verdict)
{
	return verdicts[verdict].words;
}

const char *mt_verdict_name(enum mt_verdict verdict)
{
	return verdicts[verdict].name;
}

/* ---- what lives ------------------------------------------------------------------------------ */

static int add_block(void *context, const struct mt_allocation *a)
{
	struct mt_leakcheck *c = context;

	if (a->domain == MT_DOMAIN_HEAP)
		return mt_held_blocks_add(&c->blocks, a->address, a->size, a->group) ? 0 : -E2BIG;
	if (a->domain != MT_DOMAIN_MAPPING)
		return 0; /* a pool's memory lies in blocks of the heap, or is mapped */
	MT_GROW(c->roots.mapped, c->roots.mapped_count, c->roots.mapped_capacity);
	c->roots.mapped[c->roots.mapped_count++] =
		(struct mt_program_map){a->address, a->address + a->size};
	return 0;
}

int mt_leakcheck_add_live(struct mt_leakcheck *c, const struct mt_source *source,
	struct mt_err *err)
{
	struct mt_filter *live = mt_filter_new();
	int status = mt_filter_set(live, MT_FILTER_LIFETIME, "only_leaked", err);

	if (status >= 0)
		status = mt_scan_allocations(source, live, MT_SCAN_ADDRESSES | MT_SCAN_TIMELESS,
			add_block, c, err);
	mt_filter_free(live);
	if (status == -E2BIG)
		mt_fail(err, status,
			"more than 2 billion blocks live, which the leak check cannot tell apart");
	mt_held_blocks_arrange(&c->blocks);
	return status;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

void mt_leakcheck_run(struct mt_leakcheck *c, bool begins_within)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	mt_roots_find(&c->roots, &c->still, &c->blocks, begins_within);
	mt_mark(&c->blocks, &c->roots, &c->still);
	clock_gettime(CLOCK_MONOTONIC, &end);
	c->check_ns = ns_of(&end) - ns_of(&begin);
	mt_still_resume(&c->still);
}

/* The block at the head of the lost blocks that this one belongs to. */
static uint32_t leader_of(const struct mt_leakcheck *c, uint32_t block)
{
	while (c->blocks.items[block].holder != MT_HOLDER_NONE)
		block = c->blocks.items[block].holder;
	return block;
}

static bool is_suppressed(const struct mt_leakcheck *c, uint32_t block, const bool *is_known)
{
	const struct mt_held_block *b = &c->blocks.items[block];

	return is_known && (b->verdict == MT_VERDICT_LOST || b->verdict == MT_VERDICT_INDIRECT)
		&& (is_known[b->group] || is_known[c->blocks.items[leader_of(c, block)].group]);
}

static void count(struct mt_leakcheck_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

static int by_loss(const void *a, const void *b)
{
	const struct mt_leakcheck_group *x = a, *y = b;

	/* what is lost with a block is its group's, not that of the block that holds it */
	for (int v = 0; v < MT_VERDICT_COUNT; v++)
		if (x->sums[v].bytes != y->sums[v].bytes)
			return x->sums[v].bytes < y->sums[v].bytes ? 1 : -1;
	return x->group > y->group ? 1 : x->group < y->group ? -1 : 0;
}

void mt_leakcheck_sum_up(struct mt_leakcheck *c, const bool *is_known, uint32_t group_count)
{
	uint32_t kept = 0;

	c->groups = mt_alloc((group_count + 1ull) * sizeof *c->groups);
	for (uint32_t i = 0; i < group_count; i++)
		for (int v = 0; v < MT_VERDICT_COUNT; v++)
			c->groups[i].first[v] = MT_BLOCK_NONE;
	for (uint32_t i = 0; i < c->blocks.count; i++) {
		const struct mt_held_block *b = &c->blocks.items[i];
		struct mt_leakcheck_group *g = &c->groups[b->group];

		if (is_suppressed(c, i, is_known)) {
			count(&c->suppressed, b->size);
			continue;
		}
		if (!g->sums[b->verdict].count)
			g->first[b->verdict] = i;
		count(&g->sums[b->verdict], b->size);
		count(&c->sums[b->verdict], b->size);
	}
	for (uint32_t i = 0; i < group_count; i++) {
		uint64_t all = 0;

		for (int v = 0; v < MT_VERDICT_COUNT; v++)
			all += c->groups[i].sums[v].count;
		c->groups[kept] = c->groups[i];
		c->groups[kept].group = i;
		kept += all > 0;
	}
	c->group_count = kept;
	if (kept)
		qsort(c->groups, kept, sizeof *c->groups, by_loss);
}

void mt_leakcheck_free(struct mt_leakcheck *c)
{
	mt_held_blocks_free(&c->blocks);
	mt_roots_free(&c->roots);
	free(c->groups);
	c->groups = NULL;
}

/* ---- what holds a block ---------------------------------------------------------------------- */

uint32_t mt_leakcheck_way(const struct mt_leakcheck *c, uint32_t block,
	struct mt_holder_step *steps, uint32_t most)
{
	uint32_t count = 0;

	for (;; count++) {
		uint32_t holder = c->blocks.items[block].holder;

		if (holder == MT_HOLDER_NONE)
			return count;
		if (count < most) {
			struct mt_holder_step *step = &steps[count];

			step->holder = holder;
			step->found = mt_mark_find_word(&c->still, &c->blocks, &c->roots, holder,
				block, &step->address, &step->word);
		}
		if (holder & MT_HOLDER_ROOT)
			return count + 1;
		block = holder;
	}
}

char *mt_leakcheck_root_words(const struct mt_leakcheck *c, uint32_t root)
{
	static const char *const words[] = {
#define X(id, name, words) words,
		MT_ROOT_KINDS(X)
#undef X
	};
	const struct mt_root *r = &c->roots.items[root];
	const struct mt_tracee_mapping *m;

	switch (r->kind) {
	case MT_ROOT_REGISTERS:
	case MT_ROOT_STACK:
	case MT_ROOT_THREAD_LOCAL:
		return mt_format("%s of thread %d", words[r->kind],
			(int)c->still.threads[r->thread]->thread);
	case MT_ROOT_DATA:
		/* zeroes have a mapping of their own behind the file's */
		for (m = &c->still.maps[r->map]; !m->is_file && m > c->still.maps;)
			m--;
		return mt_format("data of %s", m->path);
	default: return mt_strdup(words[r->kind]);
	}
}
