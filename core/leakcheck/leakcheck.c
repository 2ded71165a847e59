#include "core/leakcheck/leakcheck.h"
#include "core/base/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what lives ------------------------------------------------------------------------------ */

static struct mt_filter *live_filter(struct mt_err *err)
{
	struct mt_filter *live = mt_filter_new();

	if (mt_filter_set(live, MT_FILTER_LIFETIME, "only_leaked", err) >= 0)
		return live;
	mt_filter_free(live);
	return NULL;
}

static int add_block(void *context, const struct mt_allocation *a)
{
	struct mt_leakcheck *c = context;

	if (a->domain != MT_DOMAIN_HEAP)
		return 0; /* a pool's memory lies in blocks of the heap, or is mapped */
	return mt_held_blocks_add(&c->blocks, a->address, a->size, a->group) ? 0 : -E2BIG;
}

int mt_leakcheck_add_live(struct mt_leakcheck *c, const struct mt_source *source,
	struct mt_err *err)
{
	struct mt_filter *live = live_filter(err);
	int status = !live ? err->code
			   : mt_scan_allocations(source, live, MT_SCAN_ADDRESSES | MT_SCAN_TIMELESS,
				   add_block, c, err);

	mt_filter_free(live);
	if (status == -E2BIG)
		mt_fail(err, status,
			"more than 2 billion blocks live, which the leak check cannot tell apart");
	mt_held_blocks_arrange(&c->blocks);
	mt_mapped_by_program(&c->roots.mapped, source->profile);
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

static void count(struct mt_verdict_sum *sum, uint64_t bytes)
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

static void begin_groups(struct mt_leakcheck *c, uint32_t group_count)
{
	c->groups = mt_alloc((group_count + 1ull) * sizeof *c->groups);
	for (uint32_t i = 0; i < group_count; i++) {
		c->groups[i].group = i;
		for (int v = 0; v < MT_VERDICT_COUNT; v++)
			c->groups[i].first[v] = MT_BLOCK_NONE;
	}
}

/* Those without a block go; those that lose most come first. */
static void end_groups(struct mt_leakcheck *c, uint32_t group_count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < group_count; i++) {
		uint64_t all = 0;

		for (int v = 0; v < MT_VERDICT_COUNT; v++)
			all += c->groups[i].sums[v].count;
		c->groups[kept] = c->groups[i];
		kept += all > 0;
	}
	c->group_count = kept;
	if (kept)
		qsort(c->groups, kept, sizeof *c->groups, by_loss);
}

void mt_leakcheck_sum_up(struct mt_leakcheck *c, const bool *is_known, uint32_t group_count)
{
	begin_groups(c, group_count);
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
	end_groups(c, group_count);
}

static void add_sum(struct mt_verdict_sum *to, const struct mt_verdict_sum *sum)
{
	to->count += sum->count;
	to->bytes += sum->bytes;
}

void mt_leakcheck_of_recording(struct mt_leakcheck *c, const struct mt_verdicts *v,
	const bool *is_known, uint32_t group_count)
{
	c->recorded = v;
	begin_groups(c, group_count);
	for (uint32_t i = 0; i < v->group_count; i++) {
		const struct mt_verdict_group *g = &v->groups[i];

		if (is_known && g->verdict <= MT_VERDICT_INDIRECT
			&& (is_known[g->group] || is_known[g->leader])) {
			add_sum(&c->suppressed, &g->sum);
			continue;
		}
		add_sum(&c->groups[g->group].sums[g->verdict], &g->sum);
		add_sum(&c->sums[g->verdict], &g->sum);
	}
	end_groups(c, group_count);
}

/* ---- what the recording keeps ---------------------------------------------------------------- */

/* By group and verdict. */
static void add_group(struct mt_verdicts *v, uint32_t group, uint32_t leader,
	enum mt_verdict verdict, const struct mt_verdict_sum *sum)
{
	if (sum->count)
		mt_verdicts_add_group(v, &(struct mt_verdict_group){group, leader, verdict, *sum});
}

struct indirect {
	uint32_t group, leader;
	uint64_t bytes;
};

static int by_leader(const void *a, const void *b)
{
	const struct indirect *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->leader < y->leader ? -1 : x->leader > y->leader;
}

/* Those of a group, from *at on. */
static void add_indirect(struct mt_verdicts *v, const struct indirect *all, uint64_t total,
	uint64_t *at, uint32_t group)
{
	while (*at < total && all[*at].group == group) {
		uint32_t leader = all[*at].leader;
		struct mt_verdict_sum sum = {0};

		for (; *at < total && all[*at].group == group && all[*at].leader == leader; ++*at)
			count(&sum, all[*at].bytes);
		add_group(v, group, leader, MT_VERDICT_INDIRECT, &sum);
	}
}

