/* Each mapping whose memory is of one kind counts as the kernel has it. Of the others, the pages
 * that are there are spread over layers of ranges, byte by byte; what no layer has belongs to the
 * mapping's own row. */
#include "core/account/account.h"
#include "core/account/pages.h"
#include "core/account/territory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *mt_account_kind_name(enum mt_account_kind kind)
{
	static const char *const names[] = {
#define X(id, name, words) name,
		MT_ACCOUNT_KINDS(X)
#undef X
	};

	return names[kind];
}

const char *mt_account_kind_words(enum mt_account_kind kind)
{
	static const char *const words_of[] = {
#define X(id, name, words) words,
		MT_ACCOUNT_KINDS(X)
#undef X
	};

	return words_of[kind];
}

/* ---- a mapping ------------------------------------------------------------------------------- */

struct taking {
	struct mt_account *account;
	const struct mt_known *known;
	struct mt_territory territory;
	int pagemap;
	/* of the mapping at hand */
	uint32_t rest;  /* the row of what no layer has */
	bool is_shared; /* by several processes, or on purpose: a page that others have is there */
	uint64_t counted;
	uint64_t *here; /* of counted, by row */
	uint32_t here_capacity;
};

static void count_bytes(struct taking *t, uint32_t row, uint64_t bytes, unsigned state)
{
	struct mt_account_sum *sum = &t->account->rows[row].sum;

	if (!state) {
		sum->size += bytes;
		return;
	}
	if (state & MT_PAGE_SWAPPED) {
		sum->swap += bytes;
		return;
	}
	sum->resident += bytes;
	if (state & MT_PAGE_FILE)
		*(state & MT_PAGE_ALONE ? &sum->private_clean : &sum->shared_clean) += bytes;
	else
		*(state & MT_PAGE_ALONE ? &sum->private_dirty : &sum->shared_dirty) += bytes;
	t->counted += bytes;
	t->here[row] += bytes;
}

static void spread_over_layers(struct taking *t, unsigned level, uint64_t low, uint64_t high,
	unsigned state);

