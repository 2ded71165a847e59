/* The blocks with what events add up to: info so far, and at the end all groups' totals and the
 * timeline. */
#include "core/model/load.h"
#include "core/model/payload.h"
#include "core/trace/varint.h"

#define COUNTERS (sizeof((struct mt_info *)0)->counters / sizeof(uint64_t))
#define LATER 7 /* values behind the counters and counted with them, which older traces have not */

/* ---- info ---- */

static void add_memory(struct mt_buffer *b, const struct mt_memory *memory)
{
#define X(name) mt_varint_add(b, memory->name);
	MT_MEMORY(X)
#undef X
}

static void get_memory(struct mt_cursor *c, struct mt_memory *memory)
{
#define X(name) memory->name = mt_cursor_varint(c);
	MT_MEMORY(X)
#undef X
}

static void add_info(struct mt_buffer *b, const struct mt_profile *p)
{
	const struct mt_info *info = &p->info;
	/* clang-format off */
	const uint64_t values[] = {
#define X(name, words) info->name,
		MT_INFO_COUNTS(X)
#undef X
		info->start_unix_ns, info->pid, (uint32_t)info->exit_status, info->ended, info->recorder_lost,
		info->file_bytes, info->resolution_ns, info->usable_rule, info->paused, info->allocator,
		info->own_allocator,
	};
	/* clang-format on */
	static const struct mt_memory none;

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		mt_varint_add(b, values[i]);
	add_memory(b, p->sample_count ? &p->samples[p->sample_count - 1].memory : &none);
	mt_varint_add(b, COUNTERS + LATER);
	for (size_t i = 0; i < COUNTERS; i++)
		mt_varint_add(b, info->counters[i]);
	mt_varint_add(b, info->vss_bytes);
	mt_varint_add(b, info->shared_bytes);
	mt_varint_add(b, info->arena_resident_bytes);
	mt_varint_add(b, info->stopped);
	mt_varint_add(b, info->peak_rss_bytes);
	mt_varint_add(b, info->peak_rss_ns);
	mt_varint_add(b, info->mapped_reserved_bytes);
}

static void get_info(struct mt_cursor *c, const struct mt_profile *p, struct mt_info *info,
	struct mt_memory *memory)
{
#define X(name, words) info->name = mt_cursor_varint(c);
	MT_INFO_COUNTS(X)
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
	info->allocator = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	info->own_allocator = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	get_memory(c, memory);
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

int mt_info_write(struct mt_trace_writer *w, const struct mt_profile *p, struct mt_err *err)
{
	struct mt_buffer b = {0};

	add_info(&b, p);
	int result = mt_trace_writer_block(w, MT_BLOCK_INFO, b.data, b.len, err);

	mt_buffer_free(&b);
	return result;
}

const char *mt_info_read(struct mt_profile *p, const struct mt_buffer *payload,
	struct mt_memory *memory)
{
	struct mt_cursor c = {payload->data, payload->data + payload->len, false};
	struct mt_info info = p->info;

	get_info(&c, p, &info, memory);
	if (c.bad || c.at != c.end)
		return "a number in it is out of range";
	p->info = info;
	return NULL;
}

/* ---- groups ---- */

#define GROUP_FIELDS(X) \
	X(allocated_count) \
	X(allocated_bytes) \
	X(live_count) \
	X(live_bytes) \
	X(temporary_count) \
	X(own_peak_count) \
	X(own_peak_bytes) \
	X(at_peak_count) \
	X(at_peak_bytes) \
	X(first_ns) \
	X(last_ns) \
	X(min_size) \
	X(max_size)

/* Column by column: neighbours are alike, which zstd likes. */
static void add_groups(struct mt_buffer *b, const struct mt_group *groups, uint32_t count)
{
#define X(name) \
	for (uint32_t i = 0; i < count; i++) \
		mt_varint_add(b, groups[i].name);
	GROUP_FIELDS(X)
#undef X
}

static void get_groups(struct mt_cursor *c, struct mt_group *groups, uint32_t count)
{
#define X(name) \
	for (uint32_t i = 0; i < count; i++) \
		groups[i].name = mt_cursor_varint(c);
	GROUP_FIELDS(X)
#undef X
}

/* What must hold for any group, whatever happened. */
static bool groups_plausible(const struct mt_group *groups, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct mt_group *g = &groups[i];

		if (g->live_count > g->own_peak_count || g->own_peak_count > g->allocated_count
			|| g->at_peak_count > g->own_peak_count || g->live_bytes > g->own_peak_bytes
			|| g->own_peak_bytes > g->allocated_bytes
			|| g->at_peak_bytes > g->own_peak_bytes || g->first_ns > g->last_ns
			|| g->min_size > g->max_size)
			return false;
	}
	return true;
}

/* ---- the end of the last part ---- */

