/* Blocks by address, against a plain list: wherever they lie, and whatever they are. */
#include "core/capture/live_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 40000 };

struct list {
	struct mt_live_table table;
	struct mt_pool_cell blocks[COUNT]; /* of these addresses; number 0: not there */
	uint64_t live, next_number, random;
};

static uint64_t below(struct list *l, uint64_t bound)
{
	l->random = l->random * 6364136223846793005ull + 1442695040888963407ull;
	return (l->random >> 33) % bound;
}

static int setup(void **state)
{
	struct list *l = mt_alloc(sizeof *l);

	mt_live_table_init(&l->table);
	l->random = 1;
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	struct list *l = *state;

	mt_live_table_free(&l->table);
	free(l);
	return 0;
}

/* The number of a block that is not to fit a cell of the grid has bits there is no room for. */
static uint64_t some(struct list *l, uint64_t bits, uint64_t most)
{
	if (below(l, 8))
		return below(l, bits);
	return bits + (below(l, 2) ? below(l, most - bits) : 0);
}

static void begin(struct list *l, struct mt_pool_cell *block)
{
	*block = (struct mt_pool_cell){
		.address = block->address,
		.size = some(l, MT_GRID_SIZES, 1ull << 30),
		.number = ++l->next_number,
		.group = (uint32_t)some(l, MT_GRID_GROUPS, UINT32_MAX),
		.thread = (uint32_t)some(l, MT_GRID_THREADS, UINT32_MAX),
	};
	l->live++;
}

static void insert(struct list *l, struct mt_pool_cell *block)
{
	struct mt_live_table_place place;

	begin(l, block);
	assert_null(mt_live_table_look_up(&l->table, block->address, &place));
	mt_live_table_insert_at(&l->table, &place, block);
}

static void compare(struct list *l, const struct mt_pool_cell *block,
	struct mt_live_table_place *place)
{
	const struct mt_pool_cell *found = mt_live_table_look_up(&l->table, block->address, place);

	assert_int_equal(found != NULL, block->number != 0);
	if (found)
		assert_memory_equal(found, block, sizeof *block);
}

static void remove_block(struct list *l, struct mt_pool_cell *block)
{
	struct mt_live_table_place place;

	compare(l, block, &place);
	mt_live_table_remove_at(&l->table, block->address, &place);
	block->number = 0;
	l->live--;
}

/* How many blocks the pool has by its own account, and by the one of hashes. */
static void compare_pooled(const struct list *l)
{
	uint32_t pooled = 0;

	for (uint32_t i = 0; i < MT_LIVE_TABLE_POOLED; i++)
		pooled += l->table.pooled[i];
	assert_int_equal(pooled, l->table.pool.cell_count - l->table.pool.free_count);
}

/* One by one, and by a walk that passes each once. */
static void compare_all(struct list *l)
{
	struct mt_live_table_walk walk = {0};
	struct mt_live_table_place place;
	struct mt_pool_cell block;
	uint64_t passed = 0, numbers = 0;

	for (int i = 0; i < COUNT; i++) {
		compare(l, &l->blocks[i], &place);
		numbers += l->blocks[i].number;
	}
	for (; mt_live_table_slice(&l->table, &walk, &block, 1); passed++) {
		struct mt_pool_cell copy = block;

		compare(l, &copy, &place);
		numbers -= block.number;
	}
	assert_int_equal(passed, l->live);
	assert_int_equal(numbers, 0);
	compare_pooled(l);
}

static void churn(struct list *l, int times)
{
	for (int i = 0; i < times; i++) {
		struct mt_pool_cell *block = &l->blocks[below(l, COUNT)];

		if (block->number)
			remove_block(l, block);
		else
			insert(l, block);
	}
	compare_all(l);
}

static void lie_at(struct list *l, uint64_t first, uint64_t stride)
{
	for (uint64_t i = 0; i < COUNT; i++)
		l->blocks[i].address = first + i * stride;
}

