/* A recorder in small for the tests of trace and model: random allocations, frees and reallocs of a
 * few groups and threads go into a model and, where there is a writer, into a trace. */
#ifndef TRACE_SIMULATION_H
#define TRACE_SIMULATION_H

#include "core/model/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static inline uint32_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return random_next(state) % limit;
}

struct simulation {
	struct mt_profile profile;
	struct mt_model model;
	struct mt_trace_writer *writer; /* may be NULL */
	struct mt_definitions definitions;
	struct mt_block live[256], released[8];
	uint32_t live_count, released_count;
	uint64_t random, next_number, now_ns;
	uint64_t *usable; /* by number: as noted, or 0 */
	uint64_t usable_capacity;
};

static inline void simulation_define(struct simulation *s)
{
	char name[32];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "/lib/module%u.so", s->profile.module_count);
		mt_profile_add_module(&s->profile,
			&(struct mt_module){
				.start = 0x1000,
				.end = 0x9000,
				.path = mt_strings_add(&s->profile.strings, name),
				.build_id_len = 20,
			});
	}
	uint32_t pc = mt_profile_add_pc(&s->profile,
		&(struct mt_pc){.address = 0x401000 + random_next(&s->random),
			.module = s->profile.module_count - 1});
	uint32_t frame = mt_profile_add_node(&s->profile, 0, pc);

	for (uint32_t kind = MT_FUNCTION_MALLOC; kind < MT_FUNCTION_MALLOC + 3; kind++)
		mt_profile_add_group(&s->profile, mt_profile_add_node(&s->profile, frame, kind));
	snprintf(name, sizeof name, "worker %u", s->profile.thread_count);
	mt_profile_add_thread(&s->profile,
		&(struct mt_thread){.tid = 100 + s->profile.thread_count,
			.name = mt_strings_add(&s->profile.strings, name)});
}

static inline void simulation_start(struct simulation *s, uint64_t seed, int fd)
{
	struct mt_err err = {0};

	memset(s, 0, sizeof *s);
	s->random = seed;
	mt_profile_init(&s->profile);
	s->profile.info.pid = 4711;
	s->profile.info.usable_rule = MT_USABLE_GLIBC;
	s->profile.info.start_unix_ns = 1700000000000000000ull;
	MT_GROW(s->profile.arguments, s->profile.argument_count, s->profile.argument_capacity);
	s->profile.arguments[s->profile.argument_count++] =
		mt_strings_add(&s->profile.strings, "./program");
	simulation_define(s);
	mt_model_init(&s->model, &s->profile);
	s->writer = fd >= 0 ? mt_trace_writer_new(fd, &err) : NULL;
	assert_true(fd < 0 || s->writer);
}

static inline void simulation_emit(struct simulation *s, struct mt_event e)
{
	e.time_ns = s->now_ns;
	s->profile.info.events++;
	if (s->writer)
		mt_trace_writer_event(s->writer, &e);
}

static inline void simulation_note(struct simulation *s, enum mt_event_note kind, uint64_t value)
{
	simulation_emit(s,
		(struct mt_event){.type = MT_EVENT_NOTE, .function = (uint8_t)kind, .size = value});
	s->profile.info.events--;
}

/* By the words of malloc_usable_size: blocks of 24, 40, 56 … bytes. */
static inline uint64_t simulation_slack(const struct simulation *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->live_count; i++) {
		uint64_t usable = 24, noted = s->usable[s->live[i].number];

		while (usable < s->live[i].size)
			usable += 16;
		sum += (noted ? noted : usable) - s->live[i].size;
	}
	return sum;
}

