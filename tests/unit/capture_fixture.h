/* A tracer that writes what it is told, and the recorder's half of its segment. */
#ifndef CAPTURE_FIXTURE_H
#define CAPTURE_FIXTURE_H

#include "core/capture/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#ifndef RINGS
#define RINGS 4
#endif
#define MALLOC_NODE 32u

struct fixture {
	struct mt_segment segment;
	struct mt_timebase clock;
	struct mt_profile profile;
	struct mt_model model;
	struct mt_merge merge;
	uint64_t time[RINGS], head[RINGS];
};

static inline struct mt_wire_node *node_at(struct fixture *f, uint32_t id)
{
	return (struct mt_wire_node *)(void *)mt_segment_entry(&f->segment, nodes, id);
}

static inline struct mt_wire_ring *ring_at(struct fixture *f, uint32_t id)
{
	return (struct mt_wire_ring *)(void *)mt_segment_entry(&f->segment, rings, id);
}

static inline struct mt_wire_record *data_of(struct fixture *f, uint32_t ring)
{
	return (void *)mt_segment_entry(&f->segment, ring_data,
		mt_wire_ring_place(&f->segment.sizes, ring));
}

static inline uint32_t capacity_of(const struct fixture *f, uint32_t ring)
{
	return mt_wire_ring_capacity(&f->segment.sizes, ring);
}

static inline void put(struct fixture *f, uint32_t ring, struct mt_wire_record record)
{
	data_of(f, ring)[f->head[ring]++ & (capacity_of(f, ring) - 1)] = record;
}

static inline void publish(struct fixture *f, uint32_t ring)
{
	__atomic_store_n(&ring_at(f, ring)->head, f->head[ring], __ATOMIC_RELEASE);
}

static inline void extend(struct fixture *f, uint32_t ring, enum mt_extend what, uint64_t value)
{
	put(f, ring, (struct mt_wire_record){value, MT_RECORD_EXTEND | (uint64_t)what << 3});
}

static inline void extend_pointer(struct fixture *f, uint32_t ring, uint64_t pointer,
	uint32_t function)
{
	struct mt_wire_record record =
		mt_wire_record_pack(MT_RECORD_EXTEND, 0, 0, function, MT_EXTEND_POINTER);

	record.word0 = pointer;
	put(f, ring, record);
}

/* One event with an absolute time, published at once. */
static inline void event(struct fixture *f, uint32_t ring, unsigned type, uint64_t time,
	uint64_t pointer, uint64_t size)
{
	bool far_pointer = pointer & 7 || pointer >> 48, large = size >= MT_SIZE_EXTENDED;
	uint32_t node = type == MT_RECORD_FREE ? MT_FUNCTION_FREE : MALLOC_NODE;

	extend(f, ring, MT_EXTEND_TIME, f->clock.start + time);
	if (large)
		extend(f, ring, MT_EXTEND_SIZE, size);
	if (far_pointer)
		extend(f, ring, MT_EXTEND_POINTER, pointer);
	put(f, ring,
		mt_wire_record_pack(type, 0, node, far_pointer ? MT_POINTER_EXTENDED : pointer >> 3,
			large ? MT_SIZE_EXTENDED : (uint32_t)size));
	publish(f, ring);
}

static inline int setup(void **state)
{
	struct fixture *f = mt_alloc(sizeof *f);
	struct mt_segment_options options = {.address_limit = 256u << 20,
		.clock = MT_CLOCK_MONOTONIC};
	struct mt_err err;

	f->clock = (struct mt_timebase){.kind = MT_CLOCK_MONOTONIC, .scale = 1ull << 32};
	mt_clock_restart(&f->clock);
	f->clock.start -= 1000000000;
	f->clock.anchor = f->clock.start;
	assert_int_equal(mt_segment_create(&f->segment, &options, NULL, &err), 0);
	mt_profile_init(&f->profile);
	mt_model_init(&f->model, &f->profile);
	mt_merge_init(&f->merge, &f->segment, &f->clock, &f->model);
	f->segment.header->ring_count = f->segment.header->thread_count = RINGS;
	for (uint32_t i = 0; i < RINGS; i++) {
		struct mt_wire_thread *t = (void *)mt_segment_entry(&f->segment, threads, i);

		*t = (struct mt_wire_thread){.tid = 100 + i, .ring = i, .name = "worker"};
		put(f, i, mt_wire_record_pack(MT_RECORD_MARK, 0, i, 0, MT_MARK_THREAD));
		publish(f, i);
	}
	((struct mt_wire_pc *)(void *)mt_segment_entry(&f->segment, pcs, 32))->address = 0x401000;
	((struct mt_wire_pc *)(void *)mt_segment_entry(&f->segment, pcs, 32))->module =
		MT_NO_MODULE;
	f->segment.header->pc_count = 33;
	*node_at(f, MALLOC_NODE) = (struct mt_wire_node){.parent = 0, .pc = MT_FUNCTION_MALLOC};
	f->segment.header->node_count = 33;
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	mt_merge_free(&f->merge);
	mt_model_free_memory(&f->model);
	mt_profile_free(&f->profile);
	mt_segment_free(&f->segment);
	free(f);
	return 0;
}

static inline const struct mt_info *drain(struct fixture *f)
{
	while (mt_merge_poll(&f->merge))
		;
	assert_false(mt_merge_pending(&f->merge));
	mt_merge_counters(&f->merge);
	mt_model_settle(&f->model);
	return &f->profile.info;
}

#endif
