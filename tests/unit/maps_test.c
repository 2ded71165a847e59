/* Mapped pieces against a reference that keeps every page by itself. */
#include "core/base/buffer.h"
#include "core/capture/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#define PAGES 64
#define ROUNDS 200000

struct page {
	uint32_t id; /* of the map that the page is of; 0: none */
	bool file;
	bool reserved; /* it may not be touched */
};

static uint64_t random_below(uint64_t *seed, uint64_t limit)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (*seed >> 33) % limit;
}

static void compare(const struct mt_maps *m, const struct page *pages, uint64_t peak)
{
	uint64_t anonymous = 0, file = 0, reserved = 0, last = 0;
	struct mt_map shares[PAGES];
	struct mt_map_list list = {shares, 0, PAGES};

	for (uint64_t i = 0; i < PAGES; i++) {
		list.count = 0;
		mt_maps_shares(m, i * 4096 + 17, 1, &list);
		assert_int_equal(list.count, pages[i].id != 0);
		assert_true(!list.count || shares[0].address == i * 4096 + 17);
		assert_int_equal(list.count ? shares[0].node : 0, pages[i].id);
		reserved += pages[i].id && pages[i].reserved ? 4096 : 0;
		anonymous += pages[i].id && !pages[i].reserved && !pages[i].file ? 4096 : 0;
		file += pages[i].id && !pages[i].reserved && pages[i].file ? 4096 : 0;
	}
	assert_int_equal(m->anonymous_bytes, anonymous);
	assert_int_equal(m->file_bytes, file);
	assert_int_equal(m->reserved_bytes, reserved);
	assert_int_equal(m->peak_bytes, peak);
	for (uint32_t i = 0; i < m->pieces.count; i++) {
		const struct mt_map *piece = &m->pieces.items[i];

		assert_true(piece->length && piece->address >= last);
		last = piece->address + piece->length;
	}
}

static uint64_t total(const struct page *pages)
{
	uint64_t sum = 0;

	for (int i = 0; i < PAGES; i++)
		sum += pages[i].id && !pages[i].reserved ? 4096 : 0;
	return sum;
}

/* One thread's unmap that fails later, while another maps into what was not mapped before. */
static void takes_back(struct mt_maps *m, struct page *pages, uint64_t from, uint64_t count,
	uint64_t *seed)
{
	struct mt_map_list removed = {0};
	struct page old[PAGES];
	uint64_t at = random_below(seed, PAGES);

	memcpy(old, pages, sizeof old);
	mt_maps_remove(m, from * 4096, count * 4096, &removed);
	memset(&pages[from], 0, count * sizeof *pages);
	if (!pages[at].id && random_below(seed, 2)) {
		mt_maps_add(m,
			&(struct mt_map){
				.address = at * 4096,
				.length = 4096,
				.node = 1u << 30,
				.protection = PROT_READ,
				.flags = MAP_ANONYMOUS,
			});
		pages[at] = (struct page){1u << 30, false, false};
	}
	mt_maps_restore(m, &removed);
	for (uint64_t i = from; i < from + count; i++)
		if (!pages[i].id)
			pages[i] = old[i];
	free(removed.items);
}

/* Every few pages one, so that what is between them is of every kind. */
static void adds_many(struct mt_maps *m, struct page *pages, uint64_t from, uint64_t count,
	uint32_t id, uint64_t *seed)
{
	struct mt_map shares[PAGES];
	struct mt_map_list list = {shares, 0, PAGES};

	for (uint64_t i = from; i < from + count; i += 1 + random_below(seed, 3)) {
		bool file = random_below(seed, 2);

		shares[list.count++] = (struct mt_map){
			.address = i * 4096,
			.length = 4096,
			.node = id,
			.protection = PROT_READ,
			.flags = file ? 0 : MAP_ANONYMOUS,
		};
		pages[i] = (struct page){id, file, false};
	}
	mt_maps_add_list(m, &list);
}

static void equals_reference(void **state)
{
	struct mt_maps m = {0};
	struct page pages[PAGES] = {0};
	uint64_t seed = 7, peak = 0;

	(void)state;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint64_t from = random_below(&seed, PAGES);
		uint64_t count = 1 + random_below(&seed, PAGES - from);
		bool file = random_below(&seed, 2), reserved = !random_below(&seed, 3);

		if (random_below(&seed, 3) && count > 8)
			count = 1 + count % 8;
		switch (random_below(&seed, 6)) {
		case 0:
		case 1:
			mt_maps_add(&m,
				&(struct mt_map){
					.address = from * 4096,
					.length = count * 4096,
					.node = round,
					.time_ns = round,
					.protection = reserved ? PROT_NONE : PROT_READ,
					.flags = file ? 0 : MAP_ANONYMOUS,
				});
			for (uint64_t i = from; i < from + count; i++)
				pages[i] = (struct page){round, file, reserved};
			break;
		case 2:
		case 3:
			mt_maps_remove(&m, from * 4096, count * 4096, NULL);
			memset(&pages[from], 0, count * sizeof *pages);
			break;
		case 4: adds_many(&m, pages, from, count, round, &seed); break;
		default: takes_back(&m, pages, from, count, &seed);
		}
		peak = total(pages) > peak ? total(pages) : peak;
		compare(&m, pages, peak);
	}
	mt_maps_free(&m);
}

static void counts_replaced(void **state)
{
	struct mt_maps m = {0};

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(mt_maps_add(&m,
					 &(struct mt_map){.address = i * 100, .length = 100}),
			0);
	assert_int_equal(mt_maps_add(&m, &(struct mt_map){.address = 150, .length = 100}), 2);
	assert_int_equal(m.pieces.count, 5);
	assert_int_equal(mt_maps_remove(&m, 0, UINT64_MAX, NULL), 5);
	assert_int_equal(mt_maps_remove(&m, UINT64_MAX, UINT64_MAX, NULL), 0);
	assert_int_equal(m.file_bytes, 0);
	mt_maps_free(&m);
}

/* A failed unmap, or an mremap to the same place, leaves no seams, so that many of them leave no
 * more pieces. */
static void joins(void **state)
{
	struct mt_maps m = {0};
	struct mt_map_list removed = {0};

	(void)state;
	mt_maps_add(&m, &(struct mt_map){.address = 4096, .length = 40960, .node = 5});
	mt_maps_remove(&m, 8192, 4096, &removed);
	assert_int_equal(m.pieces.count, 2);
	mt_maps_restore(&m, &removed);
	assert_int_equal(m.pieces.count, 1);
	assert_int_equal(m.pieces.items[0].length, 40960);
	removed.count = 0;
	mt_maps_remove(&m, 8192, 4096, &removed);
	mt_maps_add_list(&m, &removed);
	assert_int_equal(m.pieces.count, 1);
	assert_int_equal(m.pieces.items[0].length, 40960);
	free(removed.items);
	mt_maps_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(equals_reference),
		cmocka_unit_test(counts_replaced), cmocka_unit_test(joins)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
