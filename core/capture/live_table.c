#include "core/capture/live_table.h"

void mt_live_table_init(struct mt_live_table *m)
{
	*m = (struct mt_live_table){0};
	mt_grid_init(&m->grid);
	mt_pool_init(&m->pool);
}

void mt_live_table_free(struct mt_live_table *m)
{
	mt_grid_free(&m->grid);
	mt_pool_free(&m->pool);
	*m = (struct mt_live_table){0};
}

void mt_live_table_insert_pooled(struct mt_live_table *m, struct mt_live_table_place *place,
	const struct mt_pool_cell *block)
{
	uint32_t id = mt_pool_take_cell(&m->pool);

	*mt_pool_cell(&m->pool, id) = *block;
	if (!place->pooled.part)
		mt_pool_look_up(&m->pool, block->address, &place->pooled);
	mt_pool_insert_at(&m->pool, &place->pooled, id);
	++*mt_live_table_pooled(m, mt_pool_hash(block->address));
}

struct mt_pool_cell *mt_live_table_enter(struct mt_live_table *m, uint64_t address,
	struct mt_live_table_place *place)
{
	for (unsigned i = 0; i < MT_LIVE_TABLE_OPEN; i++) {
		struct mt_live_table_open *o = &m->open[i];
		struct mt_pool_cell block = o->cell;

		if (!(m->open_taken & 1u << i) || block.address != address)
			continue;
		o->cell.address = 0;
		mt_live_table_insert_at(m, place, &block);
		return mt_live_table_look_up(m, address, place);
	}
	return NULL;
}

void mt_live_table_insert(struct mt_live_table *m, const struct mt_pool_cell *block)
{
	struct mt_live_table_place place;

	mt_assert(!mt_live_table_has(m, block->address));
	mt_live_table_look_up(m, block->address, &place);
	mt_live_table_insert_at(m, &place, block);
}

bool mt_live_table_has(struct mt_live_table *m, uint64_t address)
{
	struct mt_live_table_place place;

	return mt_live_table_look_up(m, address, &place) != NULL;
}

static bool next_pooled(const struct mt_pool *pool, uint32_t *id, struct mt_pool_cell *block)
{
	while (*id < pool->cell_count) {
		*block = *mt_pool_cell(pool, (*id)++);
		if (block->address)
			return true;
	}
	return false;
}

static bool next_in_grid(const struct mt_grid *grid, struct mt_grid_walk *walk,
	struct mt_pool_cell *block)
{
	struct mt_grid_cell cell;
	uint64_t address;

	if (!mt_grid_next(grid, walk, &address, &cell))
		return false;
	*block = mt_live_table_of(address, &cell);
	return true;
}

/* So that none is met as an open one, and once more where it was entered later. */
static void enter_all(struct mt_live_table *m)
{
	for (unsigned i = 0; i < MT_LIVE_TABLE_OPEN; i++)
		if (m->open_taken & 1u << i && m->open[i].cell.address)
			mt_live_table_has(m, m->open[i].cell.address);
}

/* Every block of the pool is counted under its hash. */
static bool counts_are_sound(struct mt_live_table *m)
{
	uint32_t counted = 0, used = 0;

	for (uint32_t i = 0; i < MT_LIVE_TABLE_POOLED; i++)
		counted += m->pooled[i];
	for (uint32_t i = 0; i < MT_POOL_PARTS; i++)
		used += m->pool.parts[i].used;
	return counted == used && used + m->pool.free_count == m->pool.cell_count;
}

uint32_t mt_live_table_slice(struct mt_live_table *m, struct mt_live_table_walk *w,
	struct mt_pool_cell *blocks, uint32_t most)
{
	uint32_t count = 0;

	if (!w->begun)
		enter_all(m);
	mt_assert_expensive(counts_are_sound(m));
	w->begun = true;
	while (count < most
		&& (next_pooled(&m->pool, &w->id, &blocks[count])
			|| next_in_grid(&m->grid, &w->grid, &blocks[count])))
		count++;
	return count;
}
