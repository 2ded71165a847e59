/* The block with the counts, losses and facts so far. Each number has its name in the file, so that
 * a version that has more of them can be read, and one that has fewer. */
#include "core/model/load.h"
#include "core/model/named.h"
#include "core/model/payload.h"

/* What the block is about, in one piece. */
struct told {
	struct mt_info info;
	struct mt_memory memory; /* of the last sample */
};

#define NUMBER(name) {#name, offsetof(struct told, info.name), sizeof(uint64_t), UINT64_MAX},
#define SMALL(name, most) {#name, offsetof(struct told, info.name), sizeof(uint32_t), most},

static const struct mt_named fields[] = {
#define X(name, words) NUMBER(name)
	MT_INFO_COUNTS(X)
#undef X
	/* clang-format off */
	NUMBER(start_unix_ns)
	SMALL(pid, UINT32_MAX)
	SMALL(exit_status, UINT32_MAX)
	SMALL(ended, 1)
	SMALL(recorder_lost, 1)
	NUMBER(file_bytes)
	NUMBER(resolution_ns)
	SMALL(usable_rule, MT_USABLE_ALWAYS)
	SMALL(paused, 1)
	SMALL(allocator, UINT32_MAX)
	SMALL(own_allocator, UINT32_MAX)
	SMALL(patched, UINT32_MAX)
	SMALL(unpatched, UINT32_MAX)
	NUMBER(vss_bytes)
	NUMBER(shared_bytes)
	NUMBER(arena_resident_bytes)
	SMALL(stopped, 1)
	NUMBER(peak_rss_bytes)
	NUMBER(peak_rss_ns)
	NUMBER(mapped_reserved_bytes)
	SMALL(oom_killed, MT_OOM_PROBABLY)
	NUMBER(oom_limit_bytes)
/* clang-format on */
#define X(name) {#name, offsetof(struct told, memory.name), sizeof(uint64_t), UINT64_MAX},
				MT_MEMORY(X)
#undef X
#define X(CONSTANT, name, words) \
	{"counter_" #name, \
		offsetof(struct told, info.counters) + MT_COUNTER_##CONSTANT * sizeof(uint64_t), \
		sizeof(uint64_t), UINT64_MAX},
					MT_COUNTERS(X)
#undef X
};
#define FIELDS (sizeof fields / sizeof *fields)

void mt_info_add(struct mt_buffer *b, const struct mt_profile *p)
{
	struct told told = {.info = p->info};

	if (p->sample_count)
		told.memory = p->samples[p->sample_count - 1].memory;
	mt_named_add(b, fields, FIELDS, &told);
}

/* ---- versions 4 to 7: the numbers in their order ---- */

#define COUNTERS (sizeof((struct mt_info *)0)->counters / sizeof(uint64_t))
#define LATER 7 /* values behind the counters and counted with them, which older traces have not */

static void get_positional(struct mt_cursor *c, struct told *told)
{
	struct mt_info *info = &told->info;

#define X(name, words) info->name = mt_cursor_varint(c);
	MT_INFO_COUNTS_UNNAMED(X)
#undef X
	info->start_unix_ns = mt_cursor_varint(c);
	info->pid = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	info->exit_status = (int32_t)mt_cursor_bounded(c, UINT32_MAX);
	info->ended = (uint32_t)mt_cursor_bounded(c, 1);
	info->recorder_lost = (uint32_t)mt_cursor_bounded(c, 1);
	info->file_bytes = mt_cursor_varint(c);
	info->resolution_ns = mt_cursor_varint(c);
	info->usable_rule = (uint32_t)mt_cursor_bounded(c, MT_USABLE_ALWAYS);
	info->paused = (uint32_t)mt_cursor_bounded(c, 1);
	info->allocator = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
	info->own_allocator = (uint32_t)mt_cursor_bounded(c, UINT32_MAX);
#define X(name) told->memory.name = mt_cursor_varint(c);
	MT_MEMORY(X)
#undef X
	uint64_t counters = mt_cursor_bounded(c, COUNTERS + LATER), later[LATER] = {0};

	for (uint64_t i = 0; i < counters; i++)
		*(i < COUNTERS ? &info->counters[i] : &later[i - COUNTERS]) = mt_cursor_varint(c);
	info->vss_bytes = later[0];
	info->shared_bytes = later[1];
	info->arena_resident_bytes = later[2];
	info->stopped = later[3] != 0;
	info->peak_rss_bytes = later[4];
	info->peak_rss_ns = later[5];
	info->mapped_reserved_bytes = later[6];
}

/* ---- both ---- */

void mt_info_get(struct mt_cursor *c, unsigned version, const struct mt_profile *p,
	struct mt_info *info, struct mt_memory *memory)
{
	struct told told = {.info = *info};

	if (version < 8)
		get_positional(c, &told);
	else
		mt_named_get(c, fields, FIELDS, &told);
	if (told.info.allocator >= p->strings.count || told.info.own_allocator >= p->strings.count)
		told.info.allocator = told.info.own_allocator = (uint32_t)mt_cursor_fail(c);
	*info = told.info;
	*memory = told.memory;
}

int mt_info_write(struct mt_trace_writer *w, const struct mt_profile *p, struct mt_err *err)
{
	struct mt_buffer b = {0};

	mt_info_add(&b, p);
	int result = mt_trace_writer_block(w, MT_BLOCK_INFO, b.data, b.len, err);

	mt_buffer_free(&b);
	return result;
}

const char *mt_info_read(struct mt_profile *p, unsigned version, const struct mt_buffer *payload,
	struct mt_memory *memory)
{
	struct mt_cursor c = {payload->data, payload->data + payload->len, false};
	struct mt_info info = p->info;

	mt_info_get(&c, version, p, &info, memory);
	if (c.bad || c.at != c.end)
		return "a number in it is out of range";
	p->info = info;
	return NULL;
}
