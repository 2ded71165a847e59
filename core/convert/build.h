/* Private to core/convert: a trace in the making, for recordings that know no threads. */
#ifndef MT_CONVERT_BUILD_H
#define MT_CONVERT_BUILD_H

#include "core/model/define.h"
#include "core/model/load.h"
#include "core/model/source.h"
#include "core/symbol/symbol.h"

/* A live block; those that the recording cannot tell apart hang together, the last allocated
 * first. */
struct mt_build_block {
	uint64_t number, thread_sequence;
	uint32_t next; /* index of the next, or 0 */
	uint32_t name; /* what the recording called it by */
};

/* What a source says of an allocation or a free. */
struct mt_build_call {
	uint64_t size;
	uint64_t address; /* 0: not known */
	uint32_t group;
	uint32_t name; /* what the recording calls the block by */
};

struct mt_build {
	const struct mt_source_facts *source; /* borrowed */
	/* set by the source: it begins in the middle, see mt_info_begins_within */
	bool begins_within;
	struct mt_profile profile;
	struct mt_symbols symbols;
	struct mt_model model;
	struct mt_definitions definitions;
	struct mt_trace_writer *writer;
	uint64_t next_number, now_ns;
	struct mt_build_block *blocks; /* index 0 is none */
	uint32_t block_count, block_capacity, free_block;
	struct mt_define define; /* the profile's nodes and groups */
	struct mt_err failure;   /* of writing; sticks */
};

void mt_build_init(struct mt_build *, const struct mt_source_facts *, struct mt_trace_writer *);
void mt_build_free(struct mt_build *);
/* Bytes of memory that it takes, but for small change. */
uint64_t mt_build_memory(const struct mt_build *);
/* The node, which is made where it is not there yet. */
uint32_t mt_build_node(struct mt_build *, uint32_t parent, uint32_t pc);
/* The group of a backtrace (node) and a kind of call. */
uint32_t mt_build_group(struct mt_build *, uint32_t node, unsigned function);
void mt_build_time(struct mt_build *, uint64_t ns); /* never goes back */
void mt_build_rss(struct mt_build *, uint64_t bytes);
/* live: the head of a list of blocks that the recording cannot tell apart: of one group and size,
 * or of one address. NULL, or what is wrong with it. */
const char *mt_build_allocate(struct mt_build *, const struct mt_build_call *, uint32_t *live);
/* Of the blocks in the list the last allocated ends, or, where it was called by another name, the
 * one before: memtui's own export says so that it is not the last. Where there is none it is a free
 * of an unknown block. */
void mt_build_release(struct mt_build *, const struct mt_build_call *, uint32_t *live);
/* Ends the trace. */
int mt_build_finish(struct mt_build *, struct mt_err *);

#endif
