/* The block with what all events add up to, at the end: the groups' totals, info, the timeline. */
#include "core/model/load.h"
#include "core/model/payload.h"
#include "core/trace/varint.h"

#include <string.h>

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

/* ---- of a sampled recording: the errors of the groups' sums, behind their counters ---- */

static void add_estimate(struct mt_buffer *b, const struct mt_estimate *e)
{
	uint64_t bits[2];

	memcpy(bits, (double[2]){e->blocks, e->bytes}, sizeof bits);
	mt_varint_add(b, e->samples);
	mt_varint_add(b, bits[0]);
	mt_varint_add(b, bits[1]);
}

static void get_estimate(struct mt_cursor *c, struct mt_estimate *e)
{
	uint64_t bits[2];
	double variances[2];

	e->samples = mt_cursor_varint(c);
	bits[0] = mt_cursor_varint(c);
	bits[1] = mt_cursor_varint(c);
	memcpy(variances, bits, sizeof bits);
	if (!(variances[0] >= 0) || !(variances[1] >= 0) || !e->samples)
		*e = (struct mt_estimate){0};
	else
		*e = (struct mt_estimate){e->samples, variances[0], variances[1]};
}

static void add_estimates(struct mt_buffer *b, const struct mt_profile *p, uint32_t from,
	uint32_t count)
{
	for (uint32_t i = from; i < from + count; i++) {
		const struct mt_estimates none = {0};
		const struct mt_estimates *e = i < p->estimate_count ? &p->estimates[i] : &none;

		add_estimate(b, &e->allocated);
		add_estimate(b, &e->live);
		add_estimate(b, &e->at_peak);
	}
}

static void get_estimates(struct mt_cursor *c, struct mt_profile *p, uint32_t from, uint32_t count)
{
	for (uint32_t i = from; i < from + count && !c->bad; i++) {
		struct mt_estimates *e = mt_profile_estimates(p, i);

		get_estimate(c, &e->allocated);
		get_estimate(c, &e->live);
		get_estimate(c, &e->at_peak);
	}
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
	mt_info_add(b, p);
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
#define X(name) mt_varint_add(b, s->memory.name);
		MT_MEMORY(X)
#undef X
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
#define X(name) s.memory.name = mt_cursor_varint(c);
		MT_MEMORY(X)
#undef X
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

static const char *get_end(struct mt_cursor *c, unsigned version, struct mt_profile *p)
{
	struct mt_memory memory;

	mt_info_get(c, version, p, &p->info, &memory);
	if (mt_cursor_bounded(c, p->thread_count) != p->thread_count)
		return "its number of threads differs from the definitions";
	for (uint32_t i = 0; i < p->thread_count; i++)
		p->threads[i].name = (uint32_t)mt_cursor_bounded(c, p->strings.count - 1);
	get_samples(c, p);
	get_free_sites(c, p);
	return c->bad || c->at != c->end ? "a number at its end is out of range" : NULL;
}

/* ---- parts ---- */

bool mt_totals_add_part(struct mt_buffer *b, const struct mt_profile *p, uint32_t *next,
	uint32_t most)
{
	uint32_t from = *next;
	uint32_t count = p->group_count - from < most ? p->group_count - from : most;
	bool last = from + count == p->group_count;

	mt_varint_add(b, from);
	mt_varint_add(b, count);
	mt_varint_add(b, last);
	add_groups(b, p->groups + from, count);
	if (mt_info_is_sampled(&p->info))
		add_estimates(b, p, from, count);
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
		more = mt_totals_add_part(&b, p, &next, MT_TOTALS_GROUPS_MAX);
		result = mt_trace_writer_block(w, MT_BLOCK_TOTALS, b.data, b.len, err);
	}
	mt_buffer_free(&b);
	return result;
}

const char *mt_totals_read(struct mt_profile *p, unsigned version, const struct mt_buffer *payload,
	uint32_t *next, bool *complete)
{
	struct mt_cursor c = {payload->data, payload->data + payload->len, false};
	uint64_t from = mt_cursor_varint(&c), count = mt_cursor_varint(&c);
	bool last = mt_cursor_bounded(&c, 1);

	if (c.bad || from != *next || count > p->group_count - *next
		|| last != (from + count == p->group_count))
		return "its groups differ from the defined ones";
	get_groups(&c, p->groups + from, (uint32_t)count);
	if (mt_info_is_sampled(&p->info))
		get_estimates(&c, p, from, (uint32_t)count);
	if (c.bad || !groups_plausible(p->groups + from, (uint32_t)count))
		return "a group's totals contradict each other";
	*next += (uint32_t)count;
	*complete = last;
	if (last)
		return get_end(&c, version, p);
	return c.at == c.end ? NULL : "it is longer than it states";
}
