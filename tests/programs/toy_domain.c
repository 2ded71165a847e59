/* Writes a trace with a domain and functions of its own, through the model and the writer, of a
 * program that never ran: toy_domain FILE totals|events. The domain gpu has the functions gpu_take
 * and gpu_give, whose ids do not fit a byte, since 300 others are defined before them.
 * Blocks of gpu have the addresses of blocks of the heap. */
#include "core/model/load.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS 300

struct toy {
	struct mt_profile profile;
	struct mt_model model;
	struct mt_trace_writer *writer;
	struct mt_definitions definitions;
	struct mt_block blocks[16];
	uint32_t take, give, gpu_group, heap_group;
	uint64_t number, now_ns;
	struct mt_err err;
};

static uint32_t string(struct toy *t, const char *text)
{
	return mt_strings_add(&t->profile.strings, text);
}

static uint32_t function(struct toy *t, const char *name, uint32_t domain, enum mt_call role)
{
	const struct mt_allocator_function f = {string(t, name), (uint16_t)domain, (uint8_t)role,
		MT_FAMILY_ANY};

	return mt_profile_add_function(&t->profile, &f);
}

static uint32_t site(struct toy *t, uint64_t address, uint32_t called)
{
	struct mt_profile *p = &t->profile;
	uint32_t frame = mt_profile_add_node(p, 0,
		mt_profile_add_pc(p, &(struct mt_pc){.address = address, .module = 0}));
	uint32_t leaf = mt_profile_function_pc(p, called);

	return mt_profile_add_group(p, mt_profile_add_node(p, frame, leaf));
}

static void define(struct toy *t)
{
	struct mt_profile *p = &t->profile;
	const struct mt_domain gpu = {string(t, "gpu"), 48, 0};
	uint32_t domain = mt_profile_add_domain(p, &gpu);

	for (int i = 0; i < OTHERS; i++) {
		char name[16];

		snprintf(name, sizeof name, "other_%d", i);
		function(t, name, MT_DOMAIN_HEAP, MT_CALL_ALLOCATE);
	}
	t->take = function(t, "gpu_take", domain, MT_CALL_ALLOCATE);
	t->give = function(t, "gpu_give", domain, MT_CALL_FREE);
	mt_profile_add_module(p,
		&(struct mt_module){.start = 0x1000,
			.end = 0x9000,
			.path = string(t, "/nowhere/toy")});
	mt_profile_add_thread(p, &(struct mt_thread){.tid = 7, .name = string(t, "toy")});
	t->gpu_group = site(t, 0x2000, t->take);
	t->heap_group = site(t, 0x3000, MT_FUNCTION_MALLOC);
}

static void emit(struct toy *t, struct mt_event e)
{
	e.time_ns = t->now_ns;
	t->profile.info.events++;
	mt_trace_writer_event(t->writer, &e);
}

static void allocate(struct toy *t, uint32_t group, uint64_t address, uint64_t size)
{
	struct mt_block *b = &t->blocks[t->number];

	t->now_ns += 1000;
	*b = (struct mt_block){.number = t->number++,
		.time_ns = t->now_ns,
		.address = address,
		.size = size,
		.group = group};
	mt_model_allocate(&t->model, b, false);
	emit(t,
		(struct mt_event){.type = MT_EVENT_ALLOCATE,
			.group = group,
			.number = b->number,
			.size = size,
			.address = address});
}

static void end(struct toy *t, uint64_t number, uint32_t by)
{
	t->now_ns += 1000;
	mt_model_free(&t->model, &t->blocks[number], t->now_ns);
	emit(t,
		(struct mt_event){.type = MT_EVENT_FREE,
			.number = number,
			.function = (uint16_t)by});
}

static void run(struct toy *t)
{
	for (uint64_t i = 0; i < 5; i++) {
		allocate(t, t->gpu_group, 0x10000 + 256 * i, 100);
		allocate(t, t->heap_group, 0x10000 + 256 * i, 40);
	}
	end(t, 0, t->give);
	end(t, 1, MT_FUNCTION_FREE);
	end(t, 2, t->give);
	end(t, 4, MT_FUNCTION_FREE); /* wrong: a block of gpu */
	end(t, 3, t->give);          /* wrong: a block of the heap */
}

static int write_trace(struct toy *t, bool totals)
{
	int result = mt_definitions_write(&t->definitions, t->writer, &t->profile, &t->err);

	mt_model_settle(&t->model);
	result = result ? result : mt_events_write(t->writer, &t->model, &t->err);
	t->profile.info.ended = 1;
	result = result ? result : mt_info_write(t->writer, &t->profile, &t->err);
	if (totals)
		result = result ? result : mt_totals_write(t->writer, &t->profile, &t->err);
	return result ? result : mt_trace_writer_finish(t->writer, &t->err);
}

int main(int argc, char **argv)
{
	struct toy t = {0};
	int fd = argc == 3 ? open(argv[1], O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: toy_domain FILE totals|events\n");
		return 2;
	}
	mt_profile_init(&t.profile);
	t.profile.info.pid = 4711;
	t.profile.info.origin = MT_ORIGIN_EXECUTED;
	t.profile.info.start_unix_ns = 1700000000000000000ull;
	define(&t);
	mt_model_init(&t.model, &t.profile);
	t.writer = mt_trace_writer_new(fd, &t.err);
	if (!t.writer)
		return 1;
	run(&t);
	int result = write_trace(&t, !strcmp(argv[2], "totals"));

	if (result)
		fprintf(stderr, "toy_domain: %s\n", t.err.text);
	mt_trace_writer_free(t.writer);
	mt_model_free_memory(&t.model);
	mt_profile_free(&t.profile);
	return result ? 1 : 0;
}