/* Strides that make a row share its cells in every way. */
static void all_distances(void **state)
{
	static const uint64_t strides[] = {1, 2, 8, 16, 24, 32, 48, 80, 96, 128, 208, 256, 512,
		1040, 4096, 65536, MT_GRID_SPAN, MT_GRID_SPAN + 8, 1ull << 32};

	(void)state;
	for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
		struct list *l;
		void *own;

		setup(&own);
		l = own;
		lie_at(l, i % 2 ? 8 : 0x7f0000000000 - 24, strides[i]);
		churn(l, 100000);
		teardown(&own);
	}
}

/* A block of a pool of the program's lies where a block of malloc does: it has a bit more. */
static void domains(void **state)
{
	struct list *l = *state;

	for (uint64_t i = 0; i < COUNT; i++)
		l->blocks[i].address = 0x555500000000 + i / 2 * 32 + (i % 2 ? 1ull << 63 : 0);
	churn(l, 100000);
}

static void small(struct list *l, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		struct mt_pool_cell *block = &l->blocks[i];

		block->size = 24;
		block->number = ++l->next_number;
		block->group = block->thread = 1;
		mt_live_table_insert(&l->table, block);
		l->live++;
	}
}

static void remove_all(struct list *l)
{
	for (int i = 0; i < COUNT; i++)
		if (l->blocks[i].number)
			remove_block(l, &l->blocks[i]);
}

/* Where every block is alone, the grid would take a page for each. */
static void far_apart(void **state)
{
	struct list *l = *state;

	lie_at(l, 0x100000000000, 64 * MT_GRID_SPAN);
	small(l, 0, COUNT);
	compare_all(l);
	assert_true(l->table.grid.pages < 200);
	assert_true(l->table.grid.refused <= l->table.grid.pages * 64ull);
	assert_true(l->table.grid.blocks + l->table.pool.cell_count == COUNT);
}

/* A page is much to make for a block that is gone at once. */
static void comes_and_goes(void **state)
{
	struct list *l = *state;
	int in_grid = 0;

	l->next_number = 1u << 30; /* none were made for long */
	for (uint64_t i = 0; i < COUNT; i++) {
		struct mt_live_table_place place;

		l->blocks[i].address = 0x100000000000 + i % 1000 * MT_GRID_SPAN;
		small(l, i, i + 1);
		compare(l, &l->blocks[i], &place);
		in_grid += place.in_grid;
		remove_block(l, &l->blocks[i]);
	}
	assert_in_range(in_grid, 64, 1000);
}

/* Memory that a program leaves for another place is used again. */
static void moves_on(void **state)
{
	struct list *l = *state;
	uint32_t chunks = 0;

	for (uint64_t round = 0; round < 40; round++) {
		lie_at(l, 0x100000000000 + (round << 36), 1024);
		small(l, 0, COUNT);
		compare_all(l);
		/* at first it looks as if they lay far apart */
		assert_true(l->table.grid.blocks > COUNT * 5 / 6);
		remove_all(l);
		if (round == 4)
			chunks = l->table.grid.chunk_count;
		assert_true(round <= 4 || l->table.grid.chunk_count == chunks);
	}
}

/* And so are the cells that a row has outgrown. */
static void outgrows(void **state)
{
	struct list *l = *state;

	for (uint64_t round = 0; round < 200; round++) {
		lie_at(l, 0x100000000000 + (round << 36), 64);
		for (uint64_t from = 0; from < COUNT; from += 8)
			small(l, from, from + 1);
		for (uint64_t from = 0; from < COUNT; from += 8)
			small(l, from + 1, from + 8);
		compare_all(l);
		remove_all(l);
	}
	assert_true(l->table.grid.chunk_count < 8);
}

/* Few blocks on many pages that were full once: others find place in the pool, up to when empty
 * pages are given back. */
static void comes_back(void **state)
{
	struct list *l = *state;

	lie_at(l, 0x100000000000, MT_GRID_SPAN / 512 * 5 / 4);
	small(l, 0, COUNT);
	assert_true(l->table.grid.pages > 90);
	remove_all(l);
	lie_at(l, 0x200000000000, 32);
	for (int i = 0; i < 20; i++) {
		small(l, 0, COUNT);
		compare_all(l);
		remove_all(l);
	}
	small(l, 0, COUNT);
	assert_true(l->table.grid.pages < 64);
	assert_true(l->table.grid.bits < 8); /* each look through them passes all slots */
	assert_int_equal(l->table.grid.blocks, COUNT);
}

