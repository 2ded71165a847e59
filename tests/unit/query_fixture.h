/* Hand-made profiles: a pc per (function, …) list, stacks written outermost first. */
#ifndef MT_TESTS_QUERY_FIXTURE_H
#define MT_TESTS_QUERY_FIXTURE_H

#include "core/query/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct mt_profile profile;
	struct mt_symbols symbols;
};

static inline void fixture_init(struct fixture *f)
{
	mt_profile_init(&f->profile);
	mt_symbols_init(&f->symbols);
}

static inline void fixture_free(struct fixture *f)
{
	mt_profile_free(&f->profile);
	mt_symbols_free(&f->symbols);
}

static inline uint32_t fixture_module(struct fixture *f, const char *path, uint64_t bias)
{
	struct mt_module module = {.bias = bias, .path = mt_strings_add(&f->profile.strings, path)};

	return mt_profile_add_module(&f->profile, &module);
}

/* Adds a frame to the symbols of the newest pc; call it innermost first. */
static inline void fixture_frame(struct fixture *f, uint32_t pc, const char *function,
	const char *source, uint32_t line, bool inlined)
{
	struct mt_symbols *s = &f->symbols;

	while (s->pc_count <= pc) {
		MT_GROW(s->pcs, s->pc_count, s->pc_capacity);
		s->pcs[s->pc_count++] = (struct mt_pc_symbols){0, 0, 0};
	}
	if (!s->pcs[pc].count)
		s->pcs[pc].first = s->frame_count;
	s->pcs[pc].count++;
	MT_GROW(s->frames, s->frame_count, s->frame_capacity);
	s->frames[s->frame_count++] = (struct mt_frame){mt_strings_add(&s->strings, function),
		mt_strings_add(&s->strings, function), mt_strings_add(&s->strings, source), line,
		inlined};
	s->generation++;
}

static inline uint32_t fixture_bare_pc(struct fixture *f, uint32_t module, uint64_t address)
{
	struct mt_pc pc = {.address = address, .module = module};

	return mt_profile_add_pc(&f->profile, &pc);
}

static inline uint32_t fixture_pc(struct fixture *f, uint32_t module, const char *function,
	const char *source, uint32_t line)
{
	uint32_t pc = fixture_bare_pc(f, module, 0x1000u + 16 * f->profile.pc_count);

	fixture_frame(f, pc, function, source, line, false);
	return pc;
}

static inline uint32_t fixture_node(struct fixture *f, uint32_t parent, uint32_t pc)
{
	for (uint32_t i = 1; i < f->profile.node_count; i++)
		if (f->profile.nodes[i].parent == parent && f->profile.nodes[i].pc == pc)
			return i;
	return mt_profile_add_node(&f->profile, parent, pc);
}

/* A group of count blocks of one size, leaked of which live; stack: pcs outermost first, ended by
 * 0. */
static inline uint32_t fixture_group(struct fixture *f, const uint32_t *stack, uint64_t count,
	uint64_t size, uint64_t leaked)
{
	uint32_t node = 0;

	for (; *stack; stack++)
		node = fixture_node(f, node, *stack);
	uint32_t id = mt_profile_add_group(&f->profile,
		mt_profile_add_node(&f->profile, node, MT_FUNCTION_MALLOC));
	struct mt_group *group = &f->profile.groups[id];

	group->allocated_count = count;
	group->allocated_bytes = count * size;
	group->live_count = leaked;
	group->live_bytes = leaked * size;
	group->first_ns = 1000 + id;
	group->last_ns = 5000 - id;
	group->min_size = group->max_size = size;
	return id;
}
#define STACK(...) ((const uint32_t[]){__VA_ARGS__, 0})

#endif
