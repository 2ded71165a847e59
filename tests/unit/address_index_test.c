/* The index of live blocks by address: what it finds in a trace must be what a search through the
 * list of all blocks finds. */
#include "tests/unit/trace_simulation.h"

#include "core/query/address_index.h"

#include <sys/mman.h>

#define PLACES 40u
#define BLOCKS 600u

struct block {
	uint64_t address, size, begin_ns, end_ns;
};

/* Blocks come and go at places of 64 bytes, each at a time of its own. */
static void write_trace(struct block *blocks, uint64_t seed, int fd)
{
	uint32_t at[PLACES] = {0}; /* the live block there + 1 */
	struct simulation s;

	simulation_start(&s, seed, fd);
	for (uint32_t count = 0; count < BLOCKS;) {
		uint32_t place = random_below(&s.random, PLACES);
		struct mt_event e = {.type = MT_EVENT_FREE, .function = MT_FUNCTION_FREE};

		s.now_ns += 1000;
		if (at[place]) {
			e.number = at[place] - 1;
			blocks[e.number].end_ns = s.now_ns;
			at[place] = 0;
		} else {
			e = (struct mt_event){.type = MT_EVENT_ALLOCATE,
				.number = count,
				.size = random_below(&s.random, 49),
				.address = 0x10000 + 64ull * place + random_below(&s.random, 16)};
			blocks[count] = (struct block){e.address, e.size, s.now_ns, MT_LIVE};
			at[place] = ++count;
		}
		simulation_emit(&s, e);
	}
	simulation_finish(&s, false);
	simulation_free(&s);
}

static bool lives(const struct block *b, uint64_t time_ns)
{
	return b->begin_ns <= time_ns && (b->end_ns == MT_LIVE || b->end_ns > time_ns);
}

static void compare(const struct mt_address_index *index, const struct block *blocks,
	uint64_t time_ns)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < BLOCKS; i++)
		alive += lives(&blocks[i], time_ns);
	assert_int_equal(index->count, alive);
	for (uint32_t i = 1; i < index->count; i++)
		assert_true(index->blocks[i - 1].address < index->blocks[i].address);
	assert_int_equal(mt_address_index_end(index, MT_DOMAIN_HEAP), alive);
	for (uint64_t a = 0x10000 - 2; a < 0x10000 + 64 * PLACES + 2; a++) {
		const struct mt_address_block *found =
			mt_address_index_find(index, MT_DOMAIN_HEAP, a);
		uint32_t behind = mt_address_index_behind(index, MT_DOMAIN_HEAP, a);
		int64_t wanted = -1;

		for (uint32_t i = 0; i < BLOCKS; i++)
			if (lives(&blocks[i], time_ns)
				&& (a == blocks[i].address
					|| (a > blocks[i].address
						&& a < blocks[i].address + blocks[i].size)))
				wanted = i;
		if ((found ? (int64_t)found->number : -1) != wanted)
			fail_msg("%#llx at %llu: block %lld, not %lld", (unsigned long long)a,
				(unsigned long long)time_ns, found ? (long long)found->number : -1,
				(long long)wanted);
		assert_true(!behind || index->blocks[behind - 1].address <= a);
		assert_true(behind == index->count || index->blocks[behind].address > a);
	}
}

static void test_instants(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		static struct block blocks[BLOCKS];
		int fd = memfd_create("trace", MFD_CLOEXEC), copy = dup(fd);
		struct mt_profile profile = {0};
		struct mt_err err = {0};

		write_trace(blocks, seed, fd);
		struct mt_trace_reader *reader = mt_trace_reader_open_fd(copy, "trace", &err);

		assert_non_null(reader);
		assert_int_equal(mt_profile_load(&profile, reader, NULL, NULL, &err), 0);
		struct mt_source source = {.profile = &profile, .reader = reader};
		const uint64_t times[] = {0, 100000, 333000, 700500, MT_LIVE};

		for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
			struct mt_address_index index = {0};

			assert_int_equal(mt_address_index_make(&index, &source, times[i], &err), 0);
			compare(&index, blocks, times[i]);
			mt_address_index_free(&index);
		}
		mt_profile_free(&profile);
		mt_trace_reader_free(reader);
	}
}

/* The number of the domain's block that holds an address, or -1. */
static int64_t holder(const struct mt_address_index *index, uint32_t domain, uint64_t address)
{
	const struct mt_address_block *found = mt_address_index_find(index, domain, address);

	assert_true(!found || found->domain == domain);
	return found ? (int64_t)found->number : -1;
}

/* Each domain has its own addresses, up to the last one. */
static void test_domains(void **state)
{
	const uint64_t high = 1ull << 63 | 0x1000;
	const struct mt_allocation blocks[] = {
		{.number = 0, .domain = MT_DOMAIN_POOL, .key = 0x1000, .size = 16},
		{.number = 1, .domain = MT_DOMAIN_HEAP, .key = high, .size = 32},
		{.number = 2, .domain = 17, .key = 0x1000, .size = 8},
		{.number = 3, .domain = MT_DOMAIN_HEAP, .key = 0x1000, .size = 32},
		{.number = 4, .domain = MT_DOMAIN_POOL, .key = high, .size = 16},
		{.number = 5, .domain = 17, .key = UINT64_MAX, .size = 1},
	};
	struct mt_address_index index = {0};

	(void)state;
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		mt_address_index_add(&index, &blocks[i]);
	mt_address_index_arrange(&index);
	assert_int_equal(holder(&index, MT_DOMAIN_HEAP, 0x1000 + 20), 3);
	assert_int_equal(holder(&index, MT_DOMAIN_POOL, 0x1000 + 20), -1);
	assert_int_equal(holder(&index, MT_DOMAIN_POOL, 0x1000 + 15), 0);
	assert_int_equal(holder(&index, MT_DOMAIN_HEAP, high + 31), 1);
	assert_int_equal(holder(&index, MT_DOMAIN_POOL, high + 15), 4);
	assert_int_equal(holder(&index, MT_DOMAIN_MAPPING, 0x1000), -1);
	assert_int_equal(holder(&index, 17, 0x1000), 2);
	assert_int_equal(holder(&index, 17, 0xfff), -1);
	assert_int_equal(holder(&index, 17, UINT64_MAX), 5);
	assert_int_equal(mt_address_index_end(&index, MT_DOMAIN_HEAP), 2);
	assert_int_equal(mt_address_index_end(&index, MT_DOMAIN_POOL), 4);
	assert_int_equal(mt_address_index_behind(&index, MT_DOMAIN_POOL, 0x1000), 3);
	assert_int_equal(mt_address_index_end(&index, 17), 6);
	mt_address_index_free(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instants),
		cmocka_unit_test(test_domains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