static void add_groups(const struct mt_leakcheck *c, struct mt_verdicts *v, uint32_t group_count)
{
	struct mt_verdict_sum(*sums)[MT_VERDICT_COUNT] =
		mt_alloc((group_count + 1ull) * sizeof *sums);
	struct indirect *indirect = NULL;
	uint64_t total = 0, capacity = 0, at = 0;

	for (uint32_t i = 0; i < c->blocks.count; i++) {
		const struct mt_held_block *b = &c->blocks.items[i];

		if (b->verdict != MT_VERDICT_INDIRECT) {
			count(&sums[b->group][b->verdict], b->size);
			continue;
		}
		MT_GROW(indirect, total, capacity);
		indirect[total++] = (struct indirect){b->group,
			c->blocks.items[leader_of(c, i)].group, b->size};
	}
	if (total)
		qsort(indirect, total, sizeof *indirect, by_leader);
	for (uint32_t i = 0; i < group_count; i++) {
		add_group(v, i, i, MT_VERDICT_LOST, &sums[i][MT_VERDICT_LOST]);
		add_indirect(v, indirect, total, &at, i);
		add_group(v, i, i, MT_VERDICT_POSSIBLE, &sums[i][MT_VERDICT_POSSIBLE]);
		add_group(v, i, i, MT_VERDICT_REACHABLE, &sums[i][MT_VERDICT_REACHABLE]);
	}
	free(indirect);
	free(sums);
}

struct listing {
	const struct mt_leakcheck *check;
	struct mt_verdicts *to;
};

static int list_block(void *context, const struct mt_allocation *a)
{
	struct listing *l = context;
	const struct mt_held_blocks *blocks = &l->check->blocks;
	uint32_t i = a->domain == MT_DOMAIN_HEAP
		? mt_held_blocks_find(blocks, a->address)
		: MT_BLOCK_NONE;

	if (i != MT_BLOCK_NONE && blocks->items[i].address == a->address
		&& blocks->items[i].verdict < MT_VERDICT_REACHABLE)
		mt_verdicts_add_block(l->to, a->number, (enum mt_verdict)blocks->items[i].verdict);
	l->to->next_number = a->number + 1;
	return 0;
}

int mt_leakcheck_verdicts(const struct mt_leakcheck *c, const struct mt_source *source,
	struct mt_verdicts *v, struct mt_err *err)
{
	struct listing l = {c, v};
	struct mt_filter *live = live_filter(err);
	int status;

	if (!live)
		return err->code;
	v->listed = true;
	add_groups(c, v, source->profile->group_count);
	status = mt_scan_allocations(source, live, MT_SCAN_ADDRESSES | MT_SCAN_TIMELESS, list_block,
		&l, err);
	mt_filter_free(live);
	return status;
}

void mt_leakcheck_free(struct mt_leakcheck *c)
{
	mt_held_blocks_free(&c->blocks);
	mt_roots_free(&c->roots);
	free(c->groups);
	c->groups = NULL;
}

/* ---- what holds a block ---------------------------------------------------------------------- */

static void read_word(const struct mt_leakcheck *c, struct mt_holder_step *step)
{
	const struct mt_root *root = NULL;
	struct mt_span span = {0, sizeof step->word};

	step->address = step->word = 0;
	if (step->holder & MT_HOLDER_ROOT) {
		if (c->recorded)
			return;
		root = &c->roots.items[step->holder & ~MT_HOLDER_ROOT];
	}
	if (root && root->kind == MT_ROOT_REGISTERS) {
		step->word = c->still.threads[root->thread]->words[step->index];
		return;
	}
	step->address = span.address =
		mt_mark_words_begin(&c->blocks, &c->roots, step->holder) + 8ull * step->index;
	if (c->recorded)
		return; /* where it was is known, and not more */
	mt_still_memory_read(&c->still.memory, &span, 1, &step->word);
}

uint32_t mt_leakcheck_way(const struct mt_leakcheck *c, uint32_t block,
	struct mt_holder_step *steps, uint32_t most)
{
	uint32_t count = 0;

	for (;; count++) {
		uint32_t holder = c->blocks.items[block].holder;

		if (holder == MT_HOLDER_NONE || count > c->blocks.count)
			return count; /* the latter: it is a damaged trace's */
		if (count < most) {
			struct mt_holder_step *step = &steps[count];

			step->holder = holder;
			step->index = c->blocks.words[block];
			read_word(c, step);
			step->found = !c->recorded
				&& mt_held_blocks_find(&c->blocks, step->word) == block;
		}
		if (holder & MT_HOLDER_ROOT)
			return count + 1;
		block = holder;
	}
}

struct mt_verdict_sum mt_leakcheck_retained(const struct mt_leakcheck *c, uint32_t group,
	uint32_t block)
{
	struct mt_held_blocks without = c->blocks;
	struct mt_verdict_sum sum = {0};

	without.items = mt_alloc((c->blocks.count + 1ull) * sizeof *without.items);
	without.words = mt_alloc((c->blocks.count + 1ull) * sizeof *without.words);
	for (uint32_t i = 0; i < c->blocks.count; i++) {
		without.items[i] = c->blocks.items[i];
		without.items[i].verdict = i == block || without.items[i].group == group
			? MT_VERDICT_REACHABLE
			: MT_VERDICT_NONE;
		without.items[i].is_listed = 0;
	}
	mt_mark_reached(&without, &c->roots, &c->still);
	for (uint32_t i = 0; i < c->blocks.count; i++) {
		const struct mt_held_block *b = &c->blocks.items[i];

		if (b->verdict >= MT_VERDICT_POSSIBLE
			&& (i == block || b->group == group
				|| without.items[i].verdict == MT_VERDICT_NONE))
			count(&sum, b->size);
	}
	free(without.items);
	free(without.words);
	return sum;
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