/* The first block that ends behind the address, with its slack. */
static uint64_t block_from(const struct mt_known *k, uint64_t address)
{
	uint64_t low = 0, high = k->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		const struct mt_known_block *b = &k->blocks[middle];

		if (b->address + b->size + b->slack <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void spread_over_blocks(struct taking *t, uint64_t low, uint64_t high, unsigned state)
{
	const struct mt_known *k = t->known;

	for (uint64_t i = k ? block_from(k, low) : 0;
		k && low < high && i < k->count && k->blocks[i].address < high; i++) {
		const struct mt_known_block *b = &k->blocks[i];
		uint64_t end = b->address + b->size, slack_end = end + b->slack;

		if (b->address > low) {
			spread_over_layers(t, MT_LAYERS_BELOW_BLOCKS, low, b->address, state);
			low = b->address;
		}
		if (end > low) {
			count_bytes(t, t->territory.blocks, least(end, high) - low, state);
			if (state & MT_PAGE_PRESENT)
				t->account->groups[b->group].resident += least(end, high) - low;
			low = least(end, high);
		}
		if (low < high && slack_end > low) {
			count_bytes(t, t->territory.slack, least(slack_end, high) - low, state);
			low = least(slack_end, high);
		}
	}
	if (low < high)
		spread_over_layers(t, MT_LAYERS_BELOW_BLOCKS, low, high, state);
}

static void spread_on(struct taking *t, unsigned level, uint64_t low, uint64_t high, unsigned state)
{
	if (level + 1 == MT_LAYERS_BELOW_BLOCKS)
		spread_over_blocks(t, low, high, state);
	else
		spread_over_layers(t, level + 1, low, high, state);
}

static void spread_over_layers(struct taking *t, unsigned level, uint64_t low, uint64_t high,
	unsigned state)
{
	if (level == MT_LAYER_COUNT) {
		count_bytes(t, t->rest, high - low, state);
		return;
	}
	const struct mt_zones *l = &t->territory.layers[level];

	for (uint32_t i = mt_zones_from(l, low); low < high && i < l->count; i++) {
		const struct mt_zone *r = &l->items[i];

		if (r->low >= high)
			break;
		if (r->low > low) {
			spread_on(t, level, low, r->low, state);
			low = r->low;
		}
		count_bytes(t, r->row, least(r->high, high) - low, state);
		low = least(r->high, high);
	}
	if (low < high)
		spread_on(t, level, low, high, state);
}

static void spread_pages(void *context, uint64_t low, uint64_t high, unsigned state)
{
	struct taking *t = context;

	/* the page of zeroes that a program has where it only reads: it does not count */
	if ((state & MT_PAGE_PRESENT) && !(state & (MT_PAGE_FILE | MT_PAGE_ALONE)) && !t->is_shared)
		return;
	spread_over_layers(t, 0, low, high, state);
}

/* ---- what the kernel says counts ------------------------------------------------------------- */

static uint64_t take_off(uint64_t *part, uint64_t bytes)
{
	uint64_t taken = least(*part, bytes);

	*part -= taken;
	return bytes - taken;
}

static void reduce(struct taking *t, uint32_t row, uint64_t bytes)
{
	struct mt_account_sum *sum = &t->account->rows[row].sum;

	t->here[row] -= bytes;
	sum->resident -= bytes;
	bytes = take_off(&sum->shared_dirty, bytes);
	bytes = take_off(&sum->private_dirty, bytes);
	bytes = take_off(&sum->shared_clean, bytes);
	take_off(&sum->private_clean, bytes);
}

/* Pages came or went between the two looks. What is too much goes from the row that has most here,
 * the mapping's own row first. */
static void reconcile(struct taking *t, uint64_t wanted)
{
	uint64_t surplus = t->counted > wanted ? t->counted - wanted : 0;
	struct mt_account_sum *rest = &t->account->rows[t->rest].sum;

	t->account->changed += surplus ? surplus : wanted - t->counted;
	if (!surplus) {
		rest->resident += wanted - t->counted;
		rest->private_dirty += wanted - t->counted;
		return;
	}
	for (uint32_t row = t->rest; surplus;) {
		uint64_t bytes = least(surplus, t->here[row]);

		reduce(t, row, bytes);
		surplus -= bytes;
		for (uint32_t i = row = 0; i < t->account->count; i++)
			if (t->here[i] > t->here[row])
				row = i;
	}
}

static void count_whole(struct taking *t, const struct mt_smap *m, uint32_t row)
{
	struct mt_account_sum *sum = &t->account->rows[row].sum;

	sum->resident += m->rss;
	sum->private_clean += m->private_clean;
	sum->private_dirty += m->private_dirty;
	sum->shared_clean += m->shared_clean;
	sum->shared_dirty += m->shared_dirty;
	sum->swap += m->swap;
	sum->size += m->high - m->low;
}

static int count_pages(struct taking *t, const struct mt_smap *m)
{
	if (t->here_capacity < t->account->count) {
		t->here_capacity = t->account->count * 2;
		t->here = mt_resize(t->here, t->here_capacity * sizeof *t->here);
	}
	memset(t->here, 0, t->account->count * sizeof *t->here);
	t->counted = 0;
	t->is_shared = m->is_shared || m->shared_clean || m->shared_dirty;
	spread_over_layers(t, 0, m->low, m->high, 0);
	int error =
		m->rss || m->swap ? mt_pages_each(t->pagemap, m->low, m->high, spread_pages, t) : 0;

	if (!error)
		reconcile(t, m->rss);
	return error;
}

static bool has_block(const struct mt_known *k, uint64_t low, uint64_t high)
{
	uint64_t i = k ? block_from(k, low) : 0;

	return k && i < k->count && k->blocks[i].address < high;
}

/* The row of all of it; false: it has memory of several. */
static bool is_of_one_row(const struct taking *t, const struct mt_smap *m, uint32_t *row)
{
	*row = t->rest;
	if (has_block(t->known, m->low, m->high))
		return false;
	for (unsigned level = 0; level < MT_LAYER_COUNT; level++) {
		const struct mt_zones *l = &t->territory.layers[level];
		uint32_t i = mt_zones_from(l, m->low);

		if (i == l->count || l->items[i].low >= m->high)
			continue;
		*row = l->items[i].row;
		return l->items[i].low <= m->low && l->items[i].high >= m->high;
	}
	return true;
}

static int count_mapping(struct taking *t, uint32_t index)
{
	const struct mt_smap *m = &t->territory.smaps.items[index];
	uint32_t row;

	t->rest = mt_territory_row(&t->territory, index);
	t->account->huge += m->huge;
	t->account->hugetlb += m->hugetlb;
	t->account->rows[t->rest].count++;
	if (is_of_one_row(t, m, &row)) {
		t->account->rows[t->rest].count -= row != t->rest;
		count_whole(t, m, row);
		return 0;
	}
	return count_pages(t, m);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const struct mt_account_row *x = a, *y = b;

	if ((x->kind == MT_ACCOUNT_OWN) != (y->kind == MT_ACCOUNT_OWN))
		return x->kind == MT_ACCOUNT_OWN ? 1 : -1;
	if (x->sum.resident != y->sum.resident)
		return x->sum.resident < y->sum.resident ? 1 : -1;
	if (x->sum.size != y->sum.size)
		return x->sum.size < y->sum.size ? 1 : -1;
	return x->kind != y->kind ? (x->kind > y->kind ? 1 : -1) : strcmp(x->detail, y->detail);
}

void mt_account_add(struct mt_account_sum *to, const struct mt_account_sum *sum)
{
	to->resident += sum->resident;
	to->private_clean += sum->private_clean;
	to->private_dirty += sum->private_dirty;
	to->shared_clean += sum->shared_clean;
	to->shared_dirty += sum->shared_dirty;
	to->swap += sum->swap;
	to->size += sum->size;
}

/* Rows without memory go. */
static void sum_up(struct mt_account *a)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		struct mt_account_row row = a->rows[i];

		mt_account_add(&a->total, &row.sum);
		if (row.sum.size || row.sum.resident)
			a->rows[kept++] = row;
		else
			free(row.detail);
	}
	a->count = kept;
	if (kept)
		qsort(a->rows, kept, sizeof *a->rows, by_size);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void begin_groups(struct mt_account *a, const struct mt_known *k)
{
	a->group_count = k->group_count;
	a->groups = mt_alloc((k->group_count + 1ull) * sizeof *a->groups);
	for (uint32_t i = 0; i < k->group_count; i++)
		a->groups[i].group = i;
	for (uint64_t i = 0; i < k->count; i++) {
		a->groups[k->blocks[i].group].size += k->blocks[i].size;
		a->groups[k->blocks[i].group].count++;
	}
}

static int by_resident(const void *a, const void *b)
{
	const struct mt_account_group *x = a, *y = b;

	if (x->resident != y->resident)
		return x->resident < y->resident ? 1 : -1;
	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/* Those without blocks go; of a sampled recording all do. */
static void end_groups(struct mt_account *a)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; a->has_blocks && i < a->group_count; i++)
		if (a->groups[i].count)
			a->groups[kept++] = a->groups[i];
	a->group_count = kept;
	if (kept)
		qsort(a->groups, kept, sizeof *a->groups, by_resident);
}

