#include "core/query/address_index.h"
#include "core/base/search.h"

#include <stdlib.h>

void mt_address_index_add(struct mt_address_index *index, const struct mt_allocation *a)
{
	MT_GROW(index->blocks, index->count, index->capacity);
	index->blocks[index->count++] = (struct mt_address_block){.address = a->key,
		.size = a->size,
		.number = a->number,
		.time_ns = a->time_ns,
		.domain = a->domain,
		.group = a->group,
		.thread = a->thread};
}

static int compare(const void *a, const void *b)
{
	const struct mt_address_block *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void mt_address_index_arrange(struct mt_address_index *index)
{
	if (index->count)
		qsort(index->blocks, index->count, sizeof *index->blocks, compare);
}

/* The blocks, and in which domain is searched. */
struct in_domain {
	const struct mt_address_block *blocks;
	uint32_t domain;
};

static bool begins_behind(const void *context, uint32_t at, uint64_t address)
{
	const struct in_domain *in = context;
	const struct mt_address_block *b = &in->blocks[at];

	return b->domain > in->domain || (b->domain == in->domain && b->address > address);
}

uint32_t mt_address_index_behind(const struct mt_address_index *index, uint32_t domain,
	uint64_t address)
{
	struct in_domain in = {index->blocks, domain};

	return mt_search(0, index->count, begins_behind, &in, address);
}

uint32_t mt_address_index_end(const struct mt_address_index *index, uint32_t domain)
{
	return mt_address_index_behind(index, domain, UINT64_MAX);
}

const struct mt_address_block *mt_address_index_find(const struct mt_address_index *index,
	uint32_t domain, uint64_t address)
{
	uint32_t at = mt_address_index_behind(index, domain, address);
	const struct mt_address_block *block = at ? &index->blocks[at - 1] : NULL;

	return block && block->domain == domain
			&& (address == block->address || address - block->address < block->size)
		? block
		: NULL;
}

/* ---- of an instant ---- */

struct making {
	struct mt_address_index *index;
	uint64_t time_ns;
};

static int visit(void *context, const struct mt_allocation *a)
{
	const struct making *m = context;

	if (a->time_ns <= m->time_ns && (a->end_ns == MT_LIVE || a->end_ns > m->time_ns))
		mt_address_index_add(m->index, a);
	return 0;
}

int mt_address_index_make(struct mt_address_index *index, const struct mt_source *source,
	uint64_t time_ns, struct mt_err *err)
{
	struct making m = {index, time_ns};
	int status = mt_scan_allocations(source, NULL, MT_SCAN_ADDRESSES, visit, &m, err);

	mt_address_index_arrange(index);
	return status;
}

void mt_address_index_free(struct mt_address_index *index)
{
	free(index->blocks);
	*index = (struct mt_address_index){0};
}
