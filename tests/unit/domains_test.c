/* Addresses of several domains: the same address may have a block in each, and any address may be
 * in any of them. A stream of records is compared with its twin, in which all blocks are of the
 * heap, at addresses that differ: the recorder must make the same of both. */
#define RINGS 3

#include "core/capture/ring.h"
#include "core/model/load.h"
#include "core/query/errors.h"
#include "tests/unit/capture_fixture.h"
#include "tests/unit/copies.h"

#include <sys/mman.h>
#include <unistd.h>

#define PLACES 24u
#define STEPS 16000u
#define HIGH (1ull << 63)
#define OTHER_NODE 34u /* the site of a pool's block, or what is in its place */
#define FULL_NODE 35u

struct recording {
	struct fixture *f;
	int fd;
	struct copies copies;
};

static int flush(struct recording *r)
{
	const struct mt_trace_running running = {.live_bytes = r->f->model.live_bytes};
	struct mt_err err;

	r->f->merge.unflushed = 0;
	return mt_trace_writer_flush(r->f->merge.writer, &running, &err);
}

static void start(struct recording *r, uint32_t other)
{
	struct mt_err err;
	void *state;

	setup(&state);
	*r = (struct recording){.f = state, .fd = memfd_create("trace", MFD_CLOEXEC)};
	*node_at(r->f, OTHER_NODE) = (struct mt_wire_node){.pc = other};
	*node_at(r->f, FULL_NODE) = (struct mt_wire_node){.pc = MT_PC_TABLE_FULL};
	r->f->segment.header->node_count = FULL_NODE + 1;
	r->f->merge.writer = mt_trace_writer_new(dup(r->fd), &err);
	r->f->merge.block_events = UINT32_MAX;
	assert_non_null(r->f->merge.writer);
	mt_block_history_init(&r->f->merge);
	drain(r->f);
}

static void stop(struct recording *r)
{
	void *state = r->f;

	copies_free(&r->copies);
	mt_trace_writer_free(r->f->merge.writer);
	close(r->fd);
	teardown(&state);
}

/* function: of a domain other than the heap, or 0. */
static void record(struct fixture *f, uint32_t ring, unsigned type, uint64_t time, uint64_t pointer,
	uint32_t size, uint32_t node, uint32_t function)
{
	bool far_pointer = function || pointer & 7 || pointer >> 47;

	extend(f, ring, MT_EXTEND_TIME, f->clock.start + time);
	if (far_pointer)
		extend_pointer(f, ring, pointer, function);
	put(f, ring,
		mt_wire_record_pack(type, 0, node, far_pointer ? MT_POINTER_EXTENDED : pointer >> 3,
			size));
	publish(f, ring);
}

/* ---- a stream and its twin ---- */

static uint32_t below(uint64_t *random, uint32_t limit)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*random >> 33) % limit;
}

/* Every place is in both domains. A third of them are in a kernel, some are odd, and some of the
 * keys have a hash of a pool. */
static uint64_t address_of(uint32_t place, bool pooled, bool twin)
{
	uint64_t plain = 0x10000 + 64ull * place + (place % 5 == 4);

	if (twin)
		return plain + (pooled ? 0x40000000 : 0);
	if (place % 3 == 0)
		return 0xffff888000000000ull + plain;
	return pooled && place % 3 == 1 ? mt_wire_pool_key(0x7000, plain) : plain;
}

