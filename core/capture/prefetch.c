#include "core/capture/prefetch.h"

/* A batch of events at a time, in rounds, each of which needs what the one before has brought. What
 * it reads may be nonsense; it is right nearly always. */
#define BATCH 32

/* Inlined at any rate: the compiler takes a function that does nothing but ask the memory for one
 * that does nothing. */
#define INLINED static inline __attribute__((always_inline))

struct batch {
	uint64_t addresses[BATCH];
	const struct mt_grid_row *rows[BATCH];
	const struct mt_pool_bucket *homes[BATCH]; /* where many blocks lie in the pool */
	unsigned begins, ends;
	const uint32_t *begun[BATCH];            /* groups of blocks that begin */
	uint8_t ended[BATCH];                    /* which events end a block, */
	const struct mt_pool_cell *cells[BATCH]; /* probably of these, in the pool */
};

INLINED void fetch_tables(struct mt_merge *m, struct mt_ring *r, uint64_t from, unsigned count,
	bool pooled, struct batch *b)
{
	for (unsigned i = 0; i < count; i++) {
		struct mt_wire_record record = mt_ring_read(r, from + i);
		unsigned type = mt_wire_record_type(&record);
		uint32_t node = mt_wire_record_node(&record);
		bool end = type == MT_RECORD_FREE || type == MT_RECORD_RELEASE;

		b->addresses[i] = mt_wire_record_pointer(&record) << 3;
		b->rows[i] = mt_grid_row(&m->live.grid, b->addresses[i]);
		b->begun[b->begins] =
			&m->tables.groups[node < m->segment->nodes.capacity ? node : 0];
		b->ended[b->ends] = (uint8_t)i;
		__builtin_prefetch(b->rows[i], 1);
		__builtin_prefetch(b->begun[b->begins]);
		b->ends += end;
		b->begins += !end;
		if (!pooled)
			continue;
		b->homes[i] = mt_pool_home(&m->live.pool, mt_pool_hash(b->addresses[i]));
		__builtin_prefetch(b->homes[i], 1);
	}
}

INLINED void fetch_begins(const struct mt_group *groups, const struct batch *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		__builtin_prefetch(mt_grid_cell(b->rows[i], mt_grid_word(b->addresses[i])), 1);
	for (unsigned i = 0; i < b->begins; i++)
		mt_model_prefetch(&groups[*b->begun[i] ? *b->begun[i] - 1 : 0]);
}

INLINED void fetch_pool(const struct mt_pool *pool, const struct mt_group *groups, struct batch *b)
{
	for (unsigned i = 0; i < b->ends; i++) {
		uint64_t hash = mt_pool_hash(b->addresses[b->ended[i]]);

		b->cells[i] = mt_pool_guess(pool, b->homes[b->ended[i]], mt_pool_tag(hash));
		__builtin_prefetch(b->cells[i], 1);
	}
	for (unsigned i = 0; i < b->ends; i++)
		mt_model_prefetch(&groups[b->cells[i]->group]);
}

INLINED void fetch_ends(const struct mt_group *groups, const struct batch *b)
{
	for (unsigned i = 0; i < b->ends; i++) {
		uint64_t address = b->addresses[b->ended[i]];
		const struct mt_grid_cell *cell = mt_grid_find(b->rows[b->ended[i]], address);

		if (cell)
			mt_model_prefetch(&groups[cell->group]);
	}
}

void mt_prefetch_from(struct mt_merge *m, struct mt_ring *r, uint64_t position)
{
	const struct mt_group *groups = m->model->profile->groups;
	const struct mt_pool *pool = &m->live.pool;
	bool pooled = pool->cell_count - pool->free_count >= MT_PREFETCH_MANY;
	uint64_t left = r->first_head - position;
	unsigned count = left < BATCH ? (unsigned)left : BATCH;
	struct batch b;

	b.begins = b.ends = 0;
	fetch_tables(m, r, position, count, pooled, &b);
	fetch_begins(groups, &b, count);
	if (pooled)
		fetch_pool(pool, groups, &b);
	fetch_ends(groups, &b);
	r->looked = position + count;
}