/* Rows that were full are left with one block, or none: their cells are for others. */
static void leaves_few_behind(void **state)
{
	struct list *l = *state;

	for (uint64_t round = 0; round < COUNT / 500; round++) {
		uint64_t base = 0x100000000000 + round * MT_GRID_SPAN;

		for (uint64_t i = 0; i < 500; i++)
			l->blocks[round * 500 + i].address = base + i * 1024 + i % 64 * 8;
		small(l, round * 500, round * 500 + 500);
		for (uint64_t i = 0; i < 1000 * 64; i++)
			if (!mt_live_table_has(&l->table, base + i * 8))
				mt_live_table_insert(&l->table,
					&(struct mt_pool_cell){.address = base + i * 8});
		for (uint64_t i = 0; i < 1000 * 64; i++) {
			struct mt_live_table_place place;

			if (!mt_live_table_look_up(&l->table, base + i * 8, &place)->number)
				mt_live_table_remove_at(&l->table, base + i * 8, &place);
		}
	}
	compare_all(l);
	assert_int_equal(l->table.grid.blocks, COUNT);
	assert_true(l->table.grid.chunk_count < 12);
}

/* Cells that are not needed are left when a row is to have some, be they its own: some pages at a
 * time, since all take long. */
static void leaves_its_own(void **state)
{
	struct list *l = *state;
	uint64_t used;

	lie_at(l, 0x100000000000, 1024);
	small(l, 0, COUNT);
	remove_all(l);
	used = l->table.grid.used;
	l->table.grid.due = 0;
	lie_at(l, 0x100000000000 + 512, 1024); /* where rows have no cells */
	small(l, 0, 1);
	assert_true(l->table.grid.used > used * 3 / 4);
	small(l, 1, 100);
	compare_all(l);
	assert_true(l->table.grid.used
		< (uint64_t)l->table.grid.pages * sizeof(struct mt_grid_page) + 16384);
}

static void takes_little_memory(void **state)
{
	struct list *l = *state;

	lie_at(l, 0x100000000000, 64);
	small(l, 0, COUNT);
	assert_int_equal(l->table.grid.blocks, COUNT);
	assert_true(l->table.grid.chunk_count == 1);
	assert_true(
		(size_t)(l->table.grid.room_end - l->table.grid.room) > (1u << 20) - COUNT * 24);
}

/* The less of a page the fewer blocks share: they lie in the pool before its memory counts. */
static void takes_little_where_sparse(void **state)
{
	struct list *l = *state;

	for (uint64_t stride = 128; stride <= 8 * MT_GRID_SPAN; stride *= 2) {
		lie_at(l, 0x100000000000, stride);
		small(l, 0, COUNT);
		assert_true(l->table.grid.chunk_count * (1u << 20) < COUNT * 100);
		remove_all(l);
	}
}

static void end_open(struct list *l, struct mt_pool_cell **open, unsigned slot)
{
	struct mt_live_table_open *o = &l->table.open[slot];
	bool entered = !o->cell.address;

	switch (below(l, 3)) {
	case 0: mt_live_table_drop(&l->table, o); break;
	case 1: /* the end of another */
		assert_null(mt_live_table_close(&l->table, o, open[slot]->address + 8));
		break;
	default:
		if (entered) {
			assert_null(mt_live_table_close(&l->table, o, open[slot]->address));
			break;
		}
		assert_memory_equal(mt_live_table_close(&l->table, o, open[slot]->address),
			open[slot], sizeof o->cell);
		open[slot]->number = 0;
		l->live--;
	}
	open[slot] = NULL;
}

static void open_or_end(struct list *l, struct mt_pool_cell **open, struct mt_pool_cell *block)
{
	unsigned slot = (unsigned)below(l, MT_LIVE_TABLE_OPEN);
	struct mt_live_table_open *o;

	if (open[slot]) {
		end_open(l, open, slot);
		return;
	}
	o = mt_live_table_open(&l->table, slot, block->address);
	assert_int_equal(o != NULL, !block->number);
	if (!o)
		return;
	begin(l, block);
	o->cell = *block;
	open[slot] = block;
}