static void act(struct fixture *f, uint64_t *random, uint64_t *clock, bool twin)
{
	static const struct {
		uint32_t node, free, again;
	} of[2][2] = {
		/* the stream, */
		{{MALLOC_NODE, MT_FUNCTION_FREE, MT_FUNCTION_REALLOC},
			{OTHER_NODE, MT_FUNCTION_POOL_FREE, MT_FUNCTION_POOL}},
		/* and its twin */
		{{MALLOC_NODE, MT_FUNCTION_FREE, MT_FUNCTION_REALLOC},
			{OTHER_NODE, MT_FUNCTION_DELETE, MT_FUNCTION_CALLOC}},
	};
	uint32_t place = below(random, PLACES), to = below(random, PLACES);
	uint32_t what = below(random, 8), ring = place % RINGS, size = below(random, 90000);
	bool pooled = below(random, 2), named = pooled && !twin;
	uint64_t address = address_of(place, pooled, twin);
	uint32_t node = of[twin][pooled].node, free_node = of[twin][pooled].free;
	uint32_t again = of[twin][pooled].again;

	/* a place belongs to one ring, so that nothing depends on the order of rings */
	to = to / RINGS * RINGS + ring;
	size = size > 60000 ? 60000 : size;
	*clock += 1000;
	if (what < 3) {
		record(f, ring, MT_RECORD_ALLOC, *clock, address, size, node,
			named ? MT_FUNCTION_POOL : 0);
	} else if (what < 6) {
		record(f, ring, MT_RECORD_FREE, *clock, address, 0, free_node,
			named ? free_node : 0);
	} else {
		record(f, ring, MT_RECORD_RELEASE, *clock, address, 0, again, named ? again : 0);
		*clock += 1000;
		if (what == 6)
			record(f, ring, MT_RECORD_REALLOC, *clock, address_of(to, pooled, twin),
				size, node, named ? MT_FUNCTION_POOL : 0);
		else /* it failed */
			record(f, ring, MT_RECORD_RESTORE, *clock, address, 0, again,
				named ? again : 0);
	}
}

static void play(struct recording *r, uint64_t seed, bool twin)
{
	uint64_t random = seed, clock = 1000;

	for (uint32_t i = 0; i < STEPS; i++) {
		act(r->f, &random, &clock, twin);
		if (i % 50 != 49)
			continue;
		drain(r->f);
		copies_go_on(&r->copies, &r->f->merge, 7);
	}
	assert_int_equal(flush(r), 0);
}

struct events {
	struct mt_event items[4 * STEPS];
	uint32_t count;
};

static int keep(void *context, const struct mt_event *e)
{
	struct events *all = context;

	assert_true(all->count < 4 * STEPS);
	all->items[all->count++] = *e;
	return 0;
}

static void read_events(struct events *all, const struct recording *r)
{
	struct mt_err err;
	struct mt_trace_reader *reader = mt_trace_reader_open_fd(dup(r->fd), "trace", &err);

	all->count = 0;
	assert_non_null(reader);
	for (uint32_t i = 0; i < mt_trace_reader_count(reader); i++)
		assert_int_equal(mt_trace_reader_events(reader, i, keep, all, &err), 0);
	mt_trace_reader_free(reader);
}

/* Where a block of the twin is in the stream. */
static uint64_t original(uint64_t address)
{
	bool pooled = address >= 0x40000000;
	uint64_t plain = address - (pooled ? 0x40000000 : 0);

	return address_of((uint32_t)(plain - 0x10000) / 64, pooled, false);
}

static uint16_t original_kind(uint16_t kind)
{
	return kind == MT_FUNCTION_DELETE    ? MT_FUNCTION_POOL_FREE
		: kind == MT_FUNCTION_CALLOC ? MT_FUNCTION_POOL
					     : kind;
}

