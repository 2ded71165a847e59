#include "core/capture/ahead.h"

/* A batch of events at a time, in rounds, each of which needs what the one before has brought. What
 * it reads may be nonsense; it is right nearly always. */
#define BATCH 32

struct batch {
	uint64_t addresses[BATCH];
	const struct mt_grid_row *rows[BATCH];
	unsigned begins, ends;
	const uint32_t *begun[BATCH]; /* groups of blocks that begin */
	uint8_t ended[BATCH];         /* which events end a block */
};

static void fetch_tables(struct mt_merge *m, struct mt_ring *r, uint64_t from, unsigned count,
	struct batch *b)
{
	for (unsigned i = 0; i < count; i++) {
		struct mt_wire_record record = mt_ring_read(r, from + i);
		unsigned type = mt_wire_record_type(&record);
		uint32_t node = mt_wire_record_node(&record);
		bool end = type == MT_RECORD_FREE || type == MT_RECORD_RELEASE;

		b->addresses[i] = mt_wire_record_pointer(&record) << 3;
		b->rows[i] = mt_grid_row(&m->match.grid, b->addresses[i]);
		b->begun[b->begins] =
			&m->tables.groups[node < m->segment->nodes.capacity ? node : 0];
		b->ended[b->ends] = (uint8_t)i;
		__builtin_prefetch(b->rows[i], 1);
		__builtin_prefetch(b->begun[b->begins]);
		b->ends += end;
		b->begins += !end;
	}
}

static void fetch_grid(const struct mt_group *groups, const struct batch *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		__builtin_prefetch(mt_grid_cell(b->rows[i], mt_grid_word(b->addresses[i])), 1);
	for (unsigned i = 0; i < b->begins; i++)
		mt_model_prefetch(&groups[*b->begun[i] ? *b->begun[i] - 1 : 0]);
	for (unsigned i = 0; i < b->ends; i++) {
		uint64_t address = b->addresses[b->ended[i]];
		const struct mt_grid_cell *cell = mt_grid_find(b->rows[b->ended[i]], address);

		if (cell)
			mt_model_prefetch(&groups[cell->group]);
	}
}

static void fetch_pool(const struct mt_pool *pool, const struct mt_group *groups,
	const struct batch *b, unsigned count)
{
	const struct mt_pool_bucket *homes[BATCH];
	const struct mt_pool_cell *ended[BATCH];

	for (unsigned i = 0; i < count; i++) {
		homes[i] = mt_pool_home(pool, mt_pool_hash(b->addresses[i]));
		__builtin_prefetch(homes[i], 1);
	}
	for (unsigned i = 0; i < b->ends; i++) {
		uint64_t hash = mt_pool_hash(b->addresses[b->ended[i]]);

		ended[i] = mt_pool_guess(pool, homes[b->ended[i]], mt_pool_tag(hash));
		__builtin_prefetch(ended[i], 1);
	}
	for (unsigned i = 0; i < b->ends; i++)
		mt_model_prefetch(&groups[ended[i]->group]);
}

void mt_ahead_fetch(struct mt_merge *m, struct mt_ring *r, uint64_t position)
{
	const struct mt_group *groups = m->model->profile->groups;
	const struct mt_pool *pool = &m->match.pool;
	uint64_t left = r->first_head - position;
	unsigned count = left < BATCH ? (unsigned)left : BATCH;
	struct batch b;

	b.begins = b.ends = 0;
	fetch_tables(m, r, position, count, &b);
	fetch_grid(groups, &b, count);
	if (pool->cell_count - pool->free_count >= MT_AHEAD_MANY)
		fetch_pool(pool, groups, &b, count);
	r->looked = position + count;
}