static inline void simulation_log(struct simulation *s)
{
	struct mt_log_entry e = {
		.time_ns = s->now_ns,
		.type = random_below(&s->random, MT_LOG_TYPES),
		.thread = random_below(&s->random, s->profile.thread_count + 1) - 1,
		.node = s->profile.groups[random_below(&s->random, s->profile.group_count)].node,
		.values = {random_next(&s->random), ~0ull, 0, random_below(&s->random, 100)},
	};

	e.text = mt_strings_add(&s->profile.strings, random_below(&s->random, 2) ? "" : "half way");
	mt_profile_add_log(&s->profile, &e);
}

static inline void simulation_allocate(struct simulation *s, const struct mt_block *previous)
{
	static const uint64_t sizes[] = {0, 1, 16, 24, 48, 100, 4096, 1000000};
	struct mt_block b = {.number = s->next_number++, .time_ns = s->now_ns};

	b.size = sizes[random_below(&s->random, 8)];
	b.address = 0x7f0000000000 + 16 * (uint64_t)random_below(&s->random, 100000);
	b.group = random_below(&s->random, s->profile.group_count);
	b.thread = random_below(&s->random, s->profile.thread_count);
	mt_model_allocate(&s->model, &b, previous != NULL);
	simulation_emit(s,
		(struct mt_event){
			.type = previous ? MT_EVENT_REALLOCATE : MT_EVENT_ALLOCATE,
			.thread = b.thread,
			.group = b.group,
			.number = b.number,
			.size = b.size,
			.address = b.address,
			.previous = previous ? previous->number : 0,
		});
	if (b.number >= s->usable_capacity) {
		s->usable_capacity = 2 * b.number + 64;
		s->usable = mt_resize(s->usable, s->usable_capacity * sizeof *s->usable);
	}
	s->usable[b.number] =
		random_below(&s->random, 4) ? 0 : b.size + 1 + random_below(&s->random, 4096);
	if (s->usable[b.number])
		simulation_note(s, MT_NOTE_USABLE, s->usable[b.number]);
	s->live[s->live_count++] = b;
}

static inline void simulation_end(struct simulation *s, uint32_t at, enum mt_event_type type)
{
	struct mt_block b = s->live[at];

	s->live[at] = s->live[--s->live_count];
	if (type == MT_EVENT_RELEASE) {
		mt_model_release(&s->model, &b, s->now_ns);
		s->released[s->released_count++] = b;
	} else {
		mt_model_free(&s->model, &b, s->now_ns);
		s->profile.info.implied_frees += type == MT_EVENT_IMPLIED_FREE;
	}
	simulation_emit(s,
		(struct mt_event){
			.type = type,
			.function = MT_FUNCTION_FREE,
			.number = b.number,
			.thread = random_below(&s->random, s->profile.thread_count),
		});
	if (type == MT_EVENT_FREE && random_below(&s->random, 3)) {
		uint32_t node =
			s->profile.groups[random_below(&s->random, s->profile.group_count)].node;

		mt_model_free_site(&s->model, b.group, node);
		simulation_note(s, MT_NOTE_FREE_STACK, node);
	}
}

static inline void simulation_second_half(struct simulation *s)
{
	struct mt_block b = s->released[--s->released_count];

	if (random_below(&s->random, 3)) {
		simulation_allocate(s, &b);
		return;
	}
	mt_model_restore(&s->model, &b, s->now_ns);
	simulation_emit(s,
		(struct mt_event){
			.type = MT_EVENT_RESTORE,
			.number = b.number,
			.thread = b.thread,
		});
	s->live[s->live_count++] = b;
}