/* ---- a process ------------------------------------------------------------------------------- */

static int open_pagemap(pid_t pid, struct mt_err *err)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? mt_fail_open(err, path) : fd;
}

static int count_all(struct taking *t, struct mt_err *err)
{
	pid_t pid = t->account->pid;

	for (uint32_t i = 0; i < t->territory.smaps.count; i++) {
		int error = count_mapping(t, i);

		if (error == -ESRCH)
			return mt_fail(err, error, "process %d ended while its memory was read",
				(int)pid);
		if (error)
			return mt_fail(err, error, "/proc/%d/pagemap cannot be read: %s", (int)pid,
				strerror(-error));
	}
	return 0;
}

int mt_account_take(struct mt_account *a, pid_t pid, const struct mt_known *known,
	struct mt_err *err)
{
	struct taking t = {.account = a, .known = known, .pagemap = -1};
	int status;

	a->pid = pid;
	a->has_blocks = known && !known->is_sampled;
	a->is_sampled = known && known->is_sampled;
	a->is_gated = known && known->is_gated;
	a->begins_within = known && known->begins_within;
	if (known)
		begin_groups(a, known);
	status = mt_territory_survey(&t.territory, a, known, err);
	if (status >= 0)
		status = t.pagemap = open_pagemap(t.territory.thread, err);
	if (status >= 0)
		status = count_all(&t, err);
	if (status >= 0)
		sum_up(a);
	if (status >= 0)
		end_groups(a);
	if (t.pagemap >= 0)
		close(t.pagemap);
	free(t.here);
	mt_territory_free(&t.territory);
	return status < 0 ? status : 0;
}

struct mt_account_sum mt_account_of_kind(const struct mt_account *a, enum mt_account_kind kind)
{
	struct mt_account_sum sum = {0};

	for (uint32_t i = 0; i < a->count; i++)
		if (a->rows[i].kind == kind)
			mt_account_add(&sum, &a->rows[i].sum);
	return sum;
}

void mt_account_free(struct mt_account *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		free(a->rows[i].detail);
	free(a->rows);
	free(a->groups);
	*a = (struct mt_account){0};
}
