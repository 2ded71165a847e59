#include "core/convert/build.h"

#include "core/base/assert.h"

#include <stdlib.h>

void mt_build_init(struct mt_build *b, const struct mt_source_facts *source,
	struct mt_trace_writer *writer)
{
	*b = (struct mt_build){.source = source, .writer = writer};
	mt_profile_init(&b->profile);
	mt_symbols_init(&b->symbols);
	struct mt_thread unknown = {.name = mt_strings_add(&b->profile.strings, "unknown")};

	mt_profile_add_thread(&b->profile, &unknown);
	b->profile.info.exit_status = -1;
	b->profile.info.resolution_ns = source->resolution_ns;
	MT_GROW(b->blocks, b->block_count, b->block_capacity);
	b->blocks[b->block_count++] = (struct mt_build_block){0};
	mt_model_init(&b->model, &b->profile);
}

void mt_build_free(struct mt_build *b)
{
	mt_model_free_memory(&b->model);
	mt_symbols_free(&b->symbols);
	mt_profile_free(&b->profile);
	free(b->blocks);
	mt_define_free(&b->define);
	*b = (struct mt_build){0};
}

static uint64_t strings_memory(const struct mt_strings *s)
{
	return s->text.capacity + ((uint64_t)s->capacity + s->slots) * sizeof(uint32_t);
}

uint64_t mt_build_memory(const struct mt_build *b)
{
	const struct mt_profile *p = &b->profile;
	const struct mt_symbols *s = &b->symbols;

	return strings_memory(&p->strings) + strings_memory(&s->strings)
		+ (uint64_t)s->frame_capacity * sizeof *s->frames
		+ (uint64_t)s->pc_capacity * sizeof *s->pcs
		+ (uint64_t)p->module_capacity * sizeof *p->modules
		+ (uint64_t)p->argument_capacity * sizeof *p->arguments
		+ (uint64_t)p->pc_capacity * sizeof *p->pcs
		+ (uint64_t)p->node_capacity * sizeof *p->nodes
		+ (uint64_t)p->group_capacity * sizeof *p->groups
		+ (uint64_t)b->block_capacity * sizeof *b->blocks + mt_define_memory(&b->define);
}

/* ---- call tree ---- */

uint32_t mt_build_node(struct mt_build *b, uint32_t parent, uint32_t pc)
{
	return mt_define_node(&b->define, &b->profile, parent, pc);
}

uint32_t mt_build_group(struct mt_build *b, uint32_t node, unsigned function)
{
	mt_assert(b->source->domains
		& (function == MT_FUNCTION_POOL ? MT_SOURCE_POOLS : MT_SOURCE_HEAP));
	return mt_define_group(&b->define, &b->profile, mt_build_node(b, node, function));
}

/* ---- events ---- */

static void flush(struct mt_build *b)
{
	int error;

	if (b->failure.code)
		return;
	error = mt_definitions_write(&b->definitions, b->writer, &b->profile, &b->failure);
	if (!error)
		error = mt_events_write(b->writer, &b->model, &b->failure);
	b->failure.code = error;
}

static void emit(struct mt_build *b, enum mt_event_type type, uint64_t number,
	const struct mt_build_call *call)
{
	*mt_trace_writer_next(b->writer) = (struct mt_event){
		.type = (uint8_t)type,
		.group = call->group,
		.time_ns = b->now_ns,
		.number = number,
		.size = call->size,
		.address = call->address,
	};
	b->profile.info.events++;
	if (mt_trace_writer_full(b->writer))
		flush(b);
}

void mt_build_time(struct mt_build *b, uint64_t ns)
{
	if (ns > b->now_ns)
		b->now_ns = ns;
	mt_model_advance(&b->model, b->now_ns, 0);
}

void mt_build_rss(struct mt_build *b, uint64_t bytes)
{
	mt_model_advance(&b->model, b->now_ns, bytes);
}

static uint32_t take_block(struct mt_build *b)
{
	uint32_t index = b->free_block;

	if (index) {
		b->free_block = b->blocks[index].next;
		return index;
	}
	MT_GROW(b->blocks, b->block_count, b->block_capacity);
	return b->block_count++;
}

const char *mt_build_allocate(struct mt_build *b, const struct mt_build_call *call, uint32_t *live)
{
	struct mt_block block = {
		.address = call->address,
		.size = call->size,
		.number = b->next_number,
		.time_ns = b->now_ns,
		.group = call->group,
	};

	mt_assert(!call->address == !!(b->source->lacks & MT_SOURCE_LACKS_ADDRESSES));
	if (!mt_model_has_room(&b->model, call->size))
		return "its allocations exceed what can be counted";
	uint32_t index = take_block(b);

	mt_model_allocate(&b->model, &block, false);
	b->blocks[index] =
		(struct mt_build_block){b->next_number++, block.thread_sequence, *live, call->name};
	*live = index;
	emit(b, MT_EVENT_ALLOCATE, block.number, call);
	return NULL;
}

void mt_build_release(struct mt_build *b, const struct mt_build_call *call, uint32_t *live)
{
	if (*live && b->blocks[*live].name != call->name && b->blocks[*live].next)
		live = &b->blocks[*live].next;
	uint32_t index = *live;
	struct mt_build_block *there = &b->blocks[index];

	if (!index) {
		++*(b->begins_within ? &b->profile.info.inherited_frees
				     : &b->profile.info.unknown_frees);
		emit(b, MT_EVENT_UNKNOWN_FREE, 0,
			&(struct mt_build_call){.address = call->address});
		return;
	}
	struct mt_block block = {
		.size = call->size,
		.number = there->number,
		.group = call->group,
		.thread_sequence = there->thread_sequence,
	};

	mt_model_free(&b->model, &block, b->now_ns);
	*live = there->next;
	there->next = b->free_block;
	b->free_block = index;
	emit(b, MT_EVENT_FREE, block.number, call);
}

/* ---- the end ---- */

int mt_build_finish(struct mt_build *b, struct mt_err *err)
{
	struct mt_buffer symbols = {0};

	mt_model_settle(&b->model);
	flush(b);
	if (b->failure.code) {
		*err = b->failure;
		return b->failure.code;
	}
	mt_symbols_encode(&b->symbols, &symbols);
	int error = mt_trace_write_end(b->writer, &b->profile, &symbols, err);

	mt_buffer_free(&symbols);
	return error;
}