static void twins_are_equal(void **state)
{
	static struct events stream, twin;

	(void)state;
	for (uint64_t seed = 1; seed < 5; seed++) {
		struct recording a, b;
		uint32_t unknown = 0, high = 0;

		start(&a, MT_FUNCTION_POOL);
		start(&b, MT_FUNCTION_CALLOC);
		play(&a, seed, false);
		play(&b, seed, true);
		read_events(&stream, &a);
		read_events(&twin, &b);
		assert_int_equal(stream.count, twin.count);
		for (uint32_t i = 0; i < stream.count; i++) {
			const struct mt_event *x = &stream.items[i], *y = &twin.items[i];

			assert_int_equal(x->type, y->type);
			assert_int_equal(x->number, y->number);
			assert_int_equal(x->previous, y->previous);
			assert_int_equal(x->size, y->size);
			assert_int_equal(x->group, y->group);
			assert_int_equal(x->time_ns, y->time_ns);
			assert_int_equal(x->function, original_kind(y->function));
			unknown += x->type == MT_EVENT_UNKNOWN_FREE;
			high += x->address >> 63 != 0;
			if (y->address)
				assert_true(x->address == original(y->address));
		}
		assert_true(unknown > 100 && high > 500);
		const struct mt_info *p = &a.f->profile.info, *q = &b.f->profile.info;

		assert_int_equal(p->allocations, q->allocations);
		assert_int_equal(p->frees, q->frees);
		assert_int_equal(p->unknown_frees, q->unknown_frees);
		assert_int_equal(p->invalid_records, 0);
		assert_int_equal(p->peak_bytes, q->peak_bytes);
		assert_true(p->implied_frees && p->counters[MT_COUNTER_UNTOLD_FREES]);
		assert_int_equal(p->implied_frees + p->counters[MT_COUNTER_UNTOLD_FREES],
			q->implied_frees);
		copies_finish(&a.copies, &a.f->merge);
		assert_true(a.copies.finished > 5);
		copies_compare(&a.copies, stream.items, stream.count, RINGS + 2);
		stop(&a);
		stop(&b);
	}
}

/* ---- single cases ---- */

static void a_ring_waits_for_its_own_domain(void **state)
{
	struct fixture *f = *state;
	const struct mt_info *info;

	*node_at(f, OTHER_NODE) = (struct mt_wire_node){.pc = MT_FUNCTION_POOL};
	f->segment.header->node_count = OTHER_NODE + 1;
	/* a free is earlier by its stamp than the allocation in another ring */
	record(f, 0, MT_RECORD_FREE, 1000, 0x1000, 0, MT_FUNCTION_POOL_FREE, MT_FUNCTION_POOL_FREE);
	record(f, 1, MT_RECORD_ALLOC, 1010, 0x1000, 8, MALLOC_NODE, 0);
	record(f, 2, MT_RECORD_ALLOC, 1020, 0x1000, 16, OTHER_NODE, MT_FUNCTION_POOL);
	info = drain(f);
	assert_int_equal(info->unknown_frees, 0);
	assert_int_equal(info->leaked_bytes, 8);
	record(f, 0, MT_RECORD_FREE, 2000, 0x1000, 0, MT_FUNCTION_FREE, 0);
	record(f, 2, MT_RECORD_FREE, 2001, 0x1000, 0, MT_FUNCTION_POOL_FREE, MT_FUNCTION_POOL_FREE);
	info = drain(f);
	assert_int_equal(info->unknown_frees, 1);
	assert_int_equal(info->leaked_bytes, 0);
}

static void a_full_tree_keeps_the_domain(void **state)
{
	struct fixture *f = *state;
	const struct mt_profile *p = &f->profile;

	*node_at(f, OTHER_NODE) = (struct mt_wire_node){.pc = MT_FUNCTION_POOL};
	*node_at(f, FULL_NODE) = (struct mt_wire_node){.pc = MT_PC_TABLE_FULL};
	f->segment.header->node_count = FULL_NODE + 1;
	record(f, 0, MT_RECORD_ALLOC, 1000, 0x1000, 8, FULL_NODE, MT_FUNCTION_POOL);
	record(f, 0, MT_RECORD_ALLOC, 2000, 0x1000, 16, FULL_NODE, 0);
	record(f, 0, MT_RECORD_ALLOC, 3000, 0x2000, 24, FULL_NODE, MT_FUNCTION_POOL);
	record(f, 0, MT_RECORD_FREE, 4000, 0x1000, 0, FULL_NODE, MT_FUNCTION_POOL_FREE);
	assert_int_equal(drain(f)->invalid_records, 0);
	assert_int_equal(p->info.leaked_bytes, 40);
	for (uint32_t i = 0; i < p->group_count; i++) {
		bool pooled = mt_profile_group_domain(p, i) == MT_DOMAIN_POOL;
		uint32_t parent = p->nodes[p->groups[i].node].parent;

		if (p->groups[i].allocated_count)
			assert_int_equal(p->groups[i].live_bytes, pooled ? 24 : 16);
		if (pooled)
			assert_int_equal(p->nodes[parent].pc, MT_PC_TABLE_FULL);
	}
}