static void add_end(struct mt_buffer *b, const struct mt_profile *p)
{
	add_info(b, p);
	mt_varint_add(b, p->thread_count);
	for (uint32_t i = 0; i < p->thread_count; i++)
		mt_varint_add(b, p->threads[i].name);
	mt_varint_add(b, p->step_ns);
	mt_varint_add(b, p->sample_count);
	for (uint32_t i = 0; i < p->sample_count; i++) {
		const struct mt_sample *s = &p->samples[i];

		mt_varint_add(b, s->live_bytes);
		mt_varint_add(b, s->live_count);
		mt_varint_add(b, s->max_bytes - s->live_bytes);
		mt_varint_add(b, s->allocations);
		mt_varint_add(b, s->frees);
		add_memory(b, &s->memory);
	}
	mt_varint_add(b, p->free_site_count);
	for (uint32_t i = 0; i < p->free_site_count; i++) {
		mt_varint_add(b, p->free_sites[i].group);
		mt_varint_add(b, p->free_sites[i].node);
		mt_varint_add(b, p->free_sites[i].count);
	}
}

static void get_samples(struct mt_cursor *c, struct mt_profile *p)
{
	p->step_ns = mt_cursor_varint(c);
	if (!p->step_ns)
		mt_cursor_fail(c);
	uint32_t count = (uint32_t)mt_cursor_bounded(c, MT_SAMPLES_MAX);

	p->sample_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct mt_sample s = {.live_bytes = mt_cursor_varint(c)};

		s.live_count = mt_cursor_varint(c);
		s.max_bytes = s.live_bytes + mt_cursor_varint(c);
		s.allocations = mt_cursor_varint(c);
		s.frees = mt_cursor_varint(c);
		get_memory(c, &s.memory);
		MT_GROW(p->samples, p->sample_count, p->sample_capacity);
		p->samples[p->sample_count++] = s;
	}
}

static void get_free_sites(struct mt_cursor *c, struct mt_profile *p)
{
	uint64_t count = mt_cursor_bounded(c, mt_cursor_left(c) / 3);

	for (uint64_t i = 0; i < count && !c->bad; i++) {
		struct mt_free_site site = {.group = (uint32_t)mt_cursor_bounded(c, UINT32_MAX)};

		site.node = (uint32_t)mt_cursor_bounded(c, p->node_count - 1);
		site.count = mt_cursor_varint(c);
		if (site.group >= p->group_count
			|| !mt_profile_is_marker(p, p->nodes[site.node].pc))
			mt_cursor_fail(c);
		else
			mt_profile_add_free_site(p, &site);
	}
}

static const char *get_end(struct mt_cursor *c, struct mt_profile *p)
{
	struct mt_memory memory;

	get_info(c, p, &p->info, &memory);
	if (mt_cursor_bounded(c, p->thread_count) != p->thread_count)
		return "its number of threads differs from the definitions";
	for (uint32_t i = 0; i < p->thread_count; i++)
		p->threads[i].name = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	get_samples(c, p);
	get_free_sites(c, p);
	return c->bad || c->at != c->end ? "a number at its end is out of range" : NULL;
}

/* ---- parts ---- */

bool mt_totals_add_part(struct mt_buffer *b, const struct mt_profile *p, uint32_t *next)
{
	uint32_t from = *next;
	uint32_t count = p->group_count - from < MT_TOTALS_GROUPS_MAX
		? p->group_count - from
		: MT_TOTALS_GROUPS_MAX;
	bool last = from + count == p->group_count;

	mt_varint_add(b, from);
	mt_varint_add(b, count);
	mt_varint_add(b, last);
	add_groups(b, p->groups + from, count);
	if (last)
		add_end(b, p);
	*next = from + count;
	return !last;
}

int mt_totals_write(struct mt_trace_writer *w, const struct mt_profile *p, struct mt_err *err)
{
	struct mt_buffer b = {0};
	uint32_t next = 0;
	bool more = true;
	int result = 0;

	while (more && !result) {
		b.len = 0;
		more = mt_totals_add_part(&b, p, &next);
		result = mt_trace_writer_block(w, MT_BLOCK_TOTALS, b.data, b.len, err);
	}
	mt_buffer_free(&b);
	return result;
}

const char *mt_totals_read(struct mt_profile *p, const struct mt_buffer *payload, uint32_t *next,
	bool *complete)
{
	struct mt_cursor c = {payload->data, payload->data + payload->len, false};
	uint64_t from = mt_cursor_varint(&c), count = mt_cursor_varint(&c);
	bool last = mt_cursor_bounded(&c, 1);

	if (c.bad || from != *next || count > p->group_count - *next
		|| last != (from + count == p->group_count))
		return "its groups differ from the defined ones";
	get_groups(&c, p->groups + from, (uint32_t)count);
	if (c.bad || !groups_plausible(p->groups + from, (uint32_t)count))
		return "a group's totals contradict each other";
	*next += (uint32_t)count;
	*complete = last;
	if (last)
		return get_end(&c, p);
	return c.at == c.end ? NULL : "it is longer than it states";
}
