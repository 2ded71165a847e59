/* Samples of several recordings on one axis of time. A recording has nothing behind its end. */
#include "core/set/parts.h"

/* The sample in which an instant lies; behind the last one: the last. */
static const struct mt_sample *sample_at(const struct mt_profile *p, uint64_t ns)
{
	uint64_t i = ns / p->step_ns;

	return &p->samples[i < p->sample_count ? i : p->sample_count - 1];
}

static void add_memory(struct mt_memory *to, const struct mt_memory *from)
{
#define X(name) to->name += from->name;
	MT_MEMORY(X)
#undef X
}

/* What lived at the end of each step, and the most within it. */
static void lay_levels(struct mt_profile *set, const struct mt_profile *part, uint64_t offset_ns)
{
	uint64_t end = part->info.wall_ns; /* what it had then is gone with it if it is the end */
	bool ends = mt_info_is_whole(&part->info);

	for (uint32_t i = 0; i < set->sample_count; i++) {
		struct mt_sample *to = &set->samples[i];
		uint64_t begin_ns = i * set->step_ns, end_ns = begin_ns + set->step_ns;
		uint64_t from = begin_ns > offset_ns ? begin_ns - offset_ns : 0, most = 0;

		if (end_ns <= offset_ns || from > end)
			continue;
		uint64_t last = end_ns - offset_ns - 1;

		for (uint64_t j = from / part->step_ns;
			j < part->sample_count && j <= last / part->step_ns; j++)
			if (part->samples[j].max_bytes > most)
				most = part->samples[j].max_bytes;
		const struct mt_sample *at = sample_at(part, last);

		to->max_bytes +=
			most > at->live_bytes || (ends && last >= end) ? most : at->live_bytes;
		if (ends && last >= end)
			continue;
		to->live_bytes += at->live_bytes;
		to->live_count += at->live_count;
		add_memory(&to->memory, &at->memory);
	}
}

static void lay_rates(struct mt_profile *set, const struct mt_profile *part, uint64_t offset_ns)
{
	for (uint32_t i = 0; i < part->sample_count; i++) {
		uint64_t at = (offset_ns + (i + 1) * part->step_ns - 1) / set->step_ns;
		struct mt_sample *to =
			&set->samples[at < set->sample_count ? at : set->sample_count - 1];

		to->allocations += part->samples[i].allocations;
		to->frees += part->samples[i].frees;
	}
}

void mt_set_reach(struct mt_profile *p, uint64_t ns)
{
	while (ns / p->step_ns >= MT_SET_STEPS && p->step_ns < UINT64_MAX / 4) {
		for (uint32_t i = 0; i < p->sample_count; i += 2) {
			struct mt_sample a = p->samples[i], b = p->samples[i];

			if (i + 1 < p->sample_count) {
				b = p->samples[i + 1];
				b.allocations += a.allocations;
				b.frees += a.frees;
				b.max_bytes = a.max_bytes > b.max_bytes ? a.max_bytes : b.max_bytes;
			}
			p->samples[i / 2] = b;
		}
		uint32_t count = (p->sample_count + 1) / 2;

		for (uint32_t i = count; i < p->sample_count; i++)
			p->samples[i] = (struct mt_sample){0};
		p->sample_count = count;
		p->step_ns *= 2;
	}
	if (ns / p->step_ns < MT_SET_STEPS && ns / p->step_ns >= p->sample_count)
		p->sample_count = (uint32_t)(ns / p->step_ns) + 1;
}

void mt_set_lay(struct mt_profile *set, const struct mt_profile *part, uint64_t offset_ns)
{
	if (!part->sample_count || !set->sample_count)
		return;
	lay_levels(set, part, offset_ns);
	lay_rates(set, part, offset_ns);
}