/* What no tracer writes is counted, and nothing is made of it. */
static void senseless_functions_are_refused(void **state)
{
	struct fixture *f = *state;
	static const struct {
		unsigned type;
		uint32_t function;
	} bad[] = {
		{MT_RECORD_ALLOC, MT_FUNCTION_COUNT},
		{MT_RECORD_ALLOC, UINT32_MAX},
		{MT_RECORD_FREE, MT_PC_CUT},
		{MT_RECORD_ALLOC, MT_FUNCTION_POOL_FREE}, /* does not begin a block */
		{MT_RECORD_REALLOC, MT_FUNCTION_POOL_FREE},
		{MT_RECORD_ALLOC, MT_FUNCTION_MMAP}, /* marks tell of it */
		{MT_RECORD_FREE, MT_FUNCTION_MUNMAP},
		{MT_RECORD_RELEASE, MT_FUNCTION_MREMAP},
	};
	const struct mt_info *info;
	uint32_t count = sizeof bad / sizeof *bad;

	for (uint32_t i = 0; i < count; i++)
		record(f, 0, bad[i].type, 1000 + i, 0x1000, 8, MALLOC_NODE, bad[i].function);
	info = drain(f);
	assert_int_equal(info->invalid_records, count);
	assert_int_equal(info->allocations + info->unknown_frees, 0);
	/* the site is of another function: the block is where the record says */
	record(f, 0, MT_RECORD_ALLOC, 2000, 0x1000, 8, MALLOC_NODE, MT_FUNCTION_POOL);
	record(f, 0, MT_RECORD_ALLOC, 2001, 0x1000, 8, MALLOC_NODE, MT_FUNCTION_MALLOC);
	info = drain(f);
	assert_int_equal(info->invalid_records, count + 1);
	assert_int_equal(info->implied_frees, 0);
	assert_int_equal(info->leaked_bytes, 16);
}

static void keys_have_addresses(void **state)
{
	struct mt_profile p;
	const uint64_t kernel = 0xffff888012345678ull;

	(void)state;
	mt_profile_init(&p);
	for (uint64_t pool = 1; pool < 1ull << 60; pool = pool * 5 + 1) {
		const struct mt_domain *d = &p.domains[MT_DOMAIN_POOL];
		uint64_t key = mt_wire_pool_key(pool, 0x7ffffffffff8);

		assert_int_equal(key >> 63, 0);
		assert_true(mt_domain_address(d, key) == 0x7ffffffffff8);
		assert_true(mt_domain_address(d, mt_wire_pool_key(pool, kernel)) == kernel);
	}
	assert_true(mt_wire_pool_key(0x1000, 8) != mt_wire_pool_key(0x2000, 8));
	assert_true(mt_domain_address(&p.domains[MT_DOMAIN_HEAP], kernel) == kernel);
	assert_true(mt_domain_address(&p.domains[MT_DOMAIN_HEAP], ~0ull) == ~0ull);
	assert_true(mt_domain_address(&(struct mt_domain){.address_bits = 1}, 7) == 1);
	mt_profile_free(&p);
}

/* As Linux lays a program out: on x86-64 with 47 bits, on others with 48. */
static void libraries_lie_above_programs(void **state)
{
	struct mt_info info = {0};

	(void)state;
	assert_true(mt_info_libraries_begin(&info) == 0x700000000000); /* old: not known */
	info.address_bits = 47;
	assert_true(mt_info_libraries_begin(&info) == 0x700000000000);
	info.address_bits = 48;
	assert_true(mt_info_libraries_begin(&info) == 0xe00000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_are_equal),
		cmocka_unit_test_setup_teardown(a_ring_waits_for_its_own_domain, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_tree_keeps_the_domain, setup, teardown),
		cmocka_unit_test_setup_teardown(senseless_functions_are_refused, setup, teardown),
		cmocka_unit_test(keys_have_addresses),
		cmocka_unit_test(libraries_lie_above_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