static void compare_count(struct list *l)
{
	struct mt_pool_cell slice[50];
	struct mt_live_table_walk walk = {0};
	uint64_t passed = 0;
	uint32_t count;

	while ((count = mt_live_table_slice(&l->table, &walk, slice, 50)))
		passed += count;
	assert_int_equal(passed, l->live);
}

/* Open blocks, which are entered when another look-up finds them, and addresses that are known to
 * lack a block: few, so that all of it comes together. */
static void opens(void **state)
{
	struct mt_pool_cell *open[MT_LIVE_TABLE_OPEN] = {0};
	struct list *l = *state;

	lie_at(l, 0x555500000000, 16);
	for (int i = 0; i < 500000; i++) {
		struct mt_pool_cell *block = &l->blocks[below(l, 40)];

		switch (below(l, 4)) {
		case 0:
			assert_int_equal(mt_live_table_lacks(&l->table, block->address),
				!block->number);
			break;
		case 1: open_or_end(l, open, block); break;
		default:
			if (block->number)
				remove_block(l, block);
			else
				insert(l, block);
		}
		if (i % 100 == 0)
			compare_count(l);
	}
	compare_all(l);
}

/* What lives all the time is met once, whatever begins and ends between the slices of a walk, and
 * however the tables grow, shrink and spread meanwhile. */
static void walks_go_on(void **state)
{
	static uint8_t stays[COUNT], met[COUNT];
	struct list *l = *state;
	struct mt_pool_cell slice[97];

	for (int round = 0; round < 6; round++) {
		struct mt_live_table_walk walk = {0};
		uint64_t stride = round % 2 ? 16 : 40 * 1024; /* few pages, or many */
		uint32_t count, pages = l->table.grid.bits;

		lie_at(l, 0x100000000000, stride);
		small(l, 0, COUNT / 4);
		churn(l, COUNT / 8);
		for (int i = 0; i < COUNT; i++) {
			stays[i] = l->blocks[i].number && !below(l, 2);
			met[i] = 0;
		}
		while ((count = mt_live_table_slice(&l->table, &walk, slice, 97))) {
			for (uint32_t i = 0; i < count; i++)
				met[(slice[i].address - 0x100000000000) / stride]++;
			for (uint64_t i = 0; i < 600; i++) {
				uint64_t at = below(l, COUNT);

				if (!l->blocks[at].number)
					insert(l, &l->blocks[at]);
				else if (!stays[at])
					remove_block(l, &l->blocks[at]);
			}
		}
		assert_true(round || l->table.grid.bits > pages);
		for (int i = 0; i < COUNT; i++)
			if (stays[i] && met[i] != 1)
				fail_msg("round %d: block %d was met %d times", round, i, met[i]);
		compare_all(l);
		remove_all(l);
	}
}

/* Two blocks beside each other need not share a cell of many words. */
static void takes_little_for_neighbours(void **state)
{
	struct list *l = *state;

	for (uint64_t i = 0; i < COUNT; i++)
		l->blocks[i].address = 0x100000000000 + i / 2 * 512 + (i % 2 ? 128 : 120);
	small(l, 0, COUNT);
	assert_int_equal(l->table.grid.blocks, COUNT);
	assert_true(l->table.grid.used < COUNT * 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_distances),
		cmocka_unit_test_setup_teardown(domains, setup, teardown),
		cmocka_unit_test_setup_teardown(far_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(comes_and_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(moves_on, setup, teardown),
		cmocka_unit_test_setup_teardown(outgrows, setup, teardown),
		cmocka_unit_test_setup_teardown(comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_few_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_little_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_little_for_neighbours, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_little_where_sparse, setup, teardown),
		cmocka_unit_test_setup_teardown(opens, setup, teardown),
		cmocka_unit_test_setup_teardown(walks_go_on, setup, teardown),
	};

	return cmocka_run_group_tests_name("live_table", tests, NULL, NULL);
}