static inline void simulation_step(struct simulation *s)
{
	uint32_t what = random_below(&s->random, 100);

	s->now_ns +=
		1000 * (uint64_t)(random_below(&s->random, 4) ? 0 : random_below(&s->random, 700));
	if (!random_below(&s->random, 50))
		simulation_log(s);
	if (what < 2 && s->now_ns >= 5000) {
		s->now_ns -= 5000; /* a foreign trace may go back in time */
	} else if (what < 45 && s->live_count + s->released_count < 250) {
		simulation_allocate(s, NULL);
	} else if (what < 50 && s->released_count) {
		simulation_second_half(s);
	} else if (what < 55) {
		s->profile.info.unknown_frees++;
		simulation_emit(s,
			(struct mt_event){
				.type = MT_EVENT_UNKNOWN_FREE,
				.function = MT_FUNCTION_DELETE,
				.address = 0x5500 + random_below(&s->random, 1000),
			});
		if (random_below(&s->random, 2))
			simulation_note(s, MT_NOTE_FREE_STACK,
				s->profile.groups[random_below(&s->random, s->profile.group_count)]
					.node);
	} else if (s->live_count) {
		bool last = random_below(&s->random, 2);
		uint32_t at = last ? s->live_count - 1 : random_below(&s->random, s->live_count);

		simulation_end(s, at,
			what < 58                                    ? MT_EVENT_IMPLIED_FREE
				: what < 66 && s->released_count < 8 ? MT_EVENT_RELEASE
								     : MT_EVENT_FREE);
	}
}

static inline struct mt_trace_running simulation_running(const struct simulation *s)
{
	const struct mt_info *info = &s->profile.info;

	return (struct mt_trace_running){s->model.live_bytes, s->model.live_count,
		info->allocations, info->frees, info->peak_bytes};
}

static inline void simulation_flush(struct simulation *s)
{
	struct mt_err err;

	/* it may tell of events that stand only behind it */
	bool info_first = random_below(&s->random, 2);

	mt_model_settle(&s->model);
	s->profile.info.slack_bytes = simulation_slack(s);
	assert_int_equal(mt_definitions_write(&s->definitions, s->writer, &s->profile, &err), 0);
	if (info_first)
		assert_int_equal(mt_info_write(s->writer, &s->profile, &err), 0);
	assert_int_equal(mt_events_write(s->writer, &s->model, &err), 0);
	if (!info_first)
		assert_int_equal(mt_info_write(s->writer, &s->profile, &err), 0);
}

/* Ends the trace in order. */
static inline void simulation_finish(struct simulation *s, bool totals)
{
	struct mt_err err;

	simulation_flush(s);
	s->profile.info.ended = 1;
	if (totals) {
		assert_int_equal(mt_totals_write(s->writer, &s->profile, &err), 0);
		assert_int_equal(mt_trace_writer_block(s->writer, MT_BLOCK_SYMBOLS, "symbols", 7,
					 &err),
			0);
	}
	assert_int_equal(mt_trace_writer_finish(s->writer, &err), 0);
}

static inline void simulation_free(struct simulation *s)
{
	free(s->usable);
	mt_trace_writer_free(s->writer);
	mt_model_free_memory(&s->model);
	mt_profile_free(&s->profile);
}

/* Groups and counts of two profiles are equal. */
static inline bool profiles_equal(const struct mt_profile *a, const struct mt_profile *b)
{
	if (a->group_count != b->group_count || a->node_count != b->node_count
		|| a->pc_count != b->pc_count || a->thread_count != b->thread_count
		|| a->module_count != b->module_count || a->strings.count != b->strings.count
		|| a->log_count != b->log_count || a->free_site_count != b->free_site_count)
		return false;
	if (a->log_count && memcmp(a->log, b->log, a->log_count * sizeof *a->log))
		return false;
	if (a->free_site_count
		&& memcmp(a->free_sites, b->free_sites, a->free_site_count * sizeof *a->free_sites))
		return false;
	for (uint32_t i = 0; i < a->group_count; i++) {
		struct mt_group x = a->groups[i], y = b->groups[i];

		x.flags = y.flags = 0;
		x.peak_epoch = y.peak_epoch = 0;
		if (memcmp(&x, &y, sizeof x))
			return false;
	}
#define X(name, words) \
	if (a->info.name != b->info.name) \
		return false;
	MT_INFO_COUNTS(X)
#undef X
	return true;
}

#endif
